"""`aclasync dump kernel`: what kernels have said, for people and for programs."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from aclasync.dump.kernel_output import (
    RecordKind,
    pack_dropped,
    pack_launch,
    pack_record,
    pack_tensor,
    pack_text,
    pack_timestamp,
)

TENSOR = np.arange(20, dtype=np.int16).reshape(4, 5)
CONTENTS = [
    (RecordKind.LAUNCH, pack_launch("MyOp", "layer")),
    (RecordKind.DROPPED, pack_dropped(3)),
    (RecordKind.PRINTF, pack_text("x is [red]5[/]\n")),
    (RecordKind.TENSOR, pack_tensor(TENSOR, 7)),
    (RecordKind.TIMESTAMP, pack_timestamp(2, 12345)),
    (RecordKind.ASSERT, pack_text("size is 0")),
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "asc_kernel_data_aiv_0.bin"
    path.write_bytes(
        b"".join(
            pack_record(kind, content, device_id=1, launch=4, time_ns=99)
            for kind, content in CONTENTS
        )
    )
    return path


def test_text_has_a_line_for_every_record(cli_here, file):
    """What a kernel printed is no markup."""
    done = cli_here("dump", "kernel", file)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "launch 4: MyOp layer on device 1",
        "  dropped    3 older records: the FIFO was full",
        "  printf     x is [red]5[/]",
        "  tensor     7: int16 [4, 5] 0 1 2 3 4 5 6 7 ...",
        "  timestamp  2: 12345 ns",
        "  assert     size is 0",
    ]


def test_json_holds_everything(cli_here, file):
    """Tensors to the last bit."""
    said = json.loads(cli_here("dump", "kernel", file, file, "--format", "json").stdout)
    first, second = said["files"]
    assert first == second
    assert first["file"] == str(file)
    assert [r["kind"] for r in first["records"]] == [k.name.lower() for k, _ in CONTENTS]
    tensor = first["records"][3]
    got = np.frombuffer(base64.b64decode(tensor["base64"]), tensor["dtype"])
    assert np.array_equal(got.reshape(tensor["shape"]), TENSOR)
    assert {(r["device"], r["launch"], r["time_ns"]) for r in first["records"]} == {(1, 4, 99)}


def test_element_type_that_nobody_knows_is_shown_as_bytes(cli_here, tmp_path):
    """And said."""
    content = pack_tensor(np.zeros(3, np.int8), 0).replace(b"int8", b"int3")
    path = tmp_path / "x.bin"
    path.write_bytes(pack_record(RecordKind.TENSOR, content, device_id=0, launch=1, time_ns=0))
    assert "(3 bytes: there is no element type 'int3')" in cli_here("dump", "kernel", path).stdout


def test_damaged_and_missing_files_are_told(cli_here, file):
    """What is whole comes first."""
    file.write_bytes(file.read_bytes()[:-1])
    done = cli_here("dump", "kernel", file)
    assert done.returncode == 1
    assert "ends in the middle of a record" in done.stderr
    assert done.stdout.startswith("launch 4")
    done = cli_here("dump", "kernel", file.parent / "none.bin")
    assert done.returncode == 1
    assert "none.bin: No such file" in done.stderr
