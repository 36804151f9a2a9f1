"""Planted faults of each kind are found with their reasons; in a clean memory nothing is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from typer.main import get_command

from doxa import Config, Memory
from doxa.base.clock import FakeClock, format_time
from doxa.base.errors import InputError
from doxa.belief import Ledger
from doxa.belief.types import Draft
from doxa.cli import app
from doxa.jobs import begin
from doxa.language.turns import Turn
from doxa.recall.framing import HEAD

DAY_NS = 86_400 * 10**9


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(path=tmp_path / "m.doxa", clock=FakeClock(), embedder=None, background=False)
    with Memory(config) as opened:
        yield opened


def turn(memory: Memory, text: str, *, role: str = "user", speaker: str = "Ana") -> str:
    """Take in one turn, and return its address."""
    memory.ingest(
        [Turn("t", "s", speaker, role, text, memory.store.clock.now_ns(), "")], extract=False
    )
    with memory.store.read() as reader:
        return str(max(reader.labelled("Exchange"), key=lambda node: node.id).props["kref"])


def conclude(memory: Memory, text: str, source: str, *, kind: str = "fact") -> str:
    """Write what a job concludes from a source, as the laws of jobs allow."""
    with begin(memory.store, "test", project="default", model="fake") as run:
        with run.write():
            draft = Draft(text, kind=kind, trust="inferred")
            change = Ledger(memory.store, run.identity).put(draft, links=[("DERIVED_FROM", source)])
        run.finish({})
    return change.kref


def inferred(memory: Memory, text: str, source: str) -> str:
    """Write a conclusion past the laws of jobs, as an older version or another tool may have."""
    change = memory.remember(text, name=f"c{len(text)}", trust="inferred").change
    memory.link(change.kref, source, kind="DERIVED_FROM")
    return change.kref


def clean(memory: Memory) -> None:
    memory.remember("We deploy on Thursdays.", name="deploys")
    memory.remember("Favourite colour: green", name="colour")
    memory.remember("Ana pays Bo.", name="pays")
    memory.remember("Bo pays Ana.", name="paid")
    source = turn(memory, "I moved to Lisbon in May and I love it.")
    turn(memory, "How nice!", role="assistant", speaker="assistant")
    conclude(memory, "Ana moved to Lisbon in May.", source, kind="event")
    memory.ingest([Turn("t", "s2", "Ana", "user", "I work at Acme.", None, "")])


def counts(memory: Memory, **options: int) -> dict[str, int]:
    return {one.kind: one.count for one in memory.audit(**options).shares}


NOTHING = {"junk": 0, "duplicate": 0, "stale": 0, "echo": 0, "uncovered": 0}


def test_a_clean_memory_has_no_faults(memory: Memory) -> None:
    assert counts(memory) == NOTHING  # an empty one too
    clean(memory)
    found = memory.audit()
    assert counts(memory) == NOTHING, found
    assert (found.exchanges, found.beliefs, found.derived, found.examined) == (3, 6, 2, 6)
    assert found.seed is None and found["uncovered"].of == 2 and found["junk"].share == 0


def test_junk(memory: Memory) -> None:
    clean(memory)
    memory.remember("git push --force origin main", name="push")
    source = turn(memory, "She loves it there, the new place by the sea.")
    inferred(memory, "She loves it there, the new place.", source)
    found = memory.audit()["junk"]
    assert found.count == 2 and found.of == 8
    assert [one.reason for one in found.findings] == [
        "it is a command line",
        "it does not say who or what it is about",
    ]


def test_what_a_person_states_is_their_own_wording(memory: Memory) -> None:
    memory.remember("Tea, not coffee", name="tea")
    assert memory.audit()["junk"].count == 0


def test_duplicates_by_words_and_by_facts(memory: Memory) -> None:
    clean(memory)
    first = memory.get("kref://default/deploys.fact").kref
    memory.remember("we deploy on thursdays", name="again", kind="decision")
    memory.remember("Ana's home.", name="home", facts=[("Ana", "lives in", "Rome")])
    memory.remember("Rome it is.", name="rome", facts=[("ana", "lives in", "Rome")])
    found = memory.audit()["duplicate"]
    assert found.count == 2 and found.findings[0].reason == f"says the same as {first}"
    assert found.findings[1].text == "Rome it is."


def test_the_same_words_for_another_time_are_no_duplicate(memory: Memory) -> None:
    for name, year in (("first", 2200), ("second", 2210)):
        memory.remember(
            "The office is in Rome.",
            name=name,
            valid_from=f"{year}-01-01",
            valid_until=f"{year + 5}-01-01",
        )
    assert memory.audit()["duplicate"].count == 0


def test_stale_by_time_support_conflict_source_and_value(memory: Memory) -> None:
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    ends = format_time(clock.now_ns() + DAY_NS)
    memory.remember("The fair is open.", name="fair", valid_until=ends)
    ground = memory.remember("The server runs Linux.", name="ground")
    resting = memory.remember("The script works there.", name="resting")
    memory.link(resting.kref, ground.kref, kind="DEPENDS_ON")
    memory.contract("kref://default/ground.fact")
    held = memory.remember("The door is blue.", name="door", facts=[("door", "colour", "blue")])
    source = turn(memory, "I live in Rome.")
    kref = conclude(memory, "Ana lives in Rome.", source)
    memory.link(kref, turn(memory, "Rome suits me."), kind="DERIVED_FROM")
    memory.forget(source)
    memory.remember("The port of the API is 8080.", name="old")
    memory.remember("The port of the API is 9090.", name="new")
    clock.advance(days=2)
    found = {
        one.kref.partition("?")[0]: one.reason for one in memory.audit(limit=20)["stale"].findings
    }
    assert held.kref.partition("?")[0] not in found
    assert found.pop("kref://default/fair.fact") == f"held until {ends[:10]}"
    assert found.pop("kref://default/resting.fact") == "what supported it was retracted"
    assert found.pop("kref://default/old.fact").startswith("replaced by kref://default/new.fact")
    ((kref, reason),) = found.items()
    assert "ana-lives" in kref and reason == f"its source {source} was retired or replaced"


def test_a_contested_belief_is_stale(memory: Memory) -> None:
    held = memory.remember("Ana lives in Rome.", facts=[("Ana", "lives in", "Rome")])
    challenger = memory.remember(
        "Ana lives in Oslo.", facts=[("Ana", "lives in", "Oslo")], trust="untrusted"
    )
    assert challenger.change.conflict
    (finding,) = memory.audit()["stale"].findings
    assert finding.kref == held.kref
    assert finding.reason == f"contested by {challenger.change.conflict}"


def test_echo_of_a_job_of_recall_and_of_an_assistant(memory: Memory) -> None:
    clean(memory)
    memory.store.clock.advance(days=1)  # type: ignore[attr-defined]
    source = turn(memory, "I bought a kayak in June.")
    written = conclude(memory, "Ana bought a kayak in June.", source)
    memory.remember("Ana owns a kayak.", name="kayak")
    memory.link("kref://default/kayak.fact", written, kind="DERIVED_FROM")
    printed = f"{HEAD}\n\n[1] kref://default/x.fact\n> Bo sold the boat to Eva.\n\nAnything else?"
    recalled = turn(memory, printed)
    inferred(memory, "Bo sold the boat to Eva.", recalled)
    repeated = turn(memory, "Ana pays Bo.", role="assistant", speaker="assistant")
    inferred(memory, "Ana pays Bo!", repeated)
    found = memory.audit()
    assert [one.reason for one in found["echo"].findings] == [
        f"derived from {written}, which a job wrote",
        "its sources say it only where they repeat what recall printed",
        "an assistant repeated kref://default/pays.fact?r=1",
    ]


def test_uncovered(memory: Memory) -> None:
    clean(memory)
    source = turn(memory, "I do not eat meat any more, and I might move to Oslo.")
    wrong = ["Ana eats meat often.", "Ana moved to Oslo.", "Ana bought 7 horses in Peru."]
    for text in wrong:
        inferred(memory, text, source)
    memory.remember("Ana has nine lives.", name="nowhere", trust="inferred")
    found = memory.audit()["uncovered"]
    assert (found.count, found.of) == (4, 6)
    assert [one.text for one in found.findings] == [*wrong, "Ana has nine lives."]
    assert found.findings[0].reason == "its sources do not support it: denial"


def test_a_conclusion_goes_with_the_turn_that_said_it(tmp_path: Path) -> None:
    config = Config(path=tmp_path / "o.doxa", embedder=None, background=False, role="operator")
    with Memory(config) as memory:
        gone = turn(memory, "I moved to Lisbon in May and I love it.")
        left = turn(memory, "I also have two cats.")
        kref = conclude(memory, "Ana moved to Lisbon in May.", gone)
        memory.link(kref, left, kind="DERIVED_FROM")
        assert counts(memory) == NOTHING and memory.audit().derived == 1
        memory.forget(gone, erase=True, confirm=memory.forget(gone, erase=True, preview=True).token)
        assert counts(memory) == NOTHING and memory.audit().derived == 0


def test_a_sample_is_drawn_by_its_seed_and_compared_with_everything(memory: Memory) -> None:
    memory.remember("We deploy on Thursdays.", name="first")
    for number in range(60):
        memory.remember(f"Shelf {number} holds the {number} red books.", name=f"s{number}")
    memory.remember("we deploy on thursdays", name="again", kind="decision")
    drawn = [memory.audit(sample=20, seed=seed) for seed in range(30)]
    assert {one.examined for one in drawn} == {20} and drawn[3].seed == 3
    assert {one.beliefs for one in drawn} == {62}
    assert {one["duplicate"].count for one in drawn} == {0, 1}
    assert memory.audit(sample=20, seed=5) == drawn[5]
    assert memory.audit(sample=100).seed is None


def test_projects_are_apart(memory: Memory) -> None:
    for project in ("one", "two"):
        memory.remember("We deploy on Thursdays.", project=project)
    memory.remember("git push --force origin main", project="two")
    assert memory.audit(project="one")["junk"].count == 0
    assert memory.audit(project="two")["junk"].count == 1
    both = memory.audit(project="*")
    assert both.beliefs == 3 and both["duplicate"].count == 0
    bound = memory.session(projects=["one"]).audit(project="*")
    assert bound.beliefs == 1 and bound["junk"].count == 0


def test_findings_are_limited_and_counts_are_not(memory: Memory) -> None:
    for number in range(4):
        memory.remember(f"git push --force origin b{number}", name=f"p{number}")
    assert [len(memory.audit(limit=n)["junk"].findings) for n in (0, 3)] == [0, 3]
    assert memory.audit(limit=0)["junk"].count == 4
    with pytest.raises(InputError):
        memory.audit(sample=-1)


def test_audit_by_cypher_and_on_the_command_line(memory: Memory) -> None:
    clean(memory)
    memory.remember("git push --force origin main", name="push")
    rows = memory.run(
        "CALL doxa.audit({limit: 1}) YIELD kind, count, of, share, findings"
        " WHERE count > 0 RETURN kind, count, of, findings[0].kref AS kref"
    ).records()
    assert rows == [{"kind": "junk", "count": 1, "of": 7, "kref": "kref://default/push.fact?r=1"}]
    path = memory.store.path
    memory.close()
    done = CliRunner().invoke(get_command(app), ["audit", "--db", str(path)])
    assert done.exit_code == 0, done.output
    assert "7 beliefs, 2 of them derived; 3 exchanges" in done.output
    assert "junk             1 of 7  (14.29 %)" in done.output
    assert "kref://default/push.fact?r=1  it is a command line" in done.output


CONVERSATION = (
    ("Ana", "I moved to Lisbon last week, and I bought a red kayak there."),
    ("Ben", "Great! I decided to sell the old boat because the engine failed."),
    ("Ana", "I will send the contract to Ben by Friday."),
    ("Ben", "My sister works at Acme Robotics in Porto."),
)


def consolidated(memory: Memory) -> None:
    start = memory.store.clock.now_ns()
    memory.ingest(
        [
            Turn("t", "s", speaker, "person", text, start + number * 10**9, f"d{number}")
            for number, (speaker, text) in enumerate(CONVERSATION)
        ],
        extract=False,
    )
    done = memory.consolidate()
    assert done.status == "done" and sum(done.sessions[0].stored.values()) > 3


def test_what_consolidation_wrote_has_no_faults(memory: Memory) -> None:
    consolidated(memory)
    found = memory.audit()
    assert counts(memory) == NOTHING, found
    assert found.derived == found.beliefs > 2


def test_what_consolidation_wrote_of_a_turn_that_is_gone_is_found(tmp_path: Path) -> None:
    config = Config(
        path=tmp_path / "o.doxa",
        clock=FakeClock(),
        embedder=None,
        background=False,
        role="operator",
    )
    with Memory(config) as memory:
        consolidated(memory)
        rows = memory.run("MATCH (n:Exchange {source_id: 'd0'}) RETURN n.kref AS kref").records()
        gone = str(rows[0]["kref"])
        memory.forget(gone)
        found = memory.audit(limit=20)
        faults = {one.kref for share in found.shares for one in share.findings}
        assert any("summary" in kref for kref in faults), found
        assert found["junk"].count == found["echo"].count == 0
