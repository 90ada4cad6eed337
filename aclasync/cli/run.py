"""`aclasync run`: a model, its inputs, and one session from acl.json to answer."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from anyio import to_thread
from attrs import frozen

import aclasync
from aclasync import FlushReport, Product, acl_session, load_config
from aclasync.backends.choose import candidates

from .output import (
    Format,
    FormatOption,
    ProductOption,
    TracebackOption,
    console,
    errors_reported,
    print_json,
    said_of,
    warnings_reported,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .answers import Answer
    from .inputs import Array, Sample

# The number a white pixel stands for, if the model's file says one.
_SCALE_KEY = "aclasync.input_scale"


@frozen(kw_only=True)
class _Outcome:
    """All that a run gives."""

    samples: Sequence[Sample]
    outputs: Sequence[Mapping[str, Array]]
    backend: str
    backend_reason: str
    product: Product
    #: What was found in the configuration that is in force.
    findings: Sequence[dict[str, Any]]
    device_id: int
    flush: FlushReport | None


def run(
    *,
    model: Annotated[Path, typer.Option(help="The ONNX model.")],
    first_inputs: Annotated[
        list[Path],
        typer.Option(
            "--input",
            exists=True,
            dir_okay=False,
            metavar="FILE...",
            help="A .png, .npy or .npz file; more may follow it.",
        ),
    ],
    config: Annotated[str | None, typer.Option(help="The acl.json; none by default.")] = None,
    more_inputs: Annotated[
        list[Path] | None,
        typer.Argument(exists=True, dir_okay=False, metavar="[FILE]...", show_default=False),
    ] = None,
    device: Annotated[
        int | None,
        typer.Option(help="The device; by default the configuration's default device, or 0."),
    ] = None,
    product: ProductOption = None,
    backend: Annotated[
        Literal["auto", "embedded", "cann"], typer.Option(help="The device family.")
    ] = "auto",
    top: Annotated[int, typer.Option(min=1, help="How many guesses to show.")] = 1,
    form: FormatOption = Format.TEXT,
    is_traceback: TracebackOption = False,
) -> None:
    """Run a model on files: images, or arrays as .npy or .npz.

    A label in a file's name, as in 00_label7.png, is compared with the answer.
    Exit code 0: all were run; 1: something failed; 2: wrong usage; 130: interrupted.
    """
    _require_embedded_extra()
    paths = [*first_inputs, *(more_inputs or ())]
    with warnings_reported(), errors_reported(form, traceback=is_traceback):
        outcome = aclasync.run(
            lambda: _run_all(config, model, paths, device=device, product=product, backend=backend)
        )

    if form is Format.JSON:
        print_json(_as_json(outcome, top))
    else:
        _print_outcome(outcome, top)


async def _run_all(
    config: str | None,
    model_path: Path,
    paths: Sequence[Path],
    *,
    device: int | None,
    product: Product | None,
    backend: Literal["auto", "embedded", "cann"],
) -> _Outcome:
    from .inputs import read_sample  # noqa: PLC0415 - needs the embedded extra

    samples, outputs = [], []
    async with acl_session(config, product=product, backend=backend) as session:
        async with session.open_device(device) as opened, opened.load_model(model_path) as model:
            white = await to_thread.run_sync(_white_of, model_path)
            for path in paths:
                sample = await to_thread.run_sync(read_sample, path, model.inputs, white)
                samples.append(sample)
                outputs.append(await model.execute(sample.inputs))

            device_id = opened.device_id

        backend_name, used_product = str(session.backend_name), session.product
        findings = said_of(session.resolution)

    return _Outcome(
        samples=samples,
        outputs=outputs,
        backend=backend_name,
        backend_reason=await _reason_for(backend),
        product=used_product,
        findings=findings,
        device_id=device_id,
        flush=session.flush_report,
    )


async def _reason_for(backend: str) -> str:
    """Say why a session that asked for `backend` got the one it has."""
    if backend != "auto":
        return "asked for by --backend"

    environment = (await load_config(None)).effective.environment
    if environment.backend not in (None, "auto"):
        return "named by ACLASYNC_BACKEND"

    refused = [c for c in candidates(environment) if not c.is_usable]
    return (
        "; ".join(f"{c.name} not used: {c.reason}" for c in refused) or "the first that is usable"
    )


def _white_of(model_path: Path) -> float:
    """Return what the model's metadata says a white pixel stands for; 1 if it says nothing."""
    import onnx  # noqa: PLC0415 - slow, and only images need it

    properties = onnx.load(model_path, load_external_data=False).metadata_props
    return next((float(p.value) for p in properties if p.key == _SCALE_KEY), 1.0)


def _require_embedded_extra() -> None:
    for name in ("numpy", "onnx", "onnxruntime"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            console(is_error=True).print(
                f'aclasync run needs {missing.name}: pip install "aclasync[embedded,cli]"',
                markup=False,
            )
            raise typer.Exit(2) from None


def _ranked(outcome: _Outcome, top: int) -> list[Answer]:
    from .answers import rank  # noqa: PLC0415 - needs the embedded extra

    pairs = zip(outcome.samples, outcome.outputs, strict=True)
    return [answer for sample, outputs in pairs for answer in rank(sample, outputs, top=top)]


def _print_outcome(outcome: _Outcome, top: int) -> None:
    from .answers import accuracy_line, describe, print_answers  # noqa: PLC0415 - as above

    out = console()
    for sample in outcome.samples:
        for remark in sample.remarks:
            console(is_error=True).print(f"note: {remark}", markup=False)

    answers = _ranked(outcome, top)
    if answers:
        print_answers(out, answers)
    else:
        for sample, outputs in zip(outcome.samples, outcome.outputs, strict=True):
            for name, array in outputs.items():
                out.print(f"{sample.path}: {describe(name, array)}", markup=False)

    lines = [accuracy_line(answers)] if answers else []
    lines += [
        f"backend {outcome.backend}: {outcome.backend_reason}",
        f"product {outcome.product.name}, device {outcome.device_id}",
    ]
    if (flush := outcome.flush) is not None:
        lines.append(
            f"log flush {flush.outcome.name.lower()}: {flush.delivered} lines delivered,"
            f" {flush.left} left, {flush.elapsed:.3f} s of {flush.timeout:g} s"
        )

    for line in filter(None, lines):
        out.print(line, markup=False)


def _as_json(outcome: _Outcome, top: int) -> dict[str, Any]:
    from .answers import answer_json, output_json  # noqa: PLC0415 - as above

    answers = _ranked(outcome, top)
    judged = [answer.is_right for answer in answers if answer.is_right is not None]
    flush = outcome.flush
    return {
        "answers": [answer_json(answer) for answer in answers],
        "outputs": [
            {"input": str(sample.path), "remarks": list(sample.remarks)}
            | {"outputs": {name: output_json(array) for name, array in outputs.items()}}
            for sample, outputs in zip(outcome.samples, outcome.outputs, strict=True)
        ],
        "findings": list(outcome.findings),
        "judged": len(judged),
        "right": sum(judged),
        "session": {
            "backend": outcome.backend,
            "backend_reason": outcome.backend_reason,
            "product": outcome.product.name,
            "device": outcome.device_id,
            "flush": None
            if flush is None
            else {
                "outcome": flush.outcome.name.lower(),
                "delivered": flush.delivered,
                "left": flush.left,
                "elapsed_s": round(flush.elapsed, 6),
                "timeout_s": flush.timeout,
            },
        },
    }
