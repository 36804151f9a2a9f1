"""Parse clauses, and queries with UNION."""

from __future__ import annotations

from doxa.cypher import tree as t
from doxa.cypher.errors import fail
from doxa.cypher.patterns import PatternParser


class ClauseParser(PatternParser):
    def query(self) -> t.Query:
        with self.deeper():
            at = self.token.at
            branches = [self._single()]
            every: bool | None = None
            while self.is_word("UNION"):
                token = self.take()
                all_rows = self.take_word("ALL")
                if not all_rows:
                    self.take_word("DISTINCT")
                if every is not None and every != all_rows:
                    fail(
                        "UNION and UNION ALL cannot be mixed.",
                        token.at,
                        detail="InvalidClauseComposition",
                        hint="Use one of them throughout.",
                    )
                every = all_rows
                branches.append(self._single())
            return t.Query(tuple(branches), bool(every), at=at)

    def _single(self) -> tuple[t.Clause, ...]:
        clauses: list[t.Clause] = []
        while True:
            clause = self._clause()
            if clause is None:
                break
            clauses.append(clause)
        if not clauses:
            self.unexpected("a clause such as MATCH, CREATE or RETURN")
        return tuple(clauses)

    def _clause(self) -> t.Clause | None:
        token = self.token
        if token.kind != "NAME":
            return None
        match token.upper:
            case "MATCH" | "OPTIONAL":
                return self._match()
            case "UNWIND":
                return self._unwind()
            case "WITH":
                self.take()
                projection = self.projection()
                return t.With(
                    projection, self.expression() if self.take_word("WHERE") else None, at=token.at
                )
            case "RETURN":
                self.take()
                return t.Return(self.projection(), at=token.at)
            case "CALL":
                return self._call_clause(optional=False)
            case "LOAD":
                return self._load_csv()
            case "USE":
                self.take()
                return t.Use(self.dotted("a database"), at=token.at)
            case "FINISH":
                self.take()
                return t.Finish(at=token.at)
            case _:
                return self._update()

    def _update(self) -> t.Clause | None:
        token = self.token
        match token.upper:
            case "CREATE":
                self.take()
                return t.Create(self.patterns(), at=token.at)
            case "MERGE":
                return self._merge()
            case "SET":
                self.take()
                return t.Set(self._set_items(), at=token.at)
            case "REMOVE":
                return self._remove()
            case "DELETE" | "DETACH" | "NODETACH":
                return self._delete()
            case "FOREACH":
                return self._foreach()
            case _:
                return None

    # Reading

    def _match(self) -> t.Clause:
        at = self.token.at
        optional = self.take_word("OPTIONAL")
        if optional and self.is_word("CALL"):
            return self._call_clause(optional=True)
        self.need_word("MATCH")
        patterns = self.patterns()
        hints: list[str] = []
        while self.is_word("USING"):
            hints.append(self._hint())
        where = self.expression() if self.take_word("WHERE") else None
        return t.Match(patterns, where, optional, tuple(hints), at=at)

    def _hint(self) -> str:
        """USING INDEX n:Label(property), USING SCAN n:Label, USING JOIN ON n: kept as text."""
        start = self.index
        self.take()
        if self.take_word("JOIN", "ON"):
            self.name("a variable")
            while self.take_op(","):
                self.name("a variable")
            return self.source(start)
        for kind in ("INDEX", "SCAN", "TEXT", "RANGE", "POINT"):
            if self.take_word(kind):
                self.take_word("INDEX")
                self.take_word("SEEK")
                self.name("a variable")
                self.need_op(":")
                self.name("a label")
                if self.take_op("("):
                    self.name("a property")
                    while self.take_op(","):
                        self.name("a property")
                    self.need_op(")")
                return self.source(start)
        self.unexpected("INDEX, SCAN or JOIN")
        raise AssertionError

    def _unwind(self) -> t.Clause:
        at = self.take().at
        source = self.expression()
        self.need_word("AS")
        return t.Unwind(source, self.name("a variable"), at=at)

    def projection(self) -> t.Projection:
        at = self.token.at
        distinct = self.take_word("DISTINCT")
        star = False
        items: list[t.Item] = []
        if self.is_op("*"):
            self.take()
            star = True
            while self.take_op(","):
                items.append(self._item())
        else:
            items.append(self._item())
            while self.take_op(","):
                items.append(self._item())
        order: list[t.SortItem] = []
        if self.take_word("ORDER", "BY"):
            order.append(self._sort_item())
            while self.take_op(","):
                order.append(self._sort_item())
        skip = self.expression() if self.take_word("SKIP") or self.take_word("OFFSET") else None
        limit = self.expression() if self.take_word("LIMIT") else None
        return t.Projection(tuple(items), star, distinct, tuple(order), skip, limit, at=at)

    def _item(self) -> t.Item:
        start, at = self.index, self.token.at
        expression = self.expression()
        text = self.source(start)
        if self.take_word("AS"):
            return t.Item(expression, self.name("an alias"), True, at=at)
        if isinstance(expression, t.Variable):
            return t.Item(expression, expression.name, True, at=at)
        return t.Item(expression, text, False, at=at)

    def _sort_item(self) -> t.SortItem:
        at = self.token.at
        expression = self.expression()
        for word in ("DESCENDING", "DESC", "ASCENDING", "ASC"):
            if self.take_word(word):
                return t.SortItem(expression, word.startswith("DESC"), at=at)
        return t.SortItem(expression, at=at)

    def _load_csv(self) -> t.Clause:
        at = self.need_word("LOAD").at
        self.need_word("CSV")
        headers = self.take_word("WITH", "HEADERS")
        self.need_word("FROM")
        source = self.expression()
        self.need_word("AS")
        variable = self.name("a variable")
        separator = None
        if self.take_word("FIELDTERMINATOR"):
            token = self.take()
            if token.kind != "TEXT" or not isinstance(token.value, str) or len(token.value) != 1:
                fail("The field terminator is a text of one character.", token.at)
            separator = token.value
        return t.LoadCsv(source, variable, headers, separator, at=at)

    # CALL

    def _call_clause(self, *, optional: bool) -> t.Clause:
        at = self.need_word("CALL").at
        if self.is_op("{") or self.is_op("("):
            return self._call_subquery(at, optional=optional)
        name = self.dotted("a procedure")
        args: tuple[t.Expression, ...] | None = None
        if self.take_op("("):
            found: list[t.Expression] = []
            if not self.is_op(")"):
                found.append(self.expression())
                while self.take_op(","):
                    found.append(self.expression())
            self.need_op(")")
            args = tuple(found)
        yields, where = self._yields() if self.take_word("YIELD") else (None, None)
        return t.CallProcedure(name, args, yields, where, optional, at=at)

    def _yields(self) -> tuple[tuple[tuple[str, str], ...], t.Expression | None]:
        if self.take_op("-"):
            return (), None
        pairs: list[tuple[str, str]] = []
        if self.take_op("*"):
            pairs.append(("*", "*"))
        else:
            while True:
                name = self.name("a result column")
                pairs.append((name, self.name("an alias") if self.take_word("AS") else name))
                if not self.take_op(","):
                    break
        return tuple(pairs), self.expression() if self.take_word("WHERE") else None

    def _call_subquery(self, at: int, *, optional: bool) -> t.Clause:
        imports: tuple[str, ...] | None = None
        if self.take_op("("):
            names: list[str] = []
            if self.take_op("*"):
                names.append("*")
            elif not self.is_op(")"):
                names.append(self.name("a variable"))
                while self.take_op(","):
                    names.append(self.name("a variable"))
            self.need_op(")")
            imports = tuple(names)
        self.need_op("{")
        query = self.query()
        self.need_op("}")
        batch = self._batch() if self.is_word("IN") else None
        return t.CallSubquery(query, imports, batch, optional, at=at)

    def _batch(self) -> t.Batch:
        at = self.need_word("IN").at
        if self.token.kind == "INT" or self.is_word(
            "CONCURRENT"
        ):  # IN 2 CONCURRENT TRANSACTIONS: one writer, so the number has no effect
            if self.token.kind == "INT":
                self.take()
            self.need_word("CONCURRENT")
        self.need_word("TRANSACTIONS")
        rows: t.Expression | None = None
        on_error, report = "FAIL", None
        while True:
            if self.take_word("OF"):
                rows = self.expression()
                if not (self.take_word("ROWS") or self.take_word("ROW")):
                    self.unexpected("ROWS")
            elif self.take_word("ON", "ERROR"):
                word = self.take().upper
                if word not in ("FAIL", "CONTINUE", "BREAK"):
                    fail("ON ERROR takes FAIL, CONTINUE or BREAK.", self.token.at)
                on_error = word
            elif self.take_word("REPORT", "STATUS", "AS"):
                report = self.name("a variable")
            else:
                return t.Batch(rows, on_error, report, at=at)  # type: ignore[arg-type]

    # Updating

    def _merge(self) -> t.Clause:
        at = self.need_word("MERGE").at
        pattern = self.path_pattern()
        created: list[t.UpdateItem] = []
        matched: list[t.UpdateItem] = []
        while self.take_word("ON"):
            if self.take_word("CREATE"):
                target = created
            else:
                self.need_word("MATCH")
                target = matched
            self.need_word("SET")
            target.extend(self._set_items())
        return t.Merge(pattern, tuple(created), tuple(matched), at=at)

    def _set_items(self) -> tuple[t.UpdateItem, ...]:
        items = [self._set_item()]
        while self.take_op(","):
            items.append(self._set_item())
        return tuple(items)

    def _set_item(self) -> t.UpdateItem:
        at = self.token.at
        target = self._target()
        if isinstance(target, t.HasLabels):
            return t.SetLabels(target.of, _plain_labels(target.labels), at=at)
        if self.take_op("+="):
            return t.SetAll(_variable(target), self.expression(), True, at=at)
        self.need_op("=")
        value = self.expression()
        if isinstance(target, (t.Property, t.Index)):
            return t.SetProperty(target, value, at=at)
        return t.SetAll(_variable(target), value, False, at=at)

    def _target(self) -> t.Expression:
        """What SET and REMOVE may change: n, n.name, n[…], (expression).name, n:Label."""
        target = self._atom()
        self.dynamic_labels = self.listed_labels = True
        target = self._postfix(target)
        if self.take_word("IS"):
            target = t.HasLabels(target, self.label_expression(), at=target.at)
        self.dynamic_labels = self.listed_labels = False
        named = target.labels if isinstance(target, t.HasLabels) else None
        direct = named.items if isinstance(named, t.LabelAnd) else (named,)
        for part in t.walk(target):
            if isinstance(part, t.LabelOf) and not any(part is one for one in direct):
                fail(
                    "Labels that are computed when the query runs are allowed in SET and REMOVE,"
                    " next to plain ones.",
                    part.at,
                )
        if isinstance(target, t.Sign) or not isinstance(
            target, (t.Variable, t.Property, t.Index, t.HasLabels)
        ):
            fail("Only a variable, a property or labels can be changed.", target.at)
        return target

    def _remove(self) -> t.Clause:
        at = self.need_word("REMOVE").at
        items: list[t.UpdateItem] = []
        while True:
            target = self._target()
            if isinstance(target, t.HasLabels):
                items.append(t.RemoveLabels(target.of, _plain_labels(target.labels), at=target.at))
            elif isinstance(target, (t.Property, t.Index)):
                items.append(t.RemoveProperty(target, at=target.at))
            else:
                fail(
                    "REMOVE takes a property or labels.",
                    target.at,
                    hint="Use DELETE to delete an element.",
                )
            if not self.take_op(","):
                return t.Remove(tuple(items), at=at)

    def _delete(self) -> t.Clause:
        at = self.token.at
        detach = self.take_word("DETACH")
        if not detach:
            self.take_word("NODETACH")
        self.need_word("DELETE")
        targets = [self.expression()]
        while self.take_op(","):
            targets.append(self.expression())
        return t.Delete(tuple(targets), detach, at=at)

    def _foreach(self) -> t.Clause:
        at = self.need_word("FOREACH").at
        self.need_op("(")
        variable = self.name("a variable")
        self.need_word("IN")
        before, self.bar_ends = self.bar_ends, True
        source = self.expression()
        self.bar_ends = before
        self.need_op("|")
        updates: list[t.Clause] = []
        with self.deeper():
            while not self.is_op(")"):
                clause = self._update()
                if clause is None:
                    self.unexpected("CREATE, MERGE, SET, REMOVE, DELETE or FOREACH")
                    raise AssertionError
                updates.append(clause)
        self.need_op(")")
        if not updates:
            fail("FOREACH needs at least one updating clause.", at)
        return t.Foreach(variable, source, tuple(updates), at=at)


def _variable(target: t.Expression) -> t.Variable:
    if not isinstance(target, t.Variable):
        fail("All properties are set on a variable.", target.at)
    return target


def _plain_labels(labels: t.LabelExpression) -> tuple[str | t.Expression, ...]:
    found: list[str | t.Expression] = []
    for item in labels.items if isinstance(labels, t.LabelAnd) else (labels,):
        if isinstance(item, t.LabelName):
            found.append(item.name)
        elif isinstance(item, t.LabelOf):
            found.append(item.of)
        else:
            fail("Labels to set or remove are written as :A:B, or :$(expression).", labels.at)
    return tuple(found)
