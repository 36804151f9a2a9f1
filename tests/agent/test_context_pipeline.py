"""The context of a turn: its order, budget, copies, reasons, bytes, and what may be in it."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.agent.context.gate import NEEDED
from doxa.agent.context.phrases import phrases_of
from doxa.agent.context.pipeline import AssembledContext, assemble
from doxa.agent.context.stages import LANGUAGES, POOLS, ContextLine, Stage
from doxa.agent.context.table import STAGES
from doxa.app import Memory, Session, open_memory
from doxa.app.sessions.agent.context import situation_of
from doxa.base.errors import InputError, LimitError, RoleError
from doxa.base.limits import CONTEXT_TOKENS_MIN
from doxa.cli import app
from doxa.hosts.brief import brief
from doxa.recall.budget import tokens_of

SHOP = "shop"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(
        tmp_path / "m.db", role="operator", project=SHOP, embedder=None, background=False
    ) as opened:
        yield opened


@pytest.fixture
def agent(memory: Memory) -> Session:
    return memory.session(actor="ana", role="agent", project=SHOP)


def stages(found: AssembledContext) -> list[str]:
    return [block.stage for block in found.blocks]


def texts(found: AssembledContext, stage: str) -> str:
    return "\n".join(block.text for block in found.blocks if block.stage == stage)


def said(name: str, pool: str, *lines: str, **given: bool) -> Stage:
    made = [ContextLine("trial", line, f"because of {line}") for line in lines]
    return Stage(name, pool, lambda _: made, **given)  # type: ignore[arg-type]


def test_stages_come_in_the_order_of_the_table_each_line_with_a_reason(
    memory: Memory, agent: Session
) -> None:
    memory.remember("We use PostgreSQL 16", kind="decision")
    memory.remember("Ana prefers tabs", kind="preference")
    memory.remember("Renew the certificate", kind="commitment", valid_until="2031-12-05")
    agent.chat_add("Which database do we use?", session="s1")
    found = agent.context_assemble("Which database server do we use?", session="s1")
    order = [stage.name for stage in STAGES]
    assert stages(found) == sorted(
        stages(found), key=lambda name: (name == "conversation", order.index(name))
    )
    assert {"knowledge", "person", "state", "obligations", "index", "conversation"} == set(
        stages(found)
    )
    assert all(line.reason for block in found.blocks for line in block.lines)
    for line in (line for block in found.blocks for line in block.lines):
        assert line.reason in found.explained()
    pools = [list(POOLS).index(stage.pool) for stage in STAGES]
    assert pools == sorted(pools)


def test_the_brief_of_hosts_says_the_same_of_the_same_beliefs(
    memory: Memory, agent: Session
) -> None:
    memory.remember("We use PostgreSQL 16", kind="decision")
    memory.remember("Renew the certificate", kind="task", valid_until="2031-12-05")
    lines = {line.text for block in agent.context_assemble().blocks for line in block.lines}
    assert {line.text for line in brief(agent).lines} <= lines


def test_a_pool_keeps_its_share_and_gives_on_what_it_does_not_need(agent: Session) -> None:
    long = [f"- line {number} {'x' * 60}" for number in range(50)]
    alone = assemble([said("knowledge", "essential", *long)], situation_of(agent), tokens_max=500)
    assert 0 < alone.tokens <= 500 * POOLS["essential"] + 40
    later = [said("knowledge", "essential", "- one"), said("state", "high", *long)]
    shared = assemble(later, situation_of(agent), tokens_max=500)
    most = max(block.tokens for block in shared.blocks)
    assert 500 * POOLS["high"] < most < 500 * (POOLS["essential"] + POOLS["high"])
    assert len(shared.left_out) == 50 - len(shared.blocks[1].lines)
    with pytest.raises(InputError):
        assemble(reversed(later), situation_of(agent), tokens_max=500)


@pytest.mark.parametrize("tokens", [200, 300, 500, 2_000])
def test_a_budget_is_kept(memory: Memory, agent: Session, tokens: int) -> None:
    for number in range(60):
        memory.remember(f"Invoices of kind {number} are kept for {number} years", name=f"r{number}")
    agent.chat_add("Hello " * 100, session="s1")
    found = agent.context_assemble("Which invoices are kept?", session="s1", tokens_max=tokens)
    assert found.tokens <= tokens
    assert found.left_out


@pytest.mark.parametrize("chars", [1, 125, 200])
def test_a_budget_is_kept_whatever_the_project_is_called(memory: Memory, chars: int) -> None:
    agent = memory.session(actor="ana", role="agent", project="p" * chars)
    lines = [f"- {'x' * number}{number}" for number in range(60)]
    found_in = [
        said("knowledge", "essential", *lines, checked=True),
        said("person", "high", *(f"{line} again" for line in lines), checked=True),
        said("quotes", "medium", *(f"{line} said" for line in lines), checked=True, quoted=True),
        said("conversation", "low", *(f"{line} last" for line in lines), checked=True, quoted=True),
        said("index", "minimal", "- 60 beliefs.", checked=True),
    ]
    for tokens in range(CONTEXT_TOKENS_MIN, 420, 3):
        for language in LANGUAGES:
            found = assemble(found_in, situation_of(agent, language=language), tokens_max=tokens)
            assert tokens_of(found.text) == found.tokens <= tokens


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_budget_is_kept_where_the_project_has_a_long_name(memory: Memory, language: str) -> None:
    project = "p" * 125
    operator = memory.session(role="operator", actor="olga", project=project)
    agent = memory.session(actor="ana", role="agent", project=project)
    for number in range(40):
        kind = ("decision", "preference", "commitment", "fact")[number % 4]
        operator.remember(f"Invoice {number} is kept {'x' * number}", name=f"r{number}", kind=kind)
    for number in range(6):
        agent.chat_add(f"Hello {number}, what of it? {'y' * 7 * number}", session="s1")
    for tokens in range(CONTEXT_TOKENS_MIN, CONTEXT_TOKENS_MIN + 8):
        found = agent.context_assemble(
            "Which invoices are kept?", session="s1", tokens_max=tokens, language=language
        )
        assert found.tokens <= tokens
        assert found.blocks


def test_a_budget_out_of_range_is_refused(agent: Session) -> None:
    for tokens in (0, 199, 100_001):
        with pytest.raises(LimitError):
            agent.context_assemble(tokens_max=tokens)
    with pytest.raises(InputError):
        agent.context_assemble(mode="prod")
    with pytest.raises(InputError):
        agent.context_assemble(language="xx")


def test_there_is_one_copy_of_anything(memory: Memory, agent: Session) -> None:
    memory.remember("The invoices of Kiel are kept for ten years", kind="rule")
    agent.chat_add("The invoices of Kiel are kept for ten years", session="s1")
    found = agent.context_assemble("How long are the invoices of Kiel kept?", session="s1")
    assert found.text.count("invoices of Kiel") == 1
    assert any("says it already" in one.reason for one in found.left_out)


def test_a_quotation_in_a_sentence_is_not_all_that_it_says(agent: Session) -> None:
    lines = (
        '- "one" [fact, stated 2026-01-01]',
        '- The newest concerns "one".',
        '- the person: "one" [2026-01-02]',
    )
    found = assemble([said("knowledge", "essential", *lines)], situation_of(agent), tokens_max=500)
    assert [line.text for line in found.blocks[0].lines] == [*lines[:2]]


def test_blocks_are_the_same_bytes_whatever_follows_them(memory: Memory, agent: Session) -> None:
    for number in range(40):
        memory.remember(f"Carts of kind {number} expire", kind="rule", name=f"c{number}")
    memory.remember("Ana prefers tabs", kind="preference")
    first = agent.context_assemble("Hello there, what now?")
    agent.chat_add("Something else that is new", session="s1")
    other = agent.context_assemble("Which service runs on the port?", session="s1")
    for name in ("knowledge", "person"):
        assert texts(first, name) == texts(other, name) != ""
    assert first.text == agent.context_assemble("Hello there, what now?").text
    stable = first.instructions.index(texts(first, "person")) + len(texts(first, "person"))
    assert other.instructions[:stable] == first.instructions[:stable]


def test_a_stage_takes_part_in_its_modes_alone(agent: Session) -> None:
    stage = Stage(
        "claims",
        "low",
        lambda _: [ContextLine("evolution", "- Use the linter.", "declared")],
        modes=frozenset(("code",)),
    )
    for mode in ("chat", "booth", "code"):
        found = assemble([stage], situation_of(agent, mode=mode), tokens_max=500)
        assert bool(found.blocks) is (mode == "code")
        assert bool(found.left_out) is (mode != "code")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_stage_has_a_frame_in_every_language(language: str) -> None:
    phrases, english = phrases_of(language), phrases_of("en")
    assert phrases.frames.keys() == english.frames.keys() >= {stage.name for stage in STAGES}
    assert phrases.notes.keys() == english.notes.keys()
    for name, text in english.notes.items():
        assert ("{what}" in phrases.notes[name], "{why}" in phrases.notes[name]) == (
            "{what}" in text,
            "{why}" in text,
        )


# What has to be checked


def test_what_can_change_on_the_machine_says_that_nobody_looked(
    memory: Memory, agent: Session
) -> None:
    memory.remember("The API listens on port 8080", kind="fact")
    memory.remember("Set up the server on port 9090", kind="decision")
    memory.remember("Ana was born in Kiel", kind="fact")
    found = texts(agent.context_assemble(), "knowledge")
    marked = [line for line in found.splitlines() if "not checked on the machine" in line]
    assert len(marked) == 1
    assert "8080" in marked[0]


@pytest.mark.parametrize("kind", ["stat", "hash"])
def test_a_verifier_looks_again_each_time(
    memory: Memory, agent: Session, tmp_path: Path, kind: str
) -> None:
    place = tmp_path / "api.toml"
    place.write_text("port = 8080")
    belief = memory.remember("The API listens on port 8080", kind="fact", name="port")
    memory.verifier_declare("kref://shop/port.fact", kind, path=str(place))
    assert "checked just now" in agent.context_assemble().text
    assert "was not run" in agent.context_assemble(check=False).text
    place.write_text("port = 8081, later")
    assert "has changed since" in agent.context_assemble().text
    place.unlink()
    assert "is gone" in agent.context_assemble().text
    place.write_text("port = 8080")
    # the belief is another one now: what verified the former says nothing of it
    memory.revise(belief.kref, "The API listens on port 8081")
    assert "not checked on the machine" in agent.context_assemble().text


def test_a_command_of_the_operator_runs_only_if_it_is_asked_for(
    memory: Memory, agent: Session, tmp_path: Path
) -> None:
    memory.remember("The worker runs on db-2", kind="fact", name="worker")
    ran = tmp_path / "ran"
    code = f"import pathlib, sys; pathlib.Path({str(ran)!r}).touch(); sys.exit(0)"
    made = memory.verifier_declare(
        "kref://shop/worker.fact", "command", command=(sys.executable, "-c", code)
    )
    assert "was not run for this" in agent.context_assemble().text
    assert not ran.exists()
    assert "checked just now" in agent.context_assemble(commands=True).text
    assert ran.exists()
    memory.context_withdraw(made.kref, why="the worker moved")
    assert "not checked on the machine" in agent.context_assemble(commands=True).text
    memory.verifier_declare("kref://shop/worker.fact", "command", command=("/nowhere/to/be",))
    assert "does not confirm it" in agent.context_assemble(commands=True).text


def test_only_an_operator_declares_and_withdraws(
    memory: Memory, agent: Session, tmp_path: Path
) -> None:
    memory.remember("The worker runs on db-2", kind="fact", name="worker")
    place = tmp_path / "f"
    place.touch()
    with pytest.raises(RoleError):
        agent.verifier_declare("kref://shop/worker.fact", "stat", path=str(place))
    with pytest.raises(RoleError):
        agent.window_declare("2026-01-01", "2026-02-01", "a broken clock")
    made = memory.verifier_declare("kref://shop/worker.fact", "stat", path=str(place))
    with pytest.raises(RoleError):
        agent.context_withdraw(made.kref)
    assert [one.state for one in agent.context_rules()] == ["active"]
    for given in ({}, {"path": "relative"}, {"path": str(tmp_path / "none")}):
        with pytest.raises(InputError):
            memory.verifier_declare("kref://shop/worker.fact", "hash", **given)


@pytest.mark.parametrize("kind", ["stat", "hash"])
def test_who_may_not_declare_a_verifier_learns_nothing_of_files(
    memory: Memory, agent: Session, tmp_path: Path, kind: str
) -> None:
    kref = memory.remember("The worker runs on db-2", kind="fact", name="worker").kref
    (tmp_path / "there").touch()
    bound = memory.session(projects=["shop"], role="operator")
    for session in (agent, bound):
        found = set()
        for name in ("there", "nowhere"):
            with pytest.raises(RoleError) as error:
                session.verifier_declare(kref, kind, path=str(tmp_path / name))
            found.add(str(error.value))
        assert len(found) == 1


def test_a_verifier_goes_with_its_belief(memory: Memory, tmp_path: Path) -> None:
    made = memory.remember("The worker runs on db-2", kind="fact", name="worker")
    memory.verifier_declare(made.kref, "stat", path=str(tmp_path))
    memory.forget("kref://shop/worker.fact", erase=True)
    assert memory.context_rules() == []


# What may be in it


def turn(text: str, role: str, name: str, time: str, **more: str) -> dict[str, str]:
    speaker = role
    return {"text": text, "role": role, "speaker": speaker, "id": name, "time": time, **more}


def ask_about_the_boat(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> AssembledContext:
    # without vectors, answerability alone decides: the gate is tried in test_context_gate
    monkeypatch.setattr("doxa.agent.context.recalled.signals", lambda *_: NEEDED)
    return memory.session(actor="ana", role="agent", project=SHOP).context_assemble(
        "Where does the boat Albatros lie in winter?"
    )


def test_the_persons_words_are_quoted_with_their_source_and_nobody_elses(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest(
        [
            turn("The boat Albatros lies in Kappeln over winter.", "user", "1", "2026-01-05"),
            turn("The boat Albatros lies in Rome over winter.", "assistant", "2", "2026-01-06"),
            turn("The boat Albatros lies in Oslo over winter.", "tool", "3", "2026-01-07"),
        ],
        extract=False,
    )
    found = ask_about_the_boat(memory, monkeypatch)
    quotes = texts(found, "quotes")
    assert "Kappeln" in quotes
    assert "kref://shop/conversations/" in quotes
    assert "2026-01-05" in quotes
    assert "infer nothing beyond it" in quotes
    assert "Rome" not in found.text
    assert "Oslo" not in found.text
    assert "Kappeln" not in found.instructions


def test_what_was_said_in_a_window_carries_the_warning(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    said_then = turn("The boat Albatros lies in Kappeln over winter.", "user", "1", "2026-01-05")
    memory.ingest([said_then], extract=False)
    made = memory.window_declare("2026-01-01", "2026-02-01", "messages were mixed up")
    assert 'unreliable: "messages were mixed up"' in ask_about_the_boat(memory, monkeypatch).text
    memory.context_withdraw(made.kref)
    memory.window_declare("2026-01-01", "2026-02-01", "other boats", words=("Pelikan",))
    assert "unreliable" not in ask_about_the_boat(memory, monkeypatch).text


def test_nothing_untrusted_unapproved_or_hidden_is_in_it(memory: Memory, tmp_path: Path) -> None:
    """Random histories of beliefs and turns: each secret word is in the context only if a person
    stands for it."""
    rng = random.Random(7)
    agent = memory.session(actor="ana", role="agent", project=SHOP)
    allowed: set[str] = set()
    planted: set[str] = set()
    for number in range(120):
        word = f"zebra{number:03d}"
        text = f"The parcel {word} goes to Kiel"
        how = rng.randrange(9)
        if how == 0:
            memory.remember(
                text, name=f"n{number}", kind=rng.choice(("fact", "rule", "preference"))
            )
            allowed.add(word)
        elif how == 1:
            agent.remember(text, name=f"n{number}")
            planted.add(word)
        elif how == 2:
            trust = rng.choice(("untrusted", "candidate", "inferred"))
            agent.remember(text, name=f"n{number}", trust=trust)
            planted.add(word)
        elif how == 3:
            memory.remember(text, name=f"n{number}")
            memory.deprecate(f"kref://shop/n{number}.fact")
            planted.add(word)
        elif how == 4:
            made = memory.remember(text, name=f"n{number}")
            memory.run(
                "MATCH (r {kref: $kref}) CALL doxa.policy.suppress(r)", {"kref": made.kref}
            ).records()
            planted.add(word)
        elif how == 5:
            role = rng.choice(("assistant", "tool"))
            agent.ingest([{"text": text, "role": role, "speaker": "bot", "id": word}])
            planted.add(word)
        elif how == 6:
            agent.chat_add(text, role=rng.choice(("tool", "system")), session="s1")
            planted.add(word)
        elif how == 7:
            memory.remember(
                f"The parcel box{number} goes to Bonn", name=f"v{number}", trust="verified"
            )
            agent.revise(f"kref://shop/v{number}.fact", text)
            planted.add(word)
        else:
            said_so = f"If it rains, the parcel {word} goes to Kiel?"
            agent.ingest([{"text": said_so, "role": "user", "speaker": "user", "id": word}])
            agent.remember(text, name=f"n{number}")
            planted.add(word)
        if number % 20 == 19:
            for question in ("", f"Where does the parcel {word} go?"):
                for mode in ("chat", "code"):
                    found = agent.context_assemble(
                        question, session="s1", mode=mode, tokens_max=100_000
                    )
                    for block in found.blocks:
                        if block.stage == "quotes":  # the person's own words, as a quotation
                            assert block.is_quoted
                            continue
                        assert [one for one in planted if one in block.text] == []
    assert allowed
    assert planted
    whole = agent.context_assemble(tokens_max=100_000).text
    assert [one for one in allowed if one not in whole] == []


# The command


def test_the_command_explains_each_line(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with open_memory(path, role="operator", embedder=None, background=False) as memory:
        memory.remember("We use PostgreSQL 16", kind="decision")
    environ = {"DOXA_DB": str(path), "DOXA_EMBEDDER": "none", "DOXA_CONFIG": os.devnull}
    plain = CliRunner().invoke(app, ["context"], env=environ)
    assert plain.exit_code == 0, plain.output
    assert "PostgreSQL 16" in plain.stdout
    assert "a person stated it" not in plain.stdout
    explained = CliRunner().invoke(app, ["context", "--explain"], env=environ)
    assert "a person stated it" in explained.stdout
    assert '"instructions"' in CliRunner().invoke(app, ["context", "--json"], env=environ).stdout
