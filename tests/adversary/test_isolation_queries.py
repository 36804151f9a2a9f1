"""Random statements in the name of one project, in a file that holds another too and in one that
does not: the answers are equal. `--campaign N` runs N times as many, DOXA_SEED others."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from doxa.store import check, digest, replayed_digest
from tests.adversary.isolation import CANARY, outcome, pair, prepare, rows, same_time
from tests.adversary.isolation_queries import Statements

_READS, _WRITES = 400, 250
_SEED = int(os.environ.get("DOXA_SEED", 20))


def test_random_reads_answer_as_if_there_were_nothing_else(
    tmp_path: Path, campaign: int, tally: Callable[..., None]
) -> None:
    statements, tried = Statements(_SEED), set()
    prepare(tmp_path)
    with pair(tmp_path, _folder(tmp_path, "open")) as (both, one):
        for _ in range(_READS * campaign):
            text = statements.read()
            found, wanted = outcome(rows(both, text)), outcome(rows(one, text))
            assert found == wanted, text
            assert CANARY not in found or CANARY in text, text
            tried.add(text)
    tally(reads=_READS * campaign, texts=len(tried))


def test_random_writes_do_as_if_there_were_nothing_else(
    tmp_path: Path, campaign: int, tally: Callable[..., None]
) -> None:
    """The numbers of new elements come from one sequence of the file; they are left out."""
    draw = random.Random(_SEED)
    prepare(tmp_path)
    for part in range(campaign):
        statements = Statements(_SEED + part, numbered=False)
        with pair(tmp_path, _folder(tmp_path, str(part))) as (both, one):
            for _ in range(_WRITES):
                text = statements.write() if draw.random() < 0.3 else statements.read()
                same_time(both, one)
                found, wanted = (outcome(rows(s, text), numbered=False) for s in (both, one))
                assert found == wanted, text
                assert CANARY not in found or CANARY in text, text
            whole = both.memory._whole.store  # type: ignore[attr-defined]
            assert check(whole) == []
            assert digest(whole) == replayed_digest(whole)
    tally(mixed_statements=_WRITES * campaign)


def _folder(parent: Path, name: str) -> Path:
    made = parent / name
    made.mkdir()
    return made
