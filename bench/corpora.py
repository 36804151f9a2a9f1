"""Data sets as conversations with questions, each read from its published form. Turns come through
doxa's own readers where it has one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.metrics import evidence_ids
from doxa.base.errors import InputError
from doxa.ingestion.readers import read
from doxa.language.turns import Turn

SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS
ADVERSARIAL = "5"
ABSTENTION = "abstention"
# The order of the published file: LoCoMo-Plus numbers its base conversations by it, also where only
# some of them are available.
LOCOMO_ORDER = (
    "conv-26",
    "conv-30",
    "conv-41",
    "conv-42",
    "conv-43",
    "conv-44",
    "conv-47",
    "conv-48",
    "conv-49",
    "conv-50",
)
LOCOMO_CATEGORIES = {
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
_GAP = re.compile(r"(\w+)\s+(week|month|year)s?\b", re.IGNORECASE)
_GAP_DAYS = {"week": 7, "month": 30, "year": 365}
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
} | {"a": 1, "an": 1}
_LINE = re.compile(r"([AB])\s*:\s*(.*)")
_PLAN_MARK = re.compile(r"\s*->->\s*[\d,\s]*$")
_BEAM_ANSWERS = ("answer", "ideal_answer", "ideal_summary", "ideal_response", "expected_compliance")
_ANCHOR = "%B-%d-%Y"


class NoData(InputError):
    """What `--data` names does not hold what a bench needs."""


@dataclass(frozen=True, slots=True)
class Question:
    """`gold` are the source ids of the evidence, `answer` what a reader should say; `sides` name
    two groups of the evidence where their order or presence counts."""

    text: str
    gold: frozenset[str]
    category: str
    sides: tuple[frozenset[str], frozenset[str]] | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One conversation and what is asked of it. `unlabelled` are questions without evidence: it has
    no share in what is counted by evidence."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    speakers: tuple[str, str] = ("", "")
    unlabelled: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Cue:
    """One LoCoMo-Plus sample: what was said once, and what should bring it back."""

    index: int
    base: int
    relation: str
    lines: tuple[tuple[str, str], ...]
    question: str
    gap_ns: int


def files_of(path: Path, pattern: str = "*.json") -> list[Path]:
    """A file itself, or the matching files of a folder."""
    return sorted(path.glob(pattern)) if path.is_dir() else [path]


def _locomo_files(path: Path) -> list[Path]:
    """Those of LoCoMo: of its folder, or of the one in which that lies."""
    return files_of(path / "locomo" if (path / "locomo").is_dir() else path)


def _no_locomo(path: Path) -> NoData:
    return NoData(
        f"{path} has no conversation of LoCoMo.",
        next_step="Name its file or folder, or the folder in which that lies.",
        field="data",
    )


def locomo_turns(path: Path) -> list[Turn]:
    """The turns of LoCoMo's file or folder. Raises NoData where there are none: figures of
    other texts would look as if they were comparable."""
    turns = [turn for file in _locomo_files(path) for turn in read(file, "locomo")]
    if not turns:
        raise _no_locomo(path)
    return turns


def load_locomo(path: Path) -> list[Corpus]:
    """LoCoMo in its official form. Questions whose labels name no turn stand apart. Raises
    NoData where there is no conversation."""
    corpora = []
    for file in _locomo_files(path):
        turns: dict[str, list[Turn]] = {}
        for turn in read(file, "locomo"):
            turns.setdefault(turn.thread, []).append(turn)
        samples = json.loads(file.read_text())
        for position, sample in enumerate(samples if isinstance(samples, list) else [samples]):
            name = sample.get("sample_id") or f"sample-{position}"
            known = frozenset(turn.source_id for turn in turns[name])
            asked = [_locomo_question(one, known) for one in sample["qa"]]
            talk = sample["conversation"]
            speakers = (str(talk.get("speaker_a", "")), str(talk.get("speaker_b", "")))
            labelled, unlabelled = (
                tuple(one for one in asked if bool(one.gold) is has) for has in (True, False)
            )
            corpora.append(Corpus(name, tuple(turns[name]), labelled, speakers, unlabelled))
    if not corpora:
        raise _no_locomo(path)
    return corpora


def _locomo_question(asked: dict[str, Any], known: frozenset[str]) -> Question:
    gold = evidence_ids(asked.get("evidence") or (), known)
    return Question(
        str(asked["question"]),
        gold,
        str(asked["category"]),
        answer=str(asked.get("answer", asked.get("adversarial_answer", ""))),
    )


def numbered(corpora: Iterable[Corpus]) -> dict[int, Corpus]:
    """Conversations by their number in the published file; unknown names by their place."""
    return {
        LOCOMO_ORDER.index(item.name) if item.name in LOCOMO_ORDER else place: item
        for place, item in enumerate(corpora)
    }


def load_cues(path: Path) -> list[Cue]:
    """LoCoMo-Plus samples. Only text, relation, gap and index are read: the shipped scores and
    ranks are labels."""
    cues = []
    for sample in (sample for file in files_of(path) for sample in json.loads(file.read_text())):
        lines = []
        for line in filter(None, map(str.strip, sample["cue_dialogue"].split("\n"))):
            match = _LINE.fullmatch(line)
            lines.append((match.group(1), match.group(2)) if match else ("A", line))
        question = re.sub(r"^A\s*:\s*", "", sample["trigger_query"].strip())
        index = int(sample["index"])
        cues.append(
            Cue(
                index,
                index % 10,
                sample["relation_type"],
                tuple(lines),
                question,
                gap_ns(sample.get("time_gap") or ""),
            )
        )
    return cues


def gap_ns(text: str) -> int:
    """ "about six weeks later" as time, by 7, 30 and 365 days; what names no number is 0, as in the
    official code."""
    match = _GAP.search(text)
    if not match:
        return 0
    word = match.group(1).lower()
    number = int(word) if word.isdigit() else _NUMBERS.get(word, 0)
    return number * _GAP_DAYS[match.group(2).lower()] * DAY_NS


def with_cues(base: Corpus, cues: Iterable[Cue]) -> list[Turn]:
    """The conversation with each cue as a session of its own at its place in time: last session + 7
    days - gap."""
    turns = list(base.turns)
    session_times: dict[str, int] = {}
    for turn in turns:
        session_times.setdefault(turn.session, turn.time_ns or 0)
    trigger = max(session_times.values()) + 7 * DAY_NS
    for cue in cues:
        start = trigger - cue.gap_ns
        for number, (side, text) in enumerate(cue.lines):
            turns.append(
                Turn(
                    base.name,
                    f"inserted-{cue.index}",
                    base.speakers[side == "B"],
                    "person",
                    text,
                    start + number * SECOND_NS,
                    cue_id(cue, number),
                )
            )
    starts = {turn.session: turn.time_ns or 0 for turn in reversed(turns)}
    return sorted(turns, key=lambda turn: (starts[turn.session], turn.session, turn.time_ns or 0))


def cue_id(cue: Cue, number: int) -> str:
    return f"cue-{cue.index}-{number}"


def gold_of(cue: Cue, prefix: str = "") -> frozenset[str]:
    return frozenset(prefix + cue_id(cue, number) for number in range(len(cue.lines)))


def prefixed(turns: Iterable[Turn]) -> list[Turn]:
    """Source ids made unique over several conversations."""
    return [replace(turn, source_id=f"{turn.thread}/{turn.source_id}") for turn in turns]


def load_beam(path: Path) -> list[Corpus]:
    """BEAM chats: every folder below that has a chat and its probing questions. Those of abstention
    have no evidence and stand apart."""
    corpora = []
    for chat in sorted(
        path.rglob("chat.json"), key=lambda file: (len(file.parent.name), file.parent.name)
    ):
        asked = chat.parent / "probing_questions" / "probing_questions.json"
        if asked.exists():
            turns = tuple(_beam_turns(f"beam-{chat.parent.name}", json.loads(chat.read_text())))
            probes = json.loads(asked.read_text())
            name = f"beam-{chat.parent.name}"
            abstention = tuple(
                Question(one["question"], frozenset(), ABSTENTION, answer=_beam_answer(one))
                for one in probes.get(ABSTENTION, ())
            )
            corpora.append(
                Corpus(name, turns, tuple(_beam_questions(probes, turns)), unlabelled=abstention)
            )
    return corpora


def _beam_turns(name: str, batches: list[dict[str, Any]]) -> Iterator[Turn]:
    for batch in batches:
        messages = [message for group in batch["turns"] for message in group]
        start = next(
            (
                anchor
                for message in messages
                if (anchor := _anchor_ns(message.get("time_anchor"))) is not None
            ),
            None,
        )
        for number, message in enumerate(messages):
            text = _PLAN_MARK.sub("", message["content"])
            time = None if start is None else start + number * SECOND_NS
            yield Turn(
                name,
                f"batch-{batch['batch_number']}",
                message["role"],
                message["role"],
                text,
                time,
                str(message["id"]),
            )


def _anchor_ns(text: object) -> int | None:
    try:
        return (
            int(datetime.strptime(str(text), _ANCHOR).replace(tzinfo=UTC).timestamp()) * SECOND_NS
        )
    except ValueError:
        return None


def _beam_questions(
    by_type: dict[str, list[dict[str, Any]]], turns: Iterable[Turn]
) -> Iterator[Question]:
    known = {turn.source_id for turn in turns}
    for kind, asked in by_type.items():
        if kind == ABSTENTION:
            continue
        for question in asked:
            ids = question.get("source_chat_ids")
            gold = frozenset(_flat(ids)) & known
            if gold:
                yield Question(
                    question["question"], gold, kind, _sides(kind, ids), _beam_answer(question)
                )


def _beam_answer(question: dict[str, Any]) -> str:
    """What should be said, under the name that its type has for it."""
    return next((str(question[name]) for name in _BEAM_ANSWERS if question.get(name)), "")


def _sides(kind: str, ids: object) -> tuple[frozenset[str], frozenset[str]] | None:
    names = {
        "knowledge_update": ("original_info", "updated_info"),
        "contradiction_resolution": ("first_statement", "second_statement"),
    }.get(kind)
    if names is None or not isinstance(ids, dict):
        return None
    first, second = (frozenset(_flat(ids.get(name))) for name in names)
    return (first, second) if first and second and first.isdisjoint(second) else None


def _flat(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _flat(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(inner)
    elif value is not None:
        yield str(value)
