"""Front matter: the fields between two lines of `---` at the top of a Markdown file.

doxa writes each field on one line with its value as JSON, which is also valid YAML. What people and
editors write is read leniently, as the part of YAML that they use: plain and quoted scalars, lists
and mappings by indentation, JSON or flow lists, block texts. Anchors, tags and several documents
are not supported; a line that fits nothing is passed over. Nothing is ever executed, and depth and
length have bounds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

FRONT_MATTER_CHARS_MAX = 1_048_576
_DEPTH_MAX = 20
_FENCE = re.compile(r"---[ \t]*\r?\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_QUOTED_KEY = re.compile(r'("(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\')[ \t]*:(?=[ \t]|\Z)')
_NOT_KEY = frozenset("[]{}#&*!|>%@`,\"'")
_FLOW_LINES_MAX = 50
_FRACTION = r"(?:\d{0,19}\.\d{1,25}|\d{1,19}(?=[eE]))"
_NUMBER = re.compile(rf"[-+]?(?:\d{{1,19}}|{_FRACTION}(?:[eE][-+]?\d{{1,3}})?)")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_json = msgspec.json.Decoder()


class Split(NamedTuple):
    """The front matter of a text and what follows it. `fields` None: it has none."""

    fields: str | None
    body: str


def split(text: str) -> Split:
    """Split a text after its front matter. One that is not closed, or too long, is body."""
    opening = _FENCE.match(text)
    if opening is None:
        return Split(None, text)
    closing = _END.search(text, opening.end(), opening.end() + FRONT_MATTER_CHARS_MAX)
    if closing is None:
        return Split(None, text)
    return Split(text[opening.end() : closing.start()], text[closing.end() :])


def written(fields: Iterable[tuple[str, Any]]) -> str:
    """Return fields as front matter, each on a line, its value as JSON."""
    lines = [f"{name}: {as_json(value)}\n" for name, value in fields]
    return "".join(("---\n", *lines, "---\n"))


def as_json(value: Any) -> str:
    """Return a JSON value on one line. What YAML does not print is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def parse(fields: str) -> dict[str, Any]:
    """Return the fields of front matter. Raises ValueError if it is nested too deeply."""
    lines = [
        _FieldLine(len(line) - len(line.lstrip(" ")), line.strip(), line)
        for line in fields.replace("\t", "  ").splitlines()
    ]
    try:
        found, _ = _mapping(lines, 0, 0, 0)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return found


class _FieldLine(NamedTuple):
    indent: int
    text: str
    whole: str


def _mapping(
    lines: list[_FieldLine], at: int, indent: int, depth: int
) -> tuple[dict[str, Any], int]:
    """Read the fields at an indentation; returns the first line after them."""
    _check(depth)
    found: dict[str, Any] = {}
    while at < len(lines):
        line = lines[at]
        if not line.text or line.text.startswith("#"):
            at += 1
            continue
        if line.indent < indent:
            break
        field = _field(line.text) if line.indent == indent else None
        if field is None:
            at += 1  # what fits nothing
            continue
        value, at = _value(lines, at, field[1], indent, depth)
        found.setdefault(field[0], value)
    return found, at


def _field(text: str) -> tuple[str, str] | None:
    """Split a line into its key and its value; None if it has no key."""
    quoted = _QUOTED_KEY.match(text)
    if quoted is not None:
        return str(_scalar(quoted[1])), text[quoted.end() :].strip()
    if text[:1] in _NOT_KEY or _is_entry(text):
        return None
    key, colon, value = text.partition(": ")
    if not colon:
        key, value = text.removesuffix(":"), ""
        if key == text:
            return None
    return (key.strip(), value.strip()) if key.strip() else None


def _value(lines: list[_FieldLine], at: int, text: str, indent: int, depth: int) -> tuple[Any, int]:
    """Read a value that begins behind its key, in line `at`."""
    text = _uncommented(text)
    if text[:1] in ("|", ">") and len(text) <= 3:
        return _block(lines, at + 1, indent, folded=text[0] == ">")
    if text:
        return _flow(lines, at, text)
    following = at + 1
    while following < len(lines) and not lines[following].text:
        following += 1
    if following < len(lines):
        line = lines[following]
        if _is_entry(line.text) and line.indent >= indent:
            return _sequence(lines, following, line.indent, depth + 1)
        if line.indent > indent:
            return _mapping(lines, following, line.indent, depth + 1)
    return None, at + 1


def _is_entry(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _sequence(lines: list[_FieldLine], at: int, indent: int, depth: int) -> tuple[list[Any], int]:
    _check(depth)
    found: list[Any] = []
    while at < len(lines):
        line = lines[at]
        if not line.text or line.text.startswith("#"):
            at += 1
            continue
        if line.indent != indent or not _is_entry(line.text):
            break
        rest = line.text[1:].lstrip()
        inner = indent + len(line.text) - len(rest)
        if not rest:
            value, at = _value(lines, at, "", indent + 1, depth)
        elif _is_entry(rest) or _field(rest) is not None:
            # a list or mapping that begins on the line of its entry
            lines[at] = _FieldLine(inner, rest, " " * inner + rest)
            read = _sequence if _is_entry(rest) else _mapping
            value, at = read(lines, at, inner, depth + 1)
        else:
            value, at = _value(lines, at, rest, indent, depth)
        found.append(value)
    return found, at


def _block(lines: list[_FieldLine], at: int, indent: int, *, folded: bool) -> tuple[str, int]:
    taken: list[str] = []
    inner = 0
    while at < len(lines) and (not lines[at].text or lines[at].indent > indent):
        inner = inner or (lines[at].indent if lines[at].text else 0)
        taken.append(lines[at].whole[inner:] if lines[at].text else "")
        at += 1
    text = "\n".join(taken).rstrip("\n")
    return (re.sub(r"(?<!\n)\n(?!\n)", " ", text) if folded else text), at


def _flow(lines: list[_FieldLine], at: int, text: str) -> tuple[Any, int]:
    """Read a scalar, or a flow collection that may go on in the next lines."""
    if text[0] in "[{":
        joined = text
        for more in range(at + 1, min(at + _FLOW_LINES_MAX, len(lines)) + 1):
            if joined[-1] in "]}":
                found = _collection(joined)
                if found is not None:
                    return found, more
            if more < len(lines):
                joined += " " + lines[more].text
        return text, at + 1
    return _scalar(text), at + 1


def _collection(text: str) -> Any:
    """Return a flow list or mapping: as JSON, or else a list of plain scalars; None if it is
    neither."""
    try:
        return _json.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (ValueError, UnicodeEncodeError):
        pass
    if text.startswith("[[") and text.endswith("]]") and "[" not in text[2:-2]:
        return text  # a link, as people write it without quotes
    if text[0] != "[" or any(mark in text[1:-1] for mark in "[]{}"):
        return None
    parts = re.findall(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+""", text[1:-1])
    return [_scalar(part.strip()) for part in parts if part.strip()]


def _scalar(text: str) -> Any:
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1:
        try:
            return _json.decode(text)
        except (ValueError, UnicodeEncodeError):
            return text[1:-1]
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        if set(".eE") & set(text):
            return float(text)
        return int(text) if -(2**63) <= int(text) < 2**63 else text
    return text


def _uncommented(text: str) -> str:
    text = text.strip()
    if text[:1] in ('"', "'"):
        return re.sub(r"""^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s+#.*$""", r"\1", text)
    return text if text[:1] in "[{" else re.sub(r"(?:^|\s)#.*$", "", text).rstrip()


def _check(depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise ValueError("it is nested too deeply")
