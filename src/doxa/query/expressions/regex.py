"""The operator =~, with regular expressions that match in linear time (RE2)."""

from __future__ import annotations

import functools
import re
from typing import Any

from doxa.query.core.errors import fail


def matches_regex(text: str, expression: str) -> bool:
    """Return whether the whole text matches, in time linear in its length: the expression may be
    hostile."""
    try:
        return _regex(expression).fullmatch(text) is not None
    except (_regex_error(), UnicodeEncodeError) as error:
        said = (
            error.args[0].decode(errors="replace")
            if error.args and isinstance(error.args[0], bytes)
            else str(error)
        )
        fail(
            f"{expression[:60]!r} is not a regular expression: {said}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Write it without lookahead, lookbehind and backreferences.",
        )


@functools.lru_cache(maxsize=256)
def _regex(expression: str) -> Any:
    import re2  # on first use: few queries have one

    options = re2.Options()
    options.log_errors = False
    return re2.compile(_FLAGS.sub(_known_flags, expression), options)


_FLAGS = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?([a-zA-Z]+)(-[a-zA-Z]+)?([:)])", re.DOTALL
)  # escapes and classes are skipped


def _known_flags(found: re.Match[str]) -> str:
    """Remove flags of Java that RE2 always applies: u (case in all scripts), U (classes in all
    scripts) and d (lines end with \\n)."""
    on, off, end = found.groups()
    if on is None:
        return found.group()
    on, off = on.translate(_ALWAYS), (off or "").translate(_ALWAYS)
    if off == "-":
        off = ""
    return f"(?{on}{off}{end}" if on or off or end == ":" else ""


_ALWAYS = str.maketrans("", "", "udU")


@functools.cache
def _regex_error() -> type[Exception]:
    import re2

    found: type[Exception] = re2.error
    return found
