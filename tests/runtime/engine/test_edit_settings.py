"""One value of the settings is set, and no other byte of the file changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.runtime.engine.edit_settings import set_value

NAME = "embedder.model"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[embedder]\nmodel = "/m"\n'),
        ("[sleep]\n", '[sleep]\n\n[embedder]\nmodel = "/m"\n'),
        ("[sleep]", '[sleep]\n\n[embedder]\nmodel = "/m"\n'),
        ("[embedder]", '[embedder]\nmodel = "/m"\n'),
        ("[embedder] # mine\nthreads = 2\n", '[embedder] # mine\nmodel = "/m"\nthreads = 2\n'),
        (
            '[embedder]\n# old\nmodel = "/o" # why\nthreads = 2\n',
            '[embedder]\n# old\nmodel = "/m" # why\nthreads = 2\n',
        ),
        ("[embedder]\r\nthreads = 2\r\n", '[embedder]\r\nmodel = "/m"\r\nthreads = 2\r\n'),
        ("[sleep]\r\n", '[sleep]\r\n\r\n[embedder]\r\nmodel = "/m"\r\n'),
        ('[embedder]\nmodel = "/a \\"b\\""\n', '[embedder]\nmodel = "/m"\n'),
        ("[embedder]\nmodel='/o'\n[sleep]\n", '[embedder]\nmodel="/m"\n[sleep]\n'),
    ],
)
def test_only_the_value_changes(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "mnemic.toml"
    path.write_bytes(before.encode())
    assert set_value(path, NAME, "/m")
    assert path.read_bytes().decode() == after
    assert not set_value(path, NAME, "/m")
    assert path.read_bytes().decode() == after


def test_where_there_is_no_file_one_is_made(tmp_path: Path) -> None:
    assert set_value(tmp_path / "mnemic.toml", NAME, '/a "b"')
    assert tomllib.loads((tmp_path / "mnemic.toml").read_text("utf-8")) == {"embedder": {"model": '/a "b"'}}
    assert not set_value(tmp_path / "other.toml", NAME, "")


@pytest.mark.parametrize(
    "before", ['embedder = {model = "/o"}\n', 'embedder.model = "/o"\n', '[embedder]\nmodel = """/o"""\n']
)
def test_another_form_is_refused_and_left_alone(tmp_path: Path, before: str) -> None:
    path = tmp_path / "mnemic.toml"
    path.write_text(before, "utf-8")
    with pytest.raises(InvalidValue, match="in a form that is not edited here") as refused:
        set_value(path, NAME, "/m")
    assert refused.value.remedy_text == 'Write `model = "/m"` under `[embedder]` in it yourself.'
    assert path.read_text("utf-8") == before


def test_a_link_stays_one_and_what_it_names_changes(tmp_path: Path) -> None:
    (tmp_path / "kept.toml").write_text("[embedder]\n", "utf-8")
    (tmp_path / "mnemic.toml").symlink_to("kept.toml")
    assert set_value(tmp_path / "mnemic.toml", NAME, "/m")
    assert (tmp_path / "mnemic.toml").is_symlink()
    assert (tmp_path / "kept.toml").read_text("utf-8") == '[embedder]\nmodel = "/m"\n'
