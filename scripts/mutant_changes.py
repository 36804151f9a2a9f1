"""The changes that a mutation run tries: each is one small fault in one syntax tree.

A change is found by its position in a fixed walk over the tree, so that a number names it: parse
the file, list the changes, apply the one with that number. Texts, annotations, type variables,
imports, assertions and `__all__` are left alone: a fault there is a spelling, not a behaviour.

    comparison    < to <=, == to !=, in to not in, is to is not, ...
    logic         and to or, not x to x, a condition to its negation
    arithmetic    + to -, * to /, // to *, | to &, << to >>; min to max, any to all
    constant      n to n + 1 (a float to twice itself plus one), True to False
    flow          return x to return None, continue to break, a call whose result is unused to pass
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_NAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_LEFT_ALONE = (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)


@dataclass(frozen=True)
class Change:
    """One fault. `where` is the class and function around it; outside a function it is the name
    that the statement defines."""

    number: int
    line: int
    where: str
    before: str
    after: str
    function: bool
    apply: Callable[[], None]

    @property
    def text(self) -> str:
        return f"{self.before}  ->  {self.after}"


def changes_of(tree: ast.Module) -> list[Change]:
    """List every change of a module, in the order of its lines. Applying one changes the tree."""
    found: list[Change] = []
    for statement in tree.body:
        _visit(statement, [], _defined(statement), found, line=statement.lineno)
    return found


def _defined(statement: ast.stmt) -> tuple[str, ...]:
    """The names that a module-level statement binds."""
    if isinstance(statement, ast.Assign):
        return tuple(
            node.id
            for target in statement.targets
            for node in ast.walk(target)
            if isinstance(node, ast.Name)
        )
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return (statement.target.id,)
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return (statement.name,)
    return ()


def _visit(
    node: ast.AST, path: list[str], names: tuple[str, ...], found: list[Change], *, line: int
) -> None:
    line = getattr(node, "lineno", line)  # some parts have no line of their own
    if isinstance(node, _LEFT_ALONE) or "__all__" in names or _is_for_types(node):
        return
    inner = path
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.name in ("__repr__", "__str__"):
            return
        inner = [*path, f"{node.name}()"]
    elif isinstance(node, ast.ClassDef):
        inner = [*path, node.name]
    where = ".".join(inner) or ", ".join(names)
    in_function = any(part.endswith("()") for part in inner)
    for at, before, after, apply in _lined(node, line):
        found.append(
            Change(
                len(found),
                at,
                where,
                _short(before),
                _short(after),
                in_function,
                apply,
            )
        )
    for child in _children(node):
        _visit(child, inner, names, found, line=line)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Nested nodes, without annotations, decorators, base classes and docstrings."""
    skipped = {"annotation", "returns", "decorator_list", "bases", "type_params"}
    if isinstance(node, ast.ClassDef):
        skipped.add("keywords")
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _is_for_types(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "TypeVar"
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 90 else line[:87] + "..."


def _lined(node: ast.AST, line: int) -> Iterator[tuple[int, str, str, Callable[[], None]]]:
    """What can be changed in this very node, with the line of each change."""
    for before, after, apply in _of(node):
        yield line, before, after, apply
    yield from _of_block(node)


def _of(node: ast.AST) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """What can be changed in this very node: the text before and after, and the change."""
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            yield _replaced(node, node.ops, at, _COMPARED[type(op)]())
    elif isinstance(node, ast.BoolOp):
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _set(node, "op", other)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
        if not any(_is_text(side) for side in ast.iter_child_nodes(node)):
            yield _set(node, "op", _COMPUTED[type(node.op)]())
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _NAMED:
            called = ast.Name(_NAMED[node.func.id], ast.Load())
            yield _set(node, "func", called)
    elif isinstance(node, ast.Return):
        # None for a truth value is mostly the same; True and False have a change of their own
        if node.value is not None and not _is_fixed(node.value):
            yield _set(node, "value", ast.Constant(None))
    elif isinstance(node, ast.comprehension):
        for at, test in enumerate(node.ifs):
            if _plain(test):
                yield _replaced(node, node.ifs, at, ast.UnaryOp(ast.Not(), test))
    yield from _of_condition(node)


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, str, Callable[[], None]]]:
    value = node.value
    if isinstance(value, bool):
        yield _set(node, "value", not value)
    elif isinstance(value, int):
        yield _set(node, "value", value + 1)
    elif isinstance(value, float):
        yield _set(node, "value", 2 * value + 1)


def _of_condition(node: ast.AST) -> Iterator[tuple[str, str, Callable[[], None]]]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        test = node.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield _turned(node, test.operand)
        elif _plain(test) and not isinstance(test, ast.Constant):
            yield _turned(node, ast.UnaryOp(ast.Not(), test))
    elif isinstance(node, ast.BoolOp):
        for at, value in enumerate(node.values):
            if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
                yield _replaced(node, node.values, at, value.operand)


def _of_block(node: ast.AST) -> Iterator[tuple[int, str, str, Callable[[], None]]]:
    """Statements that are left out, and loops that end early or late."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for at, statement in enumerate(block):
            other: ast.stmt | None = None
            called = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            if called or isinstance(statement, ast.Raise):
                other = ast.Pass()
            elif isinstance(statement, ast.Continue):
                other = ast.Break()
            elif isinstance(statement, ast.Break):
                other = ast.Continue()
            if other is not None:
                before, after = ast.unparse(statement), ast.unparse(other)
                yield statement.lineno, before, after, partial(block.__setitem__, at, other)


def _plain(test: ast.expr) -> bool:
    """A condition that no other change reaches: comparisons and `and` have changes of their own."""
    return not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_fixed(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _set(node: ast.AST, field: str, value: object) -> tuple[str, str, Callable[[], None]]:
    def apply() -> None:
        setattr(node, field, value)

    old = getattr(node, field)
    return _shown(node, apply, lambda: setattr(node, field, old))


def _turned(
    node: ast.If | ast.While | ast.IfExp, test: ast.expr
) -> tuple[str, str, Callable[[], None]]:
    def apply() -> None:
        node.test = test

    words = "while" if isinstance(node, ast.While) else "if"
    return f"{words} {ast.unparse(node.test)}", f"{words} {ast.unparse(test)}", apply


def _replaced(
    node: ast.AST, parts: list[Any], at: int, value: object
) -> tuple[str, str, Callable[[], None]]:
    return _shown(
        node, partial(parts.__setitem__, at, value), partial(parts.__setitem__, at, parts[at])
    )


def _shown(
    node: ast.AST, apply: Callable[[], None], back: Callable[[], None]
) -> tuple[str, str, Callable[[], None]]:
    before = ast.unparse(node)
    apply()
    after = ast.unparse(node)
    back()
    return before, after, apply
