"""The pipeline of examples/pipeline: three processes and a person, killed at random points and
resumed; a file that changed on disk; who may approve; the audit.

Random runs print their seed; set DOXA_SEED to make the same choices again.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import doxa

ROOT = Path(__file__).parents[2]
AGENTS = ("image", "compositing", "edit")
SHOTS = ("dawn", "noon")
CUT = "kref://film/edits/cut.edit"
ENVIRONMENT = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


class Film:
    """One run of the example in a folder."""

    def __init__(self, place: Path) -> None:
        self.db, self.files = place / "film.db", place / "files"
        self.person("brief", "warm", *SHOTS)

    def person(self, command: str, *words: str) -> None:
        where = [str(self.db), *([str(self.files)] if command == "approve" else [])]
        self.run("person", command, *where, *words)

    def agent(self, name: str, *, kill_at: int = 0) -> int:
        return self.run(name, str(self.db), str(self.files), kill_at=kill_at)

    def approve(self, *, kill_at: int = 0) -> int:
        return self.run("person", "approve", str(self.db), str(self.files), kill_at=kill_at)

    def run(self, module: str, *words: str, kill_at: int = 0) -> int:
        script = str(ROOT / "tests/examples/killed_stage.py")
        done = subprocess.run(
            [sys.executable, script, module, str(kill_at), *words],
            env=ENVIRONMENT,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        self.said = done.stderr
        return done.returncode

    def start(self, agent: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", f"examples.pipeline.{agent}"),
                *(str(self.db), str(self.files), "--follow"),
            ],
            env=ENVIRONMENT,
            cwd=ROOT,
        )

    def open(self) -> doxa.Memory:
        return doxa.open(self.db, project="film", embedder=None, background=False)

    def is_done(self) -> bool:
        with self.open() as memory:
            try:
                memory.get(f"{CUT}?t=approved")
            except doxa.NotFoundError:
                return False
            return True

    def result(self) -> dict[str, Any]:
        """All that the pipeline made, without times and numbers of changes, and the files."""
        found: dict[str, Any] = {
            str(path.relative_to(self.files)): path.read_bytes()
            for path in sorted(self.files.rglob("*"))
            if path.is_file() and path.suffix != ".part"
        }
        with self.open() as memory:
            assert memory.check() == []
            memory.verify()
            rows = memory.run(
                "MATCH (i:Item)-[:HAS_REVISION]->(r:Revision) OPTIONAL MATCH (r)-[e]->(o)"
                " WHERE type(e) <> 'HAS_ARTIFACT' OPTIONAL MATCH (r)-[:HAS_ARTIFACT]->(a)"
                " RETURN r.kref AS kref, r.summary AS text, r.author AS author,"
                " collect(DISTINCT type(e) + ' ' + o.kref) AS edges,"
                " collect(DISTINCT a.name + ' ' + a.location + ' ' + a.sha256) AS files,"
                " count(e) AS count ORDER BY kref"
            ).records()
            for row in rows:
                tags = memory.get(row["kref"]).tags  # type: ignore[union-attr]
                found[row["kref"]] = {
                    name: sorted(value) if isinstance(value, list) else value
                    for name, value in row.items()
                } | {"tags": sorted(tags)}
            bundle: Any = memory.get("kref://film/outputs.bundle")
            found["members"] = sorted(one.kref for one in bundle.members)
        return found


def run_all(film: Film) -> None:
    for _ in range(4):
        for agent in AGENTS:
            assert film.agent(agent) == 0, film.said
        assert film.approve() == 0, film.said


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    film = Film(tmp_path_factory.mktemp("unkilled"))
    run_all(film)
    assert film.is_done()
    return film.result()


def test_an_unkilled_run_makes_each_output_once(unkilled: dict[str, Any]) -> None:
    krefs = [name for name in unkilled if name.startswith("kref://film/") and "?r=" in name]
    assert sorted(krefs) == sorted(
        [
            f"{CUT}?r=1",
            "kref://film/film.brief?r=1",
            *(
                f"kref://film/{kind}s/{shot}.{kind}?r=1"
                for kind in ("plate", "comp")
                for shot in SHOTS
            ),
        ]
    )
    cut = unkilled[f"{CUT}?r=1"]
    assert len(cut["files"]) == 1 and "approved" in cut["tags"]
    assert sorted(one for one in cut["edges"] if one.startswith("DERIVED_FROM")) == [
        f"DERIVED_FROM kref://film/comps/{shot}.comp?r=1" for shot in sorted(SHOTS)
    ]


def test_killed_at_random_steps_and_resumed_the_result_is_the_same(
    tmp_path: Path,
    unkilled: dict[str, Any],
    seed: int,
    campaign: int,
    tally: Callable[..., None],
) -> None:
    chance = random.Random(seed)
    film, killed = Film(tmp_path), 0
    for who in ("image", "person", "compositing", "person", "edit", "person"):
        for attempt in range(2 * campaign):
            kill_at = chance.randint(1, 20 + 60 * attempt)
            person = who == "person"
            ended = film.approve(kill_at=kill_at) if person else film.agent(who, kill_at=kill_at)
            assert ended in (0, -signal.SIGKILL), film.said
            killed += ended != 0
        assert (film.approve() if who == "person" else film.agent(who)) == 0, film.said
    run_all(film)
    assert film.result() == unkilled
    assert killed >= 3
    tally(pipeline_kills=killed)


def test_three_processes_at_once_killed_at_random_times(
    tmp_path: Path, unkilled: dict[str, Any], seed: int
) -> None:
    chance = random.Random(seed)
    film = Film(tmp_path)
    running = {agent: film.start(agent) for agent in AGENTS}
    try:
        for _ in range(4):
            time.sleep(chance.uniform(0.2, 1.5))
            victim = chance.choice(AGENTS)
            running[victim].kill()
            running[victim].wait()
            running[victim] = film.start(victim)
            assert film.approve() == 0, film.said
        until = time.monotonic() + 120
        while not film.is_done() and time.monotonic() < until:
            assert film.approve() == 0, film.said
        assert all(one.poll() is None for one in running.values())
    finally:
        for one in running.values():
            one.kill()
            one.wait()
    assert film.result() == unkilled


def test_a_file_that_changed_on_disk_stops_the_agent_before_its_event(
    tmp_path: Path, unkilled: dict[str, Any]
) -> None:
    film = Film(tmp_path)
    assert film.agent("image") == 0 and film.approve() == 0
    plate = film.files / "plates" / f"{SHOTS[0]}.ppm"
    genuine = plate.read_bytes()
    plate.write_bytes(genuine[:-1] + bytes([genuine[-1] ^ 1]))
    assert film.agent("compositing") == 3
    assert "content changed" in film.said and f"plates/{SHOTS[0]}.plate" in film.said
    with film.open() as memory, pytest.raises(doxa.NotFoundError):
        memory.get(f"kref://film/comps/{SHOTS[0]}.comp")
    assert film.agent("compositing") == 3  # it does not pass over the event
    plate.unlink()
    assert film.agent("compositing") not in (0, 3)  # gone is another error, and loud as well
    plate.write_bytes(genuine)
    run_all(film)
    assert film.result() == unkilled


def test_another_approved_source_makes_another_output(tmp_path: Path) -> None:
    film = Film(tmp_path)
    run_all(film)
    film.person("brief", "cold", *SHOTS)
    run_all(film)
    with film.open() as memory:
        cut: Any = memory.get(f"{CUT}?t=approved")
        assert cut.number == 2
        walked = [step.kref for step in memory.provenance(cut.kref).steps]
        assert "kref://film/film.brief?r=2" in walked and "kref://film/film.brief?r=1" not in walked
        with pytest.raises(doxa.ConflictError):  # the file of the former plate was replaced
            kref = f"kref://film/plates/{SHOTS[0]}.plate?r=1&a=picture.ppm"
            memory.artifact_file(kref, folder=str(film.files))


def test_no_agent_approves(tmp_path: Path) -> None:
    film = Film(tmp_path)
    assert film.agent("image") == 0
    with film.open() as memory, pytest.raises(doxa.RoleError):
        memory.tag(f"kref://film/plates/{SHOTS[0]}.plate", "approved")


def test_the_chain_is_audited_by_explain(tmp_path: Path) -> None:
    film = Film(tmp_path)
    run_all(film)
    done = subprocess.run(
        [sys.executable, "-m", "doxa.cli", "explain", CUT, "--db", str(film.db)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"kref://film/comps/{SHOTS[0]}.comp?r=1" in done.stdout
    with film.open() as memory:
        level, seen = [f"{CUT}?r=1"], []
        while level:
            pages = [memory.explain(kref) for kref in level]
            seen += [(page.revision.kind, page.revision.author) for page in pages]
            level = sorted({ground.kref for page in pages for ground in page.grounds})
    assert seen == [
        ("edit", "edit"),
        *[("comp", "compositing")] * 2,
        *[("plate", "image")] * 2,
        ("brief", "director"),
    ]
