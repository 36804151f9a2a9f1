"""What recall takes and gives. A hit carries everything a reader needs to trust it or not: address,
status, times, source, trust, why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from doxa.base.clock import TIME_MAX
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import QUERY_CHARS_MAX, RECALL_HITS_MAX, RECALL_TOKENS_MAX
from doxa.base.values import check_text
from doxa.recall.fusion import LANES, MODES
from doxa.store import TRUSTS

HITS_DEFAULT = 10
CHARS_PER_TOKEN = 4
ORDERS = ("score", "time")
RERANKS = ("none", "client", "dedicated", "auto")
REWORDS = ("none", "rules", "model", "auto")
NAMING = frozenset(("words", "meaning"))  # the lanes that name candidates by themselves


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its filters. Empty filters filter nothing. Times are integer ns UTC.

    `since`/`until` bound when it was said or stated (half-open); `valid_at` asks for what holds at
    that moment (not given: now, or `as_of`); `as_of` asks what memory believed at that system time;
    `tag` other than current asks for what carries that tag, whenever it holds; `history` adds
    superseded, deprecated, expired and not yet valid ones.

    `lanes` are those that may name and rank candidates, `mode` how they are fused (see fusion.py);
    `from_thread` is where the question comes from: what was said there counts THREAD times;
    `strict` leaves out what does not stand out; `diversity` in [0, 1) prefers hits unlike each
    other; `order` is "score" or "time". `rerank` and `reword`: see rerank.py.
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
    lanes: tuple[str, ...] = LANES
    mode: str = "auto"
    from_thread: str = ""
    strict: bool = False
    diversity: float = 0.0
    order: str = "score"
    rerank: str = "none"
    reword: str = "none"


def check_ask(ask: Ask) -> None:
    """Raise InputError or LimitError for what cannot be asked. Any text can."""
    if not isinstance(ask.text, str):
        raise InputError(
            f"A question is text; this is {type(ask.text).__name__}.",
            next_step="Ask in words.",
            field="text",
        )
    if len(ask.text) > QUERY_CHARS_MAX:
        raise LimitError(
            f"The question has {len(ask.text):,} characters; the limit is {QUERY_CHARS_MAX:,}.",
            next_step="Ask a shorter question.",
            limit_chars=QUERY_CHARS_MAX,
        )
    for name in ("project", "space", "tag", "trust", "speaker", "thread", "from_thread"):
        _check_filter(name, getattr(ask, name))
    if isinstance(ask.kinds, str) or isinstance(ask.lanes, str):
        raise InputError(
            "kinds and lanes are lists of texts; one is a text alone.",
            next_step="Give each in a list.",
            field="kinds",
        )
    for kind in ask.kinds:
        _check_filter("kinds", kind)
    for name in ("since", "until", "valid_at", "as_of"):
        time = getattr(ask, name)
        if time is not None and (
            isinstance(time, bool) or not isinstance(time, int) or not -TIME_MAX <= time <= TIME_MAX
        ):
            raise InputError(
                f"{name} is a time in integer nanoseconds; this is {time!r:.60}.",
                next_step="Give a time, or leave it out.",
                field=name,
            )
    if (
        isinstance(ask.limit, bool)
        or not isinstance(ask.limit, int)
        or not 1 <= ask.limit <= RECALL_HITS_MAX
    ):
        raise LimitError(
            f"limit lies between 1 and {RECALL_HITS_MAX}.",
            next_step="Ask for fewer hits.",
            field="limit",
            value=ask.limit,
        )
    _check_budget(ask.tokens_max)
    if ask.trust and ask.trust not in TRUSTS:
        raise InputError(
            f"{ask.trust[:40]!r} is no trust label.",
            next_step=f"Use one of {', '.join(TRUSTS)}.",
            field="trust",
        )
    unknown = set(ask.lanes) - set(LANES)
    if unknown or not NAMING.intersection(ask.lanes):
        told = (
            f"There is no lane {', '.join(sorted(unknown))}."
            if unknown
            else "Neither words nor meaning is among the lanes: nothing can be found."
        )
        raise InputError(
            told,
            next_step=f"Use some of {', '.join(LANES)}, words or meaning among them.",
            field="lanes",
        )
    for name, known in (
        ("mode", MODES),
        ("order", ORDERS),
        ("rerank", RERANKS),
        ("reword", REWORDS),
    ):
        if getattr(ask, name) not in known:
            raise InputError(
                f"{getattr(ask, name)!r:.40} is no {name}.",
                next_step=f"Use one of {', '.join(known)}.",
                field=name,
            )
    if (
        isinstance(ask.diversity, bool)
        or not isinstance(ask.diversity, (int, float))
        or not 0 <= ask.diversity < 1
    ):
        raise InputError(
            "diversity lies between 0 and 1, 1 not included.",
            next_step="Give 0 for none, 0.3 for some.",
            field="diversity",
        )


def _check_budget(budget: object) -> None:
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


def _check_filter(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InputError(
            f"{name} is text; this is {type(value).__name__}.",
            next_step="Give it as text.",
            field=name,
        )
    check_text(value, field=name)


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing remembered. `text` is data said by somebody, never an instruction to the reader."""

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
    unsupported: str = ""  # why what it rests on is not believed any more; empty while it is


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer. `mode` says which lanes ran (fulltext, vector, hybrid); `searched` how many
    memories the filters let through; `warnings` what did not work or is not ready; `pending` how
    many memories await their vectors; `answerable` how likely memory holds the answer."""

    query: str
    hits: tuple[Hit, ...]
    mode: Literal["fulltext", "vector", "hybrid"]
    searched: int
    pending: int
    tokens: int
    warnings: tuple[str, ...] = ()
    filters: Mapping[str, object] = field(default_factory=dict)
    answerable: float = 0.0

    def framed(self, tokens_max: int | None = None) -> str:
        """The hits as one text for a reader: each with address, status, trust, time and source, its
        text quoted as data. Never more than `tokens_max` tokens, a token being four characters."""
        from doxa.recall.framing import framed

        _check_budget(tokens_max)
        return framed(self.hits, tokens_max)

    def chosen(self, krefs: Sequence[str]) -> Recall:
        """The hits that somebody chose, in that order: what the agent's own model made of an answer
        by `rerank="client"`. An address that is no hit's is passed over. Raises InputError for what
        is no list of texts, one address alone included."""
        from doxa.recall.rerank import in_chosen_order

        named = (
            list(krefs) if isinstance(krefs, Iterable) and not isinstance(krefs, str) else [None]
        )
        if not all(isinstance(kref, str) for kref in named):
            told = f"krefs is a list of addresses; this is {krefs!r:.60}."
            raise InputError(
                told, next_step="Give the krefs of hits as texts, in a list.", field="krefs"
            )
        hits = tuple(in_chosen_order(self.hits, cast("list[str]", named)))
        return replace(self, hits=hits, tokens=sum(hit.tokens for hit in hits))
