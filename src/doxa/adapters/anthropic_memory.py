"""Anthropic's memory tool (memory_20250818) on a doxa session.

    tool = DoxaMemoryTool(memory.session(actor="claude", project="shop"))
    client.beta.messages.run_tools(model=..., messages=[...], tools=[tool])

A file is an item, an edit is a revision, and a file that is renamed stays the same item: its
history does not end where its path changes. What a person makes of the item with `revise` is what
the file holds then. Answers are, word for word, those of the reference implementation, which models
know. What differs: an empty text is not replaced, and of many places the first are named; a
directory exists while a file is in it, and its size is that of its files; a path such as
/memoriesfoo is refused; credentials are left out of files, and the answer says so.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeVar

from doxa.adapters.documents import Document, Documents, Put, is_unicode
from doxa.adapters.framework import require
from doxa.adapters.threads import reading, writing
from doxa.app import Session
from doxa.base.errors import DoxaError
from doxa.redaction.redact import left_out, redact

VERSION = require("anthropic", extra="anthropic", oldest="2.12", below="3")

from anthropic.lib.tools import (  # noqa: E402
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    ToolError,
)

_T = TypeVar("_T")
Path = tuple[str, ...]

_ROOT = "/memories"
_LINES_MAX = 999_999
_NUMBER_CHARS = len(str(_LINES_MAX))
_CONTEXT_LINES = 2
_LEVELS = 2
_PLACES_SHOWN = 50  # of a text that stands in a file more than once


class DoxaMemoryTool(BetaAbstractMemoryTool):  # type: ignore[misc, unused-ignore]
    """The tool, with its files below one space of the session's project.

    `trust` is that of what is stored: stated, candidate, inferred or untrusted. `options` are those
    of the tool, such as `cache_control`.
    """

    def __init__(
        self,
        session: Session,
        *,
        space: str = "memories",
        trust: str = "stated",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._files = MemoryFiles(session, space=space, trust=trust)

    def view(self, command: Any) -> str:
        return self._files.view(command)

    def create(self, command: Any) -> str:
        return self._files.create(command)

    def str_replace(self, command: Any) -> str:
        return self._files.str_replace(command)

    def insert(self, command: Any) -> str:
        return self._files.insert(command)

    def delete(self, command: Any) -> str:
        return self._files.delete(command)

    def rename(self, command: Any) -> str:
        return self._files.rename(command)

    def clear_all_memory(self) -> str:
        return self._files.clear()


class DoxaAsyncMemoryTool(BetaAsyncAbstractMemoryTool):  # type: ignore[misc, unused-ignore]
    """The same, awaited. A command that writes is finished before its caller is cancelled."""

    def __init__(
        self,
        session: Session,
        *,
        space: str = "memories",
        trust: str = "stated",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._files = MemoryFiles(session, space=space, trust=trust)

    async def view(self, command: Any) -> str:
        return await reading(self._files.view, command)

    async def create(self, command: Any) -> str:
        return await writing(self._files.create, command)

    async def str_replace(self, command: Any) -> str:
        return await writing(self._files.str_replace, command)

    async def insert(self, command: Any) -> str:
        return await writing(self._files.insert, command)

    async def delete(self, command: Any) -> str:
        return await writing(self._files.delete, command)

    async def rename(self, command: Any) -> str:
        return await writing(self._files.rename, command)

    async def clear_all_memory(self) -> str:
        return await writing(self._files.clear)


class MemoryFiles:
    """The commands of the tool. Each that changes files is one transaction, which reads first what
    it depends on. Raises ToolError, which the model reads."""

    def __init__(self, session: Session, *, space: str, trust: str) -> None:
        self._documents = Documents(
            session, space=space, kind="note", channel="anthropic-memory", trust=trust
        )

    def view(self, command: Any) -> str:
        path = _parsed(command.path)
        krefs = self._documents.paths()
        if path in krefs:
            document = self._documents.read([krefs[path]])[krefs[path]]
            return _numbered(command, _content(document))
        if not _is_directory(path, krefs):
            raise ToolError(_absent(command.path))
        sizes = {one.path: _size(_content(one)) for one in self._documents.below()}
        lines = [f"{_shown_size(_below(path, sizes))}\t{command.path}"]
        lines += (
            f"{_shown_size(size)}\t{command.path}/{name}" for name, size in _listed(path, sizes)
        )
        header = (
            f"Here're the files and directories up to {_LEVELS} levels deep in {command.path},"
            " excluding hidden items:"
        )
        return "\n".join((header, *lines))

    def create(self, command: Any) -> str:
        path = _parsed(command.path)

        def change(documents: Documents) -> None:
            krefs = documents.paths()
            if path in krefs or _is_directory(path, krefs):
                raise ToolError(f"File {command.path} already exists")
            _check_parents(path, krefs)
            kref = documents.address((), f"m-{uuid.uuid4().hex}")
            documents.write([_put(kref, path, command.file_text)])

        self._change(change)
        return _with_note(f"File created successfully at: {command.path}", command.file_text)

    def str_replace(self, command: Any) -> str:
        path, old, new = _parsed(command.path), command.old_str, command.new_str

        def change(documents: Documents) -> str:
            document = _file(documents, path, command.path)
            content = _content(document)
            if not old:
                raise ToolError(
                    "No replacement was performed, old_str is empty. Give the text to be replaced."
                )
            count = content.count(old)
            if count == 0:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in"
                    f" {command.path}."
                )
            if count > 1:
                raise ToolError(
                    "No replacement was performed. Multiple occurrences of old_str"
                    f" `{old}` in lines: {_places(content, old)}. Please ensure it is unique"
                )
            changed = content.replace(old, new)
            _rewrite(documents, {document.kref: (path, changed)})
            return _snippet(changed, content[: content.find(old)].count("\n"))

        snippet = self._change(change)
        return _with_note(
            "The memory file has been edited. Here is the snippet showing the change (with line"
            f" numbers):\n{snippet}",
            new,
        )

    def insert(self, command: Any) -> str:
        path = _parsed(command.path)

        def change(documents: Documents) -> None:
            document = _file(documents, path, command.path)
            lines = _content(document).split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. It should be within"
                    f" the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            content = "\n".join(lines)
            if not content.endswith("\n"):
                content += "\n"
            _rewrite(documents, {document.kref: (path, content)})

        self._change(change)
        return _with_note(f"The file {command.path} has been edited.", command.insert_text)

    def delete(self, command: Any) -> str:
        path = _parsed(command.path)
        if not path:
            raise ToolError(f"Cannot delete the {_ROOT} directory itself")

        def change(documents: Documents) -> None:
            found = [kref for one, kref in documents.paths().items() if one[: len(path)] == path]
            if not found:
                raise ToolError(f"The path {command.path} does not exist")
            documents.write(drops=found)

        self._change(change)
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        old, new = _parsed(command.old_path), _parsed(command.new_path)
        if not old:
            raise ToolError(f"Cannot rename the {_ROOT} directory itself")

        def change(documents: Documents) -> None:
            krefs = documents.paths()
            if new in krefs or _is_directory(new, krefs):
                raise ToolError(f"The destination {command.new_path} already exists")
            moved = [kref for one, kref in krefs.items() if one[: len(old)] == old]
            if not moved:
                raise ToolError(f"The path {command.old_path} does not exist")
            if new[: len(old)] == old:
                raise ToolError(f"Cannot move {command.old_path} into itself")
            _check_parents(new, krefs)
            _rewrite(
                documents,
                {
                    one.kref: ((*new, *one.path[len(old) :]), _content(one))
                    for one in documents.read(moved).values()
                },
            )

        self._change(change)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear(self) -> str:
        self._change(lambda documents: documents.write(drops=[*documents.paths().values()]))
        return "All memory cleared"

    def _change(self, change: Callable[[Documents], _T]) -> _T:
        try:
            return self._documents.atomically(change)
        except DoxaError as error:
            raise ToolError(str(error)) from error


# Paths


def _parsed(text: str) -> Path:
    """The parts below /memories; () is /memories itself. Dots are followed as in a file system, by
    the text alone. Raises ToolError for a path that leaves it."""
    if not isinstance(text, str) or not (text == _ROOT or text.startswith(_ROOT + "/")):
        raise ToolError(f"Path must start with {_ROOT}, got: {text}")
    if "\0" in text or not is_unicode(text):
        raise ToolError("A path holds no NUL and no half of a character.")
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    if parts[:1] != [_ROOT[1:]]:
        raise ToolError(f"Path {text} would escape {_ROOT} directory")
    return tuple(parts[1:])


def _is_directory(path: Path, krefs: dict[Path, Any]) -> bool:
    return not path or any(one[: len(path)] == path for one in krefs if len(one) > len(path))


def _check_parents(path: Path, krefs: dict[Path, str]) -> None:
    for depth in range(1, len(path)):
        if path[:depth] in krefs:
            raise ToolError(f"The path {'/'.join((_ROOT, *path[:depth]))} is not a directory.")


def _absent(shown: str) -> str:
    return f"The path {shown} does not exist. Please provide a valid path."


def _file(documents: Documents, path: Path, shown: str) -> Document:
    krefs = documents.paths()
    if path in krefs:
        return documents.read([krefs[path]])[krefs[path]]
    if _is_directory(path, krefs):
        raise ToolError(f"The path {shown} is not a file.")
    raise ToolError(_absent(shown))


# Files


def _put(kref: str, path: Path, content: str, before: int = 0) -> Put:
    """A file as the revision after the one with the number `before`."""
    if not is_unicode(content):
        raise ToolError("The text holds half of a character. Write whole characters.")
    return Put(kref, path, content, f"{'/'.join(path)}\n{content}", number=before + 1)


def _rewrite(documents: Documents, files: dict[str, tuple[Path, str]]) -> None:
    """Write the next revisions of files, in the transaction that read them."""
    numbers = documents.last_revisions([*files])
    documents.write(
        [_put(kref, path, content, numbers[kref]) for kref, (path, content) in files.items()]
    )


def _content(document: Document) -> str:
    """What is in a file: what the tool wrote, or what a person made of it since with `revise`."""
    heading = "/".join(document.path) + "\n"
    return document.edited.removeprefix(heading) if document.edited else str(document.value)


def _with_note(answer: str, written: str) -> str:
    kinds = dict.fromkeys(finding.kind for finding in redact(written).findings)
    return f"{answer}\n{left_out(kinds)}" if kinds else answer


def _numbered(command: Any, content: str) -> str:
    lines = content.split("\n")
    if len(lines) > _LINES_MAX:
        raise ToolError(f"File {command.path} exceeds maximum line limit of {_LINES_MAX:,} lines.")
    first, last = 0, len(lines)
    bounds = getattr(command, "view_range", None)
    if bounds and len(bounds) == 2:
        first = max(1, bounds[0]) - 1
        last = len(lines) if bounds[1] == -1 else bounds[1]
    shown = "\n".join(_with_numbers(lines[first:last], first))
    return f"Here's the content of {command.path} with line numbers:\n{shown}"


def _with_numbers(lines: list[str], before: int) -> Iterator[str]:
    for number, line in enumerate(lines, before + 1):
        yield f"{number:>{_NUMBER_CHARS}}\t{line}"


def _snippet(content: str, changed: int) -> str:
    """The lines about the first that changed, which counts from 0."""
    lines = content.split("\n")
    first = max(0, changed - _CONTEXT_LINES)
    return "\n".join(_with_numbers(lines[first : changed + _CONTEXT_LINES + 1], first))


def _places(content: str, text: str) -> str:
    """The lines of the first places where a text stands."""
    found = list(map(str, islice(_lines_with(content, text), _PLACES_SHOWN + 1)))
    more = ["and more"] if len(found) > _PLACES_SHOWN else []
    return ", ".join((*found[:_PLACES_SHOWN], *more))


def _lines_with(content: str, text: str) -> Iterator[int]:
    """The line of each place where a text stands; places may overlap."""
    line, counted = 1, 0
    at = content.find(text)
    while at != -1:
        line += content.count("\n", counted, at)
        counted = at
        yield line
        at = content.find(text, at + 1)


# Listings


def _size(content: str) -> int:
    return len(content.encode())


def _below(path: Path, sizes: dict[Path, int]) -> int:
    return sum(size for one, size in sizes.items() if one[: len(path)] == path)


def _listed(path: Path, sizes: dict[Path, int]) -> Iterator[tuple[str, int]]:
    """Names and sizes of what is in a directory, each directory before what is in it."""
    depth = len(path)
    below = {one[depth:] for one in sizes if one[:depth] == path and len(one) > depth}
    shown = {one[:level] for one in below for level in range(1, min(len(one), _LEVELS) + 1)}
    for one in sorted(shown):
        if any(part.startswith(".") for part in one):
            continue
        is_file = (*path, *one) in sizes
        yield "/".join(one) + ("" if is_file else "/"), _below((*path, *one), sizes)


def _shown_size(size: int) -> str:
    units = "BKMG"
    step = min(max(size.bit_length() - 1, 0) // 10, len(units) - 1)
    shown = size / 1024**step
    return f"{int(shown)}{units[step]}" if shown == int(shown) else f"{shown:.1f}{units[step]}"
