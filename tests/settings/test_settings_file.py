"""`doxa.toml`: where it is found, which values it may hold, what a wrong one says, and what holds
where it and the environment disagree."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from doxa.base.errors import InputError
from doxa.base.limits import CONFIG_FILE_BYTES_MAX
from doxa.settings import SETTINGS, configuration, memory_path, shown, template
from doxa.settings.table import IN_FILE


def written(folder: Path, text: str) -> dict[str, str]:
    """An environment whose user has this file."""
    path = folder / "doxa" / "doxa.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(folder)}


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    found = configuration({"XDG_CONFIG_HOME": str(tmp_path)})
    assert found.path is None
    assert [held for _, held in found.items() if held is not None and held.source == "file"] == []
    assert all(found.get(key) is None for key in IN_FILE)


def test_the_environment_goes_before_the_file_and_the_file_before_the_default(
    tmp_path: Path,
) -> None:
    environ = written(tmp_path, 'project = "shop"\n[models]\ncalls_max = 5\n')
    found = configuration(environ)
    project, calls = found.get("project"), found.get("models.calls_max")
    assert project and (project.text, project.source) == ("shop", "file")
    assert calls and calls.text == "5" and calls.name == f"models.calls_max in {found.path}"
    found = configuration(environ | {"DOXA_PROJECT": "other", "DOXA_MODEL_CALLS_MAX": ""})
    project, calls = found.get("project"), found.get("models.calls_max")
    assert project and (project.text, project.source) == ("other", "environment")
    assert calls and calls.text == "5"  # an empty variable says nothing
    assert found.get("working") is None


def test_a_named_file_is_read_in_place_of_the_users(tmp_path: Path) -> None:
    environ = written(tmp_path, 'project = "mine"\n')
    other = tmp_path / "other.toml"
    other.write_text('project = "other"\n')
    assert configuration(environ | {"DOXA_CONFIG": str(other)}).text("project") == "other"
    with pytest.raises(InputError, match=r"gone\.toml is not there, and DOXA_CONFIG"):
        configuration(environ | {"DOXA_CONFIG": str(tmp_path / "gone.toml")})


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    environ = written(tmp_path, 'project = "one"\n')
    assert configuration(environ).text("project") == "one"
    written(tmp_path, 'project = "another"\n')
    assert configuration(environ).text("project") == "another"


def test_paths_are_relative_to_the_file_and_may_begin_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    environ = written(
        tmp_path, 'database = "m.db"\n[models]\nfolder = "~/w"\nreranker = "onnx:r"\n'
    )
    found = configuration(environ)
    assert found.text("database") == str(tmp_path / "doxa" / "m.db") == str(memory_path(environ))
    assert found.text("models.folder") == str(tmp_path / "home" / "w")
    assert found.text("models.reranker") == f"onnx:{tmp_path / 'doxa' / 'r'}"


@pytest.mark.parametrize(
    ("text", "what", "step"),
    [
        ('databse = "m.db"', "databse is not a setting", "Did you mean database?"),
        ("[model]\nembeder = 'none'", "model.embeder is not", "Did you mean models.embedder?"),
        ('embedder = "none"', "embedder is not", "Did you mean models.embedder?"),
        ("[models]\ntoken_max = 5", "models.token_max is not", "Did you mean models.tokens_max?"),
        ('[models]\nopenai_api_key = "sk-1"', "openai_api_key is not", "environment alone"),
        ('colour = "red"', "colour is not", "Take the line out"),
        ("[models.prices]\na = 1", "models.prices is not", "Take the line out"),
        ("[models]\ncalls_max = -1", "calls_max is a whole number, 0 or more; this is -1", "out"),
        ('[models]\ncalls_max = "5"', "calls_max is a whole number, 0 or more; this is '5'", "out"),
        ("[models]\ncalls_max = true", "calls_max is a whole number", "out"),
        ("[policies]\ndecay = true", 'decay is "on" or "off"; this is True', "out"),
        ("database = 5", "database is a path in quotes", "out"),
        ('project = ""', "project is a text in quotes", "out"),
        ('database = "a\\u0000b"', "database is a path", "out"),
        ("database = ", "cannot be read as the configuration: Invalid value", "editor"),
        ("project = [1", "cannot be read", "editor"),
    ],
)
def test_a_wrong_file_names_itself_the_key_and_what_to_do(
    tmp_path: Path, text: str, what: str, step: str
) -> None:
    with pytest.raises(InputError) as caught:
        configuration(written(tmp_path, text))
    assert what in caught.value.message and step in caught.value.next_step
    assert str(tmp_path / "doxa" / "doxa.toml") in caught.value.message
    assert "sk-1" not in str(caught.value)


def test_a_file_is_not_read_that_is_none_or_too_long_or_open_to_everybody(tmp_path: Path) -> None:
    folder = {"DOXA_CONFIG": str(tmp_path)}
    with pytest.raises(InputError, match="it is not a file"):
        configuration(folder)
    environ = written(tmp_path, "#" * (CONFIG_FILE_BYTES_MAX + 1))
    with pytest.raises(InputError, match="longer than 65,536 bytes"):
        configuration(environ)
    written(tmp_path, 'project = "mine"\n')
    (tmp_path / "doxa" / "doxa.toml").chmod(0o666)
    with pytest.raises(InputError, match="can be written by everybody") as caught:
        configuration(environ)
    assert "chmod o-w" in caught.value.next_step
    (tmp_path / "doxa" / "doxa.toml").chmod(0o664)
    assert configuration(environ).text("project") == "mine"
    (tmp_path / "doxa" / "doxa.toml").write_bytes(b'project = "\xff"')
    with pytest.raises(InputError, match="cannot be read"):
        configuration(environ)


def test_the_template_changes_nothing_and_is_right_with_every_line_taken_in(
    tmp_path: Path,
) -> None:
    assert tomllib.loads(template()) == {
        name: {} for name in ("models", "policies", "queries", "telemetry")
    }
    head, _, rest = template().partition("\n# the memory file")
    assert head.startswith("# The configuration of doxa")
    lines = [
        line.removeprefix("# ") if " = " in line else line
        for line in f"# the memory file{rest}".splitlines()
    ]
    found = configuration(written(tmp_path, "\n".join(lines)))
    assert {
        setting.key for setting, held in found.items() if held and held.source == "file"
    } == set(IN_FILE)


def test_each_key_and_each_variable_is_defined_once() -> None:
    keys = [one.key for one in SETTINGS if one.key]
    variables = [one.variable for one in SETTINGS]
    assert len(set(keys)) == len(keys) and len(set(variables)) == len(variables)


@pytest.mark.parametrize(
    ("variable", "text", "hidden"),
    [
        ("OPENAI_API_KEY", "sk-proj-0123456789abcdef", "0123456789"),
        ("DOXA_WORKING", "redis://ana:hunter2@10.0.0.1:6379/0", "hunter2"),
        ("DOXA_OPENAI_URL", "https://example.com/v1?token=abcdef123", "abcdef123"),
        ("DOXA_MODEL", "command:run --key sk-ant-api03-" + "a" * 90, "aaaaaaaaaa"),
    ],
)
def test_secrets_are_masked(variable: str, text: str, hidden: str) -> None:
    setting = next(one for one in SETTINGS if one.variable == variable)
    assert hidden in text and hidden not in shown(setting, text)
