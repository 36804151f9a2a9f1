"""What is believed that may matter to some sentences: read from the graph, as the pure model of
logic/revision.py takes it.

A belief is one sentence of a current revision: its facts first, then its other sentences. It is
asked for by the keys of atoms, level by level (`relevant_constraints`), so that a revision
costs what it touches and not what the project holds.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

from doxa.base.clock import TIME_MAX
from doxa.base.errors import DoxaError, LimitError
from doxa.base.ids import NodeId
from doxa.base.limits import CONNECTED_ITEMS_MAX, SAID_ALIKE_ITEMS_MAX
from doxa.belief.project_rules import ProjectRules, laws_of
from doxa.logic.constraints import LookupKeys, relevant_constraints
from doxa.logic.entrenchment import EntrenchmentFactors
from doxa.logic.revision import Belief
from doxa.logic.sentence import Atom, Sentence, atoms, key_start, parse_sentence, stored
from doxa.store import TRUSTS, Node, Reader, Transaction

SentenceRef = tuple[NodeId, int]  # a revision and the place of one of its sentences


class Window(NamedTuple):
    """When something is said to hold, in ns UTC: from `start` until before `end`."""

    start: int
    end: int

    def within(self, other: Window) -> bool:
        return other.start <= self.start and self.end <= other.end


ALWAYS = Window(-TIME_MAX, TIME_MAX)


def window_of(valid_from: object, valid_until: object) -> Window:
    return Window(
        valid_from if isinstance(valid_from, int) else ALWAYS.start,
        valid_until if isinstance(valid_until, int) else ALWAYS.end,
    )


def node_window(node: Node) -> Window:
    return window_of(node.props.get("valid_from"), node.props.get("valid_until"))


def sentences_of(node: Node) -> tuple[Sentence, ...]:
    """Return what a revision states: its facts, then its other sentences, those of them that are
    sentences."""
    return tuple(sentence for _, _, sentence in stated_by(node))


def stated_by(node: Node) -> Iterator[tuple[str, str, Sentence]]:
    """Return (property, stored text, sentence) of each."""
    for name in ("facts", "sentences"):
        held = node.props.get(name)
        for text in held if isinstance(held, list) else ():
            try:
                yield name, str(text), parse_sentence(text)
            except DoxaError:  # a fact of an older file, about what no sentence can be about
                continue


def trust_rank(node: Node) -> int:
    trust = node.props.get("trust")
    return TRUSTS.index(trust) if trust in TRUSTS else 0


def standing_of(reader: Reader, node: Node) -> EntrenchmentFactors:
    """Return what the order of entrenchment looks at. Support: how many different sessions, authors
    or beliefs it was derived from, at least one."""
    p = cast("dict[str, Any]", node.props)
    support = reader.rows(_SUPPORT, (node.id,))[0][0]
    return EntrenchmentFactors(
        p["kind"],
        trust_rank(node),
        max(1, support),
        float(p["confidence"]),
        p["time"],
        (node.id,),
    )


_SUPPORT = (
    "SELECT count(DISTINCT coalesce(n.props ->> '$.session', n.props ->> '$.author', n.props ->>"
    " '$.kref')) FROM edge e JOIN node n ON n.id = e.dst WHERE e.src = ? AND e.type IN"
    " ('DERIVED_FROM', 'EVIDENCES')"
)


class RelevantBeliefs:
    """The believed sentences of a project that are connected with what is asked about, and the laws
    that connect them."""

    def __init__(
        self, reader: Reader, project: str, *, leave_out: frozenset[NodeId] = frozenset()
    ) -> None:
        """`leave_out`: revisions that do not count, such as the one that is being replaced."""
        self._reader = reader
        self.project = project
        self.rules: ProjectRules = laws_of(reader, project)
        self.laws: list[Sentence] = []
        self.nodes: dict[NodeId, Node] = {}
        self.sentences: dict[SentenceRef, Sentence] = {}
        self._standings: dict[NodeId, EntrenchmentFactors] = {}
        self._leave_out = leave_out
        self._limit, self._limit_alike = CONNECTED_ITEMS_MAX, SAID_ALIKE_ITEMS_MAX
        self._said: set[str] = set()  # many may say the same: what counts is how much they say
        if isinstance(reader, Transaction):
            reader.flush_atoms()

    def gather(self, said: Iterable[Atom]) -> None:
        """Read what is connected with these atoms. Raises LimitError where that is too much for one
        operation."""
        self.laws = relevant_constraints(said, self.rules.constraints, self._at)

    def gather_all(self) -> Iterator[frozenset[SentenceRef]]:
        """Return everything that the project believes, in the parts that are connected with each
        other; `laws` are those of the current part."""
        self._limit = self._limit_alike = sys.maxsize
        self._take(self._reader.saying(self.project, starts=['["']), None)
        at: dict[str, list[SentenceRef]] = defaultdict(list)
        for said, sentence in self.sentences.items():
            for atom in atoms(sentence):
                at[self._place(atom)].append(said)
        taken: set[SentenceRef] = set()
        for said, sentence in list(self.sentences.items()):
            if said not in taken:
                part: set[SentenceRef] = {said}
                self.laws = relevant_constraints(
                    atoms(sentence), self.rules.constraints, partial(self._part_at, at, part)
                )
                taken |= part
                yield frozenset(part)

    def _part_at(
        self, at: Mapping[str, list[SentenceRef]], part: set[SentenceRef], places: LookupKeys
    ) -> list[Sentence]:
        found = {said for place in (*places.keys, *places.prefixes) for said in at.get(place, ())}
        part |= found
        return [self.sentences[said] for said in sorted(found)]

    def _place(self, atom: Atom) -> str:
        return key_start(atom.topic) if self.rules.constraints.is_single(atom.topic) else atom.key

    def _at(self, places: LookupKeys) -> list[Sentence]:
        return self._take(
            self._reader.saying(self.project, keys=places.keys, starts=places.prefixes), places
        )

    def _take(self, identities: list[NodeId], places: LookupKeys | None) -> list[Sentence]:
        wanted = [identity for identity in identities if identity not in self._leave_out]
        for node in self._reader.nodes(
            [identity for identity in wanted if identity not in self.nodes]
        ):
            self.nodes[node.id] = node
        found: list[Sentence] = []
        keys, starts = (set(places.keys), set(places.prefixes)) if places else (set(), set())
        for identity in wanted:
            for place, sentence in (
                enumerate(sentences_of(self.nodes[identity])) if identity in self.nodes else ()
            ):
                if (identity, place) in self.sentences:
                    continue
                if places is None or any(
                    atom.key in keys or key_start(atom.topic) in starts for atom in atoms(sentence)
                ):
                    self.sentences[identity, place] = sentence
                    self._said.add(stored(sentence))
                    found.append(sentence)
        if len(self._said) > self._limit or len(self.sentences) > self._limit_alike:
            raise LimitError(
                f"More than {CONNECTED_ITEMS_MAX:,} beliefs are connected with this one by rules"
                " and sentences.",
                next_step=(
                    "State fewer sentences about many things at once, or rules that connect less."
                ),
                limit_items=CONNECTED_ITEMS_MAX,
            )
        return found

    def standing(self, identity: NodeId) -> EntrenchmentFactors:
        if identity not in self._standings:
            self._standings[identity] = standing_of(self._reader, self.nodes[identity])
        return self._standings[identity]

    def beliefs(self, at: Window, part: Collection[SentenceRef]) -> list[Belief]:
        """Return those of a part that hold through the whole of a window, each with its rank."""
        return [
            Belief(
                said,
                self.sentences[said],
                (*self.rules.order.key(self.standing(said[0])), -said[1]),
            )
            for said in part
            if at.within(node_window(self.nodes[said[0]]))
        ]

    def slices(self, within: Window, part: Collection[SentenceRef]) -> list[Window]:
        """Cut a window wherever one of the beliefs begins or ends to hold, so that within each
        piece the same beliefs hold throughout."""
        borders = {within.start, within.end}
        for identity in {said[0] for said in part}:
            window = node_window(self.nodes[identity])
            borders |= {border for border in window if within.start < border < within.end}
        ordered = sorted(borders)
        return [Window(start, end) for start, end in pairwise(ordered)]
