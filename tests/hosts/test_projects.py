"""`--project auto`: which folder belongs to which project."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from doxa.base.errors import InputError
from doxa.hosts.projects import ProjectTable, clean_name, project_of, remote_key


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "ana"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return folder


@pytest.fixture
def table(tmp_path: Path, home: Path) -> ProjectTable:
    return ProjectTable(tmp_path / "config" / "doxa" / "projects.toml")


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@a", *words],
        check=True,
        capture_output=True,
    )


def repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def test_subfolders_and_worktrees_share_the_project_of_their_repository(
    home: Path, table: ProjectTable, tmp_path: Path
) -> None:
    root = repository(home / "work" / "shop-api")
    (root / "src" / "deep").mkdir(parents=True)
    git(root, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "fix-7"))
    first = project_of(root / "src" / "deep", table)
    assert (first.project, first.rule, first.known) == ("shop-api", "repository", False)
    for place in (root, tmp_path / "elsewhere" / "fix-7"):
        assert project_of(place, table).project == "shop-api"
    assert table.rows() == {str(root): "shop-api"}


def test_clones_of_one_remote_share_and_two_of_one_name_do_not(
    home: Path, table: ProjectTable
) -> None:
    one = repository(home / "a" / "shop", "git@github.com:acme/shop.git")
    two = repository(home / "b" / "copy", "https://ana:secret@github.com/acme/shop")
    other = repository(home / "c" / "shop", "ssh://git@github.com:22/rival/shop.git")
    third = repository(home / "d" / "shop")
    assert [project_of(place, table).project for place in (one, two, other, third)] == [
        "shop",
        "shop",
        "rival-shop",
        "d-shop",
    ]
    assert "secret" not in table.path.read_text()


def test_a_folder_without_a_repository_is_a_project_and_the_home_folder_is_default(
    home: Path, table: ProjectTable
) -> None:
    notes = home / "My Notes"
    notes.mkdir()
    assert project_of(notes, table).project == "my-notes"
    (notes / "2026").mkdir()
    assert project_of(notes / "2026", table).project == "my-notes"
    assert project_of(home, table).project == "default"
    assert project_of(Path("/"), table).project == "default"
    git(home, "init", "-q")  # dotfiles in a repository do not make all of it one project
    other = home / "letters"
    other.mkdir()
    assert project_of(other, table).project == "letters"


def test_the_person_decides_and_the_nearest_decision_counts(
    home: Path, table: ProjectTable, tmp_path: Path
) -> None:
    root = repository(home / "mono", "git@github.com:acme/mono.git")
    api = root / "packages" / "api"
    api.mkdir(parents=True)
    assert project_of(api, table).project == "mono"
    table.set(str(api), "api")
    assert project_of(api, table).project == "api"
    assert project_of(root / "packages", table).project == "mono"
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "packages" / "api").mkdir(parents=True)
    assert project_of(tmp_path / "tree" / "packages" / "api", table).project == "api"
    table.set("github.com/acme/mono", "everything")
    assert project_of(root, table).project == "everything"
    # a folder above of repositories does not take them over
    project_of(home / "mono", table)
    above = home / "clients"
    above.mkdir()
    assert project_of(above, table).project == "clients"
    assert project_of(repository(above / "zoo"), table).project == "zoo"


def test_a_submodule_is_a_repository_of_its_own(home: Path, table: ProjectTable) -> None:
    part = repository(home / "part")
    root = repository(home / "whole")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "lib")
    assert project_of(root, table).project == "whole"
    assert project_of(root / "lib", table).project != "whole"


def test_the_file_keeps_comments_order_and_mode(home: Path, table: ProjectTable) -> None:
    table.path.parent.mkdir(parents=True)
    text = '# mine\n[projects]\n"/a" = "one"  # keep\n"/b" = "two"\n\n[other]\nx = 1\n'
    table.path.write_text(text)
    table.path.chmod(0o640)
    table.set("/c", "three")
    table.set("/b", "2nd")
    assert table.rows() == {"/a": "one", "/b": "2nd", "/c": "three"}
    assert table.remove("/c")
    assert table.path.read_text().replace('"2nd"', '"two"') == text
    assert table.path.stat().st_mode & 0o777 == 0o640
    assert not table.remove("/c")


@pytest.mark.parametrize(
    "text", ["[projects", '[projects]\n"/a" = 1\n', "projects = 3\n", "\udcff"]
)
def test_a_table_that_cannot_be_read_is_refused_and_left_alone(
    table: ProjectTable, text: str, home: Path
) -> None:
    table.path.parent.mkdir(parents=True)
    table.path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = table.path.read_bytes()
    for call in (table.rows, lambda: table.set("/x", "y"), lambda: project_of(home, table)):
        with pytest.raises(InputError, match="not a table of projects"):
            call()
    assert table.path.read_bytes() == before


def test_many_who_meet_folders_at_once_lose_no_row(home: Path, table: ProjectTable) -> None:
    folders = [home / f"p{n}" for n in range(16)]
    for folder in folders:
        folder.mkdir()
    threads = [threading.Thread(target=project_of, args=(one, table)) for one in folders * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.rows() == {str(folder): folder.name for folder in folders}


def test_an_imported_folder_that_is_gone_still_has_its_project(
    home: Path, table: ProjectTable
) -> None:
    root = repository(home / "shop")
    project_of(root, table)
    gone = project_of(root / "src" / "gone", table, exists=False)
    assert gone.project == "shop"
    assert project_of("/srv/old/atlas", table, exists=False).project == "atlas"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("https://token@GitHub.com/acme/shop/", "github.com/acme/shop"),
        ("ssh://git@host.example:2222/a/b.git", "host.example/a/b"),
        ("/srv/git/shop.git", ""),
        ("../shop", ""),
        ("C:/work/shop", ""),
        ("", ""),
    ],
)
def test_a_remote_is_its_host_and_path(url: str, key: str) -> None:
    assert remote_key(url) == key


def test_names_are_names_of_projects() -> None:
    from doxa.belief.kref import check_name

    for text in ("Shop API!", "Köln", "日本語", "a" * 200, "..", "-x-", "A/B"):
        name = clean_name(text)
        assert not name or check_name(name, what="project") == name


def test_the_commands_show_and_edit_the_table(
    home: Path, table: ProjectTable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from doxa.cli import app

    def doxa(*words: str) -> str:
        result = CliRunner().invoke(app, [*words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return str(result.output)

    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setenv("DOXA_EMBEDDER", "none")
    root = repository(home / "shop")
    monkeypatch.chdir(root)
    assert "shop  (repository:" in doxa("projects", "which")
    assert table.rows() == {}
    doxa("remember", "We deploy on Thursdays", "--project", "auto")
    assert table.rows() == {str(root): "shop"}
    assert "Thursdays" in doxa("recall", "when do we deploy", "-p", "auto")
    assert "nothing" not in doxa("projects", "list").lower()
    doxa("projects", "set", "git@github.com:acme/x.git", "other")
    assert table.rows()["github.com/acme/x"] == "other"
    doxa("projects", "remove", ".")
    assert table.rows() == {"github.com/acme/x": "other"}
