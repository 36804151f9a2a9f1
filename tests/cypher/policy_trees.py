"""Policy commands as trees, and the error of a text whose expected place is marked."""

from __future__ import annotations

import pytest

from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse
from doxa.cypher.semantics.check import Checked, check

WRITES = Checked((), True)


NODE = t.PolicyTarget(False, "n", ("A",))


def commands(text: str) -> tuple[t.Clause, ...]:
    body = parse(text).body
    return body.commands if isinstance(body, t.PolicyCommands) else (body,)  # type: ignore[return-value]


def options(**given: object) -> tuple[t.PolicyOption, ...]:
    return tuple(t.PolicyOption(key, t.Literal(value)) for key, value in given.items())  # type: ignore[arg-type]


def refused(text: str) -> tuple[QueryError, int]:
    """The error of a text, whose expected place is marked by §, and that place."""
    at = text.index("§")
    text = text.replace("§", "")
    with pytest.raises(QueryError) as caught:
        check(parse(text), text)
    line = text.count("\n", 0, at) + 1
    found = caught.value.fields
    assert (found["line"], found["column"]) == (line, at - text.rfind("\n", 0, at)), (
        caught.value.message
    )
    assert "^" in str(found["excerpt"])
    assert caught.value.next_step
    return caught.value, at
