"""Names of dump files and folders: how they are made, kept inside their folder, and read."""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple, final

#: Lines of `number,name` for the files whose own names were too long.
MAPPING = "mapping.csv"
STATS_SUFFIX = ".csv"

_FOREIGN = re.compile(r"[\s./\\\x00-\x1f\x7f\ud800-\udfff]")
_NAME = re.compile(
    r"(?P<op_type>[^.]*)\.(?P<op_name>[^.]*)\.(?P<task_id>\d+)\.(?P<stream_id>\d+)\.(?P<time>\d+)"
    r"(?P<more>(?:\.\w+)*?)(?P<stats>\.csv|\.bin)?"
)
_EXCEPTION_NAME = re.compile(
    r"(?P<op_type>[^.]*)\.(?P<op_name>[^.]*)\.(?P<task_id>\d+)\.(?P<time>\d{17})"
)
_BRIEF_NAME = re.compile(r"exception_info\.(?P<stream_id>\d+)\.(?P<task_id>\d+)\.(?P<time>\d{17})")


@final
class FileName(NamedTuple):
    """What a dump file's name says."""

    op_type: str = ""
    op_name: str = ""
    task_id: int = 0
    stream_id: int = 0
    #: Microseconds, or of an exception the local time with milliseconds as digits.
    time: int = 0
    is_stats: bool = False
    is_exception: bool = False


def sanitised(text: str) -> str:
    """Return a name that is one component of a path, as the reference writes it."""
    return _FOREIGN.sub("_", text)


def file_name(op_type: str, op_name: str, task_id: int, stream_id: int, time_us: int) -> str:
    """Return the name of a model's or single operator's dump file."""
    return f"{sanitised(op_type)}.{sanitised(op_name)}.{task_id}.{stream_id}.{time_us}"


def short_name(path: str) -> str:
    """Return the number that stands for a path whose last component is too long."""
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return str(int.from_bytes(digest, "little"))


def time_digits(moment: datetime, *, with_ms: bool = False) -> str:
    """Return a local time as names have it, `20260131235959` and perhaps three digits more."""
    digits = moment.strftime("%Y%m%d%H%M%S")
    return f"{digits}{moment.microsecond // 1000:03}" if with_ms else digits


def parse_file_name(name: str) -> FileName | None:
    """Return what a name says; None if no dump file has such a name."""
    if match := _BRIEF_NAME.fullmatch(name):
        stream_id, task_id, moment = map(int, match.groups())
        return FileName("", "", task_id, stream_id, moment, is_exception=True)

    match = _EXCEPTION_NAME.fullmatch(name)
    is_exception = match is not None
    match = match or _NAME.fullmatch(name)
    if match is None:
        return None

    found = match.groupdict()
    return FileName(
        found["op_type"],
        found["op_name"],
        int(found["task_id"]),
        int(found.get("stream_id", 0)),
        int(found["time"]),
        is_stats=bool(found.get("stats")),
        is_exception=is_exception,
    )


def parse_mapping(text: str) -> dict[str, str]:
    """Return names by the numbers that stand for them."""
    pairs = (line.partition(",") for line in text.splitlines())
    return {number.strip(): name for number, comma, name in pairs if comma}
