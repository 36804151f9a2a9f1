"""PackStream, Bolt's binary encoding. A server needs an implementation with limits for reading and
speed for writing.

    C0              null              80..8F D0 D1 D2   text, UTF-8
    C2 C3           false, true       CC CD CE          bytes
    C1              float, 64 bits    90..9F D4 D5 D6   list
    C8 C9 CA CB     integer           A0..AF D8 D9 DA   map
    00..7F F0..FF   small integer     B0..BF tag        structure

Sizes have 8, 16 or 32 bits, big-endian. A declared size is never trusted: the data must be present,
and depth and number of values are limited. Structures are interpreted elsewhere: `Unpacker` passes
tag and fields to a function, `Packer` uses a table from types to functions.

Source: the Bolt documentation, "PackStream specification version 1".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from struct import Struct
from typing import Any, NamedTuple

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import BOLT_DEPTH_MAX, BOLT_MESSAGE_ITEMS_MAX

Put = Callable[[bytes], None]
Writer = Callable[["Packer", Put, Any, int], None]  # packer, output, value, remaining depth
Hydrate = Callable[[int, list[Any]], Any]

CHUNK_BYTES_MAX = 0xFFFF
_BLOCK_BYTES = 262_144
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_FLOAT, _DOUBLE = Struct(">Bd"), Struct(">d")
_INT_8, _INT_16, _INT_32, _INT_64 = Struct(">Bb"), Struct(">Bh"), Struct(">Bi"), Struct(">Bq")
_SIZE_8, _SIZE_16, _SIZE_32 = Struct(">BB"), Struct(">BH"), Struct(">BI")
_SMALL = {value: (value & 0xFF).to_bytes(1, "big") for value in range(-16, 128)}
_TEXT_SIZE = [bytes((0x80 + size,)) for size in range(16)] + [
    bytes((0xD0, size)) for size in range(16, 256)
]
_ENDS_EARLY = "Send complete values."


class Packed(NamedTuple):
    """A value that is encoded already."""

    data: bytes


_KEYS: dict[str, bytes] = {}  # encoded keys of maps: those of messages and columns come again
_KEYS_MAX, _KEY_CHARS_MAX = 4_096, 64


class Packer:
    """Encodes values. `writers` maps types to functions that write structures; `classify` may find
    one for other types."""

    def __init__(
        self,
        writers: Mapping[type, Writer],
        classify: Callable[[type], Writer | None] = lambda _: None,
    ) -> None:
        self._writers = {Packed: _put_packed, **writers}
        self._classify = classify

    def pack(self, value: Any) -> bytes:
        """Encode one value. Raises InputError for a value that Bolt cannot represent, LimitError
        for one that is nested too deeply."""
        parts: list[bytes] = []
        self.put(parts.append, value, BOLT_DEPTH_MAX)
        return b"".join(parts)

    def structure(self, tag: int, *fields: Any) -> bytes:
        """Encode a structure of plain values, such as a message."""
        parts = [structure_head(len(fields), tag)]
        for field in fields:
            self.put(parts.append, field, BOLT_DEPTH_MAX)
        return b"".join(parts)

    def records(
        self, rows: Iterator[Sequence[Any]], width: int, *, count_max: int
    ) -> tuple[bytes, int, bool]:
        """Encode rows as chunked RECORD messages. Returns the bytes, their number, and whether the
        rows are exhausted. Stops early when a block is full.

        This is the hot loop of the server: plain types are encoded without a call.
        """
        head = b"\xb1\x71" + list_head(width)
        found: list[bytes] = []
        total, ended = 0, False
        for row in rows:
            parts = [head]
            put = parts.append
            for value in row:
                kind = type(value)
                if kind is str:
                    try:
                        data = value.encode()
                    except UnicodeEncodeError:
                        data = value.encode(errors="replace")
                    size = len(data)
                    put(_TEXT_SIZE[size] if size < 256 else _size(size, 0xD0))
                    put(data)
                elif kind is int:
                    put(_SMALL[value] if -16 <= value < 128 else _integer(value))
                elif kind is float:
                    put(_FLOAT.pack(0xC1, value))
                elif value is None:
                    put(b"\xc0")
                else:
                    self.put(put, value, BOLT_DEPTH_MAX)
            message = b"".join(parts)
            size = len(message)
            found.append(
                b"%c%c%b\0\0" % (size >> 8, size & 0xFF, message)
                if size <= CHUNK_BYTES_MAX
                else chunked(message)
            )
            total += size
            if len(found) >= count_max or total >= _BLOCK_BYTES:
                break
        else:
            ended = True
        return b"".join(found), len(found), ended

    def put(self, put: Put, value: Any, depth: int) -> None:
        """Encode a value into `put`, nested at most `depth` levels."""
        kind = type(value)
        if kind is str:
            _put_text(put, value)
        elif kind is bool:
            put(b"\xc3" if value else b"\xc2")
        elif kind is int:
            put(_SMALL[value] if -16 <= value < 128 else _integer(value))
        elif kind is float:
            put(_FLOAT.pack(0xC1, value))
        elif value is None:
            put(b"\xc0")
        elif kind is list or kind is tuple:
            self._nest(depth)
            put(list_head(len(value)))
            for item in value:
                self.put(put, item, depth - 1)
        elif kind is dict:
            self._nest(depth)
            put(_map_head(len(value)))
            for key, item in value.items():
                put(_KEYS.get(key) or _key(key))
                self.put(put, item, depth - 1)
        elif kind is bytes:
            put(_size(len(value), 0xCC))
            put(value)
        else:
            self._structured(kind)(self, put, value, depth)

    def _structured(self, kind: type) -> Writer:
        found = self._writers.get(kind) or self._classify(kind)
        if found is None:
            raise InputError(
                f"A value of the type {kind.__name__} cannot be sent over Bolt.",
                next_step="Return its parts, or toString() of it.",
            )
        self._writers[kind] = found
        return found

    @staticmethod
    def _nest(depth: int) -> None:
        if depth <= 0:
            raise LimitError(
                f"A value is nested more than {BOLT_DEPTH_MAX} levels deep.",
                next_step="Return its parts in separate columns.",
                depth_max=BOLT_DEPTH_MAX,
            )


def _put_text(put: Put, value: str) -> None:
    try:
        data = value.encode()
    except UnicodeEncodeError:  # a lone surrogate cannot be encoded in UTF-8
        data = value.encode(errors="replace")
    size = len(data)
    put(_TEXT_SIZE[size] if size < 256 else _size(size, 0xD0))
    put(data)


def _key(key: str) -> bytes:
    """Encode a key of a map, and keep it for the next time if it is short."""
    parts: list[bytes] = []
    _put_text(parts.append, key)
    found = b"".join(parts)
    if len(key) <= _KEY_CHARS_MAX and len(_KEYS) < _KEYS_MAX:
        _KEYS[key] = found
    return found


def with_entry(answer: bytes, key: str, value: str | int) -> bytes:
    """Return an answer (a message in one chunk, whose only field is a map of fewer than 15 entries)
    with another entry of this map: a text or an integer."""
    entries = answer[4] + 1
    assert 0xA0 < entries < 0xB0, "not a small map"
    parts = [answer[2:4], bytes((entries,)), answer[5:-2], _KEYS.get(key) or _key(key)]
    if isinstance(value, str):
        _put_text(parts.append, value)
    else:
        parts.append(_SMALL[value] if -16 <= value < 128 else _integer(value))
    return chunked(b"".join(parts))


def _put_packed(packer: Packer, put: Put, value: Packed, depth: int) -> None:
    put(value.data)


def structure_head(fields: int, tag: int) -> bytes:
    """Encode the header of a structure."""
    return bytes((0xB0 + fields, tag))


def _integer(value: int) -> bytes:
    if -0x80 <= value < 0x80:
        return _INT_8.pack(0xC8, value)
    if -0x8000 <= value < 0x8000:
        return _INT_16.pack(0xC9, value)
    if -0x8000_0000 <= value < 0x8000_0000:
        return _INT_32.pack(0xCA, value)
    if INT_MIN <= value <= INT_MAX:
        return _INT_64.pack(0xCB, value)
    raise InputError(
        f"The integer {value} does not fit in 64 bits.",
        next_step="Return it as text or as a float.",
    )


def _size(size: int, marker: int) -> bytes:
    """Encode the header of a text (D0), bytes (CC), list or map beyond the tiny sizes: the marker
    for 8 bits, +1 for 16, +2 for 32."""
    if size < 0x100:
        return _SIZE_8.pack(marker, size)
    if size < 0x1_0000:
        return _SIZE_16.pack(marker + 1, size)
    return _SIZE_32.pack(marker + 2, size)


def list_head(size: int) -> bytes:
    """Encode the header of a list."""
    return bytes((0x90 + size,)) if size < 16 else _size(size, 0xD4)


def _map_head(size: int) -> bytes:
    return bytes((0xA0 + size,)) if size < 16 else _size(size, 0xD8)


def chunked(message: bytes) -> bytes:
    """Split a message into chunks of up to 65,535 bytes, each after its size, and an empty
    chunk."""
    size = len(message)
    if size <= CHUNK_BYTES_MAX:
        return b"%c%c%b\0\0" % (size >> 8, size & 0xFF, message)
    parts = []
    for at in range(0, size, CHUNK_BYTES_MAX):
        piece = message[at : at + CHUNK_BYTES_MAX]
        parts += [len(piece).to_bytes(2, "big"), piece]
    parts.append(b"\0\0")
    return b"".join(parts)


class KnownFields:
    """First fields that are texts, and last fields, as they were decoded, by their bytes. Nothing
    that `Hydrate` made is among them: that may mean something else in another message."""

    FIRST_BYTES, LAST_BYTES, EACH_MAX = 4_096, 256, 1_000

    def __init__(self) -> None:
        self.first: dict[bytes, Any] = {}
        self.last: dict[bytes, Any] = {}

    @staticmethod
    def keep(known: dict[bytes, Any], data: bytes, value: Any) -> None:
        if len(known) >= KnownFields.EACH_MAX:
            known.clear()
        known[data] = value


class Unpacker:
    """Decodes one message. Raises InputError for invalid PackStream, LimitError beyond the
    limits."""

    def __init__(self, data: bytes, hydrate: Hydrate) -> None:
        self._data = data
        self._at = 0
        self._hydrate = hydrate
        self._hydrated = 0
        self._items = BOLT_MESSAGE_ITEMS_MAX

    def message(self, known: KnownFields | None = None) -> tuple[int, list[Any]]:
        """Return the tag and the fields of the structure that forms the message. Fields that are
        `known` are the same objects each time."""
        data = self._data
        if len(data) < 2 or data[0] & 0xF0 != 0xB0:
            raise _bad(
                "A message does not start with a structure.", "Send one structure per message."
            )
        self._at = 2
        fields = []
        last = (data[0] & 0x0F) - 1
        try:
            if known is not None and last > 0:
                fields.append(self._first(known.first))
                for _ in range(1, last):
                    fields.append(self._value(BOLT_DEPTH_MAX))
                fields.append(self._last(known.last))
            else:
                for _ in range(last + 1):
                    fields.append(self._value(BOLT_DEPTH_MAX))
        except UnicodeDecodeError:
            raise _bad("A text is not valid UTF-8.", "Send texts as UTF-8.") from None
        if self._at != len(data):
            raise _bad(
                f"{len(data) - self._at} bytes are left over at the end of a message.",
                "Send one structure per message.",
            )
        return data[1], fields

    def _first(self, known: dict[bytes, Any]) -> Any:
        """Return the first field, which may be a text that was read before."""
        data = self._data
        marker = data[2] if len(data) > 4 else 0
        if marker == 0xD0:
            end = 4 + data[3]
        elif marker == 0xD1:
            end = 5 + (data[3] << 8) + data[4]
        else:
            return self._value(BOLT_DEPTH_MAX)
        text = data[2:end]
        found = known.get(text)
        if found is not None:
            self._at = end
            return found
        found = self._value(BOLT_DEPTH_MAX)
        if end <= KnownFields.FIRST_BYTES:
            KnownFields.keep(known, text, found)
        return found

    def _last(self, known: dict[bytes, Any]) -> Any:
        """Return the last field, which may be one that was read before."""
        data, at = self._data, self._at
        if len(data) - at > KnownFields.LAST_BYTES:
            return self._value(BOLT_DEPTH_MAX)
        field = data[at:]
        found = known.get(field)
        if found is not None:
            self._at = len(data)
            return found
        before = self._hydrated
        found = self._value(BOLT_DEPTH_MAX)
        if self._at == len(data) and self._hydrated == before:
            KnownFields.keep(known, field, found)
        return found

    def _value(self, depth: int) -> Any:
        data, at = self._data, self._at
        if at >= len(data):
            raise _bad("A message ends in the middle of a value.", _ENDS_EARLY)
        marker = data[at]
        self._at = at + 1
        high = marker & 0xF0
        if high == 0x80:
            return self._text(marker & 0x0F)
        if marker < 0x80:
            return marker
        if 0xC8 <= marker <= 0xCB:
            after = at + 1 + (1 << (marker - 0xC8))
            if after > len(data):
                raise _bad("A message ends in the middle of a value.", _ENDS_EARLY)
            self._at = after
            return int.from_bytes(data[at + 1 : after], "big", signed=True)
        if marker == 0xD0 and at + 1 < len(data):
            self._at = at + 2
            return self._text(data[at + 1])
        if high == 0xF0:
            return marker - 0x100
        if high == 0x90:
            return self._list(marker & 0x0F, depth)
        if high == 0xA0:
            return self._map(marker & 0x0F, depth)
        if high == 0xB0:
            return self._structure(marker & 0x0F, depth)
        return self._marked(marker, depth)

    def _marked(self, marker: int, depth: int) -> Any:
        match marker:
            case 0xC0:
                return None
            case 0xC2 | 0xC3:
                return marker == 0xC3
            case 0xC1:
                return _DOUBLE.unpack(self._take(8))[0]
            case 0xD0 | 0xD1 | 0xD2:
                return self._text(self._length(marker - 0xD0))
            case 0xCC | 0xCD | 0xCE:
                return self._take(self._length(marker - 0xCC))
            case 0xD4 | 0xD5 | 0xD6:
                return self._list(self._length(marker - 0xD4), depth)
            case 0xD8 | 0xD9 | 0xDA:
                return self._map(self._length(marker - 0xD8), depth)
        raise _bad(f"The byte {marker:#04x} is not a valid marker.", "Send PackStream version 1.")

    def _take(self, size: int) -> bytes:
        at = self._at
        if size > len(self._data) - at:
            raise _bad("A message ends in the middle of a value.", _ENDS_EARLY)
        self._at = at + size
        return self._data[at : at + size]

    def _length(self, power: int) -> int:
        return int.from_bytes(self._take(1 << power), "big")

    def _text(self, size: int) -> str:
        at = self._at
        self._at = after = at + size
        if after > len(self._data):
            raise _bad("A message ends in the middle of a value.", _ENDS_EARLY)
        return self._data[at:after].decode()

    def _nest(self, size: int, depth: int) -> None:
        """Check a list, map or structure before it is read: its items are present, and depth and
        number are within the limits."""
        if depth <= 0:
            raise LimitError(
                f"A message is nested more than {BOLT_DEPTH_MAX} levels deep.",
                next_step="Send a flatter parameter.",
                depth_max=BOLT_DEPTH_MAX,
            )
        if size > len(self._data) - self._at:
            raise _bad("A message ends in the middle of a value.", _ENDS_EARLY)
        self._items -= size + 1
        if self._items < 0:
            raise LimitError(
                f"A message contains more than {BOLT_MESSAGE_ITEMS_MAX:,} values.",
                next_step="Send the parameters in several batches.",
                items_max=BOLT_MESSAGE_ITEMS_MAX,
            )

    def _list(self, size: int, depth: int) -> list[Any]:
        self._nest(size, depth)
        value = self._value
        return [value(depth - 1) for _ in range(size)]

    def _map(self, size: int, depth: int) -> dict[str, Any]:
        self._nest(size, depth)
        found: dict[str, Any] = {}
        data, end = self._data, len(self._data)
        for _ in range(size):
            at = self._at
            marker = data[at] if at < end else 0
            after = at + 1 + (marker & 0x0F)
            if marker & 0xF0 == 0x80 and after < end:  # a short key, as most are
                key = data[at + 1 : after].decode()
                marker = data[after]
                if marker < 0x80:  # and a small number
                    found[key] = marker
                    self._at = after + 1
                    continue
                if 0xC8 <= marker <= 0xCB:  # and another number
                    at = after + 1
                    after = at + (1 << (marker - 0xC8))
                    if after > end:
                        raise _bad("A message ends in the middle of a value.", _ENDS_EARLY)
                    found[key] = int.from_bytes(data[at:after], "big", signed=True)
                    self._at = after
                    continue
                self._at = after
            else:
                key = self._value(0)
                if type(key) is not str:
                    raise _bad("A key of a map is not a string.", "Send maps with string keys.")
            found[key] = self._value(depth - 1)
        return found

    def _structure(self, size: int, depth: int) -> Any:
        tag = self._take(1)[0]
        self._nest(size, depth)
        self._hydrated += 1
        return self._hydrate(tag, [self._value(depth - 1) for _ in range(size)])


def _bad(message: str, step: str) -> InputError:
    return InputError(message, next_step=step)
