"""What a job concluded is `inferred`, and nobody below an operator raises it by saying it again:
not by a verb, not by a query, not in another place, not after retiring it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa import Config, Memory
from doxa.app.session import Session
from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError
from doxa.belief import Fact, Ledger
from doxa.belief.types import Draft
from doxa.jobs import begin
from doxa.language.turns import Turn
from doxa.store import trust_of

SAID = "Ann lives in Lisbon."
FACTS = (Fact("Ann", "lives in", "Lisbon"),)
KREF = "kref://default/home.fact"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(path=tmp_path / "m.doxa", clock=FakeClock(), embedder=None, role="operator")
    with Memory(config) as opened:
        yield opened


def _turn(memory: Memory, text: str, *, role: str = "user", key: str = "a") -> str:
    memory.ingest([Turn("t", "s", "Ann", role, text, None, key)], extract=False)  # type: ignore[arg-type]
    with memory.store.read() as reader:
        return str(max(reader.labelled("Exchange"), key=lambda node: node.id).props["kref"])


def _concluded(memory: Memory, *, facts: tuple[Fact, ...] = ()) -> str:
    """A conclusion from a turn, whose address is returned."""
    source = _turn(memory, "I moved to Lisbon in May.")
    with begin(memory.store, "consolidate", project="default", model="fake") as run:
        with run.write():
            draft = Draft(SAID, name="home", facts=facts, trust="inferred")
            Ledger(memory.store, run.identity).put(draft, links=[("DERIVED_FROM", source)])
        run.finish({})
    return source


def _highest(memory: Memory) -> str:
    """The highest trust of what is believed in these words."""
    ranks = ("untrusted", "inferred", "candidate", "stated", "verified")
    with memory.store.read() as reader:
        found = [
            trust_of(node.props)
            for node in reader.labelled("Revision")
            if reader.edges_in(node.id, "CURRENT")
            and "lisbon" in str(node.props["summary"]).casefold()
        ]
    return max(found, key=ranks.index)


VERBS: dict[str, Callable[[Session, str], object]] = {
    "remember": lambda m, _: m.remember(SAID),
    "remember in other case": lambda m, _: m.remember("ann lives in LISBON"),
    "remember at its address": lambda m, _: m.remember(SAID, name="home"),
    "remember at another": lambda m, _: m.remember(SAID, name="where-ann-lives"),
    "remember in another space": lambda m, _: m.remember(SAID, space="people"),
    "remember as another kind": lambda m, _: m.remember(SAID, kind="note"),
    "remember from the same turn": lambda m, turn: m.remember(
        SAID, name="other", derived_from=[turn]
    ),
    "the facts in other words": lambda m, _: m.remember(
        "Lisbon is her home.", name="x", facts=[("Ann", "lives in", "Lisbon")]
    ),
    "expand": lambda m, _: m.expand(SAID, name="other"),
    "revise": lambda m, _: m.revise(KREF, SAID),
    "revise again": lambda m, _: m.revise(KREF, SAID, again=True),
    "supersede": lambda m, _: m.supersede(KREF, SAID),
    "tell": lambda m, _: m.tell(SAID),
    "tell as stated": lambda m, _: m.tell(SAID, trust="stated"),
    "retire, then remember": lambda m, _: (m.deprecate(KREF), m.remember(SAID)),
    "something else, then back": lambda m, _: (
        m.revise(KREF, "Ann has moved on."),
        m.revise(KREF, SAID),
    ),
    "many times": lambda m, _: [m.remember(SAID, name=f"n{n}") for n in range(5)],
    "a query": lambda m, _: m.run(
        "CALL doxa.remember($text, {name: 'other', trust: 'stated'})", {"text": SAID}
    ),
    "an assistant's turn": lambda m, _: m.ingest(
        [Turn("t", "s", "Bot", "assistant", SAID, None, "echo")]
    ),
}


@pytest.mark.parametrize("facts", [(), FACTS], ids=["words", "facts"])
@pytest.mark.parametrize("verb", VERBS)
def test_saying_it_again_does_not_raise_it(
    memory: Memory, verb: str, facts: tuple[Fact, ...]
) -> None:
    if not facts and verb == "the facts in other words":
        pytest.skip("other words of a conclusion without facts are another statement")
    turn = _concluded(memory, facts=facts)
    agent = memory.session(actor="bot", role="agent")
    try:
        VERBS[verb](agent, turn)
    except DoxaError as error:
        assert error.next_step
    assert _highest(memory) == "inferred"
    memory.verify()


def test_it_is_said_why(memory: Memory) -> None:
    _concluded(memory)
    agent = memory.session(actor="bot", role="agent")
    done = agent.remember(SAID, name="other")
    assert "concluded by a job" in done.change.reason
    again = agent.revise(KREF, SAID)
    assert again.action == "unchanged"


def test_a_persons_word_raises_it(memory: Memory) -> None:
    _concluded(memory)
    agent = memory.session(actor="bot", role="agent")
    echo = _turn(memory, SAID, role="assistant", key="echo")
    agent.remember(SAID, name="other", derived_from=[echo])
    assert _highest(memory) == "inferred"
    said = _turn(memory, "I live in Lisbon now.", key="later")
    agent.remember(SAID, name="other", derived_from=[said])
    assert _highest(memory) == "stated"


def test_an_operator_states_it(memory: Memory) -> None:
    _concluded(memory)
    memory.remember(SAID, name="home")
    assert _highest(memory) == "stated"
    agent = memory.session(actor="bot", role="agent")  # it repeats what the operator stated
    assert agent.remember(SAID, name="also").change.reason == ""


def test_a_denial_and_other_statements_are_not_repetitions(memory: Memory) -> None:
    _concluded(memory)
    agent = memory.session(actor="bot", role="agent")
    agent.remember("Ann does not live in Lisbon.", name="denied")
    agent.remember("Ann lives in Lisbon with Ben.", name="more")
    for name in ("denied", "more"):
        assert memory.get(f"kref://default/{name}.fact").trust == "stated"


def test_a_query_that_writes_by_hand_is_refused(memory: Memory) -> None:
    """The check at the commit, without any verb."""
    _concluded(memory)
    agent = memory.session(actor="bot", role="agent")
    agent.remember("Ann has a dog.", name="dog")
    with pytest.raises(DoxaError):
        agent.run("MATCH (r:Revision {kref: $k}) SET r.trust = 'stated'", {"k": f"{KREF}?r=1"})
    assert _highest(memory) == "inferred"
