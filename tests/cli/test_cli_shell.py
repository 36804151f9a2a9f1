"""The Cypher shell at a terminal of its own: what is typed, what comes back, what is kept. And what
a word may become."""

from __future__ import annotations

import os
import re
import select
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.cli.interactive.complete import Names, candidates
from tests.fixtures_shared import opened

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
_PATIENCE_S = 30
_STEERING = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")
_WITHOUT_READLINE = "import sys; sys.modules['readline'] = None; from doxa.cli import main; main()"


class Terminal:
    """A shell in a process of its own, on a pseudo-terminal 200 columns wide."""

    def __init__(self, folder: Path, *arguments: str, readline: bool = True) -> None:
        import pty

        self.folder = folder
        command = ["-m", "doxa.cli"] if readline else ["-c", _WITHOUT_READLINE]
        env = os.environ | {
            "DOXA_DB": str(folder / "m.db"),
            "DOXA_MODELS": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "TERM": "xterm",
            "COLUMNS": "200",
            "INPUTRC": os.devnull,
        }
        self.process, self.handle = pty.fork()
        if self.process == 0:
            signal.signal(
                signal.SIGINT, signal.SIG_DFL
            )  # a shell in the background leaves it ignored
            os.execve(
                sys.executable, [sys.executable, "-W", "error", *command, "cypher", *arguments], env
            )
        self.greeting = self.until("> ")

    def until(self, end: str) -> str:
        """What is shown up to a text that ends it, without what only steers the terminal."""
        shown = b""
        limit = time.monotonic() + _PATIENCE_S
        while time.monotonic() < limit:
            if select.select([self.handle], [], [], 0.1)[0]:
                try:
                    part = os.read(self.handle, 65_536)
                except OSError:  # the other end is closed
                    part = b""
                shown += part
                text = _STEERING.sub("", shown.decode(errors="replace"))
                if text.endswith(end) and end:
                    return text
                if not part:
                    return text
        raise AssertionError(f"{end!r} did not come: {shown!r}")

    def type(self, text: str, end: str = "> ") -> str:
        os.write(self.handle, text.encode())
        return self.until(end)

    def line(self, text: str, end: str = "> ") -> str:
        """Type a line; what came back after its echo."""
        return self.type(f"{text}\n", end).partition("\n")[2]

    def interrupt(self) -> str:
        """Press the interrupt key, a second time when the first came before the line was awaited.

        CPython notices a signal only while it waits in `select`; one that arrives between the echo
        of a character and that call stays pending until the next one.
        """
        for patience in (_PATIENCE_S / 3, _PATIENCE_S):
            os.write(self.handle, b"\x03")
            if select.select([self.handle], [], [], patience)[0]:
                break
        return self.until("> ")

    def leave(self) -> str:
        os.write(self.handle, b":quit\n")
        return self.end()

    def end(self) -> str:
        text = self.until("")
        _, status = os.waitpid(self.process, 0)
        self.process = 0
        assert os.waitstatus_to_exitcode(status) == 0, text
        return text

    def close(self) -> None:
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.handle)

    def history(self) -> list[str]:
        return (self.folder / "state" / "doxa" / "cypher_history").read_text().splitlines()


@pytest.fixture(params=[True, False], ids=["readline", "plain"])
def shell(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, readline=request.param)
    yield terminal
    terminal.close()


@pytest.fixture
def edited(tmp_path: Path) -> Iterator[Terminal]:
    pytest.importorskip("readline")
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.run(
            "CREATE (:Person {name: 'Ann', nickname: 'A'})-[:KNOWS {since: 1}]->(:`New one`)"
        )
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def test_statements_over_lines_and_their_tables(shell: Terminal) -> None:
    assert "Type :help" in shell.greeting and shell.greeting.endswith("\ndoxa> ")
    assert shell.line("CREATE (n:Person {name: 'Ann; and Bob'})") == "  ...> "
    assert shell.line("  // a comment; it ends nothing") == "  ...> "
    text = shell.line("RETURN n;")
    assert (
        "(:Person {name: 'Ann; and Bob'})\n1 row\nnodes created: 1, properties set: 1, labels"
        " added: 1\ndoxa> " in text
    )
    assert [
        line.strip() for line in shell.line("RETURN 1 AS x; RETURN 2 AS y; RETURN").splitlines()
    ] == ["x", "─", "1", "1 row", "y", "─", "2", "1 row", "...>"]
    assert "\n3\n1 row\n" in shell.line("3;")
    assert (
        shell.line("")
        == shell.line("  ")
        == shell.line("// nothing;")
        == shell.line(";")
        == "doxa> "
    )
    assert "'it\\'s;'\n1 row" in shell.line("RETURN 'it\\'s;' AS it;")
    shell.leave()


def test_an_error_is_shown_and_the_shell_goes_on(shell: Terminal) -> None:
    text = shell.line("RETURN (;")
    assert "(line 1, column 9)\nRETURN (\n        ^\nCorrect" in text and text.endswith("\ndoxa> ")
    shell.line("MATCH (n)")
    assert "(line 2, column 10)\n  RETURN m\n         ^\n" in shell.line("  RETURN m;")
    assert "There is no" not in shell.line("RETURN 1;")
    assert "The shell has no command :nonsense." in shell.line(":nonsense")
    assert "divided by zero" in shell.line("RETURN 1 / 0; RETURN 'not reached';")
    shell.leave()


def test_transactions(shell: Terminal, tmp_path: Path) -> None:
    assert shell.line(":begin") == "doxa (transaction)> "
    shell.line("CREATE (:A);")
    with opened(tmp_path / "m.db", embedder=None, read_only=True) as memory:
        assert memory.run("MATCH (n:A) RETURN count(n)").single() == 0
        assert shell.line(":commit") == "doxa> "
        assert memory.run("MATCH (n:A) RETURN count(n)").single() == 1
    shell.line(":begin")
    shell.line("CREATE (:A);")
    assert shell.line(":rollback") == "doxa> "
    shell.line(":begin")
    shell.line("CREATE (:A);")
    assert (
        "divided by zero" in (text := shell.line("RETURN 1/0;"))
        and "The transaction was rolled back.\ndoxa> " in text
    )
    assert "No transaction is open" in shell.line(":commit")
    shell.line(":begin")
    shell.line("CREATE (:A);")
    assert "The open transaction was rolled back." in shell.leave()
    with opened(tmp_path / "m.db", embedder=None) as memory:
        assert memory.run("MATCH (n:A) RETURN count(n)").single() == 1


def test_parameters_times_and_schema(shell: Terminal) -> None:
    assert "No parameters" in shell.line(":params")
    for value in (
        'name "Ann;"',
        "n 1",
        "day date('2024-01-01') + duration('P1D')",
        "both [$n, $name]",
    ):
        assert shell.line(f":param {value}") == "doxa> "
    assert "['Ann;', 2024-01-02, [1, 'Ann;']]" in shell.line("RETURN [$name, $day, $both];")
    assert "$day" in (text := shell.line(":params")) and "2024-01-02" in text
    assert "a name and a value" in shell.line(":param alone")
    assert "(line 1" in shell.line(":param x 1) AS y, (2")
    shell.line(":params clear")
    assert "No parameters" in shell.line(":params")
    shell.line("CREATE (:A)-[:R]->(:B); CREATE INDEX by_x FOR (n:A) ON (n.x);")
    text = shell.line(":schema")
    assert (
        "Labels: A, B\nRelationship types: R\nIndexes:\n" in text
        and "by_x" in text
        and "Constraints: none" in text
    )
    assert shell.line(":as-of 2020-01-01") == "doxa@2020-01-01T00:00:00Z> "
    assert "\n0\n1 row" in shell.line("MATCH (n:A) RETURN count(n);")
    assert "cannot write" in shell.line("CREATE (:C);")
    assert shell.line(":as-of") == "doxa> "
    assert ":rollback" in shell.line(":help")
    shell.line(":format jsonl")
    assert '{"x":1}\n' in shell.line("RETURN 1 AS x;")
    shell.leave()


def test_history_is_private_and_skips_what_begins_with_a_blank(
    shell: Terminal, tmp_path: Path
) -> None:
    shell.line("RETURN 1 AS first;")
    shell.line(" RETURN 'a secret';")
    shell.line(" RETURN 'another")
    shell.line("secret';")
    shell.line("MATCH (n)")
    shell.line("  RETURN n;")
    shell.line("RETURN 'two")
    shell.line("lines';")
    shell.line(' :param key "secret"')
    shell.leave()
    assert shell.history() == [
        "RETURN 1 AS first;",
        "MATCH (n) RETURN n;",
        "RETURN 'two",
        "lines';",
        ":quit",
    ]
    path = tmp_path / "state" / "doxa" / "cypher_history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_history_comes_back_and_is_cut(tmp_path: Path, edited: Terminal) -> None:
    edited.line("RETURN 41 + 1;")
    edited.leave()
    path = tmp_path / "state" / "doxa" / "cypher_history"
    path.write_text("".join(f"RETURN {number};\n" for number in range(5_000)) + "RETURN 41 + 1;\n")
    path.chmod(0o644)
    again = Terminal(tmp_path)
    try:
        assert "\n42" in again.type("\x1b[A\n")  # the key for the line before
        again.leave()
    finally:
        again.close()
    assert (len(again.history()), again.history()[-3:]) == (
        2_002,
        ["RETURN 41 + 1;", "RETURN 41 + 1;", ":quit"],
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_history_that_cannot_be_kept_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    terminal = Terminal(tmp_path)
    try:
        assert "1 row" in terminal.line("RETURN 1;")
        terminal.leave()
    finally:
        terminal.close()


def test_the_key_for_completion(edited: Terminal) -> None:
    assert "'Ann'" in edited.line("matc\t (n:Pers\t) RETURN n.nam\t;")
    assert "KNOWS" in edited.line("MATCH ()-[r:KN\t]->(:`New one`) RETURN r;")
    assert "2024-01-01" in edited.line("RETURN date.trunc\t'year', date('2024-05-05'));")
    assert "Person" in edited.line("CALL db.lab\t();")
    edited.line(":param place 'Bonn'")
    assert "'Bonn'" in edited.line("RETURN $pl\t;")
    assert "Labels: " in edited.line(":sch\t")
    edited.leave()


def test_interrupting(edited: Terminal) -> None:
    edited.line("MATCH (n)")
    edited.type("RETURN ga", end="RETURN ga")
    assert edited.interrupt().endswith("\ndoxa> ")
    assert "1 row" in edited.line("RETURN 1;")
    edited.line("UNWIND range(1, 1000) AS x CREATE (:N {x: x});")
    for query in (  # one that runs in Python, one that runs in SQL
        (
            b"UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b WITH a, b WHERE a + b < 0"
            b" RETURN count(a);\n"
        ),
        b"MATCH (a:N), (b:N), (c:N), (d:N) WHERE a.x + b.x + c.x + d.x < 0 RETURN count(*);\n",
    ):
        os.write(edited.handle, query)
        time.sleep(1)
        assert "The query was ended." in edited.interrupt()
        assert "1 row" in edited.line("RETURN 1;")
    os.write(edited.handle, b"\x04")
    edited.end()


def test_the_shell_reads_only(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None):
        pass
    terminal = Terminal(tmp_path, "--read", "--param", "x=1")
    try:
        assert "--read lets none through" in terminal.line("CREATE (:A);")
        assert "\n1\n1 row" in terminal.line("RETURN $x AS x;")
        terminal.leave()
    finally:
        terminal.close()


NAMES = Names(
    ("Person", "Pet", "a b"),
    ("KNOWS", "KEEPS"),
    ("name", "nick name"),
    ("db.labels", "db.ping", "doxa.recall"),
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mat|", ["match"]),
        ("MAT|", ["MATCH"]),
        ("ma|", ["match", "max("]),
        ("MATCH (n:Pe|", ["Person", "Pet"]),
        ("MATCH (n:Pet|P|", ["Person", "Pet"]),
        ("MATCH (n:|", ["Person", "Pet", "`a b`"]),
        ("MATCH (a)-[:|", ["KEEPS", "KNOWS"]),
        ("MATCH (a)-[r:KN|", ["KNOWS"]),
        ("MATCH (a {x: [1, 2]})-[:KE|", ["KEEPS"]),
        ("RETURN {a: tr|", ["trim("]),
        ("RETURN n.na|", ["n.name"]),
        ("RETURN n.|", ["n.`nick name`", "n.name"]),
        ("RETURN date.tru|", ["date.truncate("]),
        ("RETURN toU|", ["toUpper("]),
        ("CREATE (n {na|", ["name: "]),
        ("CALL db.|", ["db.labels", "db.ping"]),
        ("call do|", ["doxa.recall"]),
        ("RETURN $pa|", ["$pace", "$page"]),
        (":be|", ["begin"]),
        ("RETURN nothing_like_it|", []),
    ],
)
def test_what_a_word_may_become(text: str, wanted: list[str]) -> None:
    found = re.search(r"([\w.$]*)\|$", text)
    assert found is not None
    before, word = text[: found.start()], found.group(1)
    assert (
        candidates(
            before,
            word,
            names=NAMES,
            parameters=("pace", "page"),
            commands={"begin": 1, "commit": 2},
        )
        == wanted
    )
