"""Contexts belong to threads: who may call what from where."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from aclasync.backends.embedded.context import Context, ThreadContexts
from aclasync.errors import AclCode, DeviceError, NoContextError


@pytest.fixture
def contexts():
    return ThreadContexts()


@pytest.mark.parametrize(
    ("bound", "wanted", "failure", "code"),
    [
        ((), 0, NoContextError, AclCode.RT_CONTEXT_NULL),
        ((), 1, NoContextError, AclCode.RT_CONTEXT_NULL),
        ((0,), 0, None, None),
        ((0,), 1, DeviceError, AclCode.RT_MODEL_CONTEXT),
        ((1,), 0, DeviceError, AclCode.RT_MODEL_CONTEXT),
        ((1,), 1, None, None),
        ((0, 1), 1, None, None),
        ((0, 1), 0, DeviceError, AclCode.RT_MODEL_CONTEXT),
        ((1, 0), 0, None, None),
    ],
)
@pytest.mark.parametrize("thread", ["this", "another"])
def test_a_call_needs_its_device_current_on_its_own_thread(
    contexts, in_thread, thread, bound, wanted, failure, code
):
    """Two devices, bound in every order, seen from a thread that bound them itself."""
    devices = [Context(0), Context(1)]

    def call():
        for device in bound:
            contexts.bind(devices[device])

        contexts.require(devices[wanted], "aclmdlExecute")

    if thread == "another":
        # What this thread has is of no use to the other one.
        contexts.bind(devices[wanted])

    run = in_thread if thread == "another" else lambda function: function()
    if failure is None:
        run(call)
        return

    with pytest.raises(failure) as caught:
        run(call)

    assert type(caught.value) is failure
    assert caught.value.code is code


def test_refusal_names_thread_and_device(contexts, in_thread):
    """The message says which thread called and which device it has no context of."""
    device = Context(7)
    contexts.bind(device)
    with pytest.raises(NoContextError, match=r"thread 'pool-3' .* device 7"):
        in_thread(lambda: contexts.require(device, "aclmdlExecute"), name="pool-3")


def test_binding_another_device_gives_the_first_one_back(contexts):
    """A borrowed thread is left as it was found."""
    theirs, ours = Context(1), Context(0)
    contexts.bind(theirs)
    contexts.bind(ours)
    assert contexts.current() is ours
    contexts.unbind(ours)
    assert contexts.current() is theirs


def test_closed_context_is_gone_from_every_thread(contexts, in_thread):
    """A handle closed on one thread can't be used on another that had bound it."""
    device = Context(0)
    bound, closed = threading.Event(), threading.Event()

    def other():
        contexts.bind(device)
        bound.set()
        assert closed.wait(30)
        return contexts.current()

    with ThreadPoolExecutor(1) as pool:
        current = pool.submit(other)
        assert bound.wait(30)
        device.is_open = False
        closed.set()
        assert current.result() is None

    with pytest.raises(DeviceError, match="device 0 was closed"):
        contexts.require(device, "aclmdlExecute")


def test_binding_twice_is_binding_once(contexts):
    """One unbind is enough, and nothing beneath is disturbed."""
    device = Context(0)
    contexts.bind(device)
    contexts.bind(device)
    contexts.unbind(device)
    assert contexts.current() is None


def test_unbinding_what_is_not_bound_does_nothing(contexts):
    """Cleaning up may come too often."""
    contexts.bind(first := Context(0))
    contexts.unbind(Context(0))
    assert contexts.current() is first


def test_handles_of_one_device_share_its_context(contexts):
    """Whoever has a device current may use it through any of its handles."""
    first, second = Context(0), Context(0)
    contexts.bind(first)
    contexts.require(second, "aclmdlExecute")
