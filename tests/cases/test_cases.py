"""The text cases, and that a wrong expected result among them is detected."""

from __future__ import annotations

import re

import pytest

from tests.cases.__main__ import main
from tests.cases.runner import ANSWERS, FOLDER, Case, answered, differences, files, read, write


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_cases(name: str) -> None:
    text = files()[name].read_text()
    assert len(read(text)) >= 10
    found = differences(name, text)
    assert not found, "\n\n".join(found)


def test_every_file_has_its_runner() -> None:
    assert files().keys() == ANSWERS.keys()


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_wrong_answer_is_found(name: str) -> None:
    cases = read(files()[name].read_text())
    at = next(number for number, case in enumerate(cases) if case.given)
    cases[at] = cases[at]._replace(answer=cases[at].answer + "x")
    (found,) = differences(name, write(cases))
    assert found.startswith(f"{name}.txt, line {cases[at].line}:") or cases[at].line > 1
    assert answered(name, cases)[at].answer + "x" == cases[at].answer


def test_what_is_read_is_written_and_read_again() -> None:
    for path in files().values():
        text = path.read_text()
        assert write(read(text)) == text, path.name
    assert read("# note\n\n# other\na\nb\n----\nc\n\nd\n----\n") == [
        Case(1, ("# note",), "", ""),
        Case(3, ("# other",), "a\nb", "c"),
        Case(9, (), "d", ""),
    ]


def test_one_command_rewrites_and_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    import pathlib

    folder = pathlib.Path(str(tmp_path))
    (folder / "kref.txt").write_text("kref://a/b.fact\n----\nwrong\n")
    monkeypatch.setattr("tests.cases.runner.FOLDER", folder)
    assert main([]) == 1
    assert "1 answers differ" in capsys.readouterr().out
    assert main(["--rewrite"]) == 0
    assert (
        folder / "kref.txt"
    ).read_text() == "kref://a/b.fact\n----\nkref://a/b.fact\nproject a; name b; kind fact\n"
    assert (main([]), main(["--help"])) == (0, 2)
    assert re.search(r"0 answers differ", capsys.readouterr().out)
    assert folder != FOLDER
