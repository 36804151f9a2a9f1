"""One writer process: puts units into a file and acknowledges each one, after the call has
returned, in its own file. With several threads these share commits; each writes every THREADS-th
unit.

A unit is one `put`: a belief with two facts and an edge to the anchor. Run as: python writer.py
DATABASE ACKNOWLEDGED WORKER FIRST COUNT THREADS
"""

from __future__ import annotations

import os
import sys
import threading

from doxa.belief import Draft, Fact, Ledger
from doxa.store import Identity, Store

ANCHOR = "kref://crash/anchor.fact"


def unit(worker: int, n: int) -> Draft:
    facts = (Fact(f"unit {worker}", "has number", n), Fact(f"unit {worker}", "is twice", 2 * n))
    return Draft(
        f"unit {worker} number {n}", project="crash", space=f"w{worker}", name=f"u{n}", facts=facts
    )


def main(
    database: str, acknowledged: str, worker: int, *, first: int, count: int, threads: int
) -> None:
    out = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Store(database) as store:
        ledger = Ledger(store, Identity(f"writer-{worker}", "agent"))

        def write(begin: int) -> None:
            for n in range(begin, first + count, threads):
                ledger.put(unit(worker, n), links=[("DEPENDS_ON", ANCHOR)])
                os.write(out, f"{n}\n".encode())

        others = [threading.Thread(target=write, args=(first + n,)) for n in range(1, threads)]
        for thread in others:
            thread.start()
        write(first)
        for thread in others:
            thread.join()
    os.close(out)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[3:]]
    main(*sys.argv[1:3], numbers[0], first=numbers[1], count=numbers[2], threads=numbers[3])
