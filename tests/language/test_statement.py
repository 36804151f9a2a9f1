"""Reading: what a sentence asserts and what it only mentions, where a value ends, and that hostile
texts are read in reasonable time."""

from __future__ import annotations

import pytest

from bench.updates_cases import PLAIN_LANGUAGE, UpdateCase, load
from doxa.base.clock import parse_time
from doxa.language.assertion import retracts, why_unasserted
from doxa.language.sentences import sentence_spans, sentences
from doxa.language.statement import Claim, read_statement
from tests.effort import assert_ends

NOW = parse_time("2026-03-05T12:00:00Z")  # a Thursday
UNSTATED = [case for case in load(PLAIN_LANGUAGE["fitted"]) if not case.stored]


def asserted(text: str) -> list[Claim]:
    claims = read_statement(text, time_ns=NOW)
    return [one for one in claims if not (one.unasserted or one.past) and one.value.text]


@pytest.mark.parametrize("case", UNSTATED, ids=lambda case: f"{case.category}: {case.name}")
def test_what_is_not_asserted_states_nothing(case: UpdateCase) -> None:
    assert [asserted(line.text) for line in case.said] == [[]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Does Ana live in Bonn?", "question"),
        ("Set the port to 9090.", "command"),
        ("Ana may live in Bonn.", "hedged"),
        ("Ana wants to live in Bonn.", "planned"),
        ("If she moved, Ana lives in Bonn.", "hypothetical"),
        ("In the novel Ana lives in Bonn.", "fiction"),
        ("Ana lives in Bonn, yeah right.", "joked"),
        ("Tom says Ana lives in Bonn.", "reported"),
        ("The port is 9090 in the old manual.", "outdated"),
        ("Ana lives in Bonn. Scratch that.", "retracted"),
        ("'Ana lives in Bonn', Tom grinned.", "quoted"),
        ("Tom: Ana lives in Bonn.", "quoted"),
        ("Ana lives in Bonn or Ulm.", "alternative"),
        ("Ana has not moved to Bonn.", "denied"),
        ("Ana lives in Bonn, Tom whispered.", "reported"),
        ("Ana lives in Bonn, Tom grinned.", "unclear"),
        ("Ana lives in Bonn.", ""),
        ("I moved to Ulm in May.", ""),
        ("Dr. May lives in Bonn, Germany.", ""),
        ("Lena now reports to Ruth.", ""),
    ],
)
def test_a_reason_is_one_word(text: str, reason: str) -> None:
    assert {claim.unasserted for claim in read_statement(text)} == {reason}


def test_a_retraction_concerns_the_sentence_before_it() -> None:
    assert (retracts("Scratch that."), retracts("No, it is 9091."), retracts("No problem.")) == (
        "whole",
        "opening",
        "",
    )
    (found,) = asserted("The port is 9090. Sorry, scratch that, the port is 9091.")
    assert found.value.text == "9091"
    assert why_unasserted("The port is 9091.") == ""


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("T. S. Eliot lives in London. He works.", 2),
        ("Dr. Meyer and J.K. Rowling met e.g. in the U.S. Navy.", 1),
        ("We met at 3 p.m. Then we left.", 2),
        ('"One. Two." Three.', 1),
        ("one\ntwo; three", 3),
        ("", 0),
    ],
)
def test_initials_and_abbreviations_end_no_sentence(text: str, count: int) -> None:
    spans = list(sentence_spans(text))
    assert len(spans) == count
    assert all(text[start:end].strip() for start, end in spans)
    assert len(list(sentences(text))) == count


HOSTILE = (
    "has been ",
    "no longer ",
    "a, ",
    "from ",
    "is not ",
    "Ana and ",
    "and I ",
    "(",
    '"',
    "'a ",
    "to ",
    "in the old ",
    "x: ",
    ". ",
    "or ",
    " - ",
    " ",
    "We moved the ",
    "I think ",
    "the a is ",
    "lol ",
    "wait, ",
    "Dr. ",
    "1,",
    "♥",
    "!haha",
    " ;)",
)


def read_hostile_texts() -> None:
    for piece in HOSTILE:
        print(repr(piece), flush=True)
        for text in (piece * 20_000, "Ana lives in " + piece * 20_000):
            read_statement(text[:20_000], time_ns=NOW)
            list(sentences(text[:20_000]))
        list(sentences(f"Ana lives in {piece * 30}x"))


def test_hostile_texts_are_read_to_their_end() -> None:
    assert_ends("tests.language.test_statement", "read_hostile_texts")


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("T. S. Eliot is a citizen of Britain.", "citizen of", "Britain"),
        ("Acme was founded in 1990 by Bill.", "founded in", "1990"),
        ("The series is produced by the BBC.", "produced by", "the BBC"),
        ("Ana is the mother of Ben.", "mother of", "Ben"),
        ("Ana plays for Chelsea.", "plays for", "Chelsea"),
    ],
)
def test_a_relation_that_the_table_lacks_has_a_predicate(
    text: str, predicate: str, value: str
) -> None:
    (claim,) = asserted(text)
    assert (claim.predicate, claim.value.text, claim.known) == (predicate, value, False)


def test_a_listed_relation_is_known() -> None:
    (office,) = asserted("Messi plays the position of forward.")
    assert (office.predicate, office.value.text, office.known) == ("role", "forward", True)
    (budget,) = asserted("The budget is $100,000. Make that $150,000.")
    assert (set(budget.key), budget.value.text) == ({"budget"}, "$150,000")


@pytest.mark.parametrize(
    ("text", "key", "predicate", "value"),
    [
        ("Hi team, Ana's in Munich now!", {"ana"}, "where", "Munich"),
        ("heads up: API is on 9090 now", {"api"}, "port", "9090"),
        ("New port for the API: 9090", {"api"}, "port", "9090"),
        ("API port now 9090.", {"api"}, "port", "9090"),
        ("Ana lvies in Munich.", {"ana"}, "home", "Munich"),
        ("Just moved to Leuven!", {"leo"}, "home", "Leuven"),
        ("Update on Marco: he works at Bosch now.", {"marco"}, "work", "Bosch"),
        ("The bakery has a new manager: Paulo.", {"bakeri"}, "manager", "Paulo"),
        ("We ended up moving the launch to Friday.", {"launch"}, "any", "Friday"),
    ],
)
def test_updates_are_read_as_people_make_them(
    text: str, key: set[str], predicate: str, value: str
) -> None:
    claims = read_statement(text, speaker="Leo", time_ns=NOW)
    assert (set(claims[-1].key), claims[-1].predicate, claims[-1].value.text) == (
        key,
        predicate,
        value,
    )


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        ("moved the archive to eu-north-1", "the archive", "eu-north-1"),
        ("Set the retry delay to 5 seconds now", "the retry delay", "5 seconds"),
        ("Actually make the travel budget $900", "the travel budget", "$900"),
        ("new locker number: 17", "locker number", "17"),
        ("The door's back open", "The door", "back open"),
    ],
)
def test_a_short_note_states_a_value(text: str, subject: str, value: str) -> None:
    (claim,) = asserted(text)
    assert (claim.subject, claim.value.text) == (subject, value)


@pytest.mark.parametrize(
    "text",
    [
        "Set the retry delay to 5 seconds",
        "Make the travel budget $900",
        "Please make sure it is 5 now",
    ],
)
def test_a_request_states_nothing(text: str) -> None:
    assert not asserted(text)
