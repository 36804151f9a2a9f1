"""The redaction rules as data: what each one matches, where its format is documented, texts in
which it must match and texts in which it must not.

The secret of an example stands between « and »; `tests/redaction/test_rules.py` runs every example
and every near miss. The secrets are invented, and put together here so that the source contains
none that a scanner would report.

A new rule has to keep three properties of the table:

    hints       plain substrings of the lower-cased text, one of which every match contains, so that
                ordinary text meets no regular expression
    pattern     begins with a literal and is bounded, or runs over one character class that its
                look-behind excludes as well; no input makes it quadratic
    accept      prefers a miss to a false alarm where a secret has no form of its own, so that
                commit hashes, UUIDs and prose stay as they are
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from itertools import pairwise

from doxa.base.patterns import lazy_re
from doxa.redaction.assignments import ASSIGNED, KEY_GATE, spans_of
from doxa.redaction.near_names import GATE as NEAR_GATE
from doxa.redaction.near_names import NAMED, spans_near_names
from doxa.redaction.token_formats import FORMATS, SAMPLE, TokenFormat


@dataclass(frozen=True, slots=True)
class RedactionRule:
    """One kind of secret or personal data.

    The group `secret` of `pattern`, or its whole match, is redacted when `accept` agrees. A rule
    whose extent no pattern describes has `spans` instead, which is called for texts with a hint.
    """

    kind: str
    matches: str
    source: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    examples: tuple[str, ...]
    near_misses: tuple[str, ...]
    accept: Callable[[str], bool] = bool
    gate: str = ""  # RE2 in any case, where ordinary words contain the hints; passes every match
    spans: Callable[[str], Iterator[tuple[int, int]]] | None = None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of every secret of this kind."""
        if self.spans is not None:
            yield from self.spans(text)
            return
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            if self.accept(match[group]):
                yield match.span(group)


# Validators

_PLACEHOLDER = lazy_re(
    r"\[redacted:|[$<{%]|[*xX.•-]+$"
    r"|(?i:your|example|changeme|placeholder|process\.env|os\.environ)"
)
_RUN = lazy_re(r"[A-Za-z0-9]{16}")


def _mixed(value: str) -> bool:
    """Return whether `value` has digits and a long unbroken run: a key, not hyphenated words."""
    return (
        sum(map(str.isdigit, value)) >= 2
        and any(map(str.isalpha, value))
        and _RUN.search(value) is not None
    )


def _varied(value: str) -> bool:
    """Return whether a token has digits and is not one character again and again."""
    return any(map(str.isdigit, value)) and len(set(value)) >= 8


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value)) and not _PLACEHOLDER.match(value)


def _not_placeholder(value: str) -> bool:
    return not _PLACEHOLDER.match(value)


def _is_generated(value: str) -> bool:
    """Return whether the last part of a value changes between capitals, small letters and digits
    again and again."""
    body = re.split(r"[_-]", value)[-1]
    kinds = [0 if char.isdigit() else 1 if char.islower() else 2 for char in body]
    turns = sum(a != b for a, b in pairwise(kinds))
    return len(set(kinds)) == 3 and turns * 3 >= len(body)


def _random_run(value: str) -> bool:
    return _RUN.search(value) is not None and _has_digit(value)


def _luhn(value: str) -> bool:
    digits = [int(char) for char in value if char.isdigit()]
    if len(digits) not in (14, 15, 16, 19) or len(set(digits)) == 1:
        return False
    doubled = (digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _iban(value: str) -> bool:
    """Check ISO 13616: the country and check digits moved to the end, letters as 10 to 35,
    remainder 1 modulo 97."""
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


_PEM_BEGIN = lazy_re(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = lazy_re(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = lazy_re(r"[A-Za-z0-9+/=\s\\:,-]*")


def _pem_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the private-key blocks. One without an end extends as far as it looks like one, because
    a truncated key is still most of a key."""
    position = 0
    ends = True
    while begin := _PEM_BEGIN.search(text, position):
        end = _PEM_END.search(text, begin.end()) if ends else None
        ends = end is not None
        body = _PEM_BODY.match(text, begin.end())
        position = end.end() if end else body.end() if body else begin.end()
        yield begin.start(), position


# What a secret may not touch: without this a part of a longer identifier would pass for one. Signs
# of emphasis, of a list and of an option, as in _x_, -x and curl -ux, belong to none; what follows
# -- is the name of an option or a variable.
_OPTION = r"(?:(?<=[\s\"'`(\[{=,;|&]-[A-Za-z])|(?<=\A-[A-Za-z]))"
_STRONG = r"(?:(?<=[\s\"'`(*]__)|(?<=\A__))"  # emphasis
_BEFORE = rf"(?:(?<![A-Za-z0-9])(?<![A-Za-z0-9_-][_-])|{_STRONG}|{_OPTION})"
_AFTER = r"(?![A-Za-z0-9]|[_-]{1,3}[A-Za-z0-9])"
_APART, _ENDED = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"  # of a value that only looks random
_ASSIGN = r"""["']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}"""
_QUOTED = r"""(?P<quote>["'])(?P<secret>(?:(?!(?P=quote)|\[redacted:)[^\r\n]){8,400})(?P=quote)"""
_QUOTED_WORD = r"""(?P<quote>["'])(?P<secret>(?:(?!\[redacted:)[^\s"']){8,400})(?P=quote)"""


def _bounded(body: str, *, joined: bool = False) -> re.Pattern[str]:
    """`joined`: the mark and the length of the body are enough to tell it, also as a part of a name
    such as build-<token>."""
    if joined:
        return lazy_re(rf"(?:(?<![A-Za-z0-9])|{_OPTION})" + body + r"(?![A-Za-z0-9])")
    return lazy_re(_BEFORE + body + _AFTER)


# Invented: the characters that most tokens consist of.
_SAMPLE = SAMPLE
_HEX = "0123456789abcdef"
_PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc+/=\n-----END RSA PRIVATE KEY-----"


def _of_format(token: TokenFormat) -> RedactionRule:
    return RedactionRule(
        token.kind,
        matches=f"a token that its issuer marks: {token.kind}",
        source=token.source,
        hints=token.hints,
        pattern=_bounded(f"(?:{token.pattern})"),
        accept=_varied,
        gate=token.gate,
        examples=(f"before «{token.example}» after",),
        near_misses=(f"{token.hints[0]} is a prefix",),
    )


SECRETS: tuple[RedactionRule, ...] = (
    *map(_of_format, FORMATS),
    RedactionRule(
        "aws-access-key",
        matches="id of an AWS access key: AKIA (long-term) or ASIA (temporary) and 16 characters",
        source="AWS IAM User Guide, IAM identifiers, unique ID prefixes",
        hints=("akia", "asia"),
        pattern=_bounded(r"A(?:KIA|SIA)[A-Z0-9]{16}", joined=True),
        accept=_has_digit,
        examples=("key «AKIA" + "IOSFODNN7EXAMPLE» works", "«ASIA" + "IOSFODNN7EXAMPLE»"),
        near_misses=(
            "AKIA" + "IOSFODNN7EXAMPLEANDMORE is longer than a key id",
            "AKIA" + "IOSFODNNXEXAMPLE has no digit",
            "XAKIA" + "IOSFODNN7EXAMPLE",
        ),
    ),
    RedactionRule(
        "aws-secret-key",
        matches="secret access key of AWS, 40 characters, after its usual name",
        source="AWS IAM User Guide, Manage access keys for IAM users",
        hints=("secret",),
        pattern=lazy_re(
            r"(?i:secret_?access_?key)"
            + _ASSIGN
            + r"""["']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"""
        ),
        examples=(
            "aws_secret_access_key = «wJalrXUtnFEMI" + "/K7MDENG/bPxRfiCYEXAMPLEKEY»",
            'SecretAccessKey: "«wJalrXUtnFEMI' + '/K7MDENG/bPxRfiCYEXAMPLEKEY»"',
        ),
        near_misses=(
            "secret_access_key = wJalrXUtnFEMI",
            "the secret access key is rotated every ninety days",
        ),
    ),
    RedactionRule(
        "github-token",
        matches="GitHub token: ghp_, gho_, ghu_, ghs_ or ghr_ and 36 or more characters",
        source="GitHub Docs, About authentication to GitHub, GitHub's token formats",
        hints=("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        pattern=_bounded(r"gh[pousr]_[A-Za-z0-9]{36,255}", joined=True),
        examples=(f"«ghp_{_SAMPLE[:36]}»", f"https://x-access-token@ «ghs_{_SAMPLE[:36]}»"),
        near_misses=(f"ghp_{_SAMPLE[:20]}", f"ghx_{_SAMPLE[:36]}", f"xghp_{_SAMPLE[:36]}"),
    ),
    RedactionRule(
        "github-token",
        matches="fine-grained personal access token of GitHub",
        source="GitHub Docs, About authentication to GitHub, GitHub's token formats",
        hints=("github_pat_",),
        pattern=_bounded(r"github_pat_[A-Za-z0-9_]{40,255}"),
        examples=(f"«github_pat_{_SAMPLE}_x»",),
        near_misses=("github_pat_is_a_prefix",),
    ),
    RedactionRule(
        "gitlab-token",
        matches="personal, project or group access token of GitLab",
        source="GitLab Docs, GitLab token overview, token prefixes",
        hints=("glpat-",),
        pattern=_bounded(r"glpat\-[A-Za-z0-9_-]{20,255}"),
        examples=(f"token «glpat-{_SAMPLE[:20]}», kept",),
        near_misses=("glpat-short", f"my-glpat-{_SAMPLE[:20]}"),
    ),
    RedactionRule(
        "slack-token",
        matches="Slack token: xoxb-, xoxp-, xoxa-, xoxe-, xoxo-, xoxr- or xoxs-",
        source="Slack API documentation, Token types",
        hints=("xox",),
        pattern=_bounded(r"xox[abeoprs]-[A-Za-z0-9-]{10,255}"),
        accept=_has_digit,
        examples=("«xoxb-" + "123456789012-abcdefABCDEF»",),
        near_misses=("xoxo-kisses-and-hugs", "xoxb-short"),
    ),
    RedactionRule(
        "slack-webhook",
        matches="the path of a Slack webhook, which is its only credential",
        source="Slack API documentation, Sending messages using incoming webhooks",
        hints=("hooks.slack.com",),
        pattern=lazy_re(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/"
            r"(?P<secret>(?!\[redacted:)[A-Za-z0-9/_-]{20,255})"
        ),
        examples=("https://hooks.slack.com/services/«T000/B000/" + f"{_SAMPLE[:24]}»",),
        near_misses=(
            "https://hooks.slack.com/services/short",
            "see hooks.slack.com for the documentation of webhooks",
        ),
    ),
    RedactionRule(
        "stripe-key",
        matches="secret or restricted key of Stripe, live or test",
        source="Stripe Docs, API keys",
        hints=("k_live_", "k_test_"),
        pattern=_bounded(r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}", joined=True),
        examples=(f"«sk_live_{_SAMPLE[:24]}»", f"«rk_test_{_SAMPLE[:24]}»"),
        near_misses=(f"pk_live_{_SAMPLE[:24]} is public", "sk_live_short"),
    ),
    RedactionRule(
        "api-key",
        matches="keys that begin with sk-, as OpenAI's and Anthropic's do",
        source="OpenAI API reference, Authentication; Anthropic API reference, Authentication",
        hints=("sk-",),
        pattern=_bounded(r"sk\-[A-Za-z0-9_-]{20,255}"),
        accept=_mixed,
        examples=(f"«sk-proj-{_SAMPLE}»", f"«sk-ant-api03-{_SAMPLE}»"),
        near_misses=(
            "sk-learn is a library; sk-2024-release-candidate-build-notes-for-everyone too",
            "a risk-averse-strategy-with-many-hyphens-and-2024-numbers-17",
        ),
    ),
    RedactionRule(
        "google-api-key",
        matches="API key of Google Cloud: AIza and 35 characters",
        source="Google Cloud documentation, Manage API keys",
        hints=("aiza",),
        pattern=_bounded(r"AIza[A-Za-z0-9_-]{35}"),
        examples=(f"«AIza{_SAMPLE[:35]}»",),
        near_misses=(f"AIza{_SAMPLE[:30]}", f"AIza{_SAMPLE[:36]}"),
    ),
    RedactionRule(
        "google-oauth-token",
        matches="OAuth 2.0 access token of Google",
        source="Google Identity documentation, Using OAuth 2.0 to access Google APIs",
        hints=("ya29.",),
        pattern=_bounded(r"ya29\.[A-Za-z0-9_-]{30,1000}"),
        examples=(f"«ya29.{_SAMPLE}»",),
        near_misses=("ya29.short", f"ya29{_SAMPLE}"),
    ),
    RedactionRule(
        "npm-token",
        matches="npm access token: npm_ and 36 characters, six of them a checksum",
        source="GitHub Blog, Announcing npm's new access token format",
        hints=("npm_",),
        pattern=_bounded(r"npm_[A-Za-z0-9]{36}", joined=True),
        examples=(f"«npm_{_SAMPLE[:36]}»",),
        near_misses=("npm_config_registry", f"npm_{_SAMPLE[:37]}"),
    ),
    RedactionRule(
        "pypi-token",
        matches="API token of PyPI: a serialised macaroon, in base64 after pypi-",
        source="PyPI Help, How can I use API tokens to authenticate with PyPI?",
        hints=("pypi-age",),
        pattern=_bounded(r"pypi\-AgE[A-Za-z0-9_-]{50,1000}"),
        examples=(f"«pypi-AgE{_SAMPLE * 2}»",),
        near_misses=("pypi-AgEnda is a package", f"pypi-agE{_SAMPLE * 2}"),
    ),
    RedactionRule(
        "huggingface-token",
        matches="user access token of Hugging Face",
        source="Hugging Face Hub documentation, User access tokens",
        hints=("hf_",),
        pattern=_bounded(r"hf_[A-Za-z0-9]{30,60}"),
        examples=(f"«hf_{_SAMPLE[:34]}»",),
        near_misses=("hf_hub_download", f"hf_{_SAMPLE[:20]}"),
    ),
    RedactionRule(
        "sendgrid-key",
        matches="API key of SendGrid: SG, its id and the key, 69 characters with the dots",
        source="Twilio SendGrid documentation, API Keys",
        hints=("sg.",),
        pattern=_bounded(r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
        examples=(f"«SG.{_SAMPLE[:22]}.{(_SAMPLE * 2)[:43]}»",),
        near_misses=("SG.pool.example", f"SG.{_SAMPLE[:22]}"),
    ),
    RedactionRule(
        "digitalocean-token",
        matches="DigitalOcean token: dop_v1_, doo_v1_ or dor_v1_ and 64 hexadecimal digits",
        source="DigitalOcean documentation, release note API token format (2022)",
        hints=("_v1_",),
        pattern=_bounded(r"do[opr]_v1_[a-f0-9]{64}", joined=True),
        examples=(f"«dop_v1_{_HEX * 4}»", f"«doo_v1_{_HEX * 4}»"),
        near_misses=(f"dop_v1_{_HEX * 3}", f"dox_v1_{_HEX * 4}"),
    ),
    RedactionRule(
        "azure-key",
        matches="account key in a connection string of Azure Storage",
        source="Azure Storage documentation, Configure Azure Storage connection strings",
        hints=("accountkey=",),
        pattern=lazy_re(r"AccountKey=(?P<secret>[A-Za-z0-9+/]{40,120}={0,2})"),
        examples=(f"AccountName=a;AccountKey=«{_SAMPLE * 2}==»;EndpointSuffix=b",),
        near_misses=("AccountKey=short;", "AccountName=storage;AccountKey=;"),
    ),
    RedactionRule(
        "age-key",
        matches="identity (private key) of age, in Bech32",
        source="The age file encryption format, X25519 recipient type",
        hints=("age-secret-key-1",),
        pattern=_bounded(r"AGE\-SECRET\-KEY\-1[A-Z0-9]{50,70}"),
        examples=("«AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN" * 3 + "»",),
        near_misses=("AGE-SECRET-KEY-1 is its prefix",),
    ),
    RedactionRule(
        "telegram-token",
        matches="token of a Telegram bot: its number, a colon and 35 characters",
        source="Telegram Bot API, Authorizing your bot",
        hints=(":aa",),
        pattern=_bounded(r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
        examples=(f"bot «123456789:AA{_SAMPLE[:33]}»",),
        near_misses=("12:AA is a time of a kind", f"123456789:AB{_SAMPLE[:33]}"),
    ),
    RedactionRule(
        "jwt",
        matches="signed JSON Web Token: header, claims and signature, each in base64url",
        source="RFC 7515, section 3.1 (compact serialisation); RFC 7519",
        hints=("eyj",),
        pattern=lazy_re(_BEFORE + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        examples=(f"«eyJ{_SAMPLE[:20]}.eyJ{_SAMPLE[:20]}.{_SAMPLE[:20]}»",),
        near_misses=("eyJust a funny word", f"eyJ{_SAMPLE[:20]}.{_SAMPLE[:20]}"),
    ),
    RedactionRule(
        "bearer-token",
        matches="the token of a Bearer authorization",
        source="RFC 6750, section 2.1",
        hints=("bearer",),
        pattern=lazy_re(r"(?i:\bbearer)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})"),
        accept=_has_digit,
        examples=(f"Authorization: Bearer «{_SAMPLE[:24]}»",),
        near_misses=(
            "bearer of bad news; Bearer authentication-token-mechanism",
            "Authorization: Bearer <token>",
        ),
    ),
    RedactionRule(
        "basic-auth",
        matches="the credentials of a Basic authorization",
        source="RFC 7617, section 2",
        hints=("basic",),
        pattern=lazy_re(
            r"""(?i:\bauthorization)["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?i:basic)[ \t]{1,3}"""
            r"(?P<secret>[A-Za-z0-9+/=]{12,1000})"
        ),
        examples=("Authorization: Basic «dXNlcjpwYXNz" + "d29yZA==»",),
        near_misses=("Authorization: Basic dXNlcg==", "a basic authorization is not enough"),
    ),
    RedactionRule(
        "url-password",
        matches="the password in the authority of a URL",
        source="RFC 3986, section 3.2.1",
        hints=("://",),
        gate=r"://[^\s/?#]{0,100}:[^\s/]{1,200}@",
        pattern=lazy_re(
            r"""://[^\s:/@?#"'<>\[\]]{0,100}:(?P<secret>[^\s/"'<>\[\]]{1,200})@(?=[\w\[])"""
        ),
        accept=_not_placeholder,
        examples=(
            "postgres://ana:«hunter2»@db.example.org:5432/atlas",
            "redis://:«s3cr3t»@localhost",
        ),
        near_misses=(
            "https://example.org:8080/path@2x.png and git@host.example:team/repo.git",
            "postgres://ana:${PASSWORD}@db.example.org",
        ),
    ),
    RedactionRule(
        "sas-signature",
        matches="the signature of a shared access signature of Azure, or of a signed URL",
        source="Azure Storage documentation, Create a service SAS; AWS S3, Presigned URLs",
        hints=("sig=", "signature="),
        pattern=lazy_re(
            r"(?i:[?&;](?:sig|x-amz-signature|x-goog-signature|signature)=)"
            r"(?P<secret>[A-Za-z0-9%/+_-]{32,600}=?)"
        ),
        examples=(f"https://a.blob.core.windows.net/c?sv=2022&sig=«{SAMPLE}%3D»&se=x",),
        near_misses=("https://a.example/?sig=short", "the sig= parameter"),
    ),
    RedactionRule(
        "query-key",
        matches="a long key in the query of a URL, under the name key or k",
        source="Google Maps Platform documentation, Use API keys; RFC 6750, section 2.3",
        hints=("key=", "?k=", "&k="),
        gate=r"[?&](?:key|k)=",
        pattern=lazy_re(r"(?i:[?&](?:key|k)=)(?P<secret>[A-Za-z0-9_-]{24,200})"),
        accept=_has_digit,
        examples=(f"https://maps.example/js?key=«{SAMPLE[:39]}»&v=3",),
        near_misses=("https://a.example/?key=ArrowDown", "?k=5"),
    ),
    RedactionRule(
        "prefixed-token",
        matches="a token whose issuer is not known here: a short prefix, and 24 or more characters"
        " of both cases with digits, as no identifier has them",
        source="GitHub Blog, Behind GitHub's new authentication token formats, which others follow",
        hints=("_", "-"),
        gate=r"[a-z]{2,10}(?:[_-][a-z0-9]{2,6}){0,2}[_-][a-z0-9]{24}",
        pattern=lazy_re(
            _APART + r"[a-z]{2,10}(?:[_-][a-z0-9]{2,6}){0,2}[_-][A-Za-z0-9]{24,200}" + _ENDED
        ),
        accept=_is_generated,
        examples=(f"set «abc_{SAMPLE[:32]}» there",),
        near_misses=(
            "abc_0123456789abcdef0123456789abcdef",
            "my_function_nameThatIsVeryLongIndeed2",
        ),
    ),
    RedactionRule(
        "connection-key",
        matches="the key in a connection string: SharedAccessKey, SharedSecretValue, AccessKey",
        source="Azure Service Bus documentation, Get the connection string",
        hints=("sharedaccesskey=", "sharedsecretvalue=", "accesskey="),
        pattern=lazy_re(
            r"(?i:shared(?:accesskey|secretvalue)|accesskey)=(?P<secret>[A-Za-z0-9+/]{20,120}={0,2})"
        ),
        examples=(f"Endpoint=sb://a/;SharedAccessKeyName=n;SharedAccessKey=«{SAMPLE}=»",),
        near_misses=("SharedAccessKeyName=RootManageSharedAccessKey;",),
    ),
    RedactionRule(
        "webhook",
        matches="the path of a webhook of Discord, Teams, Zapier or Make, its only credential",
        source="Discord developer documentation, Webhook; Microsoft Teams, Create Incoming"
        " Webhooks; Zapier help, Trigger Zaps from webhooks",
        hints=("/api/webhooks/", "/webhookb2/", "hooks.zapier.com", "hook.eu", "hook.us"),
        pattern=lazy_re(
            r"(?:discord(?:app)?\.com/api/webhooks/|webhook\.office\.com/webhookb2/"
            r"|hooks\.zapier\.com/hooks/catch/|hook\.(?:eu|us)[0-9]\.make\.com/)"
            r"(?P<secret>(?!\[redacted:)[A-Za-z0-9@/_-]{16,300})"
        ),
        examples=(f"https://discord.com/api/webhooks/«123456789012345678/{SAMPLE}»",),
        near_misses=("https://discord.com/api/webhooks/ID", "see discord.com/api/webhooks/{id}"),
    ),
    RedactionRule(
        "authorization",
        matches="the credentials of another scheme in an Authorization header",
        source="RFC 9110, section 11.6.2; GitHub, Okta (SSWS), Elasticsearch (ApiKey)",
        hints=("authorization",),
        pattern=lazy_re(
            r"""(?i:authorization)\\?["']?[ \t]{0,3}[:=][ \t]{0,3}\\?["']?"""
            r"(?:(?i:token|apikey|api-key|ssws|key|bot|splunk|digest|negotiate|genie ?key|pve)"
            r"[ =\t]{1,3})?(?P<secret>(?!\[redacted:)[A-Za-z0-9+/=._~:!-]{16,1000})"
        ),
        accept=_has_digit,
        examples=(f"Authorization: token «{_HEX * 2}»",),
        near_misses=("Authorization: ${TOKEN}", "Authorization: required for all requests"),
    ),
    RedactionRule(
        "cookie",
        matches="the identifier of a session in a cookie",
        source="RFC 6265, section 4",
        hints=("sess", "cookie"),
        gate=r"(?:sess(?:ion)?|id|cookie)=[a-z0-9%._~+/-]{20}",
        pattern=lazy_re(
            r"(?i:(?:php|j|asp\.net_)?sess(?:ion)?(?:[._-]?id)?|connect\.sid|sid|auth[_-]?cookie)="
            r"(?P<secret>[A-Za-z0-9%._~+/-]{20,1000})"
        ),
        accept=_random_run,
        examples=(f"Cookie: theme=dark; sessionid=«{SAMPLE[:32]}»; x=y",),
        near_misses=("session=current_user_session_object", "sessionid=short"),
    ),
    RedactionRule(
        "login",
        matches="user and password given to curl, mysql, sshpass, redis-cli or htpasswd",
        source="curl manual, --user; MySQL Reference Manual, --password; sshpass(1); redis-cli -a",
        hints=("curl", "mysql", "maria", "sshpass", "redis-cli", "smbclient"),
        gate=r"(?:curl|mysql|mariadb|redis-cli)[^\r\n|;]*[ ]-|sshpass[ ]+-p|smbclient[^\r\n|;]*%",
        pattern=lazy_re(
            r"(?:curl[^\r\n|;]{0,300}?[ ](?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$]{1,100}:"
            r"|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\r\n|;]{0,200}?[ ]-p"
            r"|sshpass[ ]+-p[ ]?[\"']?|redis-cli[^\r\n|;]{0,200}?[ ]-a[ ][\"']?"
            r"|smbclient[^\r\n|;]{0,200}?%)"
            r"(?P<secret>(?![$<{*])[^\s\"'|;<>]{4,200})"
        ),
        accept=_not_placeholder,
        examples=("curl -s -u ana:«hunter2x» https://a.example", "mysql -u root -p«hunter2x» shop"),
        near_misses=("curl -u $USER:$PASS https://a.example", "mysql -u root -p shop"),
    ),
    RedactionRule(
        "password",
        matches="the value of a name that says password, in code, configuration, options and chat",
        source="no standard: assignments.py says how it decides",
        hints=(
            "pass",
            "pwd",
            "pw",
            "kennwort",
            "contrase",
            "mot de passe",
            "mot_de_passe",
            "mot-de-passe",
        ),
        gate=r"(?:pass|pwd|kennwort|contrase|mot[ _-]de[ _-]passe|(?:^|[^a-z0-9])pw)",
        pattern=ASSIGNED,
        spans=lambda text: spans_of(text, tokens=False),
        examples=(
            'password = "«correct horse battery»"',
            "{'DB_PASSWORD': '«hunter2hunter2»'}",
            "export DB_PASSWORD=«hunter2hunter2»\n",
            "password: «hunter2!»",
            "deploy --password=«sunflower» --force",
        ),
        near_misses=(
            "password = os.environ" + "['DB_PASSWORD']",
            'password: "${DB_PASSWORD}"',
            "def login(user: str, password: str) -> None:",
            "password = get_password(user)",
        ),
    ),
    RedactionRule(
        "secret",
        matches="the value of a name that says secret, token or a kind of key, if it looks random",
        source="no standard: assignments.py says how it decides",
        hints=(
            "secret",
            "token",
            "key",
            "cred",
            "auth",
            "signature",
            "connection",
            "密码",
            "パスワード",
        ),
        gate=KEY_GATE,
        pattern=ASSIGNED,
        spans=lambda text: spans_of(text, tokens=True),
        examples=('client_secret: "«abcdefgh12345»"', '"api_key":"«abcdefgh12345»"'),
        near_misses=(
            'token = "<your-token>", api_key: "your-api-key-here", secret="********"',
            "The token: what a word. The secret is patience; the key is practice.",
            "MAX_TOKEN=unlimited-length",
            "API_KEY=$KEY_FROM_2024",
        ),
    ),
    RedactionRule(
        "named-secret",
        matches="a generated value close behind the name of a secret, in prose, logs and arguments",
        source="no standard: near_names.py says how it decides",
        hints=("pass", "kennwort", "secret", "token", "credential", "bearer", "key"),
        gate=NEAR_GATE,
        pattern=NAMED,
        spans=spans_near_names,
        examples=(
            "use the token «q7Zr2Kx9Lw4Tn8Vb3Yd6» for staging",
            "new secret (rotated today) «9f3a71c04be2d85f6a1790ce»",
            "kref://token-service/notes/a.fact has the token «9f3a71c04be2d85f6a1790ce»",
        ),
        near_misses=(
            "the token hash is 9f3a71c04be2d85f6a1790ce",
            "password reset for user_id 550e8400-e29b-41d4-a716-446655440000",
            "the secret of internationalization2024isPatience",
            "kref://token-service/sessions/9f3a71c04be2d85f6a1790ce.exchange",
            "its token is explained in kref://p/notes/9f3a71c04be2d85f6a1790ce.fact",
        ),
    ),
    RedactionRule(
        "private-key",
        matches="a private key in PEM, or of OpenPGP in ASCII armour, whole or truncated",
        source="RFC 7468, sections 2 and 10; RFC 9580, section 6.2",
        hints=("-----begin",),
        pattern=_PEM_BEGIN,
        spans=_pem_spans,
        examples=(f"before «{_PEM}», after", f"see «{_PEM[:45]}\n»"),
        near_misses=("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",),
    ),
)

PERSONAL: tuple[RedactionRule, ...] = (
    RedactionRule(
        "email",
        matches="an e-mail address",
        source="RFC 5321, sections 4.1.2 and 4.5.3.1",
        hints=("@",),
        pattern=lazy_re(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}"
            r"(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![A-Za-z0-9-])"
        ),
        examples=("write to «ana.lima+news@mail.example.org» today",),
        near_misses=("@ana said so; a@b",),
    ),
    RedactionRule(
        "card",
        matches="the number of a payment card: 14, 15, 16 or 19 digits with the Luhn check digit",
        source="ISO/IEC 7812-1",
        hints=tuple("23456"),
        pattern=lazy_re(r"(?<![\w.-])[2-6][0-9]{3}(?:[ -]?[0-9]){10,15}(?![\w-])(?!\.[0-9])"),
        accept=_luhn,
        examples=("card «4111 1111 1111 1111» expires", "«378282246310005»"),
        near_misses=(
            "card 4111 1111 1111 1112",
            "time 1772460000000 and 17724600000000000",
            "2222222222222222",
        ),
    ),
    RedactionRule(
        "iban",
        matches="an international bank account number with its check digits",
        source="ISO 13616-1",
        hints=tuple("0123456789"),
        pattern=lazy_re(
            r"(?<!\w)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", re.ASCII
        ),
        accept=_iban,
        examples=("IBAN «DE89 3704 0044 0532 0130 00» please",),
        near_misses=("DE89 3704 0044 0532 0130 01",),
    ),
    RedactionRule(
        "ipv4",
        matches="an IPv4 address in dotted decimal",
        source="RFC 3986, section 3.2.2 (IPv4address)",
        hints=(".",),
        pattern=lazy_re(
            r"(?<![\w.-])(?<!version )[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w-])(?!\.[0-9])", re.ASCII
        ),
        accept=_ipv4,
        examples=("from «192.168.10.20» port 22",),
        near_misses=("version 1.2.3.4, v1.2.3.4, 1.2.3.4.5, 300.1.1.1",),
    ),
    RedactionRule(
        "ssn",
        matches="a US social security number; 000, 666, 9xx, 00 and 0000 are never assigned",
        source="US Social Security Administration, Social Security Number Randomization",
        hints=("-",),
        pattern=lazy_re(
            r"(?<![\w-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w-])", re.ASCII
        ),
        examples=("number «123-45-6789» given",),
        near_misses=(
            "000-12-3456 and 123-45-67890",
            "123e4567-e89b-12d3-a456-426614174000",
        ),
    ),
)
