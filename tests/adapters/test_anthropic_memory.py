"""Anthropic's memory tool: the same random commands to doxa and to the reference implementation on
a file system, paths that try to leave, several writers, and what a file system does not keep."""

from __future__ import annotations

import asyncio
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app.memory import Memory, open_memory
from tests.adapters.frameworks import framework

tools = framework("anthropic.lib.tools._beta_builtin_memory_tool")

from doxa.adapters.anthropic_memory import DoxaAsyncMemoryTool, DoxaMemoryTool  # noqa: E402

Answer = tuple[str, str]
NAMES = ["a.md", "b", "dir", ".hidden", "e\u0301", "日本 語", "%2e%2e", "x~", "..."]
PATHS = [
    "/memories",
    "/memories/",
    "/memories/.",
    "/memories/..",
    "/memories/../x",
    "/memories/../memories/a.md",
    "/memories/dir/../b",
    "/memories//b",
    "/memories/b/",
    "/memories/../../etc/passwd",
    "/etc/passwd",
    "memories/a.md",
    "",
    "\\memories\\a.md",
]
TEXTS = [
    "",
    "one",
    "one\n",
    "one\ntwo\nthree\nfour\nfive\nsix\n",
    "\n\n",
    "two two\r\ntwo\n",
    "aaa",
    "e\u0301 é 日本\t語\n",
    "\x00\x1f\x7f\u2028\n",
    "x" * 3000,
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "a.db", embedder=None, background=False) as made:
        yield made


@pytest.fixture
def tool(memory: Memory) -> DoxaMemoryTool:
    return DoxaMemoryTool(memory.session(actor="claude", project="shop"))


def random_path(chooser: random.Random) -> str:
    if chooser.random() < 0.12:
        return chooser.choice(PATHS)
    return "/".join(("/memories", *chooser.choices(NAMES, k=chooser.choice((1, 1, 1, 2, 3)))))


def random_command(chooser: random.Random) -> dict[str, Any]:
    path = random_path(chooser)
    match chooser.choice("create create create view view str_replace insert delete rename".split()):
        case "create":
            return {"command": "create", "path": path, "file_text": chooser.choice(TEXTS)}
        case "view":
            bounds = [None, None, [1, 2], [2, -1], [0, 3], [4, 2], [3]]
            given = chooser.choice(bounds)
            return {"command": "view", "path": path} | ({"view_range": given} if given else {})
        case "str_replace":
            old = chooser.choice(["one", "two", "aa", "six", "\n", "é", "nowhere"])
            new = chooser.choice(["", "1", "two\nlines", "é"])
            return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}
        case "insert":
            line, text = chooser.randint(-1, 4), chooser.choice(["new", "new\n", "\n\n", "a\nb\n"])
            return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}
        case "delete":
            return {"command": "delete", "path": path}
        case _:
            return {"command": "rename", "old_path": path, "new_path": random_path(chooser)}


def answer(tool: Any, command: dict[str, Any]) -> Answer:
    """What the model reads. What the reference does not expect, an error of the system, is an error
    of any words."""
    try:
        return "said", str(tool.call(command))
    except tools.ToolError as error:
        return "refused", str(error)
    except (OSError, ValueError):
        return "refused", ""


def without_directory_sizes(text: str, root: Path) -> str:
    """A listing without the sizes of directories, which depend on the file system."""
    lines = text.split("\n")
    if not lines[0].startswith("Here're the files"):
        return text
    kept = [lines[0], lines[1].partition("\t")[2]]
    kept += [line.partition("\t")[2] if line.endswith("/") else line for line in lines[2:]]
    return "\n".join(kept)


def without_empty_directories(root: Path) -> None:
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    root.mkdir(exist_ok=True)


def test_random_commands_are_answered_as_by_the_reference(
    tool: DoxaMemoryTool,
    tmp_path: Path,
    seed: int,
    campaign: int,
    tally: Callable[..., None],
) -> None:
    chooser = random.Random(seed)
    reference = tools.BetaLocalFilesystemMemoryTool(str(tmp_path / "reference"))
    said = 0
    for number in range(400 * campaign):
        command = random_command(chooser)
        want, have = answer(reference, command), answer(tool, command)
        without_empty_directories(reference.memory_root)
        assert have[0] == want[0], (number, command, want, have)
        if want[1]:
            texts = [without_directory_sizes(text, tmp_path) for _, text in (want, have)]
            assert texts[1] == texts[0], (number, command)
        said += have[0] == "said"
    files = {
        str(path.relative_to(reference.memory_root)): path.read_bytes().decode()
        for path in reference.memory_root.rglob("*")
        if path.is_file()
    }
    stored = {"/".join(one.path): one.value for one in tool._files._documents.below()}
    assert stored == files
    tally(commands=400 * campaign, answered=said)


def test_an_edit_is_a_revision_and_a_rename_keeps_the_item(
    tool: DoxaMemoryTool, memory: Memory
) -> None:
    tool.call({"command": "create", "path": "/memories/plan.md", "file_text": "Ship in May.\n"})
    [kref] = tool._files._documents.paths().values()
    before = len(list(memory.log()))
    tool.call(
        {
            "command": "str_replace",
            "path": "/memories/plan.md",
            "old_str": "May",
            "new_str": "June",
        }
    )
    assert len(list(memory.log())) == before + 1
    tool.call(
        {"command": "rename", "old_path": "/memories/plan.md", "new_path": "/memories/old/p.md"}
    )
    session = memory.session(project="shop")
    history = session.history(kref)
    assert [one.metadata["adapter_value"] for one in history.revisions] == [
        '"Ship in May.\\n"',
        '"Ship in June.\\n"',
        '"Ship in June.\\n"',
    ]
    assert {one.author for one in history.revisions} == {"claude"}
    assert tool._files._documents.paths() == {("old", "p.md"): kref}
    assert session.recall("When do we ship?").hits[0].kref.startswith(kref)
    tool.call({"command": "delete", "path": "/memories/old"})
    assert session.recall("When do we ship?").hits == ()
    session.restore(kref)
    assert "June" in str(tool.call({"command": "view", "path": "/memories/old/p.md"}))


def test_a_file_that_a_person_corrects_is_corrected(tool: DoxaMemoryTool, memory: Memory) -> None:
    tool.call({"command": "create", "path": "/memories/plan.md", "file_text": "Ship in May.\n"})
    tool.call(
        {"command": "insert", "path": "/memories/plan.md", "insert_line": 0, "insert_text": "x"}
    )
    [kref] = tool._files._documents.paths().values()
    person = memory.session(actor="ana", project="shop")
    person.revise(kref, "Ship in July.")
    view = {"command": "view", "path": "/memories/plan.md"}
    assert str(tool.call(view)).endswith("\tShip in July.")
    tool.call(
        {"command": "insert", "path": "/memories/plan.md", "insert_line": 1, "insert_text": "Yes."}
    )
    assert str(tool.call(view)).endswith("\tShip in July.\n     2\tYes.\n     3\t")
    person.rollback(f"{kref}?r=1")
    assert "Ship in May." in str(tool.call(view))
    tool.call(
        {"command": "str_replace", "path": "/memories/plan.md", "old_str": "May", "new_str": "Mai"}
    )
    assert str(tool.call(view)).endswith("     1\tShip in Mai.\n     2\t")
    person.revise(kref, "plan.md\nShip in August.")
    assert str(tool.call(view)).endswith("     1\tShip in August.")


def test_a_text_that_stands_everywhere_is_refused_in_few_words(tool: DoxaMemoryTool) -> None:
    path = "/memories/a.txt"
    tool.call({"command": "create", "path": path, "file_text": "a\n" * 200_000})
    replace = {"command": "str_replace", "path": path, "new_str": "x"}
    began = time.monotonic()
    with pytest.raises(tools.ToolError, match=r"in lines: 1, 2, .*, 50, and more\.") as refused:
        tool.call({**replace, "old_str": "a"})
    assert len(str(refused.value)) < 400
    with pytest.raises(tools.ToolError, match="old_str is empty"):
        tool.call({**replace, "old_str": ""})
    assert time.monotonic() - began < 10  # with 200,000 lines, a pass for each takes minutes


def test_what_a_person_verified_is_not_edited(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", role="operator", embedder=None, background=False) as memory:
        tool = DoxaMemoryTool(memory.session(actor="claude", project="shop", role="agent"))
        path = "/memories/n.md"
        tool.call({"command": "create", "path": path, "file_text": "The port is 9090.\n"})
        [kref] = tool._files._documents.paths().values()
        person = memory.session(actor="olga", project="shop", role="operator")
        person.revise(kref, "n.md\nThe port is 9090.\n", trust="verified")
        for command in (
            {"command": "str_replace", "path": path, "old_str": "9090", "new_str": "9091"},
            {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
            {"command": "rename", "old_path": path, "new_path": "/memories/m.md"},
        ):
            with pytest.raises(tools.ToolError, match="trusted more than this write"):
                tool.call(command)
        assert "9090" in str(tool.call({"command": "view", "path": path}))
        assert person.conflicts() == []


@pytest.mark.parametrize(
    "path",
    [
        *("/memories/../x", "/memories/a/../../x", "/memories/../memoriesx/y", "/memoriesfoo"),
        *("/memories\x00", "/memories/a\x00b", "/memories/\ud800", "..", "/", "~", "C:\\memories"),
        *("kref://shop/memories", "/Memories/a", "/memories/../../../../etc/passwd"),
    ],
)
@pytest.mark.parametrize("command", ["view", "create", "delete", "rename", "insert", "str_replace"])
def test_a_path_outside_is_refused(
    tool: DoxaMemoryTool, memory: Memory, path: str, command: str
) -> None:
    tool.call({"command": "create", "path": "/memories/a", "file_text": "x"})
    given = {
        "path": path,
        "file_text": "x",
        "old_str": "x",
        "new_str": "y",
        "insert_line": 0,
        "insert_text": "x",
        "old_path": "/memories/a",
        "new_path": path,
    }
    with pytest.raises(tools.ToolError):
        tool.call({"command": command, **given})
    assert [one.path for one in tool._files._documents.below()] == [("a",)]


@pytest.mark.parametrize("path", ["/memories/%2e%2e/x", "/memories/..%2fx", "/memories/..\\x"])
def test_what_only_looks_like_leaving_is_a_name(tool: DoxaMemoryTool, path: str) -> None:
    tool.call({"command": "create", "path": path, "file_text": "inside"})
    assert "inside" in str(tool.call({"command": "view", "path": path}))
    assert tool._files._documents.paths().keys() == {tuple(path.split("/")[2:])}


def test_another_space_or_project_is_out_of_reach(memory: Memory) -> None:
    session = memory.session(project="shop")
    one, two = DoxaMemoryTool(session), DoxaMemoryTool(session, space="memories/inner")
    three = DoxaMemoryTool(memory.session(project="bank"))
    one.call({"command": "create", "path": "/memories/inner/x", "file_text": "one"})
    for other in (two, three):
        assert answer(other, {"command": "view", "path": "/memories/inner/x"})[0] == "refused"
        assert "inner" not in answer(other, {"command": "view", "path": "/memories"})[1]
    two.call({"command": "create", "path": "/memories/x", "file_text": "two"})
    one.clear_all_memory()
    assert "two" in str(two.call({"command": "view", "path": "/memories/x"}))


def test_credentials_are_left_out_and_the_answer_says_so(tool: DoxaMemoryTool) -> None:
    text = "Deploy notes\npassword: hunter2secret9\nThe next line stays.\n"
    said = tool.call({"command": "create", "path": "/memories/notes", "file_text": text})
    assert "A secret (password) was left out" in str(said)
    shown = str(tool.call({"command": "view", "path": "/memories/notes"}))
    assert "hunter2" not in shown
    assert "The next line stays." in shown
    assert "Deploy notes" in shown


def test_a_file_that_is_too_large_is_refused_in_words(tool: DoxaMemoryTool) -> None:
    text = "word " * 1_000_000
    with pytest.raises(tools.ToolError, match="4,194,304"):
        tool.call({"command": "create", "path": "/memories/huge", "file_text": text})
    assert tool._files._documents.paths() == {}


def test_of_several_writers_one_creates(memory: Memory) -> None:
    made: list[int] = []
    start = threading.Barrier(6)

    def write(who: int) -> None:
        tool = DoxaMemoryTool(memory.session(actor=f"a{who}", project="shop"))
        start.wait()
        for n in range(8):
            command = {"command": "create", "path": f"/memories/f{n}", "file_text": str(who)}
            if answer(tool, command)[0] == "said":
                made.append(n)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(made) == list(range(8))
    assert memory.check() == []


def test_edits_at_the_same_time_are_all_kept(tool: DoxaMemoryTool) -> None:
    tool.call({"command": "create", "path": "/memories/log", "file_text": "start\n"})

    def write(who: int) -> None:
        for n in range(10):
            tool.call(
                {
                    "command": "insert",
                    "path": "/memories/log",
                    "insert_line": 1,
                    "insert_text": f"{who}:{n}",
                }
            )

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    shown = str(tool.call({"command": "view", "path": "/memories/log"}))
    assert set(re.findall(r"\d:\d", shown)) == {f"{who}:{n}" for who in range(4) for n in range(10)}


def test_the_asynchronous_tool(memory: Memory) -> None:
    tool = DoxaAsyncMemoryTool(memory.session(project="shop"))

    async def run() -> None:
        made = [
            tool.call({"command": "create", "path": f"/memories/{n}", "file_text": "x"})
            for n in range(10)
        ]
        assert len(await asyncio.gather(*made)) == 10
        await tool.call({"command": "rename", "old_path": "/memories/1", "new_path": "/memories/m"})
        await tool.call({"command": "delete", "path": "/memories/2"})
        listing = str(await tool.call({"command": "view", "path": "/memories"}))
        assert "/memories/m" in listing
        assert "/memories/2" not in listing
        await tool.clear_all_memory()
        with pytest.raises(tools.ToolError):
            await tool.call({"command": "view", "path": "/memories/m"})

    asyncio.run(run())


def test_the_tool_says_what_it_is(tool: DoxaMemoryTool) -> None:
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
