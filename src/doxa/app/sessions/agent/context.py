"""The verbs of context assembly."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from doxa.app.checks import one_project
from doxa.app.retries import retryable
from doxa.app.sessions.agent.attachments import AttachmentsVerbs
from doxa.base.clock import format_time
from doxa.base.errors import InputError, RoleError
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.context.pipeline import AssembledContext
    from doxa.agent.context.stages import Situation
    from doxa.agent.records.types import Record
    from doxa.app.verbs.options import Time


class ContextVerbs(AttachmentsVerbs):
    """Made by Session, like the other verbs."""

    def context_assemble(
        self,
        question: str = "",
        *,
        session: str = "",
        thread: str = "",
        mode: str = "chat",
        language: str = "en",
        tokens_max: int = 2_000,
        agent: str = "",
        project: str | None = None,
        since: Time | None = None,
        check: bool = True,
        commands: bool = False,
    ) -> AssembledContext:
        """Assemble what an agent should know at the beginning of a turn, within a budget.

        Blocks come in one order, each line with the reason why it is there. `question` is what the
        person just wrote. With `check`, files named by verifiers and receipts are looked at again;
        with `commands`, the commands that an operator declared run too.
        """
        from doxa.agent.context.pipeline import assemble
        from doxa.agent.context.table import STAGES

        given = (question, session, thread, mode, language, agent)
        names = ("question", "session", "thread", "mode", "language", "agent")
        for value, name in zip(given, names, strict=True):
            arguments.text(value, name)
        if project is not None:
            arguments.project(project)
        arguments.whole(tokens_max, "tokens_max")
        arguments.flags(check=check, commands=commands)
        situation = situation_of(
            self,
            project=project,
            agent=self._grown(agent) if agent else "",
            question=question,
            session=session,
            thread=thread,
            mode=mode,
            language=language,
            since_ns=None if since is None else arguments.time(since, "since"),
            machine=check,
            commands=commands,
        )
        return assemble(STAGES, situation, tokens_max=tokens_max)

    @retryable
    def verifier_declare(
        self, kref: str, kind: str, *, path: str = "", command: Iterable[str] = ()
    ) -> Record:
        """Declare how a belief about this machine is checked, as it holds now: an operator's.

        `stat` compares the size and time of a file, `hash` its SHA-256, `command` runs words
        without a shell and expects the exit code 0. What it finds stands with the belief in each
        context, or that nobody looked.
        """
        from doxa.agent.context import rules
        from doxa.agent.records.records import write_record
        from doxa.belief.graph import parse_target, resolve

        self._require_operator("declare how a belief is checked")  # before any file is looked at
        if self._store.binding is not None:
            raise RoleError(
                "A verifier reads files of this machine, and this session is bound to projects.",
                next_step="Ask an operator who is bound to nothing.",
                role=self.identity.role,
                needed="operator",
            )
        words = list(arguments.texts(command, "command"))
        for value, name in ((kref, "kref"), (kind, "kind"), (path, "path")):
            arguments.text(value, name)
        if (
            kind not in rules.KINDS
            or (kind == "command") != bool(words)
            or bool(path) == bool(words)
        ):
            raise InputError(
                f"{kind[:40]!r} with these arguments is not a verifier.",
                next_step="Give stat or hash with a path, or command with its words.",
                field="kind",
            )
        data: dict[str, Any] = (
            {"kind": kind, "command": words} if words else rules.measured(kind, path)
        )
        with self._store.write(self.identity, op="verifier_declare") as tx:
            node = resolve(tx, parse_target(kref))  # of an item, its current revision
            address = str(node.props["kref"])
            if "Revision" not in node.labels:
                raise InputError(
                    f"{address} is not a belief.",
                    next_step="Give the address of a belief about this machine.",
                    field="kref",
                )
            return write_record(
                tx,
                project=str(node.props["project"]),
                agent=rules.RULES_OF,
                kind=rules.VERIFIER,
                name=f"{tx.now:020d}",
                state="active",
                data=data | {"of": address},
                about=(address,),
            )

    @retryable
    def window_declare(
        self,
        since: Time,
        until: Time,
        why: str,
        *,
        words: Iterable[str] = (),
        project: str | None = None,
    ) -> Record:
        """Mark a period whose words are not reliable: an operator's.

        What a context quotes from it carries the reason. With `words`, only what contains one of
        them.
        """
        from doxa.agent.context import rules
        from doxa.agent.records.records import write_record

        found = one_project(project, self.project)
        arguments.project(found)
        arguments.text(why, "why")
        begin, end = arguments.time(since, "since"), arguments.time(until, "until")
        if begin is None or end is None or begin >= end or not why.strip():
            raise InputError(
                "The period is empty, or has no reason.",
                next_step="Give a beginning, a later end, and why it is not reliable.",
                field="until",
            )
        data = {
            "since": format_time(begin),
            "until": format_time(end),
            "words": list(arguments.texts(words, "words")),
        }
        with self._store.write(self.identity, op="window_declare") as tx:
            return write_record(
                tx,
                project=found,
                agent=rules.RULES_OF,
                kind=rules.WINDOW,
                name=f"{tx.now:020d}",
                state="active",
                text=why,
                data=data,
            )

    @retryable
    def context_withdraw(self, kref: str, *, why: str = "") -> Record:
        """Withdraw a verifier or a window: an operator's."""
        from doxa.agent.context import rules
        from doxa.agent.records.records import move_record

        arguments.text(kref, "kref")
        arguments.text(why, "why")
        with self._store.write(self.identity, op="context_withdraw") as tx:
            rules.require_rule(tx, kref)
            return move_record(tx, kref, "withdrawn", expected=("active",), said=why)

    def context_rules(self, *, project: str | None = None) -> list[Record]:
        """List the verifiers and windows of a project, withdrawn ones too."""
        from doxa.agent.context import rules

        found = one_project(project, self.project)
        arguments.project(found)
        with self._store.read() as reader:
            return rules.rules_in(reader, found)

    def _chat_lines(self, session: str, project: str | None = None) -> list[tuple[str, str, int]]:
        """The messages of a session of working memory."""
        found = self.chat_snapshot(session, project=project)
        return [(one.role, one.text, one.time) for one in found.messages]


def situation_of(
    session: Any, /, *, project: str | None = None, agent: str = "", **given: Any
) -> Situation:
    """Return the situation of a session: memory is read by its verbs, with its rights. A project
    that is named must exist."""
    from doxa.agent.context.stages import Situation

    within = {} if project is None else {"project": one_project(project, session.project)}
    return Situation(
        session.memory.store,
        within.get("project", session.project),
        agent or session.identity.actor,
        partial(session.recall, **within),
        partial(session.recent, **within),
        partial(session.conflicts, **within),
        partial(session._chat_lines, **within),
        **given,
    )
