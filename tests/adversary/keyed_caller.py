"""One process that sends the same calls under the same keys as others: python keyed_caller.py FILE
ROUNDS ANSWERS [KILL_AFTER_WRITE]. Each answer is a line of JSON in ANSWERS. With KILL_AFTER_WRITE
the process ends at once when the transaction of that round has written its beliefs, before the
commit."""

from __future__ import annotations

import json
import os
import sys

import doxa
from doxa.store.idempotency.keys import KeyedCall


def main(path: str, rounds: int, answers: str, kill_at: int) -> None:
    out = os.open(answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    keep = KeyedCall.keep

    def keep_or_die(call: KeyedCall, tx: object, answer: bytes) -> None:
        keep(call, tx, answer)  # type: ignore[arg-type]
        os._exit(9)

    with doxa.open(path, embedder=None, background=False, project="shop", actor="w") as memory:
        for n in range(rounds):
            if n == kill_at:
                KeyedCall.keep = keep_or_die  # type: ignore[method-assign, assignment]
            done = memory.revise(
                "kref://shop/counter.fact",
                f"The counter is {n}",
                again=True,
                idempotency_key=f"k{n}",
            )
            os.write(out, json.dumps([n, done.kref, done.change, done.receipt]).encode() + b"\n")
    os.close(out)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
