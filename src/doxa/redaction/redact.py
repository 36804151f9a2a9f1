"""Takes credentials out of text before anything is stored: a memory that keeps a key hands it to
every later reader.

    "key AKIA................ works"  ->  "key [redacted:aws-access-key] works",
    Finding(kind="aws-access-key", start=4, end=24)

Secrets are always taken out; personal data only when asked for. A finding has kind and span in the
given text, never the secret.

Every rule has hints, plain substrings of the lower-cased text, so that ordinary text never meets a
regular expression. Every expression starts at a literal and is bounded or runs over one character
class that its look-behind also excludes: no input makes it quadratic. Rules prefer a miss to a
false alarm where a secret has no form of its own: commit hashes, uuids and prose stay as they are.
Not covered: secrets in prose ("my password is ..."), split over lines, encoded, or in pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address

from doxa.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Finding:
    """What was taken out: its kind, and its span in the text that was given."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redaction:
    text: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """`pattern`'s group `secret`, or its whole match, is taken out when `accept` agrees."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[str], bool] = bool


# What a secret may not touch: without this a part of a longer identifier would pass for one.
_BEFORE = r"(?<![A-Za-z0-9_-])"
_AFTER = r"(?![A-Za-z0-9_-])"
_PLACEHOLDER = re.compile(
    r"\[redacted:|[$<{%]|[*xX.•-]+$|(?i:your|example|changeme|placeholder|process\.env|os\.environ)"
)
_RUN = re.compile(r"[A-Za-z0-9]{16}")


def _mixed(value: str) -> bool:
    """Digits and a long unbroken run: a key, not words joined by hyphens."""
    return (
        sum(map(str.isdigit, value)) >= 2
        and any(map(str.isalpha, value))
        and _RUN.search(value) is not None
    )


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value)) and not _PLACEHOLDER.match(value)


def _not_placeholder(value: str) -> bool:
    return not _PLACEHOLDER.match(value)


def _token(kind: str, hint: str, *, body: str, accept: Callable[[str], bool] = bool) -> _Rule:
    return _Rule(
        kind, (hint.lower(),), re.compile(_BEFORE + re.escape(hint) + body + _AFTER), accept
    )


_ASSIGN = r"""["']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}"""
_QUOTED = r"""(?P<quote>["'])(?P<secret>(?:(?!(?P=quote)|\[redacted:)[^\r\n]){8,400})(?P=quote)"""
_QUOTED_WORD = r"""(?P<quote>["'])(?P<secret>(?:(?!\[redacted:)[^\s"']){8,400})(?P=quote)"""

_SECRETS: tuple[_Rule, ...] = (
    _Rule(
        "aws-access-key",
        ("akia", "asia"),
        re.compile(_BEFORE + r"A(?:KIA|SIA)[A-Z0-9]{16}" + _AFTER),
        _has_digit,
    ),
    _Rule(
        "aws-secret-key",
        ("secret",),
        re.compile(
            r"(?i:secret_?access_?key)"
            + _ASSIGN
            + r"""["']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"""
        ),
    ),
    _Rule(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        re.compile(_BEFORE + r"gh[pousr]_[A-Za-z0-9]{36,255}" + _AFTER),
    ),
    _token("github-token", "github_pat_", body=r"[A-Za-z0-9_]{40,255}"),
    _token("gitlab-token", "glpat-", body=r"[A-Za-z0-9_-]{20,255}"),
    _Rule(
        "slack-token",
        ("xox",),
        re.compile(_BEFORE + r"xox[abeoprs]-[A-Za-z0-9-]{10,255}" + _AFTER),
        _has_digit,
    ),
    _Rule(
        "slack-webhook",
        ("hooks.slack.com",),
        re.compile(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>(?!\[redacted:)[A-Za-z0-9/_-]{20,255})"
        ),
    ),
    _Rule(
        "stripe-key",
        ("k_live_", "k_test_"),
        re.compile(_BEFORE + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}" + _AFTER),
    ),
    _token("api-key", "sk-", body=r"[A-Za-z0-9_-]{20,255}", accept=_mixed),
    _token("google-api-key", "AIza", body=r"[A-Za-z0-9_-]{35}"),
    _token("google-oauth-token", "ya29.", body=r"[A-Za-z0-9_-]{30,1000}"),
    _token("npm-token", "npm_", body=r"[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-AgE", body=r"[A-Za-z0-9_-]{50,1000}"),
    _token("huggingface-token", "hf_", body=r"[A-Za-z0-9]{30,60}"),
    _Rule(
        "sendgrid-key",
        ("sg.",),
        re.compile(_BEFORE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}" + _AFTER),
    ),
    _Rule(
        "digitalocean-token", ("_v1_",), re.compile(_BEFORE + r"do[opr]_v1_[a-f0-9]{64}" + _AFTER)
    ),
    _Rule(
        "azure-key",
        ("accountkey=",),
        re.compile(r"AccountKey=(?P<secret>[A-Za-z0-9+/]{40,120}={0,2})"),
    ),
    _token("age-key", "AGE-SECRET-KEY-1", body=r"[A-Z0-9]{50,70}"),
    _Rule(
        "telegram-token",
        (":aa",),
        re.compile(_BEFORE + r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}" + _AFTER),
    ),
    _Rule(
        "jwt",
        ("eyj",),
        re.compile(_BEFORE + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ),
    _Rule(
        "bearer-token",
        ("bearer",),
        re.compile(r"(?i:\bbearer)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})"),
        _has_digit,
    ),
    _Rule(
        "basic-auth",
        ("basic",),
        re.compile(
            r"""(?i:\bauthorization)["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?i:basic)[ \t]{1,3}(?P<secret>[A-Za-z0-9+/=]{12,1000})"""
        ),
    ),
    _Rule(
        "url-password",
        ("://",),
        re.compile(
            r"""://[^\s:/@?#"'<>\[\]]{0,100}:(?P<secret>[^\s/"'<>\[\]]{1,200})@(?=[\w\[])"""
        ),
        _not_placeholder,
    ),
    _Rule(
        "password",
        ("passw", "pwd"),
        re.compile(r"(?i:passw(?:or)?d|passwd|passwort|pwd)" + _ASSIGN + _QUOTED),
        _not_placeholder,
    ),
    _Rule(
        "secret",
        ("secret", "token", "key"),
        re.compile(
            r"(?i:secret|token|(?:api|access|private|auth|encryption|signing)[_-]?key|secret[_-]?key)"
            + _ASSIGN
            + _QUOTED_WORD
        ),
        _not_placeholder,
    ),
    _Rule(
        "env-secret",
        ("password=", "secret=", "token=", "api_key=", "secret_key=", "access_key="),
        re.compile(
            r"(?:PASSWORD|SECRET|TOKEN|API_KEY|SECRET_KEY|ACCESS_KEY)=(?P<secret>[^\s\"'`;&|()\[\]]{8,400})"
        ),
        _has_digit,
    ),
)


def _luhn(value: str) -> bool:
    digits = [int(char) for char in value if char.isdigit()]
    if len(digits) not in (14, 15, 16, 19) or len(set(digits)) == 1:
        return False
    doubled = (digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _iban(value: str) -> bool:
    """ISO 13616: the country and check digits moved to the end, letters as 10 to 35, remainder 1
    modulo 97."""
    plain = value.replace(" ", "")
    return (
        15 <= len(plain) <= 34
        and int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1
    )


def _ipv4(value: str) -> bool:
    try:
        IPv4Address(value)
    except AddressValueError:
        return False
    return True


_PERSONAL: tuple[_Rule, ...] = (
    _Rule(
        "email",
        ("@",),
        re.compile(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![A-Za-z0-9-])"
        ),
    ),
    _Rule(
        "card",
        tuple("23456"),
        re.compile(r"(?<![\w.-])[2-6][0-9]{3}(?:[ -]?[0-9]){10,15}(?![\w-])(?!\.[0-9])"),
        _luhn,
    ),
    _Rule(
        "iban",
        tuple("0123456789"),
        re.compile(
            r"(?<!\w)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", re.ASCII
        ),
        _iban,
    ),
    _Rule(
        "ipv4",
        (".",),
        re.compile(
            r"(?<![\w.-])(?<!version )[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w-])(?!\.[0-9])", re.ASCII
        ),
        _ipv4,
    ),
    _Rule(
        "ssn",
        ("-",),
        re.compile(
            r"(?<![\w-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w-])", re.ASCII
        ),
    ),
)

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"[A-Za-z0-9+/=\s\\:,-]*")


def redact(text: str, *, pii: bool = False) -> Redaction:
    """The text with every secret replaced by [redacted:<kind>]; with `pii` also e-mail, card, IBAN,
    IPv4 and US social security numbers.

    Redacting a redacted text changes nothing.
    """
    findings = _merged(_scan(text, pii=pii))
    redacted = _replaced(text, findings)
    # Taking one secret out frees the edge of another that stood right beside it.
    while findings and (freed := _scan(redacted, pii=pii)):
        before = findings
        findings = _merged([*before, *_in_original(freed, before)])
        redacted = _replaced(text, findings)
        if findings == before:
            break
    return Redaction(redacted, findings)


def refuse_secret(name: str, *, field: str) -> str:
    """The name as it is. Names stand in addresses and indexes and outlive an erasure, and nothing
    can be taken out of one without making it another name: so a secret in it is refused. Raises
    InputError with the kind and never the secret."""
    found = _scan(name, pii=False) if isinstance(name, str) else []
    if found:
        kind = found[0].kind
        raise InputError(
            f"{field} holds what looks like a secret ({kind}).",
            next_step=f"Give {field} without it.",
            field=field,
            kind=kind,
        )
    return name


def left_out(kinds: Iterable[str]) -> str:
    """The note for whoever stated something: which kinds of secret are not in what was stored."""
    return " ".join(f"A secret ({kind}) was left out before storing." for kind in kinds)


def _hints(rules: Iterable[_Rule]) -> re.Pattern[str]:
    return re.compile(
        "|".join(
            re.escape(hint)
            for hint in sorted({hint for rule in rules for hint in rule.hints} | {"-----begin"})
        )
    )


_SECRET_HINT, _ANY_HINT = _hints(_SECRETS), _hints(_SECRETS + _PERSONAL)


def _scan(text: str, *, pii: bool) -> list[Finding]:
    lowered = text.lower()
    rules, hints = (_SECRETS + _PERSONAL, _ANY_HINT) if pii else (_SECRETS, _SECRET_HINT)
    if not hints.search(lowered):  # one look for all hints spares most texts the look for each
        return []
    found = [
        finding
        for rule in rules
        if any(hint in lowered for hint in rule.hints)
        for finding in _apply(rule, text)
    ]
    if "-----begin" in lowered:
        found.extend(_private_keys(text))
    return found


def _replaced(text: str, findings: tuple[Finding, ...]) -> str:
    parts: list[str] = []
    position = 0
    for finding in findings:
        parts += (text[position : finding.start], _mark(finding))
        position = finding.end
    return "".join((*parts, text[position:]))


def _mark(finding: Finding) -> str:
    return f"[redacted:{finding.kind}]"


def _in_original(freed: list[Finding], findings: tuple[Finding, ...]) -> list[Finding]:
    """Spans of the redacted text as spans of the given one; an edge within a mark moves to the edge
    of what it stands for."""

    def place(position: int, *, is_end: bool) -> int:
        shift = 0
        for finding in findings:
            start = finding.start - shift
            end = start + len(_mark(finding))
            if position <= start:
                break
            if position < end:
                return finding.end if is_end else finding.start
            shift += finding.end - finding.start - len(_mark(finding))
        return position + shift

    return [
        Finding(one.kind, place(one.start, is_end=False), place(one.end, is_end=True))
        for one in freed
    ]


def _apply(rule: _Rule, text: str) -> Iterator[Finding]:
    group = "secret" if "secret" in rule.pattern.groupindex else 0
    for match in rule.pattern.finditer(text):
        if rule.accept(match[group]):
            yield Finding(rule.kind, match.start(group), match.end(group))


def _private_keys(text: str) -> Iterator[Finding]:
    """PEM blocks; one without an end is taken out as far as it looks like one, because a cut key is
    still most of a key."""
    position = 0
    ends = True
    while begin := _PEM_BEGIN.search(text, position):
        end = _PEM_END.search(text, begin.end()) if ends else None
        ends = end is not None
        body = _PEM_BODY.match(text, begin.end())
        position = end.end() if end else body.end() if body else begin.end()
        yield Finding("private-key", begin.start(), position)


def _merged(found: list[Finding]) -> tuple[Finding, ...]:
    """Findings in order without overlap. Overlapping ones become one, of the kind that starts first
    and reaches farthest."""
    merged: list[Finding] = []
    for finding in sorted(found, key=lambda one: (one.start, -one.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Finding(last.kind, last.start, max(last.end, finding.end))
        else:
            merged.append(finding)
    return tuple(merged)
