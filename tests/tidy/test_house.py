"""The structural rules of the project, executed: which package may import which, sizes that only
shrink, the public surface, and what texts may say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "doxa"
FILES = {str(path.relative_to(SRC)): path for path in sorted(SRC.rglob("*.py"))}

FUNCTION_LINES_MAX, FILE_LINES_MAX = 70, 800
PACKAGE_FILES_MAX, PACKAGE_LINES_MAX = 25, 5_000
# Nobody reads or edits it: it grows with the verb table alone.
GENERATED = frozenset(("app/asynchronous/session.py",))

# The table of ARCHITECTURE.md. A package may always import itself.
INTERFACE = frozenset(("base", "app"))
INPUT = frozenset(("base", "store", "logic", "belief", "redaction"))
MAY_IMPORT: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "cypher": frozenset(("base",)),
    "policy": frozenset(("base",)),
    "logic": frozenset(("base",)),
    "language": frozenset(("base",)),
    "redaction": frozenset(("base",)),
    "store": frozenset(("base", "policy", "logic", "redaction")),
    "replication": frozenset(("base", "store")),
    "models": frozenset(("base", "redaction")),
    "working": frozenset(("base", "redaction")),
    "settings": frozenset(("base", "redaction")),
    "query": frozenset(("base", "cypher", "policy", "store")),
    "belief": frozenset(("base", "logic", "store")),
    "recall": frozenset(("base", "store", "models")),
    "ingestion": INPUT | {"language", "recall"},
    "transfer": INPUT | {"ingestion", "language"},
    "imports": INPUT | {"ingestion", "jobs", "language"},
    "maintenance": frozenset(("base", "belief", "jobs", "models", "recall", "store")),
    "events": frozenset(("base", "belief", "store")),
    "entities": frozenset(("base", "language", "store", "belief")),
    "dream": INPUT | {"events", "ingestion", "jobs", "language", "models", "recall"},
    "jobs": frozenset(("base", "belief", "store")),
    "consolidation": frozenset(
        ("base", "belief", "jobs", "language", "logic", "models", "redaction", "store")
    ),
    "audit": frozenset(
        ("base", "belief", "consolidation", "ingestion", "language", "recall", "store")
    ),
    "agent": frozenset(
        (
            "base",
            "belief",
            "consolidation",
            "entities",
            "events",
            "ingestion",
            "jobs",
            "language",
            "logic",
            "recall",
            "redaction",
            "store",
        )
    ),
    "app": frozenset(
        (
            "agent",
            "audit",
            "base",
            "belief",
            "consolidation",
            "cypher",
            "dream",
            "entities",
            "events",
            "imports",
            "ingestion",
            "jobs",
            "language",
            "maintenance",
            "models",
            "query",
            "recall",
            "redaction",
            "replication",
            "settings",
            "store",
            "transfer",
            "working",
        )
    ),
    "hosts": INTERFACE
    | {
        "agent",
        "belief",
        "ingestion",
        "jobs",
        "language",
        "recall",
        "redaction",
        "settings",
        "store",
    },
    "servers": INTERFACE | {"belief", "hosts", "recall"},  # the types they show
    # the types they return; the rules of what may be injected and the tools of agents are one's own
    "adapters": INTERFACE | {"agent", "belief", "hosts", "recall", "redaction", "servers"},
    "demo": INTERFACE,
    # it starts the servers and the demonstration, shows the version, draws a policy's curve; its
    # shell splits, completes and prints the text of statements (cypher)
    "cli": INTERFACE
    | {"adapters", "cypher", "demo", "doxa", "hosts", "imports", "policy", "servers", "settings"},
    "doxa": INTERFACE | {"belief"},  # the package's own list of public names
}
# The packages inside a package, the lowest first. What lies directly in the folder may import
# all of them; a package may import itself.
QUERY_CORE = frozenset(("core",))
MAY_IMPORT_INSIDE: dict[str, dict[str, frozenset[str]]] = {
    "agent": {
        "records": frozenset(),
        "signals": frozenset(("records",)),
        "continuity": frozenset(("records",)),
        "gate": frozenset(("records",)),
        "attachments": frozenset(("records",)),
        "claims": frozenset(("records", "gate", "continuity", "attachments", "signals")),
        "growth": frozenset(("records", "gate", "signals")),
        "spine": frozenset(("records", "gate", "claims")),
        "standing": frozenset(("records", "signals")),
        "evolution": frozenset(("records", "gate", "signals")),
        "context": frozenset(
            (
                "records",
                "attachments",
                "claims",
                "continuity",
                "evolution",
                "growth",
                "signals",
                "spine",
                "standing",
            )
        ),
    },
    "query": {
        "core": frozenset(),
        "functions": QUERY_CORE,
        "expressions": QUERY_CORE | {"functions"},
        "sql": QUERY_CORE | {"expressions", "functions"},
        "schema": QUERY_CORE,
        "procedures": QUERY_CORE | {"expressions", "functions", "schema", "sql"},
        "exec": QUERY_CORE | {"expressions", "functions", "procedures", "sql"},
        "plan": QUERY_CORE | {"exec", "expressions", "procedures", "sql"},
    },
}
MAY_READ_ENVIRONMENT = frozenset(("app", "cli", "hosts", "servers", "settings"))

PUBLIC = {
    "doxa.store": (
        "UNTRUSTED",
        "Access",
        "AccessData",
        "AccessRecord",
        "AddressProblem",
        "Condition",
        "Constraints",
        "DOC_COLUMNS",
        "DYNAMIC",
        "Edge",
        "EdgeVersion",
        "Expressions",
        "FIELDS_FROM",
        "INDEXED_PARTS",
        "IdColumns",
        "Identity",
        "IndexRule",
        "Indexes",
        "Interrupted",
        "Loader",
        "LogEntry",
        "LogProof",
        "Node",
        "NodeVersion",
        "PARTS",
        "RUN_KREF",
        "RUN_MODEL",
        "PolicyEvaluator",
        "PolicyStatus",
        "Reader",
        "Receipt",
        "SUPPRESSING",
        "SearchRule",
        "Store",
        "Subject",
        "TRUSTS",
        "TRUST_DEFAULT",
        "Times",
        "Transaction",
        "Value",
        "added_statements",
        "VisibilityFilter",
        "access_records",
        "after_key",
        "attributes_of",
        "blocks_of_gone",
        "check",
        "checked_access",
        "code_blocks",
        "code_levels",
        "code_products",
        "code_signs",
        "code_vectors",
        "codes_of",
        "damage_reported",
        "digest",
        "doc_blocks",
        "edge_versions",
        "entries_of",
        "int64_array",
        "is_empty",
        "key_of",
        "last_ids",
        "latest_time",
        "node_versions",
        "pack_part",
        "pair_products",
        "rank_of",
        "replayed_digest",
        "row_products",
        "rule_of",
        "text_of",
        "trust_of",
        "unpack_codes",
        "unpack_parts",
        "unpack_rows",
        "unpack_vectors",
        "vector_id",
        "verify_log",
        "without_secrets",
        "wrong_length",
        "ResidentEdges",
        "CODES",
        "Codes",
        "ImageView",
        "LabelColumns",
        "NUMBERS",
        "Numbers",
        "WantedColumn",
    ),
    "doxa.belief": (
        "CURRENT",
        "EXCHANGE_KIND",
        "HAS_REVISION",
        "TAG",
        "Bundle",
        "Change",
        "Conflict",
        "Draft",
        "Entry",
        "Exchange",
        "Explanation",
        "Fact",
        "SupportLost",
        "Kref",
        "Ledger",
        "Retracted",
        "Listing",
        "Member",
        "Place",
        "Revision",
        "Step",
        "TagMove",
        "Walk",
        "build_revision",
        "check_draft",
        "check_name",
        "check_rule",
        "declare",
        "draft_kref",
        "ensure_place",
        "explain",
        "facts_of",
        "impact",
        "item_of",
        "laws_of",
        "list_conflicts",
        "parse_fact",
        "parse_kref",
        "parse_target",
        "place_of",
        "print_kref",
        "provenance",
        "read_any",
        "read_as_of",
        "read_at",
        "read_exchange",
        "read_revision",
        "require",
        "resolve",
        "revisions_of",
        "with_receipt",
        "shortest_path",
        "name_from",
        "slug",
        "status_of",
        "tag_moves",
        "tagged_at",
        "traverse",
    ),
    "doxa.models": (
        "Completer",
        "Completion",
        "Embedder",
        "FailingEmbedder",
        "HashEmbedder",
        "LocalEmbedder",
        "Message",
        "OverlapReranker",
        "QuestionEmbedder",
        "RecordedCompleter",
        "Reranker",
        "ScriptedCompleter",
        "Usage",
        "find_weights",
        "load_minilm",
    ),
    "doxa.recall": (
        "Ask",
        "LANES",
        "LANES_DEFAULT",
        "MODES",
        "Hit",
        "Recall",
        "Recaller",
        "field_texts",
        "lane_heading",
        "tokens_of",
    ),
    "doxa.working": (
        "Chat",
        "ChatAdded",
        "ChatMessage",
        "ChatSummary",
        "WorkingMemory",
        "open_working",
    ),
    "doxa": (
        "AsyncMemory",
        "AsyncSession",
        "Bundle",
        "BusyError",
        "Change",
        "ClosedError",
        "Config",
        "ConfirmationError",
        "Conflict",
        "ConflictError",
        "ConstraintError",
        "CorruptError",
        "DiskFullError",
        "DoxaError",
        "Entry",
        "Exchange",
        "Explanation",
        "Fact",
        "History",
        "InputError",
        "Kref",
        "KrefError",
        "LimitError",
        "Retracted",
        "Listing",
        "Member",
        "Memory",
        "ModelError",
        "NewerFileError",
        "NotFoundError",
        "Place",
        "ReadOnlyError",
        "Revision",
        "RoleError",
        "Session",
        "Step",
        "StoreError",
        "UnreachableError",
        "TagMove",
        "Walk",
        "open",
        "parse_kref",
        "print_kref",
    ),
}


def package_of(name: str) -> str:
    first = name.split("/")[0].removesuffix(".py")
    return "doxa" if first == "__init__" else first


def files_of(package: str) -> list[str]:
    return [name for name in FILES if package_of(name) == package]


PACKAGES = sorted(set(map(package_of, FILES)))
# One test for each package, since each test costs more than the check of a file.
by_package = pytest.mark.parametrize("package", PACKAGES)


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text())


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Yield every module of the package, read when it is first asked for."""
    for name in FILES:
        yield name, tree_of(name)


def imported(name: str, tree: ast.AST) -> Iterator[str]:
    """The packages that a module imports anywhere in it: at its top, in functions, under
    TYPE_CHECKING."""
    package = ["doxa", *name.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            paths = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")] if node.module else base
            paths = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for path in paths:
            if path[0] == "doxa":
                yield (
                    path[1]
                    if len(path) > 1
                    and (
                        path[1] in MAY_IMPORT
                        or (SRC / f"{path[1]}.py").exists()
                        or (SRC / path[1]).is_dir()
                    )
                    else "doxa"
                )


@by_package
def test_imports_follow_the_table(package: str) -> None:
    assert package in MAY_IMPORT, f"{package} is missing from the table"
    for name in files_of(package):
        beyond = set(imported(name, tree_of(name))) - MAY_IMPORT[package] - {package}
        assert not beyond, f"{name} may not import {sorted(beyond)}"


def test_the_table_has_no_cycle() -> None:
    done: set[str] = set()
    while len(done) < len(MAY_IMPORT):
        ready = {
            name
            for name, below in MAY_IMPORT.items()
            if name not in done and below - {name} <= done
        }
        if not ready and {"cli", "doxa"} & (MAY_IMPORT.keys() - done):
            break
        assert ready, f"a cycle among {sorted(MAY_IMPORT.keys() - done)}"
        done |= ready
    assert done >= MAY_IMPORT["app"]


def test_the_walker_sees_every_kind_of_import() -> None:
    source = (
        "import doxa.store.rows\nfrom doxa import belief, __version__\nfrom typing import"
        " TYPE_CHECKING\nif TYPE_CHECKING:\n    from doxa.app import Memory\ndef f():\n    from"
        " ..recall.types import Hit\n    import doxa.ingestion as c\n"
    )
    assert set(imported("servers/mcp.py", ast.parse(source))) == {
        "store",
        "belief",
        "doxa",
        "app",
        "recall",
        "ingestion",
    }


def modules_imported(name: str, tree: ast.AST, modules: frozenset[str]) -> set[str]:
    """The modules that a module imports, in functions and under TYPE_CHECKING too."""
    package = ["doxa", *name.split("/")[:-1]]
    paths: list[list[str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            paths += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")] if node.module else base
            paths += [[*base, alias.name] for alias in node.names]
    found = set()
    for path in paths:
        while path and ".".join(path[1:]) not in modules:
            path = path[:-1]
        if path and path[0] == "doxa":
            found.add(".".join(path[1:]))
    return found - {module_of(name), ""}


def module_of(name: str) -> str:
    return name.removesuffix(".py").removesuffix("__init__").rstrip("/").replace("/", ".")


def circles(imports: dict[str, set[str]]) -> set[frozenset[str]]:
    """The sets of modules that reach one another: the strongly connected components (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in sorted(imports.get(module, ())):
            if other not in order:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == order[module]:
            at = stack.index(module)
            component, stack[at:] = stack[at:], []
            if len(component) > 1:
                found.add(frozenset(component))

    for module in sorted(imports):
        if module not in order:
            visit(module)
    return found


def test_no_two_modules_import_each_other() -> None:
    modules = frozenset(map(module_of, FILES))
    imports = {module_of(name): modules_imported(name, tree_of(name), modules) for name in FILES}
    assert sorted(map(sorted, circles(imports))) == []


def test_circles_are_found_however_modules_are_imported() -> None:
    sources = {
        "a/x.py": "from doxa.a import y",
        "a/y.py": "def f():\n    from ..b.z import g",
        "b/z.py": "if TYPE_CHECKING:\n    import doxa.a.x",
        "b/w.py": "from doxa.b.z import g\nfrom doxa.a.y import f",
        "b/__init__.py": "",
    }
    modules = frozenset(map(module_of, sources))
    imports = {
        module_of(name): modules_imported(name, ast.parse(text), modules)
        for name, text in sources.items()
    }
    assert imports["b.w"] == {"b.z", "a.y"}
    assert circles(imports) == {frozenset(("a.x", "a.y", "b.z"))}


@pytest.mark.parametrize("package", sorted({str(Path(name).parent) for name in FILES}))
def test_packages_stay_small(package: str) -> None:
    files = [path for name, path in FILES.items() if str(Path(name).parent) == package]
    written = [path for path in files if str(path.relative_to(SRC)) not in GENERATED]
    lines = sum(path.read_text().count("\n") for path in written)
    assert len(files) <= PACKAGE_FILES_MAX, f"{package} has {len(files)} files"
    assert lines <= PACKAGE_LINES_MAX, f"{package} has {lines} lines"


@pytest.mark.parametrize("package", MAY_IMPORT_INSIDE)
def test_packages_inside_a_package_follow_their_table(package: str) -> None:
    table = MAY_IMPORT_INSIDE[package]
    modules = frozenset(map(module_of, FILES))
    below: set[str] = set()
    for inner, permitted in table.items():
        assert permitted <= below, f"{package}.{inner} may import what lies above it"
        below.add(inner)
    folders = {name.split("/")[1] for name in FILES if name.startswith(f"{package}/")}
    assert {name for name in folders if not name.endswith(".py")} == set(table)
    for name in FILES:
        parts = name.split("/")
        if parts[0] == package and len(parts) > 2:
            used = modules_imported(name, tree_of(name), modules)
            inside = {path.split(".")[1] for path in used if path.startswith(f"{package}.")}
            beyond = inside - table[parts[1]] - {parts[1]}
            assert not beyond, f"{name} may not import {sorted(beyond)} of {package}"


@by_package
def test_sizes_only_shrink(package: str) -> None:
    for name in files_of(package):
        lines = FILES[name].read_text().count("\n")
        assert lines <= FILE_LINES_MAX or name in GENERATED, f"{name} has {lines} lines"
        for node in ast.walk(tree_of(name)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= FUNCTION_LINES_MAX, f"{name}: {node.name} has {length} lines"


# Class names that occur in two modules. A new class gets a name of its own; when one of these is
# renamed, it leaves the list. Node and Edge are the terms of both layers: a stored version, and a
# value of a query's result.
REPEATED_CLASSES = frozenset(("Edge", "Node"))


def test_class_names_that_occur_twice_only_shrink() -> None:
    places: dict[str, list[str]] = {}
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name)
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    new = {name: found for name, found in repeated.items() if name not in REPEATED_CLASSES}
    assert not new, f"these class names are in use elsewhere: {new}"
    assert not REPEATED_CLASSES - set(repeated), "these no longer occur twice: shorten the list"
    assert {name: found for name, found in repeated.items() if len(found) > 2} == {}


@by_package
def test_a_module_says_why_it_exists(package: str) -> None:
    for name in files_of(package):
        text = ast.get_docstring(tree_of(name))
        assert text, f"{name} has no docstring"
        assert len(text.splitlines()[0]) > 20, f"{name}: {text.splitlines()[0]}"


# What the first line of a docstring of a public function does not begin with: it says in the
# imperative what the function does.
NOT_IMPERATIVE = re.compile(
    r"(?:A|All|Also|An|After|Any|As|At|Before|Both|By|Deprecated|Derived|Each|Every|For|From|How|If"
    r"|In|It|Live|Neither|No|None|Of|One|Only|Rows|So|Some|The|There|These|This|Those|True|What"
    r"|Whatever|When|Where|Whether|Which|Who|Why|With|Within|Without)\b|[^A-Z]|[A-Z]{2}|\w+(?:ed|s)\b"
)
IMPERATIVE = frozenset(("Address", "Compress", "Discuss", "Embed", "Express", "Pass", "Process"))
# The packages whose docstrings are still to be rewritten, and the text that is not a function's:
# the command's own docstring is the help of `doxa`.
NOT_YET_IMPERATIVE = frozenset(("ingestion", "language", "recall"))
HELP_TEXTS = frozenset(("cli/application.py: root",))


def public_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the public functions and methods of a module, except properties."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if not node.name.startswith("_") and "property" not in decorators:
                yield node
        elif not isinstance(node, ast.ClassDef) or not node.name.startswith("_"):
            yield from public_functions(node)


@pytest.mark.parametrize(
    "package", [package for package in PACKAGES if package not in NOT_YET_IMPERATIVE]
)
def test_a_public_function_says_in_the_imperative_what_it_does(package: str) -> None:
    for name in files_of(package):
        for node in public_functions(tree_of(name)):
            text = ast.get_docstring(node)
            if text and f"{name}: {node.name}" not in HELP_TEXTS:
                first = text.split()[0].strip(".,:;")
                assert first in IMPERATIVE or not NOT_IMPERATIVE.match(text), (
                    f"{name}:{node.lineno} {node.name}: {text.splitlines()[0]}"
                )


@pytest.mark.parametrize(
    "text", ["The entry point.", "Returns a row.", "`x` is y.", "FROM and WHERE.", "Called twice."]
)
def test_a_docstring_that_is_not_imperative_is_found(text: str) -> None:
    assert NOT_IMPERATIVE.match(text)


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_surface_is_pinned(module: str) -> None:
    loaded = import_module(module)
    assert tuple(sorted(loaded.__all__)) == tuple(sorted(PUBLIC[module]))
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []


@pytest.mark.parametrize(
    "package", [package for package in PACKAGES if package not in MAY_READ_ENVIRONMENT]
)
def test_only_interfaces_read_the_environment(package: str) -> None:
    for name in files_of(package):
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("environ", "getenv", "environb", "expanduser"), (
                    f"{name}:{node.lineno}"
                )
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                assert not {alias.name for alias in node.names} & {"environ", "getenv"}, (
                    f"{name}:{node.lineno}"
                )


PATH_OF_A_MACHINE = re.compile(
    r"(?<![\w.:/])/(?:home|root|Users|tmp|usr|opt|etc|var|work|mnt|srv)/"
)


@by_package
def test_no_path_of_one_machine(package: str) -> None:
    for name in files_of(package):
        # a module may draw the layout of somebody else's files
        shown = ast.get_docstring(tree_of(name), clean=False)
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = node.value != shown and PATH_OF_A_MACHINE.search(node.value)
                assert not found, f"{name}:{node.lineno} {node.value[:60]!r}"
