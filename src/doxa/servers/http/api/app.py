"""The API on the event loop: the steps of one request.

    path -> method -> login -> rate -> headers -> body -> [thread] operations.carry_out -> response
    404      405      401, 403  429    400, 406, 412, 415  413, 408       statuses of problems.py

    /v1/{verb}                        every verb of the table; /db/{name}/v1/{verb} names a database
    GET  /v1/openapi.json             its description, without a login
    GET  /v1/jobs, GET and DELETE /v1/jobs/{id}
    GET, DELETE /v1/session, POST /v1/session/links, GET /v1/session/open?code=...

Host and Origin were checked before. Every error is a problem (RFC 9457).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from doxa.app.verbs.resources import PREFIX
from doxa.base.errors import DoxaError, InputError
from doxa.base.limits import (
    API_BURST_ITEMS_MAX,
    API_LINK_MS,
    API_PER_S_ITEMS_MAX,
    HTTP_ANSWER_BYTES_MAX,
)
from doxa.servers.calling import CallCancelled, CallMeter
from doxa.servers.codes import FORBIDDEN, UNAUTHORIZED
from doxa.servers.contract import Database, VerbDatabase
from doxa.servers.credentials import Principal
from doxa.servers.http.api import openapi
from doxa.servers.http.api.answers import (
    SELECTED,
    entity_tag,
    expected_number,
    is_known,
    selected,
)
from doxa.servers.http.api.browser import (
    BrowserSessions,
    check_own_page,
    cookie_header,
    cookie_name,
)
from doxa.servers.http.api.callers import Callers, CallersElsewhere, CallersHere
from doxa.servers.http.api.jobs import Jobs
from doxa.servers.http.api.jobs_of_all import JobsOfAll
from doxa.servers.http.api.lag import lag_headers
from doxa.servers.http.api.operations import (
    ApiCall,
    ApiOperation,
    ApiOutcome,
    carry_out,
    operations,
)
from doxa.servers.http.api.problems import MEDIA, problem_of, problem_response
from doxa.servers.http.api.rates import RequestRate
from doxa.servers.http.api.streams import LinesResponse
from doxa.servers.http.context import context_of
from doxa.servers.http.errors import HttpError, http_status, log_unexpected
from doxa.servers.http.headers import JSON, check_length, content_type
from doxa.servers.http.login import Login
from doxa.servers.http.messages import HEADERS, READ, Chunked, read_whole_body, until_gone
from doxa.servers.http.page import HOME
from doxa.servers.http.responses import ResponseData, encode
from doxa.servers.http.thread_pool import ThreadPool
from doxa.servers.sharing import Share
from doxa.servers.telemetry.calls import CallRecord, Outcome, outcome_of
from doxa.servers.telemetry.trace_context import PARENT, STATE
from doxa.servers.unit_of_work import resolve

EVENTS = "text/event-stream"
_KEY = re.compile(r"[!-~]{1,200}")
RECORD = "doxa.record"  # in the scope of a request: what is reported about it
_ALWAYS = ("fields", "cursor")
_JOB = f"{PREFIX}/jobs/"


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """How a server serves the API. `rate` and `burst` limit the requests of a login, 0: not;
    `home` is where a link of a browser session leads."""

    rate: float = API_PER_S_ITEMS_MAX
    burst: int = API_BURST_ITEMS_MAX
    home: str = HOME


class ApiCaller(NamedTuple):
    """Who calls, how that is known, and the database that the call is for."""

    principal: Principal
    how: str  # header, cookie or none
    database: str
    context: Mapping[str, str]

    @property
    def who(self) -> tuple[str, str, str]:
        """The login, its role and the database, for the log."""
        return self.principal.name, self.principal.role, self.database


EventsOf = Callable[..., Any]


class VerbApi:
    """The API of one server. `events` makes the response that follows events."""

    def __init__(
        self,
        database: Database,
        login: Login,
        threads: ThreadPool,
        *,
        version: str,
        options: ApiOptions,
        events: EventsOf,
        share: Share,
    ) -> None:
        self._database, self._login, self._threads = database, login, threads
        self._version, self._options, self._events = version, options, events
        self.jobs, self.sessions = Jobs(share), BrowserSessions(login.knows)
        self._callers: Callers = CallersHere(
            self.sessions, RequestRate(options.rate, options.burst)
        )
        self._jobs = JobsOfAll(self.jobs, share)
        if share.calls is not None:
            self._callers = CallersElsewhere(share.calls, login.knows, options.rate)
        self._described = b""

    async def answer(self, request: Request) -> Response:
        """Answer a request, and count it; every error is a response."""
        record = request.scope[RECORD] = CallRecord(
            "http",
            _verb_of(request),
            parent=request.headers.get(PARENT),
            state=request.headers.get(STATE),
        )
        outcome: Outcome = "failed"
        try:
            response = await self._response(request)
            outcome = outcome_of(response.status_code)
            return response
        finally:
            record.end(outcome)

    async def _response(self, request: Request) -> Response:
        try:
            return await self._answered(request)
        except ClientDisconnect:
            return Response(status_code=499)  # the client is gone
        except Exception as error:
            log_unexpected(error)
            called = request.scope.get("doxa.called", False)
            problem = problem_of(
                error, called=called, if_match=called and "if-match" in request.headers
            )
            headers = error.headers if isinstance(error, HttpError) else None
            unread = request.method not in ("GET", "HEAD") and READ not in request.scope
            return problem_response(problem, headers=headers, close=unread)

    def close(self) -> None:
        self.jobs.cancel_all()
        self.jobs.close()

    # Routes

    async def _answered(self, request: Request) -> Response:
        path = f"{PREFIX}/{request.path_params['path']}"
        operation = operations().by_path.get(path)
        if operation is not None:
            _check_method(request, operation.resource.methods)
            return await self._verb(request, operation)
        if path == f"{PREFIX}/openapi.json":
            _check_method(request, ("GET",))
            return _sent(200, JSON, self._description())
        if path == f"{PREFIX}/jobs" or path.startswith(_JOB):
            return await self._job(request, path.removeprefix(f"{PREFIX}/jobs").lstrip("/"))
        if path in (f"{PREFIX}/session", f"{PREFIX}/session/links", f"{PREFIX}/session/open"):
            return await self._session(request, path.removeprefix(f"{PREFIX}/session").lstrip("/"))
        raise HttpError(
            f"There is nothing at {path[:80]}.",
            http=404,
            next_step=f"GET {PREFIX}/openapi.json describes what there is.",
        )

    def _description(self) -> bytes:
        if not self._described:
            self._described = encode(openapi.document(self._version))
        return self._described

    async def _verb(self, request: Request, operation: ApiOperation) -> Response:
        caller = await self._caller(request)
        wants = accepted(request.headers, operation)
        query = request.query_params.multi_items()
        given = [one for one in query if one[0] not in (*_ALWAYS, "database")]
        body = b""
        if request.method == "POST":
            content_type(request.headers)
            check_length(request.headers)
            if given:
                raise InputError(
                    f"The argument {given[0][0][:40]!r} is in the query string of a POST.",
                    next_step="Put arguments into the body.",
                    field=given[0][0][:80],
                )
            body = await read_whole_body(request)
        if operation.resource.answer == "events" and wants == EVENTS:
            options = operation.reader.query(given)
            return await self._follow(request, caller, options)
        prepare = _Preparation(request.headers, operation, query, given, body)
        if "respond-async" in _preferences(request.headers) and request.method == "POST":
            return await self._begin_job(request, caller, prepare)
        if operation.schema is None:
            return await self._lines(request, caller, prepare)
        return await self._carried_out(request, caller, prepare)

    # Verbs

    async def _carried_out(
        self, request: Request, caller: ApiCaller, prepare: _Preparation
    ) -> Response:
        """Carry out a call on a thread. It is cancelled, where its verb can be, when its client
        goes."""
        meter = CallMeter()
        call = self._threads.run(
            lambda: self._on_thread(request, caller, prepare, meter),
            caller="" if caller.how == "none" else caller.principal.name,
        )
        if not prepare.operation.is_long:  # ends soon, whether or not somebody waits
            return await call
        task, gone = asyncio.create_task(call), asyncio.create_task(until_gone(request))
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                meter.cancel()
            return await task
        except CallCancelled:
            raise ClientDisconnect from None
        finally:
            task.cancel()
            gone.cancel()

    def _on_thread(
        self, request: Request, caller: ApiCaller, prepare: _Preparation, meter: CallMeter
    ) -> Response:
        call = prepare.call()
        request.scope["doxa.called"] = True
        record: CallRecord = request.scope[RECORD]
        with record.on_thread():
            outcome = self._call(caller, call, meter)
        answer, media = prepare.shaped(outcome), prepare.media
        data = encode(answer)
        if len(data) > HTTP_ANSWER_BYTES_MAX:
            raise HttpError(
                f"The answer is longer than {HTTP_ANSWER_BYTES_MAX:,} bytes.",
                http=400,
                next_step="Ask for less: give a limit, or fields.",
            )
        lag = lag_headers(self._database, caller.principal, caller.database)
        if request.method != "GET":
            return _sent(200, media, data, **lag)
        tag = entity_tag(outcome.result, data)
        if is_known(request.headers.get("if-none-match"), tag):
            return Response(status_code=304, headers=HEADERS | {"ETag": tag})
        return _sent(200, media, data, ETag=tag, **lag)

    def _call(self, caller: ApiCaller, call: ApiCall, meter: CallMeter) -> ApiOutcome:
        """Carry out a call in a session of its login."""
        database = self._database
        assert isinstance(database, VerbDatabase), "others have no API"
        name = resolve(database, caller.principal, caller.database)
        with database.verb_session(caller.principal, name, caller.context) as session:
            return carry_out(call, session, meter)

    async def _begin_job(
        self, request: Request, caller: ApiCaller, prepare: _Preparation
    ) -> Response:
        call = await self._threads.run(prepare.call)  # what is wrong with it is the answer

        parent: CallRecord = request.scope[RECORD]

        def work(meter: CallMeter) -> Any:
            record = CallRecord("job", parent.verb, parent=str(parent.parent or ""))
            record.login, record.role, record.database = caller.who
            outcome: Outcome = "failed"
            try:
                with record.on_thread():
                    found = prepare.shaped(self._call(caller, call, meter))
                outcome = "ok"
                return found
            except CallCancelled:
                outcome = "cancelled"
                raise
            except DoxaError as error:
                outcome = outcome_of(http_status(error))
                raise
            finally:
                record.end(outcome)

        job = self.jobs.start(
            prepare.operation.name,
            caller.principal,
            work,
            lambda error: problem_of(error, if_match=call.expected is not None),
        )
        headers = {"Location": f"{_JOB}{job.id}", "Preference-Applied": "respond-async"}
        return _sent(202, JSON, encode(job.as_dict()), **headers)

    async def _lines(self, request: Request, caller: ApiCaller, prepare: _Preparation) -> Response:
        """Send a result that is lines of text. It is complete before its first byte is sent."""
        call = prepare.call()
        request.scope["doxa.called"] = True
        response = LinesResponse(self._threads, openapi.LINES, HEADERS)
        meter = CallMeter()
        record: CallRecord = request.scope[RECORD]

        def put_lines(put: Callable[[bytes], object]) -> None:
            with record.on_thread():
                self._put_lines(caller, call, meter, put)

        await response.fill(put_lines)
        return response

    def _put_lines(
        self, caller: ApiCaller, call: ApiCall, meter: CallMeter, put: Callable[[bytes], object]
    ) -> None:
        database = self._database
        assert isinstance(database, VerbDatabase), "others have no API"
        name = resolve(database, caller.principal, caller.database)
        with database.verb_session(caller.principal, name, caller.context) as session:
            for line in carry_out(call, session, meter).result:
                put(line if line.endswith(b"\n") else line + b"\n")

    async def _follow(
        self, request: Request, caller: ApiCaller, options: dict[str, Any]
    ) -> Response:
        last = request.headers.get("last-event-id")
        if last:
            options.pop("since", None)
            options["after"] = last
        request.scope["doxa.called"] = True
        name = resolve(self._database, caller.principal, caller.database)
        found: Response = await self._events(
            caller.principal, name, options | {"follow": True}, lambda: self._caller(request)
        )
        return found

    # Who calls

    async def _caller(self, request: Request) -> ApiCaller:
        """Authenticate a request by its header or its cookie, and count it."""
        authorization = request.headers.get("authorization")
        cookie = request.cookies.get(self._cookie(request))
        if authorization is None and cookie:
            check_own_page(request.headers, request.method)
            principal, how = await self._callers.principal(cookie), "cookie"
        else:
            _check_bearer(authorization)
            principal = await self._login.principal(authorization)
            how = "none" if authorization is None else "header"
        await self._callers.take(principal.name)
        caller = ApiCaller(
            principal,
            how,
            self._database_of(request, principal),
            context_of(request.headers.raw),
        )
        record: CallRecord = request.scope[RECORD]
        record.login, record.role, record.database = caller.who
        return caller

    def _database_of(self, request: Request, principal: Principal) -> str:
        named = request.path_params.get("name", "")
        if named:
            return str(named)
        names = self._database.names(principal)
        return names[0] if names else ""

    def _cookie(self, request: Request) -> str:
        server = request.scope.get("server") or ("", 0)
        return cookie_name(server[1] or 0)

    # Jobs

    async def _job(self, request: Request, identity: str) -> Response:
        _check_method(request, ("GET", "DELETE") if identity else ("GET",))
        caller = await self._caller(request)
        if not identity:
            return _sent(200, JSON, await self._jobs.listed(caller.principal))
        if request.method == "DELETE":
            return _sent(202, JSON, await self._jobs.cancel(caller.principal, identity))
        return _sent(200, JSON, await self._jobs.get(caller.principal, identity))

    # Browser sessions

    def link(self, principal: Principal, *, checked: bool = False) -> str:
        """Return the path of a link that opens a browser session of this process, once."""
        return _link_path(self.sessions.link(principal, checked=checked))

    async def _session(self, request: Request, what: str) -> Response:
        methods = {"": ("GET", "DELETE"), "links": ("POST",), "open": ("GET",)}[what]
        _check_method(request, methods)
        if what == "open":
            return await self._opened(request)
        caller = await self._caller(request)
        if what == "links":
            if caller.how == "cookie":
                raise HttpError(
                    "A browser session cannot make another one.",
                    http=403,
                    next_step="Send a token in the Authorization header.",
                    status=FORBIDDEN,
                )
            code = await self._callers.link(caller.principal, checked=caller.how == "header")
            path = _link_path(code)
            return _sent(201, JSON, encode({"path": path, "seconds": API_LINK_MS // 1000}))
        if request.method == "DELETE":
            name = self._cookie(request)
            await self._callers.end(request.cookies.get(name, ""))
            over = cookie_header(name, "", secure=request.url.scheme == "https")
            return Response(status_code=204, headers=HEADERS | {"Set-Cookie": over})
        return _sent(200, JSON, encode(await self._threads.run(lambda: self._who(caller))))

    def _who(self, caller: ApiCaller) -> dict[str, Any]:
        """Say who calls, and where a call goes that names no database or project."""
        database, principal = self._database, caller.principal
        assert isinstance(database, VerbDatabase), "others have no API"
        found: dict[str, Any] = {
            "name": principal.name,
            "role": principal.role,
            "projects": principal.projects,
            "databases": list(self._database.names(principal)),
            "project": "",
            "how": caller.how,
        }
        if caller.database:
            name = resolve(database, principal, caller.database)
            with database.verb_session(principal, name, caller.context) as session:
                found["project"] = session.project
        return found

    async def _opened(self, request: Request) -> Response:
        cookie = await self._callers.open(request.query_params.get("code", ""))
        secure = request.url.scheme == "https"
        headers = {
            "Location": self._options.home,
            "Set-Cookie": cookie_header(self._cookie(request), cookie, secure=secure),
            "Referrer-Policy": "no-referrer",
        }
        return Response(status_code=303, headers=HEADERS | headers)


def _link_path(code: str) -> str:
    return f"{PREFIX}/session/open?code={code}"


def _verb_of(request: Request) -> str:
    """Return the verb of a request for the log; `api` for what is not a verb."""
    path = f"{PREFIX}/{request.path_params['path']}"
    operation = operations().by_path.get(path)
    return "api" if operation is None else operation.name


class _Preparation:
    """The headers, query string and body of a request for a verb, read on a thread."""

    def __init__(
        self,
        headers: Headers,
        operation: ApiOperation,
        query: list[tuple[str, str]],
        given: list[tuple[str, str]],
        body: bytes,
    ) -> None:
        self.operation, self._headers = operation, headers
        self._query, self._given, self._body = query, given, body
        self._tree: dict[str, Any] = {}

    @property
    def media(self) -> str:
        return SELECTED if self._tree else JSON

    def call(self) -> ApiCall:
        """Return the call. Raises InputError and HttpError for what cannot be read."""
        operation, headers = self.operation, self._headers
        fields, cursor = self._one("fields"), self._one("cursor")
        if cursor is not None and not operation.resource.pages:
            raise _not_taken(operation, "cursor")
        if fields is not None:
            if operation.fields is None:
                raise _not_taken(operation, "fields")
            self._tree = operation.fields.tree(fields)
        reader = operation.reader
        arguments = reader.body(self._body) if self._body else reader.query(self._given)
        if not self._body and not self._given:
            arguments = reader.body(b"")
        return ApiCall(
            operation,
            arguments,
            cursor,
            _idempotency_key(headers, operation),
            _expected(headers, operation),
        )

    def shaped(self, outcome: ApiOutcome) -> Any:
        """Return the answer with the fields that were asked for."""
        if not self._tree:
            return outcome.answer
        return selected(outcome.answer, self._tree, pages=self.operation.pages)

    def _one(self, name: str) -> str | None:
        found = [value for key, value in self._query if key == name]
        if len(found) > 1:
            raise InputError(
                f"{name} is given twice.", next_step="Give it once, with commas.", field=name
            )
        return found[0] if found else None


def _not_taken(operation: ApiOperation, name: str) -> InputError:
    return InputError(
        f"{operation.name} has no argument {name!r}.", next_step="Leave it out.", field=name
    )


def _idempotency_key(headers: Headers, operation: ApiOperation) -> str | None:
    given = headers.getlist("idempotency-key")
    if not given or not operation.resource.verb.writes:
        return None  # a verb that reads can be called again as it is
    if not operation.resource.key:
        raise InputError(
            f"{operation.name} keeps no answers under keys.",
            next_step="Leave Idempotency-Key out.",
            field="Idempotency-Key",
        )
    if len(given) > 1 or not _KEY.fullmatch(given[0]):
        raise InputError(
            "The Idempotency-Key is not one key of up to 200 visible ASCII characters.",
            next_step="Give a new random key, such as a UUID.",
            field="Idempotency-Key",
        )
    return given[0]


def _expected(headers: Headers, operation: ApiOperation) -> int | None:
    given = headers.get("if-match")
    if given is None:
        return None
    if not operation.resource.expect:
        raise InputError(
            f"{operation.name} compares no revision.",
            next_step="Leave If-Match out.",
            field="If-Match",
        )
    return expected_number(given)


def _check_bearer(authorization: str | None) -> None:
    """Refuse passwords: a program has a token, which can be limited, replaced and taken away."""
    if authorization is not None and authorization.partition(" ")[0].lower() != "bearer":
        raise HttpError(
            "The API takes bearer tokens.",
            http=401,
            next_step="Send a token of `doxa users token` as Authorization: Bearer.",
            status=UNAUTHORIZED,
            headers={"WWW-Authenticate": 'Bearer realm="doxa"'},
        )


def _check_method(request: Request, methods: tuple[str, ...]) -> None:
    if request.method not in methods:
        allowed = ", ".join(methods)
        raise HttpError(
            f"{request.url.path[:80]} does not support {request.method[:20]}.",
            http=405,
            next_step=f"Use {allowed}.",
            headers={"Allow": allowed},
        )


def _preferences(headers: Headers) -> list[str]:
    return [
        part.partition(";")[0].strip().lower()
        for one in headers.getlist("prefer")
        for part in one.split(",")
    ]


def accepted(headers: Mapping[str, str], operation: ApiOperation) -> str:
    """Return the content type that the client prefers of those that an operation has. Raises
    HttpError if there is none."""
    has = [JSON, SELECTED, MEDIA]
    if operation.schema is None:
        has = [openapi.LINES]
    elif operation.resource.answer == "events":
        has.append(EVENTS)
    for part in headers.get("accept", "*/*").split(","):
        kind = part.partition(";")[0].strip().lower()
        if kind in ("", "*/*", "application/*"):
            return has[0]
        if kind == "text/*" and EVENTS in has:
            return EVENTS
        if kind in has:
            return kind
    raise HttpError(
        "None of the accepted content types is supported.",
        http=406,
        next_step=f"Send Accept: {has[0]}.",
    )


def _sent(status: int, media: str, data: bytes, **headers: str) -> Response:
    if len(data) <= _WHOLE_BYTES:
        return Response(data, status_code=status, media_type=media, headers=HEADERS | headers)
    chunks = [data[at : at + _WHOLE_BYTES] for at in range(0, len(data), _WHOLE_BYTES)]
    response = Chunked(ResponseData(status, media, chunks))
    response.headers.update(headers)
    return response


_WHOLE_BYTES = 262_144

__all__ = ["ApiOptions", "VerbApi"]
