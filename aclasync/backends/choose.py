"""Which device family a session runs on, and why not the other."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, final

from attrs import frozen

from aclasync.errors import AclError, BackendUnavailableError
from aclasync.product import Product

if TYPE_CHECKING:
    from aclasync.config import Environment

    from .base import Backend

_logger = logging.getLogger("aclasync.backends")

_NAMES = ("cann", "embedded")

_MODEL_PACKAGES = ("numpy", "onnx", "onnxruntime")

# Below an install folder. Not `devlib` and `stub`: what is there fails every call.
_LIBRARY_FOLDERS = ("lib64", "runtime/lib64", "x86_64-linux/lib64", "aarch64-linux/lib64")
_LIBRARIES = ("libacl_rt.so", "libascendcl.so")


@final
@frozen
class Candidate:
    """A device family and whether it can be used here."""

    name: str
    is_usable: bool
    #: Why it can't be used, or what it can do.
    reason: str
    #: What was found, such as packages with their versions.
    facts: tuple[tuple[str, str], ...] = ()


def candidates(environment: Environment) -> tuple[Candidate, ...]:
    """Look at every device family, in the order `auto` tries them; loads and imports nothing."""
    return (_look_for_cann(environment), _look_for_embedded())


def open_backend(
    name: str,
    *,
    product: Product | None,
    environment: Environment,
    devices: int | None = None,
    log_latency: float = 0.0,
) -> Backend:
    """Open the device family `name`, or for `auto` the first that can be used.

    ACLASYNC_BACKEND decides what `auto` means. `devices` and `log_latency` are for the embedded
    one, which takes ATLAS_A2 where `product` is None.

    Raises:
      BackendUnavailableError: there is none, with the reason for every one that was considered.
      InvalidDeviceError: the environment hides devices that don't exist.
    """
    origin = _reason_to_open_embedded(name, environment)

    from .embedded import EmbeddedBackend  # noqa: PLC0415 (only the chosen one is imported)

    backend = EmbeddedBackend(product or Product.ATLAS_A2, environment, devices, log_latency)
    _logger.info("backend %s as %s: %s", backend.name, backend.product.name, origin)
    return backend


def refusal_of_auto(environment: Environment) -> AclError | None:
    """Return what `open_backend("auto")` would raise here, or None; opens nothing."""
    from .embedded.visible import visible_devices  # noqa: PLC0415 (as above)

    try:
        _reason_to_open_embedded("auto", environment)
        visible_devices(None, environment)
    except AclError as refusal:
        return refusal

    return None


def _reason_to_open_embedded(name: str, environment: Environment) -> str:
    """Say why `name` stands for the embedded device.

    Raises:
      BackendUnavailableError: it stands for another, which can't be opened.
    """
    chosen, origin = name, "asked for"
    if name == "auto" and environment.backend:
        chosen, origin = environment.backend, "named by ACLASYNC_BACKEND"

    if chosen not in ("auto", *_NAMES):
        detail = f"there is no backend {chosen!r} ({origin}); there are auto, {', '.join(_NAMES)}"
        raise BackendUnavailableError("open_backend", detail, [])

    if chosen != "embedded":
        cann = _look_for_cann(environment)
        refusals = [(cann.name, cann.reason)]
        if chosen == "cann":
            detail = f"the backend 'cann' ({origin}) can't be used here"
            raise BackendUnavailableError("open_backend", detail, refusals)

        origin = f"no cann: {cann.reason}"

    return origin


def _look_for_cann(environment: Environment) -> Candidate:
    home = environment.ascend_home_path
    if not home:
        reason = f"no {' or '.join(_LIBRARIES)} found: ASCEND_HOME_PATH is not set"
        return Candidate("cann", is_usable=False, reason=reason)

    folders = [Path(home) / folder for folder in _LIBRARY_FOLDERS]
    found = [
        path for folder in folders for path in map(folder.joinpath, _LIBRARIES) if path.is_file()
    ]
    if not found:
        places = ", ".join(map(str, folders))
        reason = f"no {' or '.join(_LIBRARIES)} found in {places}"
        return Candidate("cann", is_usable=False, reason=reason)

    reason = f"found {found[0]}, but this version has no native binding yet"
    facts = tuple((path.name, str(path)) for path in found)
    return Candidate("cann", is_usable=False, reason=reason, facts=facts)


def _look_for_embedded() -> Candidate:
    versions = {package: _version(package) for package in _MODEL_PACKAGES}
    missing = [package for package, version in versions.items() if version is None]
    reason = "runs models on this machine's CPU"
    if missing:
        reason = (
            f'can\'t load models without {", ".join(missing)}: pip install "aclasync[embedded]"'
        )

    facts = tuple((package, version or "not installed") for package, version in versions.items())
    return Candidate("embedded", is_usable=True, reason=reason, facts=facts)


def _version(package: str) -> str | None:
    from importlib import metadata  # noqa: PLC0415  # a fifth of the import of a session

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
