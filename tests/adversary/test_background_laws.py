"""Background work against its laws: whatever a run tries, by verbs, by Cypher, by the jobs'
interface or by the bare transaction, sources stay as they are, what is protected or was stated
stays, what it concludes is inferred from sources of now, its limits hold, and it is undone as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError
from doxa.belief import Ledger
from doxa.belief.background.sources import Sources
from doxa.belief.removal.retiring import set_deprecated
from doxa.belief.types import Draft
from doxa.jobs import Caps, apply, begin, undo_run
from doxa.jobs.digests import beliefs_digest, sources_digest
from doxa.jobs.runs import JobRun
from doxa.language.turns import Turn
from doxa.store import Identity, Node, Reader

P = "kref://default/"
STATED, VERIFIED, APPROVED, PUBLISHED, HELD = (
    f"{P}{name}.fact" for name in ("stated", "verified", "approved", "published", "held")
)
PROTECTED = (STATED, VERIFIED, APPROVED, PUBLISHED, HELD)
CANDIDATE, UNTRUSTED, RETIRED, DERIVED = (
    f"{P}{name}.fact" for name in ("candidate", "untrusted", "retired", "derived")
)
ITEMS = (*PROTECTED, CANDIDATE, UNTRUSTED, RETIRED, DERIVED)


def stocked(path: Path, turns: dict[str, str]) -> Memory:
    """A memory with something of everything: what may be read and what may not, each by name in
    `turns` or at one of the addresses above."""
    memory = Memory(Config(path=path, clock=FakeClock(), embedder=None, role="operator"))
    said = (
        ("user", "Ann", "user", "Our office moved to Lisbon in May."),
        ("tool", "web", "tool", "The office of Ann is in Porto."),
        ("retired", "Ann", "user", "Our office has nine rooms."),
        ("hold", "Ann", "user", "Our office costs 900 euros."),
        ("other", "Ann", "user", "Our office opens at eight."),
    )
    memory.ingest(
        [Turn("t", "s", who, role, text, None, key) for key, who, role, text in said],  # type: ignore[arg-type]
        extract=False,
    )
    with memory.store.read() as reader:
        for node in reader.labelled("Exchange"):
            turns[str(node.props["source_id"])] = str(node.props["kref"])
    memory.deprecate(turns["retired"])
    memory.remember("The wall is grey.", name="stated")
    memory.remember("The roof is green.", name="verified", trust="verified")
    for name in ("approved", "published"):
        kref = memory.remember(f"The plan of the {name} wing is final.", name=name).kref
        memory.tag(kref, name)
    memory.remember("The lease is signed.", name="held")
    memory.hold("trial", "address", HELD, reason="a trial")
    memory.hold("bill", "address", turns["hold"], reason="a trial")
    memory.remember("The kitchen is on the left.", name="candidate", trust="candidate")
    memory.remember("The cellar is wet.", name="untrusted", trust="untrusted")
    memory.remember("The door is red.", name="retired")
    memory.deprecate(RETIRED)
    with begin(memory.store, "earlier", project="default") as run:
        with run.write():
            conclude(memory, run, "The team works in Lisbon.", turns["user"], name="derived")
        run.finish({})
    return memory


def conclude(
    memory: Memory,
    run: JobRun,
    text: str,
    *sources: str,
    name: str = "",
    trust: str = "inferred",
    edge: str = "DERIVED_FROM",
    confidence: float = 0.5,
) -> str:
    """Write what a run concludes."""
    draft = Draft(text, name=name, trust=trust, confidence=confidence)
    change = Ledger(memory.store, run.identity).put(draft, links=[(edge, one) for one in sources])
    return change.kref


Attempt = Callable[[Memory, JobRun, Any, dict[str, str], str], None]
ATTEMPTS: dict[str, Attempt] = {
    # Verbs of an opened memory, whose own role is the operator's
    "remember": lambda m, r, tx, t, k: m.remember(f"The lamp in {k[15:20]} is on."),
    "revise": lambda m, r, tx, t, k: m.revise("It is blue now.", kref=k),
    "deprecate": lambda m, r, tx, t, k: m.deprecate(k),
    "restore": lambda m, r, tx, t, k: m.restore(k),
    "retire a turn": lambda m, r, tx, t, k: m.deprecate(t["user"]),
    "restore a turn": lambda m, r, tx, t, k: m.restore(t["retired"]),
    "tag": lambda m, r, tx, t, k: m.tag(k, "old"),
    "approve": lambda m, r, tx, t, k: m.tag(k, "approved"),
    "untag": lambda m, r, tx, t, k: m.untag(k, "approved"),
    "link": lambda m, r, tx, t, k: m.link(k, STATED, kind="DEPENDS_ON"),
    "relate": lambda m, r, tx, t, k: m.link(k, STATED, kind="REFERENCED"),
    "contract": lambda m, r, tx, t, k: m.contract(k),
    "supersede": lambda m, r, tx, t, k: m.supersede(k, "The new wing is final.", name="wing"),
    "attach": lambda m, r, tx, t, k: m.attach(k, "notes", location="files/x.txt"),
    "bundle": lambda m, r, tx, t, k: m.bundle("things", add=[k]),
    "ingest": lambda m, r, tx, t, k: m.ingest([Turn("t", "s", "Ann", "user", "Hi.", None, "9")]),
    "erase": lambda m, r, tx, t, k: m.erase(k),
    "release": lambda m, r, tx, t, k: m.release("trial"),
    "undo": lambda m, r, tx, t, k: m.undo(tx.tx - 3),
    # Cypher
    "set a turn": lambda m, r, tx, t, k: m.run("MATCH (e:Exchange) SET e.deprecated = true"),
    "reread a turn": lambda m, r, tx, t, k: m.run("MATCH (e:Exchange) SET e.entities = ['x']"),
    "cut current": lambda m, r, tx, t, k: m.run(
        "MATCH (:Item {kref: $k})-[c:CURRENT]->() DELETE c", {"k": k}
    ),
    "move current": lambda m, r, tx, t, k: m.run(
        "MATCH (i:Item {kref: $k})-[:HAS_REVISION]->(r) CREATE (i)-[:CURRENT]->(r)", {"k": k}
    ),
    "write a tag": lambda m, r, tx, t, k: m.run(
        "MATCH (i:Item {kref: $k})-[:CURRENT]->(r) CREATE (i)-[:TAG {name: 'approved'}]->(r)",
        {"k": k},
    ),
    "depend": lambda m, r, tx, t, k: m.run(
        "MATCH (a:Revision {trust: 'stated'}), (b:Revision {kref: $k + '?r=1'})"
        " CREATE (a)-[:DEPENDS_ON]->(b)",
        {"k": k},
    ),
    "set a note": lambda m, r, tx, t, k: m.run("MATCH (n:Note) SET n.text = 'mine'"),
    "delete a note": lambda m, r, tx, t, k: m.run("MATCH (n:Note) DETACH DELETE n"),
    "create a note": lambda m, r, tx, t, k: m.run("CREATE (n:Note {text: 'new'})"),
    "hide": lambda m, r, tx, t, k: m.run("CALL doxa.suppress($k)", {"k": k}),
    "unmark": lambda m, r, tx, t, k: m.run("MATCH (i:Item) SET i.job_run = null"),
    "raise": lambda m, r, tx, t, k: m.run("MATCH (n:Run) SET n.number_max = 9000"),
    # The jobs' interface and the bare transaction
    "conclude": lambda m, r, tx, t, k: conclude(m, r, "The office lies in Lisbon.", t["user"]),
    "conclude more": lambda m, r, tx, t, k: conclude(m, r, "The office opens early.", t["other"]),
    "conclude again": lambda m, r, tx, t, k: conclude(m, r, "The team works in Lisbon.", t["user"]),
    "be sure": lambda m, r, tx, t, k: conclude(
        m, r, "The team works in Lisbon.", t["user"], name="derived", confidence=0.9
    ),
    "call it stated": lambda m, r, tx, t, k: conclude(
        m, r, "The office is large.", t["user"], trust="stated"
    ),
    "from a tool": lambda m, r, tx, t, k: conclude(m, r, "The office is in Porto.", t["tool"]),
    "from what is retired": lambda m, r, tx, t, k: conclude(
        m, r, "The office has many rooms.", t["retired"]
    ),
    "from what is held": lambda m, r, tx, t, k: conclude(m, r, "The rent is high.", t["hold"]),
    "from itself": lambda m, r, tx, t, k: conclude(m, r, "The team likes Lisbon.", DERIVED),
    "from both": lambda m, r, tx, t, k: conclude(
        m, r, "The team likes the office.", t["user"], DERIVED
    ),
    "from a belief": lambda m, r, tx, t, k: conclude(m, r, "The building has a front.", k),
    "from nothing": lambda m, r, tx, t, k: conclude(m, r, "The office is quiet."),
    "by reference": lambda m, r, tx, t, k: conclude(
        m, r, "The office is cold.", t["user"], edge="REFERENCED"
    ),
    "a command": lambda m, r, tx, t, k: conclude(m, r, "git push --force origin", t["user"]),
    "a score": lambda m, r, tx, t, k: conclude(m, r, "Candidate: office (0.91)", t["user"]),
    "half": lambda m, r, tx, t, k: conclude(m, r, "because of the new", t["user"]),
    "over": lambda m, r, tx, t, k: conclude(
        m, r, "The wall was white before.", t["user"], name="stated"
    ),
    "retire": lambda m, r, tx, t, k: set_deprecated(tx, _node(tx, k), True),
    "retire the turn": lambda m, r, tx, t, k: set_deprecated(tx, _node(tx, t["user"]), True),
    "suppress": lambda m, r, tx, t, k: tx.suppress(_node(tx, k).id),
    "supersede a turn": lambda m, r, tx, t, k: tx.create_edge(
        "SUPERSEDES", _node(tx, f"{k}?r=1").id, dst=_node(tx, t["user"]).id
    ),
    "rule": lambda m, r, tx, t, k: tx.set_catalogue("guard:edge:TAG", None),
    "destroy": lambda m, r, tx, t, k: tx.erase([_node(tx, k).id]),
    "propose": lambda m, r, tx, t, k: r.propose("stale", "It is old.", about=[k]),
}


def _node(reader: Reader, kref: str) -> Node:
    node = reader.node_by_kref(kref)
    assert node is not None
    return node


def _standing(memory: Memory) -> dict[str, Any]:
    """What is believed at each protected address, with tags and what it depends on."""
    found: dict[str, Any] = {}
    with memory.store.read() as reader:
        for kref in PROTECTED:
            item = _node(reader, kref)
            edges = [
                (edge.type, edge.dst, dict(edge.props))
                for edge in reader.edges_out(item.id)
                if edge.props.get("name") != "unsupported"
            ]
            revision = _node(reader, f"{kref}?r=1")
            grounds = [edge.dst for edge in reader.edges_out(revision.id, "DEPENDS_ON")]
            found[kref] = (dict(item.props), edges, grounds, reader.is_seen(False, item.id))
    return found


def _check_conclusions(memory: Memory) -> None:
    """Everything that a run concluded is inferred, marked, and derived from sources."""
    with memory.store.read() as reader:
        sources = Sources(reader)
        for node in reader.labelled("Revision"):
            if node.props.get("job_run") is None:
                continue
            assert node.props["trust"] in ("inferred", "untrusted")
            grounds = [edge.dst for edge in reader.edges_out(node.id, "DERIVED_FROM")]
            assert grounds
            if reader.edges_in(node.id, "CURRENT"):
                assert all(not sources.why_not(one) for one in reader.nodes(grounds))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    turns: dict[str, str] = {}
    with stocked(tmp_path / "m.doxa", turns) as opened:
        yield opened


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(sorted(ATTEMPTS)), st.sampled_from(ITEMS)), max_size=4),
        max_size=8,
    ),
    st.sampled_from((0.1, 0.5, 0.9)),
    st.integers(1, 6),
)
def test_a_run_keeps_its_laws_and_is_undone_as_one(
    tmp_path_factory: pytest.TempPathFactory,
    transactions: list[list[tuple[str, str]]],
    share: float,
    number: int,
) -> None:
    turns: dict[str, str] = {}
    folder = tmp_path_factory.mktemp("laws")
    with stocked(folder / "m.doxa", turns) as memory:
        memory.run("CREATE (:Note {text: 'ours'})")
        with memory.store.read() as reader:
            sources, believed = sources_digest(reader), beliefs_digest(reader)
        standing = _standing(memory)
        run = begin(memory.store, "test", project="default", caps=Caps(number, share))
        for attempts in transactions:
            try:
                with run.write() as tx:
                    for name, kref in attempts:
                        ATTEMPTS[name](memory, run, tx, turns, kref)
            except DoxaError:
                pass
            with memory.store.read() as reader:
                assert sources_digest(reader) == sources
            assert _standing(memory) == standing
            _check_conclusions(memory)
        info = run.finish({})
        assert info.touched <= number
        assert info.changed <= max(1, int(share * info.items))
        undo_run(memory.store, Identity("op", "operator"), run.kref)
        with memory.store.read() as reader:
            assert sources_digest(reader) == sources
            assert beliefs_digest(reader) == believed
        assert memory.check() == []
        memory.verify()


REFUSED = sorted(
    set(ATTEMPTS)
    - {"relate", "create a note", "conclude", "conclude more", "propose", "unmark", "remember"}
    - {
        "from a belief",
        "bundle",
        "untag",
        "restore",
        "move current",
        "depend",
        "write a tag",
        "undo",
    }
)


@pytest.mark.parametrize("name", REFUSED)
def test_each_attempt_on_what_somebody_stated_is_refused(memory: Memory, name: str) -> None:
    turns: dict[str, str] = {}
    with memory.store.read() as reader:
        for node in reader.labelled("Exchange"):
            turns[str(node.props["source_id"])] = str(node.props["kref"])
    memory.run("CREATE (:Note {text: 'ours'})")
    run = begin(memory.store, "test", project="default")
    with pytest.raises(DoxaError), run.write() as tx:
        ATTEMPTS[name](memory, run, tx, turns, STATED)


@pytest.mark.parametrize(
    "name", ["relate", "create a note", "conclude", "conclude more", "propose"]
)
def test_what_a_run_may_do_is_done(memory: Memory, name: str) -> None:
    turns: dict[str, str] = {}
    with memory.store.read() as reader:
        for node in reader.labelled("Exchange"):
            turns[str(node.props["source_id"])] = str(node.props["kref"])
        before = reader.last_change()
    run = begin(memory.store, "test", project="default")
    with run.write() as tx:
        ATTEMPTS[name](memory, run, tx, turns, STATED)
    with memory.store.read() as reader:
        assert reader.last_change() == before + 2


def test_what_is_applied_for_an_operator_keeps_the_protected(memory: Memory) -> None:
    run = begin(memory.store, "test", project="default", caps=Caps(20, 0.9))
    made = {
        kref: run.propose(
            "stale", "It is old.", about=[kref], action={"do": "retire", "kref": kref}
        )
        for kref in (*PROTECTED, CANDIDATE)
    }
    run.finish({})
    with memory.store.read() as reader:
        believed = beliefs_digest(reader)
    done = apply(memory.store, Identity("op", "operator"), made.values())
    states = dict(zip(made, (one.state for one in done), strict=True))
    assert states == {
        STATED: "applied",
        VERIFIED: "blocked",
        APPROVED: "blocked",
        PUBLISHED: "blocked",
        HELD: "blocked",
        CANDIDATE: "applied",
    }
    undo_run(memory.store, Identity("op", "operator"), run.kref)
    with memory.store.read() as reader:
        assert beliefs_digest(reader) == believed


def test_an_agent_neither_forges_marks_nor_decides_by_a_query(memory: Memory) -> None:
    agent = memory.session(role="agent")
    run = begin(memory.store, "test", project="default")
    run.propose("stale", "It is old.", about=[STATED])
    for query in (
        "MATCH (p:Proposal) SET p.state = 'applied'",
        "MATCH (r:Run) SET r.state = 'done'",
        "MATCH (r:Run) SET r.number_max = 9999",
        "MATCH (r:Run) DETACH DELETE r",
        "MATCH (i:Item) WHERE i.job_run IS NOT NULL SET i.job_run = null",
        "MATCH (r:Revision) WHERE r.job_run IS NOT NULL SET r.job_run = null",
        "MATCH (i:Item) SET i.job_run = 'x'",
    ):
        with pytest.raises(DoxaError):
            agent.run(query)


def _turns(memory: Memory) -> dict[str, str]:
    with memory.store.read() as reader:
        return {
            str(node.props["source_id"]): str(node.props["kref"])
            for node in reader.labelled("Exchange")
        }


def test_what_was_undone_or_retired_does_not_come_back(memory: Memory) -> None:
    turns, text = _turns(memory), "The office lies in Lisbon."
    first = begin(memory.store, "test", project="default")
    with first.write():
        conclude(memory, first, text, turns["user"], name="where")
    first.finish({})
    undo_run(memory.store, Identity("op", "operator"), first.kref)
    run = begin(memory.store, "test", project="default")
    for name in ("where", "elsewhere"):  # at its own address, and at another
        with pytest.raises(DoxaError, match=r"given up|retired"), run.write():
            conclude(memory, run, text, turns["user"], name=name)
    memory.ingest(
        [Turn("t", "s", "Ann", "user", "As I said, the office lies in Lisbon.", None, "new")],
        extract=False,
    )
    with run.write():  # a new source may say so
        conclude(memory, run, text, _turns(memory)["new"], name="elsewhere")


def test_an_assistant_who_repeats_it_makes_nothing_surer(memory: Memory) -> None:
    memory.ingest(
        [
            Turn("t", "s", "bot", "assistant", "Your team works in Lisbon.", None, "echo"),
            Turn("t", "s", "Ann", "user", "Yes, my team works in Lisbon.", None, "yes"),
        ],
        extract=False,
    )
    turns, text = _turns(memory), "The team works in Lisbon."
    run = begin(memory.store, "test", project="default")
    with pytest.raises(DoxaError, match="surer"), run.write():
        conclude(memory, run, text, turns["user"], turns["echo"], name="derived", confidence=0.9)
    with run.write():
        conclude(memory, run, text, turns["user"], turns["yes"], name="derived", confidence=0.9)


@pytest.mark.parametrize(
    ("believed", "said"),
    [
        ("Ana did not sign the contract.", "Ana did sign the contract."),
        ("The shop is open to guests.", "The shop isn't open to guests."),
        ("The server is slow, but not, Ben says, old.", "The server is slow, but, Ben says, old."),
        ("The server of the shop is up.", "The server of the shop is down."),
    ],
)
def test_the_opposite_of_what_is_believed_is_not_implied(
    memory: Memory, believed: str, said: str
) -> None:
    turn = _turns(memory)["user"]
    memory.remember(believed, name="opposite")
    run = begin(memory.store, "test", project="default")
    with pytest.raises(DoxaError, match="says the same"), run.write():
        conclude(memory, run, believed, turn, name="concluded")
    with run.write():
        conclude(memory, run, said, turn, name="concluded")


def test_the_opposite_of_what_was_given_up_may_be_concluded(memory: Memory) -> None:
    turn = _turns(memory)["user"]
    kref = memory.remember("Ana did not sign the contract.", name="opposite").kref
    memory.deprecate(kref)
    run = begin(memory.store, "test", project="default")
    with pytest.raises(DoxaError, match="given up"), run.write():
        conclude(memory, run, "Ana did not sign the contract.", turn, name="concluded")
    with run.write():
        conclude(memory, run, "Ana did sign the contract.", turn, name="concluded")
