"""Raw data on disk: slices, ageing, and disks that are full."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aclasync.profiling.records import Name, Names, Track, read_records
from aclasync.profiling.storage import MIB, RESERVED_BYTES, Storage, limit_bytes


@pytest.mark.parametrize(
    ("limit_mb", "disk_mb", "free_mb", "expected_mb"),
    [
        (200, 1000, 900, 80),  # half of it, less what is reserved
        (4000, 1000, 900, 980),  # no more than the disk
        (None, 1000, 900, 880),  # what is free
        (200, 1000, 19, 0),  # too full for anything
        (None, 1000, 20, 0),
    ],
)
def test_limit_is_half_of_what_is_said(limit_mb, disk_mb, free_mb, expected_mb):
    """Capped by the disk, with 20 MB reserved; without it, what is free."""
    found = limit_bytes(limit_mb, disk_bytes=disk_mb * MIB, free_bytes=free_mb * MIB)
    assert found == expected_mb * MIB


@pytest.fixture
def storage(tmp_path):
    (tmp_path / "s").mkdir()
    return Storage(tmp_path / "s" / "device_0", slice_bytes=100)


def names(storage):
    return sorted(path.name for path in (storage.folder / "data").iterdir())


def test_data_is_cut_into_slices_each_with_its_mark(storage):
    """A slice is complete when it is full, the last one at the end."""
    for _ in range(5):
        storage.put("task", b"x" * 60)

    assert names(storage) == [
        "task.slice_0", "task.slice_0.done", "task.slice_1", "task.slice_1.done", "task.slice_2",
    ]  # fmt: skip
    storage.finish()
    assert "task.slice_2.done" in names(storage)


def test_oldest_slices_go_and_small_files_stay(storage):
    """What went is counted."""
    storage._limit = 300
    storage.index("hash_dic", b"line\n")
    for number in range(20):
        storage.put(("task", "model")[number % 2], b"x" * 100)

    assert storage.aged_bytes == 1700
    assert [name for name in names(storage) if not name.endswith(".done")] == [
        "hash_dic",
        "model.slice_8",
        "model.slice_9",
        "task.slice_9",
    ]
    assert "task.slice_8.done" not in names(storage)


def test_nothing_is_collected_on_a_full_disk(storage, tmp_path, caplog):
    """Less than 20 MB free is too little; that is told, and what is lost counted."""
    script = f"""
import sys
from pathlib import Path
from aclasync.profiling import storage
storage.shutil.disk_usage = lambda path: type("U", (), dict(total=10**9, free={RESERVED_BYTES - 1}))
found = storage.Storage(Path(sys.argv[1]) / "device_0")
found.put("task", b"x" * 32)
print(found.lost_bytes, [p.name for p in (found.folder / "data").iterdir()])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "32 []"
    assert "less than 20 MB free" in done.stderr


def test_disk_that_fills_up_is_told_once_and_tears_no_record(tmp_path):
    """What was written before is whole; the rest is counted."""
    script = """
import resource, signal, sys
from pathlib import Path
from aclasync.profiling.storage import Storage
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
storage = Storage(Path(sys.argv[1]) / "device_0")
for _ in range(5):
    storage.put("task", b"x" * 32)

print(storage.lost_bytes, (storage.folder / "data" / "task.slice_0").stat().st_size)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["64", "96"]
    assert done.stderr.count("no more data") == 1


def test_folder_that_is_removed_is_told_and_harms_nothing(storage, caplog):
    """The program goes on."""
    shutil.rmtree(storage.folder)
    for _ in range(3):
        storage.put("task", b"x")

    storage.finish()
    assert storage.lost_bytes == 3
    assert caplog.text.count("no more data") == 1


def test_records_come_back_as_they_were(storage):
    """With their names, whatever is in them, over as many slices as it took."""
    table = Names(storage)
    known = [Name("a", "b", "c"), Name('tab\t"quote"', "\n", "温"), Name("a", "b", "d")]
    track = Track(storage, "task")
    for number in range(5000):
        track.add(table.number_of(known[number % 3]), 2**40 + number, 2**60 + number, number)

    track.flush()
    storage.finish()
    records = list(read_records(storage.folder, "task"))
    assert [r.name for r in records] == [known[n % 3] for n in range(5000)]
    assert [r.thread_id - 2**40 for r in records] == list(range(5000))
    assert [r.begin_ns - 2**60 for r in records] == list(range(5000))
    assert [r.duration_ns for r in records] == list(range(5000))
    assert list(read_records(storage.folder, "model")) == []


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("task.slice_0", b"x" * 33, "33 bytes are no whole records"),
        ("task.slice_0", b"\xff" * 32, "nothing has the number"),
        ("hash_dic", b"[1, 2\n", "hash_dic is damaged"),
        ("hash_dic", b"[1, 2]\n", "hash_dic is damaged"),
        ("hash_dic", b"\xff\n", "hash_dic is damaged"),
    ],
)
def test_damaged_raw_data_is_told(storage, file, content, words):
    """With the file."""
    storage.put("task", bytes(32))
    storage.finish()
    Path(storage.folder / "data" / file).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        list(read_records(storage.folder, "task"))
