"""Modes: what was said in a conversation stays in its mode, and so does all that derives from it.
Every mode of a conversation, every mode that reads, every source, on every way into a prompt."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa.agent.claims.modes import set_modes
from doxa.agent.context.gate import NEEDED
from doxa.agent.context.isolation import readable_krefs
from doxa.agent.continuity.modes import may_read, modes
from doxa.app import Memory, Session, open_memory
from doxa.app.sessions.agent.context import situation_of
from doxa.base.clock import parse_time
from doxa.hosts.brief import brief
from doxa.hosts.events import HookEvent
from doxa.hosts.pipeline import Pipeline, asked
from doxa.hosts.spool import Spool
from doxa.store.statements import counted_statements

LATER = "2099-01-01"
QUESTION = "Where does the parcel {word} go to?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(
        tmp_path / "m.db", role="operator", actor="olga", embedder=None, background=False
    ) as opened:
        with opened.store.write(opened.identity, op="modes") as tx:
            set_modes(tx, {"claims.mode": "enforce"})
        yield opened


class Said:
    """A conversation of a mode, in which a word was said."""

    def __init__(self, memory: Memory, mode: str) -> None:
        self.memory, self.mode = memory, mode
        self.project, self.word = f"p-{mode}", f"zebra{mode}"
        self.own = memory.session(actor="ana", role="agent", project=self.project)
        self.operator = memory.session(role="operator", actor="olga", project=self.project)
        self.text = f"The parcel {self.word} goes to Kiel."
        self.name = f"said-in-{mode}"

    def turn(self, text: str = "", *, session: Session | None = None, extract: bool = False) -> str:
        """Say it, and return the address of the turn."""
        own = session or self.own
        own.session_open(self.name, mode=self.mode)
        given = {"text": text or self.text, "role": "user", "speaker": "user"}
        own.ingest([given], thread=self.name, session=self.name, extract=extract)
        return str(own.recent(kinds=("exchange",), limit=1)[0].kref)


def answer(said: Said) -> None:
    given = {"text": "Noted.", "role": "assistant", "speaker": "ana"}
    said.own.ingest([given], thread=said.name, session=said.name, extract=False)


def unanswered(said: Said) -> None:
    said.turn()


def handoff(said: Said) -> None:
    said.turn()
    answer(said)
    said.own.handoff_write(said.name, reason="end")


def quoted(said: Said) -> None:
    said.turn()
    answer(said)


def found_by_a_rule(said: Said) -> None:
    said.turn(f"I live in {said.word.capitalize()}.", extract=True)
    assert said.own.recall(said.word, kinds=("fact",), trust="candidate").hits


def traced(said: Said) -> None:
    said.own.remember(said.text, derived_from=(said.turn(),))


def stated(said: Said) -> None:
    said.operator.remember(said.text, derived_from=(said.turn(),))


def verified(said: Said) -> None:
    said.operator.remember(said.text, trust="verified", derived_from=(said.turn(),))


def derived_by_steps(said: Said) -> None:
    first = said.own.remember("Something is on its way", derived_from=(said.turn(),))
    second = said.operator.remember("It is on its way to the north", derived_from=(first.kref,))
    said.operator.remember(said.text, derived_from=(second.kref,))


def commitment(said: Said) -> None:
    said.operator.remember(
        f"Send the parcel {said.word} to Kiel", kind="commitment", derived_from=(said.turn(),)
    )


def preference(said: Said) -> None:
    said.operator.remember(
        f"The parcel {said.word} is to be wrapped", kind="preference", derived_from=(said.turn(),)
    )


def preference_elsewhere(said: Said) -> None:
    other = said.memory.session(actor="ana", role="agent", project="default")
    text = f"Parcels such as {said.word} are to be wrapped"
    said.memory.session(role="operator", actor="olga", project="default").remember(
        text, kind="preference", derived_from=(said.turn(text, session=other),)
    )


def contested(said: Said) -> None:
    made = said.operator.remember(said.text, trust="verified", derived_from=(said.turn(),))
    assert said.own.revise(made.kref, "The parcel goes to Rome.").conflict


def claimed(said: Said) -> None:
    turn = said.turn()
    name = turn.rpartition("/")[2].removesuffix(".exchange")
    accept(said, f"transcript:{said.name}#{name}")


def claimed_from_a_handoff(said: Said) -> None:
    made = said.own.remember(said.text, derived_from=(said.turn(),))
    said.own.handoff_write(said.name, reason="end")
    shown = said.own.handoff_show(said.name, mode=said.mode)
    assert shown is not None and shown.points
    accept(said, f"handoff:{shown.kref.rpartition('/')[2].removesuffix('.record')}")
    said.operator.deprecate(made.kref)


def accept(said: Said, handle: str) -> None:
    claim = said.own.claim_propose(said.text, sources=[handle])
    seen = said.operator.claim_preview(claim.kref)
    said.operator.claim_decide(
        claim.kref,
        "accept",
        claim_hash=seen.claim_hash,
        source_hash=seen.source_hash,
        reason="read",
    )


def state(said: Said) -> None:
    body = {
        "source_type": "turn",
        "sources": [said.turn()],
        "evidence_class": "user_statement",
        "observed_ns": said.memory.store.clock.now_ns(),
        "injection_risk": "low",
        "allowed_consumers": ["context_injection"],
    }
    made = said.own.packet_write("state_record", said.text, body=body, state="candidate")
    said.operator.packet_move(str(made["id"]), "active", content_hash=str(made["content_hash"]))


def attached(said: Said) -> None:
    said.own.session_open(said.name, mode=said.mode)
    said.own.attachment_add(said.text.encode(), name="parcel.txt", session=said.name)


def attached_about_a_turn(said: Said) -> None:
    said.own.attachment_add(said.text.encode(), name="parcel.txt", about=(said.turn("Here."),))


CONTEXT, BRIEF, PROMPT = "context", "brief", "prompt"
SOURCES: dict[Callable[[Said], None], frozenset[str]] = {
    unanswered: frozenset((CONTEXT, BRIEF)),
    handoff: frozenset((CONTEXT,)),
    quoted: frozenset((CONTEXT,)),
    found_by_a_rule: frozenset((CONTEXT, BRIEF)),
    traced: frozenset((CONTEXT, BRIEF, PROMPT)),
    stated: frozenset((CONTEXT, BRIEF, PROMPT)),
    verified: frozenset((CONTEXT, BRIEF, PROMPT)),
    derived_by_steps: frozenset((CONTEXT, BRIEF, PROMPT)),
    commitment: frozenset((CONTEXT, BRIEF, PROMPT)),
    preference: frozenset((CONTEXT, BRIEF, PROMPT)),
    preference_elsewhere: frozenset((CONTEXT, BRIEF)),
    contested: frozenset((CONTEXT, BRIEF)),
    claimed: frozenset((CONTEXT, BRIEF)),
    claimed_from_a_handoff: frozenset((CONTEXT, BRIEF)),
    state: frozenset((CONTEXT, BRIEF)),
    attached: frozenset((CONTEXT,)),
    attached_about_a_turn: frozenset((CONTEXT,)),
}


def ways(own: Session, word: str, mode: str) -> dict[str, str]:
    """What each way into a prompt says in a mode."""
    question = QUESTION.format(word=word)
    return {
        CONTEXT: own.context_assemble(
            question, mode=mode, since=LATER, session="later", tokens_max=20_000
        ).text
        + own.context_assemble(question, mode=mode, since=LATER, tokens_max=20_000).text,
        BRIEF: brief(own, mode=mode, since_ns=parse_time(LATER)).block(),
        PROMPT: asked(own, question, mode=mode)[0],
    }


@pytest.mark.parametrize("make", SOURCES, ids=lambda one: one.__name__)
def test_what_derives_from_a_conversation_is_read_as_the_matrix_says(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, make: Callable[[Said], None]
) -> None:
    # without vectors, answerability alone decides: the gate is tried in test_context_gate
    monkeypatch.setattr("doxa.agent.context.recalled.signals", lambda *_: NEEDED)
    for of in modes():
        said = Said(memory, of)
        make(said)
        for mode in modes():
            shown = {
                way
                for way, text in ways(said.own, said.word, mode).items()
                if said.word in text.lower().replace(QUESTION.format(word=said.word).lower(), "")
            }
            expected = SOURCES[make] if may_read(mode, (of,)) else frozenset()
            assert shown == expected, (of, mode)


def test_working_memory_of_another_mode_is_not_shown(memory: Memory) -> None:
    for of, mode in itertools.product(modes(), modes()):
        own = memory.session(actor="ana", role="agent", project=f"p-{of}")
        own.session_open("s1", mode=of)
        own.chat_add(f"The parcel zebra{of} is heavy.", session="s1")
        found = own.context_assemble(mode=mode, session="s1").text
        assert (f"zebra{of}" in found) is may_read(mode, (of,))


def test_what_no_conversation_said_is_of_no_mode(memory: Memory) -> None:
    own = memory.session(actor="ana", role="agent")
    memory.remember("The parcel zebra goes to Kiel")
    own.attachment_add(b"The parcel lion goes to Kiel", name="lion.txt")
    for mode in modes():
        found = own.context_assemble(mode=mode).text
        assert "zebra" in found
        assert "lion" in found
        assert "zebra" in brief(own, mode=mode).block()


def test_what_was_said_in_two_modes_is_read_in_both_and_what_was_not_in_none(
    memory: Memory,
) -> None:
    """A belief of two conversations: each mode reads it if it heard all of it."""
    own = memory.session(actor="ana", role="agent")
    turns = {}
    for mode, text in (
        ("code", "The parcel zebra goes to Kiel."),
        ("chat", "The parcel zebra goes to Kiel."),
        ("robot", "Parcels are heavy."),
    ):
        own.session_open(mode, mode=mode)
        said = {"text": text, "role": "user", "speaker": "user"}
        own.ingest([said], thread=mode, session=mode, extract=False)
        turns[mode] = own.recent(kinds=("exchange",), limit=1)[0].kref
    memory.remember(
        "The parcel zebra goes to Kiel", derived_from=tuple(turns.values()), name="zebra"
    )
    for mode in modes():
        found = own.context_assemble(mode=mode).text
        assert ("zebra" in found.partition("Where I left off")[0]) is (mode != "robot")


def test_what_is_too_far_from_its_turns_is_not_read(memory: Memory) -> None:
    said = Said(memory, "robot")
    kref = said.turn()
    far = []
    for number in range(12):
        kref = said.operator.remember(f"Step {number} is done", derived_from=(kref,)).kref
        far.append(kref)
    with memory.store.read() as reader:
        for mode in modes():
            situation = situation_of(said.own, mode=mode)
            seen = [one for one in far if readable_krefs(situation, reader, [one])]
            assert seen == (far[:8] if mode == "robot" else [])


def test_hooks_read_in_the_mode_of_their_host(memory: Memory, tmp_path: Path) -> None:
    said = Said(memory, "robot")
    stated(said)
    heard = Said(memory, "code")
    heard.project, heard.own = said.project, said.own
    heard.operator = said.operator
    stated(heard)
    hooks = Pipeline(said.own, Spool(tmp_path / "m.db-hooks"))
    for host, words in (("codex", {heard.word}), ("hermes", set())):
        opened = HookEvent("open", host, f"{host}1", source="startup")
        blocks = hooks.handle(opened, said.project).block
        for word in (said.word, heard.word):
            prompt = HookEvent("prompt", host, f"{host}2", text=QUESTION.format(word=word))
            blocks += hooks.handle(prompt, said.project).block
        assert {word for word in (said.word, heard.word) if word in blocks} == words


def test_the_newest_message_of_the_mode_is_the_one_without_an_answer(memory: Memory) -> None:
    said = Said(memory, "chat")
    said.turn("Please weigh the parcel.")
    said.name, said.mode = "later", "robot"
    for number in range(3):
        said.turn(f"Charge the battery {number}.")
    found = said.own.context_assemble(since=LATER).instructions
    assert "Please weigh the parcel." in found
    assert "battery" not in found


def test_isolation_costs_no_more_statements_with_more_beliefs(memory: Memory) -> None:
    said = Said(memory, "chat")
    turn, counts = said.turn(), []
    for start in (0, 40):
        for number in range(start, start + 40):
            said.operator.remember(f"Box {number} is full", derived_from=(turn,), name=f"b{number}")
        brief(said.own)
        with counted_statements(memory.store) as seen:
            brief(said.own)
        counts.append(len(seen))
    assert counts[1] <= counts[0] + 5


@pytest.mark.parametrize("mode", modes())
def test_what_derives_from_an_imported_conversation_is_of_no_mode(
    memory: Memory, mode: str
) -> None:
    """No agent opened it. Its turns are read as those of a chat are."""
    operator = memory.session(role="operator", actor="olga", project="p")
    given = {"text": "Parcels go to Kiel.", "role": "user", "speaker": "kim"}
    operator.ingest([given], thread="old", session="old", extract=False)
    turn = operator.recent(kinds=("exchange",), limit=1)[0].kref
    belief = operator.remember("Parcels go to Kiel", derived_from=(turn,)).kref
    own = memory.session(actor="ana", role="agent", project="p")
    situation = situation_of(own, mode=mode)
    with memory.store.read() as reader:
        seen = readable_krefs(situation, reader, [belief, turn])
    assert seen == ({belief, turn} if may_read(mode, ()) else {belief})
