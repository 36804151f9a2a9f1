"""Claims of German, Spanish, French and Chinese sentences: the same as of the English ones; nothing
that is asked, guessed or reported is asserted; any text is read in bounded time."""

from __future__ import annotations

import pytest

from doxa.base.clock import parse_time
from doxa.language.comparison.differences import difference
from doxa.language.predicates import BY_NAME
from doxa.language.statement import read_fact, read_statement
from doxa.language.tables.reader import (
    LANGUAGES,
    language_of,
    plain_sentences,
    read_claims,
    tables_of,
)
from tests.effort import calls_of

NOW = parse_time("2026-03-05T12:00:00Z")
SAME = (
    (
        "Ana moved to Bonn.",
        ("Ana ist nach Bonn gezogen.", "Ana se ha mudado a Bonn.", "Ana a déménagé à Bonn."),
    ),
    (
        "Ana lives in Bonn now.",
        (
            "Jetzt wohnt Ana in Bonn.",
            "Ana ahora vive en Bonn.",
            "Ana habite désormais à Bonn.",
            "Ana现在住在Bonn。",
        ),
    ),
    (
        "Ana no longer works at Acme.",
        (
            "Ana arbeitet nicht mehr bei Acme.",
            "Ana ya no trabaja en Acme.",
            "Ana ne travaille plus chez Acme.",
            "Ana不再在Acme工作了。",
        ),
    ),
    (
        "The API's port is 9090.",
        (
            "Der Port der API ist 9090.",
            "El puerto de la API es 9090.",
            "Le port de l'API est 9090.",
            "API的端口是9090。",
        ),
    ),
    (
        "The meeting is on Thursday at 15:00.",
        (
            "Die Besprechung ist am Donnerstag um 15 Uhr.",
            "La reunión es el jueves a las 15.",
            "La réunion est le jeudi à 15 h.",
            "会议在周四下午三点。",
        ),
    ),
)


@pytest.mark.parametrize(("english", "others"), SAME)
def test_the_same_claim_in_each_language(english: str, others: tuple[str, ...]) -> None:
    (expected,) = read_statement(english, time_ns=NOW)
    for text in others:
        (claim,) = read_claims(text, time_ns=NOW)
        assert (claim.key, claim.predicate, claim.positive, claim.ends) == (
            expected.key,
            expected.predicate,
            expected.positive,
            expected.ends,
        ), text
        assert claim.value.numbers == expected.value.numbers, text
        assert claim.unasserted == "", text


@pytest.mark.parametrize(
    "text",
    [
        "Wohnt Ana in Bonn?",
        "Vielleicht wohnt Ana in Bonn.",
        "Ben sagt, Ana wohnt in Bonn.",
        "¿Vive Ana en Bonn?",
        "Quizás Ana vive en Bonn.",
        "Según Luis, Ana vive en Bonn.",
        "Est-ce qu'Ana habite à Bonn ?",
        "Ana habite peut-être à Bonn.",
        "Luc dit qu'Ana habite à Bonn.",
        "安娜住在波恩吗？",
        "安娜可能住在波恩。",
        "听说安娜住在波恩。",
        "«Ana vive ahora en Bonn», susurró Tomás.",
        "„Ana wohnt jetzt in Bonn“, flüsterte Tom.",
    ],
)
def test_what_is_not_asserted_is_marked(text: str) -> None:
    assert language_of(text) is not None
    assert all(claim.unasserted for claim in read_claims(text))
    assert all(why for _, why in plain_sentences(text))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Horse number 7 eats hay.", ""),
        ("The chat service pays the bus driver.", ""),
        ("No, come here once more.", ""),
        ("Max retries: 5", ""),
        ("Die hard fans made a video.", ""),
        ("Il n'habite plus à Lyon.", "fr"),
        ("Der Bus fährt nicht.", "de"),
        ("Trabajo en Vigo.", "es"),
        ("会议改到周四了", "zh"),
        ("東京に住んでいます", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text(text: str, code: str) -> None:
    found = language_of(text)
    assert (found.code if found else "") == code


def test_the_tables_are_sound() -> None:
    for language in LANGUAGES:
        tables = tables_of(language.code)
        assert len(tables.templates) >= 90
        for template in tables.templates:
            assert read_fact("Ana", template.phrase, "x").predicate, template.phrase
            for pattern in template.patterns:
                assert set(pattern.groupindex) <= {"s", "v", "old"}
        assert len(tables.words) >= 100
        assert all(english.isascii() for english in tables.words.values())
    known = {
        read_fact("Ana", one.phrase, "x").predicate
        for one in tables_of("de").templates
        if one.phrase.partition("=")[0] != "is"
    }
    assert known <= BY_NAME.keys()


@pytest.mark.parametrize(
    ("held", "said", "values"),
    [
        ("The backup writes to Bonn.", "The backup now writes to Ulm.", ("Bonn", "Ulm")),
        ("Das Backup schreibt nach Bonn.", "Jetzt schreibt das Backup nach Ulm.", ("Bonn", "Ulm")),
        ("备份同步到波恩。", "备份现在同步到乌尔姆。", ("波恩", "乌尔姆")),
        ("The printer works.", "The printer no longer works.", ("", "")),
    ],
)
def test_a_difference_is_one_value(held: str, said: str, values: tuple[str, str]) -> None:
    found = difference(said, held)
    assert found is not None
    assert (found.old, found.new) == values


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Room 5 smells of paint.", "Room 6 smells of paint now."),
        ("Raum 5 hat Fenster.", "Raum 6 hat jetzt Fenster."),
        ("Annas Hund bellt laut.", "Bertas Hund bellt jetzt laut."),
        ("Le chien d'Anne aboie.", "Le chien de Berthe aboie maintenant."),
        ("El vuelo a Lisboa sale a las 9.", "El vuelo de Lisboa sale a las 17."),
        ("搜索服务有三台机器。", "支付服务现在有三台机器。"),
        ("The backup writes to Bonn.", "Das Backup schreibt nach Ulm."),
    ],
)
def test_another_subject_is_no_difference_in_a_value(held: str, said: str) -> None:
    assert difference(said, held) is None


HOSTILE = (
    "wohnt in ",
    "nicht mehr ",
    "a de ",
    "从到了",
    "的",
    "„“«»",
    "Ana wohnt in Berlin, ",
    "den den 3. Mai ",
    "ist das der von der API ",
    "ne plus pas ",
    "¿¡",
    "一二三十百千",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_takes_calls_in_proportion(piece: str) -> None:
    for text in (piece, piece + "ü", f"die {piece} ist jetzt "):
        read_claims(text)
        small = calls_of(lambda text=text: read_claims(text * 40 + "1"))  # type: ignore[misc]
        assert calls_of(lambda text=text: read_claims(text * 160 + "2")) < 8 * small + 4_000  # type: ignore[misc]


@pytest.mark.parametrize("colour", ["weiß", "Weiß", "WEIẞ", "schwarz"])
def test_words_are_found_in_any_case(colour: str) -> None:
    (claim,) = read_claims(f"Die Haustür ist jetzt {colour}.")
    assert claim.value.text
