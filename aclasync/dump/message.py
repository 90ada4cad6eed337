"""The protobuf message in a dump's header, built when it is first needed.

The field numbers are the reference's; the package's own classes make it, so no code is generated.
Enumerations travel as int32, which is the same on the wire and lets unknown numbers through.
"""

from __future__ import annotations

from functools import cache
from typing import Any

PACKAGE = "toolkit.dump"

# Message -> (field number, name, type); a type in brackets is repeated.
_TABLE: dict[str, tuple[tuple[int, str, str], ...]] = {
    "Shape": ((1, "dim", "[uint64]"),),
    "DimRange": ((1, "dim_start", "uint64"), (2, "dim_end", "uint64")),
    "OriginalOp": (
        (1, "name", "string"),
        (2, "output_index", "uint32"),
        (3, "data_type", "int32"),
        (4, "format", "int32"),
    ),
    "OpAttr": ((1, "name", "string"), (2, "value", "string")),
    "OpOutput": (
        (1, "data_type", "int32"),
        (2, "format", "int32"),
        (3, "shape", "Shape"),
        (4, "original_op", "OriginalOp"),
        (5, "data", "bytes"),
        (6, "size", "uint64"),
        (7, "original_shape", "Shape"),
        (8, "sub_format", "int32"),
        (9, "address", "uint64"),
        (10, "dim_range", "[DimRange]"),
        (11, "offset", "uint64"),
        (12, "arg_index", "uint32"),
    ),
    "OpInput": (
        (1, "data_type", "int32"),
        (2, "format", "int32"),
        (3, "shape", "Shape"),
        (4, "data", "bytes"),
        (5, "size", "uint64"),
        (6, "original_shape", "Shape"),
        (7, "sub_format", "int32"),
        (8, "address", "uint64"),
        (9, "offset", "uint64"),
        (10, "arg_index", "uint32"),
        (11, "input_type", "uint32"),
    ),
    "OpBuffer": ((1, "buffer_type", "int32"), (2, "data", "bytes"), (3, "size", "uint64")),
    "Workspace": (
        (1, "type", "int32"),
        (2, "data", "bytes"),
        (3, "size", "uint64"),
        (4, "arg_index", "uint32"),
    ),
    "DumpData": (
        (1, "version", "string"),
        (2, "dump_time", "uint64"),
        (3, "output", "[OpOutput]"),
        (4, "input", "[OpInput]"),
        (5, "buffer", "[OpBuffer]"),
        (6, "op_name", "string"),
        (7, "attr", "[OpAttr]"),
        (8, "space", "[Workspace]"),
        (9, "dfx_message", "string"),
    ),
}


@cache
def dump_data_class() -> Any:
    """Return the class of `DumpData`; its parts are made by its repeated fields.

    Raises:
      ImportError: protobuf is not installed.
    """
    # Slow to import, and only dumps need it.
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: PLC0415

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="aclasync/dump_data.proto", package=PACKAGE, syntax="proto3"
    )
    for message, fields in _TABLE.items():
        described = file.message_type.add(name=message)
        for number, name, text in fields:
            kind = text.strip("[]")
            field = described.field.add(name=name, number=number)
            field.label = kinds.LABEL_REPEATED if text != kind else kinds.LABEL_OPTIONAL
            if kind in _TABLE:
                field.type = kinds.TYPE_MESSAGE
                field.type_name = f".{PACKAGE}.{kind}"
            else:
                field.type = kinds.Type.Value(f"TYPE_{kind.upper()}")

    # A pool of our own: another package may describe the reference's messages, too.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.DumpData"))
