"""A fresh process that opens a store and asks, so that memory is counted without what filling the
store left behind.

python -m bench.probe FILE QUESTION...      prints three numbers: its own bytes before opening, its
own and all resident ones after the answers
"""

from __future__ import annotations

import sys

import doxa
from bench.embedders import CloudEmbedder
from bench.timing import memory_bytes

if __name__ == "__main__":
    before = memory_bytes()
    with doxa.open(sys.argv[1], embedder=CloudEmbedder(), background=False) as memory:
        for question in sys.argv[2:]:
            memory.recall(question)
        after = memory_bytes()
        print(before.own, after.own, after.resident)
