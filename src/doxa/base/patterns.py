"""Regular expressions that are compiled at their first use.

Compiling one takes up to a few milliseconds, and a table of them costs more than opening a memory.
A module that most commands import but few use declares its expressions with `lazy_re`.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class _LazyPattern:
    """Stands for a `re.Pattern`, which it compiles when one of its attributes is first asked for.

    The methods then lie in the object itself, so that later calls cost what those of the pattern
    cost. Two threads may both compile; they get the same pattern, since `re` caches it.
    """

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_re({self._source!r}, {self._flags!r})"


def lazy_re(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled at its first use; an invalid one raises re.error then.

    It has the methods and attributes of a `re.Pattern`, but `re.sub` and the other functions of
    the module do not take it.
    """
    return cast("re.Pattern[str]", _LazyPattern(source, flags))
