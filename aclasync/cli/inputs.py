"""Files on the command line become a model's inputs, and images become characters.

Knows shapes and files; nothing of sessions or devices. Imports numpy, so only `run` imports it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from .output import CommandError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from aclasync import TensorSpec

Array: TypeAlias = NDArray[np.generic]

IMAGE_SUFFIXES = frozenset({".png"})
_PREVIEW_PIXELS = 32


@final
@frozen(kw_only=True)
class Sample:
    """What one file gives to one execution of the model."""

    path: Path
    inputs: Mapping[str, Array]
    #: Grey values from 0 to 1, for showing; None for arrays.
    preview: NDArray[np.float32] | None = None
    #: What was done to the file that its owner may not expect.
    remarks: tuple[str, ...] = ()
    #: The label in the file's name, as `00_label7.png` has one.
    expected: int | None = field(init=False)

    @expected.default
    def _label_in_name(self) -> int | None:
        found = re.search(r"label(\d+)", self.path.stem)
        return int(found[1]) if found else None


@final
@frozen(kw_only=True)
class _Layout:
    """Where a model's input has its rows, columns and colours; 0 takes the picture's own size."""

    height: int
    width: int
    channels: int
    is_channels_last: bool = False


def read_sample(path: Path, specs: Sequence[TensorSpec], white: float) -> Sample:
    """Read a file as the inputs of a model; `white` is the number a white pixel stands for.

    Raises:
      CommandError: the file is no image or array, or does not fit the model.
    """
    suffix = path.suffix.lower()
    if path.exists() and not path.is_file():
        # Reading from a FIFO may never end, and a thread can't be interrupted.
        raise CommandError(f"{path}: is no regular file")

    try:
        if suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return Sample(path=path, inputs=_by_name(path, dict(arrays), specs))

        spec = _only(path, specs)
        if suffix == ".npy":
            array = np.load(path, allow_pickle=False)
            return Sample(path=path, inputs={spec.name: _with_batch(array, spec)})

        if suffix in IMAGE_SUFFIXES:
            return _read_picture(path, spec, white=white)

    except (OSError, ValueError, UnidentifiedImageError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise CommandError(f"{path}: can't be read: {reason}") from exc

    raise CommandError(f"{path}: unknown kind of file; give .png, .npy or .npz")


def block_characters(preview: NDArray[np.float32]) -> str:
    """Draw a grey image with half blocks: two rows of pixels to a line, ink where it is bright."""
    step = max(1, math.ceil(max(preview.shape) / _PREVIEW_PIXELS))
    ink = preview[::step, ::step] >= 0.5
    if len(ink) % 2:
        ink = np.vstack([ink, np.zeros_like(ink[:1])])

    glyphs = np.array([" ", "▀", "▄", "█"])
    return "\n".join("".join(row) for row in glyphs[ink[::2] + 2 * ink[1::2]])


def _read_picture(path: Path, spec: TensorSpec, *, white: float) -> Sample:
    layout = _layout_of(path, spec)
    with Image.open(path) as picture:
        size = (layout.width or picture.width, layout.height or picture.height)
        grey = picture.convert("L")
        shaped = grey if layout.channels == 1 else picture.convert("RGB")
        remarks: tuple[str, ...] = ()
        if size != picture.size:
            old, new = "x".join(map(str, picture.size)), "x".join(map(str, size))
            remarks = (f"{path}: resized from {old} to {new}, which the model takes",)
            shaped = shaped.resize(size, Image.Resampling.BILINEAR)

    pixels = np.asarray(shaped)
    dtype = np.dtype(spec.dtype)
    if dtype != np.uint8:
        pixels = (pixels.astype(np.float64) * (white / 255)).astype(dtype)

    if pixels.ndim == 3 and not layout.is_channels_last:
        pixels = np.moveaxis(pixels, 2, 0)

    shape = [size[1], size[0]]
    if len(spec.shape) == 2:
        shape = [size[0] * size[1]]
    elif len(spec.shape) == 4:
        shape.insert(2 if layout.is_channels_last else 0, layout.channels)

    preview = np.asarray(grey, np.float32) / np.float32(255)
    inputs = {spec.name: pixels.reshape(1, *shape)}
    return Sample(path=path, inputs=inputs, preview=preview, remarks=remarks)


def _layout_of(path: Path, spec: TensorSpec) -> _Layout:
    sizes = [size if isinstance(size, int) else 0 for size in spec.shape]
    match sizes:
        case [_, channels, height, width] if channels in (1, 3):
            return _Layout(height=height, width=width, channels=channels)
        case [_, height, width, channels] if channels in (1, 3):
            return _Layout(height=height, width=width, channels=channels, is_channels_last=True)
        case [_, height, width]:
            return _Layout(height=height, width=width, channels=1)
        case [_, pixels] if pixels and math.isqrt(pixels) ** 2 == pixels:
            return _Layout(height=math.isqrt(pixels), width=math.isqrt(pixels), channels=1)

    shown = ", ".join(map(str, spec.shape))
    raise CommandError(
        f"{path}: the model's input {spec.name!r} [{shown}] is not the shape of an image;"
        " give the array as .npy or .npz"
    )


def _only(path: Path, specs: Sequence[TensorSpec]) -> TensorSpec:
    if len(specs) == 1:
        return specs[0]

    names = ", ".join(spec.name for spec in specs)
    raise CommandError(f"{path}: the model takes several inputs ({names}); give them in one .npz")


def _by_name(
    path: Path, arrays: Mapping[str, Array], specs: Sequence[TensorSpec]
) -> dict[str, Array]:
    if len(specs) == 1 and len(arrays) == 1:
        return {specs[0].name: _with_batch(next(iter(arrays.values())), specs[0])}

    wanted, given = {spec.name for spec in specs}, set(arrays)
    if wanted != given:
        raise CommandError(
            f"{path}: holds {', '.join(sorted(given)) or 'nothing'}; the model takes"
            f" {', '.join(sorted(wanted))}"
        )

    return {spec.name: _with_batch(arrays[spec.name], spec) for spec in specs}


def _with_batch(array: Array, spec: TensorSpec) -> Array:
    return array[np.newaxis] if array.ndim == len(spec.shape) - 1 else array
