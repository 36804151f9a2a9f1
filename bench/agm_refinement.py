"""The graph refines the model: random sequences of belief operations, each done on a memory and on
the pure operators, compared after each step.

The model knows revisions as lists of sentences with a standing and a window, and nothing of nodes
or edges. It is asked at a few instants of valid time; at each of them what is current in the graph
must be what the model believes. Then all changes are undone one by one, and each earlier base must
come back as it was; what was believed at each moment is read again as of that moment.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from doxa.base.clock import TIME_MAX, FakeClock
from doxa.base.errors import ConflictError, InputError
from doxa.belief import CURRENT, Change, Draft, Ledger
from doxa.belief.graph import last_of
from doxa.belief.relevant_beliefs import node_window, sentences_of
from doxa.belief.stating import stated_facts
from doxa.logic.constraints import BeliefConstraints, parse_constraints
from doxa.logic.entrenchment import Entrenchment, EntrenchmentFactors
from doxa.logic.revision import Belief, Outcome, conjunction, contract, revise
from doxa.logic.sentence import And, Atom, Implies, Not, Or, Sentence, atoms, stored, worded
from doxa.store import TRUSTS, Identity, Reader, Store

INSTANTS = (5, 15, 25, 35)  # between the borders that windows are made of
_ALWAYS = (-TIME_MAX, TIME_MAX)
_BORDERS = (-TIME_MAX, 10, 20, 30, TIME_MAX)
_NAMES = ("one", "two", "three")
_KINDS = ("fact", "preference", "inference")
Base = dict[int, frozenset[str]]
Window = tuple[int, int]
GivenUp = dict[int, dict[int, list[int]]]  # number of the revision, place of the sentence, instants


@dataclass(frozen=True)
class Rev:
    """A believed revision of the model: its sentences hold at the same instants, which follow on
    each other."""

    item: str
    sentences: tuple[Sentence, ...]
    standing: EntrenchmentFactors
    instants: tuple[int, ...]

    def said(self, instant: int) -> list[str]:
        return [stored(sentence) for sentence in self.sentences] if instant in self.instants else []


def runs(instants: Sequence[int]) -> list[tuple[int, ...]]:
    """Instants cut where one is left out."""
    found: list[list[int]] = []
    for instant in instants:
        if found and INSTANTS.index(instant) == INSTANTS.index(found[-1][-1]) + 1:
            found[-1].append(instant)
        else:
            found.append([instant])
    return [tuple(run) for run in found]


class Model:
    """What is believed, by the pure operators alone."""

    def __init__(self, constraints: BeliefConstraints) -> None:
        self.constraints, self.order = constraints, Entrenchment()
        self.believed: list[Rev] = []
        self.number = 0

    def base(self) -> Base:
        return {
            instant: frozenset(text for rev in self.believed for text in rev.said(instant))
            for instant in INSTANTS
        }

    def laws(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Every law about every item that is spoken of: more than the connected part, which must
        make no difference."""
        spoken = {atom.topic for sentence in sentences for atom in atoms(sentence)}
        named = {topic[0] for topic in spoken}
        predicates = {atom.topic[1] for law in self.constraints.sentences for atom in atoms(law)}
        return list(
            dict.fromkeys(
                law
                for item in sorted(named)
                for name in sorted(predicates)
                for law in self.constraints.about((item, name))
            )
        )

    def operate(
        self,
        operation: Callable[..., Outcome],
        sentences: Sequence[Sentence],
        instants: Sequence[int],
    ) -> GivenUp:
        """What is given up, in the order in which it goes."""
        lost: GivenUp = {}
        for instant in instants:
            base = [
                Belief((number, place), sentence, (*self.order.key(rev.standing), -place))
                for number, rev in enumerate(self.believed)
                if instant in rev.instants
                for place, sentence in enumerate(rev.sentences)
            ]
            laws = self.laws([*sentences, *(belief.sentence for belief in base)])
            for loss in operation(
                base, conjunction(sentences), self.constraints, ground_constraints=laws
            ).lost:
                number, place = cast("tuple[int, int]", loss.belief.id)
                lost.setdefault(number, {}).setdefault(place, []).append(instant)
        return lost

    def apply(self, lost: GivenUp) -> None:
        """What stays of a revision is said by later ones, in its name: first what loses nothing,
        then what is left of the rest, early first."""
        gone, made = set(lost), []
        for number, places in lost.items():
            rev = self.believed[number]
            pieces: dict[tuple[int, ...], list[Sentence]] = {}
            for place, sentence in enumerate(rev.sentences):
                for run in runs(
                    [instant for instant in rev.instants if instant not in places.get(place, ())]
                ):
                    pieces.setdefault(run, []).append(sentence)
            for count, run in enumerate(sorted(pieces, key=lambda run: (run != rev.instants, run))):
                item = rev.item if count == 0 else f"{rev.item} {self.number}"
                made.append(
                    Rev(item, tuple(pieces[run]), rev.standing._replace(revision=self.next()), run)
                )
        self.believed = [
            *(rev for number, rev in enumerate(self.believed) if number not in gone),
            *made,
        ]

    def next(self) -> tuple[int]:
        """The number of the next revision."""
        self.number += 1
        return (self.number,)

    def trusts_more(self, lost: GivenUp, trust: int) -> bool:
        return any(self.believed[number].standing.trust > trust for number in lost)

    def other_than(self, item: str) -> Model:
        """A copy without what an item says."""
        found = Model(self.constraints)
        found.believed, found.number = (
            [rev for rev in self.believed if rev.item != item],
            self.number,
        )
        return found


def items_of(reader: Reader, project: str) -> list[tuple[Any, ...]]:
    """(node, address) of each item of a project, in order."""
    sql = (
        "SELECT n.id, n.kref FROM node n JOIN node_label l ON l.node = n.id AND l.label = 'Item' "
        "WHERE n.kref IS NOT NULL AND n.kref > ? AND n.kref < ? ORDER BY n.id"
    )
    return reader.rows(sql, (f"kref://{project}/", f"kref://{project}0"))


def within(window: Window) -> tuple[int, ...]:
    return tuple(instant for instant in INSTANTS if window[0] <= instant < window[1])


def base_in(reader: Reader, project: str, time: int | None = None) -> Base:
    """What is current in the graph, now or as of a system time, at each instant of valid time."""
    found: dict[int, set[str]] = {instant: set() for instant in INSTANTS}
    for identity, _ in items_of(reader, project):
        edges = (
            reader.edges_out(identity, CURRENT)
            if time is None
            else reader.edges_as_of(identity, time, kind=CURRENT)
        )
        for node in reader.nodes([edge.dst for edge in edges]):
            window = node_window(node)
            for instant in INSTANTS:
                if window.start <= instant < window.end:
                    found[instant].update(stored(sentence) for sentence in sentences_of(node))
    return {instant: frozenset(said) for instant, said in found.items()}


class RandomSequence:
    """One random sequence in a project of its own."""

    def __init__(self, store: Store, clock: FakeClock, seed: int, *, windows: bool) -> None:
        self.rng = random.Random(seed)
        self.store, self.clock, self.windows = store, clock, windows
        self.project = f"p{seed}" + ("w" if windows else "")
        self.ledger = Ledger(store, Identity("ana", "operator"))
        self.model = Model(BeliefConstraints())
        self.changes: list[tuple[Change, Base]] = []  # with the base before
        self.history: list[tuple[int, Base]] = []
        self.wrong: list[str] = []
        self.told: list[str] = []

    def run(self, steps: int) -> list[str]:
        """Mismatches in words; none is what is wanted."""
        if self.rng.random() < 0.4:
            self._constrain()
        for _ in range(steps):
            self.clock.advance(seconds=1)
            before = [*self.model.believed]
            options = [self._believe, self._believe, self._contract]
            if not self.windows:
                options += [
                    self._put,
                    self._put,
                    self._deprecate_or_restore,
                    self._rollback,
                    self._contract_fact,
                ]
            step = self.rng.choice(options)
            base = self.model.base()
            change = step()
            if change is None or change.change is None:
                self.model.believed = before if change is None else self.model.believed
            else:
                self.changes.append((change, base))
            self._compare(f"after {step.__name__.strip('_')}")
            if change is not None and change.change is not None:
                self.history.append((change.time, self.model.base()))
            if self.wrong:
                return self.wrong
        with self.store.read() as reader:
            for time, base in self.history:
                if base_in(reader, self.project, time) != base:
                    self._wrong(f"as of {time} the base is another")
        if not self.wrong:
            self._undo_all()
        return self.wrong

    def _compare(self, when: str) -> None:
        with self.store.read() as reader:
            found, wanted = base_in(reader, self.project), self.model.base()
        if found != wanted:
            for instant in INSTANTS:
                if found[instant] != wanted[instant]:
                    more, less = (
                        sorted(found[instant] - wanted[instant]),
                        sorted(wanted[instant] - found[instant]),
                    )
                    self._wrong(f"{when}, at {instant}: too much {more}, too little {less}")
                    return

    def _undo_all(self) -> None:
        for change, base in reversed(self.changes):
            self.ledger.undo(change.change or 0)
            with self.store.read() as reader:
                if base_in(reader, self.project) != base:
                    self._wrong(
                        f"undoing {change.action} {change.kref} does not bring the base before it"
                        " back"
                    )
                    return

    # Steps: each on both, returning the change of the graph; None where both refused

    def _constrain(self) -> None:
        rule: dict[str, Any] = self.rng.choice(
            (
                {"exclusions": [[["*", "likes", "tea"], ["*", "likes", "milk"]]]},
                {"rules": [{"if": ["*", "lives in", "Oslo"], "then": ["*", "likes", "tea"]}]},
                {"functional": []},
                {
                    "rules": [
                        {"if": ["Ana", "likes", "tea"], "then": {"not": ["Bo", "likes", "tea"]}}
                    ]
                },
            )
        )
        self.told.append(f"constrain {rule}")
        self.ledger.constrain(self.project, constraints=rule)
        self.model = Model(parse_constraints(rule))

    def _sentence(self, depth: int = 2) -> Sentence:
        if depth == 0 or self.rng.random() < 0.6:
            predicate, values = self.rng.choice(
                (("lives in", ("Oslo", "Rome", "Bonn")), ("likes", ("tea", "milk")))
            )
            return Atom(self.rng.choice(("Ana", "Bo")), predicate, self.rng.choice(values))
        parts = self._sentence(depth - 1), self._sentence(depth - 1)
        return self.rng.choice((Not(parts[0]), And(parts), Or(parts), Implies(*parts)))

    def _window(self) -> Window:
        if not self.windows or self.rng.random() < 0.3:
            return _ALWAYS
        start, end = sorted(self.rng.sample(range(len(_BORDERS)), 2))
        return _BORDERS[start], _BORDERS[end]

    def _draft(
        self, sentences: Sequence[Sentence], window: Window, name: str = ""
    ) -> tuple[Draft, str]:
        facts, rest = stated_facts(sentences)
        kind, trust = (
            self.rng.choice(_KINDS),
            self.rng.choice(("stated", "stated", "stated", "candidate", "verified")),
        )
        draft = Draft(
            "; ".join(map(worded, sentences)),
            project=self.project,
            name=name,
            kind=kind,
            facts=facts,
            sentences=rest,
            trust=trust,
            confidence=self.rng.choice((0.5, 1.0)),
            valid_from=None if window[0] == -TIME_MAX else window[0],
            valid_until=None if window[1] == TIME_MAX else window[1],
        )
        self.told.append(
            f"{name or 'believe'} {trust} {kind}: {draft.summary}"
            f" {'' if window == _ALWAYS else window}"
        )
        return draft, f"kref://{self.project}/{name}.{kind}" if name else ""

    def _believe(self) -> Change | None:
        """Nothing may be lost but what contradicts it, whatever address it gets."""
        window = self._window()
        draft, _ = self._draft(
            [self._sentence() for _ in range(self.rng.choice((1, 1, 2)))], window
        )
        return self._state(draft, window, "", lambda: self.ledger.believe(draft))

    def _put(self) -> Change | None:
        """What the item said before is replaced."""
        window = self._window()
        draft, item = self._draft(
            [self._sentence() for _ in range(self.rng.choice((1, 2, 3)))],
            window,
            self.rng.choice(_NAMES),
        )
        return self._state(draft, window, item, lambda: self.ledger.put(draft))

    def _state(
        self, draft: Draft, window: Window, item: str, call: Callable[[], Change]
    ) -> Change | None:
        sentences, instants = (
            (*(Atom(*fact) for fact in draft.facts), *draft.sentences),
            within(window),
        )
        rest = self.model.other_than(item)
        replaced = [rev for rev in self.model.believed if rev.item == item]
        try:
            lost = rest.operate(revise, sentences, instants)
        except InputError:
            with suppress(InputError):
                call()
                self._wrong("what cannot be true was taken in")
            return None
        trust = TRUSTS.index(draft.trust)
        higher = rest.trusts_more(lost, trust) or any(
            rev.standing.trust > trust for rev in replaced
        )
        change = call()
        if change.action == "unchanged":
            return change
        if (change.action == "challenged") != higher:
            self._wrong(
                f"{change.action}, but what is trusted more {'is' if higher else 'is not'} at stake"
            )
        made = Rev(
            change.kref.partition("?")[0],
            sentences,
            EntrenchmentFactors(
                draft.kind, trust, 1, draft.confidence, change.time, self.model.next()
            ),
            instants,
        )
        if change.action == "challenged":
            return self._decided(change, made)
        rest.number = self.model.number
        rest.apply(lost)
        rest.believed = [
            *(self._without(rev, made) if rev.item == made.item else rev for rev in rest.believed),
            made,
        ]
        self.model = rest
        return change

    @staticmethod
    def _without(rev: Rev, again: Rev) -> Rev:
        """A revision at an address that a statement got, which then must say all of it."""
        return replace(
            rev,
            sentences=tuple(
                sentence
                for sentence in rev.sentences
                if stored(sentence) not in again.said(again.instants[0])
            ),
        )

    def _decided(self, change: Change, made: Rev) -> Change:
        """Sometimes somebody decides at once; the conflict and the decision are undone one after
        the other."""
        if self.rng.random() < 0.5:
            return change
        self.changes.append((change, self.model.base()))
        decision = self.rng.choice(("accept", "reject"))
        self.told.append(decision)
        decided = self.ledger.resolve(change.conflict, decision)
        if decision == "accept":
            self._let_in(made)
        return decided

    def _let_in(self, made: Rev) -> None:
        rest = self.model.other_than(made.item)
        if made.sentences:
            rest.apply(rest.operate(revise, made.sentences, made.instants))
        rest.believed.append(made)
        self.model = rest

    def _wrong(self, what: str) -> None:
        self.wrong.append(f"{self.project}: {what}. {' / '.join(self.told)}")

    def _contract(self) -> Change | None:
        sentence = self._sentence()
        self.told.append(f"contract {worded(sentence)}")
        self.model.apply(self.model.operate(contract, [sentence], INSTANTS))
        return self.ledger.contract_sentence(self.project, [sentence])

    def _contract_fact(self) -> Change | None:
        said = [
            (rev.item, sentence)
            for rev in self.model.believed
            for sentence in rev.sentences
            if isinstance(sentence, Atom)
        ]
        if not said:
            return None
        item, atom = self.rng.choice(said)
        facts, _ = stated_facts([atom])
        self.told.append(f"contract {item} {worded(atom)}")
        self.model.apply(self.model.operate(contract, [atom], INSTANTS))
        return self.ledger.contract(item, fact=facts[0])

    def _deprecate_or_restore(self) -> Change | None:
        item = self._item()
        if item is None:
            return None
        with self.store.read() as reader:
            node = reader.node_by_kref(item)
            assert node is not None
            last = last_of(reader, node)
        if not node.props.get("deprecated"):
            self.told.append(f"deprecate {item}")
            self.model.believed = [rev for rev in self.model.believed if rev.item != item]
            return self.ledger.deprecate(item)
        self.told.append(f"restore {item}")
        if last is None:
            return self.ledger.restore(item)
        return self._again(item, last, lambda: self.ledger.restore(item))

    def _rollback(self) -> Change | None:
        item = self._item()
        if item is None:
            return None
        number = self.rng.randint(1, 3)
        with self.store.read() as reader:
            node = reader.node_by_kref(f"{item}?r={number}")
        if node is None:
            return None
        self.told.append(f"rollback {item}?r={number}")
        return self._again(item, node, lambda: self.ledger.rollback(f"{item}?r={number}"))

    def _again(self, item: str, node: Any, call: Callable[[], Change]) -> Change | None:
        """An old revision is the input, with the standing that it has."""
        p = node.props
        standing = EntrenchmentFactors(
            p["kind"], TRUSTS.index(p["trust"]), 1, p["confidence"], p["time"], self.model.next()
        )
        made = Rev(item, sentences_of(node), standing, INSTANTS)
        rest = self.model.other_than(item)
        if made.sentences and rest.trusts_more(
            rest.operate(revise, made.sentences, INSTANTS), standing.trust
        ):
            with suppress(ConflictError):
                call()
                self._wrong("a more trusted belief was retracted for an old revision")
            return None
        change = call()
        if change.action != "unchanged":
            self._let_in(made)
        return change

    def _item(self) -> str | None:
        with self.store.read() as reader:
            rows = items_of(reader, self.project)
        return self.rng.choice(rows)[1] if rows else None
