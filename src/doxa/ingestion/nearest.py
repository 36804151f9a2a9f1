"""Name the current beliefs that are nearest to a text which replaced nothing.

Rules read a part of what people say. "Handed my badge in on Friday, sleeping at night like a human
being" ends "I work three night shifts a week" for a reader, and for no rule. The caller of
`remember` is often such a reader: a model, or a person. So the answer shows what is near, and the
caller decides. Nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass

from doxa.base.errors import NotFoundError
from doxa.base.limits import STATEMENT_CHARS_READ
from doxa.belief import Draft
from doxa.ingestion.candidates import kinds_of_beliefs
from doxa.recall import Ask, Recaller
from doxa.store import Store


@dataclass(frozen=True, slots=True)
class NearBelief:
    """A current belief near a text: its revision, and what it says."""

    kref: str
    text: str


def nearest(
    store: Store, recaller: Recaller, draft: Draft, count: int, *, besides: str
) -> tuple[NearBelief, ...]:
    """Return at most `count` current beliefs of the draft's project that are nearest to its text by
    recall, except the item of the address `besides`. Turns of conversations are left out."""
    if not count:
        return ()
    with store.read() as reader:
        kinds = kinds_of_beliefs(reader)
    if not kinds:
        return ()
    ask = Ask(
        draft.summary[:STATEMENT_CHARS_READ], project=draft.project, kinds=kinds, limit=count + 1
    )
    try:
        hits = recaller.recall(ask).hits
    except NotFoundError:  # nothing is indexed in this project yet
        return ()
    own = besides.partition("?")[0]
    return tuple(
        NearBelief(hit.kref, hit.text)
        for hit in hits
        if hit.type == "revision" and hit.kref.partition("?")[0] != own
    )[:count]
