"""The assembly of a context: one ordered pipeline of stages, one budget of tokens.

    stages -> lines -> copies dropped -> obligations added -> fitted by pool -> blocks -> text

Every line is quoted, dated and has a reason. A pool has a share of the budget; what it does not
need goes to the next pool, never back. So a block depends on those before it and on nothing after
it, blocks that change with every turn come last, and the text begins with the same bytes while what
is known stays the same. There is at most one copy of anything: the first line that says it stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from doxa.agent.context.obligations import obligations
from doxa.agent.context.phrases import phrases_of
from doxa.agent.context.stages import (
    MODES,
    POOLS,
    WHOLE_SHARE,
    ContextLine,
    Pool,
    Situation,
    Stage,
)
from doxa.agent.context.vouching import plain
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN
from doxa.base.quoting import quoted
from doxa.recall.budget import tokens_of
from doxa.redaction.stripping import BLOCK

# A line that says what it quotes and nothing else: - "…" [note], - the person: "…" [note]
_SAID = re.compile(r'- (?:[\w ]+: )?("(?:[^"\\]|\\.)*") \[')
_QUOTED_PART = ' part="quoted"'


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that is not in the context, and why."""

    stage: str
    kref: str
    reason: str


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The lines of one stage under its title. `tokens` counts both; `is_quoted`: it holds what
    others said, as data."""

    stage: str
    pool: Pool
    title: str
    lines: tuple[ContextLine, ...]
    is_quoted: bool
    tokens: int

    @property
    def text(self) -> str:
        """Title and lines."""
        return "\n".join((self.title, *(line.text for line in self.lines)))


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """What an agent begins a turn with: blocks in their order, what was left out, and tokens.

    `instructions` may be given to a model with the authority of a system message; `quotations`
    holds what others said, and belongs into a message of the user or of a tool.
    """

    project: str
    mode: str
    language: str
    blocks: tuple[ContextBlock, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int
    tokens_max: int

    @property
    def instructions(self) -> str:
        """The part that a person or doxa stands for; "" if there is none."""
        parts = [block.text for block in self.blocks if not block.is_quoted]
        return _framed(self.project, "", parts) if parts else ""

    @property
    def quotations(self) -> str:
        """The part that quotes what others said; "" if there is none."""
        parts = [block.text for block in self.blocks if block.is_quoted]
        head = [phrases_of(self.language).frames["quoted"]]
        return _framed(self.project, _QUOTED_PART, head + parts) if parts else ""

    @property
    def text(self) -> str:
        """Both parts."""
        return "\n".join(filter(None, (self.instructions, self.quotations)))

    def explained(self) -> str:
        """Return each line with its stage, its pool and its reason, and what was left out."""
        found = [f"{self.tokens} of {self.tokens_max} tokens, mode {self.mode}"]
        for block in self.blocks:
            found.append(f"{block.stage} ({block.pool}, {block.tokens} tokens)")
            found += [f"  {line.text}\n      {line.reason}" for line in block.lines]
        if self.left_out:
            found.append("left out")
            found += [
                f"  {one.stage}: {one.kref or 'a line'}: {one.reason}" for one in self.left_out
            ]
        return "\n".join(found)


def _framed(project: str, part: str, parts: Sequence[str]) -> str:
    head = f"<{BLOCK} project={quoted(project)}{part}>"
    return "\n".join((head, *parts, f"</{BLOCK}>"))


def assemble(stages: Iterable[Stage], situation: Situation, *, tokens_max: int) -> AssembledContext:
    """Assemble the context of a situation from stages, in their order.

    Raises LimitError for a budget that is too small or too large, InputError for an unknown mode or
    language.
    """
    _check(situation, tokens_max)
    order = tuple(POOLS)
    titles = phrases_of(situation.language).frames
    frame = _framed(situation.project, "", ())
    quoted_frame = _framed(situation.project, _QUOTED_PART, (titles["quoted"],))
    left, budget, pool_before = 0.0, tokens_max - tokens_of(frame) - 1, -1
    quoted_head = tokens_of(quoted_frame) + 1
    copies = Copies()
    blocks: list[ContextBlock] = []
    dropped: list[LeftOut] = []
    for stage in stages:
        pool = order.index(stage.pool)
        if pool < pool_before or (stage.instead is not None and pool_before >= 0):
            raise InputError(
                f"The stage {stage.name} is of the pool {stage.pool}, after a later pool.",
                next_step="List stages by pool, and those that are given whole first.",
                field="stages",
            )
        if stage.instead is not None:
            whole = _whole(stage, situation, titles[stage.name], int(budget * WHOLE_SHARE), dropped)
            if whole is not None:
                blocks.append(whole)
                budget -= whole.tokens
                for line in whole.lines:
                    copies.add(line, stage.name)
            continue
        left += sum(budget * POOLS[one] for one in order[pool_before + 1 : pool + 1])
        pool_before = pool
        if situation.mode not in stage.modes:
            dropped.append(LeftOut(stage.name, "", f"not in the mode {situation.mode}"))
            continue
        head = quoted_head if stage.quoted and not any(b.is_quoted for b in blocks) else 0
        block = _block(stage, situation, titles[stage.name], int(left) - head, copies, dropped)
        if block is not None:
            blocks.append(block)
            left -= block.tokens + head
    ordered = sorted(blocks, key=lambda block: block.is_quoted)
    made = AssembledContext(
        situation.project,
        situation.mode,
        situation.language,
        tuple(ordered),
        tuple(dropped),
        0,
        tokens_max,
    )
    return replace(made, tokens=tokens_of(made.text) if blocks else 0)


def _block(
    stage: Stage,
    situation: Situation,
    title: str,
    left: int,
    copies: Copies,
    dropped: list[LeftOut],
) -> ContextBlock | None:
    """The lines of a stage that are new and fit; None if there are none."""
    lines = list(stage.lines(situation))
    checked = (lambda line: line) if stage.checked else obligations(lines, situation)
    used = tokens_of(title) + 1
    kept: list[ContextLine] = []
    for line in lines:
        known = copies.of(line, by_words=not stage.distinct)
        if known is not None:
            dropped.append(LeftOut(stage.name, line.kref, f"{known} says it already"))
            continue
        made = checked(line)
        size = tokens_of(made.text) + 1
        if used + size > left:
            dropped.append(LeftOut(stage.name, line.kref, "it does not fit in the budget"))
            continue
        kept.append(made)
        copies.add(line, stage.name)
        used += size
    if not kept:
        return None
    return ContextBlock(stage.name, stage.pool, title, tuple(kept), stage.quoted, used)


def _whole(
    stage: Stage, situation: Situation, title: str, left: int, dropped: list[LeftOut]
) -> ContextBlock | None:
    """All lines of a stage, or the one that says why they are not there."""
    assert stage.instead is not None
    lines = tuple(stage.lines(situation))

    def size_of(found: Sequence[ContextLine]) -> int:
        return tokens_of(title) + 1 + sum(tokens_of(line.text) + 1 for line in found)

    if size_of(lines) > left:
        why = "all of its lines together do not fit in the budget"
        dropped += [LeftOut(stage.name, line.kref, why) for line in lines]
        lines = (stage.instead(situation, lines),)
    if not lines or size_of(lines) > left:
        return None
    return ContextBlock(stage.name, stage.pool, title, lines, stage.quoted, size_of(lines))


class Copies:
    """What is said already, by address and by words."""

    def __init__(self) -> None:
        self._by_kref: dict[str, str] = {}
        self._by_words: dict[str, str] = {}

    def of(self, line: ContextLine, *, by_words: bool) -> str | None:
        """Return the stage that says what the line says, or None."""
        found = self._by_kref.get(line.kref) if line.kref else None
        return found or (self._by_words.get(_words(line)) if by_words else None)

    def add(self, line: ContextLine, stage: str) -> None:
        """Note what a line says."""
        for kref in filter(None, (line.kref, *line.holds)):
            self._by_kref[kref] = stage
        self._by_words[_words(line)] = stage


def _words(line: ContextLine) -> str:
    """What a line says: its quotation, if it is one; else all of it."""
    said = _SAID.match(line.text)
    found = json.loads(said.group(1)) if said is not None else line.text
    return plain(found) or line.text


def _check(situation: Situation, tokens_max: int) -> None:
    if situation.mode not in MODES:
        raise InputError(
            f"{str(situation.mode)[:40]!r} is not a mode.",
            next_step=f"Use one of {', '.join(MODES)}.",
            field="mode",
        )
    phrases_of(situation.language)
    if not CONTEXT_TOKENS_MIN <= tokens_max <= CONTEXT_TOKENS_MAX:
        raise LimitError(
            f"A context has {CONTEXT_TOKENS_MIN:,} to {CONTEXT_TOKENS_MAX:,} tokens, not"
            f" {tokens_max:,}.",
            next_step="Give another budget.",
            limit_tokens=CONTEXT_TOKENS_MAX,
        )
