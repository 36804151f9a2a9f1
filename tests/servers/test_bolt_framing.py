"""The handshake picks the newest common version, by range and by manifest; chunks become messages
however they are split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import InputError, LimitError
from doxa.servers.bolt.framing import (
    MAGIC,
    MANIFEST,
    Dechunker,
    Version,
    manifest,
    manifest_choice,
    negotiate,
    supported,
)
from doxa.servers.bolt.packstream import chunked

NOTHING = bytes(4)


def proposals(*given: bytes) -> bytes:
    return MAGIC + b"".join([*given, *[NOTHING] * (4 - len(given))])


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ((b"\0\x08\x08\x05", b"\0\x02\x04\x04"), Version(5, 8)),
        ((b"\0\x00\x04\x05",), Version(5, 4)),
        ((b"\0\x00\x00\x06", b"\0\x03\x03\x05"), Version(5, 3)),
        ((b"\0\x02\x04\x04",), Version(4, 4)),
        ((b"\0\x02\x0a\x05",), Version(5, 8)),
        ((b"\0\xff\xff\x05",), Version(5, 8)),
        ((b"\0\x02\x06\x04",), Version(4, 4)),
        ((b"\0\x00\x03\x04", b"\0\0\0\x03"), None),
        ((b"\0\x00\x09\x05",), None),
        ((), None),
        ((MANIFEST, b"\0\x08\x08\x05"), MANIFEST),
        ((b"\0\x04\x04\x05", MANIFEST), Version(5, 4)),
    ],
)
def test_the_first_proposal_in_common_is_chosen(given: tuple[bytes, ...], chosen: object) -> None:
    assert negotiate(proposals(*given)) == chosen


def test_other_protocols_are_refused() -> None:
    with pytest.raises(InputError):
        negotiate(b"GET / HTTP/1.1\r\nHost:"[:20])


def test_a_manifest_lists_ranges_and_takes_a_choice() -> None:
    assert manifest() == MANIFEST + b"\x02" + b"\0\x08\x08\x05" + b"\0\x00\x04\x04" + b"\0"
    assert manifest_choice(b"\0\0\x07\x05\0") == (Version(5, 7), 5)
    assert manifest_choice(b"\0\0\x07\x05\x80\x01rest") == (Version(5, 7), 6)
    assert manifest_choice(b"\0\0\x07\x05") is None
    assert manifest_choice(b"\0\0\x07\x05\x80") is None
    for bad in (b"\0\0\x09\x05\0", b"\0\0\0\0\0", b"\0\1\x07\x05\0", b"\0\0\x07\x05" + b"\x80" * 9):
        with pytest.raises(InputError):
            manifest_choice(bad)


@given(st.binary(min_size=16, max_size=16))
def test_any_proposals_get_an_answer(data: bytes) -> None:
    chosen = negotiate(MAGIC + data)
    assert (
        chosen is None or chosen == MANIFEST or (isinstance(chosen, Version) and supported(chosen))
    )


@given(st.binary(max_size=20))
def test_any_choice_gets_an_answer(data: bytes) -> None:
    try:
        found = manifest_choice(data)
    except InputError:
        return
    assert found is None or (supported(found[0]) and found[1] <= len(data))


@given(
    st.lists(st.binary(min_size=1, max_size=200), max_size=8),
    st.lists(st.integers(1, 50), max_size=40),
)
def test_messages_arrive_whole_however_they_are_cut(messages: list[bytes], cuts: list[int]) -> None:
    data = b"\0\0".join(
        [b"", *[chunked(message) for message in messages]]
    )  # with empty chunks between: they mean nothing
    dechunker, found, at = Dechunker(10_000), [], 0
    for cut in [*cuts, len(data)]:
        found += dechunker.feed(data[at : at + cut])
        at += cut
    assert found == messages


def test_a_message_of_many_chunks_is_one() -> None:
    long = bytes(200_000)
    assert chunked(long)[:2] == b"\xff\xff"
    assert Dechunker(200_000).feed(chunked(long)) == [long]
    assert Dechunker(10).feed(b"\0\1a\0\2bc\0\0") == [b"abc"]


@given(st.lists(st.binary(max_size=64), max_size=50))
def test_any_bytes_stay_within_the_limit(parts: list[bytes]) -> None:
    dechunker = Dechunker(100)
    try:
        for part in parts:
            assert all(0 < len(message) <= 100 for message in dechunker.feed(part))
            assert len(dechunker._message) <= 100
            assert len(dechunker._rest) <= 65_537
    except LimitError:
        pass


def test_a_message_beyond_the_limit_is_refused_before_it_is_whole() -> None:
    dechunker = Dechunker(1_000)
    dechunker.feed(b"\x03\xe8" + bytes(1_000))
    with pytest.raises(LimitError):
        dechunker.feed(b"\0\1a")
