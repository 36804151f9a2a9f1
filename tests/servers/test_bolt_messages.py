"""What is kept of the messages of clients: decoding gives the same with it as without it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.errors import DoxaError
from doxa.servers.bolt.framing import Version
from doxa.servers.bolt.messages import KEPT, RUN, decoded
from doxa.servers.bolt.packstream import KnownFields, Packer, Unpacker

V5 = Version(5, 4)
DATE = Packer({}).structure(0x44, 19_000)

_plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
_texts = st.sampled_from(
    ["", "RETURN 1", "RETURN $x " * 2, "RETURN 'é' " * 20, "x" * 256, "y" * 5_000]
)


def fields_of(message: bytes, known: KnownFields | None = None) -> Any:
    """What a message is decoded to, or the type of its error."""
    try:
        return Unpacker(message, lambda tag, fields: (tag, fields)).message(known)
    except DoxaError as error:
        return type(error), error.message


@settings(max_examples=300)
@given(
    st.lists(st.tuples(_texts | _plain, _plain, _plain), min_size=1, max_size=6),
    st.integers(0, 30),
)
def test_known_fields_are_what_would_be_read(
    messages: list[tuple[Any, Any, Any]], cut: int
) -> None:
    known = KnownFields()
    for _ in range(2):
        for fields in messages:
            whole = Packer({}).structure(0x10, *fields)
            for message in (whole, whole[: len(whole) - cut], whole + b"\x01" * cut):
                assert fields_of(message, known) == fields_of(message)


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=12), min_size=1, max_size=4), st.integers(1, 4))
def test_any_bytes_are_read_alike(parts: list[bytes], fields: int) -> None:
    known = KnownFields()
    start = bytes((0xB0 + fields, 0x10))
    for part in (*parts, *parts):
        for message in (start + part, start + b"\xd0\x02hi" + part, start + b"\x81h\xa0" + part):
            assert fields_of(message, known) == fields_of(message)


def test_what_a_version_reads_in_its_way_is_not_known() -> None:
    known = KnownFields()
    with_date = b"\xb3\x10\x81x\xa0\xa1\x81d" + DATE
    assert fields_of(with_date, known)[1][2] == {"d": (0x44, [19_000])}
    assert not known.last


def test_fields_are_kept_within_bounds() -> None:
    known, pack = KnownFields(), Packer({}).structure
    for number in range(KnownFields.EACH_MAX + 10):
        text = f"{number} " + "x" * (10_000 if number % 2 else 20)
        fields_of(pack(0x10, text, {}, {"n": number}), known)
        fields_of(pack(0x10, f"{number}" * 20, {}, {"n": "x" * 300}), known)
    bounds = (known.first, KnownFields.FIRST_BYTES), (known.last, KnownFields.LAST_BYTES)
    for kept, most in bounds:
        assert 0 < len(kept) <= KnownFields.EACH_MAX
        assert max(map(len, kept)) <= most


@pytest.mark.parametrize("keep", [True, False])
def test_fields_are_kept_for_clients_that_have_logged_in(keep: bool) -> None:
    text, extra = f"RETURN 'kept {keep}, this text has seventeen words'", {"mode": "r", "n": 1}
    message = Packer({}).structure(0x10, text, {"x": 300}, extra)
    found = [decoded(message, V5, utc=True, keep=keep, wrong=[]) for _ in range(2)]
    assert found[0] == found[1] == (RUN, [text, {"x": 300}, extra])
    assert message not in KEPT
    (_, one), (_, two) = found
    assert (one[0] is two[0]) == (one[2] is two[2]) == keep
    assert one[1] is not two[1]  # parameters are the statement's own
