"""A call that is sent again under its idempotency key: by one caller, by processes at once, after a
kill, with another body, by somebody else, after an erasure and after its time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.app.verbs import ALL
from doxa.base.clock import FakeClock
from doxa.base.limits import IDEMPOTENCY_KEY_TTL_S
from doxa.servers.mcp import tools
from doxa.store.statements import counted_statements
from tests.fixtures_shared import this_tree

ROOT = Path(__file__).parents[2]
ITEM, BASE = "kref://shop/deploys.fact", "kref://shop/bank.fact"
FUNCTIONAL = {"functional": ["colour"]}

# Each twice in a row on the same file, with a key. `seen` is what the fixture made.
CALLS: dict[str, Callable[[doxa.Memory, dict[str, Any], str], object]] = {
    "remember": lambda m, seen, key: m.remember("Cats are grey", idempotency_key=key),
    "tell": lambda m, seen, key: m.tell("The office is in Basel", idempotency_key=key),
    "revise": lambda m, seen, key: m.revise(ITEM, "On Fridays", again=True, idempotency_key=key),
    "expand": lambda m, seen, key: m.expand("Rain is wet", name="rain", idempotency_key=key),
    "supersede": lambda m, seen, key: m.supersede(ITEM, "On Mondays", idempotency_key=key),
    "contract": lambda m, seen, key: m.contract(ITEM, idempotency_key=key),
    "deprecate": lambda m, seen, key: m.deprecate(ITEM, idempotency_key=key),
    "restore": lambda m, seen, key: m.restore("kref://shop/gone.fact", idempotency_key=key),
    "rollback": lambda m, seen, key: m.rollback(f"{BASE}?r=1", idempotency_key=key),
    "undo": lambda m, seen, key: m.undo(seen["revised"], idempotency_key=key),
    "forget": lambda m, seen, key: m.forget(ITEM, idempotency_key=key),
    "resolve": lambda m, seen, key: m.resolve(seen["conflict"], "accept", idempotency_key=key),
    "constrain": lambda m, seen, key: m.constrain({"functional": ["size"]}, idempotency_key=key),
    "tag": lambda m, seen, key: m.tag(ITEM, "mine", expect=0, idempotency_key=key),
    "untag": lambda m, seen, key: m.untag(BASE, "old", idempotency_key=key),
    "link": lambda m, seen, key: m.link(ITEM, BASE, kind="SEES", idempotency_key=key),
    "unlink": lambda m, seen, key: m.unlink(BASE, ITEM, kind="KNOWS", idempotency_key=key),
    "attach": lambda m, seen, key: m.attach(
        ITEM, "plan.pdf", location="files/plan.pdf", idempotency_key=key
    ),
    "bundle": lambda m, seen, key: m.bundle(
        "kref://shop/all.bundle", add=[ITEM], idempotency_key=key
    ),
    "store_unit": lambda m, seen, key: m.store_unit(
        "The plan is signed",
        artifacts={"plan.pdf": {"location": "files/plan.pdf"}},
        derived_from=[ITEM],
        tags=["mine"],
        bundles=["plans"],
        idempotency_key=key,
    ),
    "store_execution": lambda m, seen, key: m.store_execution(
        "Deploy the shop", steps=["build", "push"], idempotency_key=key
    ),
    "add_response": lambda m, seen, key: m.add_response(
        "On Thursdays.", sources=[ITEM], idempotency_key=key
    ),
    "ingest": lambda m, seen, key: m.ingest(
        iter([{"text": f"Hello {n}"} for n in range(3)]), idempotency_key=key
    ),
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[doxa.Memory]:
    with doxa.open(
        tmp_path / "m.db",
        role="operator",
        actor="ana",
        project="shop",
        clock=clock,
        embedder=None,
        background=False,
    ) as opened:
        yield opened


@pytest.fixture
def seen(memory: doxa.Memory) -> dict[str, Any]:
    memory.remember("We deploy on Thursdays", name="deploys")
    memory.remember("The bank is open", name="bank")
    revised = memory.revise(BASE, "The bank is closed").change
    memory.tag(BASE, "old")
    memory.link(BASE, ITEM, kind="KNOWS")
    memory.remember("Old news", name="gone")
    memory.deprecate("kref://shop/gone.fact")
    memory.constrain(FUNCTIONAL)
    memory.remember("The gate is green", facts=[("gate", "colour", "green")])
    weaker = memory.remember(
        "The gate is blue", facts=[("gate", "colour", "blue")], trust="candidate"
    )
    assert weaker.change.conflict
    return {"revised": revised, "conflict": weaker.change.conflict}


def changes(memory: doxa.Memory) -> int:
    return len(memory.log(limit=1_000))


@pytest.mark.parametrize("name", CALLS)
def test_a_retry_gets_the_first_answer_and_writes_nothing(
    memory: doxa.Memory, seen: dict[str, Any], name: str
) -> None:
    first = CALLS[name](memory, seen, "one")
    before = changes(memory), memory.verify().head
    assert CALLS[name](memory, seen, "one") == first
    assert (changes(memory), memory.verify().head) == before
    change = first if isinstance(first, doxa.Change) else getattr(first, "change", None)
    if change is not None:
        assert change.change and memory.has_receipt(change.receipt)
    assert memory.check() == []


def test_every_verb_that_takes_a_key_is_tried() -> None:
    offered = {
        verb.name for verb in ALL if any(one.name == "idempotency_key" for one in verb.parameters)
    }
    assert offered - {"chat_add"} == CALLS.keys()  # it keeps keys of its own


def test_without_a_key_a_write_costs_what_it_did(memory: doxa.Memory, seen: object) -> None:
    with counted_statements(memory.store) as without:
        memory.revise(ITEM, "We deploy at one", again=True)
    assert not any("idempotency" in sql for sql in without)
    with counted_statements(memory.store) as keyed:
        memory.revise(ITEM, "We deploy at two", again=True, idempotency_key="k")
    assert len(keyed) - len(without) == 5


def test_another_call_under_the_key_is_refused(memory: doxa.Memory, seen: object) -> None:
    memory.remember("Cats are grey", idempotency_key="one")
    before = changes(memory)
    for call in (
        lambda: memory.remember("Cats are black", idempotency_key="one"),
        lambda: memory.remember("Cats are grey", space="pets", idempotency_key="one"),
        lambda: memory.tell("Cats are grey", idempotency_key="one"),
        lambda: memory.session(role="operator", project="other").remember(
            "Cats are grey", idempotency_key="one"
        ),
    ):
        with pytest.raises(doxa.ConflictError, match="other arguments"):
            call()
    assert changes(memory) == before


def test_a_key_belongs_to_its_caller(memory: doxa.Memory, seen: object) -> None:
    mine = memory.remember("Cats are grey", name="cats", idempotency_key="one")
    for other in (
        memory.session(actor="ben", role="operator"),
        memory.session(role="agent"),
        memory.session(role="operator", projects=["shop"]),
    ):
        done = other.remember("Cats are grey", name="cats", idempotency_key="one")
        assert (done.action, done.change.change) == ("unchanged", None) != mine.change.change


def test_a_call_that_failed_may_be_sent_again(memory: doxa.Memory, seen: object) -> None:
    with pytest.raises(doxa.ConflictError):
        memory.revise(ITEM, "On Sundays", expect=9, idempotency_key="one")
    memory.revise(ITEM, "On Saturdays")
    assert memory.revise(ITEM, "On Sundays", expect=2, idempotency_key="one").change


def test_a_key_expires(memory: doxa.Memory, seen: object, clock: FakeClock) -> None:
    first = memory.revise(ITEM, "Now", again=True, idempotency_key="one")
    clock.advance(seconds=IDEMPOTENCY_KEY_TTL_S - 1)
    assert memory.revise(ITEM, "Now", again=True, idempotency_key="one") == first
    clock.advance(seconds=2)
    second = memory.revise(ITEM, "Now", again=True, idempotency_key="one")
    assert second.change != first.change
    with memory.store.read() as snapshot:
        assert snapshot.rows("SELECT count(*) FROM main.idempotency_key")[0][0] == 1


@pytest.mark.parametrize("key", [" ", "a\nb", "\x00", 7, None, "x" * 201])
def test_what_is_no_key_is_refused(memory: doxa.Memory, seen: object, key: Any) -> None:
    before = changes(memory)
    with pytest.raises(doxa.InputError):
        memory.remember("Cats are grey", idempotency_key=key)
    assert changes(memory) == before


def test_a_dry_run_and_an_erasure_take_no_key(memory: doxa.Memory, seen: object) -> None:
    with pytest.raises(doxa.InputError, match="dry run"):
        memory.deprecate(ITEM, dry_run=True, idempotency_key="one")
    with pytest.raises(doxa.InputError, match="erasure"):
        memory.forget(ITEM, erase=True, idempotency_key="one")
    assert memory.get(ITEM).status == "current"  # type: ignore[union-attr]


def test_an_erasure_clears_the_answers_and_nothing_is_written_twice(
    memory: doxa.Memory, tmp_path: Path
) -> None:
    made = memory.remember(
        "Zqxcanary lives in Basel", facts=[("Zqxcanary", "lives in", "Basel")], idempotency_key="k"
    )
    assert b"Zqxcanary" in (tmp_path / "m.db-wal").read_bytes()
    memory.forget(made.kref.split("?")[0], erase=True)
    for path in tmp_path.glob("m.db*"):
        assert b"zqxcanary" not in path.read_bytes().lower(), path
    before = changes(memory)
    with pytest.raises(doxa.ConflictError, match=f"change {made.change.change}"):
        memory.remember(
            "Zqxcanary lives in Basel",
            facts=[("Zqxcanary", "lives in", "Basel")],
            idempotency_key="k",
        )
    assert changes(memory) == before


def test_a_statement_is_retried_like_a_call(memory: doxa.Memory, seen: object) -> None:
    text = "CALL doxa.remember($text, {idempotency_key: $key}) YIELD kref, change, action"
    text += " RETURN kref, change, action"
    rain = {"text": "Rain is wet", "key": "q"}
    first = memory.run(text, rain).records()
    before = changes(memory)
    assert memory.run(text, rain).records() == first
    assert changes(memory) == before
    with pytest.raises(doxa.ConflictError):
        memory.run(text, rain | {"text": "Snow is cold"})
    with memory.graph() as graph:  # a key goes with the transaction that it was kept in
        graph.begin()
        graph.run(text, {"text": "Snow is cold", "key": "r"}).buffer()
        graph.rollback()
    assert memory.run(text, {"text": "Hail is hard", "key": "r"}).records()[0]["change"]


def test_a_tool_call_is_retried_by_its_key(memory: doxa.Memory, seen: object) -> None:
    given = {"kref": ITEM, "text": "We deploy at noon"}
    first = tools.call(memory, "memory_update", given, key="one")
    assert not first[2]
    memory.revise(ITEM, "We deploy at one")
    before = changes(memory)
    assert tools.call(memory, "memory_update", given, key="one") == first
    text, _, failed = tools.call(memory, "memory_update", given | {"text": "Never"}, key="one")
    assert failed and "other arguments" in text and changes(memory) == before


def start(path: Path, answers: Path, *, rounds: int, kill_at: int = -1) -> Any:
    script = str(ROOT / "tests/adversary/keyed_caller.py")
    return subprocess.Popen(
        [sys.executable, script, str(path), str(rounds), str(answers), str(kill_at)],
        env=this_tree(),
        stderr=subprocess.PIPE,
    )


def read(path: Path) -> list[list[Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_processes_that_race_with_one_key_write_once(tmp_path: Path) -> None:
    path, rounds = tmp_path / "m.db", 30
    with doxa.open(path, embedder=None, background=False, project="shop") as memory:
        memory.remember("The counter is new", name="counter")
    answers = [tmp_path / f"answers-{n}" for n in range(4)]
    callers = [start(path, one, rounds=rounds) for one in answers]
    endings = [(one.communicate()[1].decode(), one.returncode) for one in callers]
    assert endings == [("", 0)] * 4
    told = [read(one) for one in answers]
    assert told[0] == told[1] == told[2] == told[3] and len(told[0]) == rounds
    with doxa.open(path, embedder=None, background=False) as memory:
        history = memory.history("kref://shop/counter.fact").revisions
        assert [one.summary for one in history[1:]] == [
            f"The counter is {n}" for n in range(rounds)
        ]
        memory.verify()


def test_a_caller_that_was_killed_before_its_commit_sends_again(tmp_path: Path) -> None:
    path, answers, rounds = tmp_path / "m.db", tmp_path / "answers", 6
    with doxa.open(path, embedder=None, background=False, project="shop") as memory:
        memory.remember("The counter is new", name="counter")
    for kill_at in range(rounds):
        caller = start(path, answers, rounds=rounds, kill_at=kill_at)
        caller.communicate()
        # a round that was answered before is answered from its key, and not carried out again
        assert caller.returncode == (9 if kill_at == len({n for n, *_ in read(answers)}) else 0)
        with doxa.open(path, embedder=None, background=False) as memory:
            held = len(memory.history("kref://shop/counter.fact").revisions) - 1
        assert held == len({n for n, *_ in read(answers)})
        start(path, answers, rounds=kill_at + 1).communicate()
    by_round: dict[int, set[str]] = {}
    for n, *rest in read(answers):
        by_round.setdefault(n, set()).add(json.dumps(rest))
    assert by_round.keys() == set(range(rounds)) and all(len(one) == 1 for one in by_round.values())
    with doxa.open(path, embedder=None, background=False) as memory:
        assert len(memory.history("kref://shop/counter.fact").revisions) == rounds + 1
