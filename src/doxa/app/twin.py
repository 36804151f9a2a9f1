"""Generates the modules of `asynchronous` from the verb table and the signatures of the synchronous
methods.

    python -m doxa.app.twin src/doxa/app/asynchronous

A test fails when a generated module is out of date.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from doxa.app.verbs import ALL, VERBS, Verb

_SOURCES = (
    *(
        f"sessions/{name}"
        for name in (
            "beliefs",
            "chat",
            "units",
            "entities",
            "consolidating",
            "notes",
            "agent/continuity",
        )
    ),
    *(
        f"sessions/agent/{name}"
        for name in (
            *("continuity", "growth", "claims", "gate", "spine", "standing", "evolution"),
            *("attachments", "context"),
        )
    ),
    *("care/jobs", "session", "file", "memory", "retention"),
)
_BY_HAND = ("open", "session", "close", "export", "graph", "events")

_HEAD = '''"""The verbs of a {owner}, awaited. Generated from the verb table by doxa.app.twin.

Each call runs on a thread, so that there is one implementation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, {abc}
from itertools import islice
from typing import TYPE_CHECKING, Any, {typing}

{base}from doxa.app.asynchronous.threads import on_thread
from doxa.app.memory import open_memory

if TYPE_CHECKING:
    from doxa.app.memory import Memory
{imports}
{constants}
'''
_LINES = """
_LINES = 500  # of an export that one thread reads at a time
"""
_BASE = "from doxa.app.asynchronous.session import AsyncSession\n"

_SESSION = '''
class AsyncSession:
    """A Session whose verbs are awaited."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def identity(self) -> Identity:
        return self._session.identity

    @property
    def project(self) -> str:
        return self._session.project

    @property
    def context(self) -> dict[str, Any]:
        return self._session.context

    async def graph(self, context: Mapping[str, Any] | None = None) -> GraphSession:
        """{graph}"""
        return await on_thread(self._session.graph, context)

    def events(self, **options: Unpack[EventOptions]) -> AsyncEventStream:
        """{events}"""
        from doxa.events import AsyncEventStream

        return AsyncEventStream(lambda: self._session.events(**options))
'''

_MEMORY = '''

class AsyncMemory(AsyncSession):
    """A Memory whose verbs are awaited. Close it, or use it as an asynchronous context manager."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._memory = memory

    @classmethod
    async def open(
        cls, path: str | Path | None = None, **options: Unpack[OpenOptions]
    ) -> AsyncMemory:
        """{open}"""
        return cls(await on_thread(open_memory, path, **options))

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def config(self) -> Config:
        return self._memory.config

    async def close(self) -> None:
        """{close}"""
        await on_thread(self._memory.close)

    async def session(
        self,
        *,
        actor: str = "",
        role: Role = "agent",
        project: str = "",
        projects: Iterable[str] = (),
        context: Mapping[str, Any] | None = None,
    ) -> AsyncSession:
        """{session}"""
        made = await on_thread(
            self._memory.session,
            actor=actor,
            role=role,
            project=project,
            projects=projects,
            context=context,
        )
        return AsyncSession(made)

    async def export(self) -> AsyncIterator[bytes]:
        """{export}"""
        lines = await on_thread(self._memory.export)
        while found := await on_thread(lambda: list(islice(lines, _LINES))):
            for line in found:
                yield line
'''


def sources() -> dict[str, str]:
    """Return the text of each module by its file name, before formatting and with imports that it
    may not use: `ruff check --fix` removes these."""
    methods, modules = _read()
    session = [_method(methods[v.name], v.summary, "_session") for v in _verbs("Session")]
    memory = [_method(methods[v.name], v.summary, "_memory") for v in _verbs("Memory")]
    texts = {verb.name: verb.summary for verb in ALL}
    first = "\n".join([_SESSION.format(**texts), *session])
    second = "\n".join([_MEMORY.format(**texts), *memory])
    return {
        "session.py": _head("session", session, modules, "", "") + first,
        "memory.py": _head("memory", memory, modules, _BASE, _LINES) + second,
    }


def _head(
    owner: str, methods: list[str], modules: dict[str, str], base: str, constants: str
) -> str:
    used = _names(methods) | {
        *("Identity", "GraphSession", "Session", "Path", "OpenOptions", "Config", "Role"),
        *("Mapping", "Unpack", "EventOptions", "AsyncEventStream", "Iterable"),
    }
    by_module: dict[str, set[str]] = {}
    for name in used & modules.keys():
        by_module.setdefault(modules[name], set()).add(name)
    own = {"collections.abc": {"AsyncIterator"}, "typing": {"Any", "TYPE_CHECKING"}}
    imports = "\n".join(
        f"    from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(by_module.items())
        if module not in own
    )
    abc, typing = (", ".join(sorted(by_module[module] - names)) for module, names in own.items())
    return _HEAD.format(
        owner=owner, abc=abc, typing=typing, imports=imports, base=base, constants=constants
    )


def _verbs(owner: str) -> Iterator[Verb]:
    return (verb for verb in ALL if verb.owner == owner and verb.name not in _BY_HAND)


def _read() -> tuple[dict[str, ast.FunctionDef], dict[str, str]]:
    """The synchronous methods by name, and which module each imported name comes from."""
    methods: dict[str, ast.FunctionDef] = {}
    modules: dict[str, str] = {
        "Session": "doxa.app.session",
        "AsyncEventStream": "doxa.events",
    }
    for name in _SOURCES:
        tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
                modules |= {alias.name: node.module for alias in node.names}
            elif isinstance(node, ast.ClassDef):
                own = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
                methods |= {key: value for key, value in own.items() if key in VERBS}
                modules |= {node.name: f"doxa.app.{name}"}
    return methods, modules


def _method(function: ast.FunctionDef, summary: str, owner: str) -> str:
    given = function.args
    arguments = [f"{one.arg}" for one in given.args if one.arg != "self"]
    arguments += [f"{one.arg}={one.arg}" for one in given.kwonlyargs]
    arguments += [f"**{given.kwarg.arg}"] if given.kwarg else []
    call = ", ".join([f"self.{owner}.{function.name}", *arguments])
    assert function.returns is not None, function.name
    return (
        f"    async def {function.name}({ast.unparse(given)}) -> {ast.unparse(function.returns)}:\n"
        f'        """{summary}"""\n'
        f"        return await on_thread({call})\n"
    )


def _names(methods: list[str]) -> set[str]:
    found: set[str] = set()
    for text in methods:
        tree = ast.parse("class C:\n" + text)
        found |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found


def main(folder: Path) -> None:
    """Write the modules into a folder."""
    for name, text in sources().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
