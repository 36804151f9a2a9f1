"""A Bolt server on an empty file, in a process of its own: clients are measured against it, and it is measured itself.

`python -m tests.compat.server_process FILE` prints its port, then answers each line of its input: `memory` with its resident bytes; the end of
the input stops it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from doxa.servers.bolt import running_server
from tests.servers.bolt_fixtures import GraphDatabase, Users


def resident_bytes() -> int:
    """Without the pages of the database file that the system maps: those are the system's to take back."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def main(path: str) -> None:
    database = GraphDatabase(Path(path))
    with running_server(database, Users()) as server:
        print(server.port, flush=True)
        for line in sys.stdin:
            if line.strip() == "memory":
                print(resident_bytes(), flush=True)
    database.store.close()


if __name__ == "__main__":
    main(sys.argv[1])
