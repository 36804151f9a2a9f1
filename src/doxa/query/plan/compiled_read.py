"""Plans that are one SQL statement over parameters, made whole once.

    plan ─► (types of its parameters, what the catalogue declares) ─► SQL, bindings, decoder

A later run binds its values, reads and decodes, and nothing is built again. The statement begins
with whole keys of an index, so its rows are most often few. They are read at once, and no snapshot
stays open for them. What such a plan cannot do as it is (values of other types, many rows, a past
time, fading properties) runs the general way, which decides every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doxa.query.core.graph import Graph
from doxa.query.core.operators import INT_MAX, INT_MIN
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.exec.projection_steps import DistinctStep, ProjectStep, are_done
from doxa.query.expressions.compiler import LiteralValue, ParameterReference
from doxa.query.sql.exactness import UndecidedInSQL
from doxa.query.sql.grouping import GroupedScanStep
from doxa.query.sql.index_selection import KEY, IndexScan
from doxa.query.sql.pattern_scan import PatternScanStep, ScanProjection
from doxa.query.sql.value_kinds import classify_arguments
from doxa.store import Reader
from doxa.store.indexing.keys import key_of
from doxa.store.reader import NOW, timed

if TYPE_CHECKING:
    from doxa.query.exec.union import UnionStep
    from doxa.store.declared import Declared

_MADE_MAX = 64
_ASIDE = 32  # runs that go the general way after one that could not be compiled
_COMPARED = frozenset(("=", "<", "<=", ">", ">="))
_NONE: Any = object()
Types = tuple[type, ...] | type
Given = tuple[Types, list[Any]]  # the types of the values that are compared, and the values
Decode = Callable[[list[tuple[Any, ...]]], list[Row]]
Bind = Callable[[list[Any], int], list[Any]]


class CompiledRead:
    """One statement for values of these types, under one state of the catalogue."""

    __slots__ = ("_decode", "aside", "bind", "declared", "projection", "sql")

    def __init__(
        self,
        declared: Declared,
        sql: str = "",
        bind: Bind = lambda values, now: values,
        decode: Decode = list,
        projection: ScanProjection | None = None,
    ) -> None:
        """Without `sql` the plan runs the general way for these types. `projection` says where the
        ids are that an access log records; None if it records none."""
        self.declared, self.sql, self.bind = declared, sql, bind
        self._decode, self.projection = decode, projection
        self.aside = 0  # how many of the next runs go the general way

    def takes_its_turn(self) -> bool:
        """Return whether to run it now, or else the general way; counts the runs of that."""
        if self.aside:
            self.aside -= 1
            return False
        return bool(self.sql)

    def put_aside(self) -> None:
        """Go the general way for a while: many rows were found, or what SQL cannot decide."""
        self.aside = _ASIDE

    def rows(self, found: list[tuple[Any, ...]]) -> list[Row] | None:
        """Return the rows of the query for those of SQL, or None if it has to run the general
        way."""
        try:
            return self._decode(found)
        except UndecidedInSQL:
            self.put_aside()
            return None


class CompilableRead:
    """What of a plan is known before its parameters are. Shared by all runs of the plan."""

    def __init__(
        self,
        scan: PatternScanStep,
        grouped: GroupedScanStep | None,
        take_row: Callable[[Row], Row] | None,
        distinct: DistinctStep | None,
    ) -> None:
        self._scan, self._grouped, self._take_row = scan, grouped, take_row
        self._distinct = distinct
        tests = scan.pushed.conditions.tests
        names = [getattr(test.value, "name", None) for test in tests]
        constants = [getattr(test.value, "value", None) for test in tests]
        self._values = list(zip(names, constants, strict=True))
        self._only = names[0] if len(tests) == 1 else None
        self.parameters_used = len({name for name in names if name is not None})
        self._made: dict[Types, CompiledRead] = {}

    def given(self, params: Mapping[str, Any]) -> Given | None:
        """Return the types and values of the tests; None if a parameter is missing, or is of
        another type than numbers, truth values and texts. What other parameters hold is not looked
        at."""
        if self._only is not None:
            value = params.get(self._only, _NONE)
            return (type(value), [value]) if _is_plain(value) else None
        values = [
            constant if name is None else params.get(name, _NONE) for name, constant in self._values
        ]
        if not all(map(_is_plain, values)):
            return None
        return tuple(map(type, values)), values

    def compiled(self, reader: Reader, declared: Declared, given: Given) -> CompiledRead:
        """Return the statement for values of these types, and make it if it is not there."""
        types, values = given
        held = self._made.get(types)
        if held is None or held.declared is not declared:
            if len(self._made) >= _MADE_MAX:
                self._made.clear()
            made = self._compile(Graph(reader), values)
            held = self._made[types] = made or CompiledRead(declared)
        return held

    def known(self, declared: Declared, types: Types) -> CompiledRead | None:
        """Return the statement if it was made before under this state of the catalogue."""
        held = self._made.get(types)
        return held if held is not None and held.declared is declared else None

    def _compile(self, graph: Graph, values: list[Any]) -> CompiledRead | None:
        sight = graph.sight
        if sight is None or any(
            sight.fades(edge=edge) or sight.unsure(edge=edge) is not None for edge in (False, True)
        ):
            return None
        run = Run(graph, {}, now_ns=graph.reader.now)
        _, kinds = classify_arguments(self._scan.pushed.conditions.tests, values)
        if self._scan.leftover(kinds):
            return None
        sql, args, scan = self._statement(run, kinds)
        decode = self._decoder()
        if scan is None or decode is None:
            return None
        is_timed = NOW in sql
        bind = _binder(args, scan, timed=is_timed)
        if bind is None:
            return None
        projection = self._scan.projection
        recorded = projection if projection is not None and projection.is_recorded else None
        sql = timed(sql) if is_timed else sql
        return CompiledRead(graph.reader.declared(), sql, bind, decode, recorded)

    def _statement(
        self, run: Run, kinds: tuple[str, ...]
    ) -> tuple[str, list[Any], IndexScan | None]:
        if self._grouped is None:
            prepared = self._scan.statement(run, kinds)
            return prepared.sql, prepared.args, prepared.index_scan
        try:
            made = self._grouped.statement(run, kinds)
        except UndecidedInSQL:
            return "", [], None
        return made.sql, [*made.select_args, *made.args], made.index_scan

    def _decoder(self) -> Decode | None:
        if self._grouped is not None:
            return _grouped_decoder(self._grouped, self._take_row)
        decode, distinct = self._scan.decoder(), self._distinct
        if decode is None:
            return None
        if distinct is None:
            return lambda found: decode(list(zip(*found, strict=True))) if found else []
        return lambda found: list(
            distinct.new_rows()(decode(list(zip(*found, strict=True))) if found else [])
        )


def compilable_read(steps: UnionStep | None) -> CompilableRead | None:
    """Return what may be compiled of a plan: a pattern from which only properties are returned,
    DISTINCT or not, or which is grouped, with comparisons of properties with parameters and
    literals alone."""
    found = None if steps is None else steps.single()
    if not found:
        return None
    first, *rest = found
    distinct = None
    if isinstance(first, PatternScanStep):
        if rest and isinstance(last := rest[-1], DistinctStep):
            distinct = last
            rest.pop()
        if first.projection is None or not are_done(rest):
            return None
        scan, grouped, take_row = first, None, None
    elif isinstance(first, GroupedScanStep):
        if len(rest) != 1 or type(rest[0]) is not ProjectStep or rest[0].take_rows is None:
            return None
        if rest[0].keep or rest[0].widen:
            return None
        scan, grouped, take_row = first.step, first, rest[0].take_rows
    else:
        return None
    tests = scan.pushed.conditions.tests
    if (
        scan.pushed.bound
        or not tests
        or not all(
            test.name is not None
            and test.op in _COMPARED
            and type(test.value) in (ParameterReference, LiteralValue)
            and not getattr(test.value, "name", "").startswith("_")
            for test in tests
        )
    ):
        return None
    return CompilableRead(scan, grouped, take_row, distinct)


def _is_plain(value: Any) -> bool:
    """Whether how SQL compares the value depends on its type alone."""
    kind = type(value)
    if kind is int:
        return bool(INT_MIN <= value <= INT_MAX)
    if kind is str:
        return "\x00" not in value and (value.isascii() or _is_encodable(value))
    return kind is bool


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _binder(args: Sequence[Any], scan: IndexScan, *, timed: bool) -> Bind | None:
    """Return the function from values, and the time, to the arguments of a statement; None if these
    depend on more than values and one whole key."""
    if not scan.is_single:
        return None
    fixed = [0, *args] if timed else list(args)
    keys, tests = [], []
    for at, arg in enumerate(fixed):
        if type(arg) is not tuple:
            continue
        if arg == KEY:
            keys.append(at)
        elif arg[0] == "test":
            tests.append((at, arg[1]))
        else:
            return None
    if len(keys) != 1:
        return None
    key_at = keys[0]
    in_key = [condition.bounds[0].test for condition in scan.points]

    def bind(values: list[Any], now: int) -> list[Any]:
        bound = fixed.copy()
        if timed:
            bound[0] = now
        bound[key_at] = key = key_of([values[number] for number in in_key])
        assert key is not None, "no value is null"
        for at, number in tests:
            bound[at] = values[number]
        return bound

    return bind


def _grouped_decoder(
    grouped: GroupedScanStep, take_row: Callable[[Row], Row] | None
) -> Decode | None:
    """The same for groups; None if a node is a key."""
    assert take_row is not None
    if any(key.kind == "node" for key in grouped.keys):
        return None
    if not grouped.keys and all(measure.function == "count" for measure in grouped.measures):
        return lambda found: [take_row(row) for row in found]
    return lambda found: [take_row(row) for row in grouped.merged(found)]
