"""Values as bytes whose order is Cypher's order, so that one B-tree serves equality, ranges and
neighbours of every type.

key of several values = the keys one after the other          rank byte, then:
text       UTF-8 with 00 as 00 FF, ended by 00 00             bytes      the same
number     8 bytes of the float, then 8 of what it rounds off, so that 1 and 1.0 are one key and
2**63 - 1 keeps its place
boolean    1 byte          list       its items, ended by 00          temporal, point      their
order keys as numbers and text
"""

from __future__ import annotations

import struct
from typing import Any

from doxa.base import spatial, temporal

_RANKS: dict[type, int] = {
    list: 3,
    spatial.Point: 5,
    temporal.DateTime: 6,
    temporal.LocalDateTime: 7,
    temporal.Date: 8,
    temporal.Time: 9,
    temporal.LocalTime: 10,
    temporal.Duration: 11,
    bytes: 12,
    str: 13,
    bool: 14,
    int: 15,
    float: 15,
}
_PREFIXES = {kind: bytes((rank,)) for kind, rank in _RANKS.items()}
_OF_NUMBERS = _PREFIXES[int]
_SIGN = 1 << 63
_EXACT = 1 << 53  # up to here every whole number is a float
_FLOAT, _BITS, _PAIR = struct.Struct(">d"), struct.Struct(">q"), struct.Struct(">QQ")


def key_of(values: list[Any]) -> bytes | None:
    """Return the key of several values, or None if one of them is null."""
    if len(values) == 1:
        value = values[0]
        if type(value) is int and 0 <= value <= _EXACT:  # most of them: as _one and _number say
            return _OF_NUMBERS + _PAIR.pack(_BITS.unpack(_FLOAT.pack(value))[0] + _SIGN, _SIGN)
        return None if value is None else _one(value)
    parts = []
    for value in values:
        if value is None:
            return None
        parts.append(_one(value))
    return b"".join(parts)


def keys_of(values: list[Any]) -> list[bytes]:
    """Return the key of each single value; none may be null."""
    if set(map(type, values)) == {int} and min(values) >= 0 and max(values) <= _EXACT:
        bits, of_float, pair = _BITS.unpack, _FLOAT.pack, _PAIR.pack
        return [_OF_NUMBERS + pair(bits(of_float(value))[0] + _SIGN, _SIGN) for value in values]
    return list(map(_one, values))


def rank_of(value: Any) -> bytes:
    """Return the first byte of the keys of all values that can be compared with this one."""
    return _PREFIXES[type(value)]


def after_key(prefix: bytes) -> bytes:
    """Return the least key greater than every key that begins with the prefix."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,))


def _one(value: Any) -> bytes:
    kind = type(value)
    rank = _PREFIXES[kind]
    if kind is str:
        return rank + _ended(value.encode())
    if kind is int or kind is float:
        return rank + _number(value)
    if kind is bool:
        return rank + (b"\x01" if value else b"\x00")
    if kind is bytes:
        return rank + _ended(value)
    if kind is list:
        return rank + b"".join(_one(item) for item in value) + b"\x00"
    parts = spatial.order_key(value) if kind is spatial.Point else temporal.order_key(value)
    return rank + b"".join(_part(part) for part in parts)


def _ended(data: bytes) -> bytes:
    return data.replace(b"\x00", b"\x00\xff") + b"\x00\x00"


def _part(part: Any) -> bytes:
    """A member of an order key: a number of any size, text, or None, which comes first."""
    if part is None:
        return b"\x00"
    if isinstance(part, str):
        return b"\x01" + _ended(part.encode())
    return b"\x01" + _number(part)


def _number(value: float) -> bytes:
    if type(value) is int and 0 <= value <= _EXACT:  # no remainder, no sign
        return _PAIR.pack(_BITS.unpack(_FLOAT.pack(value))[0] + _SIGN, _SIGN)
    if value != value:
        return b"\xff" * 17
    real = float(value)
    rest = int(value) - int(real) if isinstance(value, int) else 0
    bits = _BITS.unpack(_FLOAT.pack(real + 0.0))[0]  # + 0.0 makes -0.0 and 0.0 one
    ordered = bits ^ 0x7FFFFFFFFFFFFFFF if bits < 0 else bits
    return _PAIR.pack(ordered + _SIGN, rest + _SIGN)
