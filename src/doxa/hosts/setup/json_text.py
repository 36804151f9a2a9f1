"""Change a JSON file as text, so that everything else in it stays as it is: order, indentation,
escapes, line ends.

    add(text, ("mcpServers", "doxa"), {...})       a member, with the objects that lead to it
    add(text, ("hooks", "Stop", APPEND), {...})    an element at the end of a list
    remove(text, path)                             a member or element, with its comma; what became
                                                   empty by it stays

A file with comments, trailing commas, duplicate keys or other faults is refused, never repaired.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from doxa.base.errors import InputError

Path = tuple[str | int, ...]
APPEND = -1
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_DEPTH_MAX = 200


@dataclass(slots=True)
class _Value:
    """A value in a text: where it starts and ends, and for objects and lists what is in it, with
    the places at which each entry (its key included) begins and ends."""

    start: int
    end: int
    keys: list[str] | None = None
    entries: list[tuple[int, int, _Value]] = field(default_factory=list)
    is_list: bool = False

    def child(self, step: str | int) -> int | None:
        """The number of an entry, by key or by its place."""
        if self.keys is not None and isinstance(step, str):
            return self.keys.index(step) if step in self.keys else None
        if self.is_list and isinstance(step, int) and 0 <= step < len(self.entries):
            return step
        return None


def parsed(text: str, what: str) -> Any:
    """Return the value of a text. Raises InputError for anything that is not strict JSON with an
    object at the top."""
    if not text.strip():
        return {}
    _tree(text, what)
    return json.loads(text)


def add(text: str, path: Path, value: Any, *, what: str) -> str:
    """Return the text with a value added; objects and lists that lead to it are made. A member that
    exists is replaced."""
    if not text.strip():
        return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
    tree = _tree(text, what)
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _indent_of(text)
    node, depth = tree, 0
    while True:
        step, rest = path[depth], path[depth + 1 :]
        _check_kind(node, step, path, what)
        found = node.child(step)
        if found is None:
            new = _nested(rest, value) if rest else value
            return _inserted(text, node, step, new, depth + 1, indent, newline)
        if not rest:
            inner = node.entries[found][2]
            new_text = _dumped(value, depth + 1, indent, newline)
            return text[: inner.start] + new_text + text[inner.end :]
        node, depth = node.entries[found][2], depth + 1


def remove(text: str, path: Path, *, what: str) -> str:
    """Return the text without a member or an element; unchanged if there is none."""
    node = _tree(text, what)
    for step in path[:-1]:
        found = node.child(step)
        if found is None:
            return text
        node = node.entries[found][2]
    at = node.child(path[-1])
    if at is None:
        return text
    start, end, _ = node.entries[at]
    if len(node.entries) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if at + 1 < len(node.entries):
        return text[:start] + text[node.entries[at + 1][0] :]
    return text[: node.entries[at - 1][1]] + text[end:]


def _check_kind(node: _Value, step: str | int, path: Path, what: str) -> None:
    if (node.keys is None) if isinstance(step, str) else (not node.is_list):
        expected = "an object" if isinstance(step, str) else "a list"
        where = ".".join(map(str, path))
        raise InputError(
            f"{what} has something else than {expected} on the way to {where}.",
            next_step="Correct the file in an editor, or enter doxa by hand (`--print`).",
            path=what,
        )


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _dumped(value: Any, depth: int, indent: str, newline: str) -> str:
    if not indent:
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return text.replace("\n", newline + indent * depth)


def _inserted(
    text: str, node: _Value, step: str | int, value: Any, depth: int, indent: str, newline: str
) -> str:
    key = f"{json.dumps(step, ensure_ascii=False)}: " if isinstance(step, str) else ""
    entry = key + _dumped(value, depth, indent, newline)
    if not node.entries:
        inner = f"{newline}{indent * depth}{entry}{newline}{indent * (depth - 1)}"
        return text[: node.start + 1] + (inner if indent else entry) + text[node.end - 1 :]
    last = node.entries[-1][1]
    first = node.entries[0][0]
    before = text[node.start + 1 : first]  # the space before an entry, as the file has it
    gap = before if before.strip() == "" and "\n" in before else " "
    return f"{text[:last]},{gap}{entry}{text[last:]}"


def _indent_of(text: str) -> str:
    """The indentation of the first level; "" for a file on one line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return (
        found.group(1) if found else ("  " if "\n" in text.strip() or text.strip() == "{}" else "")
    )


def _tree(text: str, what: str) -> _Value:
    try:
        at = _SPACE.match(text, 1 if text.startswith("\ufeff") else 0)
        assert at is not None
        node = _value(text, at.end(), 0)
        rest = _SPACE.match(text, node.end)
        if rest is None or rest.end() != len(text):
            raise ValueError(f"something follows at character {node.end}")
        if node.keys is None:
            raise ValueError("it is not an object")
        return node
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{what} is not strict JSON: {error}. It is left as it is.",
            next_step="Correct it in an editor, or enter by hand what `doxa setup HOST --print`"
            " shows; a file with comments is not changed.",
            path=what,
        ) from None


def _value(text: str, at: int, depth: int) -> _Value:
    if depth > _DEPTH_MAX:
        raise ValueError("it nests too deep")
    char = text[at : at + 1]
    if char == "{":
        return _container(text, at, depth, is_list=False)
    if char == "[":
        return _container(text, at, depth, is_list=True)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        where = text.count("\n", 0, at) + 1
        raise ValueError(f"line {where} has {text[at : at + 20]!r} where a value belongs")
    json.loads(found.group())
    return _Value(at, found.end())


def _container(text: str, start: int, depth: int, *, is_list: bool) -> _Value:
    node = _Value(start, start, keys=None if is_list else [], is_list=is_list)
    close = "]" if is_list else "}"
    at = _skip(text, start + 1)
    if text[at : at + 1] == close:
        node.end = at + 1
        return node
    while True:
        begin = at
        if node.keys is not None:
            at = _key(text, at, node.keys)
        inner = _value(text, at, depth + 1)
        node.entries.append((begin, inner.end, inner))
        at = _skip(text, inner.end)
        char = text[at : at + 1]
        if char == close:
            node.end = at + 1
            return node
        if char != ",":
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"line {line} has {text[at : at + 20]!r} where , or {close} belongs")
        at = _skip(text, at + 1)


def _key(text: str, at: int, keys: list[str]) -> int:
    found = _STRING.match(text, at)
    line = text.count("\n", 0, at) + 1
    if found is None:
        raise ValueError(f"line {line} has {text[at : at + 20]!r} where a key belongs")
    key = json.loads(found.group())
    if key in keys:
        raise ValueError(f"line {line} has the key {key!r} a second time")
    keys.append(key)
    at = _skip(text, found.end())
    if text[at : at + 1] != ":":
        raise ValueError(f"line {line} has no : after the key {key!r}")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
