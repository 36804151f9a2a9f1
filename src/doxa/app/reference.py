"""Generates the reference pages from the verb table.

    python -m doxa.app.reference docs/reference

A test fails when a page is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from doxa.app.verbs import (
    ALL,
    DRY_RUN_PROCEDURE,
    GROUPS,
    REQUIRED,
    SHELL,
    TOOLS,
    UNSET,
    Interface,
    Parameter,
    Verb,
)
from doxa.app.verbs.pages import resources_page, taxonomy_page, tools_page

_NOTE = "Generated from the verb table by `python -m doxa.app.reference docs/reference`."
_NAMES: dict[Interface, str] = {
    "python": "Python",
    "cli": "the command line",
    "cypher": "Cypher",
    "mcp": "MCP",
}


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {
        "verbs.md": "\n".join(_verbs()) + "\n",
        "tools.md": "\n".join(tools_page(_NOTE)) + "\n",
        "resources.md": "\n".join(resources_page(_NOTE)) + "\n",
        "seed-tools.md": "\n".join(taxonomy_page(_NOTE)) + "\n",
    }


def _verbs() -> Iterator[str]:
    yield "# Reference: verbs\n"
    yield f"{_NOTE} Every operation once: how each interface calls it, its parameters, and why an"
    yield "interface lacks it or differs. A parameter without a default is required; of one that is"
    yield "*unset*, nothing changes. Without a `project`, every verb acts in the session's project;"
    yield "`'*'` searches all.\n"
    yield from _overview()
    for group, title in GROUPS.items():
        verbs = [verb for verb in ALL if verb.group == group]
        if verbs:
            yield f"## {title}\n"
        for verb in verbs:
            yield from _verb(verb)
    yield "## Commands only\n"
    yield "| command | what it does | why only there |\n|---|---|---|"
    for shell in SHELL:
        yield f"| `doxa {shell.name}` | {shell.summary} | {shell.reason} |"
    only = DRY_RUN_PROCEDURE
    call = ", ".join(name for name, _ in only.arguments)
    yield "\n## Procedures only\n"
    yield "| procedure | what it does | why only there |\n|---|---|---|"
    yield f"| `doxa.{only.name}({call})` | {only.summary} | {only.reason} |"


def _overview() -> Iterator[str]:
    yield "| verb | command line | Cypher | MCP | role | changes |\n|---|---|---|---|---|---|"
    for verb in ALL:
        tools = ", ".join(f"`{tool.name}`" for tool in TOOLS if verb.name in tool.verbs)
        command = f"`doxa {verb.command}`" if verb.cli else ""
        procedure = f"`doxa.{verb.procedure}`" if verb.cypher else ""
        writes = ("yes" if verb.idempotent else "each time") if verb.writes else ""
        cells = (f"[{verb.name}](#{verb.name})", command, procedure, tools, verb.role, writes)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _verb(verb: Verb) -> Iterator[str]:
    yield f"### {verb.name}\n"
    yield f"{verb.summary}" + (f" {verb.details}" if verb.details else "") + "\n"
    yield from _calls(verb)
    if verb.parameters:
        yield "\n| parameter | type | default | |\n|---|---|---|---|"
        for parameter in verb.parameters:
            yield (
                f"| `{parameter.name}` | {parameter.kind} | {_default(parameter)} |"
                f" {_cell(parameter)} |"
            )
    for interface, reason in verb.absent.items():
        yield f"\nNot in {_NAMES[interface]}: {reason}."
    yield ""


def _calls(verb: Verb) -> Iterator[str]:
    call = ", ".join(
        one.name if one.required else f"{one.name}={_value(one)}"
        for one in verb.parameters
        if one.positional
    )
    more = ", ..." if any(not one.positional for one in verb.parameters) else ""
    owner = "doxa" if verb.name == "open" else "memory"
    given = call + more if call else more.removeprefix(", ")
    yield f"- Python: `{owner}.{verb.name}({given})` returns `{verb.result}`"
    if verb.cli is not None:
        old = f" (formerly {', '.join(f'`{one}`' for one in verb.cli.old)})" if verb.cli.old else ""
        reason = f": {verb.cli.reason}" if verb.cli.reason else ""
        yield f"- Command line: `doxa {verb.command}`{old}{reason}"
    if verb.cypher is not None:
        arguments = list(verb.cypher.arguments)
        if any(one.name not in arguments for one in verb.of("cypher")):
            arguments.append("options")
        columns = ", ".join(f"`{name}`" for name, _ in verb.cypher.results)
        yield f"- Cypher: `CALL doxa.{verb.procedure}({', '.join(arguments)})` yields {columns}"
    if verb.awaited:
        yield f"- Awaited: returns the same synchronous `{verb.result}`: {verb.awaited}"
    if verb.errors:
        yield f"- Raises {', '.join(f'`{name}`' for name in verb.errors)}"


def _value(parameter: Parameter) -> str:
    return "unset" if parameter.default is UNSET else repr(parameter.default)


def _default(parameter: Parameter) -> str:
    if parameter.default is REQUIRED:
        return ""
    return "*unset*" if parameter.default is UNSET else f"`{_value(parameter)}`"


def _cell(parameter: Parameter) -> str:
    notes = [f"not in {_NAMES[where]}: {why}" for where, why in parameter.absent.items()]
    notes += [f"in {_NAMES[where]}, {why}" for where, why in parameter.changed.items()]
    text = parameter.doc + (f" ({'; '.join(notes)})" if notes else "")
    return text.replace("|", "\\|")


def main() -> None:
    """Write the pages to a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
