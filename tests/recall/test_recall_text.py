"""Any text is a question: it gives hits or one of our errors, and the arithmetic of words is the
published one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.app import Memory
from doxa.base.errors import DoxaError, InputError, LimitError
from doxa.recall import Ask
from doxa.recall.constants import K1, NEXT, PREVIOUS
from doxa.recall.filters import eligible_rows, find_scopes
from doxa.recall.indexes.project_index import IndexCache
from doxa.recall.lanes.words import Coverage, asked_terms, read_postings
from tests.fixtures_shared import opened

HARD = [
    "",
    " ",
    "the of and",
    '"',
    "'",
    "''''",
    '"unclosed',
    "AND OR NOT NEAR",
    "NEAR(a b, 2)",
    "a*",
    "^start",
    "col:value",
    "-minus",
    "()",
    "((",
    "'; DROP TABLE node; --",
    "%",
    "_",
    "\\",
    "\0",
    "a\0b",
    "\ud800",
    "deploy \udfff",
    "🚀",
    "👩‍👩‍👧‍👦",
    "東京",
    "京",
    "ß",
    "ﬁ",
    "²³",
    "\u202e",
    "e\u0301",
    "\n\t\r",
    "deploy " * 3_000,
    "x" * 10_000,
    "{}",
    "[[]]",
    "NULL",
    "1e309",
    "-0",
    "kref://default/x.fact",
    "İstanbul",
    "ǅ",
    "\uffff",
    "\U0010ffff",
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with opened(tmp_path_factory.mktemp("text") / "m.db") as memory:
        memory.remember("We deploy on Thursdays")
        memory.remember("The database is PostgreSQL 16")
        memory.remember("我们明年春天去东京旅行")
        memory.remember("来年の会議は京都で開きます")
        memory.remember("서울에서 회의가 열립니다")
        memory.remember("The rocket 🚀 starts at nine")
        memory.ingest(
            [
                {"speaker": "Ana (ops)", "text": "Thursday is fine"},
                {"speaker": "\\w+[", "text": "no objection"},
            ]
        )
        memory.embed()
        yield memory


@pytest.mark.parametrize("text", HARD)
def test_hard_questions_are_answered(memory: Memory, text: str) -> None:
    for lanes in (("words",), ("meaning",), ("words", "meaning")):
        answer = memory.recall(text, lanes=lanes)
        assert answer.query == text
        assert len(answer.hits) <= 10


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=200) | st.text(alphabet="\"*()^:-+~\\'%_ANDORNT \0\ud800é東京🚀", max_size=40)
)
def test_any_text_is_a_question(memory: Memory, text: str) -> None:
    answer = memory.recall(text)
    assert all(math.isfinite(hit.score) and hit.why for hit in answer.hits)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["project", "space", "speaker", "thread", "tag", "trust"]),
        st.text(max_size=8) | st.integers() | st.binary(max_size=3),
        max_size=2,
    )
)
def test_any_filter_gives_an_answer_or_one_of_our_errors(
    memory: Memory, filters: dict[str, str]
) -> None:
    try:
        if filters.get("project") == "":  # its old meaning is deprecated
            filters = filters | {"project": "*"}
        memory.recall("deploy", **filters)  # type: ignore[arg-type]
    except DoxaError as error:
        assert error.next_step


def test_a_megabyte_is_read_and_more_is_refused(memory: Memory) -> None:
    assert memory.recall("deploy " * 149_000).hits[0].text == "We deploy on Thursdays"
    with pytest.raises(LimitError, match="limit is 1,048,576"):
        memory.recall("x" * 1_048_577)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 1_001}, "limit"),
        ({"limit": True}, "limit"),
        ({"tokens_max": 0}, "tokens_max"),
        ({"tokens_max": 1.5}, "tokens_max"),
        ({"trust": "sure"}, "trust"),
        ({"lanes": ("smell",)}, "lanes"),
        ({"lanes": ()}, "lanes"),
        ({"kinds": "fact"}, "kinds"),
        ({"kinds": [5]}, "kinds"),
        ({"space": 5}, "space"),
        ({"project": "\ud800"}, "project"),
        ({"since": "some day"}, "since"),
        ({"until": []}, "until"),
        ({"as_of": "2026-13-01"}, "as_of"),
        ({"valid_at": True}, "valid_at"),
    ],
)
def test_a_question_that_cannot_be_asked_names_its_field(
    memory: Memory, options: dict[str, object], field: str
) -> None:
    with pytest.raises(InputError) as caught:
        memory.recall("deploy", **options)  # type: ignore[arg-type]
    assert caught.value.fields["field"] == field


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("东京", "我们明年春天去东京旅行"),
        ("京都", "来年の会議は京都で開きます"),
        ("회의", "서울에서 회의가 열립니다"),
        ("🚀", "The rocket 🚀 starts at nine"),
        ("ＰＯＳＴＧＲＥＳＱＬ", "The database is PostgreSQL 16"),
        ("deploying", "We deploy on Thursdays"),
    ],
)
def test_words_of_every_script_are_found(memory: Memory, query: str, text: str) -> None:
    hits = memory.recall(query, lanes=("words",)).hits
    assert hits[0].text == text
    assert "shares" in hits[0].why


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("春", "我们明年春天去东京旅行"),
        ("行", "我们明年春天去东京旅行"),
        ("我", "我们明年春天去东京旅行"),
        ("す", "来年の会議は京都で開きます"),
        ("서", "서울에서 회의가 열립니다"),
        ("都？", "来年の会議は京都で開きます"),
    ],
)
def test_one_character_of_a_script_without_blanks_is_found_wherever_it_stands(
    memory: Memory, query: str, text: str
) -> None:
    hits = memory.recall(query, lanes=("words",)).hits
    assert [hit.text for hit in hits] == [text]
    assert f"shares {query[0]}" in hits[0].why


def test_a_character_is_counted_in_every_place(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        for number, text in enumerate(
            ("茶", "茶と茶", "お茶、茶会、茶", "水", "tea$ 茶$ x", "茶々")
        ):
            memory.remember(text, name=f"n{number}")
        with memory.store.read() as reader:
            project = IndexCache().get(reader, find_scopes(reader, "default")[0])
            (posting,) = read_postings(
                reader,
                project.scope,
                asked_terms("茶"),
                eligible=np.ones(project.count, dtype=bool),
            )
            assert dict(zip(posting.docs.tolist(), posting.counts.tolist(), strict=True)) == {
                0: 1,
                1: 2,
                2: 3,
                4: 1,
                5: 1,
            }
            (none,) = read_postings(
                reader,
                project.scope,
                asked_terms("火"),
                eligible=np.ones(project.count, dtype=bool),
            )
            assert none.held == 0
        memory.revise("kref://default/n0.fact", "水")
        assert memory.check() == [] and memory.recall("茶", limit=9).searched == 6
        assert {hit.kref.rpartition("/")[2] for hit in memory.recall("茶").hits} == {
            f"n{number}.fact?r=1" for number in (1, 2, 4, 5)
        }


def covered(memory: Memory, query: str) -> list[float]:
    with memory.store.read() as reader:
        project = IndexCache().get(reader, find_scopes(reader, "default")[0])
        population = eligible_rows(reader, project, Ask("")).population
        postings = read_postings(
            reader, project.scope, asked_terms(query), eligible=population.mask
        )
        return [
            float(value)
            for value in Coverage(project, postings, population).of(np.arange(project.count))
        ]


def test_coverage_by_hand(tmp_path: Path) -> None:
    """N = 3, mean length 2; idf(apple) = ln(1 + 1.5/2.5), idf(zebra) = ln(1 + 3.5/0.5)."""
    with opened(tmp_path / "m.db") as memory:
        for text in ("apple banana", "apple apple cherry", "durian"):
            memory.remember(text)
        apple, zebra = math.log(1.6), math.log(8)
        first = apple * (1 / (1 + K1)) / (apple + zebra)
        second = apple * (1.6 / (1.6 + K1)) / (apple + zebra)  # 2 / (0.5 + 0.5 * 3 / 2) = 1.6
        assert covered(memory, "apple zebra") == pytest.approx([first, second, 0], abs=1e-5)
        assert covered(memory, "the zebra") == [0, 0, 0]
        assert covered(memory, "") == [0, 0, 0]
        assert [
            hit.score for hit in memory.recall("apple zebra", lanes=("words",)).hits
        ] == pytest.approx([second, first], abs=1e-4)


def test_neighbours_lend_coverage_by_hand(tmp_path: Path) -> None:
    """Two turns of two terms each: share 30/32; idf(ferry) = ln 2, which is the whole mass."""
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(
            [
                {"speaker": "Ana", "text": "Where does the ferry leave?"},
                {"speaker": "Bo", "text": "Pier nine."},
            ]
        )
        share = 30 / 32
        after, before = PREVIOUS * share, NEXT * share
        assert covered(memory, "ferry") == pytest.approx(
            [1 / (1 + K1), after / (after + K1)], abs=1e-5
        )
        assert covered(memory, "pier") == pytest.approx(
            [before / (before + K1), 1 / (1 + K1)], abs=1e-5
        )
        reply = memory.recall("ferry", lanes=("words",)).hits[1]
        assert reply.text == "Pier nine."
        assert "the adjacent turn" in reply.why


@pytest.mark.parametrize(
    "query", ["postgresq", "postgresqlx", "postgrezql", "postgersql", "ostgresql"]
)
def test_one_edit_is_forgiven(memory: Memory, query: str) -> None:
    hits = memory.recall(query, lanes=("words",)).hits
    assert [hit.text for hit in hits] == ["The database is PostgreSQL 16"]
    assert f"{query}~PostgreSQL" in hits[0].why
    assert hits[0].score < memory.recall("postgresql", lanes=("words",)).hits[0].score


@pytest.mark.parametrize("query", ["postgrsq", "17", "1", "deplox thursdax"[:2]])
def test_two_edits_numbers_and_short_terms_are_not_bent(memory: Memory, query: str) -> None:
    assert memory.recall(query, lanes=("words",)).hits == ()


@pytest.mark.parametrize("query", ["runnning", "runing", "rnning", "runninh"])
def test_a_misspelt_form_of_a_word_finds_its_stem(tmp_path: Path, query: str) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("He runs every day")
        assert len(memory.recall(query).hits) == 1


@pytest.mark.parametrize(
    ("held", "query"),
    [("set", "sat"), ("come", "home"), ("stage", "state"), ("shop", "ship"), ("Hund", "Hand")],
)
def test_a_common_word_is_no_misspelling(tmp_path: Path, held: str, query: str) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember(held)
        assert memory.recall(query).hits == ()


def test_a_short_term_finds_itself_only(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("use db1 zz")
        memory.remember("tea at five")
        assert memory.recall("zy", lanes=("words",)).hits == ()
        assert [hit.text for hit in memory.recall("teea", lanes=("words",)).hits] == ["tea at five"]


def test_the_same_question_gives_the_same_answer_and_of_ties_the_newest_is_first(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "m.db") as memory:
        for name in "dcba":
            memory.remember("the ferry leaves", name=name)
        memory.embed()
        first = memory.recall("ferry")
        assert first == memory.recall("ferry")
        assert [hit.kref.rpartition("/")[2][0] for hit in first.hits] == ["a", "b", "c", "d"]
    with opened(tmp_path / "m.db") as again:
        assert again.recall("ferry") == first


@pytest.mark.parametrize("query", ["ferry harbour 🚢 港", "nothing like it", ""])
def test_the_budget_is_kept_at_every_size(tmp_path: Path, query: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        texts = ["The ferry leaves the harbour " + "at noon " * n for n in range(4)] + [
            "🚢" * 61 + " ferry",
            "港 " * 30 + "ferry",
            "e\u0301 ferry",
        ]
        for number, text in enumerate(texts):
            memory.remember(text, name=f"n{number}")
        memory.embed()
        whole = memory.recall(query).tokens
        for budget in range(1, whole + 3):
            answer = memory.recall(query, tokens_max=budget)
            assert sum(hit.tokens for hit in answer.hits) == answer.tokens <= budget
            assert all(hit.tokens == max(1, -(-len(hit.text) // 4)) for hit in answer.hits)
            assert all(hit.truncated == hit.text.endswith("…") for hit in answer.hits)
        assert memory.recall(query, tokens_max=max(whole, 1)).tokens == whole


def test_hits_can_be_fetched_and_say_why(memory: Memory) -> None:
    answer = memory.recall("When do we deploy?")
    assert answer.mode == "hybrid"
    assert "deploy" in answer.hits[0].why
    for hit in answer.hits:
        found = memory.get(hit.kref)
        assert hit.text in (getattr(found, "summary", None), getattr(found, "text", None))


def test_an_unknown_project_is_named_and_an_empty_one_warns(memory: Memory) -> None:
    with pytest.raises(DoxaError, match="There is no project 'nowhere'"):
        memory.recall("x", project="nowhere")
    answer = memory.recall("zyxwv qwerty", lanes=("words",))
    assert answer.hits == ()
    assert any("Nothing found among" in warning for warning in answer.warnings)
