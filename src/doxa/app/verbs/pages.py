"""The pages of docs/reference about tools and resources, from the verb table."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.app.verbs import (
    ALL,
    CATEGORIES,
    FULL,
    LOCAL,
    NO_TOOL,
    TAXONOMY,
    TOOLS,
    UNSET,
    VERBS,
)
from doxa.app.verbs.resources import not_served, not_taken, resources


def tools_page(note: str) -> Iterator[str]:
    """Yield the lines of the page of tools."""
    yield "# Reference: MCP tools\n"
    yield f"{note} The tools of the default profile, and the verbs that they call.\n"
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


def taxonomy_page(note: str) -> Iterator[str]:
    """Yield the lines of the page of the published taxonomy."""
    core = {tool.name: tool for tool in TOOLS}
    yield "# Reference: the tools of a published taxonomy\n"
    yield f"{note} *Graph-Native Cognitive Memory for AI Agents* (Kumiho, 2026), section 11.2,"
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


def resources_page(note: str) -> Iterator[str]:
    """Yield the lines of the page of HTTP resources."""
    yield "# Reference: resources of the HTTP API\n"
    yield f"{note} The path of each verb, with the arguments that it takes; the"
    yield "[guide](../guides/api.md) says how they are sent. *key*: it takes `Idempotency-Key`;"
    yield "*match*: it takes `If-Match`; *pages*: its list has a `cursor`.\n"
    yield "| path | methods | arguments | answer | |\n|---|---|---|---|---|"
    for one in resources(ALL):
        flags = {"key": one.key, "match": one.expect, "pages": one.pages}
        arguments = ", ".join(f"`{argument.name}`" for argument in one.arguments)
        cells = (
            f"[`{one.path}`](verbs.md#{one.verb.name})",
            ", ".join(one.methods),
            arguments,
            f"`{one.verb.result}`".replace("|", "\\|"),
            ", ".join(name for name, has in flags.items() if has),
        )
        yield f"| {' | '.join(cells)} |"
    yield "\n## Not served\n"
    yield "| verb | why |\n|---|---|"
    for verb in ALL:
        if reason := not_served(verb):
            yield f"| [{verb.name}](verbs.md#{verb.name}) | {reason} |"
    yield "\n## Arguments that are not taken\n"
    yield "`idempotency_key` is the header `Idempotency-Key`, of every verb that takes one.\n"
    yield "| verb | parameter | why |\n|---|---|---|"
    for one in resources(ALL):
        for parameter in one.verb.parameters:
            reason = not_taken(one.verb, parameter)
            if reason and parameter.name != "idempotency_key":
                yield f"| {one.verb.name} | `{parameter.name}` | {reason} |"
