"""Import an export: into an empty file everything as it was (restore.py), into any other a merge
(merge.py, graph_merge.py).

An export is first loaded into a scratch file next to the target where it is to be merged. So all of
it is checked before the target is written to, and any part of it can be read in any order without
holding it in memory.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from doxa.base.ids import is_below_operator
from doxa.belief import declare
from doxa.ingestion.arguments import unusable
from doxa.store import Identity, Store, is_empty
from doxa.transfer.beliefs import BeliefLine, lines_of_file, lines_of_state
from doxa.transfer.erased_here import erased_here, has_erased
from doxa.transfer.export import export_lines, state_digest, write_export
from doxa.transfer.graph_merge import GraphMerge
from doxa.transfer.lines import ExportFile, is_export
from doxa.transfer.merge import merge
from doxa.transfer.restore import check_time, load, restore
from doxa.transfer.types import Imported

__all__ = [
    "Imported",
    "export_lines",
    "import_lines",
    "is_export",
    "state_digest",
    "write_export",
]

_LEFT_S = 86_400


def import_lines(
    store: Store,
    identity: Identity,
    path: Path,
    *,
    dry_run: bool = False,
    accept_protected: bool = False,
) -> Imported:
    """Import an export of any format. `dry_run` writes nothing and returns what would be.

    An operator's import into a file that holds nothing gives the same state, with the digest of the
    export, unless a part of it was erased here. Any other is a merge: elements keep their
    addresses; those that exist here or were erased here are skipped, so importing twice changes
    nothing. Raises InputError naming the line, RoleError, or ConfirmationError for what is verified
    or approved in it unless `accept_protected`, before anything is written.
    """
    store.require_whole("an import")
    source = ExportFile(path)
    if source.format == 1:

        def read() -> Iterator[BeliefLine]:
            return (line for _, line in lines_of_file(source))

        return merge(store, identity, read, dry_run=dry_run, accept_protected=accept_protected)
    whole = partial(
        restore, store, identity, source, dry_run=dry_run, accept_protected=accept_protected
    )
    restores = not is_below_operator(identity.role) and _is_empty(store)
    if restores and not _has_erased(store):
        return whole()
    check_time(store, source)
    with _scratch(store) as scratch:
        with scratch.write(Identity("doxa", "system"), op="import") as tx:
            loaded = load(tx, source, derived=False)

        with store.read() as here, scratch.read() as elsewhere:
            erased = erased_here(here, elsewhere, source)
        if restores and not (erased.nodes or erased.edges):
            return whole()

        def view() -> Iterator[BeliefLine]:
            with scratch.read() as snapshot:
                yield from lines_of_state(snapshot)

        done = merge(
            store,
            identity,
            view,
            rest=GraphMerge(scratch, erased),
            erased=erased.krefs,
            size=loaded.nodes + loaded.edges,
            dry_run=dry_run,
            accept_protected=accept_protected,
        )
        return replace(done, digest=source.digest)


def _has_erased(store: Store) -> bool:
    with store.read() as snapshot:
        return has_erased(snapshot)


def _is_empty(store: Store) -> bool:
    with store.read() as snapshot:
        return is_empty(snapshot)


@contextmanager
def _scratch(store: Store) -> Iterator[Store]:
    """A file of its own next to the target, which only its owner can read, and which is gone
    afterwards. What a killed process left goes at the first import a day later."""
    target = Path(store.path).resolve()
    prefix = f".{target.name[:40]}.import-"
    for left in target.parent.iterdir():
        with suppress(OSError):
            if left.name.startswith(prefix) and left.stat().st_mtime < time.time() - _LEFT_S:
                shutil.rmtree(left, ignore_errors=True)
    try:
        folder = tempfile.mkdtemp(dir=target.parent, prefix=prefix)
    except OSError as error:
        raise unusable(target.parent, error) from None
    try:
        with Store(Path(folder, "export.db"), clock=store.clock) as scratch:
            declare(scratch)
            yield scratch
    finally:
        shutil.rmtree(folder, ignore_errors=True)
