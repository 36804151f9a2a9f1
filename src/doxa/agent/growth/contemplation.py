"""Contemplation: three passes over a moment, at 0, 4 and 20 hours. Each produces text for a person
to read; the last may propose a candidate. Nothing here is read into a prompt.

    pass 1   clarify      what was it? the signal that was strongest, and the words that carried it
    pass 2   connect      which earlier inquiries and principles share words with it?
    pass 3   synthesise   a candidate for an identity file, or none

The times of the passes are offsets from the start of the inquiry (PASSES_S), and are
written with it when it begins: no timer, so that a restart or a night asleep changes none of them.
What came due while nobody looked is done at the next look, in order, with the time at which it was
due and the time at which it was done.

Rules do the passes, or a producer that is given: it gets the pass and what is known, and returns
text, for the third pass the line or "". A pass whose producer fails stays due.

    inquiry     open -> proposed | completed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doxa.agent.growth.candidates import propose
from doxa.agent.growth.identity import assemble
from doxa.agent.growth.metabolism import MOMENT, WAITING
from doxa.agent.growth.wording import compare, content_words, statement_problem
from doxa.agent.records.records import (
    list_records,
    move_record,
    note_record,
    read_record,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.agent.signals.measure import COMPONENTS
from doxa.agent.signals.patterns import phrases
from doxa.base.clock import format_time
from doxa.base.errors import DoxaError, InputError
from doxa.base.limits import (
    CONTEMPLATE_ITEMS_MAX,
    CONTEMPLATE_SECOND_PASS_S,
    CONTEMPLATE_THIRD_PASS_S,
    IDENTITY_LINE_CHARS_MAX,
)
from doxa.belief.kref import Kref
from doxa.language.sentences import sentences
from doxa.store import Identity, Reader, Store, Transaction

INQUIRY, OPEN_INQUIRY = "inquiry", "open"
GOALS = ("clarify", "connect", "synthesise")
PASSES_S = (0, CONTEMPLATE_SECOND_PASS_S, CONTEMPLATE_THIRD_PASS_S)
NS = 10**9
_ALIKE = 0.5  # the share of words that makes two inquiries one
_WORDS_MIN = 2  # that a quote has, if any sentence does


@dataclass(frozen=True, slots=True)
class InquiryPass:
    """What a producer is given: the goal, the inquiry's question and quote, what earlier passes
    found, and what is related."""

    goal: str
    question: str
    quote: str
    earlier: tuple[str, ...]
    related: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contemplated:
    """What a call did: inquiries begun, moments merged into known ones, passes done, candidates
    proposed, and passes that failed with the reason. `next_due` in ns UTC, or None."""

    agent: str
    begun: tuple[str, ...]
    merged: int
    passes: int
    proposed: tuple[str, ...]
    failed: tuple[str, ...]
    next_due: int | None


PassProducer = Callable[[InquiryPass], str]


def contemplate(
    store: Store,
    *,
    project: str,
    agent: str,
    producer: PassProducer | None = None,
    limit: int = CONTEMPLATE_ITEMS_MAX,
) -> Contemplated:
    """Begin inquiries for moments that wait, and do the pending passes, in the agent's own
    name: at most `limit` moments and `limit` inquiries."""
    who = Identity(agent, "agent")
    begun, merged = _begin(store, who, project, agent, limit)
    with store.read() as reader:
        held = _inquiries(reader, project, agent, limit=10 * CONTEMPLATE_ITEMS_MAX)
        now = reader.now
    due = [one for one in held if next_due(one) <= now][:limit]
    done = 0
    proposed: list[str] = []
    failed: list[str] = []
    for inquiry in due:
        try:
            passes, made = _work(store, who, inquiry, producer or by_rules)
        except Exception as error:  # a producer of somebody else's may raise anything
            said = error.message if isinstance(error, DoxaError) else type(error).__name__
            failed.append(f"{inquiry.kref}: {said}")
            continue
        done += passes
        proposed += [made] if made else []
    with store.read() as reader:
        left = [next_due(one) for one in _inquiries(reader, project, agent, limit=1_000)]
    return Contemplated(
        agent,
        tuple(begun),
        merged,
        done,
        tuple(proposed),
        tuple(failed),
        min(left, default=None),
    )


def next_due(inquiry: Record) -> int:
    """Return when the next pass of an open inquiry is due, in ns UTC."""
    return int(inquiry.data["due_ns"][len(inquiry.notes.get("passes", ()))])


def waiting_agents(reader: Reader, project: str) -> list[str]:
    """Return the agents of a project with moments or inquiries that are open."""
    prefix = f"{Kref(project, ('agents',))}/"
    sql = (
        "SELECT DISTINCT n.props ->> '$.agent' FROM node n WHERE n.kref >= ? AND n.kref < ? AND"
        " n.props ->> '$.type' IN (?, ?) AND n.props ->> '$.state' = 'open' ORDER BY 1"
    )
    return [row[0] for row in reader.rows(sql, (prefix, prefix + "\U0010ffff", MOMENT, INQUIRY))]


def dropped_since(reader: Reader, project: str, since: int) -> int:
    """Return how many moments of a project were dropped after a time in ns UTC."""
    prefix = f"{Kref(project, ('agents',))}/"
    sql = (
        "SELECT count(*) FROM node n WHERE n.kref >= ? AND n.kref < ? AND n.props ->> '$.type' = ?"
        " AND n.props ->> '$.state' = 'dropped' AND n.props ->> '$.moved_ns' > ?"
    )
    return int(reader.rows(sql, (prefix, prefix + "\U0010ffff", MOMENT, since))[0][0])


def by_rules(one: InquiryPass) -> str:
    """Do a pass by rules: quote, name what is related, and propose the user's own words where they
    are a statement."""
    if one.goal == "clarify":
        return f"{one.question} Quoted: {one.quote}" if one.quote else one.question
    if one.goal == "connect":
        return "; ".join(one.related) or "Nothing that is known shares its words."
    line = " ".join(one.quote.split())
    if len(line) > IDENTITY_LINE_CHARS_MAX or not line or statement_problem(line):
        return ""
    return line if line.endswith((".", "。", "!", "！")) else ""


def _begin(
    store: Store, who: Identity, project: str, agent: str, limit: int
) -> tuple[list[str], int]:
    begun: list[str] = []
    merged = 0
    with store.read() as reader:
        waits = list_records(
            reader, project=project, agent=agent, kind=MOMENT, states=(WAITING,), limit=limit
        )
    for moment in waits:
        with store.write(who, op="contemplate.begin") as tx:
            if read_record(require_record(tx, moment.kref)).state != WAITING:
                continue  # another process took it meanwhile
            begins = min(tx.now, store.clock.now_ns())
            known = list_records(
                tx, project=project, agent=agent, kind=INQUIRY, newest=True, limit=200
            )
            question, quote = _question(moment)
            same = next((one for one in known if _is_alike(one, question, quote)), None)
            if same is not None:
                times = int(same.notes.get("times", 1)) + 1
                note_record(tx, same.kref, {"times": times})
                merged += 1
            else:
                stamp = format_time(tx.now).translate(dict.fromkeys(map(ord, "-:.")))
                made = write_record(
                    tx,
                    project=project,
                    agent=agent,
                    kind=INQUIRY,
                    name=f"{stamp}-{tx.tx}",
                    state=OPEN_INQUIRY,
                    text=quote,
                    data={
                        "question": question,
                        "moment": moment.kref,
                        "due_ns": [begins + offset * NS for offset in PASSES_S],
                    },
                    about=(moment.kref,),
                )
                begun.append(made.kref)
            move_record(tx, moment.kref, "contemplated", expected=(WAITING,))
    return begun, merged


def _work(store: Store, who: Identity, inquiry: Record, producer: PassProducer) -> tuple[int, str]:
    """Do the pending passes of an inquiry. What a producer returns is kept pass by pass."""
    done, made = 0, ""
    while True:
        with store.read() as reader:
            held = read_record(require_record(reader, inquiry.kref))
            if held.state != OPEN_INQUIRY or next_due(held) > reader.now:
                return done, made
            related = _related(reader, held)
        passes: list[Mapping[str, Any]] = list(held.notes.get("passes", ()))
        goal = GOALS[len(passes)]
        said = producer(
            InquiryPass(
                goal,
                str(held.data["question"]),
                held.text,
                tuple(str(one["found"]) for one in passes),
                related,
            )
        )
        if not isinstance(said, str):
            raise InputError(
                f"The producer returned {type(said).__name__} for the pass {goal}.",
                next_step="Return text.",
                field="producer",
            )
        with store.write(who, op="contemplate.pass") as tx:
            now = read_record(require_record(tx, held.kref))
            if len(now.notes.get("passes", ())) != len(passes):
                return done, made  # another process did it meanwhile
            one = {"goal": goal, "due_ns": next_due(held), "done_ns": tx.now, "found": said[:2_000]}
            note_record(tx, held.kref, {"passes": [*passes, one]})
            if goal == GOALS[-1]:
                made = _propose(tx, held, said)
                move_record(tx, held.kref, "proposed" if made else "completed")
        done += 1


def _propose(tx: Transaction, inquiry: Record, said: str) -> str:
    line = " ".join(said.split())
    if not line or statement_problem(line):
        return ""
    made = propose(  # LimitError: too many wait for a person; the pass stays due
        tx,
        project=inquiry.project,
        agent=inquiry.agent,
        text=line,
        file="MEMORY",
        origin="contemplation",
        about=(inquiry.kref,),
    )
    return made.kref if made.made == tx.now else ""


def _question(moment: Record) -> tuple[str, str]:
    """Return what to ask of a moment, and the words that carried it: the user's sentence with the
    phrase of the strongest signal."""
    signals: Mapping[str, float] = moment.data["signals"]
    strength = {
        name: 1 - signals[name] if name == "coherence" else signals[name] for name in COMPONENTS
    }
    top = max(COMPONENTS, key=lambda name: strength[name])
    name = "marker" if moment.data["trigger"] == "marker" else top
    user = moment.text.partition("\n")[0]
    parts = [part.text.strip() for part in sentences(user)] if user else []
    found = phrases(name) if name in ("correction", "novelty", "tension", "marker") else None
    carried = [part for part in parts if found is not None and found.search(part)]
    quote = max(carried or parts, key=_says, default="")
    if _says(quote) < _WORDS_MIN:
        quote = max(parts, key=_says, default="")
    what = "The user asked to keep it" if name == "marker" else f"The strongest signal is {name}"
    return f"{what}. What is uncertain here?", quote


def _says(text: str) -> int:
    return len(content_words(text))


def _is_alike(inquiry: Record, question: str, quote: str) -> bool:
    if not quote:
        return not inquiry.text and inquiry.data["question"] == question
    own, other = content_words(quote), content_words(inquiry.text)
    return bool(own | other) and len(own & other) / len(own | other) >= _ALIKE


def _related(reader: Reader, inquiry: Record) -> tuple[str, ...]:
    identity = assemble(reader, inquiry.project, inquiry.agent)
    known = list_records(
        reader, project=inquiry.project, agent=inquiry.agent, kind=INQUIRY, newest=True, limit=100
    )
    lines: Sequence[tuple[str, str]] = [
        *((line.candidate, line.text) for line in identity.lines),
        *((one.kref, one.text) for one in known if one.kref != inquiry.kref and one.text),
    ]
    found = [(len(compare(inquiry.text, text).shared), kref) for kref, text in lines]
    ranked = sorted((one for one in found if one[0]), key=lambda one: (-one[0], one[1]))
    return tuple(kref for _, kref in ranked[:5])


def _inquiries(reader: Reader, project: str, agent: str, *, limit: int) -> list[Record]:
    return list_records(
        reader,
        project=project,
        agent=agent,
        kind=INQUIRY,
        states=(OPEN_INQUIRY,),
        limit=limit,
    )
