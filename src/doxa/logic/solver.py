"""Decide whether sentences are consistent: a small complete SAT solver with a step limit.

A `Theory` accepts sentences one by one and rejects those that are inconsistent with earlier ones.
It keeps a model (the set of true atoms) that satisfies all of them. A new sentence that the model
satisfies, or would satisfy with one more true atom, needs no search. Otherwise the sentences become
clauses (Tseitin's translation: each part that is not an atom gets a variable) and DPLL (Davis,
Logemann and Loveland, 1962) searches for a model. "At most one value per item and predicate" is a
group, not a clause for every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from doxa.base.errors import LimitError
from doxa.base.limits import SOLVER_STEPS_MAX
from doxa.logic.sentence import And, Atom, Implies, Not, Or, Sentence, Topic, atoms

Clause = tuple[int, ...]  # literals: the number of a variable, negative if it is negated
World = frozenset[str]  # the keys of the true atoms


def is_true(sentence: Sentence, world: Iterable[str]) -> bool:
    """Return whether a sentence is true if exactly these atoms are."""
    match sentence:
        case Atom():
            return sentence.key in world
        case Not(of):
            return not is_true(of, world)
        case And(parts):
            return all(is_true(part, world) for part in parts)
        case Or(parts):
            return any(is_true(part, world) for part in parts)
        case Implies(given, then):
            return not is_true(given, world) or is_true(then, world)


class Theory:
    """A consistent set of sentences. `single` returns whether a topic has at most one value."""

    def __init__(self, single: Callable[[Topic], bool], sentences: Iterable[Sentence] = ()) -> None:
        """Raises ValueError if the first sentences contradict each other."""
        self._single = single
        self._about: dict[str, list[Sentence]] = {}  # atom -> sentences that contain it
        self._values: dict[Topic, set[str]] = {}  # single topic -> its atoms so far
        self._world: set[str] = set()
        for sentence in sentences:
            if not self.add(sentence):
                raise ValueError("the sentences contradict each other")

    def add(self, sentence: Sentence) -> bool:
        """Add a sentence. Returns False, and changes nothing, if it is inconsistent with the
        others. Raises LimitError if deciding that takes too many steps."""
        if not is_true(sentence, self._world) and not (
            isinstance(sentence, Atom) and self._made_true(sentence)
        ):
            part, keys = self._connected(sentence)
            world = world_of([*part, sentence], self._single)
            if world is None:
                return False
            self._world = (self._world - keys) | world
        for atom in atoms(sentence):
            self._about.setdefault(atom.key, []).append(sentence)
            if self._single(atom.topic):
                self._values.setdefault(atom.topic, set()).add(atom.key)
        return True

    def allows(self, sentence: Sentence) -> bool:
        """Return whether a sentence is consistent with the others."""
        return (
            is_true(sentence, self._world)
            or world_of([*self._connected(sentence)[0], sentence], self._single) is not None
        )

    def _connected(self, sentence: Sentence) -> tuple[list[Sentence], set[str]]:
        """Return the sentences that share atoms or single topics with a sentence, directly or
        indirectly, and all atoms of them. The rest of the model is independent of it."""
        found: dict[int, Sentence] = {}
        keys: set[str] = set()
        pending = list(atoms(sentence))
        while pending:
            atom = pending.pop()
            for key in (
                atom.key,
                *(self._values.get(atom.topic, ()) if self._single(atom.topic) else ()),
            ):
                if key not in keys:
                    keys.add(key)
                    for other in self._about.get(key, ()):
                        if id(other) not in found:
                            found[id(other)] = other
                            pending += atoms(other)
        return list(found.values()), keys

    def _made_true(self, atom: Atom) -> bool:
        """Make one atom true in the current model if all sentences remain true."""
        if any(key in self._world for key in self._values.get(atom.topic, ())):
            return False
        self._world.add(atom.key)
        if all(is_true(sentence, self._world) for sentence in self._about.get(atom.key, ())):
            return True
        self._world.discard(atom.key)
        return False


def world_of(sentences: Sequence[Sentence], single: Callable[[Topic], bool]) -> World | None:
    """Find a model of all the sentences, or return None if there is none. Raises LimitError after
    SOLVER_STEPS_MAX steps."""
    clauses = _Clauses(single)
    for sentence in sentences:
        clauses.state(sentence)
    found = _Search(clauses).run()
    return (
        None
        if found is None
        else frozenset(key for key, variable in clauses.numbers.items() if found.get(variable))
    )


class _Clauses:
    """Sentences as clauses over numbered variables, and groups in which at most one variable is
    true."""

    def __init__(self, single: Callable[[Topic], bool]) -> None:
        self.numbers: dict[str, int] = {}
        self.clauses: list[Clause] = []
        self.group_of: dict[int, list[int]] = {}
        self._groups: dict[Topic, list[int]] = {}
        self._single = single
        self.count = 0

    def state(self, sentence: Sentence) -> None:
        """Assert a sentence: its conjuncts one by one, so that most need no extra variable."""
        match sentence:
            case And(parts):
                for part in parts:
                    self.state(part)
            case Or(parts):
                self.clauses.append(tuple(self._literal(part) for part in parts))
            case Implies(given, then):
                self.clauses.append((-self._literal(given), self._literal(then)))
            case Not(Not(of)):
                self.state(of)
            case Not(Or(parts)):
                for part in parts:
                    self.state(Not(part))
            case _:
                self.clauses.append((self._literal(sentence),))

    def _literal(self, sentence: Sentence) -> int:
        match sentence:
            case Atom():
                return self._variable(sentence)
            case Not(of):
                return -self._literal(of)
            case Implies(given, then):
                return self._any([-self._literal(given), self._literal(then)])
            case Or(parts):
                return self._any([self._literal(part) for part in parts])
            case And(parts):
                return -self._any([-self._literal(part) for part in parts])

    def _variable(self, atom: Atom) -> int:
        known = self.numbers.get(atom.key)
        if known is None:
            self.count += 1
            known = self.numbers[atom.key] = self.count
            if self._single(atom.topic):
                group = self._groups.setdefault(atom.topic, [])
                group.append(known)
                self.group_of[known] = group
        return known

    def _any(self, parts: list[int]) -> int:
        """Return a new variable that is true if and only if one of the parts is."""
        self.count += 1
        made = self.count
        self.clauses.append((-made, *parts))
        self.clauses += [(made, -part) for part in parts]
        return made


class _Search:
    """One run of DPLL: `holds` is the current assignment, `_trail` the order of its decisions."""

    def __init__(self, problem: _Clauses) -> None:
        self._clauses = problem.clauses
        self._group_of = problem.group_of
        self._count = problem.count
        self._in: dict[int, list[Clause]] = {}  # literal -> clauses that hold it
        for clause in self._clauses:
            for literal in clause:
                self._in.setdefault(literal, []).append(clause)
        self.holds: dict[int, bool] = {}
        self._trail: list[int] = []
        self._steps = 0

    def run(self) -> dict[int, bool] | None:
        due = [clause[0] for clause in self._clauses if len(clause) == 1]
        if not all(self._clauses) or not self._propagate(due):
            return None
        tried: list[tuple[int, int]] = []  # (length of the trail before, the literal tried)
        while (variable := self._undecided()) is not None:
            literal = -variable  # false first, for a model with few true atoms
            tried.append((len(self._trail), literal))
            while not self._propagate([literal]):
                while tried and tried[-1][1] > 0:
                    tried.pop()
                if not tried:
                    return None
                at, literal = tried.pop()
                self._undo(at)
                literal = -literal
                tried.append((at, literal))
        return self.holds

    def _undecided(self) -> int | None:
        """Return a variable of a clause that is not yet true, or None; other variables may be
        false."""
        for clause in self._clauses:
            self._step()
            if not any(self.holds.get(abs(literal)) == (literal > 0) for literal in clause):
                return next(abs(literal) for literal in clause if abs(literal) not in self.holds)
        return None

    def _propagate(self, due: list[int]) -> bool:
        """Make literals true with all their consequences. Returns False on a conflict."""
        due = list(due)
        while due:
            literal = due.pop()
            known = self.holds.get(abs(literal))
            if known is not None:
                if known != (literal > 0):
                    return False
                continue
            self.holds[abs(literal)] = literal > 0
            self._trail.append(abs(literal))
            if literal > 0:
                due += [-other for other in self._group_of.get(literal, ()) if other != literal]
            for clause in self._in.get(-literal, ()):
                self._step()
                unit = self._unit(clause)
                if unit == 0:
                    return False
                if unit is not None:
                    due.append(unit)
        return True

    def _unit(self, clause: Clause) -> int | None:
        """Return the only literal that can still make the clause true, 0 if there is none, or None
        if the clause is true or several literals can."""
        found = 0
        for literal in clause:
            known = self.holds.get(abs(literal))
            if known is None:
                if found:
                    return None
                found = literal
            elif known == (literal > 0):
                return None
        return found

    def _undo(self, length: int) -> None:
        for variable in self._trail[length:]:
            del self.holds[variable]
        del self._trail[length:]

    def _step(self) -> None:
        self._steps += 1
        if self._steps > SOLVER_STEPS_MAX:
            raise LimitError(
                "The solver could not decide within"
                f" {SOLVER_STEPS_MAX:,} steps whether these sentences are consistent.",
                next_step="State simpler sentences, or fewer rules about the same items.",
                limit_steps=SOLVER_STEPS_MAX,
            )
