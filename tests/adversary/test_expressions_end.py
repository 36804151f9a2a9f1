"""No regular expression of the package takes exponential time on texts that are made against it.

Of each, what stands before a repetition is written once, what is repeated 48 times, alternative by
alternative and in pairs, and then something that fits nowhere. An expression that can divide the
repeated text in two ways tries 2**48 divisions before it gives up.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import pytest

import doxa
from doxa.agent.context import gate
from doxa.base.patterns import lazy_re
from doxa.consolidation import claims
from doxa.hosts.setup import switches
from doxa.imports.contract import ImportLog
from doxa.imports.readers import workspace
from doxa.ingestion.own_words import passed_on
from doxa.recall import expansion, slots
from doxa.redaction.stripping import stripped
from tests.effort import assert_ends

Tree = Any  # what `re` parses an expression into
_TIMES = 48
_SAMPLES_MAX = 12  # of what one repetition repeats
_UNMATCHED = "\x00\x01"
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def expressions() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every distinct expression that a module of the package holds, in tables too, or has written
    in a call of `re`."""
    seen = set()
    for module in pkgutil.walk_packages(doxa.__path__, "doxa."):
        try:
            imported = importlib.import_module(module.name)
        except ImportError:  # an optional package is absent
            continue
        held = [one for value in vars(imported).values() for one in held_by(value)]
        for one in held + list(written_in(imported)):
            key = one.pattern, one.flags
            if isinstance(one.pattern, str) and key not in seen:
                seen.add(key)
                yield f"{module.name}: {one.pattern[:60]!r}", one


_LAZY = type(lazy_re(""))


def held_by(value: Any, depth: int = 0) -> Iterator[re.Pattern[str]]:
    """The expressions in a value: in a container or in the fields of an object of the package."""
    if isinstance(value, re.Pattern | _LAZY):
        yield value
    elif depth > 3:
        return
    elif isinstance(value, dict):
        for one in value.values():
            yield from held_by(one, depth + 1)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from held_by(one, depth + 1)
    elif type(value).__module__.startswith("doxa.") and hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from held_by(getattr(value, name, None), depth + 1)


def written_in(module: Any) -> Iterator[re.Pattern[str]]:
    """The literal expressions in calls such as `re.fullmatch("...", text)`."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield re.compile(node.args[0].value)


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
    elif name == "ATOMIC_GROUP":
        yield from samples(value)
    elif name in _REPEATS:
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
        if name in _REPEATS:
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
        elif name == "ATOMIC_GROUP":
            yield from attacks(value, before)
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
    """The texts are those that make such expressions take years."""
    assert " " + "♥" * _TIMES in set(attacks(parsed(re.compile("(?:ok|\\s*[♥☺]+)+$"))))
    comments = re.compile(r"x(?:\s|/\*.*?\*/)*M", re.DOTALL)
    assert "x" + "/*a*/" * _TIMES in set(attacks(parsed(comments)))


def read_long_runs() -> None:
    """Runs of 100,000 of one character, which take hours where each place is a start."""
    for character in (" ", "!", "\n", "#", "[", "a"):
        run = character * 100_000
        for text in (f"# a{run}x", f"memory:\n{run}x", f"Ana{run}x", f"Ana, {run}and"):
            print(repr(character), repr(text[:10]), flush=True)
            list(workspace.blocks(text, 1))
            assert switches._PROVIDER.search(text) is None
            slots.states_nothing(text)
            expansion._CUT.split(text)
            claims._CLAIM_CLAUSE.split(text)
            list(slots._SENTENCE_END.finditer(text))
            block = workspace.ParagraphBlock(f"{text} [", "", 1, 1)
            workspace._dated(block, ImportLog())


def test_long_runs_are_read_to_their_end() -> None:
    assert_ends("tests.adversary.test_expressions_end", "read_long_runs")


PROMPTS = (
    "<doxa-memory ",
    "</doxa-memory ",
    "<doxa-memory>",
    "<doxa-memory></doxa-memory ",
    "a\n",
    "\n",
    "-\n",
    "- \n",
    "-",
    ' "a"',
    '"a" [kref://',
    "Ana Bea and ",
    "Ana\n",
    "A b. ",
    "A" + " " * 1_000,
    "A'",
    "It said:\n",
    "summarize: ",
    "```\n",
)


def read_long_prompts() -> None:
    """What each prompt passes, on texts of a megabyte; quadratic takes hours."""
    nested = "<doxa-" * 50_000 + "<doxa-memory>x</doxa-memory>" + "memory></doxa-memory>" * 50_000
    for text in (nested, *(piece * (1_000_000 // len(piece)) for piece in PROMPTS)):
        print(repr(text[:20]), flush=True)
        prompt = f"{text}\nkref:// Which port does Ana use?"
        assert len(stripped(prompt)) <= len(prompt)
        passed_on(prompt)
        gate.proper_nouns(prompt)


def test_long_prompts_are_read_to_their_end() -> None:
    assert_ends("tests.adversary.test_expressions_end", "read_long_prompts")


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Tea", "Tea"),
        ("## Tea and milk  ##  ", "Tea and milk"),
        ("# C#", "C"),
        ("#  a # b", "a # b"),
        ("###### six #", "six"),
    ],
)
def test_a_heading_is_read_without_its_marks(line: str, heading: str) -> None:
    (block,) = workspace.blocks(f"{line}\n\nMilk goes in last.", 1)
    assert (block.heading, block.text) == (heading, "Milk goes in last.")


def test_only_the_mark_of_an_item_is_left_out() -> None:
    first, second = workspace.blocks("Tea - with milk 2. is best\n\n- [x] Tea - with milk", 1)
    assert (first.text, second.text) == ("Tea - with milk 2. is best", "Tea - with milk")
