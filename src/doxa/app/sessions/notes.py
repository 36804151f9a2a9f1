"""The verbs that write beliefs for people and other programs, and read them back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from doxa.app.checks import path_outside
from doxa.app.sessions.consolidating import ConsolidationVerbs
from doxa.belief import check_name
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.transfer.load import Loaded
    from doxa.transfer.types import Imported
    from doxa.transfer.vault.write import ExportedNotes


class NoteVerbs(ConsolidationVerbs):
    """Made by Session, like the verbs of consolidation."""

    def export_notes(self, folder: str | Path, *, projects: Iterable[str] = ()) -> ExportedNotes:
        """Write what is believed as a folder of Markdown notes, one for each belief.

        A folder that doxa wrote is brought up to date; what somebody edited, and what doxa did not
        write, stays as it is. Without `projects`, all that this session reads.
        """
        from doxa.transfer.vault.write import export_notes

        target = arguments.path(folder, "folder")
        named = _projects(projects)
        self._store.require_open()
        done = export_notes(self._store, target, projects=named)
        self._store.note_copy(target, kind="notes")
        return done

    def import_notes(
        self, folder: str | Path, *, dry_run: bool = False, accept_protected: bool = False
    ) -> Imported:
        """Import notes that `export_notes` wrote: each that was edited is a revision.

        A note whose belief was revised meanwhile is passed over and named in `places`. What is
        verified or approved needs `accept_protected`, as in `import_`.
        """
        from doxa.transfer.vault.read import import_notes

        arguments.flags(dry_run=dry_run, accept_protected=accept_protected)
        self._store.require_open()
        done = import_notes(
            self._store,
            self.identity,
            arguments.path(folder, "folder"),
            dry_run=dry_run,
            accept_protected=accept_protected,
        )
        if not dry_run:
            self._memory.wake()
        return done

    def load(
        self,
        path: str | Path,
        *,
        label: str = "",
        key: str = "",
        edge: str = "",
        start: str = "",
        end: str = "",
        item: str = "",
        again: bool = False,
    ) -> Loaded:
        """Load rows of CSV, JSON lines or Parquet as nodes, edges or revisions of items.

        With `label`, each row is a node; one whose `key` is there already is not created again.
        With `edge`, each row is an edge between the nodes that `start` and `end` name. With `item`,
        each row is the next revision of the item whose address is in that column. A load that was
        interrupted goes on where it stopped, and rows that are loaded are not loaded twice.
        """
        from doxa.transfer.load import load_rows

        for field, value in (
            ("label", label),
            ("key", key),
            ("edge", edge),
            ("start", start),
            ("end", end),
            ("item", item),
        ):
            arguments.text(value, field)
        arguments.flags(again=again)
        self._store.require_open()
        done = load_rows(
            self._store,
            self.identity,
            path_outside(path, "path", self._store),
            label=label,
            key=key,
            edge=edge,
            start=start,
            end=end,
            item=item,
            again=again,
        )
        if done.revisions:
            self._memory.wake()
        return done

    def export_memory_json(self, target: str | Path, *, projects: Iterable[str] = ()) -> int:
        """Write what is believed as the entities and relations of `memory.json`, to a new file.

        Returns the number of lines. The MCP reference server for memory reads it.
        """
        from doxa.transfer.memory_json import export_memory_json

        path = arguments.path(target, "target")
        self._store.require_open()
        lines = export_memory_json(self._store, path, projects=_projects(projects))
        self._store.note_copy(path, kind="export")
        return lines


def _projects(projects: Iterable[str]) -> tuple[str, ...]:
    return tuple(check_name(name, what="project") for name in arguments.texts(projects, "projects"))
