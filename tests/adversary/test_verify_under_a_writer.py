"""Verification next to a writer that does not pause: each looks at one snapshot, so none cries
tampering."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from doxa.app import open_memory
from doxa.store import Store
from tests.adversary.list_append_clients import Process, prepare

RUNS = 10
WAIT_S = 60


def test_verify_and_doctor_raise_no_alarm_next_to_a_writer(
    tmp_path: Path, tally: Callable[..., None], campaign: int
) -> None:
    for part in range(campaign):
        run, changes = looked_at(tmp_path / f"live-{part}.db")
        assert changes
        tally(verifications=run, changes_meanwhile=changes)


def looked_at(path: Path) -> tuple[int, int]:
    """Verify a new file next to a writer; how often, and how much was written meanwhile."""
    prepare(path)
    writer = Process("write", str(path))
    changes = []
    try:
        until = time.monotonic() + WAIT_S  # for a writer that begins late
        while len(changes) < RUNS or (changes[-1] == changes[0] and time.monotonic() < until):
            # opened each time, as the commands do
            with open_memory(path, read_only=True, embedder=None, background=False) as memory:
                proof = memory.verify()
                wrong = [one for one in memory.doctor() if not one.ok and one.name != "vectors"]
                assert wrong == []
                changes.append(proof.receipts)
                if proof.receipts > 1_500:  # short files: what is tested is the moment
                    break
    finally:
        writer.stop()
    return 2 * len(changes), changes[-1] - changes[0]


def test_what_is_verified_is_of_one_moment(tmp_path: Path) -> None:
    """A change between any two reads of a verification does not show in it."""
    path = tmp_path / "live.db"
    prepare(path)
    with (
        open_memory(path, role="operator", embedder=None, background=False) as memory,
        Store(path, read_only=True) as store,
    ):
        from doxa.maintenance import doctor

        first = doctor.prove(store).receipts
        real = doctor.digest

        def digest_later(examined: Store) -> str:
            found = real(examined)
            memory.run("CREATE (:Between)")  # on the connection of the other store
            return found

        doctor.digest = digest_later
        try:
            assert doctor.prove(store).receipts == first
        finally:
            doctor.digest = real
        assert doctor.prove(store).receipts == first + 1
