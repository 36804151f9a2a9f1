"""Why an interface does not offer an operation or a parameter, or offers it differently."""

from __future__ import annotations

from doxa.app.verbs.model import Interface

Reasons = dict[Interface, str]

OPERATOR = "the default profile holds what an agent needs in a conversation, in few tokens"
FIXED = "the server's project is fixed when it starts"
DRY_RUN = "doxa.dryRun does it, in a transaction of its own"
QUERY = "a query does it: MATCH, AS OF, ORDER BY and LIMIT"
CARE = "it concerns the file, not the graph"
PROCESS = "a command opens the memory and closes it, so that there is nothing to do or to report"
VALUES = "a command line has no value of this kind"
CYPHER = "`doxa cypher` runs statements"
FEW = "the default profile keeps schemas short"

NO_TOOL: Reasons = {"mcp": OPERATOR}
CARE_ONLY: Reasons = {"cypher": CARE, "mcp": OPERATOR}
PYTHON_ONLY: Reasons = {
    "cli": PROCESS,
    "cypher": CARE,
    "mcp": "it manages the Python object",
}
