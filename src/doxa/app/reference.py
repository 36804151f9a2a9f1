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
    CATEGORIES,
    DRY_RUN_PROCEDURE,
    FULL,
    GROUPS,
    LOCAL,
    NO_TOOL,
    REQUIRED,
    SHELL,
    TAXONOMY,
    TOOLS,
    UNSET,
    VERBS,
    Interface,
    Parameter,
    Verb,
)

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
        "tools.md": "\n".join(_tools()) + "\n",
        "seed-tools.md": "\n".join(_taxonomy()) + "\n",
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


def _tools() -> Iterator[str]:
    yield "# Reference: MCP tools\n"
    yield f"{_NOTE} The tools of the default profile, and the verbs that they call.\n"
    for tool in TOOLS:
        yield f"## {tool.name}\n"
        yield f"{tool.description}\n"
        calls = ", ".join(f"[{name}](verbs.md#{name})" for name in tool.verbs)
        yield f"Calls {calls}. Differs because {tool.reason}.\n"
        if tool.arguments:
            yield "| argument | sets | default | why it differs |\n|---|---|---|---|"
        for one in tool.arguments:
            sets = ", ".join(f"`{name}`" for name in (one.of or one.name).split())
            default = "" if one.default is UNSET else f"`{one.default!r}`"
            yield f"| `{one.name}` | {sets} | {default} | {one.reason} |"
        yield ""
    yield "## The full profile\n"
    yield "Besides the seven: the names of [a published taxonomy](seed-tools.md), and every other"
    yield "verb under its own name. Arguments are the parameters of the verb, except the project,"
    yield "which is the server's. *op*: for operators; *local*: over standard input and output"
    yield "only, and after a person's yes, since it uses a file of this machine.\n"
    yield "| tool | calls | arguments | |\n|---|---|---|---|"
    for tool in FULL[len(TOOLS) :]:
        calls = ", ".join(f"[{name}](verbs.md#{name})" for name in tool.verbs)
        arguments = ", ".join(f"`{one.name}`" for one in tool.arguments)
        verbs = [VERBS[name] for name in tool.verbs]
        notes = ["op"] if any(verb.role == "operator" for verb in verbs) else []
        notes += ["local"] if any(verb.name in LOCAL for verb in verbs) else []
        yield f"| `{tool.name}` | {calls} | {arguments} | {', '.join(notes)} |"
    yield "\nNo tool: " + "; ".join(f"`{name}` ({why})" for name, why in NO_TOOL.items()) + "."


def _taxonomy() -> Iterator[str]:
    core = {tool.name: tool for tool in TOOLS}
    yield "# Reference: the tools of a published taxonomy\n"
    yield f"{_NOTE} *Graph-Native Cognitive Memory for AI Agents* (Kumiho, 2026), section 11.2,"
    yield "counts 51 tools in six categories. It names 32 and counts 13 more that create, change"
    yield "and delete; those 13, and nine of its server that it does not name, are in *italics*."
    yield "The profile `full` lists each name under which doxa offers the operation, with the"
    yield "parameters of the verb; an alias is another name under which the tool can be called.\n"
    for category in CATEGORIES:
        yield f"## {category}\n"
        yield "| name | verbs | fixed | alias | |\n|---|---|---|---|---|"
        for one in TAXONOMY:
            if one.category != category:
                continue
            name = f"`{one.name}`" if one.published else f"*`{one.name}`*"
            tool = core.get(one.name) or next((t for t in FULL if t.name == one.name), None)
            verbs = [] if tool is None else [f"[{v}](verbs.md#{v})" for v in tool.verbs]
            fixed = [] if tool is None else [f"`{k}={v!r}`" for k, v in tool.fixed.items()]
            alias = [] if tool is None else [f"`{a}`" for a in tool.aliases]
            note = one.note if tool is not None else f"no tool: {one.note}"
            cells = (name, ", ".join(verbs), ", ".join(fixed), ", ".join(alias), note)
            yield f"| {' | '.join(cells)} |"
        yield ""


def main() -> None:
    """Write the pages to a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
