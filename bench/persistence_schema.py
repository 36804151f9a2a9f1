"""The policy schema as an operator meets it: authored in the paper's order, listed, resolved,
scored to the nanosecond, and begun by the bootstrap.

The policies are those of the paper's sections 4.2 and 5.2. Scores are compared with the paper's
numbers and with its formulas, written out again.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import doxa
from bench.persistence_parts import DAY_NS, SECOND_NS, START_NS, Part, Scale, Tally, ask, fresh
from doxa.base.clock import FakeClock

_WEEK_NS = 7 * DAY_NS
_SMALL = 1e-9
_BUNDLE = """
CREATE DECAY PROFILE memory_episode_params OPTIONS {
  halfLifeSeconds: 604800,
  function: 'exponential',
  scoreFrom: 'LAST_ACCESSED',
  visibilityThreshold: 0.10
}
"""
_BINDING = """
CREATE DECAY PROFILE memory_retention
FOR (n:MemoryEpisode)
APPLY {
  DECAY PROFILE 'memory_episode_params'
  DECAY VISIBILITY THRESHOLD 0.10
}
"""
_PROFILES = (
    (
        "CREATE PROMOTION PROFILE reinforced OPTIONS { multiplier: 1.25, scoreFloor: 0.0, scoreCap:"
        " 1.0 }"
    ),
    (
        "CREATE PROMOTION PROFILE high_confidence OPTIONS { multiplier: 1.5, scoreFloor: 0.8,"
        " scoreCap: 1.0 }"
    ),
)
_POLICY = """
CREATE PROMOTION POLICY memory_reinforcement
FOR (n:MemoryEpisode)
APPLY {
  ON ACCESS {
    SET n.accessCount = coalesce(n.accessCount, 0) + 1
    SET n.lastAccessedAt = timestamp()

    WITH KALMAN{q: 0.05, r: 50.0} SET n.confidenceScore = $evaluatedConfidence
  }

  WHEN n.accessCount >= 3
    APPLY PROFILE 'reinforced'

  WHEN n.accessCount >= 5 AND n.confidenceScore >= 0.8
    APPLY PROFILE 'high_confidence'
}
"""
_STEADY = (
    "CREATE PROMOTION POLICY steadiness FOR (n:Steady) APPLY { WHEN n.accessCount > 1 APPLY PROFILE"
    " 'steady' }"
)
_BESIDES = (
    "CREATE DECAY PROFILE knowledge_fact_retention FOR (n:KnowledgeFact) APPLY { NO DECAY }",
    (
        "CREATE DECAY PROFILE urgent_episode FOR (n:MemoryEpisode:Urgent) APPLY { DECAY HALF LIFE"
        " 86400 DECAY FLOOR 0.05 }"
    ),
    "CREATE DECAY PROFILE archived FOR (n:Archived) APPLY { DECAY HALF LIFE 3600 }",
    "CREATE DECAY PROFILE all_nodes FOR () APPLY { DECAY HALF LIFE 31536000 }",
    (
        "CREATE DECAY PROFILE co_accessed FOR ()-[r:CO_ACCESSED]-() APPLY { DECAY HALF LIFE 86400"
        " DECAY VISIBILITY THRESHOLD 0.5 }"
    ),
    "CREATE DECAY PROFILE all_edges FOR ()-[r]-() APPLY { NO DECAY }",
)
_INFO = (
    "enabled, system, decayProfiles, decayBindings, promotionProfiles, promotionPolicies,"
    " configuredVia"
)
_COLUMNS = {
    "SHOW DECAY PROFILES": "kind, name, scope, target, profileRef, enabled",
    "SHOW PROMOTION PROFILES": "name, scope, multiplier, scoreFloor, scoreCap, enabled",
    "SHOW PROMOTION POLICIES": "name, scope, target, enabled, whenClauses, onAccessMutations",
    "CALL nornicdb.knowledgepolicy.info()": _INFO,
    "CALL nornicdb.knowledgepolicy.profiles()": (
        "kind, Name, HalfLifeSeconds, VisibilityThreshold, ScoreFloor, Function, Scope,"
        " DecayEnabled, ScoreFrom, ScoreFromProperty, Enabled, TargetLabels, TargetEdgeType,"
        " IsWildcard, IsEdge, ProfileRef, NoDecay, Order"
    ),
    "CALL nornicdb.knowledgepolicy.policies()": (
        "kind, Name, Scope, Multiplier, ScoreFloor, ScoreCap, Enabled, TargetLabels,"
        " TargetEdgeType, IsWildcard, IsEdge"
    ),
    "CALL nornicdb.knowledgepolicy.resolve('', 'MemoryEpisode', '')": (
        "TargetID, TargetScope, ResolvedDecayProfileID, ResolvedScoreFrom, ResolutionSourceChain,"
        " AppliedDecayProfileNames, AppliedPromotionPolicyName, AppliedPromotionProfileName,"
        " EffectiveRate, EffectiveThreshold, EffectiveMultiplier, BaseScore, FinalScore, NoDecay,"
        " SuppressionEligible, Explanation"
    ),
    "CALL nornicdb.knowledgepolicy.deindexStatus()": (
        "pending_count, supported, message, workItemId, targetId, targetScope, enqueuedAt, status"
    ),
}
_EPISODES = (  # the paper's points of its section 5.2, and those between
    (0.0, 1.0),
    (7.0, 0.5),
    (14.0, 0.25),
    (21.0, 0.125),
    (23.25, None),
    (24.0, None),
    (30.0, None),
)
_SHOWN = {23.25: "0.100", 24.0: "0.093"}  # as the paper rounds them


def schema(scale: Scale, seed: int) -> Part:
    """Part 7: authoring, catalogue rows, resolution, functions, and how a new file begins."""
    part, tally = Part(), Tally()
    clock = FakeClock(START_NS)
    with fresh(clock=clock) as memory:
        _authored(tally, memory)
        _rows(tally, memory)
        for command in _BESIDES:
            memory.run(command)
        _resolved(tally, memory)
        _functions(tally, memory, clock)
    scores = _scores(tally)
    _curves(tally)
    _neutral(tally)
    _bootstrap(tally)
    part.take(tally)
    rows = [[about, str(tally.asked[about]), tally.cell(about)] for about in tally.asked]
    part.tables.append(("Policy schema: right answers", ["what", "answers", "right"], rows))
    head = ["age in days", "decayScore", "the formula", "visible"]
    part.tables.append(
        ("A memory that nobody uses: half-life 7 days, threshold 0.10", head, scores)
    )
    part.summary = f"{sum(tally.right.values())} of {sum(tally.asked.values())} answers right"
    return part


def _authored(tally: Tally, memory: doxa.Memory) -> None:
    """In the recommended order everything is taken; a name that leads nowhere is refused, and so is
    dropping what is used."""
    about = "authoring order"
    for text in (
        _BINDING,
        _POLICY.replace("'reinforced'", "'not_there'"),
        "DROP DECAY PROFILE memory_retention",
    ):
        tally.see(about, _refused(memory, text), True, of=text)
    for text in (_BUNDLE, _BINDING, *_PROFILES, _POLICY):
        tally.see(about, _refused(memory, text), False, of=text)
    for text in ("DROP DECAY PROFILE memory_episode_params", _BUNDLE, _POLICY):
        tally.see(about, _refused(memory, text), True, of=f"again, or in use: {text}")
    tally.see(
        about,
        _refused(memory, _BUNDLE.replace(" OPTIONS", " IF NOT EXISTS OPTIONS")),
        False,
        of="if it does not exist",
    )
    for text in ("CREATE PROMOTION PROFILE steady OPTIONS { multiplier: 1.1 }", _STEADY):
        tally.see(about, _refused(memory, text), False, of=text)
    for text, refused in (
        ("PROFILE steady", True),
        ("POLICY steadiness", False),
        ("PROFILE steady", False),
    ):
        tally.see(about, _refused(memory, f"DROP PROMOTION {text}"), refused, of=f"drop {text}")


def _refused(memory: doxa.Memory, text: str) -> bool:
    try:
        memory.run(text)
    except doxa.DoxaError:
        return True
    return False


def _rows(tally: Tally, memory: doxa.Memory) -> None:
    for text, columns in _COLUMNS.items():
        for asked in (
            (text, text.replace("nornicdb.knowledgepolicy", "doxa.policy"))
            if text.startswith("CALL")
            else (text,)
        ):
            tally.see(
                "columns of SHOW and CALL", ", ".join(memory.run(asked).columns), columns, of=asked
            )
    about = "rows of SHOW and CALL"
    tally.see(
        about,
        ask(memory, "SHOW DECAY PROFILES"),
        [
            ("bundle", "memory_episode_params", "NODE", None, None, True),
            (
                "binding",
                "memory_retention",
                "NODE",
                "(:MemoryEpisode)",
                "memory_episode_params",
                True,
            ),
        ],
    )
    tally.see(
        about,
        ask(memory, "SHOW PROMOTION PROFILES"),
        [
            ("reinforced", "NODE", 1.25, 0.0, 1.0, True),
            ("high_confidence", "NODE", 1.5, 0.8, 1.0, True),
        ],
    )
    tally.see(
        about,
        ask(memory, "SHOW PROMOTION POLICIES"),
        [("memory_reinforcement", "NODE", "(:MemoryEpisode)", True, 2, 3)],
    )
    tally.see(about, ask(memory, "CALL nornicdb.knowledgepolicy.info()")[0][2:6], (1, 1, 2, 1))
    shared: tuple[Any, ...] = (
        604_800.0,
        0.1,
        0.0,
        "exponential",
        "NODE",
        True,
        "LAST_ACCESSED",
        None,
        True,
    )
    tally.see(
        about,
        [row[:-1] for row in ask(memory, "CALL nornicdb.knowledgepolicy.profiles()")],
        [
            ("decayBundle", "memory_episode_params", *shared, [], None, False, False, None, False),
            (
                "decayBinding",
                "memory_retention",
                *shared,
                ["MemoryEpisode"],
                None,
                False,
                False,
                "memory_episode_params",
                False,
            ),
        ],
    )
    tally.see(
        about,
        ask(memory, "CALL nornicdb.knowledgepolicy.policies()"),
        [
            (
                "promotionProfile",
                "reinforced",
                "NODE",
                1.25,
                0.0,
                1.0,
                True,
                [],
                None,
                False,
                False,
            ),
            (
                "promotionProfile",
                "high_confidence",
                "NODE",
                1.5,
                0.8,
                1.0,
                True,
                [],
                None,
                False,
                False,
            ),
            (
                "promotionPolicy",
                "memory_reinforcement",
                "NODE",
                None,
                None,
                None,
                True,
                ["MemoryEpisode"],
                None,
                False,
                False,
            ),
        ],
    )
    status = (
        "CALL nornicdb.knowledgepolicy.deindexStatus() YIELD pending_count, status RETURN"
        " pending_count, status"
    )
    tally.see(about, ask(memory, status), [(0, "IDLE")])


def _resolved(tally: Tally, memory: doxa.Memory) -> None:
    about = "resolution"
    asked = (
        "CALL nornicdb.knowledgepolicy.resolve($id, $labels, $type) YIELD ResolvedDecayProfileID AS"
        " name, EffectiveRate AS rate, NoDecay AS none "
    )
    cases = (
        ("MemoryEpisode", "", "memory_retention", 604_800.0, False),
        ("MemoryEpisode,Urgent", "", "urgent_episode", 86_400.0, False),
        ("Urgent,MemoryEpisode,Archived", "", "urgent_episode", 86_400.0, False),
        ("MemoryEpisode,Other", "", "memory_retention", 604_800.0, False),
        ("MemoryEpisode,Archived", "", "memory_retention", 604_800.0, False),
        ("Archived", "", "archived", 3_600.0, False),
        ("KnowledgeFact", "", "knowledge_fact_retention", 0.0, True),
        ("Unheard", "", "all_nodes", 31_536_000.0, False),
        ("", "CO_ACCESSED", "co_accessed", 86_400.0, False),
        ("", "UNHEARD", "all_edges", 0.0, True),
        ("MemoryEpisode", "CO_ACCESSED", "co_accessed", 86_400.0, False),
    )
    for labels, kind, *wanted in cases:
        found = ask(
            memory, asked + "RETURN name, rate, none", {"id": "", "labels": labels, "type": kind}
        )
        tally.see(about, found, [tuple(wanted)], of=f"labels {labels!r}, type {kind!r}")
    made = ask(memory, "CREATE (n:Archived:MemoryEpisode {text: 'two rules'}) RETURN elementId(n)")[
        0
    ][0]
    tally.see(
        about,
        ask(memory, asked + "RETURN name", {"id": made, "labels": "Unheard", "type": ""}),
        [("memory_retention",)],
        of="by element id",
    )
    told = ask(
        memory,
        "MATCH (n:Archived:MemoryEpisode) CALL doxa.policy.explain(n) YIELD binding, ties RETURN"
        " binding, ties",
    )
    tie = ["binding archived is as specific as memory_retention, which was registered first"]
    tally.see(
        "a tie is reported, and the first registered holds", told, [("memory_retention", tie)]
    )
    policy = (
        "CALL nornicdb.knowledgepolicy.resolve('', $labels, '') YIELD AppliedPromotionPolicyName AS"
        " name RETURN name"
    )
    for labels, name in (
        ("MemoryEpisode", "memory_reinforcement"),
        ("MemoryEpisode,Urgent", "memory_reinforcement"),
        ("KnowledgeFact", None),
    ):
        tally.see(
            about, ask(memory, policy, {"labels": labels}), [(name,)], of=f"the policy of {labels}"
        )


def _functions(tally: Tally, memory: doxa.Memory, clock: FakeClock) -> None:
    """decayScore, decay and policy of one memory, as its accesses come in."""
    about = "decayScore, decay and policy"
    memory.run("CREATE (:MemoryEpisode {text: 'prefers dark mode'})")
    scored = (
        "MATCH (n:MemoryEpisode {text: 'prefers dark mode'}) WITH n, decay(n) AS d, policy(n) AS p"
        " RETURN "
    )
    clock.set(clock.now_ns() + _WEEK_NS)
    row = ask(
        memory,
        scored
        + "d.policy, d.profile, d.function, d.halfLifeSeconds, d.visibilityThreshold, d.floor,"
        " d.scoreFrom, d.applies, d.scope",
    )
    tally.see(
        about,
        row,
        [
            (
                "memory_retention",
                "memory_episode_params",
                "exponential",
                604_800.0,
                0.1,
                0.0,
                "LAST_ACCESSED",
                True,
                "NODE",
            )
        ],
    )
    tally.see(
        about,
        ask(
            memory, scored + "d.score = decayScore(n), p.accessCount, p.lastAccessedAt, d.promotion"
        ),
        [(True, 0, None, None)],
    )
    for number in range(1, 6):
        session = memory.session(role="operator", context={"session": f"s{number}"})
        ask(
            session,
            "MATCH (n:MemoryEpisode {text: 'prefers dark mode'}) RETURN n, $evaluatedConfidence",
            {"evaluatedConfidence": 0.9},
        )
        memory.flush()
        promotion = None if number < 3 else "reinforced" if number < 5 else "high_confidence"
        found = ask(
            memory,
            scored
            + "p.accessCount, p.lastAccessedAt, d.promotion, d.score, abs(p.confidenceScore - 0.9)"
            " < 1e-12",
        )
        tally.see(
            about,
            found,
            [(number, clock.now_ns() // 10**6, promotion, 1.0, True)],
            of=f"access {number}",
        )
    clock.set(clock.now_ns() + _WEEK_NS)
    smoothed = (
        "p.kalmanFilters.confidenceScore.filteredValue, p.kalmanFilters.confidenceScore.filter.n"
    )
    ((base, score, estimate, count),) = ask(memory, f"{scored} d.baseScore, d.score, {smoothed}")
    later = [abs(base - 0.5) < _SMALL, score, abs(estimate - 0.9) < _SMALL, count]
    tally.see(about, later, [True, 0.8, True, 5], of="a week later: the floor of its promotion")
    ask(memory, "MATCH (n:KnowledgeFact) RETURN n")
    memory.run("CREATE (:KnowledgeFact {text: 'water is wet'})-[:CO_ACCESSED]->(:Unheard)")
    clock.set(clock.now_ns() + 1_000 * DAY_NS)
    tally.see(
        about,
        ask(memory, "MATCH (n:KnowledgeFact) RETURN decayScore(n), decay(n).applies"),
        [(1.0, False)],
        of="no decay",
    )
    tally.see(
        about,
        ask(memory, "MATCH (:KnowledgeFact)-[r]->() RETURN type(r)"),
        [],
        of="an edge that faded",
    )


def _scores(tally: Tally) -> list[list[str]]:
    """The paper's numbers: the score at each age, and the moment of hiding to the microsecond."""
    clock, rows = FakeClock(START_NS), []
    with fresh(clock=clock) as memory:
        for text in (_BUNDLE, _BINDING):
            memory.run(text)
        clock.advance(seconds=1)
        memory.run("CREATE (:MemoryEpisode {text: 'prefers dark mode'})")
        born = memory.log(limit=1)[0].time
        for days, paper in _EPISODES:
            clock.set(born + round(days * DAY_NS))
            ((score, seen),) = ask(
                memory, "MATCH (n:MemoryEpisode) RETURN decayScore(reveal(n)), decay(n).visible"
            )
            formula = math.exp(-days * math.log(2) / 7)
            count = ask(memory, "MATCH (n:MemoryEpisode) RETURN count(*)")
            tally.see(
                "the paper's scores",
                abs(score - (formula if paper is None else paper)) < _SMALL,
                True,
                of=f"{days} days: {score}",
            )
            tally.see(
                "the paper's scores",
                [(int(seen),)],
                count,
                of=f"{days} days: decay().visible and MATCH",
            )
            tally.see(
                "the paper's scores",
                f"{score:.3f}",
                _SHOWN.get(days, f"{score:.3f}"),
                of=f"{days} days: {score}",
            )
            tally.see("the paper's scores", count, [(int(days < 23.2535),)], of=f"{days} days")
            rows.append(
                [f"{days:g}", f"{score:.9f}", f"{formula:.9f}", "yes" if count == [(1,)] else "no"]
            )
        crossing = round(_WEEK_NS * math.log2(10))
        clock.set(born + crossing)
        ((score,),) = ask(memory, "MATCH (n:MemoryEpisode) RETURN decayScore(reveal(n))")
        tally.see(
            "the paper's scores", abs(score - 0.1) < _SMALL, True, of=f"at the crossing: {score}"
        )
        rows.append(
            [
                f"{crossing / DAY_NS:.9f}",
                f"{score:.9f}",
                f"{2 ** (-crossing / _WEEK_NS):.9f}",
                "until then",
            ]
        )
        for shift, shown in ((-1_000, 1), (1_000, 0)):
            clock.set(born + crossing + shift)
            tally.see(
                "hidden at 23.2535 days, to the microsecond",
                ask(memory, "MATCH (n:MemoryEpisode) RETURN count(*)"),
                [(shown,)],
                of=f"{shift} ns",
            )
    return rows


def _curves(tally: Tally) -> None:
    """All function families, both signs, with floors, at ages that are set exactly."""
    about = "every curve against its formula"
    clock = FakeClock(START_NS)
    with fresh(clock=clock) as memory:
        cases = [
            (function, half, floor)
            for function in ("exponential", "linear", "step")
            for half in (86_400, -86_400)
            for floor in (0.0, 0.3)
        ]
        for number, (function, half, floor) in enumerate(cases):
            memory.run(
                f"CREATE DECAY PROFILE b{number} OPTIONS {{halfLifeSeconds: {half}, function:"
                f" '{function}', scoreFloor: {floor}}}"
            )
            memory.run(
                f"CREATE DECAY PROFILE t{number} FOR (n:C{number}) APPLY {{ DECAY PROFILE"
                f" 'b{number}' }}"
            )
        clock.advance(seconds=1)
        labels = ", ".join(f"(:C{number})" for number in range(len(cases)))
        memory.run(f"CREATE {labels}")
        born = memory.log(limit=1)[0].time
        for days in (0.0, 0.25, 1.0 - 1e-9, 1.0, 1.5, 2.0, 7.0):
            clock.set(born + round(days * DAY_NS))
            for number, (function, half, floor) in enumerate(cases):
                ((score,),) = ask(memory, f"MATCH (n:C{number}) RETURN decayScore(n)")
                wanted = max(floor, _curve(function, half, round(days * DAY_NS)))
                tally.see(
                    about,
                    abs(score - wanted) < _SMALL,
                    True,
                    of=f"{function}, {half} s, floor {floor}, {days} days: {score}, not {wanted}",
                )


def _curve(function: str, half_s: int, age_ns: int) -> float:
    age, half = age_ns / SECOND_NS, abs(half_s)
    found = {
        "exponential": math.exp(-age * math.log(2) / half),
        "linear": max(0.0, 1 - age / (2 * half)),
        "step": float(age < half),
    }[function]
    return found if half_s > 0 else 1 - found


def _neutral(tally: Tally) -> None:
    """With decay off policies stay, and nothing comes of them."""
    about = "decay off: neutral"
    with tempfile.TemporaryDirectory() as folder:
        clock, path = FakeClock(START_NS), Path(folder) / "memory.db"
        options: dict[str, Any] = {
            "role": "operator",
            "embedder": None,
            "background": False,
            "clock": clock,
        }
        with doxa.open(path, **options) as memory:
            memory.run(_BUNDLE)
            memory.run(_BINDING)
            memory.run("CREATE (:MemoryEpisode {text: 'prefers dark mode'})")
            clock.advance(days=100)
            tally.see(about, ask(memory, "MATCH (n:MemoryEpisode) RETURN n.text"), [], of="on")
        with doxa.open(path, **options, decay_enabled=False) as memory:
            asked = "MATCH (n) RETURN labels(n), decayScore(n), decay(n).applies, decay(n).reason"
            tally.see(
                about,
                ask(memory, asked),
                [(["MemoryEpisode"], 1.0, False, "decay subsystem disabled")],
            )
            tally.see(
                about,
                [row[0] for row in ask(memory, "CALL nornicdb.knowledgepolicy.info()")],
                [False],
            )
            tally.see(about, len(ask(memory, "SHOW DECAY PROFILES")), 2)


def _bootstrap(tally: Tally) -> None:
    """decay_enabled=True on a new file installs the standard policies, and leaves alone what is
    there."""
    about = "bootstrap"
    clock = FakeClock(START_NS)
    asked = (
        "CALL nornicdb.knowledgepolicy.resolve('', $labels, $type) YIELD NoDecay AS none,"
        " EffectiveRate AS rate, EffectiveThreshold AS least "
    )
    wanted = {
        ("KnowledgeFact", ""): (True, 0.0),
        ("WisdomDirective", ""): (True, 0.0),
        ("MemoryEpisode", ""): (False, 604_800.0),
        ("", "EVIDENCES"): (False, 2_592_000.0),
        ("", "SUPERSEDES"): (True, 0.0),
        ("", "CONSOLIDATES_TO"): (True, 0.0),
        ("", "REVISES"): (True, 0.0),
        ("", "DERIVED_FROM"): (True, 0.0),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        options: dict[str, Any] = {
            "role": "operator",
            "embedder": None,
            "background": False,
            "clock": clock,
        }
        with doxa.open(path, **options, decay_enabled=True) as memory:
            for (labels, kind), (none, rate) in wanted.items():
                found = ask(memory, asked + "RETURN none, rate", {"labels": labels, "type": kind})
                tally.see(about, found, [(none, rate)], of=f"{labels}{kind}")
            least = ask(memory, asked + "RETURN least", {"labels": "MemoryEpisode", "type": ""})
            tally.see(about, least, [(0.1,)])
            memory.run(
                "ALTER DECAY PROFILE memory_episode_retention SET OPTIONS {halfLifeSeconds: 86400}"
            )
            memory.run("DROP PROMOTION POLICY wisdom_directive_stability")
            before = _catalogue(memory)
        with doxa.open(path, **options, decay_enabled=True) as memory:
            tally.see(
                about,
                _catalogue(memory),
                before,
                of="opened again: what an operator changed and dropped stays so",
            )
        for name, text in (("own policies", _BUNDLE), ("data", "CREATE (:KnowledgeFact)")):
            other = Path(folder) / f"{len(text)}.db"
            with doxa.open(other, **options) as memory:
                tally.see(about, len(_catalogue(memory)), 0, of="not asked for")
                memory.run(text)
                before = _catalogue(memory)
            with doxa.open(other, **options, decay_enabled=True) as memory:
                tally.see(about, _catalogue(memory), before, of=f"a file with {name} is left alone")


def _catalogue(memory: doxa.Memory) -> list[Any]:
    shows = (
        "SHOW DECAY PROFILES",
        "SHOW PROMOTION PROFILES",
        "SHOW PROMOTION POLICIES",
        "CALL nornicdb.knowledgepolicy.profiles()",
    )
    return [row for text in shows for row in ask(memory, text)]
