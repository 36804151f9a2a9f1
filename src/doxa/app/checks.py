"""The checks of a verb's arguments that the verb table decides: which options there are, what type
each has, and which project a call means."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.base.errors import InputError, ReadOnlyError, RoleError
from doxa.base.files.places import is_of_memory
from doxa.base.ids import Role, is_below_operator
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.app.verbs import Kind, Parameter
    from doxa.store import Store

ALL_PROJECTS = "*"


def _text(value: Any, name: str) -> Any:
    arguments.text(value, name)
    return value


def _flag(value: Any, name: str) -> Any:
    arguments.flags(**{name: value})
    return value


def _mapping(value: Any, name: str) -> Any:
    return arguments.mapping(value)


def _facts(value: Any, name: str) -> Any:
    return arguments.facts(value)


def _sentences(value: Any, name: str) -> Any:
    return arguments.sentences(value)


_CHECKS: dict[Kind, Callable[[Any, str], Any]] = {
    "text": _text,
    "texts": arguments.texts,
    "time": arguments.time,
    "flag": _flag,
    "facts": _facts,
    "sentences": _sentences,
    "mapping": _mapping,
}


def checked(
    verb: str, options: Mapping[str, Any], *, preset: bool = True, now_ns: int | None = None
) -> dict[str, Any]:
    """Return the options of a verb in the types that the packages below take; with `preset`, those
    that were not given have their defaults. With `now_ns`, a time may be relative to it, as "last
    week". Raises InputError for an unknown name or a wrong
    type."""
    known = _options_of(verb)
    unknown = sorted(set(map(str, options)) - known.keys())
    if unknown:
        raise InputError(
            f"{verb} has no option {', '.join(unknown)[:200]}.",
            next_step=f"Use {', '.join(known)}.",
            field=unknown[0][:80],
        )
    found = {name: _checked(known[name], value, now_ns) for name, value in options.items()}
    if not preset:
        return found
    from doxa.app.verbs import REQUIRED, UNSET

    missing = {
        name: one.default
        for name, one in known.items()
        if name not in found and one.default not in (REQUIRED, UNSET)
    }
    return missing | found


@cache
def _options_of(verb: str) -> dict[str, Parameter]:
    from doxa.app.verbs import VERBS  # the table is loaded when it is needed

    return {one.name: one for one in VERBS[verb].parameters if not one.positional}


def _checked(parameter: Parameter, value: Any, now_ns: int | None) -> Any:
    check = _CHECKS.get(parameter.kind)
    if check is None or (value is None and parameter.default is None):
        return value
    if parameter.kind == "time":
        value = resolved_time(value, now_ns)
    return check(value, parameter.name)


def resolved_time(value: Any, now_ns: int | None) -> Any:
    """Return the instant that a relative time such as "last week" means; anything else as it is."""
    if not isinstance(value, str) or now_ns is None:
        return value
    from doxa.base.dates import relative_time

    found = relative_time(value, now_ns)
    return value if found is None else found


def searched_project(project: str | None, own: str) -> str:
    """Return the project that a verb searches: the session's unless one is named, "" for all."""
    if project is None:
        return own
    if project == ALL_PROJECTS:
        return ""
    if project == "":
        deprecated('project="" means all projects', "project='*'")
    return project


def one_project(project: str | None, own: str) -> str:
    """Return the project that a verb changes: the session's unless one is named."""
    if project == ALL_PROJECTS:
        raise InputError(
            "This verb acts in one project, not in all.",
            next_step="Name the project, or leave it out for the session's.",
            field="project",
        )
    if project == "":
        deprecated('project="" means the session\'s project', "no project")
    return project or own


def checked_path(value: str | Path, field: str) -> Path:
    """Return a path that the system can be asked about, whether or not something is there."""
    return arguments.path(value, field)


def path_outside(value: str | Path, field: str, store: Store) -> Path:
    """Return a path that is not one of the memory's own files: what lies next to it is of every
    project and agent, and of no session. For a session that is bound to projects, it is not below
    a folder either in which an identity of other projects was exported."""
    from doxa.agent.growth.files import exported_folders

    found = arguments.path(value, field)
    if is_of_memory(Path(store.path), found):
        raise InputError(
            f"{str(found)[:200]} belongs to the memory file itself.",
            next_step="Name another file. archive_verify and hook_report show what lies there.",
            field=field,
        )
    if store.binding is not None:
        for project, _, folder in exported_folders(store):
            if project not in store.binding.projects and found.resolve().is_relative_to(folder):
                raise InputError(
                    f"{found} holds the files of another identity.",
                    next_step="Name a folder of your own project.",
                    field=field,
                )
    return found


def folder_outside(value: str | Path, field: str, store: Store) -> Path:
    """Return a folder that is not the memory's own, and whose whole name is text: records of the
    memory keep it, and the operating system permits names that are not."""
    found = path_outside(value, field, store)
    arguments.text(str(found.absolute()), field)
    return found


def require_writable(store: Store) -> None:
    """Raise ReadOnlyError where a memory was opened for reading alone: what lies next to it stays
    as it is too."""
    if store.read_only:
        raise ReadOnlyError(
            f"{store.path} was opened for reading alone.",
            next_step="Open it without read_only.",
            path=store.path,
        )


def may_trust(trust: object, role: Role) -> None:
    if trust == "verified" and is_below_operator(role):
        raise RoleError(
            "Only an operator may call a belief verified.",
            next_step="State it with trust 'stated'.",
            role="agent",
        )


def deprecated(old: str, new: str) -> None:
    """Warn the caller of a public name that will be removed."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=_stacklevel())


def _stacklevel() -> int:
    """How far up the caller outside this package is."""
    import sys

    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("doxa."):
        level, frame = level + 1, frame.f_back
    return level
