"""What the Bolt server keeps of short messages and of answers, for all clients: it is what would be
decoded and made anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.servers.bolt import conversation, messages
from doxa.servers.bolt.conversation import Conversation
from doxa.servers.bolt.framing import Version
from doxa.servers.bolt.packstream import Packer
from tests.servers.bolt_fixtures import (
    ALL,
    BASIC,
    HELLO,
    SUCCESS,
    GraphDatabase,
    Talk,
    conversed_with,
    packed,
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[GraphDatabase]:
    with conversed_with(tmp_path / "graph.db") as made:
        yield made


def test_what_one_client_sends_means_nothing_to_others(database: GraphDatabase) -> None:
    when = Packer({}).structure(0x49, 1_600_000_000, 0, 0)  # a DateTime since version 5
    value = b"\xa1\x84when" + when
    begin = b"\xb1\x11\xa1\x8btx_metadata" + value
    known = set(messages.KEPT)
    old = Talk(database, version=Version(4, 4))
    old.bytes(begin)  # not logged in, and not of its version
    assert set(messages.KEPT) == known
    new = Talk(database).login()
    assert new.bytes(begin)[0][0] == SUCCESS
    assert database.sessions[-1].context["when"] is not None
    assert set(messages.KEPT) == known
    plain = packed("BEGIN", {"mode": "r", "tx_timeout": 12_345})
    Talk(database).bytes(plain)
    assert plain not in messages.KEPT
    new.one("ROLLBACK")
    new.bytes(plain)
    assert plain in messages.KEPT


def test_answers_are_kept_within_bounds(database: GraphDatabase) -> None:
    talk = Talk(database).login()
    talk.one("BEGIN", {})
    for number in range(conversation._SAID_MAX + 10):
        name = "x" * (2_000 if number % 2 else 20)
        tag, about = talk.run(f"RETURN 1 AS {name}")
        assert tag == SUCCESS and about["fields"] == [name] and about["qid"] == number
        talk.ask("PULL", ALL)
    held = conversation._SAID
    assert 0 < len(held) <= conversation._SAID_MAX
    assert max(map(len, held.values())) <= conversation._SAID_BYTES


# at -1 each RUN is answered with its time besides
@pytest.mark.parametrize("kept_ms", [10_000, -1])
def test_what_is_answered_from_memory_is_what_would_be_made(
    database: GraphDatabase, monkeypatch: pytest.MonkeyPatch, kept_ms: int
) -> None:
    """Whatever was asked before: in which version, of which database, with what result."""
    answer_as, kept, repeated = Conversation._succeed_as, dict[Any, bytes](), list[bool]()
    entries: set[tuple[str, str | int]] = set()

    def compared(
        self: Conversation,
        key: Any,
        metadata: Callable[[], dict[str, Any]],
        entry: tuple[str, str | int] | None = None,
    ) -> None:
        made = self._encoded(metadata())
        assert kept.get(key, made) == made, key
        repeated.append(key in kept)
        answer_as(self, key, metadata, entry)
        if entry is not None:
            entries.add(entry)
            assert self._out[-1] == self._encoded(metadata() | dict([entry]))

    monkeypatch.setattr(conversation, "_SAID", kept)
    monkeypatch.setattr(conversation, "_SAID_MS_MAX", kept_ms)
    monkeypatch.setattr(Conversation, "_succeed_as", compared)
    versions = [Version(4, 4), *(Version(5, minor) for minor in range(9))]
    texts = [
        "RETURN 1 AS x",
        "UNWIND [] AS x RETURN x",
        "MATCH (n:Absent) RETURN n",
        "CREATE (:A)",
        "CREATE (n:A) RETURN 1 AS x",
        "CREATE (n:A) WITH n UNWIND [] AS x RETURN x",
        "MATCH (n:A) SET n.x = 0",
        "MATCH (n:Absent) SET n.x = 0 RETURN n",
        "CREATE INDEX one IF NOT EXISTS FOR (n:A) ON (n.x)",
        "EXPLAIN RETURN 1 AS x",
        "PROFILE RETURN 1 AS x",
    ]
    for version in versions:
        talk = Talk(database, version=version)
        assert talk.one("HELLO", {**HELLO, **BASIC})[0] == SUCCESS
        if version >= (5, 1):
            assert talk.one("LOGON", BASIC)[0] == SUCCESS
        for extra in ({}, {"db": "second"}, {"notifications_minimum_severity": "OFF"}):
            for text in texts:
                assert talk.run(text, **extra)[0] == SUCCESS
                assert talk.ask("PULL", ALL)[-1][0] == SUCCESS
                assert talk.one("BEGIN", extra)[0] == SUCCESS
                for _ in range(2):
                    assert talk.run(text)[0] == SUCCESS
                    assert talk.ask("PULL", ALL)[-1][0] == SUCCESS
                assert talk.one("ROLLBACK")[0] == SUCCESS
    assert sum(repeated) > len(repeated) / 2
    bookmarks = {value for name, value in entries if name == "bookmark"}
    assert (len(bookmarks) > 100) == (kept_ms > 0)  # another one after each write
    assert not any(str(one) in repr(key) for one in bookmarks for key in kept)
    assert any(name == "t_first" for name, _ in entries) == (kept_ms < 0)


def test_a_long_answer_has_its_entries_too(
    database: GraphDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "_SAID_MS_MAX", -1)
    talk = Talk(database).login()
    names = [f"{'x' * 90}{number}" for number in range(900)]  # more than a chunk
    text = "RETURN " + ", ".join(f"1 AS {name}" for name in names)
    for _ in range(2):
        tag, about = talk.run(text)
        assert tag == SUCCESS and about["fields"] == names and about["t_first"] >= 0
        talk.ask("PULL", ALL)
