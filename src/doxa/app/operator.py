"""The operator's gate of a memory file: plans, changes and their reversal, with the operator's key.

It belongs to no session: agents have no verb of it. `doxa operator` is its interface.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from doxa.base.errors import ConflictError, InputError
from doxa.settings import edited, operator_key, parsed, place_of

if TYPE_CHECKING:
    from doxa.agent.gate.changes import ChangePlan
    from doxa.agent.records.types import Record
    from doxa.app.memory import Memory
    from doxa.store import Transaction

FILES = ("configuration", "identity")
ENTRIES = ("modes", "policies")
SURFACES = (*FILES, *ENTRIES)


class Wanted(msgspec.Struct, frozen=True):
    """What an operator asks for: keys with values, or the text of a file, on one surface."""

    surface: str
    given: Mapping[str, str]
    file: Path | None = None
    source: Path | None = None


class OperatorGate:
    """The gate of an opened memory. Raises RoleError unless the key of the memory is presented by
    a process that is not an agent's; a memory without a key has no gate until `register`."""

    def __init__(self, memory: Memory, environ: Mapping[str, str] | None = None) -> None:
        self._memory = memory
        self._environ = os.environ if environ is None else environ
        self.key_file = operator_key(self._environ)

    def register(self) -> str:
        """Make the key file, or read the one there is, and register its hash. Return the hash. A
        memory that has a key keeps it, unless that key is presented."""
        from doxa.agent.gate.keys import create_key, read_key, register_key, require_person

        require_person(self._environ)
        held = self._registered()
        if held is not None:
            self._require()
        exists = os.path.lexists(self.key_file)
        digest = read_key(self.key_file) if exists else create_key(self.key_file)
        if digest != held:
            with self._memory.store.write(self._memory.identity, op="operator.key") as tx:
                register_key(tx, digest)
        return digest

    def plan(self, wanted: Wanted) -> ChangePlan:
        """Return the plan of a change. Nothing is written."""
        from doxa.agent.gate.catalogue import plan_entries
        from doxa.agent.gate.changes import make_plan

        self._require()
        if wanted.surface in ENTRIES:
            store, who = self._memory.store, self._memory.identity
            return plan_entries(store, who, wanted.surface, self._maker(wanted))
        path, text = self._text(wanted)
        return make_plan(wanted.surface, path, text)

    def apply(self, wanted: Wanted, plan: str) -> Record:
        """Apply the plan with this id, and return its receipt."""
        from doxa.agent.gate.catalogue import apply_entries
        from doxa.agent.gate.changes import apply_plan

        self._require()
        store, who = self._memory.store, self._memory.identity
        project = self._memory.project
        if wanted.surface in ENTRIES:
            return apply_entries(
                store,
                who,
                project=project,
                surface=wanted.surface,
                make=self._maker(wanted),
                plan=plan,
            )
        path, text = self._text(wanted)
        return apply_plan(
            store,
            who,
            project=project,
            surface=wanted.surface,
            path=path,
            text=text,
            plan=plan,
        )

    def rollback(self, kref: str) -> Record:
        """Take a change back, if what it changed is as it left it."""
        from doxa.agent.gate.catalogue import roll_back_entries
        from doxa.agent.gate.changes import require_change, roll_back

        self._require()
        store, who = self._memory.store, self._memory.identity
        change = require_change(store, kref)
        if change.data["surface"] in ENTRIES:
            return roll_back_entries(store, who, kref)
        return roll_back(store, who, kref)

    def status(self) -> list[tuple[Record, str]]:
        """End what a crash left begun, and return the changes, the newest first, each with what is
        wrong with its backup or its file; empty if nothing is."""
        from doxa.agent.gate.changes import changes, drift, restored, settle

        self._require()
        store, who, project = self._memory.store, self._memory.identity, self._memory.project
        torn = {one.kref for one in settle(store, who, project=project)}
        found: list[tuple[Record, str]] = []
        seen: set[str] = set()  # of each file, only the newest change says what is there
        for one in changes(store, project=project):
            problem, path = "", str(one.data["path"])
            if one.kref in torn:
                problem = "the file says neither what it said nor what it was to say"
            elif one.data["surface"] in FILES:
                try:
                    if one.state == "applied":
                        restored(one)
                except ConflictError as error:
                    problem = error.message
                problem = problem or ("" if path in seen else drift(one))
            seen.add(path)
            found.append((one, problem))
        return found

    def _registered(self) -> str | None:
        from doxa.agent.gate.keys import registered_key

        with self._memory.store.read() as snapshot:
            return registered_key(snapshot)

    def _require(self) -> None:
        from doxa.agent.gate.keys import require_operator

        require_operator(self._registered(), self.key_file, self._environ)

    def _text(self, wanted: Wanted) -> tuple[Path, bytes]:
        """Return the file of a change, and what it would say."""
        from doxa.agent.gate.changes import read_file

        path = wanted.file
        if wanted.surface == "configuration":
            path = path or place_of(self._environ)[0]
            if wanted.source is None:
                held = (read_file(path) or b"").decode("utf-8-sig", "strict")
                return path, edited(path, held, wanted.given).encode()
        if path is None or wanted.source is None or wanted.given:
            raise InputError(
                f"A change of {wanted.surface} names the file and what it is to say.",
                next_step="Give --file and --from.",
                field="from",
            )
        text = read_file(wanted.source)
        if text is None:
            raise InputError(
                f"There is no {wanted.source}.", next_step="Correct --from.", field="from"
            )
        if wanted.surface == "configuration":
            parsed(path, text.decode("utf-8-sig", "strict"))
        return path, text

    def _maker(self, wanted: Wanted) -> Callable[[Transaction], None]:
        if wanted.surface == "policies":
            script = wanted.source.read_text() if wanted.source else ""
            if not script.strip():
                raise InputError(
                    "A change of policies names a file of policy commands.",
                    next_step="Give --from.",
                    field="from",
                )
            return lambda tx: self._declare(script)
        from doxa.agent.claims.modes import set_modes

        given = dict(wanted.given)
        if not given:
            raise InputError(
                "A change of modes names what to set.",
                next_step="Give --set claims.mode=diagnostic, or --set claims.roots.NAME=FOLDER.",
                field="set",
            )
        return lambda tx: set_modes(tx, given)

    def _declare(self, script: str) -> None:
        from doxa.app.policies import has_only_policy_commands

        if not has_only_policy_commands(self._memory.queries, script):
            raise InputError(
                "The file holds other statements than policy commands.",
                next_step="Run other statements with `doxa cypher`.",
                field="from",
            )
        self._memory.run(script).records()


def may_operate(memory: Memory, environ: Mapping[str, str] | None = None) -> bool:
    """Return whether a process may act as the operator of a memory: the memory has no key, or the
    process can read it and is not the shell of an agent."""
    from doxa.agent.gate.keys import fits, host_of, registered_key

    with memory.store.read() as snapshot:
        held = registered_key(snapshot)
    known = os.environ if environ is None else environ
    return held is None or (host_of(known) is None and fits(held, operator_key(known)))


def parse_given(pairs: Sequence[str]) -> dict[str, str]:
    """Return `KEY=VALUE` pairs as a mapping. Raises InputError for one without `=`."""
    for pair in pairs:
        if "=" not in pair:
            raise InputError(
                f"{pair[:80]!r} is not KEY=VALUE.", next_step="Write --set key=value.", field="set"
            )
    return dict(pair.split("=", 1) for pair in pairs)
