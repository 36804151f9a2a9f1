"""Policy commands: every form as a tree and back from its print, every refusal at its place,
comments with dashes, several commands in a text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.cypher import tree as t
from doxa.cypher.dash_comments import without_dashes
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse, parse_expression
from doxa.cypher.policy_options import (
    FUNCTIONS,
    HALF_LIFE_S_MAX,
    check_directive,
    check_option,
    check_options,
)
from doxa.cypher.printer import print_expression, print_statement
from doxa.cypher.script import statements
from doxa.cypher.semantics.check import Checked, check
from doxa.cypher.tokens import tokens
from doxa.policy import decay
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
from tests.cypher.test_printer import EXPRESSIONS, NAMES

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


# What is refused: § marks the place


@pytest.mark.parametrize(
    "text",
    [
        "CREATE DECAY§",
        "CREATE DECAY §POLICY p OPTIONS {}",
        "CREATE PROMOTION §RULE p",
        "CREATE OR REPLACE DECAY PROFILE§",
        "CREATE DECAY PROFILE §OPTIONS {}",
        "CREATE DECAY PROFILE §FOR (n) APPLY { NO DECAY }",
        "CREATE DECAY PROFILE §5 OPTIONS {}",
        "CREATE DECAY PROFILE §'' OPTIONS {}",
        "CREATE DECAY PROFILE p§",
        "CREATE DECAY PROFILE p §APPLY { NO DECAY }",
        "CREATE PROMOTION PROFILE p §FOR (n:A) APPLY { NO DECAY }",
        "CREATE DECAY PROFILE p OPTIONS §[]",
        "CREATE DECAY PROFILE p OPTIONS {§",
        "CREATE DECAY PROFILE p OPTIONS { function §'none' }",
        "CREATE DECAY PROFILE p OPTIONS { function: §}",
        "CREATE DECAY PROFILE p OPTIONS { §'x': 1 }",
        "CREATE DECAY PROFILE p OPTIONS {} §RETURN 1",
        "CREATE DECAY PROFILE p OPTIONS {} §FOR (n) APPLY { NO DECAY }",
        "CREATE DECAY PROFILE p FOR §n APPLY { NO DECAY }",
        "CREATE DECAY PROFILE p FOR (n:A)§",
        "CREATE DECAY PROFILE p FOR (n:A) §OPTIONS {}",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY §NO DECAY",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY {§",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { §}",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { §HALF LIFE 5 }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { NO §}",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY §}",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY §SLOWLY }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY §HALF 5 }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY HALF LIFE §'5' }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY HALF LIFE §7d }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY HALF LIFE - §n }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY PROFILE §5 }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { DECAY PROFILE §'' }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { n.x §}",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { §n.5 NO DECAY }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { n.x DECAY §SLOWLY }",
        "CREATE DECAY PROFILE p FOR (n:A) APPLY { n.x §= 5 }",
        "CREATE PROMOTION POLICY p §OPTIONS {}",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { §}",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { §NO DECAY }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { §ON CREATE { } }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { §} }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS §SET n.x = 1 }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { SET n.x = 1§",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { §n.x = 1 } }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { WITH §SET n.x = 1 } }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { WITH KALMAN §n.x = 1 } }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { SET n.x §} }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { SET n.x = §} }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { WHEN §}",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { WHEN n.x §}",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { WHEN n.x §APPLY 'a' }",
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { WHEN n.x APPLY PROFILE §}",
        "ALTER DECAY PROFILE p§",
        "ALTER DECAY PROFILE p §RENAME",
        "ALTER DECAY PROFILE p SET §{ enabled: true }",
        "ALTER DECAY §PROFILES p ENABLE",
        "ALTER DECAY PROFILE p §SET OPTIONS {}",
        "§ALTER INDEX i ENABLE",
        "DROP DECAY §BINDING p",
        "DROP DECAY PROFILE§",
        "DROP DECAY PROFILE a; §SHOW DECAY PROFILES",
        "DROP DECAY PROFILE a; DROP DECAY PROFILE b; §RETURN 1",
        "DROP DECAY PROFILE a §MATCH (n) RETURN n",
        "SHOW DECAY PROFILES; §DROP DECAY PROFILE a",
        "RETURN 1; §CREATE DECAY PROFILE p OPTIONS {}",
        "SHOW DECAY§",
    ],
)
def test_what_is_no_policy_command(text: str) -> None:
    error, _ = refused(text)
    assert (error.kind, error.detail) == ("SyntaxError", "UnexpectedSyntax")


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("(n:§A|B)", "one policy object for each"),
        ("(n:§A|:B)", "one policy object for each"),
        ("(n:§A&B|C)", "one policy object for each"),
        ("()-[r:§S|T]-()", "one policy object for each"),
        ("()-[r:§S&T]-()", "one policy object for each"),
        ("(n:A&§A)", "Keep one"),
        ("(n:§!A)", "(n:Label)"),
        ("(n:A&§!B)", "(n:Label)"),
        ("(n:§%)", "Leave it out"),
        ("()-[r:§%]-()", "Leave it out"),
        ("(n:§$($l))", "(n:Label)"),
        ("(n:A §{x: 1})", "WHEN"),
        ("(n:A §$p)", "WHEN"),
        ("(n:A WHERE n.x §> 1)", "WHEN"),
        ("()-[r:T §{x: 1}]-()", "WHEN"),
        ("()-[r:T WHERE §true]-()", "WHEN"),
        ("§(a)-[r:T]-()", "empty parentheses"),
        ("()-[r:T]-§(:B)", "empty parentheses"),
        ("§({x: 1})-[r:T]-()", "empty parentheses"),
        ("()§-[r:T*]-()", "()-[r:TYPE]-()"),
        ("()§-[r:T*1..3]->()", "()-[r:TYPE]-()"),
        ("()-[r:T]->§+()", "()-[r:TYPE]-()"),
        ("§(()-[r:T]->()){1,2}", "()-[r:TYPE]-()"),
        ("§p = (n:A)", "(n:Label)"),
        ("§shortestPath((a)-[r]->(b))", "(n:Label)"),
        ("()-[r]-()§-[s]-()", "(n:Label)"),
        ("()-[r]-()§-[s]-()-[u]-()", "(n:Label)"),
    ],
)
def test_what_is_no_target(written: str, hint: str) -> None:
    for rest in (
        "DECAY PROFILE p FOR {} APPLY {{ NO DECAY }}",
        "PROMOTION POLICY p FOR {} APPLY {{ WHEN true APPLY PROFILE p }}",
    ):
        error, _ = refused(f"CREATE {rest.format(written)}")
        assert hint in error.next_step


def test_a_label_from_a_parameter_is_no_target() -> None:
    refused("CREATE DECAY PROFILE p FOR (n:§$l) APPLY { NO DECAY }")


@pytest.mark.parametrize(
    ("kind", "written", "message"),
    [
        ("DECAY", "halfLifeSeconds: §'5'", "number of seconds"),
        ("DECAY", "halfLifeSeconds: §true", "not true"),
        ("DECAY", "halfLifeSeconds: §null", "not null"),
        ("DECAY", "halfLifeSeconds: §1e10", "292 years"),
        ("DECAY", "halfLifeSeconds: §1e-10", "nanosecond"),
        ("DECAY", "halfLifeSeconds: §-1e300", "292 years"),
        ("DECAY", "function: §'cubic'", "exponential, linear, step, none"),
        ("DECAY", "function: §cubic", "not 'cubic'"),
        ("DECAY", "function: §1", "not 1"),
        ("DECAY", "visibilityThreshold: §1.5", "from 0 to 1"),
        ("DECAY", "visibilityThreshold: §-0.1", "from 0 to 1"),
        ("DECAY", "scoreFloor: §2", "from 0 to 1"),
        ("DECAY", "scoreFloor: §'0'", "from 0 to 1"),
        ("DECAY", "scoreFrom: §'now'", "LAST_ACCESSED"),
        ("DECAY", "scope: §'GRAPH'", "NODE, EDGE, PROPERTY"),
        ("DECAY", "decayEnabled: §1", "true or false"),
        ("DECAY", "enabled: §'true'", "true or false"),
        ("DECAY", "scoreFrom: 'CUSTOM', scoreFromProperty: §''", "name of a property"),
        ("DECAY", "scoreFrom: 'CUSTOM', scoreFromProperty: §5", "name of a property"),
        ("DECAY", "§scoreFrom: custom", "needs scoreFromProperty"),
        ("DECAY", "§scoreFromProperty: 'x'", "is for scoreFrom CUSTOM"),
        ("DECAY", "§scoreFromProperty: $x", "is for scoreFrom CUSTOM"),
        ("DECAY", "scoreFrom: 'VERSION', §scoreFromProperty: 'x'", "is for scoreFrom CUSTOM"),
        ("DECAY", "§halfLifeSeconds: 0, function: 'step'", "0 is not a half-life"),
        ("DECAY", "function: linear\n§halfLifeSeconds: -0.0", "0 is not a half-life"),
        ("DECAY", "scope: NODE, §Scope: NODE", "given twice"),
        ("PROMOTION", "multiplier: §-1", "at least 0"),
        ("PROMOTION", "multiplier: §'2'", "at least 0"),
        ("PROMOTION", "scoreFloor: §1.1", "from 0 to 1"),
        ("PROMOTION", "scoreCap: §-1", "from 0 to 1"),
        ("PROMOTION", "scope: §x", "NODE, EDGE, PROPERTY"),
        ("PROMOTION", "enabled: §0", "true or false"),
    ],
)
def test_values_that_no_option_has(kind: str, written: str, message: str) -> None:
    error, _ = refused(f"CREATE {kind} PROFILE p OPTIONS {{ {written} }}")
    assert message in error.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("CREATE DECAY PROFILE p OPTIONS { §halfLife: 5 }", "halfLifeSeconds?"),
        ("CREATE DECAY PROFILE p OPTIONS { §HALFLIFESECOND: 5 }", "halfLifeSeconds?"),
        ("CREATE DECAY PROFILE p OPTIONS { §scoreform: 5 }", "scoreFrom?"),
        ("CREATE DECAY PROFILE p OPTIONS { §zzz: 5 }", "Known are halfLifeSeconds, function"),
        ("CREATE DECAY PROFILE p OPTIONS { §multiplier: 5 }", "Known are"),
        ("CREATE PROMOTION PROFILE p OPTIONS {\n  scope: NODE\n  §multiplyer: 5 }", "multiplier?"),
        ("ALTER PROMOTION POLICY p SET OPTIONS { §scoreCap: 1 }", "Known are enabled"),
        ("ALTER DECAY PROFILE p SET OPTIONS { §enable: true }", "enabled?"),
        (
            (
                "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { WITH KALMAN {q: 1,"
                " §windowSiz: 2} SET n.x = 1 } }"
            ),
            "windowSize?",
        ),
        (
            (
                "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { WITH KALMAN {§gain: 1} SET"
                " n.x = 1 } }"
            ),
            "q, r, varianceScale, windowSize",
        ),
    ],
)
def test_an_unknown_key_hears_the_nearest(text: str, hint: str) -> None:
    error, _ = refused(text)
    assert hint in error.next_step


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("q: §-1", "at least 0"),
        ("q: §'1'", "at least 0"),
        ("r: §0", "greater than 0"),
        ("r: §-5", "greater than 0"),
        ("varianceScale: §0.0", "greater than 0"),
        ("windowSize: §0", "whole number"),
        ("windowSize: §2.5", "whole number"),
        ("windowSize: §10001", "whole number"),
        ("q: 1, §Q: 2", "given twice"),
        ("q: §n.x", "not defined"),
        ("q: §rand()", "cannot stand in a policy"),
    ],
)
def test_values_that_no_filter_has(inside: str, message: str) -> None:
    error, _ = refused(
        f"CREATE PROMOTION POLICY p FOR (n) APPLY {{ ON ACCESS {{ WITH KALMAN {{{inside}}} SET n.x"
        " = 1 } }"
    )
    assert message in error.message


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("DECAY FLOOR §1.5", "DECAY FLOOR is a number from 0 to 1"),
        ("DECAY FLOOR §-0.5", "from 0 to 1"),
        ("DECAY THRESHOLD §2", "DECAY VISIBILITY THRESHOLD"),
        ("DECAY VISIBILITY §-1", "from 0 to 1"),
        ("DECAY HALF LIFE §0", "0 is not a half-life"),
        ("DECAY HALF LIFE §-0.0", "0 is not a half-life"),
        ("DECAY HALF LIFE §9223372037", "292 years"),
        ("n.x DECAY FLOOR §5", "from 0 to 1"),
        ("DECAY FLOOR 0.1 §DECAY FLOOR 0.1", "DECAY FLOOR is said twice"),
        ("NO DECAY, §NO DECAY", "NO DECAY is said twice"),
        ("n.x NO DECAY\nn.x §NO DECAY", "NO DECAY of x is said twice"),
        ("DECAY VISIBILITY 1 §DECAY THRESHOLD 0", "said twice"),
        ("NO DECAY §DECAY HALF LIFE 5", "DECAY HALF LIFE and NO DECAY contradict"),
        ("DECAY HALF LIFE 5 §NO DECAY", "NO DECAY and DECAY HALF LIFE contradict"),
        ("NO DECAY, §DECAY PROFILE p", "contradict"),
        ("n.x NO DECAY §DECAY FLOOR 0.1", "DECAY FLOOR of x and NO DECAY contradict"),
        ("n.x DECAY FLOOR 0.1\nDECAY FLOOR 0.5\nn.x §NO DECAY", "contradict"),
        ("n.x DECAY PROFILE p §NO DECAY", "contradict"),
        ("n.x §DECAY THRESHOLD 0.5", "the whole element's"),
        ("n.x §DECAY VISIBILITY THRESHOLD 0.5", "the whole element's"),
        ("n.x\n  DECAY HALF LIFE 5\n  §DECAY FLOOR 0.1", "could be about x or about the whole"),
    ],
)
def test_directives_that_cannot_be(inside: str, message: str) -> None:
    error, _ = refused(f"CREATE DECAY PROFILE p FOR (n:A) APPLY {{ {inside} }}")
    assert message in error.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("CREATE DECAY PROFILE p FOR (n:A) APPLY { §m.x NO DECAY }", "Write n."),
        ("CREATE DECAY PROFILE p FOR (:A) APPLY { §n.x NO DECAY }", "in FOR"),
        ("CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET §m.x = 1 } }", "Write n."),
        ("CREATE PROMOTION POLICY p FOR ()-[:T]-() APPLY { ON ACCESS { SET §r.x = 1 } }", "in FOR"),
        (
            "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET n.x = 1, §m.y = 1 } }",
            "Write n.",
        ),
        (
            "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET n.x = §m.x } }",
            "one variable: n",
        ),
        (
            "CREATE PROMOTION POLICY p FOR (n) APPLY { WHEN n.x > 1 AND §m.y APPLY PROFILE p }",
            "one variable: n",
        ),
        ("CREATE PROMOTION POLICY p FOR () APPLY { WHEN §n.x > 1 APPLY PROFILE p }", "in FOR"),
        (
            (
                "CREATE PROMOTION POLICY p FOR ()-[r:T]-() APPLY {\n WHEN r.x\n  APPLY PROFILE p\n"
                " WHEN §n.x APPLY PROFILE p }"
            ),
            "one variable: r",
        ),
        ("CREATE DECAY PROFILE p OPTIONS { halfLifeSeconds: §week * 2 }", "texts stand in quotes"),
        (
            "CREATE DECAY PROFILE p OPTIONS { scoreFrom: 'CUSTOM', scoreFromProperty: §createdAt }",
            "texts stand in quotes",
        ),
    ],
)
def test_only_the_variable_of_the_target_is_known(text: str, hint: str) -> None:
    error, _ = refused(text)
    assert error.detail == "UndefinedVariable"
    assert hint in error.next_step


@pytest.mark.parametrize(
    ("expression", "detail", "hint"),
    [
        ("§count(*) > 1", "InvalidAggregation", "ON ACCESS"),
        ("n.x > §sum(n.y)", "InvalidAggregation", "ON ACCESS"),
        ("size(§collect(n.x)) > 1", "InvalidAggregation", "ON ACCESS"),
        ("§EXISTS { (n)-->() }", "UnexpectedSyntax", "property"),
        ("§COUNT { MATCH (m) RETURN m } > 1", "UnexpectedSyntax", "property"),
        ("§COLLECT { MATCH (m) RETURN m.x } = []", "UnexpectedSyntax", "property"),
        ("§(n)-->()", "UnexpectedSyntax", "property"),
        ("NOT §(n)-[:R]-(:B)", "UnexpectedSyntax", "property"),
        ("exists(§(n)-->())", "UnexpectedSyntax", "property"),
        ("size(§[(n)-->(m) | m.x]) > 1", "UnexpectedSyntax", "property"),
        ("§shortestPath((n)-[*]->(m)) IS NULL", "UnexpectedSyntax", "property"),
        ("§startNode(n).x = 1", "UnexpectedSyntax", "property"),
        ("1 = §ENDNODE(n).x", "UnexpectedSyntax", "property"),
        ("§nodes(n) = []", "UnexpectedSyntax", "property"),
        ("§rand() < 0.5", "UnexpectedSyntax", "chance"),
        ("§randomUUID() = n.id", "UnexpectedSyntax", "chance"),
        ("n.x = §file()", "UnexpectedSyntax", "property"),
        ("§linenumber() = 1", "UnexpectedSyntax", "property"),
        ("§decayScore(n) > 0.5", "UnexpectedSyntax", "properties"),
        ("§decay(n).score > 0.5", "UnexpectedSyntax", "properties"),
        ("§policy(n).accessCount > 1", "UnexpectedSyntax", "properties"),
        ("§reveal(n).x > 1", "UnexpectedSyntax", "properties"),
        ("any(x IN n.l WHERE x > §rand())", "UnexpectedSyntax", "chance"),
        ("§nothing(n)", "UnknownFunction", "SHOW FUNCTIONS"),
    ],
)
def test_what_a_policy_cannot_ask(expression: str, detail: str, hint: str) -> None:
    text = "CREATE PROMOTION POLICY p FOR {} APPLY {{ {} }}"
    edge = "Node(" in expression or "NODE(" in expression
    target = "()-[n:T]-()" if edge else "(n:A)"
    for part in (f"WHEN {expression} APPLY PROFILE p", f"ON ACCESS {{ SET n.z = {expression} }}"):
        error, _ = refused(text.format(target, part))
        assert error.detail == detail
        assert hint in error.next_step


def test_a_when_takes_no_parameter() -> None:
    error, _ = refused(
        "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET n.by = $_session } WHEN n.x >"
        " §$least APPLY PROFILE p }"
    )
    assert error.detail == "InvalidParameterUse"
    assert "store values with ON ACCESS" in error.next_step


@pytest.mark.parametrize(
    "when",
    ["§1", "§'true'", "n.x AND §5", "§n", "§[n.x]", "NOT §timestamp()", "1 §+ 2", "§{a: n.x}"],
)
def test_a_when_can_be_true(when: str) -> None:
    error, _ = refused(f"CREATE PROMOTION POLICY p FOR (n) APPLY {{ WHEN {when} APPLY PROFILE p }}")
    assert error.detail == "InvalidArgumentType"


@pytest.mark.parametrize(
    "when",
    [
        "true",
        "null",
        "n.x",
        "n.x IS NULL",
        "n:B",
        "n.at < timestamp()",
        "date() > n.d",
        "exists(n.x)",
    ],
)
def test_a_when_may_be_any_condition(when: str) -> None:
    text = f"CREATE PROMOTION POLICY p FOR (n) APPLY {{ WHEN {when} APPLY PROFILE p }}"
    assert check(parse(text), text) == WRITES


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("SET §n = {x: 1}", "single properties"),
        ("SET §n += {x: 1}", "single properties"),
        ("SET §n:B", "single properties"),
        ("SET §n['x'] = 1", "single properties"),
        ("SET §n.x.y = 1", "single properties"),
        ("SET n.x §+= 1", "+="),
        ("SET n.x = 1, §n:B", "single properties"),
        ("SET n.x = 1, §n.y.z = 1", "single properties"),
        ("SET §5 = 1", "Only a variable"),
        ("SET n.x = 1, §m", "single properties"),
        ("WITH KALMAN SET n.x = §'text'", "smooths numbers"),
        ("WITH KALMAN SET n.x = §[1, 2]", "smooths numbers"),
        ("WITH KALMAN SET n.x = n.x §> 1", "smooths numbers"),
        ("WITH KALMAN SET n.x = §date()", "smooths numbers"),
        ("WITH KALMAN SET n.x = 1, n.y = §n", "smooths numbers"),
    ],
)
def test_a_set_is_of_one_property(inside: str, message: str) -> None:
    error, _ = refused(f"CREATE PROMOTION POLICY p FOR (n:A) APPLY {{ ON ACCESS {{ {inside} }} }}")
    assert message in error.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE OR REPLACE DECAY PROFILE §IF NOT EXISTS p OPTIONS {}", "exclude each other"),
        ("CREATE OR REPLACE DECAY PROFILE p §IF NOT EXISTS OPTIONS {}", "exclude each other"),
        (
            (
                "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET n.x = 1 } §ON ACCESS {"
                " SET n.y = 1 } }"
            ),
            "can stand once",
        ),
        ("CREATE DECAY PROFILE p OPTIONS {} §FOR (n) APPLY { NO DECAY }", "has no target"),
        ("CREATE DECAY PROFILE p FOR (n:A)§", "a binding says what it does"),
        ("CREATE PROMOTION POLICY p FOR (n)§", "a policy says what it does"),
        ("CREATE DECAY PROFILE p FOR (n:A) APPLY { §}", "at least one directive"),
        ("CREATE PROMOTION POLICY p FOR (n:A) APPLY { §}", "at least one WHEN"),
        ("CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { §} }", "at least one SET"),
        ("ALTER DECAY PROFILE p §SET OPTIONS {}", "nothing to change"),
        ("AS OF SYSTEM TIME §timestamp() CREATE DECAY PROFILE p OPTIONS {}", "for reading"),
    ],
)
def test_other_refusals(text: str, message: str) -> None:
    error, _ = refused(text)
    assert message in error.message


# Values that parameters give


@pytest.mark.parametrize(
    ("kind", "key", "value", "wanted"),
    [
        ("DECAY PROFILE", "function", "STEP", "step"),
        ("DECAY PROFILE", "scoreFrom", "custom", "CUSTOM"),
        ("DECAY PROFILE", "halfLifeSeconds", -5, -5),
        ("PROMOTION PROFILE", "multiplier", 2.5, 2.5),
        ("PROMOTION POLICY", "enabled", False, False),
        ("KALMAN", "windowSize", 32, 32),
    ],
)
def test_execution_asks_the_same(kind: str, key: str, value: object, wanted: object) -> None:
    found = check_option(kind, key, value)
    assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("DECAY PROFILE", "halfLifeSeconds", float("nan")),
        ("DECAY PROFILE", "halfLifeSeconds", float("inf")),
        ("DECAY PROFILE", "halfLifeSeconds", 10**400),
        ("DECAY PROFILE", "halfLifeSeconds", HALF_LIFE_S_MAX + 1),
        ("DECAY PROFILE", "visibilityThreshold", float("nan")),
        ("DECAY PROFILE", "scope", None),
        ("DECAY PROFILE", "scoreFrom", ["CREATED"]),
        ("PROMOTION PROFILE", "multiplier", float("inf")),
        ("PROMOTION PROFILE", "scoreCap", True),
        ("PROMOTION POLICY", "enabled", 1),
        ("KALMAN", "q", float("nan")),
        ("KALMAN", "r", {"a": 1}),
        ("KALMAN", "windowSize", True),
    ],
)
def test_execution_refuses_the_same(kind: str, key: str, value: object) -> None:
    with pytest.raises(QueryError) as caught:
        check_option(kind, key, value, at=7)
    assert caught.value.at == 7
    assert caught.value.message.startswith(f"{key} is ")
    assert caught.value.next_step
    with pytest.raises(QueryError) as caught:
        check_option(kind, key, value)
    assert caught.value.at is None


def test_execution_checks_directives_and_what_fits_together() -> None:
    for kind, value in (("half_life", -5), ("floor", 1), ("threshold", 0.5), ("profile", "p")):
        assert check_directive(kind, value) == value
    for kind, value in (
        ("half_life", 0),
        ("half_life", "5"),
        ("floor", 1.5),
        ("threshold", float("nan")),
        ("profile", ""),
        ("profile", 5),
    ):
        with pytest.raises(QueryError):
            check_directive(kind, value)
    check_options(
        "DECAY PROFILE",
        {"scoreFrom": "CUSTOM", "scoreFromProperty": "x", "halfLifeSeconds": 0, "function": "none"},
    )
    check_options("DECAY PROFILE", {"halfLifeSeconds": 0})
    check_options("PROMOTION PROFILE", {"scoreFloor": 1, "scoreCap": 0})
    for values in (
        {"scoreFrom": "CUSTOM"},
        {"scoreFromProperty": "x"},
        {"scoreFrom": "CREATED", "scoreFromProperty": "x"},
    ):
        with pytest.raises(QueryError):
            check_options("DECAY PROFILE", values)
    with pytest.raises(QueryError) as caught:
        check_options("DECAY PROFILE", {"halfLifeSeconds": 0, "function": "step"}, at=3)
    assert caught.value.at == 3


def test_an_alteration_is_judged_with_what_was_said_before() -> None:
    for text in ("scoreFromProperty: 'x'", "scoreFrom: 'CUSTOM'", "halfLifeSeconds: 0"):
        commands(f"ALTER DECAY PROFILE p SET OPTIONS {{ {text} }}")
    refused("ALTER DECAY PROFILE p SET OPTIONS { scoreFrom: 'VERSION', §scoreFromProperty: 'x' }")
    refused("ALTER DECAY PROFILE p SET OPTIONS { §halfLifeSeconds: 0, function: 'linear' }")


def test_the_functions_and_anchors_are_those_that_are_computed() -> None:
    assert FUNCTIONS == decay.FUNCTIONS
    assert [
        check_option("DECAY PROFILE", "scoreFrom", anchor.lower()) for anchor in decay.ANCHORS
    ] == list(decay.ANCHORS)


# Comments with dashes


@pytest.mark.parametrize(
    "text",
    [
        "-- one\n--two\n\n  -- it's three\nRETURN 1 AS x",
        "/* a */ -- b\n// c\n--\nRETURN 1 AS x",
        "------ heading ------\nRETURN 1 AS x",
        "--\r\nRETURN 1 AS x",
        "\ufeff-- a\nRETURN 1 AS x",
    ],
)
def test_dashes_before_any_statement(text: str) -> None:
    assert parse(text) == parse("RETURN 1 AS x")


def test_dashes_in_queries_are_relationships() -> None:
    for text in (
        "MATCH (a) -- (b) RETURN a",
        "MATCH (a)\n-- (b) RETURN a",
        "MATCH (a) --\n(b) RETURN a",
        "RETURN 1 -- 1 AS x",
    ):
        assert check(parse(text), text).columns
    for text in ("RETURN 1 AS x -- it's one", "MATCH (n) -- the rest\nRETURN n"):
        with pytest.raises(QueryError):
            parse(text)


def test_dashes_within_policy_commands() -> None:
    text = (
        "CREATE -- a\n DECAY -- it's b\nPROFILE p --\nOPTIONS { -- { \n function: 'step' ---"
        " \"c\n-- 'd\n halfLifeSeconds: 5 -- $h }\n-- e\n} -- f\n\tCREATE PROMOTION POLICY q FOR"
        " (n:`a -- b`) APPLY { ON ACCESS { SET n.x = ' -- c', n.y = 1 --1, n.z = 5 // -- d\n } /*"
        " -- e */ }"
    )
    bundle, policy = commands(text)
    assert bundle == t.CreateDecayBundle(
        "p", options(function="step", halfLifeSeconds=5), False, False
    )
    assert isinstance(policy, t.CreatePromotionPolicy)
    assert policy.target.names == ("a -- b",)
    assert [one.value for one in policy.accesses] == [
        t.Literal(" -- c"),
        parse_expression("1 - -1"),
        t.Literal(5),
    ]
    assert text[policy.at :].startswith("CREATE PROMOTION")


def test_places_are_those_of_the_text_with_its_comments() -> None:
    refused(
        "-- one 'é\n/* two */ CREATE DECAY PROFILE p OPTIONS { -- three ' \n function: §'cubic' }"
    )
    refused("CREATE DECAY PROFILE p OPTIONS { enabled: true } -- it's done\n§RETURN 1")
    refused("CREATE DECAY PROFILE p OPTIONS { -- it's\n function: §'open }")
    refused("-- nothing but a comment§")
    refused("-- a\n§-x")


def test_scripts_are_cut_between_policy_commands() -> None:
    parts = [
        (
            "-- it's first; not cut\nCREATE DECAY PROFILE a OPTIONS { function: 'step';"
            " halfLifeSeconds: 5; } -- done; so\n"
        ),
        "\n-- second\ndrop decay profile a",
        (
            "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET n.x = ';}'; SET n.y = 1 } /*"
            " } ; */; WHEN n.x APPLY PROFILE p }"
        ),
        " -- third; it's\nRETURN {a: 1}",
        "MATCH (n) -- (m) RETURN ';'",
    ]
    script = ";".join(parts) + "; -- it's; over"
    pieces = statements(script)
    assert [piece.text for piece in pieces] == [part.strip() for part in parts]
    assert all(piece.ended and script.startswith(piece.text, piece.at) for piece in pieces)
    for piece in pieces:
        parse(piece.text)


def test_a_cut_needs_no_end() -> None:
    assert [piece.text for piece in statements("CREATE DECAY PROFILE a OPTIONS { x; y")] == [
        "CREATE DECAY PROFILE a OPTIONS { x; y"
    ]
    assert [piece.text for piece in statements("DROP DECAY PROFILE a }; x")] == [
        "DROP DECAY PROFILE a }",
        "x",
    ]
    assert statements("-- a;\n--b\n/* c */ ; -- d") == []


# Any text

INSTEAD = ("", "", "}", "{", "DECAY", "NO", ".", "'", "--", "`", "WHEN", "SET", ";", "$x")
PIECES = (
    "--",
    "-- ",
    "'",
    '"',
    "`",
    "/*",
    "*/",
    "//",
    "\n",
    " ",
    ";",
    "{",
    "}",
    "CREATE DECAY PROFILE",
    "a",
    "\\",
    "\r",
    "RETURN",
)


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


@given(st.lists(st.sampled_from(PIECES)))
def test_blanked_comments_leave_all_else_in_place(words: list[str]) -> None:
    text = "".join(words)
    ready = without_dashes(text)
    assert len(ready) == len(text)
    assert all(
        now == before or (now == " " and before not in "\n\r")
        for now, before in zip(ready, text, strict=True)
    )
    for piece in statements(text):
        assert text.startswith(piece.text, piece.at)
        assert piece.text


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
