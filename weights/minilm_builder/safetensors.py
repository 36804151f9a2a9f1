"""Reads the tensors of a safetensors file.

    8 bytes      header length n, unsigned, little-endian
    n bytes      JSON object: name -> {"dtype": "F32", "shape": [2, 3],
                 "data_offsets": [begin, end]}, and "__metadata__"
    the rest     the tensors, row-major, little-endian; offsets count from here

The reader trusts the header: `backend.py` compares the file's SHA-256 digest with the published one
before it calls `read_safetensors`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH_BYTES = 8
_DTYPES = {"F32": "<f4", "I64": "<i8"}


def read_safetensors(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a whole file, as read-only views into `data`."""
    import numpy as np

    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    header = json.loads(data[_LENGTH_BYTES:start])
    header.pop("__metadata__", None)
    body = memoryview(data)[start:]
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(body[begin:end], dtype=_DTYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors
