"""One writer process: puts units into a file and acknowledges each one, after the call has
returned, in its own file.

A unit is one `put`: a belief with two facts and an edge to the anchor. Run as: python writer.py
DATABASE ACKNOWLEDGED WORKER FIRST COUNT
"""

from __future__ import annotations

import os
import sys

from doxa.belief import Draft, Fact, Ledger
from doxa.store import Identity, Store

ANCHOR = "kref://crash/anchor.fact"


def unit(worker: int, n: int) -> Draft:
    facts = (Fact(f"unit {worker}", "has number", n), Fact(f"unit {worker}", "is twice", 2 * n))
    return Draft(
        f"unit {worker} number {n}", project="crash", space=f"w{worker}", name=f"u{n}", facts=facts
    )


def main(database: str, acknowledged: str, worker: int, *, first: int, count: int) -> None:
    out = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Store(database) as store:
        ledger = Ledger(store, Identity(f"writer-{worker}", "agent"))
        for n in range(first, first + count):
            ledger.put(unit(worker, n), links=[("DEPENDS_ON", ANCHOR)])
            os.write(out, f"{n}\n".encode())
    os.close(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), first=int(sys.argv[4]), count=int(sys.argv[5]))
