"""The verbs as resources of the HTTP API: a path each, derived from the table.

    GET, POST /v1/recall        a verb that reads: arguments in the query string, or as a JSON body
    POST      /v1/remember      a verb that writes: arguments as a JSON body

The path is the name of the verb with dashes. A verb whose arguments no query string holds has POST
alone. A verb that is added to the table is served without further ado, unless it needs a value that
no client has: `NO_RESOURCE` and `NO_ARGUMENT` give the reasons, and every other one follows from
the kinds of its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Kind, Parameter, Verb

PREFIX = "/v1"
Answer = Literal["object", "list", "value", "stream", "events"]

_STATEMENTS = "POST /db/{name}/query/v2 runs statements"
_REQUESTS = "every request is a call of its own, in the name of its login"
_SERVER = "it manages the Python object that serves"
_FILES = "it uses a file of the server's machine"
NO_RESOURCE: Mapping[str, str] = {
    "open": "the server opens the memory",
    "session": _REQUESTS,
    "close": _SERVER,
    "wake": _SERVER,
    "flush": _SERVER,
    "run": _STATEMENTS,
    "read": _STATEMENTS,
    "write": _STATEMENTS,
    "graph": _STATEMENTS,
    "attachment_add": _FILES,
}
# By verb and parameter; "*" is every verb.
NO_ARGUMENT: Mapping[tuple[str, str], str] = {
    ("*", "idempotency_key"): "the header Idempotency-Key holds it",
    ("ingest", "format"): "a request sends messages, not a file",
    ("store_unit", "folder"): _FILES,
    ("store_execution", "folder"): _FILES,
    ("artifact_file", "folder"): _FILES,
    ("nightshift", "follow"): "a request ends",
    ("events", "follow"): "`Accept: text/event-stream` follows",
    ("events", "cursor"): "the position is the caller's: `after`",
    ("events", "ack"): "the position is the caller's: `after`",
}
# What MCP refuses for a reason that does not hold here: a login may be an operator's program.
_HERE_TOO = frozenset((("forget", "erase"), ("forget", "preview")))
_DEFAULT_PROFILE = (why.OPERATOR, why.FEW)
# What a value may be here where the table allows more.
NARROWED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("consolidate", "producer"): ("rules", "model", "host"),  # and no program
}
# Read in the name of an operator who is bound to nothing: they show what files the machine has.
UNBOUND_OPERATOR = frozenset(("artifact_file",))
_NO_QUERY_STRING: tuple[Kind, ...] = ("mapping", "fact", "facts", "sentences", "source")
_ANSWERS: Mapping[str, Answer] = {"Iterator[bytes]": "stream", "EventStream": "events"}


@dataclass(frozen=True, slots=True)
class Resource:
    """A verb as it is served. `answer` is the form of its result: an object as it is, a list as
    `items`, another value as `value`. `key`: it takes an idempotency key; `expect`: it compares a
    revision number, and so takes If-Match; `pages`: its list has a cursor."""

    verb: Verb
    path: str
    methods: tuple[str, ...]
    arguments: tuple[Parameter, ...]
    answer: Answer
    key: bool
    expect: bool
    pages: bool


def resources(verbs: Sequence[Verb]) -> tuple[Resource, ...]:
    """Return what is served of a table."""
    return tuple(_resource(verb) for verb in verbs if not_served(verb) is None)


def not_served(verb: Verb) -> str | None:
    """Return why a verb is not a resource; None if it is one."""
    if verb.name in NO_RESOURCE:
        return NO_RESOURCE[verb.name]
    if any(one.required and one.kind == "path" for one in verb.parameters):
        return _FILES
    if any(one.required and one.kind in ("object", "function") for one in verb.parameters):
        return "it takes a Python object"
    return None


def not_taken(verb: Verb, parameter: Parameter) -> str | None:
    """Return why a resource does not take a parameter of its verb; None if it does."""
    at = (verb.name, parameter.name)
    reason = NO_ARGUMENT.get(at) or NO_ARGUMENT.get(("*", parameter.name))
    if reason is not None:
        return reason
    if parameter.kind == "path":
        return _FILES
    if parameter.kind == "function":
        return "a job reports its progress"
    if parameter.kind == "object" and at != ("events", "after"):
        return "it takes a Python object"
    refused = parameter.absent.get("mcp")
    if refused is None or refused in _DEFAULT_PROFILE or at in _HERE_TOO:
        return None
    return refused


def resource_path(verb: Verb) -> str:
    return f"{PREFIX}/{verb.name.strip('_').replace('_', '-')}"


def _resource(verb: Verb) -> Resource:
    taken = tuple(one for one in verb.parameters if not_taken(verb, one) is None)
    plain = not any(one.kind in _NO_QUERY_STRING for one in taken)
    answer = _answer(verb)
    names = {one.name for one in verb.parameters}
    return Resource(
        verb,
        resource_path(verb),
        _methods(verb, answer, plain=plain),
        taken,
        answer,
        "idempotency_key" in names,
        verb.writes and "expect" in names,
        answer == "list" and "limit" in names,
    )


def _methods(verb: Verb, answer: Answer, *, plain: bool) -> tuple[str, ...]:
    if verb.writes or not plain:
        return ("POST",)
    return ("GET",) if answer in ("stream", "events") else ("GET", "POST")


def _answer(verb: Verb) -> Answer:
    if verb.result in _ANSWERS:
        return _ANSWERS[verb.result]
    if verb.result.startswith("list["):
        return "list"
    parts = verb.result.split(" | ")
    scalar = {"None", "Path", "bool", "int", "str"}
    return "value" if scalar.intersection(parts) else "object"
