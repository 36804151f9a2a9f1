"""Policy commands: every form as a tree and back from its print, with the place of every part."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.cypher import tree as t
from doxa.cypher.dash_comments import without_dashes
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse, parse_expression
from doxa.cypher.printer import print_expression, print_statement
from doxa.cypher.script import statements
from doxa.cypher.semantics.check import check
from doxa.cypher.tokens import tokens
from tests.cypher.policy_corpus import (
    DECAY_PROFILES,
    EVERY,
    PAPER,
    REINFORCED_EPISODE,
    SHOWN,
    SHOWS,
    TOGETHER,
    WISDOM,
)
from tests.cypher.policy_trees import NODE, WRITES, commands, options
from tests.cypher.test_printer import EXPRESSIONS, NAMES

# What is accepted


@pytest.mark.parametrize("text", EVERY)
def test_every_form_is_accepted_writes_and_comes_back_from_its_print(text: str) -> None:
    tree = parse(text)
    assert check(tree, text) == WRITES
    assert parse(print_statement(tree)) == tree


@pytest.mark.parametrize("text", [*SHOWN, *SHOWS])
def test_show_reads_and_comes_back(text: str) -> None:
    tree = parse(text)
    assert isinstance(tree.body, t.Show)
    assert tree.body.what in ("decay_profiles", "promotion_profiles", "promotion_policies")
    assert not check(tree, text).writes
    assert print_statement(parse(print_statement(tree))) == print_statement(tree)


def test_the_paper_on_decay() -> None:
    bundle, binding, knowledge, wisdom = commands(DECAY_PROFILES)
    given = options(
        halfLifeSeconds=604800,
        function="exponential",
        scoreFrom="VERSION",
        visibilityThreshold=0.10,
    )
    assert bundle == t.CreateDecayBundle("memory_episode_params", given, False, False)
    directives = (
        t.DecayDirective(None, "profile", t.Literal("memory_episode_params")),
        t.DecayDirective(None, "threshold", t.Literal(0.1)),
    )
    assert binding == t.CreateDecayBinding(
        "memory_episode_retention",
        t.PolicyTarget(False, "n", ("MemoryEpisode",)),
        directives,
        False,
        False,
    )
    for name, label, found in (
        ("knowledge_fact_retention", "KnowledgeFact", knowledge),
        ("wisdom_directive_retention", "WisdomDirective", wisdom),
    ):
        target = t.PolicyTarget(False, "n", (label,))
        assert found == t.CreateDecayBinding(
            name, target, (t.DecayDirective(None, "none", None),), False, False
        )


def test_the_paper_on_promotion() -> None:
    *_, policy = commands(REINFORCED_EPISODE)
    count = t.AccessSet("accessCount", parse_expression("coalesce(n.accessCount, 0) + 1"), None)
    last = t.AccessSet("lastAccessedAt", parse_expression("timestamp()"), None)
    confidence = t.AccessSet(
        "confidenceScore", t.ParameterRef("evaluatedConfidence"), options(q=0.05, r=50.0)
    )
    rules = (
        t.PromotionRule(parse_expression("n.accessCount >= 3"), "reinforced"),
        t.PromotionRule(
            parse_expression("n.accessCount >= 5 AND n.confidenceScore >= 0.8"), "high_confidence"
        ),
    )
    target = t.PolicyTarget(False, "n", ("MemoryEpisode",))
    assert policy == t.CreatePromotionPolicy(
        "memory_reinforcement", target, (count, last, confidence), rules, False, False
    )


def test_the_paper_on_gating() -> None:
    _, policy = commands(WISDOM)
    assert isinstance(policy, t.CreatePromotionPolicy)
    count, support, session, confidence = policy.accesses
    assert (count.kalman, support.kalman, session.kalman, confidence.kalman) == (
        None,
        (),
        None,
        options(q=0.05, r=50.0),
    )
    assert isinstance(support.value, t.Case)
    assert session.value == t.ParameterRef("_session")
    assert [rule.profile for rule in policy.rules] == ["established_wisdom", "provisional_wisdom"]


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("()", (False, "", ())),
        ("(n)", (False, "n", ())),
        ("(:A)", (False, "", ("A",))),
        ("(n:A)", (False, "n", ("A",))),
        ("(n:A:B)", (False, "n", ("A", "B"))),
        ("(n:B&A&C)", (False, "n", ("B", "A", "C"))),
        ("(n:(A&B)&C)", (False, "n", ("A", "B", "C"))),
        ("(n IS A)", (False, "n", ("A",))),
        ("(`a b`:`x y`)", (False, "a b", ("x y",))),
        ("()-[r:T]-()", (True, "r", ("T",))),
        ("()-[r:T]->()", (True, "r", ("T",))),
        ("()<-[r:T]-()", (True, "r", ("T",))),
        ("()<-[r:T]->()", (True, "r", ("T",))),
        ("()-[:T]-()", (True, "", ("T",))),
        ("()-[r]-()", (True, "r", ())),
        ("()-[]-()", (True, "", ())),
        ("()-->()", (True, "", ())),
        ("()--()", (True, "", ())),
    ],
)
def test_targets(written: str, target: tuple[bool, str, tuple[str, ...]]) -> None:
    (found,) = commands(f"CREATE DECAY PROFILE p FOR {written} APPLY {{ NO DECAY }}")
    assert isinstance(found, t.CreateDecayBinding)
    assert found.target == t.PolicyTarget(*target)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("p", "p"),
        ("a.b", "a.b"),
        ("`a b`", "a b"),
        ("'a b'", "a b"),
        ('"a\\"b"', 'a"b'),
        ("$p", t.ParameterRef("p")),
        ("$`p q`", t.ParameterRef("p q")),
        ("options", "options"),
        ("for", "for"),
        ("decay", "decay"),
        ("if", "if"),
    ],
)
def test_names(written: str, name: str | t.ParameterRef) -> None:
    assert commands(f"CREATE DECAY PROFILE {written} OPTIONS {{}}") == (
        t.CreateDecayBundle(name, (), False, False),
    )
    assert commands(f"CREATE PROMOTION PROFILE IF NOT EXISTS {written} OPTIONS {{}}") == (
        t.CreatePromotionProfile(name, (), False, True),
    )
    assert commands(f"ALTER DECAY PROFILE {written} ENABLE") == (
        t.AlterPolicy("DECAY PROFILE", name, options(enabled=True)),
    )
    assert commands(f"DROP PROMOTION POLICY {written} IF EXISTS") == (
        t.DropPolicy("PROMOTION POLICY", name, True),
    )
    binding, policy = commands(
        f"CREATE DECAY PROFILE {written} FOR (n:A) APPLY {{ DECAY PROFILE {written} }} "
        f"CREATE PROMOTION POLICY {written} FOR (n:A) APPLY {{ WHEN n.x APPLY PROFILE {written} }}"
    )
    value = t.Literal(name) if isinstance(name, str) else name
    assert binding == t.CreateDecayBinding(
        name, NODE, (t.DecayDirective(None, "profile", value),), False, False
    )
    assert policy == t.CreatePromotionPolicy(
        name, NODE, (), (t.PromotionRule(parse_expression("n.x"), name),), False, False
    )


@pytest.mark.parametrize(
    ("kind", "written", "key", "value"),
    [
        ("DECAY", "HalfLifeSeconds: -5", "halfLifeSeconds", -5),
        ("DECAY", "halflifeseconds = +5.5", "halfLifeSeconds", 5.5),
        ("DECAY", "function: 'Exponential'", "function", "exponential"),
        ("DECAY", "FUNCTION: LINEAR", "function", "linear"),
        ("DECAY", "function: none", "function", "none"),
        ("DECAY", "function: step", "function", "step"),
        ("DECAY", "visibilityThreshold: 1", "visibilityThreshold", 1),
        ("DECAY", "scoreFloor: 0.0", "scoreFloor", 0.0),
        ("DECAY", "scoreFrom: 'created'", "scoreFrom", "CREATED"),
        ("DECAY", "scoreFrom: version", "scoreFrom", "VERSION"),
        ("DECAY", "scoreFrom: last_accessed", "scoreFrom", "LAST_ACCESSED"),
        ("DECAY", "scope: 'node'", "scope", "NODE"),
        ("DECAY", "scope: edge", "scope", "EDGE"),
        ("DECAY", "scope: PROPERTY", "scope", "PROPERTY"),
        ("DECAY", "decayEnabled: False", "decayEnabled", False),
        ("DECAY", "enabled: true", "enabled", True),
        ("PROMOTION", "multiplier: 0", "multiplier", 0),
        ("PROMOTION", "MULTIPLIER = 3.5", "multiplier", 3.5),
        ("PROMOTION", "scoreFloor: 0.5", "scoreFloor", 0.5),
        ("PROMOTION", "scorecap: 1.0", "scoreCap", 1.0),
        ("PROMOTION", "scope: Node", "scope", "NODE"),
        ("PROMOTION", "enabled: false", "enabled", False),
    ],
)
def test_options_have_one_spelling(kind: str, written: str, key: str, value: object) -> None:
    (found,) = commands(f"CREATE {kind} PROFILE p OPTIONS {{ {written} }}")
    assert isinstance(found, (t.CreateDecayBundle, t.CreatePromotionProfile))
    assert found.options == options(**{key: value})


@pytest.mark.parametrize(
    "joint", [", ", "; ", "\n", " ", ",;\n", "\r\n", " /* and */ ", "// and\n", " -- and\n"]
)
def test_parts_are_separated_by_commas_semicolons_or_nothing(joint: str) -> None:
    bundle, binding, policy = commands(
        f"CREATE DECAY PROFILE a OPTIONS {{ function: 'step'{joint}halfLifeSeconds: 5{joint}}}"
        f" CREATE DECAY PROFILE b FOR (n:A) APPLY {{ DECAY FLOOR 0.5{joint}DECAY HALF LIFE"
        f" 5{joint}n.x NO DECAY{joint}}} CREATE PROMOTION POLICY c FOR (n:A) APPLY {{ WHEN n.x"
        f" APPLY PROFILE a{joint}ON ACCESS {{ SET n.a = 1{joint}SET n.b = n.c{joint}WITH KALMAN"
        f" {{q: 1{joint}r: 2{joint}}} SET n.d = 2{joint}}}{joint}WHEN n.y APPLY PROFILE b{joint}}}"
    )
    assert isinstance(bundle, t.CreateDecayBundle)
    assert bundle.options == options(function="step", halfLifeSeconds=5)
    assert isinstance(binding, t.CreateDecayBinding)
    assert [one.kind for one in binding.directives] == ["floor", "half_life", "none"]
    assert isinstance(policy, t.CreatePromotionPolicy)
    assert [(one.property, one.kalman) for one in policy.accesses] == [
        ("a", None),
        ("b", None),
        ("d", options(q=1, r=2)),
    ]
    assert [one.profile for one in policy.rules] == ["a", "b"]


def test_directives_of_a_property_share_its_line() -> None:
    (found,) = commands(
        "CREATE DECAY PROFILE b FOR (n:A) APPLY {\n"
        "  n.a DECAY HALF LIFE -5 DECAY FLOOR 0.1\n"
        "  DECAY HALF LIFE 7\n"
        "  n.b DECAY PROFILE p; DECAY FLOOR 0.2\n"
        "  n.a DECAY PROFILE 'q'\n"
        "  n.`c\nd` NO DECAY n.e\n NO DECAY\n }"
    )
    assert isinstance(found, t.CreateDecayBinding)
    assert [
        (one.property, one.kind, one.value.value if isinstance(one.value, t.Literal) else None)
        for one in found.directives
    ] == [
        ("a", "half_life", -5),
        ("a", "floor", 0.1),
        (None, "half_life", 7),
        ("b", "profile", "p"),
        (None, "floor", 0.2),
        ("a", "profile", "q"),
        ("c\nd", "none", None),
        ("e", "none", None),
    ]


def test_parameters_are_left_to_execution() -> None:
    text = (
        "CREATE DECAY PROFILE $n OPTIONS { halfLifeSeconds: $h, function: $f, scoreFrom: $a }"
        " CREATE DECAY PROFILE $b FOR (n) APPLY { DECAY PROFILE $p DECAY HALF LIFE $h DECAY FLOOR"
        " $f DECAY THRESHOLD $t } CREATE PROMOTION POLICY $q FOR (n) APPLY { ON ACCESS { WITH"
        " KALMAN {q: $q, r: $r} SET n.x = $x } WHEN n.x > 1 APPLY PROFILE $p }"
    )
    bundle, binding, policy = commands(text)
    assert check(parse(text), text) == WRITES
    assert isinstance(bundle, t.CreateDecayBundle)
    assert [one.value for one in bundle.options] == [
        t.ParameterRef("h"),
        t.ParameterRef("f"),
        t.ParameterRef("a"),
    ]
    assert isinstance(binding, t.CreateDecayBinding)
    assert [one.value for one in binding.directives] == [t.ParameterRef(name) for name in "phft"]
    assert isinstance(policy, t.CreatePromotionPolicy)
    assert policy.rules[0].profile == t.ParameterRef("p")


def test_what_is_one_command_is_not_wrapped() -> None:
    assert isinstance(parse("DROP DECAY PROFILE a;").body, t.DropPolicy)
    body = parse(TOGETHER[0]).body
    assert isinstance(body, t.PolicyCommands)
    assert [type(one).__name__ for one in body.commands] == [
        "DropPolicy",
        "DropPolicy",
        "AlterPolicy",
        "CreatePromotionProfile",
    ]
    assert [TOGETHER[0][one.at :].split()[0] for one in body.commands] == [
        "DROP",
        "DROP",
        "ALTER",
        "CREATE",
    ]


def test_explain_and_queries_stay_as_they_were() -> None:
    assert parse("EXPLAIN CREATE DECAY PROFILE p OPTIONS {} -- it's").mode == "EXPLAIN"
    assert isinstance(parse("CREATE decay = (a:A)-[:R]->(b)").body, t.Query)
    assert isinstance(parse("CREATE promotion = (a)").body, t.Query)


# Places


def test_every_part_knows_its_place() -> None:
    text = WISDOM
    for command in commands(text):
        for part in t.walk(command):
            if isinstance(
                part,
                (t.AccessSet, t.PromotionRule, t.PolicyOption, t.PolicyTarget, t.DecayDirective),
            ):
                begins = {
                    "AccessSet": "n.",
                    "PromotionRule": "WHEN",
                    "PolicyOption": ("q", "r"),
                    "PolicyTarget": "(n",
                    "DecayDirective": "NO",
                }
                assert text.startswith(begins[type(part).__name__], part.at), part


# Any text

INSTEAD = ("", "", "}", "{", "DECAY", "NO", ".", "'", "--", "`", "WHEN", "SET", ";", "$x")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([*EVERY, *SHOWS]), st.integers(0, 10_000), st.sampled_from(INSTEAD))
def test_a_token_less_or_another_is_an_error_with_a_place_or_a_tree(
    text: str, number: int, instead: str
) -> None:
    found = tokens(without_dashes(text))
    place = found[number % (len(found) - 1)].at
    end = found[number % (len(found) - 1) + 1].at
    changed = text[:place] + (f" {instead} " if instead else " ") + text[end:]
    statements(changed)
    try:
        tree = parse(changed)
        check(tree, changed)
    except QueryError as error:
        assert 0 <= int(str(error.fields["offset"])) <= len(changed)
        assert error.next_step
    else:
        assert parse(print_statement(tree)) == tree


# From the tree

EXTRA = st.one_of(
    EXPRESSIONS,
    st.builds(t.Sign, st.sampled_from(["+", "-"]), EXPRESSIONS),
    st.builds(
        lambda of, key: t.MapProjection(
            t.Variable(of), ((key, t.Property(t.Variable(of), key)), ("*", None))
        ),
        NAMES,
        NAMES,
    ),
)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


TARGETS = st.builds(
    t.PolicyTarget,
    st.just(False),
    NAMES | st.just(""),
    st.lists(NAMES, max_size=3, unique=True).map(tuple),
) | st.builds(
    t.PolicyTarget, st.just(True), NAMES | st.just(""), st.lists(NAMES, max_size=1).map(tuple)
)


RULE_NAMES = NAMES | NAMES.map(t.ParameterRef) | TEXTS


SHARES = st.floats(0, 1).map(t.Literal) | NAMES.map(t.ParameterRef)


KALMAN = (
    st.none()
    | st.just(())
    | st.builds(
        lambda q, r: (*options(q=q), t.PolicyOption("r", r)),
        st.floats(0, 9),
        NAMES.map(t.ParameterRef),
    )
)


DIRECTIVES = st.one_of(
    st.builds(t.DecayDirective, st.none(), st.just("floor"), SHARES),
    st.builds(lambda of, name: t.DecayDirective(of, "profile", t.Literal(name)), NAMES, TEXTS),
)


POLICIES = st.one_of(
    st.builds(
        lambda name, target, directive, replace: t.CreateDecayBinding(
            name, target, (directive,), replace, False
        ),
        RULE_NAMES,
        TARGETS.filter(lambda one: bool(one.variable)),
        DIRECTIVES,
        st.booleans(),
    ),
    st.builds(
        lambda name, floor, absent: t.CreateDecayBundle(
            name, (t.PolicyOption("scoreFloor", floor),), False, absent
        ),
        RULE_NAMES,
        SHARES,
        st.booleans(),
    ),
    st.builds(
        lambda name, target, accesses, rules: t.CreatePromotionPolicy(
            name, target, tuple(accesses), tuple(rules), False, False
        ),
        RULE_NAMES,
        TARGETS.filter(lambda one: bool(one.variable)),
        st.lists(st.builds(t.AccessSet, NAMES, EXTRA, KALMAN), max_size=2),
        st.lists(st.builds(t.PromotionRule, EXTRA, RULE_NAMES), min_size=1, max_size=2),
    ),
    st.builds(
        t.DropPolicy,
        st.sampled_from(["DECAY PROFILE", "PROMOTION PROFILE", "PROMOTION POLICY"]),
        RULE_NAMES,
        st.booleans(),
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(POLICIES, min_size=1, max_size=3))
def test_policies_come_back(trees: list[t.Clause]) -> None:
    tree = t.Statement(trees[0] if len(trees) == 1 else t.PolicyCommands(tuple(trees)))
    text = print_statement(tree)
    assert parse(text) == tree, text
    assert len(statements(text)) == 1


@settings(max_examples=400, deadline=None)
@given(EXTRA)
def test_an_expression_by_itself_comes_back(tree: t.Expression) -> None:
    assert parse_expression(print_expression(tree)) == tree


@pytest.mark.parametrize("text", ["", "1 2", "n.x,", "n.x; m.y", "RETURN", "1 AS x", "("])
def test_an_expression_is_the_whole_text(text: str) -> None:
    if text == "RETURN":
        assert parse_expression(text) == t.Variable("RETURN")
        return
    with pytest.raises(QueryError):
        parse_expression(text)


def test_the_corpus_holds_all_of_the_paper() -> None:
    assert sum(len(commands(text)) for text in PAPER.values()) == 4 + 1 + 1 + 3 + 2
