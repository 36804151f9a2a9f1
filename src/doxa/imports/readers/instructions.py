"""Read the files that tell agents how to work on a project: CLAUDE.md, AGENTS.md and their like.
Each paragraph or item of a list is an entry, with its file, its lines and its digest.

A paragraph is named by its heading and its first words, so that one whose rest was changed revises
its belief. One that begins otherwise is another belief; the one that is gone lacks support from
then on. Who wrote such a file in somebody else's repository is not known: it is untrusted until an
operator vouches for it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from doxa.base.errors import InputError
from doxa.base.limits import IMPORT_DOCUMENT_BYTES_MAX, IMPORT_ENTRIES_ITEMS_MAX
from doxa.imports.contract import ImportedEntry, ImportLog, ImportSource, Position, Read
from doxa.imports.places import inside
from doxa.imports.readers.workspace import blocks, without_comments
from doxa.ingestion.readers.front_matter import split
from doxa.ingestion.readers.sources import clean, whole_file
from doxa.redaction.redact import redact

_NAMES = frozenset(
    "claude.md claude.local.md agents.md agents.override.md gemini.md copilot-instructions.md"
    " .cursorrules .windsurfrules".split()
)
_WORDS = 5
_SPEAKER = "instructions"


class Instructions:
    """The format; see the module."""

    name = "instructions"
    title = "instructions for agents (CLAUDE.md, AGENTS.md, GEMINI.md, .cursorrules)"
    own = False
    documents = True
    suffixes = (".md", ".cursorrules", ".windsurfrules", ".mdc")

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether it is one, by the name of the file."""
        rule = path.suffix == ".mdc" and path.parent.name == "rules"
        return b"\0" not in start and (rule or path.name.lower() in _NAMES)

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the paragraphs of one file."""
        document = inside(source)
        data = whole_file(source.path, IMPORT_DOCUMENT_BYTES_MAX)
        text = without_comments(clean(data.decode("utf-8", "replace")))
        body = split(text).body
        first = text[: len(text) - len(body)].count("\n") + 1
        seen: Counter[str] = Counter()
        for block in blocks(body, first):
            if not any(char.isalnum() for char in block.text):
                continue
            name = _named(document, block.heading, block.text)
            seen[name] += 1
            if seen.total() > IMPORT_ENTRIES_ITEMS_MAX:
                raise InputError(
                    f"{source.name} has more than {IMPORT_ENTRIES_ITEMS_MAX:,} paragraphs.",
                    next_step="Split it into several files.",
                    path=source.name,
                )
            digest = hashlib.sha256(block.text.encode()).hexdigest()
            yield Read(
                ImportedEntry(
                    document,
                    block.text,
                    name=name if seen[name] == 1 else f"{name}-{seen[name]}",
                    kind="directive",
                    title=block.heading,
                    speaker=_SPEAKER,
                    folder=str(source.path.absolute().parent),
                    metadata={"lines": f"{block.first}-{block.last}", "sha256": digest},
                )
            )


def _named(document: str, heading: str, text: str) -> str:
    words = re.findall(r"\w+", redact(text).text.casefold())[:_WORDS]
    return " ".join((document, redact(heading).text.casefold(), *words))
