"""The brief: what it says first, why, and within which budget."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.app import Memory, open_memory
from doxa.cli import app
from doxa.hosts.brief import brief
from doxa.hosts.events import CHECK_SESSION, HookEvent, digest_of
from doxa.hosts.files import write_atomically
from doxa.hosts.pipeline import Pipeline
from doxa.hosts.spool import SessionState, Spool
from doxa.jobs.runs import begin
from tests.fixtures_shared import in_days


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(
        tmp_path / "m.db", role="operator", project="shop", embedder=None, background=False
    ) as opened:
        yield opened


def test_state_comes_before_knowledge_and_decisions_first(memory: Memory) -> None:
    memory.remember("The API listens on port 8080", kind="fact")
    memory.remember("We use PostgreSQL 16", kind="decision")
    memory.remember("Ana prefers tabs", kind="preference")
    soon, later = in_days(7), in_days(38)
    memory.remember("Send the report to the auditors", kind="task", valid_until=later)
    memory.remember("Renew the certificate", kind="commitment", valid_until=soon)
    memory.remember("Short answers are preferred", kind="preference", project="default")
    made = brief(memory.session(role="agent", project="shop"))
    kinds = [(line.section, line.text.partition('"')[2].partition(" ")[0]) for line in made.lines]
    assert kinds == [
        ("state", "Renew"),
        ("state", "Send"),
        ("knowledge", "We"),
        ("knowledge", "The"),
        ("person", "Ana"),
        ("person", "Short"),
    ]
    assert f"due {soon}" in made.block()
    assert all(line.reason for line in made.lines)


def test_a_conflict_and_a_failed_job_are_named_without_the_words_of_the_challenger(
    memory: Memory,
) -> None:
    memory.remember("The API listens on port 8080", name="port", trust="verified")
    agent = memory.session(actor="agent", role="agent", project="shop")
    challenged = agent.revise("kref://shop/port.fact", "The API listens on port 6666")
    assert challenged.conflict
    begin(memory.store, "dream", project="shop").finish({}, state="failed", error="no disk")
    block = brief(agent).block()
    assert "1 statement contradicts what is believed" in block
    assert "The background job dream last ended well never." in block
    assert "6666" not in block
    assert "8080" in block


def test_what_was_left_open_and_what_changed_since(memory: Memory, tmp_path: Path) -> None:
    agent = memory.session(actor="agent", role="agent", project="shop")
    hooks = Pipeline(agent, Spool(tmp_path / "m.db-hooks"))
    hooks.handle(HookEvent("prompt", "codex", "s1", text="Please migrate the invoices."), "shop")
    hooks.settle()
    time.sleep(0.002)
    memory.remember("Invoices are kept for ten years", kind="rule")
    block = hooks.handle(HookEvent("open", "codex", "s2", source="startup"), "shop").block
    assert 'ended without an answer to "Please migrate the invoices."' in block
    assert "1 belief is new or changed" in block
    hooks.handle(HookEvent("answer", "codex", "s2", text="Migrated."), "shop")
    hooks.settle()
    assert "without an answer" not in brief(agent, since_ns=time.time_ns()).block()


def test_a_check_of_the_host_is_no_conversation(memory: Memory, tmp_path: Path) -> None:
    agent = memory.session(actor="agent", role="agent", project="shop")
    spool = Spool(tmp_path / "m.db-hooks")
    hooks = Pipeline(agent, spool)
    hooks.handle(HookEvent("answer", "codex", "s1", text="Migrated."), "shop")
    memory.remember("Invoices are kept for ten years", kind="rule")
    states = sorted((tmp_path / "m.db-hooks" / "sessions").iterdir())
    for kind in ("open", "prompt", "answer"):
        hooks.handle(HookEvent(kind, "codex", CHECK_SESSION), "shop")
    assert sorted((tmp_path / "m.db-hooks" / "sessions").iterdir()) == states
    # what an earlier version has left
    left = SessionState("shop", time.time_ns(), time.time_ns())
    write_atomically(
        states[0].with_name(f"{digest_of(CHECK_SESSION)}.json"), json.dumps(asdict(left)).encode()
    )
    block = hooks.handle(HookEvent("open", "codex", "s2", source="startup"), "shop").block
    assert "1 belief is new or changed" in block


@pytest.mark.parametrize("known", [0, 2])
def test_a_conversation_that_goes_on_gets_the_same_bytes(
    memory: Memory, tmp_path: Path, known: int
) -> None:
    agent = memory.session(actor="agent", role="agent", project="shop")
    hooks = Pipeline(agent, Spool(tmp_path / "m.db-hooks"))
    hooks.handle(HookEvent("open", "codex", "s0", source="startup"), "shop")
    time.sleep(0.002)
    agent.remember("Something an agent read on a page")
    for number in range(known):
        memory.remember(f"Invoices of kind {number} are kept", kind="rule", name=f"r{number}")
    first = hooks.handle(HookEvent("open", "codex", "s1", source="startup"), "shop").block
    assert "Memory holds 1 " in first
    assert ("2 beliefs are new" in first) is bool(known)
    hooks.handle(HookEvent("open", "codex", "s2", source="startup"), "shop")
    for number in range(3):
        memory.remember(f"Carts of kind {number} expire", kind="rule", name=f"c{number}")
    again = HookEvent("open", "codex", "s1", source="resume")
    assert hooks.handle(again, "shop").block == first
    assert hooks.handle(again, "shop").block == first
    cleared = hooks.handle(HookEvent("open", "codex", "s1", source="clear"), "shop").block
    assert "Carts of kind 2" in cleared


def test_state_takes_half_of_the_budget_at_most(memory: Memory) -> None:
    for number in range(30):
        memory.remember(f"Task {number} is {'long ' * 20}", kind="task", name=f"t{number}")
        memory.remember(f"Decision {number} is {'long ' * 20}", kind="decision", name=f"d{number}")
    for chars_max in (200, 600, 1_500, 4_000):
        made = brief(memory.session(role="agent", project="shop"), chars_max=chars_max)
        assert len(made.block()) <= max(chars_max, 400)
        assert made.left_out > 0
    sections = [line.section for line in made.lines]
    assert {"state", "knowledge"} == set(sections)
    state = sum(len(line.text) + 1 for line in made.lines if line.section == "state")
    assert state <= 2_000


def test_an_empty_project_says_nothing(memory: Memory) -> None:
    assert brief(memory.session(role="agent", project="empty")).block() == ""


def test_the_command_prints_what_a_conversation_that_begins_would_get(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_EMBEDDER", "none")
    path = tmp_path / "m.db"
    agent = memory.session(actor="agent", role="agent", project="shop")
    spool = Spool(tmp_path / "m.db-hooks")
    hooks = Pipeline(agent, spool)
    hooks.handle(HookEvent("prompt", "codex", "s1", text="Please migrate the invoices."), "shop")
    time.sleep(0.002)
    memory.remember("Invoices are kept for ten years", kind="rule")

    def printed() -> str:
        words = ["brief", "--db", str(path), "--project", "shop", "--json"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        return str(json.loads(done.stdout)["block"])

    states = files_of(spool.folder / "sessions")
    access = os.access
    with monkeypatch.context() as held:  # as where the file may not be written
        held.setattr(os, "access", lambda at, mode: mode != os.W_OK and access(at, mode))
        block = printed()
        assert "1 belief is new or changed" in block
        assert "without an answer" not in block
        assert spool.waiting()
    block = printed()
    assert not spool.waiting()
    assert files_of(spool.folder / "sessions") == states
    assert "1 belief is new or changed" in block
    assert 'ended without an answer to "Please migrate the invoices."' in block
    opened = HookEvent("open", "codex", "s2", source="startup")
    begun = hooks.handle(opened, "shop").block
    assert begun.startswith(f"{block}\n<doxa-memory>")  # the brief, then what was handed over


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
