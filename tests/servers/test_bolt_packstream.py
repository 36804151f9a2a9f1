"""PackStream: encoded values decode to themselves, the specification's examples, limits, and
arbitrary bytes."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.errors import DoxaError, InputError, LimitError
from doxa.base.limits import BOLT_DEPTH_MAX
from doxa.base.spatial import Point
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time, at_zone
from doxa.query.core.elements import Edge, Node, Path
from doxa.servers.bolt.packstream import Packer, Unpacker, chunked, with_entry
from doxa.servers.bolt.values import hydrate, packer
from tests.servers.bolt_fixtures import raw, unpacked

PLAIN = Packer({})
INTEGERS = [
    0,
    1,
    -1,
    -16,
    -17,
    127,
    128,
    -128,
    -129,
    2**15 - 1,
    2**15,
    -(2**15),
    -(2**15) - 1,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**63 - 1,
    -(2**63),
]

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=20)
    ),
    max_leaves=40,
)


def read(data: bytes) -> Any:
    return Unpacker(b"\xb1\x01" + data, raw).message()[1][0]


@given(values)
def test_what_is_packed_is_unpacked(value: Any) -> None:
    assert read(PLAIN.pack(value)) == value


@given(
    entries=st.dictionaries(st.text(max_size=70), values, max_size=13),
    key=st.text(max_size=70),
    value=st.text(max_size=300) | st.integers(-(2**63), 2**63 - 1),
)
def test_an_entry_added_to_an_answer_is_encoded_as_with_the_others(
    entries: dict[str, Any], key: str, value: str | int
) -> None:
    entries.pop(key, None)
    answer = chunked(PLAIN.structure(0x70, entries))
    made = chunked(PLAIN.structure(0x70, {**entries, key: value}))
    assert with_entry(answer, key, value) == made


@given(st.lists(st.lists(values, min_size=3, max_size=3), max_size=10))
def test_records_are_the_same_as_messages_one_by_one(rows: list[list[Any]]) -> None:
    data, count, ended = PLAIN.records(iter(rows), 3, count_max=100)
    assert (count, ended) == (len(rows), True)
    assert data == b"".join(chunked(PLAIN.structure(0x71, row)) for row in rows)


@pytest.mark.parametrize("value", INTEGERS)
def test_integers_take_the_least_room(value: int) -> None:
    data = PLAIN.pack(value)
    assert read(data) == value
    sizes = [
        size
        for size, bits in ((2, 8), (3, 16), (5, 32), (9, 64))
        if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
    ]
    assert len(data) == (1 if -16 <= value < 128 else sizes[0])


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**63, 10**30])
def test_an_integer_beyond_64_bits_is_refused(value: int) -> None:
    with pytest.raises(InputError):
        PLAIN.pack(value)


@pytest.mark.parametrize("size", [0, 15, 16, 255, 256, 65_535, 65_536, 70_000])
def test_sizes_at_their_edges(size: int) -> None:
    for value in ("x" * size, b"x" * size, [1] * size, {str(at): at for at in range(size)}):
        assert read(PLAIN.pack(value)) == value


def test_the_examples_of_the_specification() -> None:
    assert PLAIN.pack(1.23) == bytes.fromhex("C1 3F F3 AE 14 7A E1 47 AE")
    assert PLAIN.pack("Größenmaßstäbe") == bytes.fromhex(
        "D0 12 47 72 C3 B6 C3 9F 65 6E 6D 61 C3 9F 73 74 C3 A4 62 65"
    )
    assert PLAIN.pack(b"\x01\x02\x03") == bytes.fromhex("CC 03 01 02 03")
    assert PLAIN.pack({"one": "eins"}) == bytes.fromhex("A1 83 6F 6E 65 84 65 69 6E 73")
    assert PLAIN.pack(list(range(1, 41)))[:4] == bytes.fromhex("D4 28 01 02")


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert read(PLAIN.pack("a\ud800")) == "a?"
    assert PLAIN.records(iter([["a\ud800"]]), 1, count_max=1)[0].endswith(b"\x82a?\0\0")


def test_records_stop_when_much_has_come_together() -> None:
    rows = iter([["x" * 100_000]] * 10)
    _, count, ended = PLAIN.records(rows, 1, count_max=10)
    assert count == 3
    assert not ended
    assert len(list(rows)) == 7


# Values that are structures

NODE = Node(7, None, labels=("A", "B"), props={"x": 1})
EDGE = Edge(3, None, kind="R", start=7, end=8, props={"y": None})
OTHER = Node(8, None, labels=(), props={})


@pytest.mark.parametrize(
    ("value", "new", "old"),
    [
        (NODE, (0x4E, [7, ["A", "B"], {"x": 1}, "n:7"]), (0x4E, [7, ["A", "B"], {"x": 1}])),
        (
            EDGE,
            (0x52, [3, 7, 8, "R", {"y": None}, "r:3", "n:7", "n:8"]),
            (0x52, [3, 7, 8, "R", {"y": None}]),
        ),
        (Date(-1), (0x44, [-1]), (0x44, [-1])),
        (LocalTime(5), (0x74, [5]), (0x74, [5])),
        (Time(5, 3600), (0x54, [5, 3600]), (0x54, [5, 3600])),
        (LocalDateTime(9, 5), (0x64, [9, 5]), (0x64, [9, 5])),
        (DateTime(100, 5, 3600), (0x49, [100, 5, 3600]), (0x46, [3700, 5, 3600])),
        (
            DateTime(100, 5, 3600, "Europe/Berlin"),
            (0x69, [100, 5, "Europe/Berlin"]),
            (0x66, [3700, 5, "Europe/Berlin"]),
        ),
        (Duration(1, -2, 3, 4), (0x45, [1, -2, 3, 4]), (0x45, [1, -2, 3, 4])),
        (Point(7203, 1.0, 2.0), (0x58, [7203, 1.0, 2.0]), (0x58, [7203, 1.0, 2.0])),
        (Point(4979, 1.0, 2.0, 3.0), (0x59, [4979, 1.0, 2.0, 3.0]), (0x59, [4979, 1.0, 2.0, 3.0])),
    ],
)
def test_structures_in_both_dialects(value: Any, new: Any, old: Any) -> None:
    assert read(packer(element_ids=True, utc=True).pack(value)) == new
    assert read(packer(element_ids=False, utc=False).pack(value)) == old
    for utc, (tag, fields) in ((True, new), (False, old)):
        if not isinstance(value, (Node, Edge)):
            assert hydrate(tag, fields, utc=utc) == value


def test_the_element_ids_are_those_of_the_engine() -> None:
    fields = read(packer(element_ids=True, utc=True).pack(EDGE))[1]
    assert fields[5:] == [EDGE.element_id, NODE.element_id, OTHER.element_id]


def test_a_path_tells_directions_and_names_elements_once() -> None:
    back = Edge(4, None, kind="S", start=7, end=8, props={})
    path = Path([NODE, OTHER, NODE, OTHER], [EDGE, back, EDGE])
    tag, (nodes, edges, walk) = read(packer(element_ids=True, utc=True).pack(path))
    assert tag == 0x50
    assert [node[1][0] for node in nodes] == [7, 8]
    assert edges == [(0x72, [3, "R", {"y": None}, "r:3"]), (0x72, [4, "S", {}, "r:4"])]
    assert walk == [1, 1, -2, 0, 1, 1]
    assert read(packer(element_ids=False, utc=False).pack(path))[1][1] == [
        (0x72, [3, "R", {"y": None}]),
        (0x72, [4, "S", {}]),
    ]
    assert read(packer(element_ids=True, utc=True).pack(Path([NODE], [])))[1][1:] == [[], []]


@given(
    st.integers(-(10**11), 10**11),
    st.integers(0, 999_999_999),
    st.sampled_from([0, -3600, 64_800, "Europe/Berlin", "America/New_York", "UTC"]),
)
def test_datetimes_in_utc_come_back(seconds: int, nanos: int, zone: int | str) -> None:
    value = at_zone(seconds, nanos, zone)
    tag, fields = read(packer(element_ids=True, utc=True).pack(value))
    assert hydrate(tag, fields, utc=True) == value


@pytest.mark.parametrize(
    ("tag", "fields"),
    [
        (0x4E, [1, [], {}, "n:1"]),
        (0x52, []),
        (0x50, []),
        (0x44, [2**62]),
        (0x44, ["1"]),
        (0x44, [True]),
        (0x44, []),
        (0x74, [-1]),
        (0x74, [86_400 * 10**9]),
        (0x54, [0, 70_000]),
        (0x64, [0, 10**9]),
        (0x64, [2**62, 0]),
        (0x49, [0, 0, "UTC"]),
        (0x49, [0, 0, 10**6]),
        (0x69, [0, 0, 0]),
        (0x69, [0, 0, "No/Where"]),
        (0x69, [0, 0, "../../passwd"]),
        (0x46, [0, 0, 0]),
        (0x45, [0, 0, 2**63 - 1, 10**12]),
        (0x58, [1, 1.0, 2.0]),
        (0x58, [4326, 1.0, 91.0]),
        (0x58, [7203, float("nan"), 0.0]),
        (0x59, [7203, 1.0, 2.0, 3.0]),
        (0x58, [7203, 1, 2]),
        (0x7A, [1]),
        (0x49, [2**63 - 1, 0, 0]),
    ],
)
def test_a_structure_that_cannot_be_is_refused(tag: int, fields: list[Any]) -> None:
    with pytest.raises(DoxaError):
        hydrate(tag, fields, utc=True)


def test_a_type_that_bolt_cannot_carry_is_refused() -> None:
    with pytest.raises(InputError, match="complex"):
        packer(element_ids=True, utc=True).pack([1j])


# Limits and hostile bytes


def test_depth_is_bounded_both_ways() -> None:
    deep: Any = 1
    for _ in range(BOLT_DEPTH_MAX + 1):
        deep = [deep]
    with pytest.raises(LimitError):
        PLAIN.pack(deep)
    with pytest.raises(LimitError):
        read(b"\x91" * (BOLT_DEPTH_MAX + 1) + b"\x01")
    with pytest.raises(LimitError):
        read(b"\xa1\x81a" * 100_000)
    assert read(PLAIN.pack(deep[0])) == deep[0]


@pytest.mark.parametrize(
    "data",
    [
        "D6 FF FF FF FF",
        "DA FF FF FF FF",
        "D2 FF FF FF FF",
        "CE FF FF FF FF",
        "D6 7F FF FF FF 01",
        "8F 61",
        "B3 44 01",
        "C7",
        "E0",
        "A1 01 01",
        "81 FF",
        "C1 00",
        "CB 00",
        "D0",
        "",
        "01 01",
    ],
)
def test_a_size_that_lies_costs_nothing(data: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DoxaError):
            read(bytes.fromhex(data))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_the_number_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.servers.bolt.packstream.BOLT_MESSAGE_ITEMS_MAX", 1_000)
    with pytest.raises(LimitError):
        read(PLAIN.pack([[]] * 1_000))
    assert len(read(PLAIN.pack([1] * 990))) == 990


@settings(max_examples=400)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_an_error_of_ours(data: bytes) -> None:
    for start in (b"", b"\xb1\x10", b"\xb3\x10"):
        with suppress(DoxaError):
            Unpacker(start + data, lambda tag, fields: hydrate(tag, fields, utc=True)).message()


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from(
            [
                bytes((byte,))
                for byte in (
                    *range(0x90, 0x94),
                    *range(0xA0, 0xA3),
                    *range(0xB0, 0xB9),
                    0xC0,
                    0xC1,
                    0xC8,
                    0xCB,
                    0xCC,
                    0xD0,
                    0xD4,
                    0xD8,
                    0x44,
                    0x45,
                    0x49,
                    0x58,
                    0x69,
                    0x81,
                    0x61,
                    1,
                    0,
                    0xFF,
                )
            ]
        ),
        max_size=60,
    )
)
def test_nearly_right_bytes_are_a_message_or_an_error_of_ours(parts: list[bytes]) -> None:
    with suppress(DoxaError):
        unpacked(b"\xb1\x10" + b"".join(parts))
        Unpacker(
            b"\xb1\x10" + b"".join(parts), lambda tag, fields: hydrate(tag, fields, utc=True)
        ).message()
