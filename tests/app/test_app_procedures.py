"""Every procedure that is a verb of beliefs, with arguments of every kind: rows, or a
DoxaError."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.app.procedures import _impact, _walk, register
from doxa.base.errors import DoxaError
from doxa.belief import Walk
from doxa.query.procedures.registry import Registry
from tests.query.test_procedures import ODD

KREF = "'kref://shop/deploys'"
GOOD = {
    "question": "'deploy'",
    "text": "'We deploy on Fridays'",
    "kref": KREF,
    "task": "'Deploy the shop'",
    "tag": "'mine'",
    "depth": "2",
    "options": "{}",
    "what": KREF,
    "constraints": "{}",
    "decision": "'accept'",
    "verb": "'deprecate'",
    "project": "'shop'",
    "proposal": "'kref://shop/x.job-proposal'",
    "run": "'kref://shop/x.job-run'",
    "start": KREF,
    "end": KREF,
    "source": KREF,
    "target": KREF,
    "kind": "'SEES'",
    "name": "'a.pdf'",
    "location": "'files/a.pdf'",
    "conflict": KREF,
    "session": "'s'",
    "change": "1",
    "entity": "'Ana'",
    "into": "'Bob'",
    "mention": "'kref://shop/entities/kit.mention'",
    "answer": "'new'",
    "candidate": "'kref://shop/agents/ana/growth_candidate/a.record'",
    "consumer": "'ui_review'",
    "person": "'Kim'",
}
OPTIONS = (
    "{nonsense: 1}",
    "{limit: 'x'}",
    "{limit: null}",
    "{limit: -1}",
    "{tags: 5}",
    "{as_of: true}",
    "{name: 7}",
    "{project: []}",
    "{trust: 'x'}",
    "{text: 'y'}",
)


def verbs() -> list[Any]:
    registry = Registry()
    register(registry)
    return registry.all()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[doxa.Memory]:
    folder: Path = tmp_path_factory.mktemp("verbs")
    with doxa.open(folder / "m.db", embedder=None, role="operator", project="shop") as made:
        made.remember("We deploy on Thursdays", name="deploys")
        for name in ("Ana", "Bob", "Kit"):
            made.mention(name)
        made.mention("Lea", aliases=["Kit"])
        yield made
        assert made.check() == []


@pytest.mark.parametrize("procedure", verbs(), ids=lambda item: item.signature.name)
def test_every_argument_of_every_kind(memory: doxa.Memory, procedure: Any) -> None:
    signature = procedure.signature
    names = [name for name, _ in signature.args]
    for index, name in enumerate(names):
        for odd in (*ODD, *(OPTIONS if name == "options" else ())):
            args = [odd if place == index else GOOD[other] for place, other in enumerate(names)]
            prefix = (
                "MATCH p = (n)-[r]->() WITH * LIMIT 1 " if odd in ("n", "r", "p", "[n]") else ""
            )
            end = f" YIELD {signature.results[0][0]} AS found RETURN found" if prefix else ""
            with memory.graph() as session:
                session.begin()
                try:
                    session.run(f"{prefix}CALL {signature.name}({', '.join(args)}){end}").records()
                except DoxaError as error:
                    assert error.message and getattr(error, "detail", "") != "UnexpectedSyntax"


@pytest.mark.parametrize("options", ["{nonsense: 1}", "{Limit: 1}"])
@pytest.mark.parametrize(
    "verb",
    [
        "recall('deploy'",
        "remember('We deploy'",
        f"revise({KREF}, 'We deploy'",
        f"supersede({KREF}, 'We deploy'",
    ],
)
def test_options_that_are_not_understood_are_told(
    memory: doxa.Memory, verb: str, options: str
) -> None:
    with pytest.raises(DoxaError):
        memory.run(f"CALL doxa.{verb}, {options})").records()


def test_changes_by_procedure_carry_what_undo_and_the_log_need(tmp_path: Path) -> None:
    day, api = "kref://shop/day.fact", "kref://shop/api.fact"
    with doxa.open(tmp_path / "m.db", embedder=None, role="operator", project="shop") as made:

        def rows(text: str, **params: Any) -> list[dict[str, Any]]:
            return made.run(text, params).records()

        (stated,) = rows("CALL doxa.remember('We deploy on Thursdays', {name: 'day'})")
        assert stated["receipt"] is None and stated["supported"] == []
        (logged,) = rows("CALL doxa.log({limit: 1})")
        assert (logged["change"], len(logged["receipt"])) == (stated["change"], 64)
        rows("CALL doxa.remember('The api waits', {name: 'api', depends_on: [$day]})", day=day)
        (undone,) = rows("CALL doxa.undo($change)", change=made.log(limit=1)[0].tx)
        assert undone["action"] == "undone"
        (redone,) = rows("CALL doxa.undo($change)", change=undone["change"])
        assert redone["action"] == "undone" and made.get(api)
        (retired,) = rows("CALL doxa.deprecate($day)", day=day)
        assert retired["unsupported"][0]["kref"] == f"{api}?r=1"
        (restored,) = rows("CALL doxa.restore($day)", day=day)
        assert [one["kref"] for one in restored["supported"]] == [f"{api}?r=1"]
        assert made.check() == []


def test_walks_by_procedure_say_where_they_were_cut(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", embedder=None, role="operator", project="shop") as made:
        for name, on in (("a", []), ("b", ["kref://shop/a.fact"]), ("c", ["kref://shop/b.fact"])):
            made.remember(f"{name} is here", name=name, depends_on=on)
        made.remember("d is alone", name="d")

        def rows(text: str) -> list[dict[str, Any]]:
            return made.run(text).records()

        found = rows("CALL doxa.traverse('kref://shop/c.fact', {depth: 1, types: ['DEPENDS_ON']})")
        assert [(row["kref"], bool(row["cut"])) for row in found] == [
            ("kref://shop/b.fact?r=1", bool(made.traverse("kref://shop/c.fact", depth=1).cut))
        ]
        (none,) = rows("CALL doxa.shortestPath('kref://shop/a.fact', 'kref://shop/d.fact')")
        assert (none["kref"], none["cut"]) == (None, "no path")


def test_a_query_reads_no_file_and_erases_nothing(memory: doxa.Memory, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"text": "hello"}\n')
    with pytest.raises(DoxaError):
        memory.run("CALL doxa.ingest($file)", {"file": str(tmp_path / "talk.jsonl")}).records()
    (done,) = memory.run("CALL doxa.ingest([{text: 'hello'}], {thread: 't'})").records()
    assert done["added"] == 1
    with pytest.raises(DoxaError, match="erasing scrubs"):
        memory.run("CALL doxa.forget('kref://shop/deploys', {erase: true})").records()


def test_a_project_is_the_sessions_all_or_a_name_and_never_empty(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", embedder=None, role="operator", project="shop") as made:

        def kref(call: str) -> str:
            return str(made.run(f"CALL doxa.{call} YIELD kref RETURN kref").single())

        assert kref("revise(['ana','age',5],'',{project: null})").startswith("kref://shop/")
        assert kref("remember('The port is open', {name: 'p'})").startswith("kref://shop/p.fact")
        assert kref("remember('The port is shut', {project: 'bay'})").startswith("kref://bay/")
        port = "kref://shop/p.fact"
        assert kref("recall('port', {limit: 1})").startswith(port)
        everywhere = made.run("CALL doxa.recall('port', {project: '*'}) YIELD kref").records()
        assert len(everywhere) == 2
        for call in (
            "revise(['ana','age',6],'',{project: ''})",
            f"supersede('{port}', 'The port is busy', {{project: '', name: 'later'}})",
            "remember('The bank is open', {project: ''})",
            "recall('port', {project: ''})",
            "rules('')",
        ):
            with pytest.raises(DoxaError, match="cannot be empty"):
                made.run(f"CALL doxa.{call}").records()


def test_no_project_may_be_said_of_a_revision(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", embedder=None, role="operator", project="shop") as made:
        assert (made.revise(["ana", "age", 5], project=None).kref or "").startswith("kref://shop/")
        made.remember("We deploy on Thursdays", name="day")
        day = "kref://shop/day.fact"
        changed = made.revise(day, "We deploy on Fridays", project=None)
        assert changed.kref == f"{day}?r=2"
        replaced = made.supersede(day, "We deploy on Mondays", project=None)
        assert replaced.kref == f"{day}?r=3"


def test_a_walk_that_was_cut_before_its_first_step_says_so() -> None:
    cut = Walk("kref://shop/a.fact", (), "too many")
    assert list(_walk(cut)) == [(None, None, None, None, "too many")]
    assert list(_impact(cut)) == [(None, None, None, None, None, "too many")]
    assert list(_impact(Walk("kref://shop/a.fact", ()))) == []


def test_a_match_without_a_proposal_has_no_relation(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", embedder=None, project="shop") as made:
        (row,) = made.run("CALL doxa.match('We deploy on Thursdays')").records()
        assert (row["kref"], row["relation"], row["verdict"]) == (None, None, "create")
