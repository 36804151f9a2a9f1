"""`doxa hook EVENT`: one event of a host, for hosts that start a command.

    doxa hook prompt --host gemini [--project auto] [--db FILE] < the host's JSON

It prints the host's JSON and ends with 0 whatever happens, since a host may take any other code for
a verdict on its agent; what went wrong is in the file `errors.log` of the hooks' folder. A server
of the same memory file that runs already does the work (relay.py). Without one, events that only
capture are appended to the spool with the standard library and redaction alone; the memory is
opened for what is injected, and at the end of a conversation, to store what waits. In a program
that doxa runs as a model (DOXA_COMPLETING) it does nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from doxa.base.completing import is_completing
from doxa.base.files.places import config_folder, hooks_folder, memory_file
from doxa.base.limits import HOOK_INPUT_CHARS_MAX
from doxa.hosts.events import HookEvent, Injection
from doxa.hosts.files import note_error
from doxa.hosts.formats import FORMATS, answer_of, event_of
from doxa.hosts.relay import ask
from doxa.hosts.spool import Spool
from doxa.settings import memory_path

AUTO = "auto"
_DEFAULT = "default"
_OPTIONS = ("host", "project", "db")


def main(words: Sequence[str]) -> int:
    """Run the command with its words. Always returns 0."""
    options = _read_options(words)
    named = Path(options["db"]) if options["db"] else None
    db = named or memory_file(os.environ)  # for what goes wrong before the settings are read
    printed = ""
    try:
        db = named or memory_path()
        raw = sys.stdin.read(HOOK_INPUT_CHARS_MAX)
        if is_own_work():
            printed = _nothing(options["host"])
        else:
            document = json.loads(raw) if raw.strip() else {}
            request = {name: options[name] for name in ("host", "event", "project")}
            request |= {"folder": str(Path.cwd()), "document": document}
            answer = ask(hooks_folder(db), request)
            printed = _by_itself(options, document, named) if answer is None else answer
    except Exception as error:
        note_error(hooks_folder(db), f"{options['event']}: {type(error).__name__}: {error}")
        printed = _nothing(options["host"])
    try:
        sys.stdout.write(printed + "\n")
        sys.stdout.flush()
    except OSError:  # the host is gone; the event is in the spool
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def is_own_work() -> bool:
    """Return whether this process belongs to a program that doxa runs as a model."""
    return is_completing(os.environ)


def _nothing(host: str) -> str:
    return "{}" if host in FORMATS else ""


def _by_itself(options: Mapping[str, Any], document: Any, db: Path | None) -> str:
    event = event_of(options["host"], options["event"], document)
    if event is None:
        name = options["event"][:40]
        raise ValueError(f"{name!r} of {options['host'][:40]!r} is not an event with a session")
    made = handle(event, db=db, project=options["project"])
    return answer_of(event.host, event.kind, made)


def handle(event: HookEvent, *, db: Path | None, project: str) -> Injection:
    """Take one event. The memory (None: the user's own) is opened only where something may be
    injected, or where a conversation ends and something waits to be stored."""
    own = folder_project(event.folder, project)
    spool = Spool(hooks_folder(db or memory_path()))
    form = FORMATS[event.host]
    if event.kind not in form.injects_at:
        spool.append(event, own)
        if event.kind != "close" or not spool.waiting():
            return Injection()
    from doxa.app import open_memory
    from doxa.hosts.pipeline import Pipeline

    with open_memory(db, role="agent", actor=event.host, project=own, background=False) as memory:
        pipeline = Pipeline(memory.session(), spool)
        made = pipeline.handle(event, own)
        if event.kind == "close":
            pipeline.settle()
        return made


def folder_project(folder: str, project: str, environ: Mapping[str, str] | None = None) -> str:
    """Return the project that is given, or for `auto` that of the folder."""
    if project != AUTO:
        return project
    from doxa.hosts.projects import ProjectTable, project_of

    table = ProjectTable(
        config_folder(os.environ if environ is None else environ) / "projects.toml"
    )
    return project_of(folder or Path.cwd(), table).project


def _read_options(words: Sequence[str]) -> dict[str, Any]:
    """Read the words of the command. What is unknown is passed over: a host of tomorrow may add
    some."""
    found = {"event": "", "host": "claude-code", "project": _DEFAULT, "db": ""}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in _OPTIONS:
            found[name] = value if equals else (rest.pop(0) if rest else "")
        elif not word.startswith("-") and not found["event"]:
            found["event"] = word
    return found
