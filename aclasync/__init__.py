"""An asyncio-native runtime for Ascend's ACL lifecycle.

    async with acl_session("acl.json") as acl:
        async with acl.open_device() as device:
            async with device.load_model("model.onnx") as model:
                outputs = await model.execute({"image": image})

Names are loaded when they are first used, as anyio loads its own: a program that only wants the
error numbers does not pay for the runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import loader

if TYPE_CHECKING:
    from . import acl as acl
    from .acl import get_recent_err_msg as get_recent_err_msg
    from .backends.base import DeviceLimits as DeviceLimits
    from .backends.base import KernelContext as KernelContext
    from .backends.base import LogLevel as LogLevel
    from .backends.base import OpCacheCounts as OpCacheCounts
    from .backends.base import TensorSpec as TensorSpec
    from .codes import AclCode as AclCode
    from .config import AclConfig as AclConfig
    from .config import Effective as Effective
    from .config import Finding as Finding
    from .config import Language as Language
    from .config import Location as Location
    from .config import Origin as Origin
    from .config import Resolution as Resolution
    from .config import Severity as Severity
    from .config import Sourced as Sourced
    from .config import resolve_config as resolve_config
    from .errors import AclError as AclError
    from .errors import BackendError as BackendError
    from .errors import BackendUnavailableError as BackendUnavailableError
    from .errors import CallbackError as CallbackError
    from .errors import CallbackSlotTakenError as CallbackSlotTakenError
    from .errors import ConfigError as ConfigError
    from .errors import ConfigMismatchError as ConfigMismatchError
    from .errors import DeviceError as DeviceError
    from .errors import DumpError as DumpError
    from .errors import FeatureUnsupportedError as FeatureUnsupportedError
    from .errors import FinalizeError as FinalizeError
    from .errors import ForkedRuntimeError as ForkedRuntimeError
    from .errors import InvalidDeviceError as InvalidDeviceError
    from .errors import LifecycleError as LifecycleError
    from .errors import NoContextError as NoContextError
    from .errors import NotInitializedError as NotInitializedError
    from .errors import OperatorError as OperatorError
    from .errors import ReentrantLifecycleError as ReentrantLifecycleError
    from .errors import RepeatFinalizeError as RepeatFinalizeError
    from .lifecycle.flush import FlushOutcome as FlushOutcome
    from .lifecycle.flush import FlushReport as FlushReport
    from .lifecycle.sequence import CallbackType as CallbackType
    from .lifecycle.sequence import FinalizeStep as FinalizeStep
    from .lifecycle.sequence import InitStep as InitStep
    from .lifecycle.state import Phase as Phase
    from .product import Product as Product
    from .runtime.device import Device as Device
    from .runtime.device import Model as Model
    from .runtime.device import Opening as Opening
    from .runtime.main import run as run
    from .runtime.reading import load_config as load_config
    from .runtime.runtime import Runtime as Runtime
    from .runtime.runtime import default_runtime as default_runtime
    from .runtime.session import AclSession as AclSession
    from .runtime.session import acl_session as acl_session
    from .runtime.values import ConfigIgnoredWarning as ConfigIgnoredWarning
    from .runtime.values import InitOutcome as InitOutcome
    from .runtime.values import RuntimeStatistics as RuntimeStatistics

__version__ = "0.1.0"

_HOMES = {
    "acl": ("acl", "get_recent_err_msg"),
    "backends.base": (
        "DeviceLimits",
        "KernelContext",
        "LogLevel",
        "OpCacheCounts",
        "TensorSpec",
    ),
    "codes": ("AclCode",),
    "config": (
        "AclConfig",
        "Effective",
        "Finding",
        "Language",
        "Location",
        "Origin",
        "Resolution",
        "Severity",
        "Sourced",
        "resolve_config",
    ),
    "errors": (
        "AclError",
        "BackendError",
        "BackendUnavailableError",
        "CallbackError",
        "CallbackSlotTakenError",
        "ConfigError",
        "ConfigMismatchError",
        "DeviceError",
        "DumpError",
        "FeatureUnsupportedError",
        "FinalizeError",
        "ForkedRuntimeError",
        "InvalidDeviceError",
        "LifecycleError",
        "NoContextError",
        "NotInitializedError",
        "OperatorError",
        "ReentrantLifecycleError",
        "RepeatFinalizeError",
    ),
    "lifecycle.flush": (
        "FlushOutcome",
        "FlushReport",
    ),
    "lifecycle.sequence": (
        "CallbackType",
        "FinalizeStep",
        "InitStep",
    ),
    "lifecycle.state": ("Phase",),
    "product": ("Product",),
    "runtime.device": (
        "Device",
        "Model",
        "Opening",
    ),
    "runtime.main": ("run",),
    "runtime.reading": ("load_config",),
    "runtime.runtime": (
        "Runtime",
        "default_runtime",
    ),
    "runtime.session": (
        "AclSession",
        "acl_session",
    ),
    "runtime.values": (
        "ConfigIgnoredWarning",
        "InitOutcome",
        "RuntimeStatistics",
    ),
}
__all__ = ("__version__", *sorted(name for names in _HOMES.values() for name in names))  # noqa: PLE0604  # names, all of them
_load = loader(__name__, _HOMES)


def __getattr__(name: str) -> object:
    return _load(name)


def __dir__() -> list[str]:
    return list(__all__)
