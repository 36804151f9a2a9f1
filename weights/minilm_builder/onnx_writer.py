"""Writes ONNX files. The `onnx` package (31 MB with protobuf) would be another download for every
build, and its output may change with its version; the digest of ours is pinned.

An ONNX file is one protobuf message, `ModelProto` of onnx.proto. Every field is a key, `number << 3
| wire type`, then its value:

    wire type 0   varint                       integers and enums
    wire type 2   varint length, then bytes    strings, raw tensors, nested messages
    wire type 5   4 bytes, little-endian       floats

`GraphWriter` collects operators and constants in the order in which they run; `model_bytes` wraps
them in a model. The writer does not know the operators: onnxruntime checks them when it opens the
file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Opset 20 is the first with Gelu; IR 9 is the file version that goes with it.
IR_VERSION = 9
OPSET_VERSION = 20

# TensorProto.DataType
ELEMENT_TYPES: Mapping[str, int] = {"float32": 1, "int8": 3, "int32": 6, "int64": 7}

Attribute = int | float | Sequence[int]
Dimension = int | str


class GraphWriter:
    """A graph under construction. Values are referred to by name; operators name their outputs."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Store `array` (float32, int8, int32 or int64) under `name`, once, and return the name."""
        if name not in self._constants:
            dimensions = b"".join(_number(1, size) for size in array.shape)
            kind = _number(2, ELEMENT_TYPES[array.dtype.name])
            little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
            self._constants[name] = (
                dimensions + kind + _text(8, name) + _block(9, little_endian.tobytes())
            )
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """Append an operator with one output and return that output's name."""
        return self.nodes(operator, inputs, outputs=1, **attributes)[0]

    def nodes(
        self, operator: str, inputs: Sequence[str], *, outputs: int, **attributes: Attribute
    ) -> tuple[str, ...]:
        """Append an operator with several outputs and return their names."""
        names = tuple(f"{operator}_{len(self._nodes)}_{index}" for index in range(outputs))
        parts = [_text(1, name) for name in inputs]
        parts += [_text(2, name) for name in names]
        parts += [_text(3, f"{operator}_{len(self._nodes)}"), _text(4, operator)]
        parts += [_block(5, _attribute(name, value)) for name, value in sorted(attributes.items())]
        self._nodes.append(b"".join(parts))
        return names

    def graph_bytes(self, name: str, *, inputs: Sequence[bytes], outputs: Sequence[bytes]) -> bytes:
        """Return the GraphProto; `inputs` and `outputs` come from `value_info`."""
        parts = [_block(1, node) for node in self._nodes]
        parts.append(_text(2, name))
        parts += [_block(5, constant) for constant in self._constants.values()]
        parts += [_block(11, value) for value in inputs]
        parts += [_block(12, value) for value in outputs]
        return b"".join(parts)


def value_info(name: str, *, element: str, shape: Sequence[Dimension]) -> bytes:
    """Return a ValueInfoProto: an input or output of a graph. A text in `shape` names a free
    dimension."""
    dimensions = b"".join(
        _block(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    tensor = _number(1, ELEMENT_TYPES[element]) + _block(2, dimensions)
    return _text(1, name) + _block(2, _block(1, tensor))


def model_bytes(graph: bytes, *, producer: str) -> bytes:
    """Return the ModelProto around `graph`: the content of an .onnx file."""
    opset = _text(1, "") + _number(2, OPSET_VERSION)
    return _number(1, IR_VERSION) + _text(2, producer) + _block(7, graph) + _block(8, opset)


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _varint(value: int) -> bytes:
    # Protobuf writes a negative number as the two's complement of 64 bits.
    assert -(1 << 63) <= value < 1 << 63
    rest = value & 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _block(field: int, content: bytes) -> bytes:
    return _key(field, 2) + _varint(len(content)) + content


def _text(field: int, content: str) -> bytes:
    return _block(field, content.encode("utf-8"))
