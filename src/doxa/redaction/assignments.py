"""Secrets that have no form of their own and are known by their name: `password: x`, `DB_PASS=x`,
`--password x`, `X-API-Key: x`, `?api_key=x`.

One pattern finds a name, a separator and a value; `_is_secret` decides about the value. A value is
taken unless it is a placeholder, a reference, code, a type, a word of an interface, or prose. Where
a bare word may be code (`password = hashed`), it needs a digit or a symbol; where it cannot be (an
environment variable, an option on a command line, a query of a URL), it needs neither. Tokens and
keys are taken only if they look random.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from doxa.base.patterns import lazy_re

# Names, without what may come before them (DB_, client, x-). Short ones begin a word.
_CHOSEN = (
    r"password|passwd|passwort|passphrase|passcode|kennwort|contrase(?:ñ|n)a|mot[ _-]de[ _-]passe"
    r"|(?<![A-Za-z0-9])(?:pass|pwd|pw)|(?-i:(?<=[a-z])(?:Pass|Pwd)|(?<=[A-Z])PWD|(?<=PG|DB)PASS)"
)
_GENERATED = (
    r"secret[_-]?key[_-]?base|secret[ _-]?(?:access[ _-]?)?key|secrets?|tokens?"
    r"|(?:api|app|access|private|auth|encryption|signing|master|service|account|shared|webhook"
    r"|license|storage|jwt|session|hmac|admin|deploy|project|write|read|server|client)"
    r"(?:[ _-]?access)?[ _-]?key|credentials?|shared[_-]?access[_-]?signature|connection[_-]?string"
    r"|(?<![A-Za-z0-9])(?:apikey|auth|creds)|密码|パスワード"
)
_NAME = rf"(?:(?P<p>{_CHOSEN})|(?P<t>{_GENERATED}))(?P<n>[_-]?[0-9]{{1,2}})?"
_BY_SIGN = r"""\\?["'`]?\]?[ \t]{0,3}(?P<sign>:=|=>|===?|!=|=|:|：|\|)[ \t]{0,3}"""
_BY_WORD = r"[ \t]{1,2}(?P<word>is|was|ist|lautet|est|es|è|to|是)[ \t:]{1,3}"
_BY_TAG = r"(?P<tag>>)"
_BY_BLANK = r"(?P<blank>[ \t]{1,3}|\" ?, ?\"|\" value=\")"
_VALUE = (
    r"""(?:[bruf]{0,2}(?P<q>\\?["'`])(?P<quoted>(?:(?!(?P=q)|\[redacted:)[^\r\n]){4,400})(?P=q)"""
    r"""|(?P<bare>[^\s"'`<>]{4,400}))"""
)
ASSIGNED = lazy_re(rf"(?i:{_NAME})(?:{_BY_SIGN}|{_BY_WORD}|{_BY_TAG}|{_BY_BLANK}){_VALUE}")
# What tells RE2 that a text may name a key: the end of such a name, and what may follow it.
_KEY_END = (
    r"(?:secrets?|tokens?|keys?|base|credentials?|creds|auth|signature|string|密码|パスワード)"
)
KEY_GATE = (
    rf"{_KEY_END}[0-9_-]{{0,3}}(?:\\?[\"'`]?\]?[ \t]{{0,3}}(?:[:=>|：!]|\" ?[,v])"
    r"|[ \t]{1,2}(?:is|was|ist|lautet|est|es|è|to|是)[ \t:])"
    rf"|[-/][a-z0-9_-]*(?: access)?[ _-]?{_KEY_END}[0-9_-]{{0,3}}[ \t]"
)
_OPTION = lazy_re(r"(?:(?<![A-Za-z0-9])--?[A-Za-z0-9-]{0,40}|/[A-Za-z]{0,20})$")
_VARIABLE = lazy_re(r"(?:^|[\s;&\"'(])(?:export |set |ENV |ARG |-e ?|env )?[A-Z0-9_]*$")
_SETTING = lazy_re(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.")  # before the name: db.password=x
_QUERY = lazy_re(r"[?&;][A-Za-z0-9_.-]{0,40}$")
_NETRC = lazy_re(r"\b(?:machine|login|user(?:name)?)\b[^\r\n]{0,120}$", re.IGNORECASE)

_PLACEHOLDER = lazy_re(
    r"^[$<{%&@(\[]|^\\?\$|[*•…]{3}|^[*xX.•_-]+$|^x{3,}|\.\.\.|\[redacted|\{\{|\$\{|\$\(|<[a-z_ -]+>"
    r"|(?i:your|example|change[_-]?me|change[_-]?it|placeholder|process\.env|os\.environ|getenv"
    r"|dummy|replace|insert|redacted|secrets\.|vault[:/]|enc\[|op://|keyring|keychain|prompt"
    r"|ref\+|arn:|secretmanager|from[_-]?env|valueFrom|config\.|settings\.|todo|fixme|here$"
    r"|placeholder|masked|hidden|sensitive|undefined|not[_ -]?set|none|omitted)",
)
_COMMON = frozenset(
    """password passwd passwort passphrase secret token string str text bytes any int bool boolean
    null nil none true false yes no required optional hidden empty default value values input field
    hash hashed plain plaintext encrypted encoded binary char varchar object number unknown self
    this request response result data name username email user admin login auth bearer basic digest
    apikey api_key access_token refresh_token id_token csrf csrf_token credentials key keys pass
    current new old confirm confirmation reset forgot change update invalid wrong incorrect expired
    valid missing error label type title column secretstr varchar2 buffer uint8array never const
    static readonly public private file path stdin auto manual reset generated random unset blank
    strong weak protected enabled disabled count length limit budget usage""".split()
)
_PROSE = frozenset(
    """the a an your my is are was must should please enter incorrect invalid wrong required at
    least characters new current confirm repeat forgot password passwords of for and or to in with
    not have has be does do match length too short long reset change set use used das ein eine ist
    bitte falsch und oder la le el les un una des mot de contraseña token tokens secret secrets key
    api that this it we you they he she can cannot will expired missing failed from on by
    """.split()
)
_CALL = lazy_re(r"[A-Za-z_][\w.:]*[(\[{]|=>|->|::|\)\s*$|^\W+$|^[A-Za-z_]\w*\?\.|^&?mut ")
_DOTTED = lazy_re(r"[A-Za-z_$][\w$-]*(?:\.[A-Za-z_$][\w$]*)+[;,)]*")
_IDENTIFIER = lazy_re(r"[A-Za-z_$][A-Za-z_$-]*(?:[0-9]{1,2})?[?!]?")
_PATH = lazy_re(r"^(?:projects/|[.~]{0,2}/|[A-Za-z]:\\|https?://|file:|/run/)")
_HEAD = 64  # characters of a value that say what it is
_TRAILING = ",;)]}"
_SYMBOL = lazy_re(r"[!@#$%^&*?~+=]")


def spans_of(text: str, *, tokens: bool) -> Iterator[tuple[int, int]]:
    """Yield start and end of each value that stands at the name of a password or, with `tokens`,
    of a token or key."""
    position = 0
    while match := ASSIGNED.search(text, position):
        position = match.end("n") if match["n"] else match.end("t" if match["t"] else "p")
        if bool(match["t"]) is not tokens:
            continue
        group = "quoted" if match["quoted"] is not None else "bare"
        start, end = match.span(group)
        value = match[group]
        if group == "bare":
            value, end = _trimmed(match, value.partition("[redacted:")[0], start)
        if len(value) >= 4 and _is_secret(match, text, value, quoted=group == "quoted"):
            yield start, end
            position = end


def _trimmed(match: re.Match[str], value: str, start: int) -> tuple[str, int]:
    """Cut a bare value where its surroundings go on: at & in a URL, ; in a connection string, and
    the punctuation that ends a sentence or a line of code."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    if _QUERY.search(before) or ("://" in before and "&" in value):
        value = re.split(r"[&#]", value, maxsplit=1)[0]
    if ";" in value:
        value = value.partition(";")[0]
    value = value.rstrip(_TRAILING)
    if match["word"] or match["sign"] in (":", "："):
        value = value.rstrip(".")
    return value, start + len(value)


def _is_secret(match: re.Match[str], text: str, value: str, *, quoted: bool) -> bool:
    if (
        value.rstrip("=").count("=") > 3  # names and values in a row
        or value.lower() in _COMMON
        or _PLACEHOLDER.search(value[:_HEAD])
        or _PATH.match(value)
        or (match["sign"] in ("==", "===", "!=") and not quoted)
    ):
        return False
    before = text[max(0, match.start() - 160) : match.start()].rpartition("\n")[2]
    if match["blank"]:
        option = _OPTION.search(before) is not None or '"' in match["blank"]
        if not option and not (match["p"] and _NETRC.search(before)):
            return False
        return not value.startswith("-") and _fits(match, value, certain=option, quoted=quoted)
    if match["word"]:
        return (not quoted and _random(value, 6 if match["p"] else 12)) or (
            quoted and _fits(match, value, certain=False, quoted=True)
        )
    if match["tag"]:
        return text[match.end() : match.end() + 2] == "</" and _fits(
            match, value, certain=True, quoted=False
        )
    name = text[match.start() : match.end("p") if match["p"] else match.end("t")]
    certain = match["sign"] == "=" and (
        _SETTING.fullmatch(before) is not None
        or _OPTION.search(before) is not None
        or _QUERY.search(before) is not None
        or (name.isupper() and _VARIABLE.search(before) is not None)
    )
    return _fits(match, value, certain=certain, quoted=quoted)


def _fits(match: re.Match[str], value: str, *, certain: bool, quoted: bool) -> bool:
    """Decide about a value that is not a placeholder. `certain`: it stands where no code does."""
    if " " in value and (match["t"] or _is_prose(value)):
        return False
    if match["t"]:
        return _random(value, 8 if quoted or certain else 12) and not _is_code(value, quoted)
    if quoted:
        return not (_IDENTIFIER.fullmatch(value) and value.lower().strip("_") in _COMMON) and not (
            _names_itself(value) or _is_code(value, quoted)
        )
    if _is_code(value, quoted):
        return False
    if certain:
        return not value.isupper() or not _IDENTIFIER.fullmatch(value)
    return _random(value, 5)


def _names_itself(value: str) -> bool:
    """A word of an interface: `db_password`, `passwordInput`, `Password`."""
    return (
        re.fullmatch(
            r"[A-Za-z_ .:-]*(?i:password|passwd|passphrase|secret|token)s?[A-Za-z_ .:?!-]*", value
        )
        is not None
    )


def _is_prose(value: str) -> bool:
    words = re.findall(r"[^\W\d_]+", value.lower())
    return len(words) > 8 or any(word in _PROSE for word in words)


def _is_code(value: str, quoted: bool) -> bool:
    if quoted:
        return _DOTTED.fullmatch(value) is not None and not any(map(str.isdigit, value))
    return _CALL.search(value[:_HEAD]) is not None or _DOTTED.fullmatch(value) is not None


def _random(value: str, least: int) -> bool:
    """Whether a value looks generated or chosen as a secret: digits or symbols among letters, and
    not a name with a number at its end."""
    if len(value) < least or " " in value:
        return False
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    if not letters:
        return digits >= 6 and least <= 6 and len(set(value)) > 3
    if _IDENTIFIER.fullmatch(value):
        return _mixed_case(value) or (digits > 0 and least <= 8 and value.rstrip("?!").isalnum())
    if least > 8 and re.fullmatch(r"[a-z]+(?:[-_][a-z0-9]{1,12}){2,}", value):
        return sum(map(str.isdigit, value)) >= 6
    return digits > 0 or (_SYMBOL.search(value) is not None and least <= 8)


def _mixed_case(value: str) -> bool:
    """Twenty letters and more that change their case again and again are not an identifier."""
    turns = sum(a.islower() != b.islower() for a, b in pairwise(value))
    return len(value) >= 20 and turns * 4 >= len(value)
