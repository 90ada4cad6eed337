"""What tests of programs that use aclasync need: a fresh runtime, a spy, and planned faults."""

from .faults import Fault as Fault
from .faults import FaultPlan as FaultPlan
from .fresh import fresh_runtime as fresh_runtime
from .spy import SpyBackend as SpyBackend
