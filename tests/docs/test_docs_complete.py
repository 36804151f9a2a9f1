"""Documentation that lags behind the code fails here: every command, name, verb, error, limit,
variable, tool and package has its text, and what the text names exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import doxa
from doxa.app import Memory, Session
from doxa.app.verbs import ALL, Verb
from doxa.base import errors, limits
from doxa.cli import EXIT_CODES, app
from doxa.ingestion.readers import FORMATS
from doxa.logic.constraints import FUNCTIONAL
from doxa.servers.mcp.tools import ARGUMENTS, TOOLS
from doxa.settings import SETTINGS, Setting
from doxa.store import TRUSTS
from tests.tidy.test_house import MAY_IMPORT

ROOT = Path(__file__).parents[2]
DOCS, SRC = ROOT / "docs", ROOT / "src" / "doxa"
GUIDES = DOCS / "guides"
MARKDOWN = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "bench").rglob("*.md")])
PRESENT = [  # what describes the code as it is; the others describe what it was
    path for path in MARKDOWN if path.name != "CHANGELOG.md" and path.parent.name != "decisions"
]


def commands(group: Any, before: str = "") -> dict[str, Any]:
    """Every command by what is typed; those of a group with its name."""
    found: dict[str, Any] = {}
    for name, command in getattr(group, "commands", {}).items():
        found |= (
            commands(command, f"{before}{name} ")
            if hasattr(command, "commands")
            else {before + name: command}
        )
    return found


COMMANDS = commands(get_command(app))
ERRORS = sorted(
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.DoxaError)
)
LIMITS = {name: value for name, value in vars(limits).items() if name.isupper()}
VERBS = sorted(
    {
        name
        for kind in (Session, Memory)
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    }
)
PACKAGES = sorted({path.parent.name for path in SRC.glob("*/__init__.py")})
READ = re.compile(r"(?:os\.environ\.get\(|os\.environ\[|os\.getenv\()\s*[\"'](\w+)")


def page(name: str) -> str:
    return (DOCS / name).read_text()


def row(text: str, name: str) -> str:
    """The table row whose first cell is `name`."""
    found = re.search(rf"^\| `{re.escape(name)}` \|.*$", text, re.MULTILINE)
    assert found, f"no row for {name}"
    return found.group()


def test_there_is_something_to_document() -> None:
    assert (
        len(COMMANDS) > 20
        and len(ERRORS) > 15
        and len(LIMITS) > 30
        and len(VERBS) > 40
        and len(PACKAGES) > 10
    )


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_a_paragraph(command: str) -> None:
    found = re.search(
        rf"^### doxa {re.escape(command)}\n\n(\S.+)$", page("guides/cli.md"), re.MULTILINE
    )
    assert found and len(found.group(1)) > 30


def test_no_paragraph_without_a_command() -> None:
    assert sorted(re.findall(r"^### doxa (\S.*)$", page("guides/cli.md"), re.MULTILINE)) == sorted(
        COMMANDS
    )


def test_every_option_that_is_documented_exists() -> None:
    known = {
        option
        for command in COMMANDS.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help"}
    assert set(re.findall(r"`(--[a-z0-9-]+)", page("guides/cli.md"))) <= known


@pytest.mark.parametrize("name", sorted(doxa.__all__))
def test_every_public_name_is_in_the_guide(name: str) -> None:
    assert re.search(rf"\b{name}\b", page("guides/python.md"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_in_the_guide(verb: str) -> None:
    text = page("guides/python.md")
    value = getattr(Memory, verb)
    wanted = rf"`{verb}`" if isinstance(value, property) else rf"`(?:memory\.)?{verb}\("
    assert re.search(wanted, text)


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
def test_every_argument_of_a_verb_is_in_the_guide(verb: Verb) -> None:
    text = page("guides/python.md")
    for parameter in verb.parameters:
        if not parameter.positional:
            assert re.search(rf"\b{parameter.name}\b", text), f"{verb.name}: {parameter.name}"


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_a_row_with_its_code_and_exit(name: str) -> None:
    kind = getattr(errors, name)
    exit_code = EXIT_CODES.get(kind.code, 5 if issubclass(kind, errors.StoreError) else 1)
    assert row(page("guides/errors.md"), name).startswith(
        f"| `{name}` | `{kind.code}` | {exit_code} |"
    )


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_every_limit_has_a_row_with_its_value(name: str) -> None:
    cells = [cell.strip() for cell in row(page("guides/settings.md"), name).strip("|").split("|")]
    assert cells[1] == f"{LIMITS[name]:,}"
    assert all(cells[2:4])


def test_no_limit_is_documented_that_does_not_exist() -> None:
    named = set(
        re.findall(r"^\| `([A-Z_]+)` \| [\d,]+ \|", page("guides/settings.md"), re.MULTILINE)
    )
    assert named == set(LIMITS)


def test_every_variable_that_is_read_is_documented() -> None:
    read = {name for path in SRC.rglob("*.py") for name in READ.findall(path.read_text())}
    assert read
    for name in read:
        row(page("guides/settings.md"), name)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.variable)
def test_every_setting_has_a_row_with_its_key_and_default(setting: Setting) -> None:
    cells = row(page("guides/settings.md"), setting.variable).split("|")
    assert cells[2].strip() == (f"`{setting.key}`" if setting.key else "")
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", "".join(cells[3:])).replace("`", "")
    assert setting.about.replace("`", "").split(":")[0] in plain, plain
    assert setting.default in plain, plain


@pytest.mark.parametrize("tool", [tool["name"] for tool in TOOLS])
def test_every_tool_has_a_paragraph_with_its_arguments(tool: str) -> None:
    found = re.search(
        rf"^### {tool}\n\n(.+?)(?=\n#)", page("guides/mcp.md"), re.MULTILINE | re.DOTALL
    )
    assert found
    for field in ARGUMENTS[tool].__struct_fields__:
        assert f"`{field}`" in found.group(1), field


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_page_that_names_its_tests(package: str) -> None:
    text = page(f"internals/{package}.md")
    assert f"internals/{package}.md" in page("index.md")
    assert "## Invariants and who tests them" in text
    tests = re.findall(r"`(tests/[\w/.]+)`", text)
    assert tests
    for path in tests:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("package", PACKAGES)
def test_files_named_by_the_page_of_a_package_exist(package: str) -> None:
    for cell in re.findall(
        r"^\| (`[\w./]+\.py`.*?) \|", page(f"internals/{package}.md"), re.MULTILINE
    ):
        for name in re.findall(r"`([\w./]+\.py)`", cell):
            assert (SRC / package / name).exists(), name


@pytest.mark.parametrize("path", PRESENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_named_by_their_paths_exist(path: Path) -> None:
    for name in re.findall(r"`([\w.-]+/[\w./-]+\.(?:py|txt|sh|toml))`", path.read_text()):
        assert (ROOT / name).exists() or any(SRC.rglob(name)), name


def test_the_table_of_the_architecture_is_the_one_that_is_checked() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = {
        name: frozenset(re.findall(r"`(\w+)`", below))
        for name, below in re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    }
    assert table == {name: below for name, below in MAY_IMPORT.items() if name != "doxa"}


def test_formats_and_trust_labels_are_documented() -> None:
    for name in FORMATS:
        row(page("guides/import-export.md"), name)
    for name in TRUSTS:
        row(page("guides/trust-and-roles.md"), name)


def test_the_constants_of_fusion_are_those_of_the_page() -> None:
    from doxa.recall import constants

    text = " ".join(page("internals/recall.md").split())  # a phrase may be broken over two lines
    for name in (
        "K1",
        "B",
        "MEANING",
        "WORDS",
        "TIME",
        "GRAPH",
        "RECENCY",
        "POLICY",
        "C",
        "C_STATEMENT",
    ):
        assert f"{name} = {getattr(constants, name)}" in text, name
    for name in ("PREVIOUS", "NEXT", "SENTENCE", "PASSAGE", "FIELD", "THREAD"):
        assert f"`{name}` = {getattr(constants, name)}" in text, name
    for length in (constants.NEIGHBOUR_LENGTH, constants.NEIGHBOUR_LENGTH_MEANING):
        assert f"`{length:.0f} / ({length:.0f} + length)`" in text
    assert "ENTITIES = 1/3" in text and abs(constants.ENTITIES - 1 / 3) < 1e-9
    assert (
        f"halved every {constants.RECENCY_DAYS:.0f} days" in text
        and f"{constants.SIDE} if it asks" in text
    )
    assert f"`EXACT_VECTORS_MAX` ({constants.EXACT_VECTORS_MAX:,})" in text


def test_the_sensitivity_of_each_swept_constant_is_given() -> None:
    from doxa.recall import constants

    text = page("benchmarks/sweeps.md")
    for name, constant in constants.described().items():
        if constant.swept:
            value = getattr(constants, name)
            found = re.search(rf"^\| `{name}` \(([\d./]+)\) \|", text, re.MULTILINE)
            assert found, name
            top, _, bottom = found.group(1).partition("/")
            assert abs(float(top) / float(bottom or 1) - value) < 1e-9, name


def test_the_predicates_that_have_one_value_by_default_are_listed() -> None:
    found = re.search(r"^- `functional`: (.*?)\*\*A list", page("guides/revision.md"), re.M | re.S)
    assert found and sorted(re.findall(r"`([^`]+)`", found.group(1))) == sorted(FUNCTIONAL)


def test_decisions_are_numbered_and_listed() -> None:
    pages = sorted((DOCS / "decisions").glob("*.md"))
    assert [path.name[:4] for path in pages] == [
        f"{number:04d}" for number in range(1, len(pages) + 1)
    ]
    for path in pages:
        text = path.read_text()
        assert text.startswith(f"# {path.name[:4]}: ")
        assert all(f"**{part}.**" in text for part in ("Context", "Decision", "Consequences"))
        assert f"decisions/{path.name}" in page("index.md")


def test_the_glossary_defines_each_term_once() -> None:
    terms = [
        term
        for line in page("glossary.md").splitlines()
        if line.startswith("| **")
        for term in re.findall(r"\*\*(.+?)\*\*", line.split("|")[1])
    ]
    assert len(terms) == len(set(terms)) > 60


_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text: str) -> str:
    return re.sub(
        r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    )


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in _LINK.findall(without_code(path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name = target.partition("#")[0]
        assert not name or (path.parent / name).exists(), target


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub computes them."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_anchors_of_links_exist(path: Path) -> None:
    text = path.read_text()
    for target in _LINK.findall(without_code(text)):
        name, _, anchor = target.partition("#")
        if anchor and not re.match(r"[a-z]+:", target):
            page_text = (path.parent / name).read_text() if name else text
            assert anchor in anchors(page_text), target


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_path_of_one_machine(path: Path) -> None:
    found = re.findall(
        r"(?<![\w.~])/(?:work|tmp|root|mnt|opt|home|Users)/[\w./-]*|[A-Z]:\\\\?Users",
        path.read_text(),
    )
    assert not found


def test_every_page_is_reachable_from_the_index() -> None:
    reached: set[Path] = set()
    todo = [DOCS / "index.md"]
    while todo:
        path = todo.pop().resolve()
        if path in reached or path.suffix != ".md" or not path.exists():
            continue
        reached.add(path)
        todo += [
            path.parent / target.partition("#")[0]
            for target in _LINK.findall(path.read_text())
            if not re.match(r"[a-z]+:", target)
        ]
    assert {path for path in DOCS.rglob("*.md") if path.resolve() not in reached} == set()


def _procedures() -> list[str]:
    from doxa.app.procedures import register
    from doxa.query.procedures.builtin import builtin
    from doxa.query.procedures.registry import Registry

    registry = builtin(Registry())
    register(registry)
    return [procedure.signature.name for procedure in registry.all()]


@pytest.mark.parametrize("name", _procedures())
def test_every_procedure_is_documented(name: str) -> None:
    assert f"`{name}`" in page("guides/cypher.md")
