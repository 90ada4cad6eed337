"""What may go wrong while runs are dumped: the answer is right all the same, and it is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import onnx
import pytest

from aclasync import DeviceError, OperatorError, acl_session
from aclasync.dump import find_dumps, read_dump
from aclasync.testing import fresh_runtime

pytestmark = pytest.mark.anyio

FLOAT = onnx.TensorProto.FLOAT
make = onnx.helper.make_node
ONES = np.ones(2, np.float32)


@pytest.fixture
def two(save_model):
    """Save two operators with these names."""

    def save(first, second="Second", *, types=("Neg", "Abs")):
        nodes = [
            make(types[0], ["x"], ["y"], name=first),
            make(types[1], ["y"], ["z"], name=second),
        ]
        return save_model(nodes, [("x", FLOAT, [2])], [("z", FLOAT, [2])])

    return save


@pytest.mark.parametrize(
    "name", ["../../outside", "/etc/passwd", "a/b.c d\\e", "..", "\n", "名字", "-rf", "a,b"]
)
async def test_no_name_leads_out_of_the_folder(run_dumping, files, two, dump_folder, name):
    """It is one file below the folder of the run, and its header has the name as it was."""
    (answer,) = await run_dumping(two(name), {"x": ONES}, dump_list=[{}])
    np.testing.assert_array_equal(answer["z"], ONES)
    assert {op for _, op in files()} == {name, "Second"}
    made = [p for p in dump_folder.parent.rglob("*") if p.is_file() and p.suffix != ".onnx"]
    assert len(made) == 2
    assert {len(path.relative_to(dump_folder).parts) for path in made} == {6}


async def test_name_that_is_too_long_for_a_file_is_in_a_table(run_dumping, files, two, dump_folder):
    """The reader finds it by its own name."""
    long = "n" * 300
    await run_dumping(two(long), {"x": ONES}, {"x": -ONES}, dump_list=[{"layer": [long]}])
    assert set(files()) == {(0, long), (1, long)}
    tables = list(dump_folder.rglob("mapping.csv"))
    assert len(tables) == 2  # one for each step
    for table in tables:
        (line,) = table.read_text().splitlines()
        number, _, name = line.partition(",")
        assert name.startswith(f"Neg.{long}.")
        assert (table.parent / number).is_file()
        assert table.stat().st_mode & 0o777 == 0o600


async def test_folder_that_is_removed_is_made_again(files, two, dump_folder):
    """What was in it is gone; what comes later is not."""
    keys = {"dump_path": str(dump_folder), "dump_list": [{"layer": ["First"]}]}
    with fresh_runtime():
        async with (
            acl_session({"dump": keys}) as session,
            session.open_device() as device,
            device.load_model(two("First")) as model,
        ):
            for at in range(3):
                if at:
                    (root,) = dump_folder.iterdir()
                    shutil.rmtree(root)

                answer = await model.execute({"x": ONES * at})
                np.testing.assert_array_equal(answer["z"], ONES * at)

    assert set(files()) == {(2, "First")}


async def test_base_that_is_removed_is_told_once_and_harms_no_result(two, dump_folder, said):
    """It was the user's, and is not made anew."""
    keys = {"dump_path": str(dump_folder), "dump_list": [{}]}
    with fresh_runtime():
        async with (
            acl_session({"dump": keys}) as session,
            session.open_device() as device,
            device.load_model(two("First")) as model,
        ):
            dump_folder.rmdir()
            for _ in range(2):
                np.testing.assert_array_equal((await model.execute({"x": ONES}))["z"], ONES)

    assert not dump_folder.exists()
    told = said()
    assert sum("can't be written" in line for line in told) == 1
    assert any(line.startswith("4 files of the dump could not") for line in told)


FULL_DISK = """
import sys
import anyio, numpy as np
from aclasync import acl_session

async def main(folder, model):
    keys = {"dump_path": folder, "dump_list": [{}]}
    async with (
        acl_session({"dump": keys}) as session,
        session.open_device() as device,
        device.load_model(model) as loaded,
    ):
        for at in range(8):
            given = np.full(1 << 18, at, np.float32)
            answer = await loaded.execute({"x": given})
            assert (answer["z"] == given).all()

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_full_disk_tears_no_file_and_harms_no_result(save_model, tmp_path):
    """A disk of 6 MiB: whole files until it is full but for a reserve, and a warning."""
    nodes = [make("Neg", ["x"], ["y"], name="First"), make("Abs", ["y"], ["z"], name="Second")]
    model = save_model(nodes, [("x", FLOAT, ["n"])], [("z", FLOAT, ["n"])])
    disk = tmp_path / "disk"
    disk.mkdir()
    script = textwrap.dedent(
        f"""
        mount -t tmpfs -o size=6m none {disk} || exit 77
        "$@" 2>{tmp_path}/said
        code=$?
        cp -r {disk} {tmp_path}/copy
        exit $code
        """
    )
    command = [sys.executable, "-c", FULL_DISK, str(disk), str(model)]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *command],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    if done.returncode in (1, 77) and not (tmp_path / "copy").exists():
        pytest.skip("this machine lets nobody mount anything")

    assert done.returncode == 0, (tmp_path / "said").read_text()
    entries = list(find_dumps(tmp_path / "copy"))
    assert 3 <= len(entries) < 6
    for entry in entries:
        (output,) = read_dump(entry.path).outputs
        assert np.unique(output.array()).size == 1
        assert output.array().size == 1 << 18

    assert "bytes are free, 10" in (tmp_path / "said").read_text()


async def test_empty_scalar_and_text_tensors_are_dumped_as_they_are(run_dumping, files, save_model):
    """Nothing of them is left out, and nothing fails."""
    kinds = onnx.TensorProto
    nodes = [
        make("Identity", ["empty"], ["e"], name="Empty"),
        make("Identity", ["scalar"], ["s"], name="Scalar"),
        make("Identity", ["text"], ["t"], name="Text"),
    ]
    inputs = [("empty", FLOAT, [0, 3]), ("scalar", kinds.INT64, []), ("text", kinds.STRING, [2])]
    outputs = [("e", FLOAT, [0, 3]), ("s", kinds.INT64, []), ("t", kinds.STRING, [2])]
    feed = {
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.array(7, np.int64),
        "text": np.array(["a", "héllo"], object),
    }
    (answer,) = await run_dumping(save_model(nodes, inputs, outputs), feed, dump_list=[{}])
    assert answer["t"].tolist() == ["a", "héllo"]
    tensors = {name: file.outputs for (_, name), file in files().items()}
    assert tensors["Scalar"][0].array().tolist() == 7
    assert [str(text) for text in tensors["Text"][0].array()] == ["a", "héllo"]
    assert tensors["Empty"][0].array().shape == (0, 3)


async def test_what_no_dump_can_hold_is_skipped_and_said(run_dumping, files, save_model, said):
    """A sequence of tensors, between two operators; the answer comes all the same."""
    nodes = [
        make("SplitToSequence", ["x"], ["parts"], name="Split", keepdims=0),
        make("ConcatFromSequence", ["parts"], ["y"], name="Join", axis=0, new_axis=1),
    ]
    model = save_model(nodes, [("x", FLOAT, [2, 2])], [("y", FLOAT, [2, 2])])
    feed = {"x": np.eye(2, dtype=np.float32)}
    (answer,) = await run_dumping(model, feed, dump_list=[{}])
    np.testing.assert_array_equal(answer["y"], feed["x"])
    assert {name for _, name in files()} == {"Join"}
    assert any("a dump can't hold them: 1 " in line for line in said())


async def test_branch_is_dumped_as_one_operator(run_dumping, files, save_model, said):
    """What is inside of it is not reached; asking for that says where it is."""
    value = onnx.helper.make_tensor_value_info
    branches = {
        f"{name}_branch": onnx.helper.make_graph(
            [make(kind, ["x"], [name], name=f"Inner{name}")], name, [], [value(name, FLOAT, [2])]
        )
        for name, kind in (("then", "Neg"), ("else", "Abs"))
    }
    nodes = [make("If", ["is"], ["y"], name="Choose", **branches)]
    inputs = [("is", onnx.TensorProto.BOOL, []), ("x", FLOAT, [2])]
    model = save_model(nodes, inputs, [("y", FLOAT, [2])])
    layers = [{"layer": ["Choose", "Innerthen"]}]
    (answer,) = await run_dumping(model, {"is": np.array(True), "x": ONES}, dump_list=layers)
    np.testing.assert_array_equal(answer["y"], -ONES)
    (file,) = files().values()
    np.testing.assert_array_equal(file.outputs[0].array(), -ONES)
    assert any("Innerthen" in line and "inside of Choose" in line for line in said())


SCENES = ["aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump"]


@pytest.fixture
def device_with(dump_folder):
    """Open a device under an exception dump; its kernel `Fragile` fails for what is negative."""

    def fragile(_ctx, x, *, by=1.0):
        if (x < 0).any():
            raise ValueError("negative")

        return x * np.float32(by)

    async def run(scene, work):
        keys = {"dump_path": str(dump_folder), "dump_scene": scene}
        with fresh_runtime():
            async with acl_session({"dump": keys}) as session, session.open_device() as device:
                device.kernel("Fragile")(fragile)
                return await work(device)

    return run


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("is_alone", [True, False])
async def test_failed_kernel_is_named_and_written(
    device_with, dump_folder, save_model, scene, is_alone
):
    """An operator in Python, alone or in a model."""
    path = save_model(
        [
            make("Neg", ["x"], ["y"], name="Turn"),
            make("Fragile", ["y"], ["z"], name="Break", domain="custom", by=3.0),
        ],
        [("x", FLOAT, [2])],
        [("z", FLOAT, [2])],
        domains=("custom",),
    )

    async def work(device):
        if is_alone:
            await device.execute_op("Fragile", [-ONES], {"by": 3.0})
        else:
            async with device.load_model(path) as model:
                await model.execute({"x": ONES})

    with pytest.raises(OperatorError, match="ValueError: negative; what it had is in ") as caught:
        await device_with(scene, work)

    error = caught.value
    assert (error.op_type, error.operator) == ("Fragile", "Fragile" if is_alone else "Break")
    (path,) = (p for p in (dump_folder / "extra-info/data-dump/0").iterdir())
    assert error.dump_file == str(path)
    if scene == "aic_err_detail_dump":
        content = path.read_bytes()
        assert content.startswith(b"\x7fELF")
        assert b'"by": "3.0"' in content
        assert (-ONES).tobytes() in content
    else:
        file = read_dump(path)
        assert file.inputs[0].array().tobytes() == (-ONES).tobytes()
        if scene == "aic_err_norm_dump":
            assert ("by", "3.0") in file.attributes


@pytest.mark.parametrize("scene", SCENES)
async def test_failed_single_operator_is_named_and_written(device_with, dump_folder, scene):
    """One of the engine's own."""

    async def work(device):
        await device.execute_op("Reshape", [ONES, np.array([3], np.int64)])

    with pytest.raises(OperatorError, match="Reshape") as caught:
        await device_with(scene, work)

    (path,) = (p for p in (dump_folder / "extra-info/data-dump/0").iterdir())
    assert caught.value.dump_file == str(path)
    if scene == "aic_err_detail_dump":
        assert path.read_bytes().count(b"Reshape") > 1  # described, and as a model
    else:
        assert read_dump(path).inputs[0].array().tobytes() == ONES.tobytes()


async def test_without_an_exception_dump_nothing_is_written(dump_folder):
    """The error is the operator's own."""
    with fresh_runtime():
        async with acl_session() as session, session.open_device() as device:
            with pytest.raises(DeviceError) as caught:
                await device.execute_op("Reshape", [ONES, np.array([3], np.int64)])

    assert not isinstance(caught.value, OperatorError)
    assert not list(dump_folder.iterdir())
