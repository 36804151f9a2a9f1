"""The constants of recall, each with its meaning, its unit and where its value comes from.

A constant is declared once, as an annotated number; `described()` lists them with their
descriptions. Modules read them as attributes of this module (`constants.K1`), so that setting one
here takes effect everywhere:

    from doxa.recall import constants
    depth = constants.CANDIDATES_BY_MEANING

Every constant that is `swept` is moved by `python -m bench sensitivity` on three data sets, whose
tables are in the documentation. Every constant, swept or not, has an example in
tests/recall/test_recall_constants.py that fails when the constant changes. Numbers that change no
answer, such as chunk sizes, stay next to the code that needs them.
"""

from __future__ import annotations

import sys
from typing import Annotated, NamedTuple, get_args, get_type_hints


class Constant(NamedTuple):
    """What a constant means, its unit, and the source of its value."""

    meaning: str
    unit: str
    source: str
    swept: bool = False


FITTED = (
    "chosen on the developers' parts of LoCoMo, LoCoMo-Plus and BEAM, one setting for all three"
)
JUDGED = "set by judgement"
LOGISTIC = (
    "logistic regression over LoCoMo (adversarial questions, and those of other conversations),"
    " BEAM (abstention) and the precision cases, each set left out in turn, rounded by hand"
)
SEPARATED = (
    "chosen on the precision cases, StateBench, LoCoMo and BEAM (developers' parts), one setting"
    " for all; the best of a grid on one half of the questions is about as good on the other"
)
UPDATES = "chosen on pairs of turns with paraphrased questions (`python -m bench updates`)"
POISON = "chosen on the fitted cases of `python -m bench poison`"
KUMIHO = "Kumiho, section 8"
COST = "set by judgement; bounds the time of a question"
WIDER = (
    "set by judgement; `python -m bench speed` reports how many of the first ten hits stay the"
    " same with ten times as many"
)

# The lane of words (lanes/words.py, base/bm25.py)

K1: Annotated[
    float,
    Constant("frequency at which a term counts half its weight (BM25)", "terms", FITTED, True),
] = 0.9
B: Annotated[
    float,
    Constant("normalisation by length, 0 none to 1 full (BM25)", "share", FITTED, True),
] = 0.5
PREVIOUS: Annotated[
    float,
    Constant("what a turn borrows from the turn before it, at length 0", "share", FITTED, True),
] = 0.5
NEXT: Annotated[
    float,
    Constant("what a turn borrows of the words of the turn after it", "share", FITTED, True),
] = 0.2
NEIGHBOUR_LENGTH: Annotated[
    float,
    Constant("length at which a turn borrows half as many words", "terms", FITTED, True),
] = 30.0
CORRECTION_LOSS: Annotated[
    float,
    Constant(
        "a corrected term of n characters counts 1 - CORRECTION_LOSS / n", "characters", JUDGED
    ),
] = 2.0
PHRASES_MAX: Annotated[int, Constant("quoted phrases read in one question", "phrases", COST)] = 4
PHRASE_TERMS_MAX: Annotated[int, Constant("terms read of one phrase", "terms", COST)] = 16
PHRASE_ROWS_MAX: Annotated[
    int, Constant("texts read for one phrase, the latest first", "texts", COST)
] = 500
PHRASE_CHARS_MAX: Annotated[
    int,
    Constant("text read for all phrases of a question, about 20 ms", "characters", COST),
] = 200_000

# The lane of meaning (lanes/meaning.py, lanes/calibration.py, lanes/noise.py)

NEXT_MEANING: Annotated[
    float,
    Constant("what a turn borrows of the vector of the turn after it", "share", FITTED, True),
] = 0.1
NEIGHBOUR_LENGTH_MEANING: Annotated[
    float,
    Constant("length at which a turn borrows half as much of vectors", "terms", FITTED, True),
] = 45.0
SENTENCE: Annotated[
    float, Constant("share of the best sentence in the cosine of a text", "share", FITTED, True)
] = 0.3
PASSAGE: Annotated[
    float,
    Constant("share of the best passage in the cosine of a long text", "share", FITTED, True),
] = 0.5
FIELD: Annotated[
    float,
    Constant("weight of the cosine of a belief's best field", "share", FITTED, True),
] = 0.95
REQUEST: Annotated[
    float,
    Constant(
        "share of the request that a question quotes in the vector of the question",
        "share",
        "set by judgement; 0.3 to 1 all gain on VehicleMemBench, the other sets quote none",
    ),
] = 0.5
CALIBRATION_ROWS_MAX: Annotated[
    int, Constant("memories that a calibration is measured on", "memories", COST)
] = 2_048
CALIBRATION_ROWS_MIN: Annotated[
    int, Constant("memories needed to measure a spread of cosines", "memories", JUDGED)
] = 20
CALIBRATION_SHIFTS: Annotated[
    int, Constant("memories that each memory is compared with", "memories", COST)
] = 4
SPREAD_DEFAULT: Annotated[
    float, Constant("spread of cosines until it can be measured", "cosine", JUDGED)
] = 0.15
CENTRE_WEIGHT: Annotated[
    int,
    Constant(
        "vectors of zero counted in the mean: a few memories say little about what all share",
        "memories",
        JUDGED,
    ),
] = 50

NOISE_FAMILIAR: Annotated[
    float,
    Constant(
        "spreads of English by which unrelated texts of a familiar language may lie nearer",
        "spreads",
        JUDGED,
    ),
] = 2.0

# The vector index (vector_index.py)

EXACT_VECTORS_MAX: Annotated[
    int, Constant("vectors of a project held exactly; beyond, codes", "vectors", COST)
] = 100_000
SIGN_CANDIDATES_MIN: Annotated[
    int,
    Constant(
        "entries nearest by signs whose whole codes are compared",
        "entries",
        "99.9 % of the ten nearest of 261,000 and 1,002,000 MiniLM vectors",
    ),
] = 2_000
SIGN_CANDIDATES_OF: Annotated[
    int,
    Constant("one entry of so many is compared by its whole code, if that is more", "", COST),
] = 200
CODE_SAMPLE: Annotated[
    int, Constant("codes from which mean and spread of cosines are estimated", "entries", COST)
] = 2_000

# Candidates (candidates.py)

CANDIDATES_BY_WORDS: Annotated[
    int, Constant("candidates of a project by words", "memories", WIDER)
] = 50
CANDIDATES_BY_MEANING: Annotated[
    int, Constant("entries of a project's index that name candidates", "entries", WIDER)
] = 80
CANDIDATES_BY_TIME: Annotated[
    int, Constant("candidates by words and by meaning within a named time", "memories", JUDGED)
] = 30

# The other lanes (lanes/time.py, lanes/graph.py, lanes/entities.py)

SIDE: Annotated[
    float,
    Constant("value in the lane of entities of the side asked for", "share", FITTED, True),
] = 0.6
PLACE: Annotated[
    float,
    Constant("value in the lane of entities of a named project or thread", "share", JUDGED),
] = 0.9
RECENCY_DAYS: Annotated[
    float, Constant("half-life in the lane of recency", "days", JUDGED, True)
] = 14.0
DATED_TEXTS: Annotated[
    int, Constant("best candidates whose text is searched for dates", "memories", COST)
] = 60
GRAPH_SEEDS: Annotated[int, Constant("best hits whose links are followed", "memories", JUDGED)] = 5
GRAPH_HOPS: Annotated[int, Constant("edges followed from a seed", "edges", JUDGED)] = 2
GRAPH_DECAY: Annotated[
    float, Constant("what one edge passes on of a node's value", "share", JUDGED)
] = 0.5
GRAPH_EDGES_MAX: Annotated[
    int, Constant("edges read in one hop, times the nodes it starts from", "edges", COST)
] = 200

# Fusion (fusion.py)

MEANING: Annotated[
    float,
    Constant("weight of meaning, for one standard deviation of cosines", "score", FITTED, True),
] = 0.27
WORDS: Annotated[float, Constant("weight of words", "score", FITTED, True)] = 0.6
C: Annotated[
    float,
    Constant("best coverage at which the gate of words is half open", "coverage", FITTED, True),
] = 0.15
C_STATEMENT: Annotated[
    float,
    Constant(
        "the same for a statement: what shares most of its words is about it, not what shares few",
        "coverage",
        FITTED,
        True,
    ),
] = 0.5
ENTITIES: Annotated[float, Constant("weight of entities", "score", FITTED, True)] = 1 / 3
TIME: Annotated[float, Constant("weight of time", "score", JUDGED, True)] = 0.25
GRAPH: Annotated[float, Constant("weight of links", "score", JUDGED, True)] = 0.4
MENTIONS: Annotated[
    float, Constant("weight of entities that good hits mention too", "score", JUDGED)
] = 0.4
RECENCY: Annotated[float, Constant("weight of recency", "score", JUDGED, True)] = 0.05
POLICY: Annotated[float, Constant("weight of a policy's decay", "score", JUDGED, True)] = 0.3
THREAD: Annotated[
    float,
    Constant("factor on the score of memories of the asking thread", "factor", JUDGED, True),
] = 1.8
BETA: Annotated[float, Constant("mode max: weight of a cosine", "factor", KUMIHO, True)] = 0.85
BELIEF: Annotated[float, Constant("mode max: weight of a belief", "factor", KUMIHO, True)] = 1.0
TURN: Annotated[float, Constant("mode max: weight of a turn", "factor", KUMIHO, True)] = 0.9
ALPHA: Annotated[
    float,
    Constant("mode convex: share of meaning", "share", "Bruch et al., 2023", True),
] = 0.6
RANKS: Annotated[
    float, Constant("mode rrf: added to every rank", "ranks", "Cormack et al., 2009", True)
] = 60.0

# Reading a question (question.py, expansion.py)

STATEMENT_WORDS_MIN: Annotated[
    int, Constant("words of a statement; fewer are keywords", "words", JUDGED)
] = 6
QUESTION_TERMS_MIN: Annotated[
    int, Constant("terms that remain when talk about the conversation is removed", "terms", JUDGED)
] = 2
PART_TERMS_MIN: Annotated[
    int, Constant("terms of a part of a compound question", "terms", JUDGED)
] = 2
EXPANSIONS_MAX: Annotated[
    int, Constant("expansions of a question that are searched", "queries", COST)
] = 4
EXPANSION_WEIGHT: Annotated[
    float, Constant("factor on the score of what an expansion finds", "factor", JUDGED)
] = 0.9

# Updates (updates.py, slots.py)

UPDATE_HITS: Annotated[
    int, Constant("best hits among which updates and ties are looked for", "hits", UPDATES)
] = 20
UPDATE_MOVES_MAX: Annotated[int, Constant("turns moved up in one answer", "hits", UPDATES)] = 3
UPDATE_ALIKE: Annotated[
    float,
    Constant("how much nearer than memories on average two turns are", "deviations", UPDATES),
] = 1.2
UPDATE_SLOT: Annotated[
    float, Constant("share of the words around two values that are the same", "share", UPDATES)
] = 0.25
UPDATE_SLOT_WORDS: Annotated[
    float, Constant("the same where there are no vectors", "share", UPDATES)
] = 0.5
UPDATE_TOPIC: Annotated[
    float, Constant("weight of the question's terms around both values", "share", UPDATES)
] = 0.3
UPDATE_MISSING: Annotated[
    float,
    Constant("of the question's terms around a value, what the later lacks", "share", UPDATES),
] = 0.25
UPDATE_MISSING_CHANGED: Annotated[
    float, Constant("the same where a word of change is near", "share", UPDATES)
] = 0.45
UPDATE_SCORE: Annotated[
    float,
    Constant("least score of a turn that is moved, of that it moves above", "share", UPDATES),
] = 0.5
SLOT_WORDS: Annotated[
    int, Constant("words on each side of a value that say what it is stated of", "words", UPDATES)
] = 12
PLAN_WORDS: Annotated[
    int, Constant("words before a value among which a word of a plan counts", "words", UPDATES)
] = 8
UNIT_WORDS: Annotated[
    int, Constant("words after a number that can be its unit", "words", UPDATES)
] = 3
IDLE_LOSS: Annotated[
    float,
    Constant("share of its score that a turn loses that only asks or thanks", "share", FITTED),
] = 0.25
IDLE_WORDS: Annotated[
    int, Constant("content words of a bare acknowledgement, at most", "words", FITTED)
] = 2
ASKING_WORDS: Annotated[
    int, Constant("words of a question without a question word, at most", "words", JUDGED)
] = 6
TIE_SCORE: Annotated[
    float, Constant("least score of the later of two equal except for a value", "share", UPDATES)
] = 0.7
TIE_WORDS: Annotated[
    int, Constant("words of a value in which two hits differ", "words", UPDATES)
] = 6
TIE_CHARS: Annotated[
    int, Constant("difference in length of hits that can be a tie", "characters", COST)
] = 60

# Trust (trust.py)

TRUST_ALIKE: Annotated[
    float,
    Constant(
        "how much nearer two memories about the same are than on average", "deviations", POISON
    ),
] = 1.4
TRUST_EVIDENCE: Annotated[
    float, Constant("least evidence of a leader, of that of the hit it leads", "share", POISON)
] = 0.3
TRUST_WORDS: Annotated[
    float, Constant("the same for coverage of the question, without vectors", "share", POISON)
] = 0.3
REPEATED: Annotated[
    float, Constant("words that two turns of a source share which are one hit", "share", JUDGED)
] = 0.9
REPEATED_UNTRUSTED: Annotated[
    float, Constant("the same for untrusted sources, whatever the numbers", "share", JUDGED)
] = 0.6
VERIFIED_HITS: Annotated[
    int, Constant("best verified beliefs that are always candidates and ranked", "hits", COST)
] = 20

# What becomes of a ranking (threshold.py, diversity.py, rerank.py, engine.py)

ALIASES_MAX: Annotated[
    int, Constant("other names of what a question names by which it is asked too", "names", JUDGED)
] = 2
STRICT_WORDS: Annotated[
    float, Constant("evidence of full coverage of the question", "deviations", SEPARATED)
] = 5.0
STRICT_WORDS_UNFAMILIAR: Annotated[
    float,
    Constant("the same in a language that the embedder does not know", "deviations", SEPARATED),
] = 10.0
STRICT_ENTITIES: Annotated[
    float, Constant("evidence of the speaker or entity that is named", "deviations", SEPARATED)
] = 1.0
STRICT_TIME: Annotated[
    float, Constant("evidence of the time that is named", "deviations", SEPARATED)
] = 4.0
STRICT_LINK: Annotated[
    float, Constant("evidence of a full share of the best hit's score", "deviations", JUDGED)
] = 1.0
STRICT_SHARE: Annotated[
    float, Constant("share of the best evidence that a hit needs", "share", SEPARATED)
] = 0.5
STRICT_FLOOR: Annotated[
    float, Constant("evidence below which no hit stands out", "deviations", SEPARATED)
] = 1.8
STRICT_MEMORIES: Annotated[
    float,
    Constant("memories among which the share of the best is enough", "memories", SEPARATED),
] = 5.5
STRICT_MEMORIES_LEAST: Annotated[
    int, Constant("fewer memories count as so many", "memories", SEPARATED)
] = 4
STRICT_MEMORIES_MOST: Annotated[
    int, Constant("more memories count as so many", "memories", SEPARATED)
] = 30
STRICT_COVERAGE: Annotated[
    float,
    Constant("coverage that a hit without a vector needs to stand out", "coverage", SEPARATED),
] = 0.05
SIBLING_COSINE: Annotated[
    float,
    Constant("cosine that a second revision of one item needs to stay", "cosine", JUDGED),
] = 0.30
DIVERSITY_HITS: Annotated[
    int, Constant("best hits among which diverse ones are chosen", "hits", COST)
] = 50
RERANKED_HITS: Annotated[int, Constant("hits that a reranker reads", "hits", COST)] = 30
RERANK_FUSED: Annotated[
    float, Constant("share of the fused score in the score after reranking", "share", JUDGED)
] = 0.4
CLIENT_HITS: Annotated[
    int, Constant("times as many hits for an agent that chooses itself", "factor", JUDGED)
] = 3
RANKED_HITS: Annotated[
    int,
    Constant("hits ranked whatever the limit, so that the first are the same", "hits", COST),
] = 60
SPARE_HITS: Annotated[
    int,
    Constant("hits read beyond the limit, since duplicates are removed later", "hits", JUDGED),
] = 5

# Answerability (answerability.py)

ANSWER_BIAS: Annotated[float, Constant("the constant term", "log odds", LOGISTIC)] = -2.1
ANSWER_EVIDENCE: Annotated[
    float, Constant("gain for a deviation of the best evidence", "log odds", LOGISTIC)
] = 0.2
ANSWER_DENSITY: Annotated[
    float, Constant("gain for a deviation of the tenth best evidence", "log odds", LOGISTIC)
] = 0.2
ANSWER_RANK: Annotated[
    int, Constant("rank of the hit whose evidence is read, at most", "rank", LOGISTIC)
] = 10
ANSWER_MEMORIES: Annotated[
    int, Constant("the rank is one more for each so many memories", "memories", LOGISTIC)
] = 40
ANSWER_UNKNOWN: Annotated[
    float, Constant("loss for a term that no memory holds", "log odds", LOGISTIC)
] = 0.15
ANSWER_NAMED: Annotated[
    float,
    Constant("gain for full coverage by the speaker who is named", "log odds", LOGISTIC),
] = 4.0
ANSWER_COVERED: Annotated[
    float,
    Constant("gain for full coverage where there are no vectors", "log odds", JUDGED),
] = 5.0
ANSWER_MEDIUM: Annotated[
    float, Constant("score from which an answer is reported as medium", "score", JUDGED)
] = 0.3
ANSWER_HIGH: Annotated[
    float, Constant("score from which an answer is reported as high", "score", JUDGED)
] = 0.65

# What a hit shows (hits.py, budget.py, framing.py)

CHARS_PER_TOKEN: Annotated[
    int, Constant("estimated length of a token", "characters", "the usual estimate for English")
] = 4
CUT_CHARS_MIN: Annotated[
    int, Constant("least length of a text cut to fit a budget", "characters", JUDGED)
] = 40
WHY_TERMS_MAX: Annotated[int, Constant("shared terms that `why` names", "terms", JUDGED)] = 6
WHY_WEIGHT_MIN: Annotated[
    float,
    Constant("idf of a term that `why` names, of the largest idf of those shared", "share", JUDGED),
] = 0.25
WHY_TIME_MIN: Annotated[
    float, Constant("value of the lane of time from which `why` names it", "share", JUDGED)
] = 0.5
LANE_VALUE_MIN: Annotated[
    float, Constant("value of another lane from which a hit reports it", "share", JUDGED)
] = 0.005


def described() -> dict[str, Constant]:
    """List every constant with its description, in the order of this module."""
    hints = get_type_hints(sys.modules[__name__], include_extras=True)
    return {
        name: part
        for name, hint in hints.items()
        for part in get_args(hint)[1:]
        if isinstance(part, Constant)
    }
