"""The shape of the verb table: what is known of an operation, a parameter, a tool.

Every operation is declared once, in this package, and every interface is built from the declaration
or compared with it by a test:

    Python, awaited     typed methods, compared with the table; the awaited ones are generated
    command line        commands, options, help and groups are built from it
    MCP                 schemas are built from it; the argument structs are compared with it
    Cypher              procedures and their signatures are built from it
    reference           docs/reference is generated from it

Where an interface does not offer an operation or a parameter, or names or presets it differently,
the table says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from doxa.base.ids import Role

Kind = Literal[
    "text",
    "texts",
    "kref",
    "krefs",
    "belief",
    "integer",
    "number",
    "flag",
    "time",
    "fact",
    "facts",
    "sentences",
    "mapping",
    "change",
    "path",
    "source",
    "function",
    "object",
]
Group = Literal["start", "ask", "change", "look", "care", "serve"]
Interface = Literal["python", "cli", "cypher", "mcp"]
Profile = Literal["default", "full"]
INTERFACES: tuple[Interface, ...] = ("python", "cli", "cypher", "mcp")

GROUPS: dict[Group, str] = {
    "start": "Start",
    "ask": "Ask",
    "change": "Change",
    "look": "Look",
    "care": "Care",
    "serve": "Serve",
}
REPEATED: tuple[Kind, ...] = ("texts", "krefs", "facts", "sentences")


class _Marker:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


REQUIRED = _Marker("required")
UNSET = _Marker("unset")  # of an option that does nothing, or carries over, where it is not given


class Parameter(msgspec.Struct, frozen=True):
    """One argument of an operation. `default` is REQUIRED, UNSET, or what every interface assumes.

    `cli` is the option's spelling where it is not the name with dashes, `short` its one-letter
    form. `absent` gives by interface the reason why it does not take the parameter, `changed` the
    reason why its name or default there is another.
    """

    doc: str
    default: object = REQUIRED
    kind: Kind = "text"
    name: str = ""
    positional: bool = False
    choices: tuple[str, ...] = ()
    cli: str = ""
    short: str = ""
    absent: Mapping[Interface, str] = msgspec.field(default_factory=dict)
    changed: Mapping[Interface, str] = msgspec.field(default_factory=dict)
    hidden: bool = False

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


class Procedure(msgspec.Struct, frozen=True):
    """A verb as a Cypher procedure: which parameters are arguments, in order (the others are keys
    of the map `options`), and the columns of its rows."""

    arguments: tuple[str, ...]
    results: tuple[tuple[str, str], ...]
    name: str = ""  # where it is not the verb's name in camel case


class Command(msgspec.Struct, frozen=True):
    """A verb on the command line: its name where it is not the verb's with dashes, and options
    that only the command line has. `old` are former names that still work and say what replaces
    them."""

    name: str = ""
    extra: tuple[Parameter, ...] = ()
    old: tuple[str, ...] = ()
    order: tuple[str, ...] = ()  # of its positional arguments, where it is not the verb's
    reason: str = ""  # for another name


class Verb(msgspec.Struct, frozen=True):
    """One operation. `owner` is the class whose method it is; `role` the least role that may call
    it; `absent` gives by interface the reason why it is not offered there."""

    name: str
    group: Group
    summary: str
    details: str = ""
    parameters: tuple[Parameter, ...] = ()
    result: str = "None"
    owner: Literal["Session", "Memory"] = "Session"
    role: Role = "agent"
    writes: bool = False
    idempotent: bool = True
    errors: tuple[str, ...] = ()
    options: str = ""  # the TypedDict that holds its keyword parameters, if it has one
    cli: Command | None = None
    cypher: Procedure | None = None
    absent: Mapping[Interface, str] = msgspec.field(default_factory=dict)
    awaited: str = ""  # why AsyncMemory returns a synchronous object, where it does

    @property
    def text(self) -> str:
        """The docstring of the method: a line, and what else there is to say."""
        return f"{self.summary}\n\n{self.details}" if self.details else self.summary

    @property
    def command(self) -> str:
        """Its name on the command line."""
        return (self.cli.name if self.cli else "") or self.name.strip("_").replace("_", "-")

    @property
    def procedure(self) -> str:
        """Its name in Cypher, without the prefix."""
        first, *rest = self.name.split("_")
        return (self.cypher.name if self.cypher else "") or first + "".join(
            part.capitalize() for part in rest
        )

    def parameter(self, name: str) -> Parameter:
        return next(one for one in self.parameters if one.name == name)

    def of(self, interface: Interface) -> tuple[Parameter, ...]:
        """Return the parameters that an interface takes, in order."""
        return tuple(one for one in self.parameters if interface not in one.absent)


class CommandOnly(msgspec.Struct, frozen=True):
    """A command that is not an operation of a memory: it starts something, or combines verbs."""

    name: str
    group: Group
    summary: str
    reason: str  # why no other interface has it


class CypherOnly(msgspec.Struct, frozen=True):
    """A procedure that is not an operation of a memory: it runs other verbs."""

    name: str
    arguments: tuple[tuple[str, str], ...]
    optional: int
    results: tuple[tuple[str, str], ...]
    summary: str
    reason: str  # why no other interface has it


class ToolArgument(msgspec.Struct, frozen=True):
    """An argument of a tool: the parameter of the verb that it sets, and what differs."""

    name: str
    of: str = ""  # the parameter, where its name is another
    default: object = UNSET  # where it is another than the parameter's
    schema: Mapping[str, object] = msgspec.field(default_factory=dict)
    reason: str = ""  # for another name or default, or for no parameter at all


class Tool(msgspec.Struct, frozen=True):
    """An MCP tool, the verbs that it calls, and the smallest profile that lists it. `fixed` are
    values of parameters that it sets itself; `aliases` are other names under which it can be
    called, but is not listed."""

    name: str
    verbs: tuple[str, ...]
    description: str
    arguments: tuple[ToolArgument, ...] = ()
    reason: str = ""  # for its name, and for what it leaves out
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    fixed: Mapping[str, object] = msgspec.field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    profile: Profile = "default"


def argument(doc: str, kind: Kind = "text", **rest: object) -> Parameter:
    """Declare a positional parameter."""
    return Parameter(doc, kind=kind, positional=True, **rest)  # type: ignore[arg-type]


def parameters(**given: Parameter) -> tuple[Parameter, ...]:
    """Return parameters under their names, in the order given."""
    return tuple(named(name, one) for name, one in given.items())


def named(name: str, parameter: Parameter, kind: Kind | None = None) -> Parameter:
    return msgspec.structs.replace(parameter, name=name, kind=kind or parameter.kind)
