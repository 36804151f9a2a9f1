"""A weights file is downloaded content: every lie that it can tell about itself must end in
ModelError."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import ModelError
from doxa.base.limits import TENSOR_HEADER_BYTES_MAX
from doxa.models.safetensors import read_safetensors


def packed(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def entry(shape: object, offsets: object, dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def test_reads_tensors() -> None:
    first, second = np.arange(6, dtype="<f4").reshape(2, 3), np.array([7], dtype="<i8")
    header = {
        "__metadata__": {"format": "pt"},
        "b": entry([2, 3], [8, 32]),
        "a": entry([1], [0, 8], "I64"),
    }
    tensors = read_safetensors(packed(header, second.tobytes() + first.tobytes()))
    assert tensors.keys() == {"a", "b"}
    assert np.array_equal(tensors["b"], first)
    assert np.array_equal(tensors["a"], second)


BAD = {
    "empty": b"",
    "short": b"\x01\x00",
    "huge header": (1 << 63).to_bytes(8, "little") + b"{}",
    "header over limit": packed(b" " * (TENSOR_HEADER_BYTES_MAX + 1)),
    "not json": packed(b"{"),
    "not utf-8": packed(b'{"\xff": 1}'),
    "deep": packed(b"[" * 500_000),
    "long number": packed(b'{"a": ' + b"9" * 10_000 + b"}"),
    "list": packed([]),
    "entry is text": packed({"a": "F32"}),
    "unknown type": packed({"a": entry([1], [0, 4], "F8")}, bytes(4)),
    "type is a list": packed({"a": entry([1], [0, 4], ["F32"])}, bytes(4)),
    "no shape": packed({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, bytes(4)),
    "negative size": packed({"a": entry([-1, -1], [0, 4])}, bytes(4)),
    "boolean size": packed({"a": entry([True], [0, 4])}, bytes(4)),
    "float size": packed({"a": entry([1.0], [0, 4])}, bytes(4)),
    "overflowing shape": packed({"a": entry([1 << 61, 1 << 61], [0, 4])}, bytes(4)),
    "high rank": packed({"a": entry([1] * 100, [0, 4])}, bytes(4)),
    "three offsets": packed({"a": entry([1], [0, 4, 4])}, bytes(4)),
    "reversed offsets": packed({"a": entry([1], [4, 0])}, bytes(4)),
    "outside": packed({"a": entry([2], [0, 8])}, bytes(4)),
    "wrong size": packed({"a": entry([2], [0, 4])}, bytes(4)),
    "overlap": packed({"a": entry([1], [0, 4]), "b": entry([1], [0, 4])}, bytes(4)),
    "gap": packed({"a": entry([1], [4, 8])}, bytes(8)),
    "trailing bytes": packed({"a": entry([1], [0, 4])}, bytes(5)),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_refuses(data: bytes) -> None:
    with pytest.raises(ModelError, match="not a valid safetensors file"):
        read_safetensors(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
)


@given(dtype=JSON | st.just("F32"), shape=JSON, offsets=JSON, body=st.binary(max_size=16))
def test_never_fails_otherwise(dtype: object, shape: object, offsets: object, body: bytes) -> None:
    with contextlib.suppress(ModelError):
        read_safetensors(packed({"a": entry(shape, offsets, dtype)}, body))
