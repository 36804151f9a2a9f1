"""Every regular expression of the package ends on texts that are made against it.

Of each, what stands before a repetition is written once, what is repeated 48 times, alternative by
alternative and in pairs, and then something that fits nowhere. An expression that can divide the
repeated text in two ways tries 2**48 divisions before it gives up.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import doxa
from doxa.base.patterns import lazy_re
from tests.effort import assert_ends

Tree = Any  # what `re` parses an expression into
_TIMES = 48
_SAMPLES_MAX = 12  # of what one repetition repeats
_UNMATCHED = "\x00\x01"


def expressions() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every distinct expression that a module of the package holds by name."""
    lazy = type(lazy_re(""))
    seen = set()
    for module in pkgutil.walk_packages(doxa.__path__, "doxa."):
        try:
            held = vars(importlib.import_module(module.name))
        except ImportError:  # an optional package is absent
            continue
        for name, value in held.items():
            found = [value] if isinstance(value, re.Pattern | lazy) else []
            if isinstance(value, tuple | list):
                found = [one for one in value if isinstance(one, re.Pattern | lazy)]
            for one in found:
                key = one.pattern, one.flags
                if isinstance(one.pattern, str) and key not in seen:
                    seen.add(key)
                    yield f"{module.name}.{name}", one


def parsed(pattern: re.Pattern[str]) -> Tree:
    return re._parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)  # type: ignore[attr-defined]


def samples(tree: Tree) -> Iterator[str]:
    """A few short texts that a part of an expression matches, its conditions left aside."""
    parts = [list(islice(_of_node(*node), 4)) or [""] for node in tree]
    if not parts:
        yield ""
    for place, part in enumerate(parts):
        for one in part:
            chosen = [other[0] for other in parts]
            chosen[place] = one
            yield "".join(chosen)


def _of_node(op: Any, value: Any) -> Iterator[str]:
    name = str(op)
    if name == "LITERAL":
        yield chr(value)
    elif name == "IN":
        yield from _of_class(value)
    elif name == "NOT_LITERAL":
        yield "b" if value == ord("a") else "a"
    elif name == "ANY":
        yield from ("a", " ")
    elif name == "SUBPATTERN":
        yield from samples(value[3])
    elif name == "BRANCH":
        for branch in value[1]:
            yield from islice(samples(branch), 2)
    elif name in ("MAX_REPEAT", "MIN_REPEAT"):
        least, _, body = value
        for one in islice(samples(body), 4):
            yield one * max(1, least)
    else:
        yield ""


def _of_class(members: Tree) -> Iterator[str]:
    if str(members[0][0]) == "NEGATE":
        refused = "".join(_of_class(members[1:]))
        yield from (one for one in "a- \n" if one not in refused)
        return
    for op, value in members:
        name = str(op)
        if name == "LITERAL":
            yield chr(value)
        elif name == "RANGE":
            yield chr(value[0])
        else:
            yield {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(
                str(value), "-"
            )


def attacks(tree: Tree, before: str = "") -> Iterator[str]:
    """Texts against each repetition of an expression, without the end that fits nowhere."""
    for op, value in tree:
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            _, most, body = value
            if most > 20:
                pieces = list(dict.fromkeys(islice(samples(body), _SAMPLES_MAX)))
                yield from (before + piece * _TIMES for piece in pieces)
                yield from (
                    before + (one + other) * (_TIMES // 2)
                    for one, other in product(pieces[:4], repeat=2)
                )
            yield from attacks(body, before)
        elif name == "SUBPATTERN":
            yield from attacks(value[3], before)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from attacks(branch, before)
        before += next(_of_node(op, value), "")


def try_all() -> None:
    count = 0
    for name, pattern in expressions():
        texts = list(dict.fromkeys(attacks(parsed(pattern))))
        print(name, len(texts), flush=True)
        count += len(texts)
        for text in texts:
            for attack in (text + _UNMATCHED, text + "x", text):
                pattern.search(attack)
                pattern.fullmatch(attack)
    assert count > 3_000


def test_every_expression_ends() -> None:
    assert_ends("tests.adversary.test_expressions_end", "try_all")


def test_an_ambiguous_repetition_is_attacked() -> None:
    """The texts are those that make such expressions take for ever."""
    assert " " + "♥" * _TIMES in set(attacks(parsed(re.compile("(?:ok|\\s*[♥☺]+)+$"))))
    comments = re.compile(r"x(?:\s|/\*.*?\*/)*M", re.DOTALL)
    assert "x" + "/*a*/" * _TIMES in set(attacks(parsed(comments)))
