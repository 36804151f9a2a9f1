"""Why a durable peer is faster, one sentence for each row. The table shows it only where the
measurement says that it is so."""

_HOLDS = {
    "kglite": (
        "it holds the whole graph in memory as native structures, doxa reads a file through SQLite"
    ),
    "ladybug": (
        "it joins many rows at a time over compressed lists of neighbours, doxa one row at a time"
        " in SQLite"
    ),
    "graphqlite": "it makes one SQL statement in C, doxa makes and runs its own from Python",
}
_OBJECTS = "{holds}, and each row becomes Python objects"
_COLUMN = "it reads a column of native values, doxa takes the property out of each node's JSON"

_WHY = {
    "load": (
        "each edge of doxa is a row of three B-trees, an entry of the log and a part of its hash"
        " chain, and passes through Python"
    ),
    "lookup": (
        "half of doxa's time is the plan's Python around one SQL statement, the other the statement"
        " and its snapshot"
    ),
    "one_hop": _OBJECTS,
    "two_hops": "{holds}",
    "two_hops_rows": _OBJECTS,
    "three_hops": "{holds}",
    "lengths": (
        "{holds}; each length is one statement over the adjacency index, and each end passes"
        " through Python"
    ),
    "shortest": "{holds}; each level is one statement over the adjacency index",
    "grouped": _COLUMN,
    "top": _COLUMN,
    "triangles": "{holds}",
    "write": "doxa writes a hash-chained log and a receipt in the same synced transaction",
}


def why(row: str, peer: str) -> str:
    return _WHY[row].format(holds=_HOLDS.get(peer, "it is native code throughout"))
