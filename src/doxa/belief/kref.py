"""The address of everything doxa remembers: one grammar, one parser, one printer, so that whatever
a search returns can be fetched.

    kref  = "kref://" project *( "/" space ) [ "/" item "." kind ] [ "?" query ]
    query = ( "r=" number / "t=" tag / "at=" time ) [ "&a=" artifact ]  /  "a=" artifact

A last segment with a dot is an item: its kind is what follows the last dot. Projects and spaces
have no dot, so the two cannot be confused. Names are Unicode letters, marks, digits and - _ ~ + @
(items and artifacts also "."), in NFC, not beginning with "-" or ".". Without r, t or at an address
means *current*. print(parse(x)) = x for every accepted x.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache

from doxa.base.clock import parse_time
from doxa.base.errors import InputError, KrefError
from doxa.base.limits import KREF_CHARS_MAX, KREF_SEGMENTS_MAX, NAME_CHARS_MAX, TAG_CHARS_MAX
from doxa.base.patterns import lazy_re
from doxa.store import without_secrets

SCHEME = "kref://"
_EXTRA = frozenset("-_~+@")
_PLAIN = lazy_re(r"[A-Za-z0-9_~+@][A-Za-z0-9_~+@-]*")  # as most names are: all of it is allowed
_NUMBER = lazy_re(r"[1-9][0-9]{0,17}")
_KEYS = ("r", "t", "at", "a")
_CHARS_READ, _LIKE_DIGEST = 4_096, "-0a1b2c3d"  # of a text for a name; what may follow one


@dataclass(frozen=True, slots=True)
class Kref:
    """A parsed address. `name` and `kind` are empty for a project or space."""

    project: str
    spaces: tuple[str, ...] = ()
    name: str = ""
    kind: str = ""
    revision: int | None = None
    tag: str | None = None
    at: str | None = None
    artifact: str | None = None

    def __str__(self) -> str:
        return print_kref(self)

    @property
    def is_item(self) -> bool:
        return bool(self.kind)

    @property
    def at_ns(self) -> int | None:
        return None if self.at is None else parse_time(self.at, field="at")

    def item(self) -> Kref:
        """Return the address of the item alone, unpinned."""
        if (self.revision, self.tag, self.at, self.artifact) == _UNPINNED:
            return self
        return Kref(self.project, self.spaces, self.name, self.kind)

    def pinned(self, revision: int) -> Kref:
        return Kref(self.project, self.spaces, self.name, self.kind, revision)

    def space(self) -> Kref:
        """Return the project or space that holds the item."""
        return Kref(self.project, self.spaces)


_UNPINNED = (None, None, None, None)


def print_kref(kref: Kref) -> str:
    text = SCHEME + "/".join((kref.project, *kref.spaces))
    if kref.kind:
        text += f"/{kref.name}.{kref.kind}"
    query = []
    if kref.revision is not None:
        query.append(f"r={kref.revision}")
    elif kref.tag is not None:
        query.append(f"t={kref.tag}")
    elif kref.at is not None:
        query.append(f"at={kref.at}")
    if kref.artifact is not None:
        query.append(f"a={kref.artifact}")
    return text + ("?" + "&".join(query) if query else "")


def parse_kref(text: str) -> Kref:
    """Parse, or raise KrefError with the position of the first character that does not fit."""
    if not isinstance(text, str) or not text.startswith(SCHEME):
        raise _bad(str(text)[:80], 0, f"an address begins with {SCHEME}")
    return _parse(text)


@lru_cache(maxsize=4_096)
def _parse(text: str) -> Kref:
    if len(text) > KREF_CHARS_MAX:
        raise _bad(text, KREF_CHARS_MAX, f"an address has at most {KREF_CHARS_MAX} characters")
    path, mark, query = text[len(SCHEME) :].partition("?")
    segments = path.split("/")
    if len(segments) > KREF_SEGMENTS_MAX:
        raise _bad(text, len(SCHEME), f"an address has at most {KREF_SEGMENTS_MAX} segments")
    position = len(SCHEME)
    starts = []
    for segment in segments:
        starts.append(position)
        position += len(segment) + 1
    kref = _parse_path(text, segments, starts)
    if not mark:
        return kref
    return _parse_query(text, kref, query=query, start=len(SCHEME) + len(path) + 1)


def _parse_path(text: str, segments: list[str], starts: list[int]) -> Kref:
    name = kind = ""
    spaces = segments
    if len(segments) > 1 and "." in segments[-1]:
        name, _, kind = segments[-1].rpartition(".")
        _check_name(text, name, at=starts[-1], dots=True)
        _check_name(text, kind, at=starts[-1] + len(name) + 1)
        spaces = segments[:-1]
    for segment, start in zip(spaces, starts, strict=False):
        _check_name(text, segment, at=start)
    return Kref(spaces[0], tuple(spaces[1:]), name, kind)


def _parse_query(text: str, kref: Kref, *, query: str, start: int) -> Kref:
    position = start
    values: dict[str, str] = {}
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        if key not in _KEYS or not equals:
            raise _bad(
                text,
                position,
                f"after ? come {', '.join(k + '=' for k in _KEYS)}; {key!r} is unknown",
            )
        at = position + len(key) + 1
        if "a" in values or (values and key != "a"):
            raise _bad(text, position, "an address is pinned once: by r, t or at, then a")
        _check_value(text, key, value=value, at=at)
        values[key] = value
        position = at + len(value) + 1
    if not kref.is_item:
        raise _bad(text, start - 1, "only an item can be pinned")
    number = values.get("r")
    return replace(
        kref,
        revision=int(number) if number else None,
        tag=values.get("t"),
        at=values.get("at"),
        artifact=values.get("a"),
    )


def _check_value(text: str, key: str, *, value: str, at: int) -> None:
    if key == "r":
        if not _NUMBER.fullmatch(value):
            raise _bad(text, at, "a revision is a number from 1")
    elif key == "at":
        try:
            parse_time(value)
        except InputError:
            raise _bad(
                text, at, "at= takes an ISO 8601 time between 1677-09-22 and 2262-04-11"
            ) from None
        if any(ord(c) > 126 or ord(c) < 33 or c in "&?/#" for c in value):
            raise _bad(text, at, "at= takes an ISO 8601 time without blanks")
    elif key == "t":
        _check_name(text, value, at=at, chars_max=TAG_CHARS_MAX)
    else:
        _check_name(text, value, at=at, dots=True)


def _check_name(
    text: str, name: str, *, at: int, dots: bool = False, chars_max: int = NAME_CHARS_MAX
) -> None:
    problem = name_problem(name, dots=dots, chars_max=chars_max)
    if problem:
        raise _bad(text, at + problem[0], problem[1])


def name_problem(
    name: str, *, dots: bool = False, chars_max: int = NAME_CHARS_MAX
) -> tuple[int, str] | None:
    """Return why a name cannot occur in an address, with the offset; None if it can."""
    if not name:
        return 0, "a segment is empty"
    if len(name) > chars_max:
        return chars_max, f"a name has at most {chars_max} characters"
    if _PLAIN.fullmatch(name):
        return None
    if name[0] in "-.":
        return 0, "a name does not begin with - or ."
    if ".." in name:
        return name.index(".."), "'..' is not allowed"
    for offset, char in enumerate(name):
        if not (
            (char.isascii() and char.isalnum()) or char in _EXTRA or (dots and char == ".")
        ) and (char.isascii() or unicodedata.category(char)[0] not in "LMN"):
            return offset, f"the character U+{ord(char):04X} is not allowed here"
    if not name.isascii() and not unicodedata.is_normalized("NFC", name):
        return 0, "the name is not in Unicode normal form NFC"
    return None


def check_name(name: str, *, what: str, dots: bool = False) -> str:
    """Normalise a name given apart from an address to NFC and check it. Raises InputError."""
    clean = unicodedata.normalize("NFC", name) if isinstance(name, str) else ""
    problem = name_problem(clean, dots=dots)
    if problem:
        raise InputError(
            f"{str(name)[:60]!r} cannot be the name of a {what}: {problem[1]}.",
            next_step="Use letters, digits and - _ ~ + @, or leave the name out to get one made.",
            field=what,
            position=problem[0],
        )
    return clean


def slug(text: str, *, chars_max: int = 48) -> str:
    """Return the letters and digits of a text as a name, a hyphen for the rest; perhaps none."""
    parts = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text.casefold()))
    kept = "-".join(parts)[:chars_max].strip("-")
    return kept if name_problem(kept) is None else re.sub(r"[^a-z0-9-]", "", kept).strip("-")


def name_from(text: str, digest: str = "", *, chars_max: int = 48) -> str:
    """Return what `slug` makes of a text without its secrets, and the digest; that alone where both
    look like a secret. A long text ends before its last word, which may be half of one."""
    text = text if len(text) <= _CHARS_READ else text[:_CHARS_READ].rpartition(" ")[0]
    name = "-".join(filter(None, (slug(without_secrets(text), chars_max=chars_max), digest)))
    return name if without_secrets(name + _LIKE_DIGEST) == name + _LIKE_DIGEST else digest


def _bad(text: str, position: int, reason: str) -> KrefError:
    return KrefError(
        f"This is not a valid kref at character {position}: {reason}: {text[:120]!r}.",
        next_step=(
            "Write kref://project/space/name.kind, with ?r=2, ?t=tag or ?at=2026-03-02 to pin it."
        ),
        position=position,
        reason=reason,
        text=text[:120],
    )
