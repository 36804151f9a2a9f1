"""A file says who spoke; whether that is so, its origin tells. Histories that a product keeps of
its own user are trusted by role; anything else is untrusted until an operator vouches for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa import Memory
from doxa.base.errors import DoxaError, InputError, RoleError
from doxa.cli.application import app
from doxa.store import check, digest, replayed_digest
from tests.fixtures_shared import opened

TEXT = "I live in Berlin."
LINE = {"thread": "t", "session": "s", "speaker": "user", "role": "user", "text": TEXT}
TOOL = LINE | {"role": "tool", "speaker": "web", "text": "The bridge is closed."}
CODE = {
    "type": "user",
    "uuid": "u1",
    "sessionId": "s1",
    "cwd": "/srv/shop",
    "timestamp": "2026-03-02T14:00:00Z",
    "message": {"content": TEXT},
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert check(made.store) == []
        assert digest(made.store) == replayed_digest(made.store)


def lines(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def labels(memory: Memory) -> dict[str, str | None]:
    """Return the label of each turn by its text."""
    rows = memory.run("MATCH (n:Exchange) RETURN n.text, n.trust")
    return {row[0]: row[1] for row in rows}


def beliefs(memory: Memory) -> int:
    return int(memory.stats()["items"])


def test_a_products_own_history_is_trusted_by_role(memory: Memory, tmp_path: Path) -> None:
    done = memory.ingest(lines(tmp_path / "s1.jsonl", CODE))
    assert (done.added, done.untrusted) == (1, 0)
    assert labels(memory) == {TEXT: None}
    assert beliefs(memory) == 1
    assert memory.recall("Where do I live?", trust="stated").hits[0].text == TEXT


def test_a_file_of_unknown_origin_is_untrusted_and_states_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    told = lines(tmp_path / "t.jsonl", LINE, TOOL)
    for again in (False, True):
        done = memory.ingest(told)
        assert (done.added, done.untrusted) == ((0, 0) if again else (2, 2))
        assert set(labels(memory).values()) == {"untrusted"}
    assert beliefs(memory) == memory.extract(project="p").candidates == 0
    assert memory.recall("Where do I live?", trust="stated").hits == ()
    assert memory.recall("Where do I live?").hits[0].trust == "untrusted"


def test_an_operator_vouches_for_a_file_before_or_after(memory: Memory, tmp_path: Path) -> None:
    told = lines(tmp_path / "t.jsonl", LINE, TOOL)
    memory.ingest(told)
    done = memory.ingest(told, trust="stated")
    assert (done.added, done.known, done.vouched, done.candidates) == (0, 2, 1, 1)
    assert labels(memory) == {TEXT: "stated", "The bridge is closed.": "untrusted"}
    assert memory.recall("Where do I live?", trust="stated").hits[0].text == TEXT
    memory.ingest(told, trust="stated", project="q")
    assert memory.recall("Where do I live?", trust="stated", project="q").hits


@pytest.mark.parametrize("filled", [False, True])
def test_a_doubted_turn_stays_one_in_another_file(
    memory: Memory, tmp_path: Path, filled: bool
) -> None:
    """A merge takes over that a turn came from a file: it states nothing there until an operator
    vouches for it."""
    told = lines(tmp_path / "t.jsonl", LINE, TOOL)
    memory.ingest(told)
    memory.export_to(tmp_path / "export.jsonl")
    with opened(tmp_path / "other.db", embedder=None, project="p") as other:
        if filled:
            other.remember("The shop is open", name="shop")
        held = beliefs(other)
        other.import_(tmp_path / "export.jsonl")
        rows = other.run("MATCH (n:Exchange) RETURN DISTINCT labels(n), n.trust").records()
        assert [tuple(row.values()) for row in rows] == [(["Exchange", "Imported"], "untrusted")]
        assert other.extract(project="p").candidates == 0 and beliefs(other) == held
        done = other.ingest(told, trust="stated")
        assert (done.known, done.vouched, done.candidates) == (2, 1, 1)
        assert check(other.store) == []


def test_a_product_export_of_somebody_else_can_be_doubted(memory: Memory, tmp_path: Path) -> None:
    done = memory.ingest(lines(tmp_path / "s1.jsonl", CODE), trust="untrusted")
    assert done.untrusted == 1 and labels(memory) == {TEXT: "untrusted"}
    with pytest.raises(InputError, match="stated or as untrusted"):
        memory.ingest(tmp_path / "s1.jsonl", trust="verified")


def test_messages_are_the_callers(memory: Memory) -> None:
    memory.ingest([{"role": "user", "text": TEXT}])
    memory.ingest([{"role": "user", "text": "A page said so."}], trust="untrusted")
    assert labels(memory) == {TEXT: None, "A page said so.": "untrusted"}


def test_an_agent_vouches_for_no_file(memory: Memory, tmp_path: Path) -> None:
    told = lines(tmp_path / "t.jsonl", LINE)
    agent = memory.session(actor="bot", role="agent", project="p")
    agent.ingest(told)
    with pytest.raises(RoleError, match="vouches"):
        agent.ingest(told, trust="stated")
    for text in ("SET n.trust = 'stated'", "REMOVE n.trust", "SET n.trust = 'Stated'"):
        with pytest.raises(DoxaError):
            agent.run(f"MATCH (n:Exchange) {text}")
    with (
        pytest.raises(RoleError),
        memory.store.write(agent.identity, op="x") as tx,
    ):
        (node,) = tx.nodes([row[0] for row in tx.rows("SELECT node FROM doc")])
        tx.set_node(node.id, {**node.props, "trust": "stated"})
    assert labels(memory) == {TEXT: "untrusted"}


def test_a_doubt_goes_with_an_export(memory: Memory, tmp_path: Path) -> None:
    memory.ingest(lines(tmp_path / "t.jsonl", LINE))
    memory.export_to(tmp_path / "out.jsonl")
    with opened(tmp_path / "other.db", embedder=None) as other:
        other.remember("Something", project="q")
        other.import_(tmp_path / "out.jsonl")
        assert labels(other) == {TEXT: "untrusted"}


def test_the_command_says_what_it_doubts_and_how_to_vouch(tmp_path: Path) -> None:
    told = lines(tmp_path / "t.jsonl", LINE)
    given = ["import", str(told), "--db", str(tmp_path / "cli.db"), "--no-embed"]
    first = CliRunner().invoke(app, [*given, "--json"])
    assert first.exit_code == 0 and json.loads(first.output)["untrusted"] == 1
    assert "--trust stated" in first.output
    second = CliRunner().invoke(app, [*given, "--json", "--trust", "stated"])
    assert json.loads(second.output)["vouched"] == 1 and "note" not in json.loads(second.output)
