"""The position in the token list while parsing: looking ahead, taking, and errors that name the
expected token. The parsers build on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from doxa.base.limits import EXPRESSION_DEPTH_MAX
from doxa.cypher.errors import fail
from doxa.cypher.tokens import Tick, Token, no_tick, token_end, tokens
from doxa.cypher.tree import Expression, PathPattern, Query


class Cursor:
    def __init__(self, text: str, tick: Tick = no_tick) -> None:
        self.text = text
        self.tick = tick
        self.tokens = tokens(text, tick)
        self.index = 0
        self.depth = 0
        self.bar_ends = False  # inside [x IN xs WHERE n:A | ...] a bar ends a label expression
        self.dynamic_labels = False  # in SET and REMOVE a label may be $(expression)
        self.listed_labels = False  # there labels are a list, and & does not join them
        self.no_pattern: set[int] = (
            set()
        )  # token indexes where no path pattern starts, to keep nested attempts linear

    # Looking

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def ahead(self, count: int = 1) -> Token:
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def is_op(self, text: str) -> bool:
        token = self.tokens[self.index]
        return token.kind == "OP" and token.text == text

    def is_word(self, *words: str) -> bool:
        """Return whether the next tokens are these keywords, in order."""
        last = len(self.tokens) - 1
        return all(
            self.tokens[min(self.index + i, last)].upper == word for i, word in enumerate(words)
        )

    # Taking

    def take(self) -> Token:
        token = self.tokens[self.index]
        if token.kind != "END":
            self.index += 1
        return token

    def take_op(self, text: str) -> bool:
        if self.is_op(text):
            self.index += 1
            return True
        return False

    def take_word(self, *words: str) -> bool:
        if self.is_word(*words):
            self.index += len(words)
            return True
        return False

    def need_op(self, text: str) -> Token:
        if not self.is_op(text):
            self.unexpected(f"{text!r}")
        return self.take()

    def need_word(self, *words: str) -> Token:
        if not self.is_word(*words):
            self.unexpected(" ".join(words))
        token = self.token
        self.index += len(words)
        return token

    def name(self, what: str = "a name") -> str:
        token = self.token
        if token.kind not in ("NAME", "QUOTED"):
            self.unexpected(what)
        self.index += 1
        return token.text

    def whole_number(self) -> int:
        token = self.token
        if token.kind != "INT":
            self.unexpected("a whole number")
        self.index += 1
        assert isinstance(token.value, int)
        return token.value

    def dotted(self, what: str) -> str:
        parts = [self.name(what)]
        while self.take_op("."):
            parts.append(self.name(what))
        return ".".join(parts)

    def source(self, start: int) -> str:
        """Return the text from a token index to the last token taken, without comments after
        it."""
        last, following = self.tokens[self.index - 1], self.tokens[self.index].at
        end = min(following, token_end(self.text, last.at))
        return self.text[self.tokens[start].at : end]

    # Failing

    def unexpected(self, expected: str) -> None:
        token = self.token
        seen = "the end of the query" if token.kind == "END" else repr(token.text[:40])
        fail(f"Expected {expected}, found {seen}.", token.at)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        self.tick()
        self.depth += 1
        if self.depth > EXPRESSION_DEPTH_MAX:
            fail(
                f"The query nests deeper than {EXPRESSION_DEPTH_MAX} levels.",
                self.token.at,
                detail="NestingTooDeep",
                hint="Split it with WITH.",
            )
        try:
            yield
        finally:
            self.depth -= 1

    # Implemented by the parsers that build on this one

    def expression(self) -> Expression:
        raise NotImplementedError

    def path_pattern(self) -> PathPattern:
        raise NotImplementedError

    def patterns(self) -> tuple[PathPattern, ...]:
        raise NotImplementedError

    def query(self) -> Query:
        raise NotImplementedError
