"""Names in a question: who is asked about, who is only addressed, and where it was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa import Memory
from doxa.recall.filters import find_scopes
from doxa.recall.indexes.project_index import IndexCache
from doxa.recall.lanes.names import extract_names
from tests.fixtures_shared import opened

SPEAKERS = ("Robert Miller", "Melanie", "May", "The Team", "user", "assistant")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        for project in ("apollo", "home"):
            for number, speaker in enumerate(SPEAKERS):
                memory.ingest(
                    [{"speaker": speaker, "text": f"text {number} of {project}", "id": speaker}],
                    project=project,
                    thread="summer-party",
                    extract=False,
                )
        yield memory


def read(memory: Memory, question: str, project: str = "") -> tuple[str, set[str]]:
    """The question that is left, and the names that it means."""
    with memory.store.read() as reader:
        cache = IndexCache()
        projects = [cache.get(reader, scope) for scope in find_scopes(reader, project)]
        plain, tokens = extract_names(reader, projects, question, places=True)
        named = {
            text.rpartition("/")[2].removeprefix("speaker:")
            for token in tokens
            for (text,) in reader.rows("SELECT text FROM token WHERE id = ?", (token,))
        }
        return plain, named


@pytest.mark.parametrize(
    ("question", "left", "named"),
    [
        ("What does Robert collect?", "What does collect?", {"Robert Miller"}),
        ("What does Bob collect?", "What does collect?", {"Robert Miller"}),
        ("Where did Mel go?", "Where did go?", {"Melanie"}),
        ("Where did mel go?", "Where did mel go?", set()),
        ("What is Melanie's car?", "What is car?", {"Melanie"}),
        ("When may it rain?", "When may it rain?", set()),
        ("May I come in May?", "May I come in May?", set()),
        ("When did May come?", "When did come?", {"May"}),
        ("What has the customer said?", "What has the customer said?", set()),
        ("What has the Team said?", "What has the said?", {"The Team"}),
        ("Who is the user?", "Who is the user?", set()),
    ],
)
def test_a_speaker_is_named_by_any_form_of_the_name(
    memory: Memory, question: str, left: str, named: set[str]
) -> None:
    assert read(memory, question) == (left, named)


@pytest.mark.parametrize(
    ("question", "left", "named"),
    [
        ("Hey Bob, where are the keys?", "where are the keys?", set()),
        ("Thanks, Melanie. When is it?", "When is it?", set()),
        ("Where are the keys, Robert?", "Where are the keys?", set()),
        ("Okay Robert, where are the keys?", "where are the keys?", set()),
        ("Hi Zoe, where are the keys?", "where are the keys?", set()),
        ("Bob, what did you say about keys?", "what did you say about keys?", {"Robert Miller"}),
        ("Berlin, when was I there?", "Berlin, when was I there?", set()),
        ("Did I go to Lyon, France?", "Did I go to Lyon, France?", set()),
        ("Robert?", "Robert?", set()),
    ],
)
def test_who_is_addressed_is_neither_a_word_nor_a_preference(
    memory: Memory, question: str, left: str, named: set[str]
) -> None:
    assert read(memory, question)[0] == left
    assert read(memory, question)[1] == named or question == "Robert?"


@pytest.mark.parametrize(
    ("question", "left", "named"),
    [
        ("Which database in project apollo?", "Which database?", {"scope:apollo"}),
        ("Which database does the Apollo project use?", "Which database does use?", None),
        ("Which database in Apollo?", "Which database?", {"scope:apollo"}),
        ("When do I walk home?", "When do I walk home?", set()),
        ("Is the ladder in the home project?", "Is the ladder?", {"scope:home"}),
        ("What is the budget in the summer party thread?", "What is the budget?", None),
        ("What about project apollo?", "What about project apollo?", set()),
        ("What is the budget for the summer?", "What is the budget for the summer?", set()),
    ],
)
def test_a_project_or_thread_that_is_named_is_where_to_look(
    memory: Memory, question: str, left: str, named: set[str] | None
) -> None:
    plain, found = read(memory, question)
    assert plain == left
    assert found == named if named is not None else len(found) == 1


def test_the_only_project_that_is_searched_is_no_preference(memory: Memory) -> None:
    assert read(memory, "Which database in project apollo?", "apollo") == ("Which database?", set())


def test_what_was_said_in_the_named_project_comes_first(memory: Memory) -> None:
    for project in ("apollo", "home"):
        hits = memory.recall(f"Which text in project {project}?", project="*", limit=1).hits
        assert [hit.project for hit in hits] == [project]
        assert "said where the question asks for" in hits[0].why
