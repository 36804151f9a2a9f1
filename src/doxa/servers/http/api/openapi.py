"""The description of the API, OpenAPI 3.1, from the operations of the verb table.

Source: OpenAPI Specification 3.1.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from doxa.app.verbs import GROUPS
from doxa.app.verbs.resources import PREFIX
from doxa.servers.http.api import jobs, problems
from doxa.servers.http.api.answers import SELECTED, TAG_PATTERN, page_schema
from doxa.servers.http.api.arguments import argument_schema, body_schema
from doxa.servers.http.api.operations import ApiOperation, operations

JSON = "application/json"
STREAM, LINES = "text/event-stream", "application/x-ndjson"
_REF = "#/components/"
_PROBLEM = {"$ref": f"{_REF}responses/Problem"}
_JOB = {"$ref": f"{_REF}schemas/Job"}
_TAG_HEADER = {"ETag": {"$ref": f"{_REF}headers/ETag"}}


@cache
def document(version: str) -> dict[str, Any]:
    """Return the description, with the version of doxa."""
    table = operations()
    paths: dict[str, Any] = {}
    for path, one in table.by_path.items():
        paths[path] = {method.lower(): _operation(one, method) for method in one.resource.methods}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "doxa",
            "version": version or "0",
            "summary": "A memory for AI agents: every operation over HTTP.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [
            {"url": "/", "description": "The database of the login."},
            {
                "url": "/db/{database}",
                "description": "One of several databases.",
                "variables": {"database": {"default": "doxa"}},
            },
        ],
        "tags": [{"name": name} for name in (*GROUPS.values(), "Jobs", "Browser")],
        "security": [{"bearer": []}],
        "paths": paths | _job_paths() | _session_paths(),
        "components": {
            "schemas": {
                **table.components,
                "Problem": problems.SCHEMA,
                "Job": jobs.SCHEMA,
                "BrowserSession": _SESSION,
                "SessionLink": _LINK,
            },
            "headers": {
                "ETag": {
                    "description": "The entity tag: of a revision its number, then a hash.",
                    "schema": {"type": "string"},
                }
            },
            "responses": {
                "Problem": {
                    "description": "The call was refused or failed.",
                    "content": {problems.MEDIA: {"schema": {"$ref": f"{_REF}schemas/Problem"}}},
                }
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(operation: ApiOperation, method: str) -> dict[str, Any]:
    resource = operation.resource
    verb = resource.verb
    first = method == resource.methods[0]
    made: dict[str, Any] = {
        "operationId": verb.name if first else f"{verb.name}_{method.lower()}",
        "summary": verb.summary,
        "tags": [GROUPS[verb.group]],
    }
    if verb.details:
        made["description"] = verb.details
    parameters = [*_query(operation, method), *_headers(operation, method)]
    if parameters:
        made["parameters"] = parameters
    if method == "POST":
        made["requestBody"] = {
            "required": True,
            "content": {JSON: {"schema": body_schema(resource)}},
        }
    made["responses"] = _responses(operation, method)
    return made


def _query(operation: ApiOperation, method: str) -> Iterator[dict[str, Any]]:
    resource = operation.resource
    if method == "GET":
        for one in resource.arguments:
            found: dict[str, Any] = {
                "name": one.name,
                "in": "query",
                "schema": argument_schema(resource, one),
            }
            if one.doc:
                found["description"] = one.doc
            if one.required:
                found["required"] = True
            yield found
    if resource.pages:
        yield {
            "name": "cursor",
            "in": "query",
            "description": "The `next` of the page before.",
            "schema": {"type": "string"},
        }
    names = operation.fields.names if operation.fields else ()
    if names:
        yield {
            "name": "fields",
            "in": "query",
            "description": f"Only these fields, as {SELECTED}.",
            "explode": False,
            "schema": {
                "type": "array",
                "items": {"type": "string", "enum": list(names)},
                "minItems": 1,
            },
        }


def _headers(operation: ApiOperation, method: str) -> Iterator[dict[str, Any]]:
    resource = operation.resource
    if resource.key:
        yield _header(
            "Idempotency-Key",
            "A retry with the same key gets the first answer, and writes nothing.",
            {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
        )
    if resource.expect:
        yield _header(
            "If-Match",
            "The ETag of the revision that must be current, or its number in quotes.",
            {"type": "string", "pattern": TAG_PATTERN},
        )
    if method == "GET" and operation.schema is not None and resource.answer != "events":
        yield _header("If-None-Match", "The ETag of the answer that is known.", {"type": "string"})
    if resource.answer == "events":
        yield _header("Last-Event-ID", "The last event that arrived.", {"type": "string"})
    if method == "POST":
        yield _header(
            "Prefer",
            "respond-async: do not wait; a job is the answer.",
            {"type": "string"},
        )


def _header(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": description, "schema": dict(schema)}


def _responses(operation: ApiOperation, method: str) -> dict[str, Any]:
    resource = operation.resource
    done: dict[str, Any] = {"description": "Done."}
    if operation.schema is None:
        done["content"] = {LINES: {"schema": {"type": "string"}}}
    else:
        done["content"] = {JSON: {"schema": dict(operation.schema)}}
        if operation.fields and operation.fields.names:
            done["content"][SELECTED] = {"schema": _selected_schema(operation)}
    found: dict[str, Any] = {"200": done}
    if resource.answer == "events":
        done["content"][STREAM] = {"schema": {"type": "string"}}
    elif method == "GET" and operation.schema is not None:
        done["headers"] = _TAG_HEADER
        found["304"] = {"description": "The answer is the one that is known."}
    if method == "POST":
        found["202"] = {
            "description": "The call has become a job.",
            "headers": {"Location": {"schema": {"type": "string"}}},
            "content": {JSON: {"schema": _JOB}},
        }
    return found | {"default": _PROBLEM}


def _selected_schema(operation: ApiOperation) -> dict[str, Any]:
    anything = {"type": "object", "additionalProperties": {}}
    return page_schema(anything) if operation.pages else anything


# What is not a verb


def _json_response(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": dict(schema)}}}


def _job_paths() -> dict[str, Any]:
    identity = {"name": "job", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        f"{PREFIX}/jobs": {
            "get": {
                "operationId": "jobs",
                "summary": "List the jobs of this login, the newest first.",
                "tags": ["Jobs"],
                "responses": {
                    "200": _json_response("The jobs.", page_schema(_JOB)),
                    "default": _PROBLEM,
                },
            }
        },
        f"{PREFIX}/jobs/{{job}}": {
            "get": {
                "operationId": "job",
                "summary": "Return a job: its progress, and in the end its answer.",
                "tags": ["Jobs"],
                "parameters": [identity],
                "responses": {"200": _json_response("The job.", _JOB), "default": _PROBLEM},
            },
            "delete": {
                "operationId": "cancel_job",
                "summary": "Ask a job to stop after the batch that it is at.",
                "tags": ["Jobs"],
                "parameters": [identity],
                "responses": {"202": _json_response("The job.", _JOB), "default": _PROBLEM},
            },
        },
    }


_SESSION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "role": {"type": "string", "enum": ["agent", "operator"]},
        "projects": {"type": "array", "items": {"type": "string"}},
        "databases": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Those that the login may use, its default first.",
        },
        "project": {
            "type": "string",
            "description": "Of a call to this database that names no project; empty: all.",
        },
        "how": {"type": "string", "enum": ["header", "cookie", "none"]},
    },
    "required": ["name", "role", "projects", "databases", "project", "how"],
}
_LINK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Open it in a browser; it works once."},
        "seconds": {"type": "integer"},
    },
    "required": ["path", "seconds"],
}


def _session_paths() -> dict[str, Any]:
    session = {"$ref": f"{_REF}schemas/BrowserSession"}
    link = {"$ref": f"{_REF}schemas/SessionLink"}
    return {
        f"{PREFIX}/session": {
            "get": {
                "operationId": "whoami",
                "summary": "Return who calls, what the login may use, and the project of calls.",
                "tags": ["Browser"],
                "responses": {"200": _json_response("The caller.", session), "default": _PROBLEM},
            },
            "delete": {
                "operationId": "end_session",
                "summary": "End the browser session of the cookie.",
                "tags": ["Browser"],
                "responses": {"204": {"description": "It is over."}, "default": _PROBLEM},
            },
        },
        f"{PREFIX}/session/links": {
            "post": {
                "operationId": "session_link",
                "summary": "Make a link that opens a browser session, once.",
                "tags": ["Browser"],
                "responses": {"201": _json_response("The link.", link), "default": _PROBLEM},
            }
        },
    }
