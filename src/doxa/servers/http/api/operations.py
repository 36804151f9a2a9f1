"""The operations of the API: a resource each, with what reads its arguments and shapes its answer.
Carrying one out is a plain function of a session, on a thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from doxa.app import Session
from doxa.app.verbs import ALL
from doxa.app.verbs.resources import UNBOUND_OPERATOR, Resource, resources
from doxa.base.errors import InputError, RoleError
from doxa.base.ids import is_below_operator
from doxa.base.limits import API_EVENTS_ITEMS_MAX
from doxa.base.stopping import stoppable
from doxa.servers.calling import CallMeter, owner_of
from doxa.servers.encoding import Schemas, encode_value
from doxa.servers.http.api.answers import (
    FieldNames,
    answer_of,
    answer_schema,
    page_of,
    read_cursor,
)
from doxa.servers.http.api.arguments import ArgumentReader

_EVENTS_DEFAULT = 100


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """A resource as it is called. `schema` describes its answer."""

    resource: Resource
    reader: ArgumentReader
    schema: Mapping[str, Any] | None
    fields: FieldNames | None

    @property
    def name(self) -> str:
        return self.resource.verb.name

    @property
    def is_long(self) -> bool:
        """Whether it may take long, and can be stopped between batches."""
        verb = self.resource.verb
        progress = any(one.name == "progress" for one in verb.parameters)
        return progress or (verb.group == "care" and verb.writes)

    @property
    def pages(self) -> bool:
        """Whether the entries of the answer are what `fields` is about."""
        return self.resource.answer in ("list", "events")


class Table(NamedTuple):
    """All operations by their path, and the schemas of the classes that they return."""

    by_path: Mapping[str, ApiOperation]
    components: Mapping[str, Any]


@cache
def operations() -> Table:
    """Return the operations of the verb table."""
    schemas = Schemas()
    served = resources(ALL)
    answers = {
        one.path: None if one.answer == "stream" else answer_schema(one, schemas) for one in served
    }
    made = {}
    for one in served:
        schema = answers[one.path]
        names = None if schema is None else FieldNames(schema, schemas.components)
        made[one.path] = ApiOperation(one, ArgumentReader(one), schema, names)
    return Table(made, schemas.components)


class ApiCall(NamedTuple):
    """A call with all that it was given."""

    operation: ApiOperation
    arguments: dict[str, Any]
    cursor: str | None = None
    key: str | None = None
    expected: int | None = None


class ApiOutcome(NamedTuple):
    """What a verb returned, and the answer that is made of it."""

    result: Any
    answer: Any


def carry_out(call: ApiCall, session: Session, meter: CallMeter) -> ApiOutcome:
    """Carry out a call. Raises what the verb raises, and CallCancelled."""
    resource = call.operation.resource
    given = dict(call.arguments)
    _check_artifacts(given)
    if call.key is not None:
        given["idempotency_key"] = call.key
    if call.expected is not None and given.setdefault("expect", call.expected) != call.expected:
        raise InputError(
            "`expect` and If-Match ask for different revisions.",
            next_step="Leave one of them out.",
            field="expect",
        )
    if resource.answer == "events":
        return _events(session, given)
    if not resource.pages:
        result = run_verb(call, session, given, meter)
        return ApiOutcome(result, answer_of(resource, result))
    return _page(call, session, given, meter)


def run_verb(call: ApiCall, session: Session, given: dict[str, Any], meter: CallMeter) -> Any:
    """Call the verb of a resource with arguments by name."""
    verb = call.operation.resource.verb
    if verb.name in UNBOUND_OPERATOR:
        _check_unbound(verb.name, session)
    if any(one.name == "progress" for one in verb.parameters):
        given["progress"] = meter.add
    with stoppable(lambda: meter.is_cancelled):
        return getattr(owner_of(verb, session), verb.name)(**given)


def _page(call: ApiCall, session: Session, given: dict[str, Any], meter: CallMeter) -> ApiOutcome:
    """A page of a list: the verb reads up to its end, since its `limit` counts from the start."""
    default = call.operation.resource.verb.parameter("limit").default
    limit = given.get("limit", default)
    at = None if call.cursor is None else read_cursor(call.cursor)
    if type(limit) is not int or limit < 1:
        at = None  # the verb says what is wrong with it
    elif at is not None:
        given["limit"] = min(at.number + limit, 2**63 - 1)
    result = run_verb(call, session, given, meter)
    if type(limit) is not int or limit < 1:
        return ApiOutcome(result, answer_of(call.operation.resource, result))
    return ApiOutcome(result, page_of(encode_value(result), at, limit))


def _events(session: Session, given: dict[str, Any]) -> ApiOutcome:
    """The first events after a position, and the position of the following call."""
    limit = given.get("limit", _EVENTS_DEFAULT)
    given["limit"] = min(limit, API_EVENTS_ITEMS_MAX)
    with session.events(**given) as stream:
        found = [one.as_dict() for one in stream]
    answer: dict[str, Any] = {"items": found}
    if found and len(found) == given["limit"]:
        answer["next"] = str(found[-1]["id"])
    return ApiOutcome(found, answer)


def _check_artifacts(given: Mapping[str, Any]) -> None:
    """Refuse artifacts that are named by a path: the client may be on another machine."""
    artifacts = given.get("artifacts")
    if isinstance(artifacts, dict) and not all(isinstance(one, dict) for one in artifacts.values()):
        raise InputError(
            "A request reads no files.",
            next_step="Give {name: {location: ..., sha256: ..., size_bytes: ...}}.",
            field="artifacts",
        )


def _check_unbound(name: str, session: Session) -> None:
    bound = session.memory.store.binding is not None
    if bound or is_below_operator(session.identity.role):
        raise RoleError(
            f"{name} reads a file of the server's machine.",
            next_step="Ask an operator who is bound to nothing.",
            role=session.identity.role,
            needed="operator",
        )
