"""The Open Inference Protocol v2, and its binary extension: bytes to requests, answers to bytes.

Pure: knows no HTTP server, no model's execution and no clock.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, cast, final

import orjson
from attrs import frozen

from aclasync import TensorSpec

from .datatypes import (
    DTYPES,
    datatype_of,
    datatype_of_array,
    from_bytes,
    from_json,
    shape_of,
    to_bytes,
    to_json,
)
from .errors import BadRequestError, EncodingError, TooLargeError
from .queueing import Array

#: How many of the body's first bytes are JSON; the rest is raw tensors.
HEADER_LENGTH = b"inference-header-content-length"
JSON = b"application/json"
OCTETS = b"application/octet-stream"
EXTENSIONS = ("binary_tensor_data", "model_repository")

# Parameters that would change what a request means, and that this server does not have.
_REFUSED = {
    "classification": "classification is not offered; rank the outputs yourself",
    "shared_memory_region": "shared memory is not offered; send and ask for the data itself",
    "sequence_id": "sequences are not offered: no state is kept between requests",
}
_MAX_RANK = 32


@final
@frozen(kw_only=True)
class Wanted:
    """An output that was asked for."""

    name: str
    is_binary: bool


@final
@frozen(kw_only=True)
class InferRequest:
    """One request to a model, checked against what the model takes."""

    inputs: Mapping[str, Array]
    outputs: Sequence[Wanted]
    id: str | None
    #: Seconds that the client gives it; None if it does not say.
    timeout: float | None


@final
@frozen
class Body:
    """What is sent back, and how it is labelled."""

    content: bytes
    content_type: bytes = JSON
    #: Length of the JSON before the raw tensors; None if there are none.
    header_length: int | None = None


def decompressed(body: bytes, encoding: str, *, limit: int) -> bytes:
    """Return a body without its Content-Encoding, `limit` bytes at most.

    Raises:
      EncodingError: the encoding is neither gzip nor deflate.
      TooLargeError: more than `limit` bytes come out.
      BadRequestError: the body is not so encoded.
    """
    if encoding in ("", "identity"):
        return body

    if encoding not in ("gzip", "deflate"):
        raise EncodingError(f"Content-Encoding {encoding!r} is not known; gzip and deflate are")

    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)  # both, told by their first bytes
    try:
        content = inflater.decompress(body, limit + 1)
    except zlib.error as exc:
        raise BadRequestError(f"the body is no {encoding}: {exc}") from exc

    if len(content) > limit:
        raise TooLargeError(f"the body has more than {limit} bytes when decompressed")

    if not inflater.eof:
        raise BadRequestError(f"the body ends within its {encoding} data")

    return content


def parse_infer(
    body: bytes,
    header_length: str | None,
    specs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
) -> InferRequest:
    """Return the request that a body holds.

    Args:
      body: all of it, decompressed.
      header_length: the header's text; None where it was not sent.
      specs: what the model takes.
      outputs: what it gives.

    Raises:
      BadRequestError: it is no request, or none for this model; the text says where and why.
    """
    header = _header_length(header_length, len(body))
    request = parse_object(memoryview(body)[:header])
    rest = memoryview(body)[header:]
    parameters = _parameters(request, "the request")
    inputs, used = _inputs(request.get("inputs"), rest, specs)
    if used != len(rest):
        raise BadRequestError(
            f"{len(rest)} bytes follow the JSON, but the inputs' binary_data_size add up to {used}"
        )

    request_id = request.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise BadRequestError(f"id must be a string, not {request_id!r}")

    return InferRequest(
        inputs=inputs,
        outputs=_wanted(request.get("outputs"), parameters, [spec.name for spec in outputs]),
        id=request_id or None,
        timeout=_timeout(parameters),
    )


def parse_object(text: bytes | memoryview) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
      BadRequestError: it is something else.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise BadRequestError(f"the body is no JSON: {exc}") from exc

    if not isinstance(value, dict):
        raise BadRequestError(f"the body must be a JSON object, not {type(value).__name__}")

    return value


def infer_body(
    request: InferRequest, answers: Mapping[str, Array], *, model: str, version: str
) -> Body:
    """Return an answer's bytes.

    Raises:
      BadRequestError: an output can't be given in the form that was asked for.
    """
    listed = []
    raws: list[bytes] = []
    for wanted in request.outputs:
        array = answers[wanted.name]
        output: dict[str, Any] = {
            "name": wanted.name,
            "datatype": datatype_of_array(array),
            "shape": array.shape,
        }
        if wanted.is_binary:
            raw = to_bytes(array)
            raws.append(raw)
            output["parameters"] = {"binary_data_size": len(raw)}
        else:
            try:
                output["data"] = to_json(array)
            except BadRequestError as exc:
                raise BadRequestError(f"output {wanted.name!r} {exc}") from exc

        listed.append(output)

    answer: dict[str, Any] = {"model_name": model, "model_version": version, "outputs": listed}
    if request.id is not None:
        answer["id"] = request.id

    head = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
    return Body(b"".join((head, *raws)), OCTETS, len(head)) if raws else Body(head)


def model_metadata(
    name: str, versions: Sequence[str], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> dict[str, Any]:
    """Return what the protocol tells of a model."""
    return {
        "name": name,
        "versions": list(versions),
        "platform": "onnx",
        "inputs": [_tensor_metadata(spec) for spec in inputs],
        "outputs": [_tensor_metadata(spec) for spec in outputs],
    }


def _tensor_metadata(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "datatype": datatype_of(spec), "shape": shape_of(spec)}


def _header_length(text: str | None, body_length: int) -> int:
    if text is None:
        return body_length

    # Python's int takes signs, underscores and digits of other scripts.
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise BadRequestError(f"Inference-Header-Content-Length must be a length, not {text!r:.80}")

    length = int(text)
    if length > body_length:
        raise BadRequestError(
            f"Inference-Header-Content-Length is {length}, but the body has {body_length} bytes"
        )

    return length


def _parameters(holder: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    parameters = holder.get("parameters")
    if parameters is None:
        return {}

    if not isinstance(parameters, dict):
        raise BadRequestError(f"parameters of {where} must be an object")

    for name, why in _REFUSED.items():
        if parameters.get(name):
            raise BadRequestError(f"{where}: {why}")

    return parameters


def _timeout(parameters: Mapping[str, Any]) -> float | None:
    """Return the client's own bound, which the protocol gives in microseconds."""
    timeout = parameters.get("timeout")
    if timeout is None or timeout == 0:
        return None

    if not isinstance(timeout, int) or isinstance(timeout, bool) or timeout < 0:
        raise BadRequestError(f"timeout must be microseconds, not {timeout!r}")

    return timeout / 1e6


def _named(listed: object, what: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the members of `inputs` or `outputs` with their names, each of which is there once."""
    if not isinstance(listed, list):
        raise BadRequestError(f"{what}s must be a list of objects")

    named: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(listed):
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise BadRequestError(f"{what}s[{number}] must be an object with a name")

        if one["name"] in named:
            raise BadRequestError(f"{what} {one['name']!r} is given twice")

        named[one["name"]] = one

    return list(named.items())


def _inputs(
    listed: object, rest: memoryview, specs: Sequence[TensorSpec]
) -> tuple[dict[str, Array], int]:
    """Return the inputs as arrays, and how many bytes of `rest` they used."""
    if listed is None:
        raise BadRequestError("the request has no inputs")

    known = {spec.name: spec for spec in specs}
    arrays = {}
    used = 0
    for name, given in _named(listed, "input"):
        if name not in known:
            expected = ", ".join(map(repr, known)) or "none"
            raise BadRequestError(f"unknown input {name!r}, expected {expected}")

        try:
            arrays[name], size = _input(given, rest[used:], known[name])
        except ValueError as exc:
            raise BadRequestError(f"input {name!r}: {exc}") from exc

        used += size

    for name, spec in known.items():
        if name not in arrays:
            expected = f"{datatype_of(spec)} {shape_of(spec)}"
            raise BadRequestError(f"input {name!r} is missing, expected {expected}")

    return arrays, used


def _input(given: Mapping[str, Any], rest: memoryview, spec: TensorSpec) -> tuple[Array, int]:
    datatype, shape = given.get("datatype"), given.get("shape")
    wanted = datatype_of(spec)
    if datatype != wanted:
        raise ValueError(f"expected datatype {wanted}, got {datatype!r}")

    if datatype not in DTYPES:
        raise ValueError(f"a {spec.dtype} can't be sent with this protocol")

    shape = _checked_shape(shape, spec)
    parameters = _parameters(given, "the input")
    size = parameters.get("binary_data_size")
    if size is None:
        if "data" not in given:
            raise ValueError("there is neither data nor the parameter binary_data_size")

        return from_json(given["data"], datatype, shape), 0

    if "data" in given:
        raise ValueError("there are both data and the parameter binary_data_size")

    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= len(rest):
        raise ValueError(f"binary_data_size is {size!r}, but {len(rest)} bytes are left")

    return from_bytes(rest[:size], datatype, shape), size


def _checked_shape(shape: Any, spec: TensorSpec) -> list[int]:
    is_shape = (
        isinstance(shape, list)
        and len(shape) <= _MAX_RANK
        and all(type(size) is int and 0 <= size < 2**40 for size in shape)
    )
    if not is_shape:
        raise ValueError("shape must be a list of sizes, 0 or more")

    want = shape_of(spec)
    # An engine has the same empty shape for a scalar and for "any".
    is_right = not want or (
        len(want) == len(shape) and all(w in (-1, s) for w, s in zip(want, shape, strict=True))
    )
    if not is_right:
        raise ValueError(f"expected shape {want}, got {shape}")

    return cast("list[int]", shape)


def _wanted(listed: object, parameters: Mapping[str, Any], names: Sequence[str]) -> list[Wanted]:
    is_binary = _flag(parameters, "binary_data_output", default=False)
    if not listed and (listed is None or listed == []):
        return [Wanted(name=name, is_binary=is_binary) for name in names]

    wanted = []
    for name, one in _named(listed, "output"):
        if name not in names:
            raise BadRequestError(
                f"unknown output {name!r}, expected {', '.join(map(repr, names))}"
            )

        own = _parameters(one, f"output {name!r}")
        wanted.append(Wanted(name=name, is_binary=_flag(own, "binary_data", default=is_binary)))

    return wanted


def _flag(parameters: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise BadRequestError(f"{name} must be true or false, not {value!r}")

    return value
