"""Devices and models as coroutines: every call runs on the one thread that owns the context."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, TypeVarTuple, final, get_args

from aclasync.backends.base import (
    Backend,
    CoreKind,
    DeviceHandle,
    DeviceLimits,
    LogLevel,
    ModelHandle,
    OpCacheCounts,
    TensorSpec,
)
from aclasync.codes import AclCode
from aclasync.errors import DeviceError, ForkedRuntimeError

from .errtext import ErrorText
from .hop import OwnedThread
from .uninterrupted import insist, run_uninterrupted

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
KernelFunction = TypeVar("KernelFunction", bound=Callable[..., Any])
Args = TypeVarTuple("Args")


class _Closable(Protocol):
    async def aclose(self) -> None: ...


C = TypeVar("C", bound=_Closable)


@final
class Opening(Generic[C]):
    """Something being opened: `await` it and close it yourself, or hold it with `async with`."""

    def __init__(self, open_it: Callable[[], Awaitable[C]]) -> None:
        self._open_it = open_it
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, Any, C]:
        return self._open_it().__await__()

    async def __aenter__(self) -> C:
        self._opened = await self._open_it()
        return self._opened

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._opened is not None
        await self._opened.aclose()


@final
class Device:
    """An open device. Its calls run one after another on a thread of its own."""

    def __init__(self, handle: DeviceHandle, thread: OwnedThread, error_text: ErrorText) -> None:
        self._handle = handle
        self._thread = thread
        self._error_text = error_text
        self._pid = os.getpid()
        self._models: list[Model] = []
        self._is_closed = False

    @property
    def device_id(self) -> int:
        """The device's number, counted among the visible devices."""
        return self._handle.device_id

    @property
    def limits(self) -> DeviceLimits:
        """What the configuration set on this device."""
        return self._handle.limits

    @property
    def is_closed(self) -> bool:
        """Whether `aclose` was called, here or by the end of the session."""
        return self._is_closed

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open"
        return f"<Device {self.device_id} {state}, {len(self._models)} models>"

    async def run(self, function: Callable[[*Args], T], *args: *Args) -> T:
        """Run `function(*args)` on the thread that owns the device's context.

        Raises:
          DeviceError: the device is closed (107002).
        Cancellation: drops a call that has not begun; one that runs is waited for.
        """
        with self._error_text.recording():
            self._check_open("run")
            return await self._thread.call(function, *args)

    def write_log(self, level: LogLevel, text: str) -> None:
        """Write one line into the device's log; never waits, and any thread may call it.

        Raises:
          ValueError: there is no such level.
          TypeError: `text` is no string.
        """
        self._check_process("write_log")
        if not isinstance(text, str):
            raise TypeError(f"a log line is a string, not {text!r}")

        self._handle.write_log(LogLevel(level), text)

    def bind_thread(self) -> None:
        """Make this device's context current on the calling thread.

        For threads that others own: `ThreadPoolExecutor(initializer=device.bind_thread)`.
        """
        self._check_open("bind_thread")
        self._handle.bind_thread()

    def unbind_thread(self) -> None:
        """Leave the calling thread without a context."""
        self._check_process("unbind_thread")
        self._handle.unbind_thread()

    def load_model(self, path: str | PathLike[str]) -> Opening[Model]:
        """Load an ONNX model: `await` it, or hold it with `async with`.

        Raises:
          DeviceError: the file is missing (100003) or is no model (100013).
        """
        return Opening(lambda: self._load(Path(path).absolute()))

    async def load_op(self, path: str | PathLike[str]) -> None:
        """Load a model of one operator; it is used where it fits, and kept while the device is.

        Raises:
          DeviceError: the file is missing (100003) or is no model of one operator (100025).
        """
        await self.run(lambda: self._handle.load_op(Path(path).absolute()))

    async def execute_op(
        self,
        op_type: str,
        inputs: Sequence[np.ndarray[Any, np.dtype[Any]] | None],
        attributes: Mapping[str, object] | None = None,
        *,
        domain: str = "",
        outputs: int | None = None,
        is_dynamic: bool = False,
    ) -> tuple[np.ndarray[Any, np.dtype[Any]], ...]:
        """Run one operator, of ONNX or of `kernel`, and return its outputs.

        Args:
          op_type: its name, such as `Add`.
          inputs: arrays in the operator's order, None where one is left out.
          attributes: numbers, strings, arrays and lists of them.
          domain: whose operator it is; ONNX's own by default.
          outputs: how many are wanted; by default those that it always has.
          is_dynamic: compile it for every shape, not only for that of `inputs`.

        Raises:
          DeviceError: there is no such operator (100024); it takes no such inputs (100021),
            outputs (100022) or attributes (100023); or it failed.
        Cancellation: drops a run that has not begun; one that runs is waited for.
        """
        run = partial(
            self._handle.execute_op, domain=domain, outputs=outputs, is_dynamic=is_dynamic
        )
        return await self.run(run, op_type, inputs, attributes or {})

    def kernel(
        self, op_type: str, *, core_kind: CoreKind = "aiv", cores: int = 1
    ) -> Callable[[KernelFunction], KernelFunction]:
        """Make the decorated function an operator of this device.

        It is called on the device's thread with a `KernelContext`, the inputs (None where one is
        left out), and the attributes by name; it returns an array, or a tuple of them. Use it in a
        model that is loaded afterwards, in any domain but ONNX's own, or with `execute_op`, where
        a name that ONNX has, too, needs a `domain` beside it.

        Args:
          op_type: the operator's type.
          core_kind: what it runs on: `aiv`, `aic`, or `simt` (950 only).
          cores: how many; they share the work as the function has it.

        Raises:
          FeatureUnsupportedError: the product has no such cores (200006).
          ValueError: there is no such kind of core, or less than one of them.
        """
        self._check_open("kernel")
        if core_kind not in get_args(CoreKind):
            raise ValueError(f"core_kind is {core_kind!r}, none of {get_args(CoreKind)}")

        if cores < 1:
            raise ValueError(f"cores is {cores}, less than one")

        def register(function: KernelFunction) -> KernelFunction:
            self._handle.add_kernel(op_type, function, core_kind=core_kind, cores=cores)
            return function

        return register

    @property
    def op_cache(self) -> OpCacheCounts:
        """Which compiled operators are kept now, and what has happened so far."""
        return self._handle.op_cache

    async def aclose(self) -> None:
        """Unload the models and reset the device; a second call does nothing.

        Cancellation: closing is finished first.
        """
        self._check_process("aclose")
        if self._is_closed:  # by somebody else, who may be at it still
            await self._thread.wait_ended()
            return

        self._is_closed = True
        try:
            await run_uninterrupted(self._close)
        finally:
            self._thread.close()

    async def _load(self, path: Path) -> Model:
        with self._error_text.recording():
            self._check_open("load_model")
            handle = await self._thread.call(
                self._handle.load_model, path, release=lambda handle: handle.close()
            )

            self._check_open("load_model")  # nobody has closed it meanwhile, and the model with it

        model = Model(handle, self, path, self._unload)
        self._models.append(model)
        return model

    async def _unload(self, model: Model, handle: ModelHandle) -> None:
        self._models.remove(model)
        await insist(lambda: self._thread.call(handle.close))

    async def _close(self) -> None:
        for model in reversed(tuple(self._models)):
            await insist(model.aclose)

        await insist(lambda: self._thread.call(self._handle.close))

    def _check_open(self, function: str) -> None:
        self._check_process(function)
        if self._is_closed:
            raise DeviceError(
                AclCode.RT_CONTEXT_NULL,
                function,
                f"device {self.device_id} is closed; open it again from a session",
            )

    def _check_process(self, function: str) -> None:
        _check_process(self._pid, self.device_id, function)


@final
class Model:
    """A loaded model. Arrays go in and come out; the device's thread does the work."""

    def __init__(
        self,
        handle: ModelHandle,
        device: Device,
        path: Path,
        unload: Callable[[Model, ModelHandle], Awaitable[None]],
    ) -> None:
        self._handle = handle
        self._device = device
        self._unload = unload
        self.path = path
        self._pid = os.getpid()
        self._is_closed = False

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, element type and shape of every input; dynamic dimensions are names or None."""
        return self._handle.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, element type and shape of every output."""
        return self._handle.outputs

    def __repr__(self) -> str:
        return f"<Model {self.path.name} on device {self._device.device_id}>"

    async def execute(
        self, inputs: Mapping[str, np.ndarray[Any, np.dtype[Any]]]
    ) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Run the model once and return every output by name.

        Raises:
          DeviceError: an input is missing, unknown, or of another type or shape (100017), or the
            run failed; the message names the input and what was expected.
        Cancellation: drops a run that has not begun; one that runs is waited for.
        """
        return await self._device.run(self._handle.execute, inputs)

    def execute_blocking(
        self, inputs: Mapping[str, np.ndarray[Any, np.dtype[Any]]]
    ) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Run the model on the calling thread, which must have the device's context.

        Raises:
          NoContextError: it has none (107002); use `execute`, or `device.bind_thread` first.
          DeviceError: as `execute`.
        """
        _check_process(self._pid, self._device.device_id, "execute_blocking")
        return self._handle.execute(inputs)

    async def aclose(self) -> None:
        """Unload the model; a second call does nothing."""
        _check_process(self._pid, self._device.device_id, "aclose")
        if self._is_closed:
            return

        self._is_closed = True
        await run_uninterrupted(lambda: self._unload(self, self._handle))


async def open_device(backend: Backend, device_id: int, error_text: ErrorText) -> Device:
    """Open a device of `backend` on a new thread, which then owns its context.

    Raises:
      InvalidDeviceError: there is no such device (107001).
    """
    thread = OwnedThread(f"aclasync-device-{device_id}")
    try:
        handle = await thread.call(
            backend.open_device, device_id, release=lambda handle: handle.close()
        )
    except BaseException:
        thread.close()
        raise

    return Device(handle, thread, error_text)


def _check_process(pid: int, device_id: int, function: str) -> None:
    if os.getpid() != pid:
        raise ForkedRuntimeError(
            AclCode.INTERNAL_ERROR,
            function,
            f"device {device_id} was opened by process {pid}, of which this is a fork: "
            'start workers with the "spawn" start method',
        )
