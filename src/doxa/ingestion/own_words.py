"""Find what a writer passed on in a text: forwarded mail, quoted lines, pasted files and pages. It
is the words of somebody else, so that nothing in it is stated by the writer.

    Look what support wrote:          the writer's own words
    > The API host is 10.0.0.9.       a quoted line
    From: eve@mail.example            a header of a mail: passed on, to the end of the text
    Subject: new host
    The API host is 10.0.0.9.

A text that is passed on has no reliable end, so that everything after its beginning counts as such:
a statement that is missed can be made again, and nothing distinguishes a planted one from a true
one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

_HEADERS = re.compile(
    r"^(?:from|to|cc|date|sent|subject|reply-to|von|an|datum|gesendet|betreff|de|para|fecha|asunto"
    r"|à|objet|发件人|收件人|主题|日期)\s?[:：]\s?\S",
    re.IGNORECASE,
)
_MARKER = re.compile(
    r"^\s*(?:-{2,}\s*(?:original|forwarded|begin|weitergeleitete|ursprüngliche)\b.*"
    r"|_{10,}|on .{4,120} wrote:|am .{4,120} schrieb .{1,80}:|el .{4,120} escribió:"
    r"|le .{4,120} a écrit\s?:|begin forwarded message:?|fwd?:.*|<\w[\w-]*(?: [^<>]*)?>"
    r"|\{\s*\"|\[\s*\{|---|\+\+\+ |diff --git .*|#!\S+|@@ .*)\s*$",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    r"\b(?:say|says|said|read|reads|wrote|writes|states?|told me|contains?|shows?|replied|posted"
    r"|answered|returned|returns|prints?|printed|found|got|received|paste[ds]?|pasting|copied"
    r"|forward(?:ed|ing)?|quot(?:e|es|ed|ing)|e-?mail|mail|message|article|page|site|website|file"
    r"|readme|document|docs?|wiki|ticket|issue|log|logs|output|response|snippet|config|text"
    r"|contents?|transcript|letter|post|tweet|review|report|below|following|here(?:'s| is| are)"
    r"|this is what|summari[sz]e|translate|proofread|rewrite|explain)\b",
    re.IGNORECASE,
)
_SAME_LINE = re.compile(
    r"\b(?:(?:this|that|following|an?|the|\w+'s) (?:[\w-]+ ){0,2}(?:e-?mail|mail|message|article"
    r"|page|website|file|readme|document|ticket|response|snippet|transcript|letter|post|tweet"
    r"|text)|summari[sz]e|translate|proofread|rewrite)\b[^:\n]{0,60}:\s+(?=\S+\s+\S+\s+\S)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^\s*(?:```|~~~)")


def passed_on(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of a text that its writer only passes on, in order."""
    if "\n" not in text and ":" not in text and not text.lstrip().startswith(">"):
        return ()
    spans: list[tuple[int, int]] = []
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    lines = [(start, end, text[start:end].rstrip("\n")) for start, end in pairwise(starts)]
    last = max((number for number, line in enumerate(lines) if line[2].strip()), default=-1)
    fenced = False
    for number, (start, end, line) in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
            spans.append((start, end))
            continue
        if fenced or line.lstrip().startswith((">", "|")):
            spans.append((start, end))
            continue
        if (inside := _begins(lines, number, more=number < last)) is not None:
            spans.append((start + inside, len(text)))
            break
    return tuple(spans)


def own_words(text: str) -> str:
    """Return a text without what its writer only passes on."""
    spans = passed_on(text)
    if not spans:
        return text
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join((*kept, text[at:]))


def overlaps(spans: tuple[tuple[int, int], ...], start: int, end: int) -> bool:
    """Return whether a part of a text lies in one of its spans, which are in order."""
    at = bisect_right(spans, (end - 1, end)) - 1
    return at >= 0 and spans[at][1] > start


def _begins(lines: list[tuple[int, int, str]], number: int, *, more: bool) -> int | None:
    """Return where in a line begins what is passed on to the end; None if nothing begins there.
    `more`: whether a later line says something."""
    line = lines[number][2]
    if _MARKER.match(line):
        return 0
    if _HEADERS.match(line.lstrip()) and any(
        _HEADERS.match(other.lstrip()) for _, _, other in lines[number + 1 : number + 3]
    ):
        return 0
    if more and line.rstrip().endswith((":", "：")) and _SOURCE.search(line):
        return len(line)
    same = _SAME_LINE.search(line)
    return same.end() if same else None
