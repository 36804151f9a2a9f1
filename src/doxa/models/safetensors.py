"""Reads a safetensors file by hand, because the format is forty lines and a model file is
downloaded content that must not be trusted.

    8 bytes      header length n, unsigned, little-endian
    n bytes      JSON object: name -> {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin,
    end]}, and "__metadata__"
    the rest     the tensors, row-major, little-endian; offsets count from here, and the tensors
    fill the rest without gap or overlap

Only the types that the supported models use are read. Whatever does not fit raises ModelError: no
size is believed before it is checked against the bytes that are there.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from doxa.base.errors import ModelError
from doxa.base.limits import TENSOR_HEADER_BYTES_MAX, TENSOR_RANK_MAX

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH_BYTES = 8
_DTYPES = {"F32": "<f4", "I64": "<i8"}


def read_safetensors(data: bytes) -> dict[str, NDArray[Any]]:
    """The tensors of a whole file, as read-only views into `data`.

    Raises ModelError when the header is too long, is not the JSON described above, or does not
    describe exactly the bytes that follow it.
    """
    import numpy as np

    header, body = _split(data)
    tensors: dict[str, NDArray[Any]] = {}
    regions: list[tuple[int, int]] = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, begin, end = _checked_entry(name, entry, body_bytes=len(body))
        tensors[name] = np.frombuffer(body[begin:end], dtype=dtype).reshape(shape)
        regions.append((begin, end))
    position = 0
    for begin, end in sorted(regions):
        if begin != position:
            raise _refusal("its tensors leave a gap or overlap", offset_bytes=begin)
        position = end
    if position != len(body):
        raise _refusal("bytes follow its last tensor", offset_bytes=position)
    return tensors


def _split(data: bytes) -> tuple[dict[str, Any], memoryview]:
    header_bytes = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if len(data) < _LENGTH_BYTES or header_bytes > min(
        TENSOR_HEADER_BYTES_MAX, len(data) - _LENGTH_BYTES
    ):
        raise _refusal(
            "its header is longer than the file or the limit",
            header_bytes=header_bytes,
            header_bytes_max=TENSOR_HEADER_BYTES_MAX,
        )
    body_start = _LENGTH_BYTES + header_bytes
    try:
        header = json.loads(data[_LENGTH_BYTES:body_start])
    # Deep nesting is a RecursionError, and an integer of thousands of digits a ValueError.
    except (ValueError, RecursionError) as error:
        raise _refusal("its header is not JSON", header_bytes=header_bytes) from error
    if not isinstance(header, dict):
        raise _refusal("its header is not a JSON object", header_bytes=header_bytes)
    return header, memoryview(data)[body_start:]


def _checked_entry(
    name: str, entry: object, *, body_bytes: int
) -> tuple[str, tuple[int, ...], int, int]:
    # Through str(), because the type named in a hostile file may be a list, which no dict can look
    # up.
    dtype = _DTYPES.get(str(entry.get("dtype"))) if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or dtype is None:
        raise _refusal("a tensor has no known type", tensor=name)
    shape = _sizes(entry.get("shape"))
    offsets = _sizes(entry.get("data_offsets"))
    if shape is None or offsets is None or len(offsets) != 2 or len(shape) > TENSOR_RANK_MAX:
        raise _refusal("a tensor has no usable shape or offsets", tensor=name)
    begin, end = offsets
    item_bytes = int(dtype[-1])
    if not begin <= end <= body_bytes or end - begin != math.prod(shape) * item_bytes:
        raise _refusal("a tensor lies outside the file or does not fill its place", tensor=name)
    return dtype, shape, begin, end


def _sizes(value: object) -> tuple[int, ...] | None:
    # `type(...) is int` because JSON's true would pass as the integer 1.
    if isinstance(value, list) and all(type(size) is int and 0 <= size < 1 << 62 for size in value):
        return tuple(value)
    return None


def _refusal(reason: str, **fields: object) -> ModelError:
    return ModelError(
        f"The model weights are not a valid safetensors file: {reason}.",
        next_step="Fetch the weights file again.",
        **fields,
    )
