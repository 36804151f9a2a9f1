"""Browser sessions and tokens: links that work once, cookies that no other page can use, tokens
that expire and are replaced while the server runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.base.errors import InputError, NotFoundError
from doxa.base.limits import API_BROWSER_SESSION_S, API_LINK_MS
from doxa.servers.credentials import Credentials, LoginThrottle, Principal
from doxa.servers.http.api.browser import BrowserSessions, cookie_header
from doxa.servers.http.errors import HttpError
from tests.http.api_fixtures import DB, ApiClient, Served, served

GET_DB = f"/v1/get?kref={DB}"
ANA = Principal("ana", "agent")


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


class Browser(ApiClient):
    """A client that keeps the cookie it is given, and sends what a browser sends for a page of the
    server itself."""

    def enter(self, path: str) -> dict[str, str]:
        found = self.get(path, Sec_Fetch_Site="none")
        assert found.status == 303, found.json
        self.kept["Cookie"] = found.headers["set-cookie"].partition(";")[0]
        self.kept["Sec-Fetch-Site"] = "same-origin"
        return found.headers

    @property
    def own(self) -> dict[str, str]:
        return {"Origin": f"http://127.0.0.1:{self.line.port}"}


@pytest.fixture
def browser(api: Served) -> Iterator[Browser]:
    with Browser(api.server.port) as found:
        yield found


def link_of(api: Served, role: str = "agent") -> str:
    with api.client(role) as client:
        made = client.ask("POST", "/v1/session/links")
        assert made.status == 201 and made.json["seconds"] == API_LINK_MS // 1000
        path: str = made.json["path"]
        return path


# Sessions


def test_a_link_opens_a_session_with_the_rights_of_its_login(api: Served, browser: Browser) -> None:
    headers = browser.enter(link_of(api, "bound"))
    assert headers["location"] == "/ui/" and headers["referrer-policy"] == "no-referrer"
    cookie = headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={API_BROWSER_SESSION_S}"):
        assert part in cookie.split("; ")
    assert cookie.startswith(f"doxa-session-{api.server.port}=")
    who = browser.get("/v1/session").json
    assert who == {
        "name": "bo",
        "role": "agent",
        "projects": ["p"],
        "databases": ["doxa"],
        "project": "p",
        "how": "cookie",
    }
    assert browser.get("/db/doxa/v1/session").json == who
    assert browser.get("/db/none/v1/session").status == 404
    assert browser.get(GET_DB).status == 200
    assert browser.get("/v1/get?kref=kref://other/plan.fact").status == 404
    assert browser.post("/v1/remember", {"text": "Tea is hot"}, **browser.own).status == 200


def test_a_link_works_once(api: Served, browser: Browser) -> None:
    path = link_of(api)
    browser.enter(path)
    with Browser(api.server.port) as second:
        for wrong in (path, "/v1/session/open?code=guess", "/v1/session/open"):
            assert second.get(wrong).status == 401


def test_the_server_itself_makes_links(api: Served, browser: Browser) -> None:
    uri = api.server.session_link(Principal("me", "operator"))
    assert uri.startswith(f"http://127.0.0.1:{api.server.port}/v1/session/open?code=")
    browser.enter(uri.removeprefix(f"http://127.0.0.1:{api.server.port}"))
    assert browser.get("/v1/session").json["role"] == "operator"


def test_a_page_elsewhere_cannot_use_the_cookie(api: Served, browser: Browser) -> None:
    browser.enter(link_of(api, "operator"))
    body = {"text": "Written by another page"}
    port = api.server.port
    for headers in (
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},  # SameSite lets it pass
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"},
        {},  # every browser names the origin of a POST
        {"Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site"},
    ):
        kept = {**headers, "Cookie": browser.kept["Cookie"]}
        with ApiClient(port) as page:
            assert page.ask("POST", "/v1/remember", body, kept).status == 403, headers
    with ApiClient(port) as page:  # a picture or script of another page
        kept = {"Cookie": browser.kept["Cookie"], "Sec-Fetch-Site": "same-site"}
        assert page.ask("GET", GET_DB, None, kept).status == 403
    found = api.memory.recall("Written by another page").hits
    assert body["text"] not in [one.text for one in found]


def test_a_session_ends(api: Served, browser: Browser) -> None:
    browser.enter(link_of(api))
    over = browser.ask("DELETE", "/v1/session", None, browser.own)
    assert over.status == 204 and "Max-Age=0" in over.headers["set-cookie"]
    assert browser.get(GET_DB).status == 401


def test_a_session_ends_with_its_login(api: Served, browser: Browser) -> None:
    browser.enter(link_of(api, "agent"))
    assert browser.get(GET_DB).status == 200
    api.users.remove("kai")
    assert browser.get(GET_DB).status == 401


def test_a_session_makes_no_other_session(api: Served, browser: Browser) -> None:
    browser.enter(link_of(api))
    assert browser.ask("POST", "/v1/session/links", None, browser.own).status == 403


def test_links_and_sessions_grow_old() -> None:
    now = [0.0]
    sessions = BrowserSessions(None, lambda: now[0])
    late = sessions.link(ANA, checked=False)
    cookie = sessions.open(sessions.link(ANA, checked=False))
    now[0] = API_LINK_MS / 1000 + 1
    with pytest.raises(HttpError, match="too old"):
        sessions.open(late)
    assert sessions.principal(cookie) == ANA
    now[0] += API_BROWSER_SESSION_S
    with pytest.raises(HttpError, match="over"):
        sessions.principal(cookie)


def test_only_hashes_of_secrets_are_held() -> None:
    sessions = BrowserSessions(None)
    code = sessions.link(ANA, checked=False)
    cookie = sessions.open(code)
    held = repr(vars(sessions))
    assert code not in held and cookie not in held


def test_a_cookie_over_tls_is_for_tls_alone() -> None:
    assert "Secure" in cookie_header("a", "b", secure=True).split("; ")
    assert "Secure" not in cookie_header("a", "b", secure=False)


# Tokens


def test_a_token_is_replaced_while_the_server_runs(api: Served) -> None:
    with api.client("bound") as old:
        assert old.get(GET_DB).status == 200
        fresh = api.users.rotate("bo")
        assert old.get(GET_DB).status == 401
        with ApiClient(api.server.port, fresh) as new:
            assert new.get("/v1/session").json["projects"] == ["p"]


def test_a_token_that_is_replaced_may_stay_good_for_a_while(tmp_path: Path) -> None:
    now = [1_000.0]
    users = Credentials(tmp_path / "users.json", now=lambda: now[0])
    first = users.add_token("ana", role="operator", label="ci", projects=["p"])
    other = users.add_token("ana", label="laptop")
    second = users.rotate("ana", label="ci", grace_s=60)
    assert users.verify_token(first) == users.verify_token(second)
    assert users.verify_token(second) == Principal("ana", "operator", ("p",))
    now[0] = 1_060.0
    assert users.verify_token(first) is None
    assert users.verify_token(second) is not None and users.verify_token(other) is not None
    with pytest.raises(NotFoundError):
        users.rotate("ana", label="nothing")
    with pytest.raises(InputError):
        users.rotate("ana", label="ci", grace_s=-1)


def test_a_token_expires(tmp_path: Path) -> None:
    now = [0.0]
    users = Credentials(tmp_path / "users.json", now=lambda: now[0])
    token = users.add_token("ana", days=2)
    ana = users.verify_token(token)
    assert ana is not None and users.knows(ana)
    assert users.logins()[0].expires == 2 * 86_400
    now[0] = 2 * 86_400.0
    assert users.verify_token(token) is None and not users.knows(ana)
    assert LoginThrottle(users).knows(ana) is False
    for days in (0, -1, 1e9):
        with pytest.raises(InputError):
            users.add_token("ana", days=days)


def test_a_file_with_tokens_that_expire_says_so(tmp_path: Path) -> None:
    """A version that would not heed the expiry refuses the file."""
    users = Credentials(tmp_path / "users.json")
    users.add_token("ana")
    assert '"format": 1' in users.path.read_text()
    users.add_token("ana", days=1)
    assert '"format": 3' in users.path.read_text()


def test_a_token_is_replaced_from_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from doxa.cli import app

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, ["users", *words, "--users", str(tmp_path / "users.json")])

    first = run("token", "ci", "--label", "build", "--days", "30").output.strip()
    second = run("token", "ci", "--label", "build", "--rotate", "--grace", "5").output.strip()
    users = Credentials(tmp_path / "users.json")
    assert first != second
    assert users.verify_token(first) == users.verify_token(second) == Principal("ci", "agent")
    assert "until 20" in run("list").output
    refused = run("token", "ci", "--label", "build", "--rotate", "--role", "operator")
    assert refused.exit_code == 2
