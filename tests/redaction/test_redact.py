"""Redaction as a whole: ordinary text stays, overlapping secrets become one, and redacting twice is
redacting once. The rules one by one are tested in test_rules.py."""

from __future__ import annotations

from re import _parser as sre_parser  # type: ignore[attr-defined]  # the widths of patterns

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.redaction import assignments, near_names
from doxa.redaction import redact as redact_module
from doxa.redaction.redact import redact
from doxa.redaction.rules import PERSONAL, SECRETS

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
EXAMPLES = [
    text.replace("«", "").replace("»", "")
    for rule in SECRETS + PERSONAL
    for text in (*rule.examples, *rule.near_misses)
]
FRAGMENTS = st.sampled_from(
    [
        *EXAMPLES,
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


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text).text == text


def test_a_secret_goes_and_its_surroundings_stay() -> None:
    result = redact("before ghp_" + "a1B2c3D4e5F6" * 3 + ", after")
    assert result.text == "before [redacted:github-token], after"
    assert [(one.kind, one.start, one.end) for one in result.findings] == [("github-token", 7, 47)]
    assert "ghp_" not in repr(result)


def test_overlapping_findings_become_one() -> None:
    result = redact('password = "' + "AKIA" + "IOSFODNN7EXAMPLE" + '"')
    assert result.text == 'password = "[redacted:aws-access-key]"' and len(result.findings) == 1


@given(st.lists(FRAGMENTS | st.text(max_size=8), max_size=8).map("".join), st.booleans())
def test_twice_is_once_and_spans_lie_within(text: str, pii: bool) -> None:
    first = redact(text, pii=pii)
    assert redact(first.text, pii=pii).text == first.text
    position = 0
    for finding in first.findings:
        assert position <= finding.start < finding.end <= len(text)
        position = finding.end


@pytest.mark.parametrize(
    "piece",
    [
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
        "--doxa-",
        "--fm1_",
        "_glpat-",
        " -pghp_",
        "sk-a1B2c3D4e5" + "-" * 100_000,
    ],
)
def test_a_megabyte_of_malice_is_redacted(piece: str) -> None:
    """A rule that is quadratic in the text would take hours here."""
    found = redact(piece * (1_000_000 // len(piece)), pii=True)
    assert redact(found.text, pii=True).text == found.text


@pytest.mark.parametrize(
    "piece",
    ["pass=", "pass=\n", "pass= x pass=", "token x", "token-xxxxxxxxxxxxxxxx1-", "ghp_a1", "pw=é"],
)
def test_a_text_is_read_a_bounded_number_of_times(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass may free the edge of another secret, which once took a pass for every word: 24 s
    for 16,000 characters. Twice the text is now at most twice the work."""
    scan = redact_module._scan
    read = 0

    def counted(text: str, *, pii: bool) -> object:
        nonlocal read
        read += len(text)
        return scan(text, pii=pii)

    monkeypatch.setattr(redact_module, "_scan", counted)
    for size in (8_000, 16_000, 32_000):
        read = 0
        text = (piece * (size // len(piece) + 1))[:size]
        found = redact(text)
        assert read <= 8 * size
        assert redact(found.text).text == found.text


def test_a_rule_reads_a_bounded_part_of_a_text_at_each_place() -> None:
    """Then a scan is linear in the text. Those that may match more begin where a run begins, and
    read it once."""
    patterns = {rule.kind: rule.pattern for rule in SECRETS + PERSONAL if rule.pattern is not None}
    patterns |= {"assigned": assignments.ASSIGNED, "near": near_names._VALUE}
    unbounded = {
        kind
        for kind, pattern in patterns.items()
        if sre_parser.parse(pattern.pattern, pattern.flags).getwidth()[1] > 5_000
    }
    assert len(patterns) > 30 and unbounded == {"jwt", "login"}


@pytest.mark.parametrize(
    "form",
    [
        "_{}_",
        "__{}__",
        "*{}*",
        "~~{}~~",
        "-{}",
        "curl -u{} x",
        "a -p{}",
        "{}_",
        "({})",
        "«{}»",
    ],
)
@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "abcdefghij0123456789ABCDEFGHIJ012345",
        "AKIA" + "IOSFODNN7EXAMPLF",
        "sk-ant-api03-" + "aB3dE5fG7hJ9" * 6,
        "glpat-" + "aB3dE5fG7hJ9" * 2,
    ],
)
def test_signs_beside_a_token_hide_it_not(form: str, secret: str) -> None:
    assert secret not in redact(f"Use {form.format(secret)} now").text


@pytest.mark.parametrize(
    "form",
    ["-u{}", "'-u{}'", "`-p{}`", "(-p{})", '["-u{}"]', "--header=-u{}", "--token{}", "--{}"],
)
def test_a_token_behind_an_option_is_found(form: str) -> None:
    secret = "ghp_" + "abcdefghij0123456789ABCDEFGHIJ012345"
    assert (secret in redact(form.format(secret)).text) == (form == "--token{}")


@pytest.mark.parametrize("name", ["p-{}", "build_{}", "{}-x", "x-{}_y"])
def test_a_token_of_a_known_length_is_found_within_a_name(name: str) -> None:
    secret = "ghp_" + "abcdefghij0123456789ABCDEFGHIJ012345"
    assert secret not in redact(name.format(secret)).text


def test_parts_of_longer_names_are_no_tokens() -> None:
    for text in (
        "my-sk-learn-models-are-trained-on-2024-data",
        "the_glpat-prefix-of-20-letters-and-4-digits",
        "X" + "AKIA" + "IOSFODNN7EXAMPLE",
        "--pa-very-long-custom-property-name-of-42-columns-wide: 3px",
        "--jina_embeddings_v2_base_en_model_for_retrieval_tasks",
        "--sb_secret_name_of_the_variable_2024_default",
        "var(--glpat-x1-very-long-name-of-a-var)",
    ):
        assert redact(text).text == text
