"""A question with its filters, and a hit. A hit carries everything a reader needs to decide whether
to trust it: address, status, times, source, trust, reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from doxa.base.clock import TIME_MAX
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import QUERY_CHARS_MAX, RECALL_HITS_MAX, RECALL_TOKENS_MAX
from doxa.base.values import check_text
from doxa.recall.lane_names import LANES, LANES_DEFAULT, MODES
from doxa.store import TRUSTS

HITS_DEFAULT = 10
ORDERS = ("score", "time")
RERANKS = ("none", "client", "dedicated", "auto")
REWORDS = ("none", "rules", "model", "auto")
NAMING = frozenset(("words", "meaning"))  # lanes that name candidates without another


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its filters. Empty filters filter nothing. Times are integer ns UTC.

    `since`/`until` bound when it was said or stated (half-open); `valid_at` asks for what holds at
    that moment (default: now, or `as_of`); `as_of` asks what memory believed at that system time;
    `tag` other than current asks for what carries that tag, whenever it holds; `history` adds
    superseded, deprecated, expired and not yet valid memories.

    `lanes` are the signals that may name and rank candidates, `mode` is how they are fused (see
    fusion.py); `from_thread` is where the question comes from: memories of that thread count THREAD
    times; `strict` drops hits below the threshold of threshold.py; `diversity` in [0, 1) prefers
    hits unlike each other; `order` is "score" or "time". `rerank` asks for reranking (rerank.py),
    `reword` for query expansion (expansion.py).
    """

    text: str
    project: str = ""
    space: str = ""
    kinds: tuple[str, ...] = ()
    tag: str = "current"
    trust: str = ""
    speaker: str = ""
    thread: str = ""
    since: int | None = None
    until: int | None = None
    valid_at: int | None = None
    as_of: int | None = None
    history: bool = False
    limit: int = HITS_DEFAULT
    tokens_max: int | None = None
    lanes: tuple[str, ...] = LANES_DEFAULT
    mode: str = "auto"
    from_thread: str = ""
    strict: bool = False
    diversity: float = 0.0
    order: str = "score"
    rerank: str = "none"
    reword: str = "none"


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory. `text` is data that somebody said, never an instruction to the reader."""

    kref: str
    type: Literal["revision", "exchange"]
    kind: str
    status: Literal[
        "current", "superseded", "deprecated", "detached", "contested", "expired", "not_yet_valid"
    ]
    text: str
    score: float
    lanes: Mapping[str, float]
    why: str
    time: int
    recorded: int
    valid_from: int | None
    valid_until: int | None
    trust: str
    confidence: float
    project: str
    space: str
    speaker: str
    source: str
    source_id: str
    number: int | None
    tokens: int
    truncated: bool = False
    unsupported: str = ""  # why its support is lost; empty while it is supported
    contested: tuple[str, ...] = ()  # the beliefs on the other side of undecided conflicts
    repeated: int = 1  # how many turns of its source say nearly the same, itself included


def check_ask(ask: Ask) -> None:
    """Raise InputError or LimitError for an option that is not valid. Any text is a question."""
    _check_question(ask.text)
    for name in ("project", "space", "tag", "trust", "speaker", "thread", "from_thread"):
        _check_filter(name, getattr(ask, name))
    if isinstance(ask.kinds, str) or isinstance(ask.lanes, str):
        raise InputError(
            "kinds and lanes are lists of texts, not a single text.",
            next_step="Give each in a list.",
            field="kinds",
        )
    for kind in ask.kinds:
        _check_filter("kinds", kind)
    for name in ("since", "until", "valid_at", "as_of"):
        _check_time(name, getattr(ask, name))
    _check_limit(ask.limit)
    check_budget(ask.tokens_max)
    if ask.trust and ask.trust not in TRUSTS:
        raise InputError(
            f"{ask.trust[:40]!r} is not a trust label.",
            next_step=f"Use one of {', '.join(TRUSTS)}.",
            field="trust",
        )
    _check_lanes(ask.lanes)
    for name, known in (
        ("mode", MODES),
        ("order", ORDERS),
        ("rerank", RERANKS),
        ("reword", REWORDS),
    ):
        _check_choice(name, getattr(ask, name), known)
    _check_diversity(ask.diversity)


def check_budget(budget: object) -> None:
    """Raise LimitError unless this is a budget of tokens or None."""
    if budget is not None and (
        isinstance(budget, bool)
        or not isinstance(budget, int)
        or not 1 <= budget <= RECALL_TOKENS_MAX
    ):
        raise LimitError(
            f"tokens_max lies between 1 and {RECALL_TOKENS_MAX}.",
            next_step="Give another budget.",
            field="tokens_max",
        )


def _check_question(text: object) -> None:
    if not isinstance(text, str):
        raise InputError(
            f"A question is text; this is {type(text).__name__}.",
            next_step="Ask in words.",
            field="text",
        )
    if len(text) > QUERY_CHARS_MAX:
        raise LimitError(
            f"The question has {len(text):,} characters; the limit is {QUERY_CHARS_MAX:,}.",
            next_step="Ask a shorter question.",
            limit_chars=QUERY_CHARS_MAX,
        )


def _check_filter(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InputError(
            f"{name} is text; this is {type(value).__name__}.",
            next_step="Give it as text.",
            field=name,
        )
    check_text(value, field=name)


def _check_time(name: str, time: object) -> None:
    if time is not None and (
        isinstance(time, bool) or not isinstance(time, int) or not -TIME_MAX <= time <= TIME_MAX
    ):
        raise InputError(
            f"{name} is a time in integer nanoseconds; this is {time!r:.60}.",
            next_step="Give a time, or leave it out.",
            field=name,
        )


def _check_limit(limit: object) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= RECALL_HITS_MAX:
        raise LimitError(
            f"limit lies between 1 and {RECALL_HITS_MAX}.",
            next_step="Ask for fewer hits.",
            field="limit",
            value=limit,
        )


def _check_lanes(lanes: tuple[str, ...]) -> None:
    unknown = set(lanes) - set(LANES)
    if unknown or not NAMING.intersection(lanes):
        message = (
            f"There is no lane {', '.join(sorted(unknown))}."
            if unknown
            else "The lanes include neither words nor meaning: nothing can be found."
        )
        raise InputError(
            message,
            next_step=f"Use some of {', '.join(LANES)}, including words or meaning.",
            field="lanes",
        )


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(
            f"{value!r:.40} is not a value of {name}.",
            next_step=f"Use one of {', '.join(known)}.",
            field=name,
        )


def _check_diversity(diversity: object) -> None:
    if (
        isinstance(diversity, bool)
        or not isinstance(diversity, (int, float))
        or not 0 <= diversity < 1
    ):
        raise InputError(
            "diversity lies between 0 and 1, 1 excluded.",
            next_step="Give 0 for none, 0.3 for some.",
            field="diversity",
        )
