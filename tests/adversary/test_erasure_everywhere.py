"""An erasure where servers share a log: nothing of the text is left at the engine, in its snapshot
or on a replica that has reported; and the proof does not say so earlier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.maintenance.erasure_proof import ErasureProof
from doxa.replication import snapshot as snapshots
from doxa.replication.protocol import FleetLog, ReplicaReport
from tests.fixtures_shared import StepCounts, opened
from tests.replication.conftest import *  # noqa: F403

SECRET = "marzipan under the floor"
OpenServer = Callable[..., Memory]


@pytest.fixture
def server(shared_url: str, tmp_path: Path) -> Iterator[OpenServer]:
    made: list[Memory] = []

    def again(name: str, **options: Any) -> Memory:
        given = {"tenant": "acme", "replica": tmp_path / name} | options
        made.append(opened(shared_url, **given))  # type: ignore[arg-type]
        return made[-1]

    yield again
    for memory in made:
        memory.close()


def forget(memory: Memory, kref: str) -> None:
    item = kref.partition("?")[0]
    token = memory.forget(item, erase=True, preview=True).token
    assert memory.forget(item, erase=True, confirm=token).done


def states(proof: ErasureProof) -> dict[str, str]:
    """The state of each place that shares the log; replicas by the folder of their file."""
    found = {}
    for one in proof.traces:
        name, _, rest = one.place.partition(" ")
        if name in ("shared", "snapshot"):
            found[name] = one.state
        elif name == "replica":
            found[Path(rest).parent.name] = one.state
    return found


def test_an_erasure_is_complete_when_every_replica_has_it(
    server: OpenServer, tmp_path: Path
) -> None:
    one, two = server("one"), server("two")
    kept = one.remember(f"The key is in the {SECRET}", project="shop", idempotency_key="k")
    assert two.replica is not None and one.replica is not None
    two.replica.catch_up()
    assert snapshots.put_snapshot(one.store, one.replica.log, "acme")
    before = one.verify_erased(SECRET)
    assert states(before) == {"shared": "holds", "snapshot": "holds", "one": "gone", "two": "gone"}
    assert not before.complete

    forget(one, kept.kref)
    halfway = one.verify_erased(SECRET)
    assert states(halfway) == {"shared": "gone", "snapshot": "gone", "one": "gone", "two": "holds"}
    assert halfway.erased and not halfway.complete

    two.replica.catch_up()
    counted = StepCounts()
    after = one._looked_for(SECRET, counted)
    assert set(states(after).values()) == {"gone"} and after.complete
    assert counted.steps["transactions at the engine"] == [one.store.last_transaction()] * 2
    assert two.verify_erased(SECRET).complete
    for folder in ("one", "two"):
        for path in (tmp_path / folder).iterdir():
            if path.is_file():
                assert SECRET.encode() not in path.read_bytes(), path


def test_a_replica_that_is_silent_is_named(server: OpenServer) -> None:
    one = server("one")
    kept = one.remember(f"The key is in the {SECRET}", project="shop")
    assert one.replica is not None
    log = one.replica.log
    assert isinstance(log, FleetLog)
    log.report("acme", ReplicaReport("host:/lost/file.db", 1, 1))
    forget(one, kept.kref)
    proof = one.verify_erased(SECRET)
    assert not proof.complete
    assert states(proof)["lost"] == "holds"
    log.withdraw("acme", "host:/lost/file.db")
    assert one.verify_erased(SECRET).complete


def test_a_replica_that_cannot_overwrite_yet_says_so(server: OpenServer) -> None:
    """A reader of an older state keeps the bytes in the write-ahead log of the other replica."""
    one, two = server("one"), server("two")
    kept = one.remember(f"The key is in the {SECRET}", project="shop")
    assert two.replica is not None
    two.replica.catch_up()
    from doxa.store import Store

    with Store(two.store.path) as reader, reader.read() as snapshot:
        assert snapshot.last_receipt() is not None
        forget(one, kept.kref)
        two.replica.catch_up()
        proof = one.verify_erased(SECRET)
        assert states(proof)["two"] == "holds" and not proof.complete
    two.store.scrub()
    two.replica.upkeep.report(two.replica.log)
    assert one.verify_erased(SECRET).complete


def test_nothing_is_proved_without_the_engine(
    server: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doxa.base.errors import UnreachableError

    one = server("one")
    kept = one.remember(f"The key is in the {SECRET}", project="shop")
    forget(one, kept.kref)
    assert one.replica is not None

    def away(*_: object, **__: object) -> None:
        raise UnreachableError("The wire was cut.", next_step="Repair it.")

    monkeypatch.setattr(type(one.replica.log), "read", away)
    proof = one.verify_erased(SECRET)
    assert states(proof) == {"shared": "unknown"} and not proof.complete


def test_an_unfinished_snapshot_file_goes_with_the_erasure(
    server: OpenServer, tmp_path: Path
) -> None:
    """What a server that was killed left next to the replica."""
    one = server("one")
    kept = one.remember(f"The key is in the {SECRET}", project="shop")
    left = Path(f"{one.store.path}.123-abc.part")
    left.write_bytes(b"... " + SECRET.encode())
    assert not one.verify_erased(SECRET).erased
    forget(one, kept.kref)
    assert not left.exists() and one.verify_erased(SECRET).complete
