"""Why a durable peer is faster, one sentence for each row. The table shows it only where the measurement says that it is so."""

_RAM = "it keeps the whole graph in memory as native structures, doxa reads a file through SQLite"

WHY = {
    "load": "doxa writes a hash-chained log and a receipt beside the state, and two adjacency indexes",
    "lookup": "half of doxa's time is the plan's Python around one SQL statement, the other the statement and its snapshot",
    "one_hop": f"{_RAM}, and each row becomes Python objects",
    "two_hops": _RAM,
    "two_hops_rows": f"{_RAM}, and each row becomes Python objects",
    "three_hops": _RAM,
    "lengths": f"{_RAM}; each length is one statement over the adjacency index",
    "shortest": f"{_RAM}; each level is one statement over the adjacency index",
    "grouped": "it reads a column of native values, doxa takes the property out of each node's JSON",
    "top": "it reads a column of native values, doxa takes the property out of each node's JSON",
    "triangles": f"{_RAM}",
    "write": "doxa writes the past, a hash-chained log, a receipt and search rows in the same synced transaction",
}
