"""Runs a module of the example and kills it (SIGKILL) at the Nth of its steps: python
killed_stage.py MODULE N ARGUMENTS. Steps lie before and after each write of a file, each part of a
unit, each commit and each acknowledgement; 0 never kills."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

from doxa.belief import Ledger
from doxa.events import EventStream
from doxa.store import Store, Transaction

_STEPS: tuple[tuple[Any, str], ...] = (
    (os, "replace"),
    (os, "fsync"),
    (Path, "read_bytes"),
    *((Ledger, name) for name in ("upsert", "attach", "link", "bundle", "tag")),
    (Transaction, "finish"),
    (Store, "_commit"),
    (EventStream, "ack"),
)


def main(module: str, steps: int) -> None:
    left = [steps]

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(method: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            step()
            done = method(*args, **options)
            step()
            return done

        return call

    for owner, name in _STEPS:
        setattr(owner, name, counted(getattr(owner, name)))
    runpy.run_module(f"examples.pipeline.{module}", run_name="__main__")


if __name__ == "__main__":
    name, number = sys.argv[1:3]
    del sys.argv[1:3]
    main(name, int(number))
