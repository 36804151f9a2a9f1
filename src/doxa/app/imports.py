"""How `Session.ingest` takes files that other programs keep: everything goes into one project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.base.errors import InputError
from doxa.base.limits import SKIPPED_ITEMS_MAX

if TYPE_CHECKING:
    from doxa.ingestion.ingest import Ingested
    from doxa.store import Identity, Store


def import_files(
    store: Store,
    identity: Identity,
    path: Path,
    project: str,
    given: Mapping[str, Any],
    progress: Callable[[int], None] | None,
) -> tuple[Ingested | None, bool]:
    """Import what a reader of `imports` recognises at a path. Returns the result, None if there is
    nothing of that kind, and whether the readers of `ingestion` have to look at the path too."""
    from doxa.imports.importing import Importer, ImportOptions, unknown
    from doxa.imports.registry import READERS, detect
    from doxa.ingestion.ingest import Ingested

    format = given["format"]
    named = format is not None and any(one.name == format for one in READERS)
    if not named and (format is not None or detect(path) is None):
        if format is None and not has_conversations(path):
            raise unknown(path)
        return None, True
    options = ImportOptions(
        project_of=lambda _: project,
        trust=given["trust"],
        extract=given["extract"],
        space=given["space"],
    )
    done = Importer(store, identity, options, progress=progress).run(path, format)
    made = Ingested(
        done.added,
        done.known,
        done.candidates,
        done.redacted,
        done.threads,
        done.changes,
        done.skipped,
        done.places,
        untrusted=done.untrusted,
        vouched=done.vouched,
    )
    return made, not named and path.is_dir() and has_conversations(path)


def has_conversations(path: Path) -> bool:
    """Return whether the readers of `ingestion` recognise something at a path."""
    from doxa.ingestion.readers import OTHERS, detect

    try:
        detect(path, OTHERS)
    except InputError:
        return False
    return True


def joined(one: Ingested, other: Ingested) -> Ingested:
    """Return the sum of two results about the same path; what neither could open counts once."""
    from doxa.ingestion.ingest import Ingested

    places = tuple(dict.fromkeys((*one.places, *other.places)))
    twice = len(one.places) + len(other.places) - len(places)
    return Ingested(
        one.added + other.added,
        one.known + other.known,
        one.candidates + other.candidates,
        one.redacted + other.redacted,
        (*one.threads, *other.threads),
        (*one.changes, *other.changes),
        one.skipped + other.skipped - twice,
        places[:SKIPPED_ITEMS_MAX],
        one.cut + other.cut,
        one.untrusted + other.untrusted,
        one.vouched + other.vouched,
    )
