"""A program that ends without closing its memory ends as it would have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doxa.models.minilm import find_weights

SCRIPT = """
import sys, doxa
memory = doxa.open(sys.argv[1])
said = [f"Note {number}: the plumber fixed tap {number}." for number in range(300)]
memory.ingest([{"speaker": "Ana", "text": text} for text in said])
memory.recall("When did the plumber come?")
"""


@pytest.mark.skipif(find_weights() is None, reason="doxa-memory-minilm is not installed")
def test_an_embedding_thread_does_not_abort_the_interpreter(tmp_path: Path) -> None:
    for number in range(3):
        path = str(tmp_path / f"{number}.db")
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
