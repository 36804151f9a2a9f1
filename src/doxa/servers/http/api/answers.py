"""Results as responses: their form, the page of a list, the fields that were asked for, and the
entity tag.

    object   as it is
    list     {"items": [...], "next": where the following page begins}
    value    {"value": ...}
    table    {"columns": [...], "rows": [[...]], "counters": {...}, "plan": ...}
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from doxa.app.verbs.resources import Resource
from doxa.app.verbs.result_types import result_types
from doxa.base.errors import InputError
from doxa.servers.encoding import Schemas, encode_value
from doxa.servers.http.api.tables import table_of, table_schema
from doxa.servers.http.errors import HttpError

SELECTED = "application/vnd.doxa.selected+json"
_TAG = re.compile(r'"?([0-9]{1,18})(?:-[0-9a-f]{1,32})?"?')
_ANY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
TAG_PATTERN = r'^(\*|"?[0-9]{1,18}(-[0-9a-f]{1,32})?"?)$'
_DEPTH_MAX = 3
_NAMED = ("kref", "tx", "id", "name", "session", "path")  # what an entry of a list is known by


# Form


def answer_schema(resource: Resource, schemas: Schemas) -> dict[str, Any]:
    """Return the schema of the answer of a resource."""
    if resource.answer == "events":
        return page_schema(event_schema(schemas))
    if resource.answer == "table":
        return table_schema(schemas)
    found = [schemas.of(one) for one in result_types(resource.verb.result)]
    if not found:
        raise KeyError(f"the type {resource.verb.result} of {resource.verb.name} is not known")
    schema: dict[str, Any] = found[0] if len(found) == 1 else {"anyOf": found}
    if resource.answer == "list":
        return page_schema(schema.get("items", {}))
    if resource.answer == "value":
        return {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    return schema


def page_schema(item: Mapping[str, Any]) -> dict[str, Any]:
    following = "The `cursor` of the following page, or of events their `after`."
    return {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": dict(item)},
            "next": {"type": "string", "description": following},
        },
        "required": ["items"],
    }


def event_schema(schemas: Schemas) -> dict[str, Any]:
    """Return the schema of an event, which has only what is known."""
    found = schemas.of(result_types("Event")[0])
    always = ["id", "seq", "change", "name", "time", "actor", "role", "op", "element"]
    schemas.components["Event"]["required"] = always
    return found


def answer_of(resource: Resource, result: Any) -> Any:
    """Return a result as the schema has it."""
    if resource.answer == "table":
        return table_of(result)
    found = encode_value(result)
    if resource.answer == "list":
        return {"items": found}
    return {"value": found} if resource.answer == "value" else found


# Pages


class PagePosition(NamedTuple):
    """Where a page begins: after so many entries, the last of which is known by `mark`."""

    number: int
    mark: str


def read_cursor(text: str) -> PagePosition:
    """Return the position that a cursor stands for. Raises InputError."""
    try:
        count, mark = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"==="))
        if type(count) is int and 0 < count < 2**31 and type(mark) is str:
            return PagePosition(count, mark)
    except (ValueError, TypeError, UnicodeError, RecursionError):
        pass
    raise InputError(
        "This is not a cursor of this list.",
        next_step="Give the `next` of the page before, or leave it out.",
        field="cursor",
    )


def page_of(items: Sequence[Any], at: PagePosition | None, limit: int) -> dict[str, Any]:
    """Return the page of a list that was read up to its end. It begins after the entry that was
    the last of the page before, wherever that is now."""
    start = 0 if at is None else _after(items, at)
    page = list(items[start : start + limit])
    found: dict[str, Any] = {"items": page}
    if page and len(items) >= (at.number if at else 0) + limit:
        given = json.dumps([start + len(page), _mark(page[-1])], separators=(",", ":"))
        found["next"] = base64.urlsafe_b64encode(given.encode()).decode().rstrip("=")
    return found


def _after(items: Sequence[Any], at: PagePosition) -> int:
    for number in range(len(items), 0, -1):
        if _mark(items[number - 1]) == at.mark:
            return number
    return at.number


def _mark(item: Any) -> str:
    known = item
    if isinstance(item, dict):
        known = next((item[name] for name in _NAMED if name in item), item)
    data = json.dumps(known, sort_keys=True).encode()
    return hashlib.blake2b(data, digest_size=8).hexdigest()


# Fields


class FieldNames:
    """The names that `fields` may have for one resource: dotted, as deep as the schemas go."""

    def __init__(self, schema: Mapping[str, Any], components: Mapping[str, Any]) -> None:
        self._components = components
        found = dict.fromkeys(self._walk(_item_of(schema), "", 0))
        self.names: tuple[str, ...] = tuple(found)
        self._known = frozenset(found)

    def _walk(self, schema: Mapping[str, Any], before: str, depth: int) -> Iterable[str]:
        for one in schema.get("anyOf", ()):
            yield from self._walk(one, before, depth)
        if "$ref" in schema:
            yield from self._walk(
                self._components[schema["$ref"].rpartition("/")[2]], before, depth
            )
        if depth < _DEPTH_MAX:
            for name, one in schema.get("properties", {}).items():
                yield before + name
                yield from self._walk(one, f"{before}{name}.", depth + 1)
            if before and "items" in schema:
                yield from self._walk(schema["items"], before, depth)

    def tree(self, text: str) -> dict[str, Any]:
        """Return the fields asked for as a tree. Raises InputError for one that is not known."""
        found: dict[str, Any] = {}
        for name in text.split(","):
            if name not in self._known:
                raise InputError(
                    f"The answer has no field {name[:60]!r}.",
                    next_step=f"Use {', '.join(self.names[:40])}."
                    if self.names
                    else "Leave `fields` out.",
                    field="fields",
                )
            at = found
            for part in name.split("."):
                at = at.setdefault(part, {})
        return found


def _item_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that `fields` is about: of a list its entries."""
    properties = schema.get("properties", {})
    if set(properties) == {"items", "next"}:
        found: Mapping[str, Any] = properties["items"]["items"]
        return found
    return schema


def selected(answer: Any, tree: Mapping[str, Any], *, pages: bool) -> Any:
    """Return an answer with the fields of a tree alone."""
    if pages:
        return answer | {"items": [_pruned(one, tree) for one in answer["items"]]}
    return _pruned(answer, tree)


def _pruned(value: Any, tree: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_pruned(one, tree) for one in value]
    if not isinstance(value, dict) or not tree:
        return value
    return {name: _pruned(value[name], below) for name, below in tree.items() if name in value}


# Entity tags


def entity_tag(result: Any, data: bytes) -> str:
    """Return the entity tag of an answer: of a revision its number, then a hash of the answer."""
    digest = hashlib.blake2b(data, digest_size=8).hexdigest()
    number = getattr(result, "number", None)
    return f'"{number}-{digest}"' if type(number) is int else f'"{digest}"'


def expected_number(header: str) -> int | None:
    """Return the revision number that If-Match asks for; None for any. Raises HttpError for what
    cannot match."""
    text = header.strip()
    if text == "*":
        return None
    found = _TAG.fullmatch(text)
    if found is not None:
        return int(found.group(1))
    if _ANY_TAG.fullmatch(text):
        raise HttpError(
            "If-Match holds a tag that is not of a revision.",
            http=412,
            next_step="Give the ETag of a revision, as a GET of its address returns it.",
        )
    raise InputError(
        "If-Match is not one entity tag.",
        next_step='Give the ETag of a revision, or its number in quotes, such as "3".',
        field="If-Match",
    )


def is_known(header: str | None, tag: str) -> bool:
    """Return whether If-None-Match names the answer that would be sent."""
    if header is None:
        return False
    return header.strip() == "*" or tag in (one.strip() for one in header.split(","))
