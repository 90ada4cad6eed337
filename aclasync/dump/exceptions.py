"""Writes what a failing operator had: brief, norm or detail, as the scene of the dump says.

brief    its buffers and the log, nothing of what they are
norm     every tensor with its type, format and shape, and the attributes
detail   a core file: all of that, the operator as a model, the engine's state and a traceback
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import final

from attrs import evolve, field, frozen

from aclasync.config import DumpSettings, Environment
from aclasync.files import make_folders

from .core import Memory, encode_core
from .datatypes import InputType, data_type_of, name_of_data_type, name_of_format
from .disk import FILE_MODE, FOLDER_MODE, make_below, write_new
from .format import Operator, Tensor, encode, to_bytes
from .names import sanitised, time_digits

_logger = logging.getLogger("aclasync.dump")

#: Below the dump's path, and above the number of the device.
INNER_FOLDERS = ("extra-info", "data-dump")

BRIEF_SCENES = ("lite_exception", "aic_err_brief_dump")
NORM_SCENE = "aic_err_norm_dump"
DETAIL_SCENE = "aic_err_detail_dump"

_READ_ONLY = 0o400
_LONGEST_NAME = 255
_UNKNOWN_KERNEL = "unknow_kernel"  # the reference's spelling


def start_exception_dump(
    settings: DumpSettings | None, environment: Environment, here: Path
) -> ExceptionDump | None:
    """Return the exception dump that is asked for; None if none is.

    ASCEND_DUMP_SCENE comes before the configuration, and has its own folders. NPU_COLLECT_PATH
    alone asks for norm.
    """
    if environment.dump_scene:
        named = (environment.dump_path, environment.work_path)
        return ExceptionDump(environment.dump_scene, _folders(named, here))

    scene = settings.scene if settings is not None and settings.is_exception else None
    if scene is None and not environment.collect_path:
        return None

    path = settings.path if settings is not None and scene is not None else None
    given = (environment.collect_path, environment.work_path, path)
    return ExceptionDump(scene or NORM_SCENE, _folders(given, here))


def _folders(given: Iterable[str | None], here: Path) -> tuple[Path, ...]:
    return (*(here / path for path in given if path), here)


@final
@frozen(kw_only=True)
class Failure:
    """An operator that failed."""

    #: With what was known of its tensors.
    operator: Operator
    #: Lines for a person: what the engine said.
    log: str
    #: How it came to it.
    traceback: str = ""
    #: The operator alone, as a serialised model.
    model: bytes = b""
    #: The engine, its version, and what else it was run with.
    state: Mapping[str, str] = field(factory=dict)


@final
class ExceptionDump:
    """An exception dump that is switched on; waits for an operator to fail."""

    def __init__(self, scene: str, folders: Sequence[Path]) -> None:
        """Take the first of `folders` that can be used, when the time comes."""
        self.scene = scene
        self._folders = tuple(folders)

    def write(self, failure: Failure, device_id: int) -> Path | None:
        """Write what is known of a failure; return where.

        None if there is nothing to write, as for an operator without inputs, or if it can't be
        written, which is warned of.
        """
        operator = failure.operator
        if not operator.tensors and self.scene != DETAIL_SCENE:
            return None

        for folder in self._folders:
            try:
                return self._write(folder, failure, device_id)
            except OSError as exc:
                _logger.warning(
                    "the exception dump of the operator %s can't be written in %s: %s",
                    *(operator.name, folder, exc.strerror or exc),
                )

        return None

    def _write(self, folder: Path, failure: Failure, device_id: int) -> Path:
        make_folders(folder, FOLDER_MODE)
        inner = make_below(folder, (*INNER_FOLDERS, str(device_id)))
        moment = datetime.now().astimezone()
        pieces, mode = self._content(failure, device_id, moment)
        while True:
            path = inner / self._name(failure.operator, moment)
            try:
                write_new(path, pieces, mode=mode)
            except FileExistsError:
                moment += timedelta(milliseconds=1)  # another one in the same millisecond
            else:
                return path

    def _content(
        self, failure: Failure, device_id: int, moment: datetime
    ) -> tuple[list[memoryview], int]:
        operator = failure.operator
        time_us = int(moment.timestamp() * 1e6)
        if self.scene == DETAIL_SCENE:
            return _core_of(failure, device_id), _READ_ONLY

        if self.scene in BRIEF_SCENES:
            return encode(_without_description(operator, failure.log), time_us, name="")[0], (
                _READ_ONLY
            )

        described = evolve(
            operator,
            inputs=[evolve(t, input_type=InputType.INPUT_TENSOR) for t in operator.inputs],
        )
        return encode(described, time_us)[0], FILE_MODE

    def _name(self, operator: Operator, moment: datetime) -> str:
        digits = time_digits(moment, with_ms=True)
        stream, task = operator.stream_id, operator.task_id
        if self.scene in BRIEF_SCENES:
            return f"exception_info.{stream}.{task}.{digits}"

        name = sanitised(operator.name)
        if self.scene == DETAIL_SCENE:
            # As in the reference, the end of a name says more than its beginning.
            end = f".{stream}.{task}.{digits}.core"
            return _last_bytes((name or _UNKNOWN_KERNEL) + end)

        return _last_bytes(f"{sanitised(operator.op_type)}.{name}.{task}.{digits}")


def _without_description(operator: Operator, log: str) -> Operator:
    buffers = [
        Tensor(t.array, at, is_described=False, input_type=InputType.GENERAL_TENSOR)
        for at, t in enumerate(operator.tensors)
    ]
    return evolve(operator, inputs=buffers, outputs=(), attributes={}, message=log)


def _core_of(failure: Failure, device_id: int) -> list[memoryview]:
    operator = failure.operator
    sides = ((InputType.INPUT_TENSOR, operator.inputs), (InputType.OUTPUT_TENSOR, operator.outputs))
    memories = [
        Memory(content=to_bytes(tensor.array), kind=kind, shape=tensor.array.shape)
        for kind, tensors in sides
        for tensor in tensors
    ]
    description = {
        "op_type": operator.op_type,
        "op_name": operator.name,
        "task_id": operator.task_id,
        "stream_id": operator.stream_id,
        "attributes": dict(operator.attributes),
        "inputs": [_described(tensor) for tensor in operator.inputs],
        "outputs": [_described(tensor) for tensor in operator.outputs],
    }
    lines = [f"{key}: {value}" for key, value in failure.state.items()]
    return encode_core(
        device_id=device_id,
        memories=memories,
        model=failure.model,
        description=json.dumps(description, ensure_ascii=False, indent=1),
        state="\n".join((*lines, failure.log, failure.traceback)),
    )


def _described(tensor: Tensor) -> dict[str, object]:
    return {
        "index": tensor.index,
        "name": tensor.name,
        "data_type": name_of_data_type(data_type_of(tensor.array)),
        "format": name_of_format(tensor.format),
        "shape": list(tensor.array.shape),
    }


def _last_bytes(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[-_LONGEST_NAME:])
