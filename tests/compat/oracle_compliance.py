"""Runs the catalogue of opencypher-compliance against the server at a port, in the oracles' own
environment. Prints a line for each test: `CHECK {"name", "type", "problem"}`, the problem empty if
it passed.
"""

from __future__ import annotations

import json
import sys

from opencypher_compliance.runner import run_compliance


def main(port: int) -> None:
    database = {
        "name": "doxa",
        "adapter": "bolt",
        "host": "127.0.0.1",
        "port": port,
        "auth": {"username": "ana", "password": "a-good-secret"},
        "options": {"database_name": "doxa"},
        "pre_run": "MATCH (n) DETACH DELETE n",
    }
    for result in run_compliance({"database": database})["results"]:
        problem = "" if result["result"] == "pass" else result.get("error", "failed")
        print(
            "CHECK "
            + json.dumps({"name": result["element"], "type": result["type"], "problem": problem})
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
