"""Sets of patterns: what is not a candidate cannot match."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.patterns import PatternSet, lazy_re, without_lookarounds
from doxa.language import assertion, sentences
from doxa.recall import namesakes

SETS = {
    "said": assertion._SAID,
    "contracted": sentences._MAY_BE_CONTRACTED,
    "edges": sentences._EDGES,
    "times": sentences._TIMES,
    "names": namesakes._MAY_DECLARE,
}
CASES = [
    (name, key, pattern, how)
    for name, one in SETS.items()
    for how, patterns in (("search", one._search), ("match", one._match))
    for key, pattern in patterns.items()
]


def test_it_names_the_patterns_that_a_text_may_match() -> None:
    one = PatternSet(
        search={"port": lazy_re(r"\bport (?=\d)"), "tea": lazy_re("tea", re.IGNORECASE)},
        match={"opens": lazy_re("the|an?")},
    )
    assert one.candidates("the port 9090 and TEA") == {"port", "tea", "opens"}
    assert one.candidates("port of call, or the sea") == {"port"}  # the lookahead is left out
    assert one.candidates("report") == one.candidates("") == frozenset()


@pytest.mark.parametrize("text", ["café", "tea\n", "tea\x00", "\ud800", "ｔｅａ"])
def test_a_text_that_re_and_re2_read_differently_may_match_everything(text: str) -> None:
    one = PatternSet(search={1: lazy_re("sugar")}, match={2: lazy_re("milk")})
    assert one.candidates(text) == {1, 2}


def test_an_exhausted_engine_excludes_nothing() -> None:
    class Exhausted:
        def Match(self, text: bytes) -> None:
            return None

    one = PatternSet(search={"tea": lazy_re("tea")})
    assert one.candidates("coffee") == frozenset()
    one._set, one._named = Exhausted(), {}
    assert one.candidates("coffee") == {"tea"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"a(?=b(?!c))d", r"a(?:)d"),
        (r"(?<![\w)])x", r"(?:)x"),
        (r"[(?=]\(?=y", r"[(?=]\(?=y"),
        (r"[]a](?!])b", r"[]a](?:)b"),
        (r"[^]a]b\Z", r"[^]a]b\z"),
        (r"[\](?=]a(?=b)", r"[\](?=]a(?:)"),
        (r"[\\](?=b)", r"[\\](?:)"),
        (r"[\u2600-\u27bf]|\U0001f300", r"[\x{2600}-\x{27bf}]|\x{0001f300}"),
        (r"(?:(?P<q>a)|\))(?=\))b", r"(?:(?P<q>a)|\))(?:)b"),
    ],
)
def test_only_lookarounds_are_left_out(source: str, expected: str) -> None:
    assert without_lookarounds(re.compile(source)) == expected
    assert PatternSet({1: re.compile(source)}).candidates("-") == frozenset()


@pytest.mark.parametrize(
    "pattern",
    [
        re.compile(r"(a)\1"),
        re.compile("(?P<a>b)(?P=a)"),
        re.compile("a b", re.VERBOSE),
        re.compile("a{,3}b"),
        lazy_re("[[:alpha:]]"),
        lazy_re("[^[:alpha:]]"),
        lazy_re("[a[:digit:]]"),
        re.compile(r"\u0131x", re.IGNORECASE),
        re.compile(r"[\u0100-\u0140]x", re.IGNORECASE),
        re.compile("\u0131", re.IGNORECASE),
        re.compile("(?>a)b"),
        re.compile("a++b"),
        re.compile("a{1001}"),
    ],
)
@pytest.mark.filterwarnings("ignore:Possible nested set")
def test_what_re2_would_read_differently_is_refused(pattern: re.Pattern[str]) -> None:
    with pytest.raises(ValueError, match="cannot have"):
        PatternSet({1: pattern}).candidates("b")


def test_the_flags_of_a_pattern_are_kept() -> None:
    one = PatternSet({1: re.compile("^a.c$", re.I | re.M | re.S), 2: re.compile("abc")})
    assert one.candidates("ABC") == {1}


@pytest.mark.parametrize(("name", "key", "pattern", "how"), CASES, ids=lambda one: str(one)[:20])
def test_every_match_of_a_rule_is_a_candidate(
    name: str, key: str, pattern: re.Pattern[str], how: str
) -> None:
    """For texts that are made from the pattern, with others before and after them."""
    chosen = SETS[name]

    @settings(max_examples=10, deadline=None)
    @given(
        st.from_regex(re.compile(pattern.pattern, pattern.flags & ~re.UNICODE | re.ASCII)),
        st.sampled_from(["", "Ana said ", "x", "- ", "So, "]),
        st.sampled_from(["", " now.", "y", ", and then", "?"]),
    )
    def every_text(text: str, before: str, after: str) -> None:
        whole = f"{before if how == 'search' else ''}{text}{after}"
        if getattr(pattern, how)(whole):
            assert key in chosen.candidates(whole)

    every_text()
