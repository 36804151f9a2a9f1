"""A fresh process that opens a store and asks once, so that memory is counted without what filling the store left behind.

python -m bench.probe FILE QUESTION      prints two numbers: bytes before opening and after the answer (nan where the system is silent)
"""

from __future__ import annotations

import sys

import doxa
from bench.embedders import CloudEmbedder
from bench.timing import own_memory_bytes

if __name__ == "__main__":
    before = own_memory_bytes()
    with doxa.open(sys.argv[1], embedder=CloudEmbedder(), background=False) as memory:
        memory.recall(sys.argv[2])
        print(before, own_memory_bytes())
