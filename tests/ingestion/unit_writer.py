"""Stores one unit and ends, as by a kill, at a step of it: python unit_writer.py FILE FOLDER STEP.
STEP counts the operations of the ledger that a unit is made of; beyond the last one the process
ends after the last write and before the commit; -1 never."""

from __future__ import annotations

import os
import sys
from typing import Any

import doxa
from doxa.belief import Ledger
from doxa.store import Transaction

STEPS = ("upsert", "attach", "link", "bundle", "tag")


def main(path: str, folder: str, step: int) -> None:
    left = [step]

    def dying(method: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            done = method(*args, **options)
            left[0] -= 1
            if left[0] == -1:
                os._exit(9)
            return done

        return call

    if step >= 0:
        for name in STEPS:
            setattr(Ledger, name, dying(getattr(Ledger, name)))
        Transaction.finish = dying(Transaction.finish)  # type: ignore[method-assign]
    with doxa.open(path, embedder=None, background=False, project="film") as memory:
        memory.store_unit(
            "The sky plate of shot 12 is rendered",
            name="sky",
            space="shots/12",
            kind="image",
            artifacts={"sky.ppm": "sky.ppm", "sky.txt": "sky.txt"},
            folder=folder,
            created_from=["kref://film/brief.fact"],
            references=["kref://film/camera.fact"],
            bundles=["plates"],
            tags=["draft", "rendered"],
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
