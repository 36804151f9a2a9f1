"""Purging a source takes what came from it and what depends on it alone, and leaves the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa.app import Memory, open_memory
from doxa.base.errors import ConfirmationError, ConflictError, NotFoundError, RoleError
from doxa.maintenance.erasure_proof import verify_erased
from doxa.maintenance.purging import purge
from doxa.store import Identity, check, digest, replayed_digest

OPERATOR = Identity("op", "operator")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db", role="operator", embedder=None) as opened:
        yield opened


def turns(name: str, speaker: str, *texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "speaker": speaker, "text": text, "thread": name} for text in texts]


def one(memory: Memory, query: str) -> str:
    return str(next(iter(memory.run(query)))[0])


def test_a_thread_goes_with_what_rests_on_it_alone(memory: Memory) -> None:
    memory.ingest(turns("bad", "Eve", "The zqxcanary bridge is closed"), project="p")
    memory.ingest(turns("good", "Ana", "The bridge is open"), project="p")
    bad = one(memory, "MATCH (t:Thread)-->(e:Exchange) WHERE e.text CONTAINS 'zqx' RETURN e.kref")
    good = one(memory, "MATCH (e:Exchange) WHERE e.text CONTAINS 'open' RETURN e.kref")
    thread = one(memory, f"MATCH (t:Thread)-->(e {{kref: '{bad}'}}) RETURN t.kref")
    first = memory.remember("Zqxcanary detour needed", project="p", kind="note").change.kref
    second = memory.remember("Zqxcanary lorries wait", project="p", kind="note").change.kref
    both = memory.remember("Bridges change", project="p", kind="note").change.kref
    memory.link(first, bad, kind="DERIVED_FROM")
    memory.link(second, first, kind="DEPENDS_ON")
    memory.link(both, bad, kind="DERIVED_FROM")
    memory.link(both, good, kind="DERIVED_FROM")
    shown = purge(memory.store, OPERATOR, thread, preview=True)
    assert "1 beliefs have other sources" in shown.note
    with pytest.raises(ConfirmationError):
        purge(memory.store, OPERATOR, thread)
    with pytest.raises(RoleError):
        purge(memory.store, Identity("a", "agent"), thread, confirm=shown.token)
    done = purge(memory.store, OPERATOR, thread, confirm=shown.token)
    assert done.done
    assert verify_erased(memory.store, "zqxcanary").erased
    assert memory.get(both) and memory.get(good)
    assert check(memory.store) == []
    assert digest(memory.store) == replayed_digest(memory.store)


@pytest.mark.parametrize("way", ["speaker", "change"])
def test_a_speaker_and_an_import_are_sources(memory: Memory, way: str) -> None:
    memory.ingest(turns("t", "Ana", "All is well"), project="p")
    memory.ingest(turns("u", "Eve", "The zqxcanary bridge is closed"), project="p")
    source = "speaker:eve" if way == "speaker" else f"change:{memory.log(limit=1)[0].tx}"
    shown = purge(memory.store, OPERATOR, source, preview=True)
    purge(memory.store, OPERATOR, source, confirm=shown.token)
    assert verify_erased(memory.store, "zqxcanary").erased
    assert one(memory, "MATCH (e:Exchange) RETURN count(e)") == "1"
    with pytest.raises(NotFoundError):
        purge(memory.store, OPERATOR, "speaker:nobody", preview=True)


def test_a_hold_on_a_speaker_stops_a_purge(memory: Memory) -> None:
    memory.ingest(turns("u", "Eve", "The bridge is closed"), project="p")
    with memory.store.write(OPERATOR, op="hold") as tx:
        tx.set_catalogue("hold:suit", {"kind": "speaker", "value": "eve", "reason": "", "time": 1})
    shown = purge(memory.store, OPERATOR, "speaker:Eve", preview=True)
    with pytest.raises(ConflictError, match="suit"):
        purge(memory.store, OPERATOR, "speaker:Eve", confirm=shown.token)


def test_random_sources_take_what_a_model_says(
    tmp_path: Path, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    """Beliefs that depend on turns and on each other at random: what goes with a thread is what
    has no ground left, and nothing else."""
    rng, beliefs = random.Random(seed), 0
    for turn in range(2 * campaign):
        with open_memory(
            tmp_path / f"{turn}.db", role="operator", embedder=None, background=False
        ) as memory:
            for thread in ("one", "two", "three"):
                said = turns(thread, "Ana", *(f"{thread} says {n}" for n in range(3)))
                memory.ingest(said, project="p", extract=False)
            grounds: dict[str, set[str]] = {
                row[0]: set() for row in memory.run("MATCH (e:Exchange) RETURN e.kref")
            }
            sources = list(grounds)
            for number in range(rng.randint(8, 16)):
                name = f"kref://p/b{number}.note"
                memory.remember(
                    f"Belief {number} of {rng.random()}",
                    project="p",
                    name=f"b{number}",
                    kind="note",
                )
                chosen = rng.sample([*grounds], rng.choice((0, 1, 1, 2, 3)))
                for ground in chosen:
                    memory.link(name, ground, kind=rng.choice(("DERIVED_FROM", "DEPENDS_ON")))
                grounds[name] = set(chosen)
            beliefs += len(grounds) - len(sources)
            thread = one(memory, "MATCH (t:Thread)-->(e {text: 'two says 1'}) RETURN t.kref")
            gone = {
                row[0]
                for row in memory.run(
                    "MATCH (t:Thread {kref: $t})-->(e:Exchange) RETURN e.kref", {"t": thread}
                )
            }
            assert len(gone) == 3
            while more := {
                name for name, held in grounds.items() if held and held <= gone and name not in gone
            }:
                gone |= more
            shown = purge(memory.store, OPERATOR, thread, preview=True)
            purge(memory.store, OPERATOR, thread, confirm=shown.token)
            left = {
                row[0] for row in memory.run("MATCH (n) WHERE n:Exchange OR n:Item RETURN n.kref")
            }
            assert left == set(grounds) - gone
            assert check(memory.store) == []
            assert digest(memory.store) == replayed_digest(memory.store)
    tally(purges=2 * campaign, beliefs_with_sources=beliefs)
