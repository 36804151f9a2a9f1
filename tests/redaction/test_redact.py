"""Redaction: every kind of secret goes, ordinary text stays. The secrets are invented and put
together here, so that no scanner trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.redaction.redact import redact
from tests.effort import assert_ends

ALNUM = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
PEM = (
    "-----BEGIN RSA PRIVATE "
    + "KEY-----\nMIIEpAIBAAKCAQEA7\nabc+/=\n-----END RSA PRIVATE "
    + "KEY-----"
)
SECRETS = {
    "aws-access-key": "AKIA" + "IOSFODNN7EXAMPLE",
    "github-token": "ghp_" + ALNUM[:36],
    "gitlab-token": "glpat-" + ALNUM[:20],
    "slack-token": "xoxb-" + "123456789012-abcdefABCDEF",
    "stripe-key": "sk_live_" + ALNUM[:24],
    "api-key": "sk-proj-" + ALNUM,
    "google-api-key": "AIza" + ALNUM[:35],
    "google-oauth-token": "ya29." + ALNUM,
    "npm-token": "npm_" + ALNUM[:36],
    "pypi-token": "pypi-AgE" + ALNUM * 2,
    "huggingface-token": "hf_" + ALNUM[:34],
    "sendgrid-key": "SG." + ALNUM[:22] + "." + (ALNUM * 2)[:43],
    "digitalocean-token": "dop_v1_" + "0123456789abcdef" * 4,
    "age-key": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN" * 3,
    "telegram-token": "123456789:AA" + ALNUM[:33],
    "jwt": "eyJ" + ALNUM[:20] + ".eyJ" + ALNUM[:20] + "." + ALNUM[:20],
    "private-key": PEM,
}
WITHIN = [
    ("github-token", "github_pat_" + ALNUM + "_x", "github_pat_"),
    ("slack-webhook", "https://hooks.slack.com/services/" + "T000/B000/" + ALNUM[:24], "T000"),
    (
        "aws-secret-key",
        "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "wJalr",
    ),
    ("azure-key", "AccountKey=" + ALNUM * 2 + "==;", ALNUM),
    ("bearer-token", "Authorization: Bearer " + ALNUM[:24], ALNUM[:24]),
    ("basic-auth", "Authorization: Basic " + "dXNlcjpwYXNzd29yZA==", "dXNl"),
    ("url-password", "postgres://ana:hunter2@db.example.org:5432/atlas", "hunter2"),
    ("url-password", "redis://:s3cr3t@localhost", "s3cr3t"),
    ("password", 'password = "correct horse battery"', "correct"),
    ("password", "{'DB_PASSWORD': 'hunter2hunter2'}", "hunter2"),
    ("secret", 'client_secret: "abcdefgh12345"', "abcdefgh"),
    ("secret", '"api_key":"abcdefgh12345"', "abcdefgh"),
    ("env-secret", "export DB_PASSWORD=hunter2hunter2\n", "hunter2"),
]
ORDINARY = [
    "",
    "We met at the harbour and talked about tokens, secrets and keys for an hour.",
    "The token: what a word. The secret is patience; the key is practice.",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes it",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id 123e4567-e89b-12d3-a456-426614174000, again 00000000-0000-0000-0000-000000000000",
    "sk-learn is a library; sk-2024-release-candidate-build-notes-for-everyone too",
    "a risk-averse-strategy-with-many-hyphens-and-2024-numbers-17",
    "bearer of bad news; Bearer authentication-token-mechanism",
    "https://example.org:8080/path@2x.png and git@host.example:team/repo.git",
    "password = os.environ['DB_PASSWORD']",
    (
        'password: "${DB_PASSWORD}", token = "<your-token>", api_key: "your-api-key-here",'
        ' secret="********"'
    ),
    "MAX_TOKEN=unlimited-length",
    "AKIAIOSFODNN7EXAMPLEANDMORE is longer than a key id",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    'eyJust a funny word. The passwords: "short"',
]
PERSONAL = [
    ("email", "write to ana.lima+news@mail.example.org today"),
    ("card", "card 4111 1111 1111 1111 expires"),
    ("iban", "IBAN DE89 3704 0044 0532 0130 00 please"),
    ("ipv4", "from 192.168.10.20 port 22"),
    ("ssn", "number 123-45-6789 given"),
]
NOT_PERSONAL = [
    "card 4111 1111 1111 1112",
    "time 1772460000000 and 17724600000000000",
    "DE89 3704 0044 0532 0130 01",
    "version 1.2.3.4, v1.2.3.4, 1.2.3.4.5, 300.1.1.1",
    "000-12-3456 and 123-45-67890",
    "@ana said so; a@b",
    "123e4567-e89b-12d3-a456-426614174000",
]
FRAGMENTS = st.sampled_from(
    [
        *SECRETS.values(),
        *(text for _, text, _ in WITHIN),
        *(text for _, text in PERSONAL),
        *ORDINARY,
        'password="',
        '"',
        "'",
        " ",
        "\n",
        "://u:",
        "@h",
        "TOKEN=",
        "-",
        "_",
        ".",
        "a",
        "Bearer ",
        "-----BEGIN PRIVATE " + "KEY-----",
        "x" * 390,
    ]
)


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items())
def test_a_secret_goes_and_its_surroundings_stay(kind: str, secret: str) -> None:
    result = redact(f"before {secret}, after")
    assert result.text == f"before [redacted:{kind}], after"
    assert [(one.kind, one.start, one.end) for one in result.findings] == [
        (kind, 7, 7 + len(secret))
    ]
    assert secret not in repr(result)


@pytest.mark.parametrize(("kind", "text", "secret"), WITHIN)
def test_a_secret_within_a_form_goes(kind: str, text: str, secret: str) -> None:
    result = redact(text)
    assert [one.kind for one in result.findings] == [kind]
    assert secret not in result.text and f"[redacted:{kind}]" in result.text


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(("kind", "text"), PERSONAL)
def test_personal_data_goes_only_when_asked(kind: str, text: str) -> None:
    assert redact(text).text == text
    assert [one.kind for one in redact(text, pii=True).findings] == [kind]


@pytest.mark.parametrize("text", NOT_PERSONAL)
def test_what_only_looks_personal_stays(text: str) -> None:
    assert redact(text, pii=True).text == text


def test_a_key_that_was_cut_goes_to_its_end() -> None:
    assert redact("see " + PEM[:45] + "\n").text == "see [redacted:private-key]"


def test_overlapping_findings_become_one() -> None:
    result = redact('password = "' + SECRETS["aws-access-key"] + '"')
    assert result.text == 'password = "[redacted:aws-access-key]"' and len(result.findings) == 1


@given(st.lists(FRAGMENTS | st.text(max_size=8), max_size=8).map("".join), st.booleans())
def test_twice_is_once_and_spans_lie_within(text: str, pii: bool) -> None:
    first = redact(text, pii=pii)
    assert redact(first.text, pii=pii).text == first.text
    position = 0
    for finding in first.findings:
        assert position <= finding.start < finding.end <= len(text)
        position = finding.end


MALICE = (
    "a",
    "eyJ",
    "eyJaaaaaaaa.",
    "sk-a1",
    "-----BEGIN PRIVATE " + "KEY-----",
    "://a:",
    "://a:b@",
    'password="',
    "a@a.",
    "4111 ",
    "GB12 ",
    "1.1.",
    "xox",
    "Bearer ",
    "token='a",
    "AccountKey=",
    "ghp_",
    "A1B2 C3D4 ",
    "hooks.slack.com/services/",
    "1:AA",
)


def redact_malice() -> None:
    for piece in MALICE:
        print(repr(piece), flush=True)
        redact(piece * (1_000_000 // len(piece)), pii=True)


def test_a_megabyte_of_malice_ends() -> None:
    assert_ends("tests.redaction.test_redact", "redact_malice")
