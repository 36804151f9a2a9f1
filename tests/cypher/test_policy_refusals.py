"""Policy commands that are refused, each at its place, and the values that parameters may give."""

from __future__ import annotations

import pytest

from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse
from doxa.cypher.policy_options import (
    FUNCTIONS,
    HALF_LIFE_S_MAX,
    check_directive,
    check_option,
    check_options,
)
from doxa.cypher.semantics.check import check
from doxa.policy import decay
from tests.cypher.policy_trees import WRITES, commands, refused

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
