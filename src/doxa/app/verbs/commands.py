"""The commands that are not operations of a memory."""

from __future__ import annotations

from doxa.app.verbs.model import CommandOnly, Group

_STARTS = "it starts a program"
_SHARED = "it is about an engine; a memory is opened by its URL"
_POLICY = "in the other interfaces, policies are statements of Cypher"
_FOLDERS = "it edits a table of folders, which is in no memory file"
_COPIES = "it makes files on a schedule; in Python, `backup` makes one"
_OPERATOR = "agents have no way to it"
_USERS = "it manages logins, which only who owns the file may"

GROUP_HELP: dict[str, tuple[Group, str]] = {
    "backups": ("care", "Make, test and list backups of a folder."),
    "operator": ("care", "Manage what agents may not change: plan, apply, take back."),
    "policy": ("care", "Manage persistence policies: what decays, and what use promotes."),
    "projects": ("care", "Manage which folder belongs to which project."),
    "tenants": ("care", "Manage the tenants of a shared log."),
    "users": ("serve", "Manage logins to the servers: passwords and tokens."),
}
SHELL = (
    CommandOnly(
        "init", "start", "Create the memory file, or upgrade it, and print its path.", _STARTS
    ),
    CommandOnly(
        "setup", "start", "Enter doxa into an agent host, check that, or take it out.", _STARTS
    ),
    CommandOnly(
        "watch",
        "start",
        "Keep importing what agent hosts and other programs write.",
        "it follows files until it is stopped; `ingest` reads them once",
    ),
    CommandOnly(
        "graph",
        "look",
        "Show what is around an element, also as a picture.",
        "`traverse` is its verb",
    ),
    CommandOnly("demo", "start", "Run a demonstration on a file of its own.", _STARTS),
    CommandOnly(
        "config",
        "start",
        "Print every setting: its value, and where it was set.",
        "it reads the settings of a process, not a memory",
    ),
    CommandOnly("cypher", "ask", "Run Cypher: a query, a script, or a shell.", "`run` is its verb"),
    CommandOnly(
        "restore-backup",
        "care",
        "Restore a backup or a followed log to a new path, also as of a time; it replaces nothing.",
        "it makes a file; in Python, open the backup and call `backup`",
    ),
    CommandOnly(
        "status",
        "care",
        "Show what a memory holds, what of it grows, how fast, and what would trim it.",
        "`growth` and `stats` return it; `/metrics` of a server has the sizes",
    ),
    CommandOnly(
        "backups run",
        "care",
        "Make backups again and again, test each by a restore, and remove old ones by a rule.",
        _COPIES,
    ),
    CommandOnly("backups list", "care", "List the backups of a folder and their tests.", _COPIES),
    CommandOnly("follow", "care", "Ship the verified log to a folder or another machine.", _COPIES),
    CommandOnly("replicate", "care", "Append a file's log to a tenant of a shared log.", _SHARED),
    CommandOnly("pull", "care", "Make a file of a tenant of a shared log.", _SHARED),
    CommandOnly("tenants list", "care", "List tenants: size, quota, replicas, lag.", _SHARED),
    CommandOnly("tenants create", "care", "Make an empty tenant.", _SHARED),
    CommandOnly("tenants place", "care", "Print the engine of a tenant.", _SHARED),
    CommandOnly("tenants quota", "care", "Limit the bytes of a tenant's log.", _SHARED),
    CommandOnly("tenants move", "care", "Move a tenant to another engine, in use.", _SHARED),
    CommandOnly("tenants replicas", "care", "List the replicas of a tenant.", _SHARED),
    CommandOnly("policy list", "care", "List all policies.", _POLICY),
    CommandOnly("policy apply", "care", "Apply policy commands, all of them or none.", _POLICY),
    CommandOnly("policy bootstrap", "care", "Install the standard policies.", _POLICY),
    CommandOnly("policy explain", "care", "Explain why an element is visible or hidden.", _POLICY),
    CommandOnly("policy simulate", "care", "Report what policy commands would hide.", _POLICY),
    CommandOnly("policy plot", "care", "Plot a profile's score over time.", _POLICY),
    CommandOnly("policy curve", "care", "Plot a profile's score: `policy plot`.", _POLICY),
    CommandOnly("policy status", "care", "Report which policies are in force.", _POLICY),
    CommandOnly("operator key", "care", "Make the operator's key of a memory.", _OPERATOR),
    CommandOnly("operator plan", "care", "Show what a change would do, and its id.", _OPERATOR),
    CommandOnly("operator apply", "care", "Apply a plan, with a backup and a receipt.", _OPERATOR),
    CommandOnly("operator rollback", "care", "Take an applied change back.", _OPERATOR),
    CommandOnly("operator status", "care", "List changes, and test their backups.", _OPERATOR),
    CommandOnly("projects list", "care", "List the table of folders and remotes.", _FOLDERS),
    CommandOnly(
        "projects which",
        "care",
        "Print the project of a folder and the rule that decided.",
        _FOLDERS,
    ),
    CommandOnly("projects set", "care", "Name the project of a folder or remote.", _FOLDERS),
    CommandOnly("projects remove", "care", "Remove a row; memory stays as it is.", _FOLDERS),
    CommandOnly(
        "on",
        "serve",
        "Run a command for each event, at least once, in order.",
        "in the other interfaces, `events` gives the events themselves",
    ),
    CommandOnly(
        "brief",
        "ask",
        "Print what an agent reads when a conversation begins.",
        "in MCP it comes with the hooks of a host",
    ),
    CommandOnly(
        "hook",
        "serve",
        "Take one event of an agent host, given as JSON on standard input.",
        "over MCP, `memory_hook` takes the same events",
    ),
    CommandOnly("mcp", "serve", "Serve the memory tools to an MCP host over stdio.", _STARTS),
    CommandOnly(
        "serve", "serve", "Serve the memory over Bolt, HTTP or MCP until interrupted.", _STARTS
    ),
    CommandOnly("ui", "serve", "Show the memory in a browser: the page for people.", _STARTS),
    CommandOnly("users add", "serve", "Add a user.", _USERS),
    CommandOnly("users token", "serve", "Add a token for bearer authentication.", _USERS),
    CommandOnly("users list", "serve", "List logins.", _USERS),
    CommandOnly("users remove", "serve", "Remove a user, or the tokens of a label.", _USERS),
)
