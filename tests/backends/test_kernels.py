"""Operators in Python: what they can do, where their output goes, and how they fail."""

from __future__ import annotations

import logging
import stat
import struct
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from aclasync import acl_session
from aclasync.backends.embedded.fifo import Fifo
from aclasync.backends.embedded.kernels import format_c
from aclasync.dump.kernel_output import RecordKind, read_kernel_output
from aclasync.errors import AclCode, DeviceError, FeatureUnsupportedError
from aclasync.product import Product

from .onnx_models import FLOAT, save_model

F = np.float32
KINDS = {"printf", "tensor", "assert", "timestamp"}


def talk(ctx, x, times=1):
    """Say something of every kind."""
    for number in range(times):
        ctx.printf("%d of %d\n", number, times)

    ctx.dump_tensor(x, 7)
    ctx.timestamp(3)
    return x


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "dump"
    made.mkdir()
    return made


@pytest.fixture
def open_device(open_embedded, resolve):
    """Open a device with a configuration and an environment, and the kernel `Talk`."""

    def make(config=None, product=Product.ATLAS_A2, **variables):
        backend = open_embedded(product, variables=variables)
        for step in ("dump", "printf_fifo"):
            backend.start(step, resolve(config or {}, product))

        device = backend.open_device(0)
        device.add_kernel("Talk", talk, core_kind="aiv", cores=2)
        return device

    return make


def run(device, op_type, inputs, **attributes):
    return device.execute_op(op_type, inputs, attributes, domain="", outputs=None, is_dynamic=False)


def wanting(folder, kinds="all"):
    return {"dump": {"dump_path": str(folder), "dump_kernel_data": kinds}}


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def records(folder):
    (path,) = files(folder)
    return list(read_kernel_output(path))


async def test_decorated_function_is_an_operator_of_the_device(runtime, tmp_path):
    """Alone and in a model, with attributes, on the device's thread."""
    path = save_model(
        tmp_path / "scaled.onnx",
        [
            helper.make_node("Neg", ["x"], ["n"]),
            helper.make_node("Scale", ["n"], ["y"], domain="custom", by=3.0),
        ],
        [("x", FLOAT, [2])],
        [("y", FLOAT, [2])],
    )
    async with acl_session() as session, session.open_device() as device:
        threads = set()

        @device.kernel("Scale")
        def scale(ctx, x, *, by=1.0):
            threads.add(threading.current_thread().name)
            return x * F(by)

        assert (await device.execute_op("Scale", [F([1, 2])], {"by": 2.0}))[0].tolist() == [2, 4]
        async with device.load_model(path) as model:
            assert (await model.execute({"x": F([1, 2])}))["y"].tolist() == [-3, -6]

        assert threads == {"aclasync-device-0"}
        assert scale(None, F([1]), by=5.0).tolist() == [5]


def test_output_lies_in_the_documented_file(open_device, folder):
    """In a folder named by the time, of the core's kind and number, for the owner alone."""
    device = open_device(wanting(folder))
    run(device, "Talk", [F([[1, 2]])])
    (path,) = files(folder)
    assert path.name == "asc_kernel_data_aiv_0.bin"
    assert len(path.parent.name) == 14
    assert path.parent.parent == folder
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    launch, text, tensor, time = records(folder)
    assert (launch.op_type, launch.op_name) == ("Talk", "Talk")
    assert text.text == "0 of 1\n"
    assert (tensor.desc, tensor.array().tolist()) == (7, [[1, 2]])
    assert time.desc == 3
    assert {r.launch for r in (launch, text, tensor, time)} == {launch.launch}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_only_what_is_asked_for_is_collected(open_device, folder, kind):
    """Each of the four kinds alone."""
    device = open_device(wanting(folder, kind))
    run(device, "Talk", [F([1])])
    device.add_kernel("Stop", lambda ctx, x: ctx.assert_(0, "no"), core_kind="aiv", cores=1)  # noqa: PT009
    with pytest.raises(DeviceError):
        run(device, "Stop", [F([1])])

    found = {r.kind for r in records(folder)} - {RecordKind.LAUNCH}
    assert found == {RecordKind[kind.upper()]}


@pytest.mark.parametrize(
    ("config", "product"),
    [
        ({}, Product.ATLAS_A2),
        ({"dump": {"dump_kernel_data": "all", "dump_scene": "lite_exception"}}, Product.ATLAS_A2),
        ("wanting", Product.ATLAS_TRAINING),
    ],
)
def test_nothing_is_collected_without_the_key_a_path_or_the_feature(
    open_device, folder, tmp_path, monkeypatch, config, product
):
    """And the kernel runs as ever."""
    monkeypatch.chdir(tmp_path)
    device = open_device(wanting(folder) if config == "wanting" else config, product)
    assert run(device, "Talk", [F([1])])[0].tolist() == [1]
    assert files(tmp_path) == []


def test_active_data_dump_collects_everything(open_device, folder):
    """Without a word on kernels."""
    run(open_device({"dump": {"dump_path": str(folder), "dump_op_switch": "on"}}), "Talk", [F([1])])
    assert [path.name for path in files(folder) if path.suffix == ".bin"] == [
        "asc_kernel_data_aiv_0.bin"
    ]


@pytest.mark.parametrize("variable", ["ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"])
def test_environment_asks_for_everything_elsewhere(open_device, folder, tmp_path, variable):
    """It comes before the configuration."""
    elsewhere = tmp_path / "elsewhere"
    device = open_device(wanting(folder, "printf"), **{variable: str(elsewhere)})
    run(device, "Talk", [F([1])])
    assert files(folder) == []
    (path,) = files(elsewhere / "printf")
    assert len(list(read_kernel_output(path))) == 4
    assert stat.S_IMODE((elsewhere / "printf").stat().st_mode) == 0o700


def test_cores_have_files_of_their_own(open_device, folder):
    """And no kernel has a core that it was not launched on."""
    device = open_device(wanting(folder))

    def both(ctx, x):
        ctx.printf("zero")
        ctx.on_core(1).printf("core %d of %d", ctx.on_core(1).core, ctx.cores)
        with pytest.raises(ValueError, match="no core 2"):
            ctx.on_core(2)

        return x

    device.add_kernel("Both", both, core_kind="aic", cores=2)
    run(device, "Both", [F([1])])
    assert [path.name for path in files(folder)] == [
        "asc_kernel_data_aic_0.bin",
        "asc_kernel_data_aic_1.bin",
    ]
    assert list(read_kernel_output(files(folder)[1]))[1].text == "core 1 of 2"


def test_full_fifo_drops_the_oldest_and_says_how_many(open_device, folder, caplog):
    """What is left and what was dropped is all that was said; the last lines are there."""
    device = open_device(wanting(folder, "printf") | {"simd_printf_fifo_size_per_core": 1024})
    run(device, "Talk", [F([1])], times=500)
    _, note, *texts = records(folder)
    assert note.kind is RecordKind.DROPPED
    assert note.dropped + len(texts) == 500
    assert [t.text for t in texts] == [f"{n} of 500\n" for n in range(note.dropped, 500)]
    assert sum(32 + len(t.text) for t in texts) <= 1024
    with caplog.at_level(logging.WARNING):
        device.close()

    assert f"dropped {note.dropped} records" in caplog.text


def test_larger_fifo_holds_more(open_device, folder):
    """By the key; without it, 32 KiB a core."""
    for size, config in ((32768, {}), (65536, {"simd_printf_fifo_size_per_core": 65536})):
        sub = folder / str(size)
        sub.mkdir()
        run(open_device(wanting(sub, "printf") | config), "Talk", [F([1])], times=5000)
        held = sum(32 + len(r.text) for r in records(sub) if r.kind is RecordKind.PRINTF)
        assert size - 64 < held <= size


def test_simt_kernels_share_a_fifo_of_their_own_size(open_device, folder):
    """On the 950 alone, and by its own key."""
    config = wanting(folder, "tensor") | {"simt_printf_fifo_size": 1048576}
    device = open_device(config, Product.ASCEND_950)

    def fill(ctx, x):
        for number in range(30):
            ctx.on_core(number % 2).dump_tensor(x, number)

        return x

    device.add_kernel("Fill", fill, core_kind="simt", cores=2)
    run(device, "Fill", [np.zeros(100_000, np.uint8)])
    assert [path.name for path in files(folder)] == [
        "asc_kernel_data_simt_0.bin",
        "asc_kernel_data_simt_1.bin",
    ]
    kept = [r for path in files(folder) for r in read_kernel_output(path)]
    assert sorted(r.desc for r in kept if r.kind is RecordKind.TENSOR) == list(range(20, 30))
    assert sum(r.dropped for r in kept) == 20


def test_product_without_simt_cores_refuses_such_a_kernel(open_device):
    """By its number (200006)."""
    with pytest.raises(FeatureUnsupportedError, match="ATLAS_A2 has no SIMT cores") as caught:
        open_device().add_kernel("X", talk, core_kind="simt", cores=1)

    assert caught.value.code is AclCode.FEATURE_UNSUPPORTED


async def test_decorator_refuses_what_no_device_has(runtime):
    """Before the function is an operator."""
    async with acl_session() as session, session.open_device() as device:
        with pytest.raises(ValueError, match="core_kind is 'gpu'"):
            device.kernel("X", core_kind="gpu")

        with pytest.raises(ValueError, match="less than one"):
            device.kernel("X", cores=0)


@pytest.mark.parametrize("size", [1024 * 1024, 10])
def test_tensor_of_every_type_comes_back_bit_by_bit(open_device, folder, size):
    """Also those that other packages taught numpy; or its first elements."""
    device = open_device(wanting(folder) | {"simd_printf_fifo_size_per_core": 64 * 1024 * 1024})
    arrays = [
        np.arange(24).astype(kind).reshape(2, 3, 4)
        for kind in ("f2", "f4", "f8", "c8", "i1", "u2", "i8", "?", ">i4", ml_dtypes.bfloat16,
                     ml_dtypes.float8_e4m3fn)
    ] + [np.float32(3), np.empty((0, 3)), np.arange(6).reshape(2, 3).T]  # fmt: skip

    def dump(ctx, x):
        for number, array in enumerate(arrays):
            ctx.dump_tensor(array, number, min(size, np.size(array)) if size < 100 else None)

        return x

    device.add_kernel("Dump", dump, core_kind="aiv", cores=1)
    run(device, "Dump", [F([1])])
    for array, record in zip(arrays, records(folder)[1:], strict=True):
        got, whole = record.array(), np.asarray(array)
        expected = whole if size > 100 else whole.reshape(-1)[:size]
        assert got.shape == expected.shape
        assert np.array_equal(got, expected)
        assert got.dtype == expected.dtype.newbyteorder("<")


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("%d %5.2f|%-4s|%x", (1, 2.5, "a", 255), "1  2.50|a   |ff"),
        ("%lld %hhu %zu %ld %Lf", (1, 2, 3, 4, 5.0), "1 2 3 4 5.000000"),
        ("100%% %*d", (3, 7), "100%   7"),
        ("%%ld", (), "%ld"),
        ("plain", (), "plain"),
    ],
)
def test_printf_formats_as_c_does(text, args, expected):
    """Length modifiers included."""
    assert format_c(text, args) == expected


def test_kernel_that_fails_is_named_and_its_output_kept(open_device, folder):
    """What it said before is what one needs then (507035 for a vector core)."""
    device = open_device(wanting(folder))

    def fail(ctx, x):
        ctx.printf("before")
        return x[10]

    device.add_kernel("Fail", fail, core_kind="aiv", cores=1)
    with pytest.raises(DeviceError, match=r"Fail \(Fail\) failed: IndexError: ") as caught:
        run(device, "Fail", [F([1])])

    assert caught.value.code is AclCode.RT_VECTOR_CORE_EXCEPTION
    assert isinstance(caught.value.__cause__, IndexError)
    assert records(folder)[1].text == "before"
    assert run(device, "Talk", [F([1])])[0].tolist() == [1]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda ctx, x: ctx.printf("%d"), "TypeError"),
        (lambda ctx, x: ctx.printf("%y", 1), "ValueError"),
        (lambda ctx, x: ctx.dump_tensor(x, -1), "ValueError: desc"),
        (lambda ctx, x: ctx.dump_tensor(x, 0, 2), "size is 2, the tensor has 1"),
        (lambda ctx, x: ctx.dump_tensor(np.array([{}])), "no elements that can be dumped"),
        (lambda ctx, x: ctx.timestamp(2**32), "ValueError: desc"),
        (lambda ctx: None, "TypeError"),
        (lambda ctx, x: None, "NoneType as output 0"),
        (lambda ctx, x: {"a": 1}, "dict as output 0"),
        (lambda ctx, x: (x, object()), "object as output 1"),
    ],
)
def test_wrong_use_is_an_error_of_the_operator(open_device, folder, function, words):
    """Whatever is collected."""
    device = open_device(wanting(folder))
    device.add_kernel("Wrong", function, core_kind="aic", cores=1)
    with pytest.raises(DeviceError, match=words) as caught:
        run(device, "Wrong", [F([1])])

    assert caught.value.code is AclCode.RT_AICORE_EXCEPTION


def test_assertion_stops_the_operator_with_its_words(open_device, folder):
    """Also if nothing is collected; one that holds does nothing (507016 for a cube core)."""

    def check(ctx, x):
        ctx.assert_(x.size < 3, "size is %d", x.size)  # noqa: PT009
        return x

    for config in ({}, wanting(folder)):
        device = open_device(config)
        device.add_kernel("Check", check, core_kind="aic", cores=1)
        assert run(device, "Check", [F([1])])[0].tolist() == [1]
        with pytest.raises(DeviceError, match=r"Check \(Check\) stopped on core 0: size is 3") as e:
            run(device, "Check", [F([1, 2, 3])])

        assert e.value.code is AclCode.RT_AICORE_TRAP_EXCEPTION

    assert [r.text for r in records(folder) if r.kind is RecordKind.ASSERT] == ["size is 3"]


def test_model_with_a_failing_kernel_names_the_node(open_device, tmp_path):
    """Not only the operator's type; and is usable afterwards."""
    device = open_device()

    def positive(ctx, x):
        ctx.assert_((x > 0).all(), "negative")  # noqa: PT009
        return x

    device.add_kernel("Positive", positive, core_kind="aiv", cores=1)
    node = helper.make_node("Positive", ["x"], ["y"], "gate", domain="custom")
    path = save_model(tmp_path / "m.onnx", [node], [("x", FLOAT, [1])], [("y", FLOAT, [1])])
    model = device.load_model(path)
    with pytest.raises(DeviceError, match=r"Positive \(gate\) stopped.*negative"):
        model.execute({"x": F([-1])})

    assert model.execute({"x": F([1])})["y"].tolist() == [1]


def test_wrong_number_of_outputs_is_told(open_device, tmp_path):
    """The model has its own idea of them."""
    device = open_device()
    device.add_kernel("Two", lambda ctx, x: (x, x), core_kind="aiv", cores=1)
    node = helper.make_node("Two", ["x"], ["y"], domain="custom")
    path = save_model(tmp_path / "m.onnx", [node], [("x", FLOAT, [1])], [("y", FLOAT, [1])])
    with pytest.raises(DeviceError, match="returned 2 outputs; the model has 1"):
        device.load_model(path).execute({"x": F([1])})


def test_name_that_onnx_has_needs_a_domain(open_device):
    """Its own operator comes first without one."""
    device = open_device()
    device.add_kernel("Neg", lambda ctx, x: x * 0, core_kind="aiv", cores=1)
    assert run(device, "Neg", [F([1])])[0].tolist() == [-1]
    (value,) = device.execute_op("Neg", [F([1])], {}, domain="mine", outputs=None, is_dynamic=False)
    assert value.tolist() == [0]


def test_folder_that_can_not_be_written_is_told_once_and_harms_no_result(
    open_device, folder, caplog
):
    """What is lost is counted at the end."""
    device = open_device(wanting(folder))
    for path in folder.iterdir():
        path.rmdir()

    folder.rmdir()
    folder.write_text("in the way")
    for _ in range(2):
        assert run(device, "Talk", [F([1])])[0].tolist() == [1]

    device.close()
    texts = [r.getMessage() for r in caplog.records]
    assert len([t for t in texts if "can't write the output of kernels" in t]) == 1
    assert any("8 records of kernels' output were not written" in t for t in texts)


def test_link_laid_in_the_way_is_not_followed(open_device, folder, tmp_path, caplog):
    """The file it leads to stays as it was."""
    device = open_device(wanting(folder))
    run(device, "Talk", [F([1])])
    (path,) = files(folder)
    path.unlink()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path.symlink_to(victim)
    run(device, "Talk", [F([1])])
    assert victim.read_text() == "mine"
    assert "can't write the output of kernels" in caplog.text


@given(
    st.integers(1, 50),
    st.lists(st.tuples(st.integers(0, 2), st.binary(min_size=1, max_size=60)), max_size=40),
)
def test_fifo_loses_nothing_but_the_oldest(capacity, pushes):
    """What comes out is the newest that fit, in order; the rest is counted."""
    fifo = Fifo(capacity)
    for core, record in pushes:
        fifo.push(core, record)

    records, dropped = fifo.drain()
    for core in range(3):
        mine = [record for at, record in pushes if at == core]
        kept = records.get(core, [])
        fitting = [record for record in mine if len(record) <= capacity]
        assert kept == fitting[len(fitting) - len(kept) :]
        assert dropped.get(core, 0) == len(mine) - len(kept)

    assert sum(len(record) for kept in records.values() for record in kept) <= capacity
    assert fifo.drain() == ({}, {})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x" * 40, "no output of kernels, at byte 0"),
        (b"AKO1", "middle of a record, at byte 0"),
        (struct.pack("<4sIIIQQ", b"AKO1", 9, 0, 1, 0, 0), "no output of kernels"),
        (struct.pack("<4sIIIQQ", b"AKO1", 2, 0, 1, 0, 2**60), f"{2**60} bytes are announced"),
        (struct.pack("<4sIIIQQ", b"AKO1", 3, 0, 1, 0, 2) + b"ab", "damaged record at byte 0"),
        (struct.pack("<4sIIIQQIII", b"AKO1", 3, 0, 1, 0, 12, 0, 2**31, 0), "dimensions"),
        (struct.pack("<4sIIIQQ", b"AKO1", 6, 0, 1, 0, 1) + b"a", "damaged record"),
    ],
)
def test_damaged_file_is_told_with_the_place(tmp_path, content, words):
    """However it is damaged, and whatever it announces."""
    path = tmp_path / "asc_kernel_data_aiv_0.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        list(read_kernel_output(path))


def test_file_cut_anywhere_gives_what_is_whole(open_device, folder):
    """Then the place where it ends; no cut is taken for the end."""
    run(open_device(wanting(folder)), "Talk", [F([1, 2])])
    (path,) = files(folder)
    whole = path.read_bytes()
    complete = {0}
    at = 0
    for record in read_kernel_output(path):
        at += 32 + struct.unpack_from("<Q", whole, at + 24)[0]
        complete.add(at)
        assert record.kind

    for length in range(len(whole) + 1):
        Path(path).write_bytes(whole[:length])
        if length in complete:
            list(read_kernel_output(path))
        else:
            with pytest.raises(ValueError, match="middle of a record"):
                list(read_kernel_output(path))
