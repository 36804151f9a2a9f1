"""ocg, another Cypher engine, behind its input and output, in the oracles' own environment. Each
line in is `[graph, [query, ...]]`; each line out is a list with `["rows", [[value, ...], ...]]` or
`["error", text]` for each query. Elements and paths are identified by the numbers in `i`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ocg


def told(value: Any) -> Any:
    """The value as plain data; what nodes and edges are is said in front."""
    if isinstance(value, dict):
        if set(value) == {"id", "labels", "properties"}:
            return ["node", value["properties"].get("i")]
        if set(value) == {"id", "start_node_id", "end_node_id", "type", "properties"}:
            return ["edge", value["properties"].get("i")]
        if set(value) == {"nodes", "relationships"}:
            return [
                "path",
                [told(node) for node in value["nodes"]],
                [told(edge) for edge in value["relationships"]],
            ]
        return ["map", sorted([key, told(item)] for key, item in value.items())]
    if isinstance(value, list):
        return ["list", [told(item) for item in value]]
    return value


def answer(graph: Any, text: str) -> list[Any]:
    try:
        return ["rows", [[told(value) for value in row.values()] for row in graph.execute(text)]]
    except BaseException as error:  # a panic of the engine is not an Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return ["error", str(error)[:300]]


def main() -> None:
    for line in sys.stdin:
        made, texts = json.loads(line)
        graph = ocg.Graph()
        graph.execute(made)
        print(json.dumps([answer(graph, text) for text in texts]), flush=True)


if __name__ == "__main__":
    main()
