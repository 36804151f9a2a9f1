"""Why peers are ahead: what each has, and what doxa does for the price. The table shows it only
where the measurement says that it is so."""

HAS = {
    "chromadb": "one vector for each turn, in native code, and no words",
    "mem0ai": "one vector for each turn, and no words",
    "bm25s": "words alone, as arrays in memory",
    "sqlite-vec": "two indexes and a table in one file, filled in one transaction, in C",
}
_QUERY = (
    "doxa compares every vector, reads those of its candidates' sentences from the file, weighs who"
    " spoke, when, what is linked and what still holds, and reads each hit again with status,"
    " source and reasons"
)
_MEMORY = (
    "doxa holds attributes and vectors (of a large store codes of them) of every turn, and more"
    " code than a lone index"
)
DOXA = {
    "load.turns_per_s": (
        "for each turn doxa writes a node, a log entry in a hash chain, postings and sentences'"
        " vectors, from Python"
    ),
    "first_s": "doxa imports more, and reads attributes and vectors of every turn into memory",
    "query.p50_ms": _QUERY,
    "query.p95_ms": _QUERY,
    "recall_at_10": "doxa weighs more than this set asks for",
    "memory.anon_bytes": _MEMORY,
    "memory.resident_bytes": _MEMORY,
    "disk.bytes_per_turn": "doxa keeps history, log, postings and vectors of sentences",
}
