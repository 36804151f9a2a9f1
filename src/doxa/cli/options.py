"""The options of `doxa cypher`, checked and converted for a session. Each wrong option is
an InputError that names it."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import msgspec

from doxa.app.checks import checked_path
from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.base.limits import QUERY_TIMEOUT_MS
from doxa.cli.cypher_results import FORMATS

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_TIMEOUT_S_MAX = 366 * 86_400


def check_form(form: str, *, as_json: bool) -> None:
    if form not in FORMATS:
        raise InputError(
            f"{form[:40]!r} is not a format.",
            next_step=f"Use one of {', '.join(FORMATS)}.",
            field="format",
        )
    if as_json and form not in ("table", "json"):
        raise InputError(
            f"--json and --format {form} are two formats.",
            next_step="Give one of them.",
            field="format",
        )


def script_of(query: str | None, file: Path | None) -> str | None:
    """Return the statements as text; None if none was given and standard input is a terminal."""
    if query is not None and file is not None:
        raise InputError(
            "A query and --file were both given.", next_step="Give one of them.", field="file"
        )
    if file is not None:
        return _text_of(checked_path(file, "file"))
    if query is not None and query != "-":
        return query
    if query is None and sys.stdin.isatty() and sys.stdout.isatty():
        return None
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise _undecoded("Standard input", error) from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _undecoded(str(path), error) from None


def _undecoded(what: str, error: UnicodeDecodeError) -> InputError:
    return InputError(
        f"{what} is not UTF-8 text at byte {error.start}.",
        next_step="Save it as UTF-8.",
        field="query",
        position=error.start,
    )


def parameters_of(given: list[str], file: Path | None) -> dict[str, Any]:
    """Read the parameters of a file, overridden by those of the command line."""
    found: dict[str, Any] = {}
    if file is not None:
        path = checked_path(file, "params")
        found = _decoded(
            path.read_bytes(),
            what=str(path),
            step='Give a file with one JSON object, such as {"name": 1}.',
        )
        if not isinstance(found, dict):
            raise InputError(
                f"{path} holds no JSON object.",
                next_step='Give a file such as {"name": 1}.',
                field="params",
            )
    for item in given:
        name, equal, text = item.partition("=")
        if not equal or not name:
            raise InputError(
                f"A parameter is name=value; this is {item[:80]!r}.",
                next_step="Give --param 'name=1'.",
                field="param",
            )
        found[name.removeprefix("$")] = json_value(text, name=name)
    return found


def json_value(text: str, *, name: str) -> Any:
    """Parse the value of one parameter."""
    step = f"Give a JSON value; text needs double quotes: --param '{name[:40]}=\"text\"'."
    return _decoded(
        text.encode(errors="surrogatepass"), what=f"The value of {name[:40]!r}", step=step
    )


def _decoded(data: bytes, *, what: str, step: str) -> Any:
    try:
        return _fitting(msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf")), what=what)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "it nests too deep" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{what} is not JSON: {reason}.", next_step=step, field="params") from None


def _fitting(value: Any, *, what: str) -> Any:
    """The value itself, if all whole numbers in it have 64 bits."""
    if isinstance(value, dict):
        for item in value.values():
            _fitting(item, what=what)
    elif isinstance(value, list):
        for item in value:
            _fitting(item, what=what)
    elif isinstance(value, int) and not _INT_MIN <= value <= _INT_MAX:
        raise InputError(
            f"{what} holds {value}, which does not fit in 64 bits.",
            next_step="Give it as a float or as text.",
            field="params",
        )
    return value


def moment(text: str | None, option: str) -> int | None:
    return None if text is None else parse_time(text, field=option)


def milliseconds(seconds: float | None) -> int:
    """Convert a timeout to milliseconds; None is the default."""
    if seconds is None:
        return QUERY_TIMEOUT_MS
    if not (math.isfinite(seconds) and 0 < seconds <= _TIMEOUT_S_MAX):
        raise InputError(
            f"--timeout is a number of seconds above 0; this is {seconds}.",
            next_step="Give such as 30 or 0.5.",
            field="timeout",
        )
    return max(1, int(seconds * 1000))


def check_folder(folder: Path | None) -> Path | None:
    if folder is None:
        return None
    found = checked_path(folder, "csv")
    if not found.is_dir():
        raise InputError(
            f"{found} is not a folder.",
            next_step="Give the folder that LOAD CSV may read.",
            field="csv",
        )
    return found


def refuse_writing(plan: Any) -> None:
    from doxa.cypher.errors import QueryError

    if plan.writes:
        raise QueryError(
            "This statement writes, and --read lets none through.",
            kind="TransactionError",
            detail="AccessMode",
            next_step="Give one that only reads, or leave --read out.",
        )
