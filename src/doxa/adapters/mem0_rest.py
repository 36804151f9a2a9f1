"""mem0's REST interface, as its self-hosted server has it, without a web framework: a request in, a
status and a document out. `doxa serve --http --mem0` puts it under `/mem0`.

    POST   /memories                 add            GET     /memories?user_id=ann    get_all
    GET    /memories/{id}            get            DELETE  /memories?user_id=ann    delete_all
    PUT    /memories/{id}            update         GET     /memories/{id}/history   history
    DELETE /memories/{id}            delete         POST    /search                  search
    POST   /reset                    reset

The scope is that of the Mem0Memory; `user_id`, `agent_id` and `run_id` of a request choose in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from doxa.adapters.mem0 import Mem0InputError, Mem0Memory
from doxa.adapters.mem0_filters import IDS
from doxa.base.errors import DoxaError, InputError, NotFoundError, RoleError

_ADDED = frozenset(("messages", *IDS, "metadata", "infer", "expiration_date"))
_SEARCHED = frozenset(
    ("query", *IDS, "filters", "top_k", "limit", "threshold", "rerank", "explain", "show_expired")
)
_UPDATED = frozenset(("text", "data", "metadata", "expiration_date"))
_LISTED = frozenset((*IDS, "top_k", "limit", "show_expired"))


class Mem0Rest:
    """The routes over one Mem0Memory."""

    def __init__(self, memory: Mem0Memory) -> None:
        self._memory = memory

    def handle(
        self, method: str, path: str, query: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Any]:
        """Carry out a request; returns the status and what is to be sent as JSON. `path` is decoded
        and begins below the mount. Errors of doxa become 400, 403 or 404 with `detail`."""
        parts = [part for part in path.split("/") if part]
        try:
            return self._routed(method, parts, query, body)
        except Mem0InputError as error:
            missing = error.fields.get("field") == "memory_id"
            return (404 if missing else 400), {"detail": str(error)}
        except (InputError, ValueError) as error:
            return 400, {"detail": str(error)}
        except NotFoundError as error:
            return 404, {"detail": str(error)}
        except RoleError as error:
            return 403, {"detail": str(error)}
        except DoxaError as error:
            return 500, {"detail": str(error)}

    def _routed(
        self, method: str, parts: list[str], query: Mapping[str, str], body: bytes
    ) -> tuple[int, Any]:
        memory = self._memory
        match method, parts:
            case "POST", ["memories"]:
                given = _document(body, _ADDED)
                return 200, memory.add(given.pop("messages", None), **given)
            case "GET", ["memories"]:
                return 200, memory.get_all(**_scoped(_listed(query)))
            case "DELETE", ["memories"]:
                memory.delete_all(**_known(query, frozenset(IDS)))
                return 200, {"message": "All relevant memories deleted"}
            case "POST", ["search"]:
                given = _scoped(_document(body, _SEARCHED))
                return 200, memory.search(given.pop("query", None), **given)
            case "POST", ["reset"]:
                memory.reset()
                return 200, {"message": "All memories reset"}
            case "GET", ["memories", identity]:
                found = memory.get(identity)
                return (404, {"detail": "Memory not found"}) if found is None else (200, found)
            case "PUT", ["memories", identity]:
                return 200, memory.update(identity, **_document(body, _UPDATED))
            case "DELETE", ["memories", identity]:
                memory.delete(identity)
                return 200, {"message": "Memory deleted successfully"}
            case "GET", ["memories", identity, "history"]:
                return 200, memory.history(identity)
        return 404, {"detail": "Not Found"}


def _document(body: bytes, names: frozenset[str]) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise _wrong("The body is not JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise _wrong("The body is not a JSON object")
    return _known({name: value for name, value in found.items() if value is not None}, names)


def _known(given: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    unknown = sorted(given.keys() - names)
    if unknown:
        raise _wrong(f"{', '.join(unknown)[:200]} is not known here")
    return dict(given)


def _listed(query: Mapping[str, str]) -> dict[str, Any]:
    given = _known(query, _LISTED)
    for name in ("top_k", "limit"):
        if name in given:
            text = given[name]
            if not text.isdecimal() or len(text) > 9:
                raise _wrong(f"{name} is a number")
            given[name] = int(text)
    if "show_expired" in given:
        given["show_expired"] = given["show_expired"].lower() in ("true", "1")
    return given


def _scoped(given: dict[str, Any]) -> dict[str, Any]:
    """Move ids into the filters, and `limit`, the older name, to `top_k`."""
    filters = given.pop("filters", {})
    if not isinstance(filters, Mapping):
        raise _wrong("filters is not an object")
    ids = {name: given.pop(name) for name in IDS if name in given}
    for name, value in ids.items():
        if filters.get(name, value) != value:
            raise _wrong(f"{name} is given twice, with different values")
    if "limit" in given:
        given.setdefault("top_k", given.pop("limit"))
        given.pop("limit", None)
    return given | {"filters": {**filters, **ids}}


def _wrong(problem: str) -> Mem0InputError:
    return Mem0InputError(
        f"{problem}.", next_step="See docs/guides/adapters.md for the requests.", field="body"
    )
