"""Settings are one table; what is in the file is in the table, or it is refused in one sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import pytest

from mnemic.actors.kernel.errors import BadSettings, InvalidValue, SourceUnreadable
from mnemic.runtime.engine.plugins import ASKED_SLOTS, SLOTS
from mnemic.runtime.engine.settings import (
    Settings,
    as_markdown,
    load_asked_settings,
    load_settings,
    settings_table,
    with_settings_path,
)
from tests.runtime.building import ROOT, said


def load(tmp_path: Path, text: str | bytes) -> Settings:
    path = tmp_path / "mnemic.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_settings(path)


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    for settings in (load_settings(tmp_path / "mnemic.toml"), load(tmp_path, "")):
        defaults = {setting.name: setting.default for setting in settings_table()}
        assert {name: settings[name] for name in defaults} == defaults


def test_who_is_only_asked_starts_those_that_answer_unless_settings_are_of_others(tmp_path: Path) -> None:
    def load_asked(text: str) -> Settings:
        path = tmp_path / "mnemic.toml"
        path.write_text(text, "utf-8")
        return load_asked_settings(path)

    for text in ("", "[recall]\nk = 3", '[capture]\ndeny = ["a"]\n[runtime]\nask_timeout_s = 5'):
        few, all_of_them = load_asked(text), load(tmp_path, text)
        assert tuple(few.actors) == ASKED_SLOTS
        assert few.values().items() <= all_of_them.values().items()
    for text in ("[binder]\nleave_out = []", '[actors]\nbinder = ""', '[sleep]\nstages = "digests"'):
        assert tuple(load_asked(text).actors) == SLOTS
        assert load_asked(text).values() == load(tmp_path, text).values()
    for text in ("[recall]\nk = 'x'", "[recall]\nkk = 3"):
        with pytest.raises(InvalidValue) as few_refuse:
            load_asked(text)
        with pytest.raises(InvalidValue) as all_refuse:
            load(tmp_path, text)
        assert str(few_refuse.value) == str(all_refuse.value)


def test_every_setting_can_be_set(tmp_path: Path) -> None:
    for setting in settings_table():
        section, _, key = setting.name.partition(".")
        if section == "actors":
            continue  # tests/runtime/engine/test_plugins.py names some
        listed = isinstance(setting.default, tuple)
        value = "a folder" if isinstance(setting.default, str) or listed else setting.default + setting.multiple
        if isinstance(setting.default, bool):
            value = not setting.default
        elif setting.maximum is not None:
            value = type(setting.default)(min(value, setting.maximum))
        if setting.choices:
            value = setting.choices[-1]
        written = f'"{value}"' if isinstance(value, str) else str(value).lower()
        if listed:
            value, written = (value,), f"[{written}]"
        settings = load(tmp_path, f"[{section}]\n{key} = {written}\n")
        assert settings[setting.name] == value
        assert type(settings[setting.name]) is type(setting.default)
        assert settings.hash() != Settings().hash()


def test_a_whole_number_is_taken_where_any_number_is(tmp_path: Path) -> None:
    value = load(tmp_path, "[runtime]\nask_timeout_s = 5")["runtime.ask_timeout_s"]
    assert (value, type(value)) == (5.0, float)


def test_settings_are_named_by_their_values() -> None:
    assert Settings().hash() == Settings({}).hash() == Settings({"runtime.inbox_messages": 256}).hash()
    assert re.fullmatch("[0-9a-f]{16}", Settings().hash())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[recall]\nnone = 1", "there is no such setting"),
        ("recall = 1", "there is no such setting"),
        ("[recall.hit_bytes]\nx = 1", "there is no such setting"),
        ("[recall]\nhit_bytes = 'many'", "it is not a whole number"),
        ("[recall]\nhit_bytes = 100.0", "it is not a whole number"),
        ("[recall]\nhit_bytes = true", "it is not a whole number"),
        ("[recall]\nhit_bytes = [100]", "it is not a whole number"),
        ("[recall]\nhit_bytes = 2026-11-21", "it is not a whole number"),
        ("[recall]\nhit_bytes = 63", "it is not 64 or more"),
        ("[runtime]\nask_timeout_s = nan", "it is not 0.1 or more"),
        ("[runtime]\nask_timeout_s = -inf", "it is not 0.1 or more"),
        ("[embedder]\nmodel = 1", "it is not a text"),
        ("[embedder]\nimplementation = 'jax'", "there is no such one"),
        ("[embedder]\nthreads = -1", "it is not 0 or more"),
        ("[capture]\ndeny = '/secret'", "it is no list"),
        ("[binder]\ndimensions = 100000000000", "it is more than 65,536"),
        ("[binder]\ndimensions = 65600", "it is more than 65,536"),
        ("[binder]\ndimensions = 100", "it is no multiple of 64"),
        ("[binder]\ndimensions = 0", "it is not 64 or more"),
        ("[binder]\nleave_out = 'who'", "it is no list"),
        ("[capture]\nallow = ['work', 1]", "it does not hold texts alone"),
        ("[capture]\nallow = [' ']", "it does not hold texts alone"),
        ("[capture]\nleave_out = ['headless', 'subagent']", "there is no 'subagent'"),
    ],
)
def test_what_is_not_in_the_table_is_refused(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InvalidValue, match=what) as caught:
        load(tmp_path, text)
    assert str(tmp_path / "mnemic.toml") in said(caught.value)


def test_a_name_that_is_none_is_told_with_the_nearest_that_is_one(tmp_path: Path) -> None:
    for text, near in (
        ("[recall]\nkk = 1", "recall.k"),
        ("[embedder]\nthread = 2", "embedder.threads"),
        ("x = 1", "a name"),
    ):
        with pytest.raises(InvalidValue) as caught:
            load(tmp_path, text)
        assert caught.value.remedy_text == f"Give {near}, as docs/settings.md has it."


def test_a_value_that_is_none_is_told_with_one_that_could_be(tmp_path: Path) -> None:
    for text, expected in (
        ("[binder]\nextractor = 3", "a value such as 'module:function'"),
        ("[actors]\nstore = 3", "a value such as 'module:Class'"),
        ("[binder]\nbackend = 3", "one of '', 'native', 'numpy', 'torch'"),
        ("[recall]\nk = 'x'", f"a value such as {Settings()['recall.k']}"),
    ):
        with pytest.raises(InvalidValue) as caught:
            load(tmp_path, text)
        assert caught.value.remedy_text == f"Give {expected}."
    for setting in settings_table():
        if isinstance(setting.default, str):
            section, _, key = setting.name.partition(".")
            with pytest.raises(InvalidValue) as caught:
                load(tmp_path, f"[{section}]\n{key} = 3")
            assert "such as ''" not in caught.value.remedy_text, setting.name


def test_a_list_that_is_none_is_told_with_one_of_what_was_given_or_is_the_default(tmp_path: Path) -> None:
    for text, such in (
        ("[binder]\nleave_out = 'who'", "['who']"),
        ("[binder]\nleave_out = 3", "['workspace']"),
        ("[capture]\ndeny = '/secret'", "['/secret']"),
        ("[capture]\ndeny = ' '", "['work/*', '~/notes']"),
        ("[capture]\nleave_out = 'headless'", "['headless', 'subagents']"),
    ):
        with pytest.raises(InvalidValue) as caught:
            load(tmp_path, text)
        assert caught.value.remedy_text == f"Give a list such as {such}."


def test_the_longest_hypervectors_that_can_be_set_are_taken(tmp_path: Path) -> None:
    assert load(tmp_path, "[binder]\ndimensions = 65536")["binder.dimensions"] == 65_536


def test_an_error_of_a_setting_that_its_actor_saw_names_the_file_and_any_other_stays_as_it_is(tmp_path: Path) -> None:
    seen = InvalidValue(name="binder.leave_out", value="colour", why="there is no such role", expected="some of who")
    named = with_settings_path(seen, tmp_path / "mnemic.toml")
    assert str(named).startswith(f"binder.leave_out in {tmp_path / 'mnemic.toml'} cannot be 'colour'")
    assert named.remedy_text == seen.remedy_text
    other = InvalidValue(name="the mind's name", value="a/b", why="it has a slash", expected="a name")
    assert with_settings_path(other, tmp_path) is other
    assert with_settings_path(named, tmp_path) is named


def test_of_a_home_that_cannot_be_read_the_home_is_named_and_not_a_file_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    (tmp_path / "mnemic.toml").touch()
    with pytest.raises(BadSettings, match=re.escape(f"The settings in {tmp_path / 'mnemic.toml'} cannot be read")):
        load_settings(tmp_path / "mnemic.toml")
    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(SourceUnreadable) as caught:
        load_settings(tmp_path / "mnemic.toml")
    assert said(caught.value).startswith(f"{tmp_path} cannot be read: Permission denied.")


@pytest.mark.parametrize("text", ["[recall", "recall.hit_bytes", "a = 1\na = 2", b"\xff\xfe"])
def test_what_is_no_toml_is_refused(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(BadSettings, match="it is no TOML") as caught:
        load(tmp_path, text)
    assert str(tmp_path / "mnemic.toml") in said(caught.value)


def test_a_file_that_cannot_be_read_is_said_not_to_be(tmp_path: Path) -> None:
    (tmp_path / "mnemic.toml").mkdir()
    with pytest.raises(BadSettings, match="Is a directory") as caught:
        load_settings(tmp_path / "mnemic.toml")
    said(caught.value)


def test_the_table_is_whole() -> None:
    names = [setting.name for setting in settings_table()]
    assert names == sorted(set(names))
    for setting in settings_table():
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", setting.name)
        assert setting.help.endswith(".")
        assert setting.unit
        assert isinstance(setting.default, (int, float, str, tuple))
        assert setting.minimum is None or setting.default >= setting.minimum


def test_the_documentation_is_made_from_the_table() -> None:
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert as_markdown() in text, "put the output of mnemic.runtime.engine.settings.as_markdown() into docs/settings.md"
    assert text.count("\n| `") == len(settings_table())
