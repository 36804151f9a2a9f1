"""print∘parse = identity, on generated trees and on every query of the TCK that parses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.gherkin import scenarios
from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse
from doxa.cypher.printer import expression, print_statement

FEATURES = Path(__file__).resolve().parents[3] / "shared" / "data" / "tck"
NAMES = st.sampled_from(["a", "b", "n", "x1", "match", "a b", "ä", "quo`te", "IN", "count", "_"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
LITERALS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
).map(t.Literal)
LABELS = st.recursive(
    NAMES.map(t.LabelName) | st.just(t.LabelAny()),
    lambda inner: st.one_of(
        inner.map(t.LabelNot),
        st.lists(
            inner.filter(lambda one: not isinstance(one, t.LabelAnd)), min_size=2, max_size=3
        ).map(lambda items: t.LabelAnd(tuple(items))),
        st.lists(
            inner.filter(lambda one: not isinstance(one, t.LabelOr)), min_size=2, max_size=3
        ).map(lambda items: t.LabelOr(tuple(items))),
    ),
    max_leaves=4,
)


def _chain(op: str, items: list[t.Expression]) -> t.Expression:
    return t.Logic(op, tuple(items))  # type: ignore[arg-type]


def _patterns(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[t.PathPattern]:
    properties = st.none() | st.lists(st.tuples(NAMES, inner), max_size=2).map(
        lambda items: t.MapOf(tuple(items))
    )
    node = st.builds(
        t.NodePattern, st.none() | NAMES, st.none() | LABELS, properties, st.none() | inner
    )
    length = st.sampled_from([None, (None, None), (1, 1), (0, 2), (2, None), (None, 3)])
    edge = st.builds(
        t.EdgePattern,
        st.none() | NAMES,
        st.none() | LABELS,
        st.sampled_from(["out", "in", "both"]),
        length,
        properties,
        st.none() | inner,
    )
    return st.builds(
        lambda first, rest: t.PathPattern((first, *[one for pair in rest for one in pair])),
        node,
        st.lists(st.tuples(edge, node), min_size=1, max_size=2),
    )


def _grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        st.builds(t.Property, inner, NAMES),
        st.builds(t.Index, inner, inner),
        st.builds(t.Slice, inner, st.none() | inner, st.none() | inner),
        st.lists(inner, max_size=3).map(lambda items: t.ListOf(tuple(items))),
        st.lists(st.tuples(NAMES, inner), max_size=2).map(lambda items: t.MapOf(tuple(items))),
        st.builds(t.Negation, inner),
        st.builds(_chain, st.sampled_from(["AND", "OR", "XOR"]), several),
        st.builds(
            lambda a, b, op: t.Comparison((a, b), (op,)),
            inner,
            inner,
            st.sampled_from(["=", "<>", "<", ">="]),
        ),
        st.builds(
            t.Arithmetic, st.sampled_from(["+", "-", "*", "/", "%", "^", "||"]), inner, inner
        ),
        st.builds(
            t.TextTest,
            st.sampled_from(["STARTS WITH", "ENDS WITH", "CONTAINS", "=~"]),
            inner,
            inner,
        ),
        st.builds(t.In, inner, inner),
        st.builds(t.IsNull, inner, st.booleans()),
        st.builds(
            t.Call,
            st.sampled_from(["size", "date.truncate", "toUpper"]),
            st.lists(inner, max_size=2).map(tuple),
            st.booleans(),
        ),
        st.builds(
            t.Case,
            st.none() | inner,
            st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple),
            st.none() | inner,
        ),
        st.builds(t.ListComprehension, NAMES, inner, st.none() | inner, st.none() | inner),
        st.builds(
            t.Quantifier, st.sampled_from(["all", "any", "none", "single"]), NAMES, inner, inner
        ),
        st.builds(t.Reduce, NAMES, inner, NAMES, inner, inner),
        st.builds(t.HasLabels, NAMES.map(t.Variable), LABELS),
        st.builds(
            t.IsType,
            inner,
            st.sampled_from(["INTEGER", "LIST<STRING NOT NULL>", "ZONED DATETIME NOT NULL"]),
            st.booleans(),
        ),
        st.builds(t.PatternComprehension, _patterns(inner), st.none() | inner, inner),
        st.builds(
            lambda pattern: t.Subquery("EXISTS", t.Query(((t.Match((pattern,)),),))),
            _patterns(inner),
        ),
    )


EXPRESSIONS = st.recursive(
    LITERALS
    | NAMES.map(t.Variable)
    | NAMES.map(t.ParameterRef)
    | st.just(t.Call("count", (), star=True)),
    _grow,
    max_leaves=8,
)
ITEMS = st.builds(lambda value, name: t.Item(value, name, True), EXPRESSIONS, NAMES)
PROJECTIONS = st.builds(
    t.Projection,
    st.lists(ITEMS, min_size=1, max_size=2).map(tuple),
    st.booleans(),
    st.booleans(),
    st.lists(st.builds(t.SortItem, EXPRESSIONS, st.booleans()), max_size=2).map(tuple),
    st.none() | EXPRESSIONS,
    st.none() | EXPRESSIONS,
)
CLAUSES = st.one_of(
    st.builds(
        t.Match,
        _patterns(EXPRESSIONS).map(lambda one: (one,)),
        st.none() | EXPRESSIONS,
        st.booleans(),
    ),
    st.builds(t.Unwind, EXPRESSIONS, NAMES),
    st.builds(t.With, PROJECTIONS, st.none() | EXPRESSIONS),
    st.builds(t.Create, _patterns(EXPRESSIONS).map(lambda one: (one,))),
    st.builds(
        lambda target, value: t.Set((t.SetProperty(target, value),)),
        st.builds(t.Property, NAMES.map(t.Variable), NAMES),
        EXPRESSIONS,
    ),
    st.builds(
        lambda target, value, merge: t.Set((t.SetAll(t.Variable(target), value, merge),)),
        NAMES,
        EXPRESSIONS,
        st.booleans(),
    ),
    st.builds(lambda target, detach: t.Delete((t.Variable(target),), detach), NAMES, st.booleans()),
    st.builds(
        lambda one, other, where: t.CallProcedure(one, (), ((one, other),), where),
        NAMES,
        NAMES,
        st.none() | EXPRESSIONS,
    ),
)
QUERIES = st.builds(
    lambda branches, every: t.Query(
        tuple(tuple(branch) for branch in branches), every if len(branches) > 1 else False
    ),
    st.lists(st.lists(CLAUSES, min_size=1, max_size=2), min_size=1, max_size=2),
    st.booleans(),
)
PROPERTY_NAMES = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
TARGETS = st.builds(t.SchemaTarget, st.booleans(), NAMES, st.tuples(NAMES), PROPERTY_NAMES)
RULES = st.none() | NAMES | NAMES.map(t.ParameterRef)
REQUIREMENTS = st.sampled_from(["unique", "key", "exists"]).map(
    lambda kind: (kind, ())
) | st.one_of(
    EXPRESSIONS.map(lambda one: ("values", (one,))),
    st.sampled_from(["INTEGER", "LIST<STRING NOT NULL>"]).map(lambda one: ("type", (one,))),
)
SCHEMA = st.one_of(
    st.builds(
        t.CreateIndex,
        st.sampled_from(["range", "text", "fulltext", "vector"]),
        RULES,
        TARGETS,
        st.booleans(),
        st.none() | EXPRESSIONS,
    ),
    st.builds(
        lambda required, rule, target, absent: t.CreateConstraint(
            required[0], rule, target, absent, required[1]
        ),
        REQUIREMENTS,
        RULES,
        TARGETS,
        st.booleans(),
    ),
    st.builds(
        t.DropSchema,
        st.sampled_from(["INDEX", "CONSTRAINT"]),
        NAMES | NAMES.map(t.ParameterRef),
        st.booleans(),
    ),
    st.builds(
        t.Show,
        st.just("indexes"),
        st.sampled_from([(), ("RANGE",)]),
        st.none() | PROJECTIONS,
        st.none() | EXPRESSIONS,
    ),
)


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS)
def test_an_expression_comes_back(tree: t.Expression) -> None:
    text = f"RETURN {expression(tree)} AS x"
    found = parse(text).body
    assert isinstance(found, t.Query)
    last = found.branches[0][-1]
    assert isinstance(last, t.Return)
    assert last.projection.items[0].expression == tree, text


@settings(max_examples=200, deadline=None)
@given(QUERIES)
def test_a_query_comes_back(tree: t.Query) -> None:
    text = print_statement(t.Statement(tree))
    assert parse(text).body == tree, text


@settings(max_examples=200, deadline=None)
@given(SCHEMA)
def test_a_schema_command_comes_back(tree: t.Clause) -> None:
    text = print_statement(t.Statement(tree))
    assert parse(text).body == tree, text


@pytest.mark.parametrize(
    "text",
    [
        "CREATE CONSTRAINT c FOR ()<-[r:BOSS]-() REQUIRE MAX COUNT 1",
        "CREATE CONSTRAINT FOR (:A)<-[:OWNS]-(:B) REQUIRE DISALLOWED",
        (
            "CREATE VECTOR INDEX $n IF NOT EXISTS FOR (a:A) ON a.v OPTIONS {indexConfig:"
            " {`vector.dimensions`: 3}}"
        ),
        "SHOW RANGE INDEXES YIELD name, type WHERE name STARTS WITH 'i' RETURN name",
        "SHOW DEFAULT DATABASE YIELD name",
        "SHOW DEFAULT HOME DATABASE YIELD *",
        "SHOW DATABASE `where` WHERE name = 'a'",
        "SHOW TRANSACTIONS",
        "SHOW TRANSACTION 'doxa-transaction-1', $more YIELD username WHERE username = 'a'",
        "TERMINATE TRANSACTIONS ['doxa-transaction-1', $x], 'y' YIELD message RETURN message",
        "SHOW CURRENT USER YIELD user",
        "EXPLAIN DROP CONSTRAINT `a b` IF EXISTS",
        "RETURN (a XOR b) IS N + LL AS x",
        "RETURN size(a) IS !(A|B) AS x",
        "CALL `a..b`()",
        "RETURN + NOT (a >= b) AS x",
    ],
)
def test_what_is_rarely_written_comes_back(text: str) -> None:
    tree = parse(text)
    assert parse(print_statement(tree)) == tree, print_statement(tree)


@pytest.mark.skipif(
    not FEATURES.is_dir(), reason="the TCK's feature files are not next to the project"
)
def test_every_query_of_the_tck_comes_back() -> None:
    count = 0
    for path in sorted(FEATURES.rglob("*.feature")):
        for scenario in scenarios(path):
            for step in scenario.steps:
                if step.document and "execut" in step.text:
                    try:
                        tree = parse(step.document)
                    except QueryError:
                        continue
                    count += 1
                    assert parse(print_statement(tree)) == tree, step.document
    assert count > 1_000
