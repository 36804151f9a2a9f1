"""Read the Markdown that `mempalace export` writes: a folder for each wing, with files.

    # <wing> / <part>
    ## <id of the drawer>
    > its text, each line after ">"
    | Field | Value |          then Source, Filed, Added by
    ---

A drawer is an entry named after its id. The text is verbatim from somewhere else, so it is
untrusted until an operator vouches for it. Its database itself is not read: the programs that write
it are at work on it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from doxa.base.errors import InputError
from doxa.base.limits import IMPORT_DOCUMENT_BYTES_MAX, IMPORT_ENTRIES_ITEMS_MAX
from doxa.imports.contract import ImportedEntry, ImportLog, ImportSource, Position, Read
from doxa.imports.places import inside
from doxa.ingestion.readers.sources import clean, whole_file

_START = re.compile(rb"# [^\r\n]{1,400} / [^\r\n]{1,400}\r?\n\r?\n## [^\r\n]+\r?\n\r?\n> ")
_DRAWER = re.compile(r"^## (\S[^\n]*)\n\n> ", re.MULTILINE)
_FIELD = re.compile(r"\| (Source|Filed|Added by) \| (.*?) \|")


class MemPalace:
    """The format; see the module."""

    name = "mempalace"
    title = "the Markdown export of MemPalace"
    own = False
    documents = True
    suffixes = (".md",)

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether it is one, by the headings of the file and its first drawer."""
        return _START.match(start) is not None

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the drawers of a file."""
        data = whole_file(source.path, IMPORT_DOCUMENT_BYTES_MAX)
        text = clean(data.decode("utf-8", "replace")).replace("\r\n", "\n")
        title = text.partition("\n")[0].removeprefix("# ").strip()
        drawers = list(_DRAWER.finditer(text))
        if len(drawers) > IMPORT_ENTRIES_ITEMS_MAX:
            raise InputError(
                f"{source.name} has more than {IMPORT_ENTRIES_ITEMS_MAX:,} drawers.",
                next_step="Split it into several files.",
                path=source.name,
            )
        for number, drawer in enumerate(drawers):
            end = drawers[number + 1].start() if number + 1 < len(drawers) else len(text)
            quoted, _, table = text[drawer.end() : end].partition("\n\n| Field | Value |")
            fields = dict(_FIELD.findall(table))
            where = _known(fields.get("Source"))
            yield Read(
                ImportedEntry(
                    inside(source),
                    "\n".join(line.removeprefix("> ") for line in quoted.split("\n")).strip(),
                    name=drawer[1].strip(),
                    title=title,
                    role="assistant",
                    speaker=_known(fields.get("Added by")) or self.name,
                    time_ns=log.time(_known(fields.get("Filed"))),
                    metadata={"source_file": where} if where else {},
                )
            )


def _known(value: str | None) -> str:
    return "" if value in (None, "unknown") else str(value).strip()
