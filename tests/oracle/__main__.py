"""Compare random statements with a real Neo4j, group what differs by cause, and fail if a cause is
not explained.

    python -m tests.oracle --oracle bolt://127.0.0.1:7687 --statements 1000 --kinds read,call

Everything follows from the seeds: `--seeds 3:4` repeats the fourth batch of each kind.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

from tests.oracle.compare import difference
from tests.oracle.explained import explanation
from tests.oracle.shrink import shape, shrink
from tests.oracle.sides import Doxa, Neo4j
from tests.oracle.statements import INDEXES, Statement, statement
from tests.properties.random_queries import graph_text

KINDS = ("read", "update", "parameters", "error", "call", "operator", "temporal", "aggregate")
_BATCH = 50
_SHRUNK_MAX = 3  # of one kind of difference: the rest are only counted


class Comparison:
    def __init__(self, ours: Doxa, theirs: Neo4j) -> None:
        self.ours, self.theirs = ours, theirs
        self.compared: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.causes: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._tried: Counter[str] = Counter()

    def batch(self, kind: str, seed: int) -> None:
        """Compare one graph's worth of statements of a kind."""
        rng = Random(f"{kind} {seed}")
        graph = graph_text(rng)
        if kind in ("read", "update", "parameters", "error"):
            self.ours.reset(graph)
            self.theirs.reset(graph)
        for _ in range(_BATCH):
            self._compare(statement(kind, rng), seed, graph)

    def _compare(self, asked: Statement, seed: int, graph: str) -> None:
        ours, theirs = self.ours.ask(asked), self.theirs.ask(asked)
        self.compared[asked.kind] += 1
        self.refused[asked.kind] += ours.rows is None and theirs.rows is None
        found = difference(asked, ours, theirs)
        if found is None:
            return
        anchor = explanation(asked, ours, theirs, self.theirs.ask)
        if anchor is not None:
            self.explained[anchor] += 1
            return
        text = self._shrunk(asked, found)
        small = asked._replace(text=text)
        ours, theirs = self.ours.ask(small), self.theirs.ask(small)
        anchor = explanation(small, ours, theirs, self.theirs.ask)
        if anchor is not None:
            self.explained[anchor] += 1
            return
        cause = f"{asked.kind}: {found}: {shape(text)}"
        self.causes[cause].append(
            {
                "seed": seed,
                "text": text,
                "params": repr(asked.params),
                "whole": asked.text,
                "graph": graph,
                "doxa": ours.message or repr(ours.rows)[:400],
                "neo4j": theirs.message or repr(theirs.rows)[:400],
                "doxa_graph": repr(ours.graph)[:600],
                "neo4j_graph": repr(theirs.graph)[:600],
            }
        )

    def _shrunk(self, asked: Statement, found: str) -> str:
        self._tried[found] += 1
        if self._tried[found] > _SHRUNK_MAX * 20:
            return asked.text

        def differs(text: str) -> bool:
            one = asked._replace(text=text, ordered=asked.ordered and "ORDER BY" in text)
            return difference(one, self.ours.ask(one), self.theirs.ask(one)) == found

        return shrink(asked.text, differs)

    def report(self) -> dict[str, Any]:
        return {
            "compared": dict(self.compared),
            "refused_by_both": dict(self.refused),
            "explained": dict(self.explained.most_common()),
            "unexplained": sum(map(len, self.causes.values())),
            "causes": {
                cause: {
                    "times": len(found),
                    "example": min(found, key=lambda one: len(one["text"])),
                }
                for cause, found in sorted(self.causes.items(), key=lambda item: -len(item[1]))
            },
        }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--oracle", required=True, help="the Bolt address of a Neo4j to be emptied")
    parser.add_argument("--user", default="neo4j")
    parser.add_argument("--password", default="neo4j")
    parser.add_argument("--statements", type=int, default=1_000, help="of each kind")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seeds", default="", help="first:last batch, instead of --statements")
    parser.add_argument("--indexes", action="store_true", help="declare indexes on both sides")
    parser.add_argument("--seconds", type=int, default=0, help="stop after so long")
    parser.add_argument("--json", default="", help="write the report to this file")
    given = parser.parse_args(arguments)
    first, _, last = (given.seeds or f"0:{-(-given.statements // _BATCH)}").partition(":")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Doxa(Path(folder)), Neo4j(given.oracle, given.user, given.password)
        if given.indexes:
            ours.reset(*INDEXES)
            theirs.reset(*INDEXES)
        made = Comparison(ours, theirs)
        try:
            for seed in range(int(first), int(last)):
                if given.seconds and time.monotonic() - begun > given.seconds:
                    break
                for kind in given.kinds.replace(",", " ").split():
                    made.batch(kind, seed)
        finally:
            ours.close()
            theirs.close()
    report = made.report()
    if given.json:
        Path(given.json).write_text(json.dumps(report, indent=1, ensure_ascii=False))
    for cause, one in report["causes"].items():
        example = one["example"]
        print(f"{one['times']} x {cause}\n   {example['text']}  {example['params']}")
        print(f"   doxa:  {example['doxa']}\n   Neo4j: {example['neo4j']}")
    print(json.dumps({name: report[name] for name in report if name != "causes"}, indent=1))
    return 1 if report["unexplained"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
