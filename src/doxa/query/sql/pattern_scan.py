"""The step that runs the SQL statement of a pattern, for single rows or for batches of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from doxa.base.limits import ACCESS_QUERY_ITEMS_MAX
from doxa.base.values import TAGGED, decode, decode_value
from doxa.cypher.tree import EdgePattern
from doxa.query.core.elements import Node
from doxa.query.core.errors import fail, shown
from doxa.query.core.graph import Graph
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.sql.index_selection import IndexScan
from doxa.query.sql.pattern_sql import Prepared, is_settled, prepare_statement
from doxa.query.sql.plain_lookups import compares_singly, plain_lookups, values_of_one_type
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.query.sql.row_batches import KEYS_MAX, ROWS_MAX, chunks, growing, parts
from doxa.query.sql.row_builders import (
    columns_before,
    elements_of_slots,
    id_columns,
    row_builder,
    value_builders,
)
from doxa.query.sql.value_kinds import bound_value, classify_arguments
from doxa.store import IdColumns
from doxa.store.indexing.keys import keys_of

_T = TypeVar("_T")
_STATEMENTS_MAX = 64
_IDS_MAX = 10 * ACCESS_QUERY_ITEMS_MAX  # ids collected before they are deduplicated
_PREPARED = itemgetter(1)
Lookup = tuple[
    Row, Prepared, list[Any]
]  # a row, its statement, and what stands for the statement's columns
Columns = list[tuple[Any, ...]]  # those of some rows of SQL
Decode = Callable[[Columns], list[Row]]


class ScanProjection(NamedTuple):
    """The slots of the rows that a scan returns, and the columns of SQL with the ids of the
    elements that an access log records; what they mean is said by their place among these."""

    slots: list[int]
    id_columns: list[int]
    meant: IdColumns

    @property
    def is_recorded(self) -> bool:
        return bool(self.id_columns)

    @property
    def rows_max(self) -> int:
        """How many rows wait before their ids are deduplicated."""
        return _IDS_MAX // max(1, len(self.id_columns))

    def ids(self, columns: Columns) -> tuple[IdColumns, list[tuple[Any, ...]]]:
        """Return the ids in columns of SQL, and what they mean."""
        return self.meant, [columns[at] for at in self.id_columns]

    def ids_of_rows(self, rows: Sequence[tuple[Any, ...]]) -> tuple[IdColumns, list[list[Any]]]:
        """Return the same of rows of SQL."""
        return self.meant, [[row[at] for row in rows] for at in self.id_columns]


class PatternScanStep:
    """Run the statement of a pattern for each row and append the result."""

    def __init__(self, pushed: PushedDownPattern, fallbacks: list[Evaluate]) -> None:
        self.pushed = pushed
        self.fallbacks = fallbacks
        self._statements: dict[tuple[Any, ...], Prepared] = {}
        self._indexable = pushed.conditions.indexable()
        self.projection: ScanProjection | None = None

    def project(self, slots: list[int], returned: list[int], traversed: list[int]) -> bool:
        """Return only these slots of the rows, and record the ids in the others as returned or as
        traversed.

        Only for a pattern that is all that a query matches; False if it is impossible.
        """
        pushed, keys = self.pushed, elements_of_slots(self.pushed)
        recorded = returned, traversed
        if pushed.bound or not all(keys[slot] for part in recorded for slot in part):
            return False
        parts = [[key for slot in part for key in keys[slot]] for part in recorded]
        if not id_columns(pushed).keys() >= {key for part in parts for key in part}:
            return False
        pushed.ends = _known_by_edges(pushed, [key for part in parts for key in part])
        place = id_columns(pushed)
        read = [key for key in dict.fromkeys(chain(*parts)) if key in place]
        at = {key: number for number, key in enumerate(read)}
        ids = [tuple(at[key] for key in part if key in at) for part in parts]
        ends = tuple(
            (at[edge], is_last, bool(number))
            for number, part in enumerate(parts)
            for key in part
            if key in pushed.ends
            for edge, is_last in (pushed.ends[key],)
        )
        meant = IdColumns(ids[0], ids[1], ends)
        self.projection = ScanProjection(slots, [place[key] for key in read], meant)
        return True

    def decoder(self) -> Decode | None:
        """Return the function from columns of SQL to rows of properties; None if elements are
        returned, or nothing is."""
        places = self._property_columns()
        if places is None:
            return None
        return lambda columns: list(
            zip(
                *[
                    [
                        None
                        if text is None
                        else decode(text)
                        if TAGGED not in text
                        else decode_value(text)
                        for text in columns[at]
                    ]
                    for at in places
                ],
                strict=True,
            )
        )

    def _property_columns(self) -> list[int] | None:
        slots = [] if self.projection is None else self.projection.slots
        slots_before = len(self.pushed.outputs) + bool(self.pushed.traversed)
        if not slots or min(slots) < slots_before:
            return None
        before = columns_before(self.pushed)
        return [before + slot - slots_before for slot in slots]

    def projected(
        self, run: Run, limit: int | None = None, *, most_rows: int = ROWS_MAX
    ) -> Iterator[list[Row]]:
        """Yield the rows of a projection in lists that grow; with `limit`, hardly more than so
        many. All rows of a list count as accesses."""
        projection = self.projection
        assert projection is not None
        decode, places = self.decoder(), self._property_columns()
        make = self._maker(run) if decode is None else list
        build = cache(partial(self.builder, run))
        texts = None if places is None else [itemgetter(at) for at in dict.fromkeys(places)]
        log = run.accesses if projection.is_recorded else None
        waiting, rows_max = 0, projection.rows_max
        for _, prepared, values in self._lookups(run, iter(((),))):
            leftover = prepared.leftover
            rows = run.graph.rows(prepared.sql, _arguments(prepared, values))
            if limit is not None and not leftover:
                rows = islice(rows, limit)
            for found in growing(iter(rows), most=1 if leftover else most_rows, texts=texts):
                if len(found) > 1:
                    run.raise_if_cancelled()
                else:
                    run.tick()
                if leftover:
                    whole = build()(found[0])
                    if not all(test(whole, run) is True for test in leftover):
                        continue
                columns: Columns = []
                if log is not None or decode is not None:
                    columns = list(zip(*found, strict=True))
                if log is not None:
                    log.columns.append(projection.ids(columns))
                    waiting += len(found)
                    if waiting > rows_max:
                        log.deduplicate()
                        waiting, log = 0, None if log.full else log
                yield decode(columns) if decode is not None else make(found)

    def _maker(self, run: Run) -> Callable[[list[tuple[Any, ...]]], list[Row]]:
        """The function from rows of SQL to rows, which hold elements."""
        assert self.projection is not None
        builders = value_builders(self.pushed, run.graph)
        made = [builders[slot] for slot in self.projection.slots]
        return lambda found: [tuple([part(row) for part in made]) for row in found]

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if self.projection is not None:
            # steps that follow, such as a LIMIT, may not want what is read ahead
            counts = run.accesses is not None and self.projection.is_recorded
            return chain.from_iterable(self.projected(run, most_rows=1 if counts else ROWS_MAX))
        return self._found(run, source)

    def _found(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        """Yield each row with a row of SQL that was found for it."""
        build, tests = self.builder(run), self.pushed.conditions.tests
        if len(tests) == 1 and not self.pushed.bound and compares_singly(tests):
            yield from self._found_by_one(run, source, build)
            return
        lookups = self._lookups(run, source)
        for chunk in chunks(lookups):  # most patterns have one row before them
            yield from _of_chunk(run, build, chunk)

    def _found_by_one(
        self, run: Run, source: Iterator[Row], build: Callable[[tuple[Any, ...]], Row]
    ) -> Iterator[Row]:
        """The same for a pattern with one test. Rows whose values have one type, and are whole keys
        of an index, are looked up many at once, up to the first that are not."""
        tests = self.pushed.conditions.tests
        evaluate = tests[0].value
        keyed: dict[type, Prepared] = {}  # by the type of the values
        pieces = chunks(source, most=KEYS_MAX)
        for rows in pieces:
            if len(rows) == 1:  # most often all there are
                (row,) = rows
                found = self._prepare(run, row, *classify_arguments(tests, [evaluate(row, run)]))
                if found is not None:
                    pairs = _found(run.graph, found[0], [(row, *found)])
                    yield from _tested(run, build, found[0], pairs)
                continue
            values = values_of_one_type(evaluate, rows, run)
            if values is not None and type(values[0]) not in keyed:
                found = self._prepare(run, rows[0], *classify_arguments(tests, values[:1]))
                if found is not None and found[0].template.of_keys:
                    keyed[type(values[0])] = found[0]
            if values is None or type(values[0]) not in keyed:
                rest = chain(rows, chain.from_iterable(pieces))
                for chunk in chunks(self._lookups(run, rest)):
                    yield from _of_chunk(run, build, chunk)
                return
            prepared = keyed[type(values[0])]
            statement = prepared.template.statement_of_keys(keys_of(values))
            pairs = ((rows[one[-1]], one) for one in run.graph.rows(*statement))
            yield from _tested(run, build, prepared, pairs)

    def _lookups(self, run: Run, source: Iterator[Row]) -> Iterator[Lookup]:
        """Yield the rows that may have a result, with their statements."""
        tests = self.pushed.conditions.tests
        if not self.pushed.bound and compares_singly(tests):
            yield from plain_lookups(tests, run, source, partial(self._prepare, run))
            return
        last: tuple[str, ...] | None = None
        for row in source:
            compared = self.prepared(run, row)
            if compared is None:
                continue
            values, kinds = compared
            if kinds != last:
                last, prepared = kinds, self.statement(run, kinds)
            index_scan = prepared.index_scan
            limits = None if index_scan is None else index_scan.limits(values)
            if index_scan is None or limits is not None:
                yield (
                    row,
                    prepared,
                    [self._argument(arg, row, values, limits) for arg in prepared.columns],
                )

    def _prepare(
        self, run: Run, row: Row, values: list[Any], kinds: tuple[str, ...]
    ) -> tuple[Prepared, list[Any]] | None:
        prepared = self.statement(run, kinds)
        scan = prepared.index_scan
        limits = None if scan is None else scan.limits(values)
        if scan is not None and limits is None:
            return None
        return prepared, [self._argument(arg, row, values, limits) for arg in prepared.columns]

    def prepared(self, run: Run, row: Row) -> tuple[list[Any], tuple[str, ...]] | None:
        """Return the values to compare with and their kinds; None if a null node rules out every
        result."""
        for slot in self.pushed.bound.values():
            if row[slot] is None:
                return None
        tests = self.pushed.conditions.tests
        return classify_arguments(tests, [test.value(row, run) for test in tests])

    def leftover(self, kinds: tuple[str, ...]) -> list[Evaluate]:
        """Return the conditions that SQL omits for these kinds."""
        return [
            test
            for test, left in zip(
                self.fallbacks, self.pushed.conditions.leftover(kinds), strict=True
            )
            if left
        ]

    def bind(
        self, args: list[Any], index_scan: IndexScan | None, row: Row, values: list[Any]
    ) -> list[Any] | None:
        """Return the arguments of the statement; None if the index cannot contain a match."""
        limits = None if index_scan is None else index_scan.limits(values)
        if index_scan is not None and limits is None:
            return None
        return [
            self._argument(arg, row, values, limits) if type(arg) is tuple else arg for arg in args
        ]

    def _argument(
        self, arg: Any, row: Row, values: list[Any], limits: Mapping[str, Any] | None
    ) -> Any:
        if len(arg) == 1:
            assert limits is not None
            return limits[arg[0]]
        kind, place = arg
        if kind == "test":
            return bound_value(values[place])
        node = row[place]
        if not isinstance(node, Node):
            fail(f"A pattern needs a node here, not {shown(node)}.")
        return node.id

    def builder(self, run: Run) -> Callable[[tuple[Any, ...]], Row]:
        """Return the function from a row of SQL to the appended values."""
        return row_builder(self.pushed, run)

    def statement(self, run: Run, kinds: tuple[str, ...]) -> Prepared:
        return self.kept(
            self._statements,
            run,
            kinds,
            lambda: prepare_statement(self.pushed, run, kinds)._replace(
                leftover=self.leftover(kinds)
            ),
        )

    def kept(
        self,
        statements: dict[tuple[Any, ...], _T],
        run: Run,
        kinds: tuple[str, ...],
        make: Callable[[], _T],
    ) -> _T:
        """Return the statement that was made for values of these kinds and a graph like this one,
        or make it: it depends on the indexes, the time and what the policies show."""
        graph = run.graph
        serial = graph.indexes().serial if self._indexable else 0
        times = graph.as_of, graph.as_of is not None and graph.has_past, graph.sight_key
        known = (kinds, serial, is_settled(graph), *times)
        held = statements.get(known)
        if held is None:
            if len(statements) >= _STATEMENTS_MAX:
                statements.clear()
            held = statements[known] = make()
        return held


def _known_by_edges(
    pushed: PushedDownPattern, recorded: Sequence[str]
) -> dict[str, tuple[str, bool]]:
    """Return which of the recorded nodes are an end of a recorded edge, and of which."""
    found: dict[str, tuple[str, bool]] = {}
    for edge in pushed.edges:
        assert isinstance(edge.pattern, EdgePattern), "one statement finds single edges"
        if edge.key in recorded and edge.pattern.direction != "both":
            leads_right = edge.pattern.direction == "out"
            found[edge.left] = edge.key, not leads_right
            found[edge.right] = edge.key, leads_right
    return {key: found[key] for key in recorded if key in found}


def _of_chunk(
    run: Run, build: Callable[[tuple[Any, ...]], Row], lookups: list[Lookup]
) -> Iterator[Row]:
    """Each row with the values that were found for it, those of one statement in batches."""
    for prepared, same_statement in groupby(lookups, key=_PREPARED):
        for part in parts(list(same_statement)):
            yield from _tested(run, build, prepared, _found(run.graph, prepared, part))


def _tested(
    run: Run,
    build: Callable[[tuple[Any, ...]], Row],
    prepared: Prepared,
    pairs: Iterable[tuple[Row, tuple[Any, ...]]],
) -> Iterator[Row]:
    """Each row with the values that were found for it, if they fulfil what SQL leaves to test."""
    leftover = prepared.leftover
    for row, found in pairs:
        run.tick()
        after = row + build(found)
        if not leftover or all(test(after, run) is True for test in leftover):
            yield after


def _found(
    graph: Graph, prepared: Prepared, lookups: list[Lookup]
) -> Iterator[tuple[Row, tuple[Any, ...]]]:
    """Each row with what was found for it."""
    many = (
        prepared.template.statement([values for _, _, values in lookups])
        if len(lookups) > 1
        else None
    )
    if many is not None:
        return ((lookups[found[-1]][0], found) for found in graph.rows(*many))
    return (
        (row, found)
        for row, _, values in lookups
        for found in graph.rows(prepared.sql, _arguments(prepared, values))
    )


def _arguments(prepared: Prepared, values: list[Any]) -> list[Any]:
    if len(prepared.columns) == len(prepared.args):  # each once, in order
        return values
    place = dict(zip(prepared.columns, values, strict=True))
    return [place[arg] if type(arg) is tuple else arg for arg in prepared.args]
