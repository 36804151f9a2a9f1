"""Users and tokens that may log in to a server, in a private file with hashed passwords and tokens.

    {"format": 1,
     "users":  [{"name", "role", "salt", "hash", "n", "r", "p"[, "projects"][, "databases"]}],
                hash = scrypt(password, salt, n, r, p), hexadecimal
     "tokens": [{"name", "role", "label", "hash"[, "projects"][, "databases"][, "expires"]}]}
                hash = SHA-256(token): a token is 256 random bits; expires: Unix seconds

Only its owner can read the file (mode 600), and it is replaced as a whole. Servers reload it when
it changes. An unknown name takes as long as a wrong password. `LoginThrottle` limits guessing in
all servers.

Source: RFC 7914 (scrypt), with the parameters of OWASP's password storage cheat sheet.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import math
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from doxa.base.errors import ConflictError, InputError, LimitError, NotFoundError, StoreError
from doxa.base.ids import Role
from doxa.base.limits import (
    LOGIN_ATTEMPTS_MAX,
    LOGIN_NAME_CHARS_MAX,
    LOGIN_PAUSE_MS,
    LOGIN_SECRET_BYTES_MAX,
    LOGIN_SECRET_CHARS_MIN,
    LOGIN_USERS_ITEMS_MAX,
    LOGIN_WAIT_MS,
)
from doxa.belief.kref import check_name
from doxa.servers.databases.names import check_database_name

LOGIN_ROLES: tuple[Role, ...] = ("agent", "operator")
ANONYMOUS = "anonymous"  # the principal if no login is required
TOKEN_PREFIX = "doxa-"  # noqa: S105 - identifies tokens to secret scanners; not a secret

_FORMAT = 1
_FORMAT_BOUND = 2  # with logins that are bound: a version that would not heed it refuses the file
_FORMAT_EXPIRING = 3  # with tokens that expire
_FORMATS = (_FORMAT, _FORMAT_BOUND, _FORMAT_EXPIRING)
_MODE = 0o600
_DAYS_MAX, _GRACE_S_MAX = 3_650, 604_800
_SCRYPT = {"n": 2**15, "r": 8, "p": 1}  # 32 MiB and about 60 ms per attempt
_SCRYPT_MEMORY_BYTES = 64 * 1024**2
PARALLEL_LOGINS = 2  # limits the memory and processor time of hashing
_GONE_S = 0.25  # between two looks whether a login that waits is still wanted
_ADMIT_S = 0.01  # between two looks whether an attempt is allowed
_LOST_S = 30.0  # after which an attempt has no end, such as that of a killed process


class Principal(NamedTuple):
    """An authenticated user: the name for the log, the role for authorisation, and the projects and
    databases that it is bound to; none: all."""

    name: str
    role: Role
    projects: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()

    def may_use(self, database: str) -> bool:
        return not self.databases or database in self.databases


class LoginEntry(NamedTuple):
    """A login as `users` lists it; `how` is `password`, or `token` with its label. `expires` is in
    Unix seconds; None: it does not."""

    name: str
    role: Role
    how: str
    projects: tuple[str, ...]
    databases: tuple[str, ...]
    expires: int | None = None


class Authenticator(Protocol):
    """Verifies logins. Both methods return None for a wrong name, password or token."""

    def verify(self, name: str, password: str) -> Principal | None: ...

    def verify_token(self, token: str) -> Principal | None: ...


class Credentials:
    """The users and tokens of one file, which need not exist yet. Thread-safe."""

    def __init__(
        self, path: str | os.PathLike[str], *, now: Callable[[], float] = time.time
    ) -> None:
        self.path, self._now = Path(path), now
        self._lock = threading.Lock()
        self._read_at: tuple[int, ...] | None = None
        self._held: dict[str, Any] = _empty()

    # Logging in

    def verify(self, name: str, password: str) -> Principal | None:
        """Return the user if the password is correct. An unknown name takes the same time."""
        user = next((user for user in self._read()["users"] if user["name"] == name), None)
        found = _hashed(
            password, bytes.fromhex(user["salt"]) if user else b"nobody's salt...", user or _SCRYPT
        )
        right = hmac.compare_digest(
            found, bytes.fromhex(user["hash"]) if user else bytes(len(found))
        )
        return _principal(user) if user and right else None

    def verify_token(self, token: str) -> Principal | None:
        """Return the owner of a token. Every token is compared, so that timing reveals nothing."""
        digest = hashlib.sha256(token.encode(errors="replace")[:LOGIN_SECRET_BYTES_MAX]).hexdigest()
        right = [
            entry for entry in self._read()["tokens"] if hmac.compare_digest(entry["hash"], digest)
        ]
        return _principal(right[0]) if right and self._is_good(right[0]) else None

    def knows(self, principal: Principal) -> bool:
        """Return whether somebody may still log in with this name and exactly these rights."""
        return any(
            _principal(entry) == principal and self._is_good(entry)
            for entry in _entries(self._read())
        )

    def _is_good(self, entry: Mapping[str, Any]) -> bool:
        return "expires" not in entry or self._now() < entry["expires"]

    # Managing users

    def add(
        self,
        name: str,
        password: str,
        *,
        role: Role = "agent",
        projects: Sequence[str] = (),
        databases: Sequence[str] = (),
    ) -> Principal:
        """Add a user, bound to these projects and databases if any are named. Raises InputError for
        an invalid name, password or role, ConflictError if the name is taken."""
        _check_name(name, role)
        limits = _limits(projects, databases)
        if (
            len(password) < LOGIN_SECRET_CHARS_MIN
            or len(password.encode(errors="replace")) > LOGIN_SECRET_BYTES_MAX
        ):
            raise InputError(
                f"A password must have at least {LOGIN_SECRET_CHARS_MIN} characters and at most"
                f" {LOGIN_SECRET_BYTES_MAX:,} bytes.",
                next_step="Choose another password.",
                field="password",
            )
        salt = secrets.token_bytes(16)
        entry = {
            "name": name,
            "role": role,
            "salt": salt.hex(),
            "hash": _hashed(password, salt, _SCRYPT).hex(),
            **_SCRYPT,
            **limits,
        }
        with self._changing() as held:
            if any(user["name"] == name for user in held["users"]):
                raise ConflictError(
                    f"The user {name!r} already exists.",
                    next_step="Choose another name.",
                    name=name,
                )
            held["users"].append(entry)
        return _principal(entry)

    def add_token(
        self,
        name: str,
        *,
        role: Role = "agent",
        label: str = "",
        projects: Sequence[str] = (),
        databases: Sequence[str] = (),
        days: float | None = None,
    ) -> str:
        """Create and return a token. Only its hash is stored. `label` identifies it in `users`,
        `rotate` and `remove`. It expires after so many days; None: it does not."""
        _check_name(name, role)
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        entry = {
            "name": name,
            "role": role,
            "label": label[:LOGIN_NAME_CHARS_MAX],
            "hash": hashlib.sha256(token.encode()).hexdigest(),
            **_limits(projects, databases),
            **self._expiry(days),
        }
        with self._changing() as held:
            held["tokens"].append(entry)
        return token

    def rotate(
        self, name: str, *, label: str = "", grace_s: float = 0, days: float | None = None
    ) -> str:
        """Create a token in place of those with a label, with the rights of the newest of them, and
        return it. The former ones are good for `grace_s` seconds more, so that what uses them can
        be given the new one first. Raises NotFoundError if there is none."""
        if not 0 <= grace_s <= _GRACE_S_MAX:
            raise InputError(
                f"The former token is kept for 0 to {_GRACE_S_MAX:,} seconds, not {grace_s:g}.",
                next_step="Give the time that its users need.",
                field="grace_s",
            )
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        made = {"hash": hashlib.sha256(token.encode()).hexdigest(), **self._expiry(days)}
        with self._changing() as held:
            former = [
                one for one in held["tokens"] if one["name"] == name and one["label"] == label
            ]
            if not former:
                raise _no_token(name, label)
            end = math.ceil(self._now() + grace_s)
            rights = {key: one for key, one in former[-1].items() if key != "expires"}
            kept = [
                one | {"expires": min(end, one.get("expires", end))} if one in former else one
                for one in held["tokens"]
            ]
            held["tokens"] = [one for one in kept if grace_s or one["hash"] not in _hashes(former)]
            held["tokens"].append(rights | made)
        return token

    def _expiry(self, days: float | None) -> dict[str, int]:
        if days is None:
            return {}
        if not 0 < days <= _DAYS_MAX:
            raise InputError(
                f"A token expires after more than 0 and at most {_DAYS_MAX:,} days, not {days:g}.",
                next_step="Leave it out for a token that does not expire.",
                field="days",
            )
        return {"expires": math.ceil(self._now() + days * 86_400)}

    def remove(self, name: str, *, label: str | None = None) -> int:
        """Remove a user with all its tokens, or only its tokens with a label. Returns the number of
        entries removed. Raises NotFoundError if there is none."""
        with self._changing() as held:
            before = len(held["users"]) + len(held["tokens"])
            if label is None:
                held["users"] = [user for user in held["users"] if user["name"] != name]
            held["tokens"] = [
                token
                for token in held["tokens"]
                if token["name"] != name or label not in (None, token["label"])
            ]
            gone = before - len(held["users"]) - len(held["tokens"])
            if not gone:
                raise _no_token(name, label)
        return gone

    def users(self) -> list[tuple[str, Role, str]]:
        """List name, role and login method (`password`, or `token` with its label)."""
        return [entry[:3] for entry in self.logins()]

    def logins(self) -> list[LoginEntry]:
        """List every login with what it is bound to."""
        held = self._read()
        named = [(user, "password") for user in held["users"]] + [
            (token, f"token {token['label']}".strip()) for token in held["tokens"]
        ]
        return [
            LoginEntry(*_principal(one)[:2], how, *_principal(one)[2:], one.get("expires"))
            for one, how in named
        ]

    # The file

    def _read(self) -> dict[str, Any]:
        with self._lock:
            try:
                seen = self.path.stat()
            except FileNotFoundError:
                return _empty()
            # ctime and mode: a chmod changes no content, and may let others read it
            stamp = (seen.st_mtime_ns, seen.st_ino, seen.st_ctime_ns, seen.st_mode)
            if stamp != self._read_at:
                if seen.st_mode & 0o077:
                    raise StoreError(
                        f"{self.path} contains password hashes and is readable by other users.",
                        next_step="Set its mode to 600.",
                        path=str(self.path),
                    )
                self._held, self._read_at = self._parsed(), stamp
            return self._held

    def _parsed(self) -> dict[str, Any]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            held = json.loads(self.path.read_text())
            if (
                held["format"] in _FORMATS
                and all(type(one) is dict for one in _entries(held))
                and all(map(_sound_user, held["users"]))
                and all(map(_sound_token, held["tokens"]))
            ):
                return dict(held)
        raise StoreError(
            f"{self.path} is not a valid users file.",
            next_step="Give the path of another file, which need not exist yet.",
            path=str(self.path),
        )

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """Yield the content of the file for changes, then replace the file. Changes by several
        processes are serialised by a lock file."""
        guard = os.open(
            self.path.with_name(self.path.name + ".lock"), os.O_CREAT | os.O_RDWR, _MODE
        )
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            before = self._read()
            held: dict[str, Any] = {
                "format": _FORMAT,
                "users": list(before["users"]),
                "tokens": list(before["tokens"]),
            }
            yield held
            if max(len(held["users"]), len(held["tokens"])) > LOGIN_USERS_ITEMS_MAX:
                raise LimitError(
                    f"{self.path} can contain at most {LOGIN_USERS_ITEMS_MAX:,} users.",
                    next_step="Share one login between programs that act together.",
                    items_max=LOGIN_USERS_ITEMS_MAX,
                )
            if any("projects" in one or "databases" in one for one in _entries(held)):
                held["format"] = _FORMAT_BOUND
            if any("expires" in one for one in _entries(held)):
                held["format"] = _FORMAT_EXPIRING
            part = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.part")
            with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE), "w") as file:
                json.dump(held, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
        finally:
            os.close(guard)


Admission = Literal["verify", "wait", "refuse"]  # what is to be done with an attempt


class FailedLogins:
    """Wrong passwords in a row, by name, as long as they block the name, and the attempts that are
    verified now. An attempt counts from its beginning, so that those at the same time are no more
    guesses than those one after the other. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wrong: dict[str, tuple[int, float]] = {}
        self._open: dict[str, list[float]] = {}  # when each began

    def blocked(self, name: str) -> bool:
        """Return whether a name is blocked now."""
        with self._lock:
            return self._blocked(name)

    def admit(self, name: str) -> Admission:
        """Begin an attempt. "wait": those that are verified now may be the last ones allowed."""
        now = time.monotonic()
        with self._lock:
            if self._blocked(name):
                return "refuse"
            running = [one for one in self._open.get(name, ()) if now - one < _LOST_S]
            count, _ = self._wrong.get(name, (0, 0.0))
            allowed = max(1, LOGIN_ATTEMPTS_MAX - count)
            if len(running) < allowed:
                self._open[name] = [*running, now]
                return "verify"
            return "wait"

    def note(self, name: str, right: bool | None) -> None:
        """End an attempt: count a wrong password, or forget those before a right one. None: it was
        not verified."""
        with self._lock:
            # not the oldest: one that was lost must not get younger by those that end
            running = self._open.pop(name, [])[:-1]
            if running:
                self._open[name] = running
            if right is None:
                return
            count, _ = self._wrong.pop(name, (0, 0.0))
            if right:
                return
            if len(self._wrong) >= LOGIN_USERS_ITEMS_MAX:
                self._wrong.pop(next(iter(self._wrong)))
            self._wrong[name] = (count + 1, time.monotonic() + LOGIN_PAUSE_MS / 1000)

    def _blocked(self, name: str) -> bool:
        count, until = self._wrong.get(name, (0, 0.0))
        return count >= LOGIN_ATTEMPTS_MAX and time.monotonic() < until


class FailureCounts(Protocol):
    """Where wrong passwords are counted: `FailedLogins`, or that of another process."""

    def blocked(self, name: str) -> bool: ...

    def admit(self, name: str) -> Admission: ...

    def note(self, name: str, right: bool | None) -> None: ...


class LoginSlots:
    """A few places to verify passwords in. Who asked last is given one first: of many that come
    together all wait as long in total, and who comes after a flood does not wait until it has gone
    by. Thread-safe."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._free = count
        self._waiting: list[threading.Event] = []

    def take(self, seconds: float, gone: Callable[[], bool]) -> bool:
        """Wait for a place, and return whether there is one. It ends soon after `gone` is true."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        end = time.monotonic() + seconds
        while not mine.wait(min(_GONE_S, max(0.0, end - time.monotonic()))):
            if gone() or time.monotonic() >= end:
                with self._lock:
                    if mine.is_set():
                        break
                    self._waiting.remove(mine)
                    return False
        return True

    def give_back(self) -> None:
        """Leave a place to who waits for one."""
        with self._lock:
            if self._waiting:
                self._waiting.pop().set()
            else:
                self._free += 1


class LoginThrottle:
    """An authenticator that limits guessing: a name is blocked for a while after several wrong
    passwords in a row, and only a few hashes are computed at a time."""

    def __init__(
        self,
        inner: Authenticator,
        failures: FailureCounts | None = None,
        *,
        parallel: int = PARALLEL_LOGINS,
    ) -> None:
        self._inner = inner
        self._slots = LoginSlots(parallel)
        self._failures = failures or FailedLogins()

    def verify(
        self, name: str, password: str, *, gone: Callable[[], bool] = lambda: False
    ) -> Principal | None:
        """Verify a password with the inner authenticator. Raises LimitError while the name is
        blocked, and if too many others are verified before it. `gone`: whether nobody waits for the
        answer any longer; then it is None, and nothing is hashed."""
        if (
            len(name) > LOGIN_NAME_CHARS_MAX
            or len(password.encode(errors="replace")) > LOGIN_SECRET_BYTES_MAX
        ):
            return None
        if self._failures.blocked(name):  # it takes no slot then
            raise _too_many_wrong()
        if not self._slots.take(LOGIN_WAIT_MS / 1000, gone):
            if gone():
                return None
            raise LimitError(
                "Too many logins are verified at the moment.",
                next_step="Retry in a few seconds, with fewer logins at a time.",
                wait_ms=LOGIN_WAIT_MS,
            )
        try:
            return None if gone() else self._verified(name, password)
        finally:
            self._slots.give_back()

    def _verified(self, name: str, password: str) -> Principal | None:
        self._begin(name)
        right: bool | None = None
        try:
            found = self._inner.verify(name, password)
            right = found is not None
        finally:
            self._failures.note(name, right)
        return found

    def _begin(self, name: str) -> None:
        """Wait until an attempt counts among those that are allowed."""
        end = time.monotonic() + LOGIN_PAUSE_MS / 1000
        while (admission := self._failures.admit(name)) != "verify":
            if admission == "refuse" or time.monotonic() > end:
                raise _too_many_wrong()
            time.sleep(_ADMIT_S)

    def verify_token(self, token: str) -> Principal | None:
        return self._inner.verify_token(token)

    def knows(self, principal: Principal) -> bool:
        """Ask the inner authenticator; one that cannot say trusts what it verified."""
        knows: Callable[[Principal], bool] | None = getattr(self._inner, "knows", None)
        return knows is None or knows(principal)


def _too_many_wrong() -> LimitError:
    return LimitError(
        "There were too many attempts with a wrong password.",
        next_step=f"Wait {LOGIN_PAUSE_MS / 1000:.0f} seconds, then retry.",
        attempts_max=LOGIN_ATTEMPTS_MAX,
    )


def throttled(authenticator: Authenticator | None) -> LoginThrottle | None:
    """Wrap an authenticator in a LoginThrottle unless it is one. Servers that share a throttle
    count wrong passwords together. None, which means no login, stays None."""
    return (
        authenticator
        if authenticator is None or isinstance(authenticator, LoginThrottle)
        else LoginThrottle(authenticator)
    )


def _principal(entry: Mapping[str, Any]) -> Principal:
    return Principal(
        entry["name"],
        entry["role"],
        tuple(entry.get("projects", ())),
        tuple(entry.get("databases", ())),
    )


def _limits(projects: Sequence[str], databases: Sequence[str]) -> dict[str, list[str]]:
    """Return what an entry says of the projects and databases that it is bound to."""
    projects = [check_name(name, what="project") for name in projects]
    for name in databases:
        check_database_name(name)
    given = {"projects": list(projects), "databases": [name.lower() for name in databases]}
    return {name: value for name, value in given.items() if value}


def _entries(held: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*held["users"], *held["tokens"]]


def _empty() -> dict[str, Any]:
    return {"format": _FORMAT, "users": [], "tokens": []}


def _sound_user(entry: Any) -> bool:
    costs = all(type(entry[name]) is int for name in _SCRYPT)
    return (
        costs
        and _sound_limits(entry)
        and entry["role"] in LOGIN_ROLES
        and type(entry["name"]) is str
        and len(bytes.fromhex(entry["hash"])) == 32
        and len(bytes.fromhex(entry["salt"])) > 0
    )


def _sound_token(entry: Any) -> bool:
    return (
        type(entry.get("expires", 0)) is int
        and entry["role"] in LOGIN_ROLES
        and _sound_limits(entry)
        and type(entry["name"]) is type(entry["label"]) is str
        and len(bytes.fromhex(entry["hash"])) == 32
    )


def _sound_limits(entry: Any) -> bool:
    return all(
        name not in entry
        or (type(entry[name]) is list and entry[name] and all(type(x) is str for x in entry[name]))
        for name in ("projects", "databases")
    )


def _hashes(tokens: Sequence[Mapping[str, Any]]) -> set[str]:
    return {one["hash"] for one in tokens}


def _no_token(name: str, label: str | None) -> NotFoundError:
    return NotFoundError(
        f"Unknown user {name!r}." if label is None else f"Unknown token {label!r} of {name!r}.",
        next_step="List the users to see their names.",
        name=name,
    )


def _hashed(password: str, salt: bytes, cost: Any) -> bytes:
    data = password.encode(errors="surrogatepass")
    return hashlib.scrypt(
        data,
        salt=salt,
        n=cost["n"],
        r=cost["r"],
        p=cost["p"],
        maxmem=_SCRYPT_MEMORY_BYTES,
        dklen=32,
    )


def _check_name(name: str, role: str) -> None:
    if (
        not name
        or len(name) > LOGIN_NAME_CHARS_MAX
        or not name.isprintable()
        or name != name.strip()
    ):
        raise InputError(
            f"{name[:80]!r} is not a valid user name.",
            next_step=(
                f"Use up to {LOGIN_NAME_CHARS_MAX} printable characters without spaces around them."
            ),
            field="name",
        )
    if role not in LOGIN_ROLES:
        raise InputError(
            f"{role!r} is not a role that can log in.",
            next_step=f"Use {' or '.join(LOGIN_ROLES)}.",
            field="role",
        )
