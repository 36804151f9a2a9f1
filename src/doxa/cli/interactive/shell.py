"""The Cypher shell: statements that end with ; run as they are, lines that begin with : are for the
shell itself.

A statement by itself is a transaction of its own; between :begin and :commit they share one. A
statement that fails ends the transaction around it, and the shell says so. The interrupt key drops
what is being typed, or ends the query that runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from doxa.base.clock import format_time
from doxa.base.errors import DoxaError, InputError
from doxa.cli.context import embed_some, error_text
from doxa.cli.cypher_results import print_table, write_result
from doxa.cli.interactive.complete import Names, candidates, names_of
from doxa.cli.interactive.prompt import Prompt, history_path
from doxa.cli.options import check_form, json_value, moment, refuse_writing
from doxa.cypher.errors import Problem, QueryError
from doxa.cypher.parser import parse_expression
from doxa.cypher.script import Piece, placed, statements
from doxa.cypher.tokens import tokens

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.app.results import GraphSession

_SCHEMA = (
    ("Indexes", "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties"),
    ("Constraints", "SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties"),
)


class Shell:
    """One conversation. `run` returns when the person leaves."""

    def __init__(
        self,
        memory: Memory,
        session: GraphSession,
        *,
        params: Mapping[str, Any],
        form: str,
        reads: bool,
    ) -> None:
        self.memory, self.session = memory, session
        self.params = dict(params)
        self.form, self.reads = form, reads
        self.typed = ""  # of the statement that is not finished yet
        self.leaving = False
        self.wrote = False
        self._names: Names | None = None
        self.prompt = Prompt(self._complete, history_path())
        self.commands: dict[str, tuple[Callable[[str], None], str]] = {
            "begin": (self._begin, "begin a transaction of several statements"),
            "commit": (self._commit, "make it durable"),
            "rollback": (self._rollback, "end it without a trace"),
            "param": (self._param, "NAME VALUE: set $NAME to a JSON value or a Cypher expression"),
            "params": (self._params, "show all parameters; `:params clear` forgets them"),
            "as-of": (
                self._as_of,
                "TIME: read the graph as it was committed then; without TIME, as it is now",
            ),
            "valid-at": (
                self._valid_at,
                "TIME: see only what was valid then; without TIME, everything",
            ),
            "schema": (self._schema, "labels, relationship types, indexes and constraints"),
            "format": (self._format, "table, json, jsonl or csv"),
            "help": (self._help, "this list"),
            "quit": (self._quit, "leave (or end the input)"),
        }

    def run(self) -> None:
        sys.stdout.write(
            f"{self.memory.store.path}\nA statement ends with a semicolon. Type :help for the"
            " shell's own commands, :quit to leave.\n"
        )
        try:
            while not self.leaving:
                self._turn()
        finally:
            self.prompt.close()
            if self.session.in_transaction:
                self.session.rollback()
                sys.stdout.write("The open transaction was rolled back.\n")
        if self.wrote and self.memory.pending():
            embed_some(self.memory)

    def _turn(self) -> None:
        try:
            line = self.prompt.ask(self._prompt())
            if line is None:
                self.leaving = True
                sys.stdout.write("\n")
            elif not self.typed and line.lstrip().startswith(":"):
                self.prompt.keep(line)
                self._guarded(lambda: self._command(line.strip()))
            else:
                self._take(line)
        except KeyboardInterrupt:
            self.typed = ""
            sys.stdout.write("\n")

    def _prompt(self) -> str:
        if self.typed:
            return "  ...> "
        past = (
            f"@{format_time(self.session.system_time)}"
            if self.session.system_time is not None
            else ""
        )
        return f"doxa{past}{' (transaction)' if self.session.in_transaction else ''}> "

    # Statements

    def _take(self, line: str) -> None:
        """Add a line. What is finished with it runs; the rest waits for more."""
        self.typed = f"{self.typed}{line}\n"
        if ";" not in line:
            self.typed = self.typed if self.typed.strip() else ""
            return
        script = self.typed
        pieces = statements(script)
        done = [piece for piece in pieces if piece.ended]
        begun = len(script) if len(done) == len(pieces) else pieces[-1].at
        self.typed = script[begun:]
        if done:
            self._keep(script[:begun])
        for piece in done:
            if not self._guarded(lambda piece=piece: self._statement(piece, script)):  # type: ignore[misc]
                break

    def _keep(self, script: str) -> None:
        """One entry of the history for what was typed, if it means the same on one line; else its
        lines."""
        if script[:1].isspace():
            return
        lines = script.rstrip("\n").split("\n")
        joined = " ".join([lines[0].rstrip(), *(line.strip() for line in lines[1:])])
        for entry in [joined] if _same(joined, script) else lines:
            self.prompt.keep(entry)

    def _statement(self, piece: Piece, script: str) -> None:
        try:
            plan = self.memory.queries.prepare(piece.text)
            if self.reads:
                refuse_writing(plan)
            self._names = None if plan.writes else self._names
            self.wrote = self.wrote or plan.writes
            with self.session.run(piece.text, self.params) as result:
                write_result(result, self.form)
        except QueryError as error:
            raise placed(error, piece, script) from None
        if self.form == "json":
            sys.stdout.write("\n")

    def _guarded(self, call: Callable[[], None]) -> bool:
        """Whether it went well; if not, what was wrong is said, and whether it took the transaction
        with it."""
        inside = self.session.in_transaction
        try:
            call()
            sys.stdout.flush()
            return True
        except DoxaError as error:
            said = error_text(error)
        except KeyboardInterrupt:
            said = "\nThe query was ended."
        sys.stdout.flush()
        lost = inside and not self.session.in_transaction
        sys.stderr.write(
            f"{said}\n{'The transaction was rolled back.' if lost else ''}".rstrip() + "\n"
        )
        return False

    # Commands

    def _command(self, line: str) -> None:
        word, _, rest = line[1:].rstrip("; ").partition(" ")
        found = self.commands.get("quit" if word == "exit" else word)
        if found is None:
            raise InputError(
                f"The shell has no command :{word[:40]}.",
                next_step=":help lists what it has.",
                field="command",
            )
        found[0](rest.strip())

    def _begin(self, _: str) -> None:
        self.session.begin(read_only=self.reads)

    def _commit(self, _: str) -> None:
        self.session.commit()

    def _rollback(self, _: str) -> None:
        self.session.rollback()

    def _param(self, text: str) -> None:
        name, _, value = text.partition(" ")
        if not name or not value.strip():
            raise InputError(
                "A parameter has a name and a value.",
                next_step='Type for example :param name "Ana"',
                field="param",
            )
        self.params[name.removeprefix("$")] = self._value(value.strip(), name)

    def _value(self, text: str, name: str) -> Any:
        """A JSON value, else what a Cypher expression gives, such as date('2026-01-01')."""
        try:
            return json_value(text, name=name)
        except InputError:
            parse_expression(text)  # one expression and nothing behind it
            with self.memory.graph() as session:
                return session.run(f"RETURN {text} AS value", self.params).single()

    def _params(self, text: str) -> None:
        if text == "clear":
            self.params.clear()
        rows = [(f"${name}", value) for name, value in sorted(self.params.items())]
        if rows:
            print_table(("name", "value"), rows)
        else:
            sys.stdout.write("No parameters are set.\n")

    def _as_of(self, text: str) -> None:
        self.session.system_time = moment(text or None, ":as-of")

    def _valid_at(self, text: str) -> None:
        self.session.valid_time = moment(text or None, ":valid-at")

    def _schema(self, _: str) -> None:
        self._names = names = names_of(self.memory)
        sys.stdout.write(
            f"Labels: {', '.join(names.labels) or 'none'}\nRelationship types:"
            f" {', '.join(names.types) or 'none'}\n"
        )
        with self.memory.graph() as session:
            for title, query in _SCHEMA:
                result = session.run(query)
                rows = list(result)
                sys.stdout.write(f"{title}:{'' if rows else ' none'}\n")
                if rows:
                    print_table(result.columns, rows)

    def _format(self, text: str) -> None:
        check_form(text, as_json=False)
        self.form = text

    def _help(self, _: str) -> None:
        for name, command in self.commands.items():
            sys.stdout.write(f"  :{name:9} {command[1]}\n")

    def _quit(self, _: str) -> None:
        self.leaving = True

    # Completion

    def _complete(self, before: str, word: str) -> list[str]:
        if self._names is None:
            self._names = names_of(self.memory)
        return candidates(
            f"{self.typed}{before}",
            word,
            names=self._names,
            parameters=self.params,
            commands=self.commands,
        )


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same statements."""
    try:
        return [token[:2] for token in tokens(one)] == [token[:2] for token in tokens(other)]
    except Problem:
        return False
