"""One example for each constant of fusion, questions, restatements, answerability and hits, worked
out by hand from the documented formulas and rules, never from the constant itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from doxa.models import OverlapReranker
from doxa.recall import answerability, constants, engine, hits, ranking, trust
from doxa.recall.budget import fit_budget, tokens_of
from doxa.recall.candidates import Scale
from doxa.recall.diversity import diversify, filter_siblings
from doxa.recall.expansion import split_question
from doxa.recall.framing import framed
from doxa.recall.fusion import fuse, gate
from doxa.recall.hits import Ranked
from doxa.recall.lane_names import LANES
from doxa.recall.lanes.noise import Noise, Noises
from doxa.recall.lanes.words import Posting
from doxa.recall.question import read_question
from doxa.recall.ranking import hits_to_read, merge_expansion, promote_updates
from doxa.recall.rerank import rerank
from doxa.recall.slots import read_slots, states_nothing
from doxa.recall.threshold import above_threshold, weigh
from doxa.recall.types import Ask, Hit
from doxa.recall.updates import Placed, RankedTurn, differing, reorder
from doxa.store import TRUSTS
from tests.fixtures_shared import opened
from tests.recall.constant_examples import (
    EXAMPLES,
    START,
    CompassEmbedder,
    Floats,
    calibrated,
    example,
    ferries,
    memory_of,
    near,
)

__all__ = ["EXAMPLES"]


# Fusion: the score of one candidate, by one lane at a time


def score(
    *, mode: str = "auto", belief: float = 0, statement: bool = False, **lanes: float
) -> float:
    values = dict.fromkeys(LANES, 0.0) | {"meaning": 0.3, "policy": 1.0} | lanes
    arrays = {name: np.array([value], dtype=np.float32) for name, value in values.items()}
    made = fuse(
        arrays,
        average=0.3,
        spread=0.1,
        belief=np.array([belief], dtype=np.float32),
        mode=mode,
        statement=statement,
    )
    return float(made[0])


@example("MEANING")
def a_deviation_of_meaning_weighs_27_hundredths() -> None:
    near(score(meaning=0.5), 0.54)


@example("WORDS")
def words_weigh_six_tenths_by_their_gate() -> None:
    """Half of the question covered opens the gate to 1/4 / (1/4 + 9/400) = 100/109."""
    near(score(words=0.5), 60 / 109)


@example("C")
def the_gate_is_half_open_at_15_hundredths() -> None:
    near(score(words=0.15), 0.3)
    near(gate(0.3, statement=False), 0.8)


@example("C_STATEMENT")
def the_gate_of_a_statement_is_half_open_at_a_half() -> None:
    near(score(words=0.5, statement=True), 0.3)


@example("ENTITIES")
def entities_weigh_a_third() -> None:
    near(score(entities=1), 1 / 3)


@example("TIME")
def time_weighs_a_quarter() -> None:
    near(score(time=1), 1 / 4)


@example("GRAPH")
def links_weigh_two_fifths() -> None:
    near(score(graph=0.5), 1 / 5)


@example("MENTIONS")
def entities_of_good_hits_weigh_two_fifths() -> None:
    near(score(mentions=0.5), 1 / 5)


@example("RECENCY")
def recency_weighs_a_twentieth() -> None:
    near(score(recency=1), 1 / 20, 1e-6)


@example("POLICY")
def what_a_policy_takes_weighs_three_tenths() -> None:
    near(score(policy=0), -3 / 10)


@example("BETA", "BELIEF")
def mode_max_weighs_a_belief_by_its_cosine() -> None:
    near(score(mode="max", meaning=0.8, belief=1), 0.68)


@example("TURN")
def mode_max_weighs_a_turn_nine_tenths() -> None:
    near(score(mode="max", words=0.7), 0.63)


def two_scores(mode: str, *, words: Sequence[float], meaning: Sequence[float]) -> list[float]:
    lanes = {name: np.zeros(2, dtype=np.float32) for name in LANES}
    lanes["words"], lanes["meaning"] = np.float32(words), np.float32(meaning)  # type: ignore[assignment]
    lanes["policy"] = np.ones(2, dtype=np.float32)
    belief = np.zeros(2, dtype=np.float32)
    found = fuse(lanes, average=0, spread=1, belief=belief, mode=mode, statement=False)
    return [float(value) for value in found]


@example("ALPHA")
def mode_convex_gives_meaning_six_tenths() -> None:
    assert two_scores("convex", words=(0.5, 0), meaning=(0, 0.6)) == pytest.approx([0.4, 0.6])


@example("RANKS")
def mode_rrf_adds_sixty_to_a_rank() -> None:
    found = two_scores("rrf", words=(0.5, 0.4), meaning=(0.9, 0.8))
    assert found == pytest.approx([2 / 61, 2 / 62], abs=1e-7)


@example("THREAD")
def a_memory_of_the_asking_thread_counts_nine_fifths() -> None:
    with memory_of("The ferry is late", "The ferry is late", embedder=None) as memory:
        thread = memory.recall("ferry", project="p", lanes=("words",)).hits[1].source
        first, second = memory.recall(
            "ferry", project="p", lanes=("words",), from_thread=thread
        ).hits
        assert first.source == thread
        near(first.score / second.score, 9 / 5, 1e-3)


# Reading a question, expansion


@example("STATEMENT_WORDS_MIN")
def a_statement_has_six_words() -> None:
    assert read_question("I threw my old shoes away").statement
    assert not read_question("I threw my shoes away").statement
    assert read_question("I threw my old shoes away " + "again " * 60).statement


@example("QUESTION_TERMS_MIN")
def two_terms_remain_of_a_question() -> None:
    assert read_question("Can you list the ferry ports?").text == "the ferry ports?"
    assert read_question("Can you list the ferries?").text == "Can you list the ferries?"


@example("PART_TERMS_MIN")
def a_part_of_a_question_has_two_terms() -> None:
    assert split_question("Where is Bo, and who steers?") == []
    assert split_question("Where sails Bo, and who steers boats?") == [
        "Where sails Bo",
        "who steers boats",
    ]


@example("EXPANSIONS_MAX")
def four_expansions_are_searched() -> None:
    parts = [f"boat {number} sails" for number in range(60)]
    assert split_question("; ".join(parts)) == parts[:4]


def ranked(
    *, row: int = 0, score: float = 1.0, postings: Sequence[Posting] = (), **lanes: float | None
) -> Ranked:
    values = dict.fromkeys(LANES, 0.0) | {"meaning": None, "policy": 1.0} | lanes
    project: Any = SimpleNamespace(scope=1)
    return Ranked(project, row, score, values, list(postings))


@example("EXPANSION_WEIGHT")
def what_an_expansion_finds_counts_nine_tenths() -> None:
    others = [ranked(row=1, score=4), ranked(row=2, score=2)]
    merged = merge_expansion([ranked(score=2)], others)
    assert [item.score for item in merged] == pytest.approx([2, 1.8, 0.9])


# Updates, ties, turns that state nothing


def overtakes(followers: int) -> bool:
    """Whether an update is found that so many turns separate from what it updates."""
    question = "What is the deadline of the ferry?"
    first = "The ferry deadline is April 1"
    later = "The ferry people have told me and Bo a lot, the ferry deadline is now April 5"
    names = "abcdefghijklmnopqrstuvwxyz"[:followers]
    crowd = [{"speaker": "Bo", "text": f"ferry deadline note {x}"} for x in names]
    said = [{"speaker": "Ana", "text": first}, *crowd, {"speaker": "Ana", "text": later}]
    turns = [
        turn | {"thread": str(number), "time": START + number} for number, turn in enumerate(said)
    ]
    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", embedder=None) as memory:
        memory.ingest(turns, extract=False)
        plain = memory.recall(question, lanes=("words",), limit=40, history=True).hits
        assert plain[-1].text == later  # the last of them all
        found = memory.recall(question, lanes=("words",), limit=40).hits
        return any("may update" in hit.why for hit in found)


@example("UPDATE_HITS")
def an_update_is_looked_for_among_twenty_hits() -> None:
    assert overtakes(18) and not overtakes(19)


def placed(
    *texts: str,
    question: str = "What is the deadline?",
    weights: dict[str, float] | None = None,
    likeness: float | None = 2.0,
    scores: Sequence[float] = (),
) -> list[Placed]:
    """The order of turns said one after the other, all as much alike."""
    turns = [
        RankedTurn(1, (number, number), text, scores[number] if scores else 1.0)
        for number, text in enumerate(texts)
    ]
    alike = [[likeness] * len(texts) for _ in texts]
    return reorder(question, weights or {"deadlin": 1.0}, turns, alike)


def claimed(*texts: str, **options: Any) -> bool:
    return any(one.updates is not None for one in placed(*texts, **options))


FIRST, LATER = "The deadline is April 1. We all know it", "They wrote: the deadline is April 5"


@example("UPDATE_MOVES_MAX")
def three_turns_are_moved_up() -> None:
    texts = [f"{day} talked. The deadline is April {day}. Then {day} left" for day in range(1, 31)]
    assert [one.place for one in placed(*texts)][:5] == [3, 2, 1, 0, 4]


@example("UPDATE_ALIKE")
def two_turns_are_alike_from_twelve_tenths_of_a_deviation() -> None:
    assert claimed(FIRST, LATER, likeness=1.2) and not claimed(FIRST, LATER, likeness=1.19)


def with_words(*words: str) -> str:
    return f"The deadline of {' '.join(words)} is April {len(' '.join(words)) % 9 + 1}"


@example("UPDATE_SLOT")
def a_quarter_of_the_words_around_two_values_is_the_same() -> None:
    assert claimed(with_words("red", "big", "hot"), with_words("blue", "tiny", "cold"))
    assert not claimed(
        with_words("red", "big", "hot", "wet"), with_words("blue", "tiny", "cold", "dry")
    )


@example("UPDATE_SLOT_WORDS")
def without_vectors_half_of_them_is_the_same() -> None:
    two = with_words("red", "big", "hot"), with_words("red", "tiny", "cold")
    assert claimed(*two, likeness=None)
    two = with_words("red", "big", "hot", "wet"), with_words("red", "tiny", "cold", "dry")
    assert not claimed(*two, likeness=None)


def sprint(earlier: str, later: str, *, sprint: float) -> bool:
    weights = {"deadlin": 1 - sprint, "sprint": sprint}
    return claimed(earlier, later, question="What is the sprint deadline?", weights=weights)


@example("UPDATE_TOPIC")
def three_tenths_of_a_question_are_around_both_values() -> None:
    assert sprint(FIRST, LATER, sprint=0.7) and not sprint(FIRST, LATER, sprint=0.71)


@example("UPDATE_MISSING")
def a_quarter_of_the_question_may_be_missing() -> None:
    first = "the sprint deadline is April 1"
    assert sprint(first, LATER, sprint=0.25) and not sprint(first, LATER, sprint=0.26)


@example("UPDATE_MISSING_CHANGED")
def with_a_word_of_change_45_hundredths_may_be_missing() -> None:
    first, later = "the sprint deadline is April 1", "the deadline is now April 5"
    assert sprint(first, later, sprint=0.45) and not sprint(first, later, sprint=0.46)


@example("UPDATE_SCORE")
def a_turn_of_half_the_score_is_moved() -> None:
    for score, order in ((0.5, [1, 0]), (0.49, [0, 1])):
        assert [one.place for one in placed(FIRST, LATER, scores=(1.0, score))] == order
        assert claimed(FIRST, LATER, scores=(1.0, score))


@example("TIE_SCORE")
def a_tie_has_seven_tenths_of_the_score() -> None:
    texts = (
        "Ana likes to play a lot of tennis",
        "Ana likes to play a lot of chess",
    )  # no update: both may hold
    question = "What does Ana play?"
    for score, order in ((0.7, [1, 0]), (0.69, [0, 1])):
        found = placed(*texts, question=question, weights={"ana": 1.0}, scores=(1.0, score))
        assert [one.place for one in found] == order


@example("TIE_WORDS")
def two_hits_of_a_tie_differ_in_six_words() -> None:
    same = "alpha bravo charlie delta echo foxtrot golf "
    assert differing(same + "a b c d e f", same + "x")
    assert not differing(same + "a b c d e f g", same + "x")


@example("TIE_CHARS")
def two_hits_of_a_tie_differ_by_sixty_characters() -> None:
    assert differing("the capital city is " + "a" * 61, "the capital city is b")
    assert not differing("the capital city is " + "a" * 62, "the capital city is b")


@example("SLOT_WORDS")
def twelve_words_on_each_side_say_what_a_value_is_stated_of() -> None:
    for before, after in ((11, False), (12, True)):
        (slot,) = read_slots("deadline " + "la " * before + "7 it")
        assert ("deadlin" not in slot.near) is after
        (slot,) = read_slots("7 it " + "la " * (before - 1) + "deadline")
        assert ("deadlin" not in slot.near) is after


@example("PLAN_WORDS")
def a_word_of_a_plan_counts_eight_words_before_a_value() -> None:
    for words, asserted in ((7, False), (8, True)):
        (slot,) = read_slots("hope " + "la " * words + "7")
        assert slot.asserted is asserted


@example("UNIT_WORDS")
def three_words_after_a_number_can_be_its_unit() -> None:
    (slot,) = read_slots("deadline 7 red green blue black white grey pink")
    assert slot.units == {"red", "green", "blue"}


@example("IDLE_LOSS")
def a_turn_that_only_asks_loses_a_quarter() -> None:
    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", embedder=None) as memory:
        memory.ingest([{"speaker": "Bo", "text": "Is the ferry late?"}], extract=False)
        (hit,) = memory.recall("ferry late", lanes=("words",)).hits
        assert hit.score == pytest.approx(0.75 * hit.lanes["words"], abs=1e-3)


@example("IDLE_WORDS")
def a_bare_acknowledgement_has_two_content_words() -> None:
    assert states_nothing("Thanks, red house!") and not states_nothing("Thanks, red house garden!")


@example("ASKING_WORDS")
def a_question_without_a_question_word_has_six_words() -> None:
    assert states_nothing("Your red house and green garden?")
    assert not states_nothing("Your red house and your green garden?")


@example("RANKED_HITS")
def sixty_hits_are_ranked_whatever_the_limit() -> None:
    seen: list[int] = []

    def spy(*given: Any) -> Any:
        seen.append(len(given[2]))
        return promote_updates(*given)

    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", embedder=None) as memory:
        said = [{"speaker": "Bo", "text": f"note {n} of the ferry"} for n in range(70)]
        memory.ingest([*said, *({"speaker": "Bo", "text": f"ferry {n}"} for n in range(70))])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "promote_updates", spy)
            patch.setattr(constants, "CANDIDATES_BY_WORDS", 100)
            memory.recall("What is the ferry?", limit=1)
    assert seen == [60]


# What happens to a ranking


def evidence(noise: Any = None, **lanes: float | None) -> float | None:
    """Of one hit with a cosine at the mean, so that the other lanes are its evidence."""
    item = ranked(**{"meaning": 0.3, **lanes})
    query: Any = SimpleNamespace(noise=noise, vector=None)
    one: Any = SimpleNamespace(project=item.project, query=query)
    return weigh([item], [one], Scale(0.3, 0.1, 0.0))[0].evidence


def kept(*given: float, searched: int = 6) -> list[float | None]:
    """Which of hits of this evidence stand out."""
    items = [ranked(meaning=0.3)._replace(evidence=value) for value in given]
    return [item.evidence for item in above_threshold(items, searched=searched)]


@example("STRICT_WORDS")
def full_coverage_is_worth_five_deviations() -> None:
    near(evidence(words=0.5) or 0, 2.5)


@example("STRICT_WORDS_UNFAMILIAR")
def words_count_twice_in_a_language_that_the_embedder_does_not_know() -> None:
    near(evidence(SimpleNamespace(familiar=False), words=0.5) or 0, 5.0)
    near(evidence(SimpleNamespace(familiar=True), words=0.5) or 0, 2.5)


@example("NOISE_FAMILIAR")
def a_language_whose_texts_lie_two_spreads_nearer_is_not_familiar() -> None:
    """English cosines are 0.30 with a spread of 0.1; Russian ones 0.48 or 0.52."""
    east, north = np.eye(2, dtype=np.float32)

    def familiar(mean: float) -> bool:
        noises = Noises()
        noises._held = {
            ("m", "en"): Noise(east, north, 0.3, 0.1),
            ("m", "ru"): Noise(east, north, mean, 0.1),
        }
        model: Any = SimpleNamespace(name="m")
        found = noises.of(model, "Где ключи?", east)
        assert found is not None and found.mean == mean
        return found.familiar

    assert [familiar(mean) for mean in (0.48, 0.52)] == [True, False]


@example("STRICT_ENTITIES")
def the_named_speaker_is_worth_one_deviation() -> None:
    near(evidence(entities=1.0) or 0, 1.0)


@example("STRICT_TIME")
def the_named_time_is_worth_four_deviations() -> None:
    near(evidence(time=0.5) or 0, 2.0)


@example("STRICT_LINK")
def a_link_is_worth_as_many_deviations_as_it_passes_on() -> None:
    near(evidence(graph=0.5) or 0, 0.5)
    near(evidence(graph=0.5, meaning=0.5) or 0, 2.5)


@example("STRICT_SHARE")
def a_hit_has_more_than_half_of_the_best_evidence() -> None:
    """The logarithm of 6 / 5.5 is 0.09."""
    assert kept(10.0, 5.2, 5.0) == [10.0, 5.2]


@example("STRICT_FLOOR")
def evidence_of_nearly_two_deviations_is_needed() -> None:
    assert kept(1.9, 1.7) == [1.9]


@example("STRICT_MEMORIES")
def among_eleven_memories_twice_as_many_may_be_near_by_chance() -> None:
    """The half of 10 is 5, and the logarithm of 11 / 5.5 is 0.69."""
    assert kept(10.0, 5.75, 5.65, searched=11) == [10.0, 5.75]


@example("STRICT_MEMORIES_LEAST")
def three_memories_count_as_four() -> None:
    """The logarithm of 4 / 5.5 is -0.32."""
    assert kept(10.0, 4.75, 4.65, searched=1) == [10.0, 4.75]


@example("STRICT_MEMORIES_MOST")
def a_million_memories_count_as_thirty() -> None:
    """The logarithm of 30 / 5.5 is 1.70."""
    assert kept(10.0, 6.71, 6.68, searched=1_000_000) == [10.0, 6.71]


@example("STRICT_COVERAGE")
def a_hit_without_a_vector_covers_a_twentieth() -> None:
    items = [ranked(words=words) for words in (0.052, 0.048)]
    assert [item.lanes["words"] for item in above_threshold(items, searched=9)] == [0.052]


def hit(kref: str = "kref://p/a.fact?r=1", **values: Any) -> Hit:
    usual: dict[str, Any] = dict.fromkeys(Hit.__dataclass_fields__, "")
    usual |= {"time": 0, "recorded": 0, "score": 0.0, "lanes": {}, "tokens": 1, "text": "x"}
    usual |= {
        "truncated": False,
        "repeated": 1,
        "type": "revision",
        "status": "current",
        "kind": "fact",
    }
    return Hit(**(usual | {"kref": kref, "trust": "stated"} | values))


@example("SIBLING_COSINE")
def a_sibling_stays_from_three_tenths_on() -> None:
    siblings = [
        hit(f"kref://p/a.fact?r={number}", lanes={"meaning": cosine})
        for number, cosine in enumerate((0.5, 0.29, 0.3, 0.31))
    ]
    assert filter_siblings(siblings) == [siblings[0], siblings[2], siblings[3]]


@example("DIVERSITY_HITS")
def diverse_hits_are_chosen_among_fifty() -> None:
    """The last of fifty is unlike the others, and so is each hit after it, with a better score."""
    texts = ["east"] * 49 + ["north"] + ["skyward"] * 451
    with calibrated(*texts, embedder=CompassEmbedder()) as (reader, index, rows):
        values = [1.0] * 49 + [0.9] + [0.95] * 451
        items = [
            Ranked(index, row, value, {}, [])
            for row, value in zip(rows.tolist(), values, strict=True)
        ]
        found = diversify(reader, items, strength=0.5, wanted=2)
        assert [item.row for item in found[:3]] == [0, 49, 1]


@example("RERANKED_HITS")
def thirty_hits_are_reranked() -> None:
    found = rerank([hit(text="boat")] * 400, "boat", OverlapReranker())
    assert sum("rerank" in one.lanes for one in found) == 30


class _Scripted:
    """A reranker that gives scores in the order of the hits."""

    name, texts_max = "fake-scripted", 10

    def __init__(self, *scores: float) -> None:
        self._scores = scores

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        return np.array(self._scores, dtype=np.float32)


@example("RERANK_FUSED")
def a_reranker_has_six_tenths_of_a_score() -> None:
    """4/10 + 6/10 * x against 6/10: a third of the range decides."""
    items = [hit("kref://p/a.fact", score=1.0), hit("kref://p/b.fact"), hit("kref://p/c.fact")]
    for score_of_first, best in ((0.3, "kref://p/b.fact"), (0.36, "kref://p/a.fact")):
        assert rerank(items, "x", _Scripted(score_of_first, 1, 0))[0].kref == best


@example("CLIENT_HITS")
def an_agent_chooses_from_three_times_as_many_hits() -> None:
    found = ferries()[1].recall("ferry", project="p", lanes=("words",), limit=5, rerank="client")
    assert len(found.hits) == 15


@example("SPARE_HITS")
def five_hits_are_read_to_spare() -> None:
    assert hits_to_read(Ask("x", limit=7)) == 12


# Answerability: the log odds of one answer


def log_odds(
    *,
    unknown: int = 0,
    weighed: Sequence[float | None] = (None,),
    words: float = 0.0,
    named: tuple[float, float] | None = None,
    searched: int = 1,
) -> float:
    """`unknown` terms that nothing holds; the evidence of the hits; `named`: the coverage by the
    speaker who is named, and by another."""
    nothing = np.zeros(0, dtype=np.int64)
    empty = np.zeros(0, dtype=np.float32)
    lacking = [Posting(f"u{n}", f"u{n}", nothing, empty) for n in range(unknown)]
    speakers = frozenset({7}) if named else frozenset()
    query: Any = SimpleNamespace(speakers=speakers, lanes=frozenset({"entities"}))
    one: Any = SimpleNamespace(
        postings=lacking,
        query=query,
        rows=np.arange(2),
        lanes={"words": np.array(named or (0, 0), dtype=np.float32)},
        project={"speaker": np.array([7, 8])},
    )
    items = [ranked(words=words)._replace(evidence=value) for value in weighed]
    p = answerability.score_of(answerability.signals_of([one], items, searched=searched))
    return math.log(p / (1 - p))


@example("ANSWER_BIAS")
def nothing_known_is_unlikely() -> None:
    near(log_odds(), -2.1)


@example("ANSWER_UNKNOWN")
def an_unknown_term_costs_15_hundredths() -> None:
    near(log_odds(unknown=2) - log_odds(), -0.3)


@example("ANSWER_EVIDENCE", "ANSWER_DENSITY")
def a_deviation_of_evidence_gives_a_fifth_and_again_at_the_rank_that_is_read() -> None:
    """Of one memory the best is read twice, of forty the best and the second."""
    near(log_odds(weighed=[3.0, 2.0]) - log_odds(weighed=[0.0]), 1.2)
    near(log_odds(weighed=[2.0, 3.0], searched=40) - log_odds(weighed=[0.0]), 1.0)
    near(log_odds(weighed=[4.0, 1.0], searched=40) - log_odds(weighed=[0.0]), 1.0)


@example("ANSWER_NAMED")
def the_right_speaker_gives_four() -> None:
    near(log_odds(named=(0.75, 0.25)) - log_odds(), 2.0)
    near(log_odds(named=(0.25, 0.75)) - log_odds(), -2.0)


@example("ANSWER_COVERED")
def words_alone_give_five() -> None:
    near(log_odds(words=0.5) - log_odds(), 2.5)


@example("ANSWER_RANK", "ANSWER_MEMORIES")
def the_tenth_evidence_is_read_and_an_earlier_one_of_few_memories() -> None:
    """The first of 39 memories, the second of forty, the tenth from 360 on."""
    ranks = {1: 1, 39: 1, 40: 2, 79: 2, 80: 3, 359: 9, 360: 10, 400: 10, 5_000: 10}
    weighed = [20.0 - number for number in range(30)]
    for searched, rank in ranks.items():
        lost = log_odds(weighed=weighed) - log_odds(weighed=weighed, searched=searched)
        near(lost, 0.2 * (rank - 1), 1e-3)


@example("ANSWER_MEDIUM", "ANSWER_HIGH")
def levels_begin_at_30_and_65_hundredths() -> None:
    levels = [answerability.level_of(score) for score in (0.29, 0.31, 0.64, 0.66)]
    assert levels == ["low", "medium", "medium", "high"]


# What a hit shows


@example("CHARS_PER_TOKEN")
def twenty_characters_are_five_tokens() -> None:
    assert [tokens_of("x" * count) for count in (0, 1, 20, 21)] == [1, 1, 5, 6]


@example("CUT_CHARS_MIN")
def a_text_is_cut_if_forty_characters_remain() -> None:
    """Ten tokens leave 39 characters and the mark of the cut, eleven 43."""
    whole = hit(text="y" * 40, tokens=10)
    long = hit(text="x" * 900, tokens=225)
    assert len(fit_budget([whole, long], 20)[0]) == 1
    assert len(fit_budget([whole, long], 21)[0]) == 2
    sizes = []
    for name in ("a", "ab", "abc", "abcd"):  # budgets end at every fourth character
        kref = f"kref://p/{name}.fact"
        frame = len(framed([hit(kref, text="")], None)) - len("> ")
        cut = hit(kref, text="x" * 900, tokens=225)
        sizes += [len(framed([cut], tokens)) - frame for tokens in range(1, 200)]
    assert min(size for size in sizes if size > 0) == 40 + len("…")


@example("WHY_TERMS_MAX")
def a_hit_names_six_shared_terms() -> None:
    words = "amber boat crane dock ferry gale harbour island jetty kayak"
    text = " ".join(f"{word} {word}{word}" for word in words.split())
    for question in (words, text):
        with memory_of(text, embedder=None) as memory:
            (found,) = memory.recall(question, project="p", lanes=("words",)).hits
            assert found.why.count(", ") == 5


@example("WHY_WEIGHT_MIN")
def a_word_of_a_quarter_of_the_largest_weight_is_named() -> None:
    """Of 30 rows 1 holds ferry, 13 dock, 15 boat: idf 3.03, 0.83 (27 %), 0.69 (23 %)."""
    texts = ["dock " * (n < 12) + "boat " * (n < 14) + f"note{n}" for n in range(29)]
    with memory_of(*texts, "ferry boat dock", embedder=None) as memory:
        best = memory.recall("ferry boat dock", project="p", lanes=("words",)).hits[0]
        assert best.why.startswith("shares ferry, dock (")


def why(**lanes: float) -> str:
    node: Any = SimpleNamespace(labels=("Exchange",), props={"speaker": "Ana"})
    reader: Any = None  # an exchange has no fields to look up
    return hits._why(reader, node, ranked(**lanes))


@example("WHY_TIME_MIN")
def a_hit_names_the_time_from_a_half_on() -> None:
    assert "of the time" in why(time=0.51) and "of the time" not in why(time=0.49)


@example("LANE_VALUE_MIN")
def a_lane_is_shown_from_five_thousandths_on() -> None:
    shown = [hits._shown_lanes(ranked(recency=value), Ask("x")) for value in (0.0049, 0.0051)]
    assert ["recency" in one for one in shown] == [False, True]


@example("ALIASES_MAX")
def a_question_is_asked_by_two_other_names() -> None:
    texts = (
        *("Katharina goes by Kit", "Katharina goes by Kiki", "Katharina goes by Trina"),
        *("Kit has a zither", "Kiki has a lute", "Trina has a harp"),
    )
    with TemporaryDirectory() as folder, opened(Path(folder) / "m.db", embedder=None) as memory:
        for text in texts:
            memory.expand(text)
        found = {hit.text for hit in memory.recall("Where is Katharina?", lanes=("words",)).hits}
        assert len(found.intersection(texts[3:])) == 2


# Trust


def about_the_same(near: float | None, *, evidence: float | None = 5.0, words: float = 1.0) -> bool:
    """Whether a leader of this evidence and coverage is about the same as a hit of evidence 10 that
    covers the whole question."""
    leader = ranked(words=words)._replace(evidence=evidence)
    other = ranked(words=1.0)._replace(evidence=None if evidence is None else 10.0)
    return trust._is_about_the_same(leader, other, near)


@example("TRUST_ALIKE")
def memories_about_the_same_are_fourteen_tenths_of_a_deviation_nearer() -> None:
    assert about_the_same(1.4) and not about_the_same(1.39)


@example("TRUST_EVIDENCE")
def a_leader_has_three_tenths_of_the_evidence() -> None:
    assert about_the_same(2.0, evidence=3.0) and not about_the_same(2.0, evidence=2.9)


@example("TRUST_WORDS")
def a_leader_without_a_vector_covers_three_tenths() -> None:
    assert about_the_same(None, evidence=None, words=0.3)
    assert not about_the_same(None, evidence=None, words=0.29)


class Threads(dict[str, Any]):
    """The part of a project index by which turns are merged."""

    scope = 1


def merged(shared: int, others: int, *, label: str) -> bool:
    """Whether two turns are one hit that share so many words and have so many others each."""
    words = [f"{one}{two}" for one in "abcdefghij" for two in "klmnop"]
    texts = [
        " ".join(words[:shared] + words[start : start + others])
        for start in (shared, shared + others)
    ]
    index: Any = Threads(thread=np.zeros(2, dtype=np.int32))
    turns = [
        ranked(row=row)._replace(
            project=index,
            said=hits.Said(text=text, turn=True, by=("user", "Ana"), trust=label),
        )
        for row, text in enumerate(texts)
    ]
    return len(trust.merge_repeats(turns)) == 1


@example("REPEATED")
def turns_that_share_nine_tenths_of_their_words_are_one_hit() -> None:
    assert merged(19, 1, label="stated") and not merged(18, 2, label="stated")
    assert not merged(17, 1, label="stated")


@example("REPEATED_UNTRUSTED")
def untrusted_turns_that_share_six_tenths_are_one_hit() -> None:
    assert merged(15, 5, label="untrusted") and not merged(14, 6, label="untrusted")


@example("VERIFIED_HITS")
def the_best_twenty_verified_beliefs_are_ranked() -> None:
    ranks = [TRUSTS.index("stated")] * 10 + [TRUSTS.index("verified")] * 30
    labels = np.array(ranks, dtype=np.int8)
    columns = {"trust": labels, "time": np.zeros(40, dtype=np.int64)}
    one: Any = SimpleNamespace(project=columns, rows=np.arange(40))
    scores = np.linspace(1, 0, 40, dtype=np.float32)
    assert len(ranking._chosen([one], scores, 5)) == 5 + 20
