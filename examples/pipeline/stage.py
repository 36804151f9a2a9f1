"""What the three agents share: follow approvals by a durable cursor, and register an output.

    event (revision.tagged, approved) ─► what is approved now ─► the agent's work ─► ack

The work may be done again, after a crash before the ack: its files are the same bytes, and the unit
that is stored already is not stored twice. So nothing is lost and nothing is there twice.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import doxa
from examples.pipeline import pictures

PROJECT = "film"
APPROVED = "approved"
CHANGED = 3  # the exit code when a file on disk is not what was approved


@dataclass(frozen=True)
class Stage:
    """An agent at work: its memory, and the folder of all files."""

    memory: doxa.Memory
    folder: Path

    def approved(self, kref: str) -> doxa.Revision | None:
        """Return what is approved under an address, or None."""
        try:
            found = self.memory.get(f"{kref}?t={APPROVED}")
        except doxa.NotFoundError:
            return None
        assert isinstance(found, doxa.Revision)
        return found

    def read(self, revision: doxa.Revision, name: str) -> bytes:
        """Read the file of a revision. Raises ConflictError if it is not the one that was stored:
        compared by the store, and again as these bytes."""
        kref = f"{revision.kref}&a={name}"
        file = self.memory.artifact_file(kref, folder=str(self.folder))
        data = Path(file.path).read_bytes()
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise doxa.ConflictError(
                f"{file.path} changed while it was used.", next_step="Run the stage again."
            )
        return data

    def register(
        self,
        text: str,
        *,
        name: str,
        kind: str,
        data: bytes,
        sources: list[str],
    ) -> None:
        """Write a file, then store it with its lineage: one file, one unit, one transaction.

        No idempotency key is needed: a unit that is current already is not stored again. A key
        would be wrong here, since an approval that goes back to an earlier source is to be carried
        out once more.
        """
        path = Path(f"{kind}s") / f"{name}.ppm"
        pictures.write(self.folder / path, data)
        self.memory.store_unit(
            text,
            name=name,
            space=f"{kind}s",
            kind=kind,
            artifacts={"picture.ppm": str(path)},
            folder=str(self.folder),
            derived_from=sources,
            created_from=sources,
            bundles=[f"kref://{PROJECT}/outputs.bundle"],
        )


def run(agent: str, kind: str, work: Callable[[Stage, str], None]) -> None:
    """Run an agent: call `work(stage, item)` for each item of a kind that is approved."""
    parser = argparse.ArgumentParser(description=f"The {agent} agent of the pipeline.")
    parser.add_argument("db", help="the memory file that all agents share")
    parser.add_argument("folder", type=Path, help="the folder of all files")
    parser.add_argument("--follow", action="store_true", help="wait for more approvals")
    given = parser.parse_args()
    with (
        doxa.open(given.db, actor=agent, project=PROJECT, embedder=None) as memory,
        memory.events(
            names=["revision.tagged"],
            project=PROJECT,
            kind=kind,
            cursor=f"{agent}-agent",
            ack="manual",
            follow=given.follow,
        ) as events,
    ):
        stage = Stage(memory, given.folder)
        for event in events:
            if event.tag == APPROVED and event.kref:
                try:
                    work(stage, event.kref.partition("?")[0])
                except doxa.ConflictError as error:
                    # the event stays before the cursor: a later run begins with it
                    sys.stderr.write(f"{agent}: {error}\n")
                    sys.exit(CHANGED)
            events.ack(event)
