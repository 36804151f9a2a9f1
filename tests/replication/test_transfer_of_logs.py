"""From a file to a shared log and back: the same receipts, state and proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.app.care.shared import list_tenants, pull_file, replicate_file
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError, InputError, StoreError
from doxa.cli.application import app
from doxa.replication.protocol import FleetLog
from doxa.replication.snapshot import put_snapshot
from doxa.store import check, digest, verify_log
from tests.fixtures_shared import opened
from tests.transfer.random_graphs import RandomGraph


@pytest.mark.parametrize("seed", range(3))
def test_a_file_goes_to_the_engine_and_comes_back(
    shared_url: str, tmp_path: Path, seed: int
) -> None:
    clock = FakeClock()
    with opened(tmp_path / "own.db", clock=clock) as own:
        RandomGraph(own, clock, seed).run(60)
        wanted = digest(own.store), verify_log(own.store)
    counted: dict[str, list[int]] = {}

    def begin(what: str, total: int) -> Callable[[int], None]:
        done = counted[what] = [total]
        return done.append

    sent = replicate_file(tmp_path / "own.db", shared_url, "acme", stages=begin)
    assert set(counted) == {"log entries", "transactions"}
    assert all(total == sum(done) > 0 for total, *done in counted.values())
    assert sent["transactions"] == wanted[1].receipts
    assert sent["token"] == f"{wanted[1].receipts}@{wanted[1].head}"
    assert replicate_file(tmp_path / "own.db", shared_url, "acme")["transactions"] == 0
    pull_file(shared_url, tmp_path / "back.db", "acme")
    with opened(tmp_path / "back.db", clock=clock) as back:
        assert (digest(back.store), verify_log(back.store)) == wanted
        assert check(back.store) == []
    replica = {"tenant": "acme", "replica": tmp_path / "r", "clock": clock}
    with opened(shared_url, **replica) as memory:  # type: ignore[arg-type]
        assert (digest(memory.store), verify_log(memory.store)) == wanted
        RandomGraph(memory, clock, seed + 1).run(5)
    with opened(tmp_path / "own.db", clock=clock) as own:
        own.remember("meanwhile the file went its own way", project="p")
    with pytest.raises(ConflictError, match="not the beginning"):
        replicate_file(tmp_path / "own.db", shared_url, "acme")
    (told,) = list_tenants(shared_url)
    assert told["tenant"] == "acme" and told["size_bytes"] > 1_000


def test_what_is_done_once_is_not_done_again_behind_the_engine(
    shared_url: str, tmp_path: Path
) -> None:
    """The answers of keyed calls, and how far a file is loaded, move along with the log."""
    path = tmp_path / "p.csv"
    people = [f"{n}" for n in range(5)]
    path.write_text("\n".join(["id", *people, ""]))
    with opened(tmp_path / "own.db") as own:
        made = own.remember("We ship on Monday", project="shop", idempotency_key="k1")
        assert own.load(path, label="Person", key="id").nodes == 5
    replicate_file(tmp_path / "own.db", shared_url, "acme")
    path.write_text("\n".join(["id", *people, "5", ""]))
    for name, new in (("one", 1), ("two", 0)):  # the second server follows the first
        replica = {"tenant": "acme", "replica": tmp_path / name}
        with opened(shared_url, **replica) as memory:  # type: ignore[arg-type]
            loaded = memory.load(path, label="Person", key="id")
            assert (loaded.nodes, loaded.continued) == (new, 6 - new)
            assert (
                memory.remember("We ship on Monday", project="shop", idempotency_key="k1") == made
            )
    with opened(shared_url, tenant="acme", replica=tmp_path / "one") as memory:  # type: ignore[arg-type]
        assert memory.replica is not None and isinstance(memory.replica.log, FleetLog)
        put_snapshot(memory.store, memory.replica.log, "acme")
    with opened(shared_url, tenant="acme", replica=tmp_path / "new") as memory:  # type: ignore[arg-type]
        assert memory.load(path, label="Person", key="id").nodes == 0, "the snapshot knows of it"
    pull_file(shared_url, tmp_path / "back.db", "acme")
    with opened(tmp_path / "back.db") as back:
        assert back.load(path, label="Person", key="id").nodes == 0


def test_two_servers_load_a_file_once(shared_url: str, tmp_path: Path) -> None:
    """The second one has not heard of the first when it begins to read."""
    path = tmp_path / "p.csv"
    path.write_text("id\n1\n2\n3\n")
    given = {"tenant": "acme"}
    with (
        opened(shared_url, replica=tmp_path / "one", **given) as one,  # type: ignore[arg-type]
        opened(shared_url, replica=tmp_path / "two", **given) as two,  # type: ignore[arg-type]
    ):
        assert one.load(path, label="Person").nodes == 3
        loaded = two.load(path, label="Person")
        assert (loaded.nodes, loaded.continued) == (0, 3)
        assert two.load(path, label="Person", again=True).nodes == 3


def test_the_commands(shared_url: str, tmp_path: Path) -> None:
    def run(*given: object) -> object:
        done = CliRunner().invoke(app, [*map(str, given), "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    with opened(tmp_path / "own.db") as own:
        own.remember("Deploys are on Thursday", project="p")
    url = f"{shared_url}?tenant=acme"
    sent = run("replicate", tmp_path / "own.db", url)
    assert run("tenants", "list", shared_url)[0]["token"] == sent["token"]  # type: ignore[index]
    assert run("pull", url, tmp_path / "back.db")["token"] == sent["token"]  # type: ignore[index]


def test_what_cannot_be_moved_is_refused(shared_url: str, tmp_path: Path) -> None:
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    with pytest.raises(StoreError, match="no log"):
        pull_file(shared_url, tmp_path / "new.db", "nobody")
    with pytest.raises(StoreError):
        replicate_file(tmp_path / "absent.db", shared_url, "acme")
    with pytest.raises(InputError, match="none is named"):
        replicate_file(taken, shared_url)
    with pytest.raises(StoreError, match="exists already"):
        pull_file(shared_url, taken, "acme")
    assert taken.read_text() == "mine"
