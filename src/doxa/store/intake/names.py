"""Labels and types as they may be written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doxa.base.errors import InputError
from doxa.base.limits import LABEL_CHARS_MAX
from doxa.base.values import check_text
from doxa.store.intake.secrets import check_name


def node_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a node, sorted, each once. Raises InputError for one that cannot be."""
    return tuple(sorted({usable_name(label, "label") for label in labels}))


def usable_name(text: str, what: str) -> str:
    if not isinstance(text, str) or not text or len(text) > LABEL_CHARS_MAX:
        raise InputError(
            f"This is not a usable {what}: {str(text)[:40]!r}.",
            next_step=f"Use 1 to {LABEL_CHARS_MAX} characters.",
            field=what,
        )
    check_name(text, what)
    return check_text(text, field=what)


def owner_of(labels: Sequence[str]) -> str:
    """Return how messages name a node with these labels."""
    return ":".join(labels) or "node"
