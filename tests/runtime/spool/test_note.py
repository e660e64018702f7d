"""A note is sealed into a file of its own, which the reader of the spool takes in like a hook's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.actors.kernel.events import HookRecord
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.spool.note import write_note
from mnemic.runtime.spool.spool import Spool
from tests.clocks import ManualClock
from tests.runtime.spooling import CREATED_US, drain


@pytest.mark.parametrize("size", [0, 9, (1 << 20) - 96, 3 << 20])
def test_what_is_written_is_read_with_all_that_was_said_of_it(tmp_path: Path, size: int) -> None:
    mind = create_mind(tmp_path, "default", SystemClock())
    write_note(mind.spool, ManualClock(CREATED_US), b"p" * size, assistant="codex", event="briefed")
    keys = open_mind(tmp_path, "default")[1]
    (taken,), torn = drain(Spool(mind.spool, keys.spool_private, SystemClock()))
    assert isinstance(taken, HookRecord)
    assert (taken.assistant, taken.event, taken.at, torn) == ("codex", "briefed", CREATED_US, 0)
    assert (taken.cwd, taken.branch, taken.entry, taken.payload) == (None, None, None, b"p" * size)


def test_each_note_has_a_file_of_its_own_and_nothing_beside_it(tmp_path: Path) -> None:
    mind = create_mind(tmp_path, "default", SystemClock())
    for number in range(3):
        write_note(mind.spool, SystemClock(), b"%d" % number, assistant="codex", event="briefed")
    files = [path for path in mind.spool.iterdir() if path.suffix == ".spool"]
    assert len(files) == 3
    assert {path.name for path in mind.spool.iterdir()} == {*(path.name for path in files), "losses"}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)


def test_a_file_that_says_nothing_to_seal_to_is_an_error(tmp_path: Path) -> None:
    mind = create_mind(tmp_path, "default", SystemClock())
    config = json.loads(mind.spool_config.read_bytes())
    mind.spool_config.write_text(json.dumps(config | {"version": 2}))
    with pytest.raises(ValueError, match="version 2"):
        write_note(mind.spool, SystemClock(), b"", assistant="codex", event="briefed")
    assert list(mind.spool.glob("*.spool")) == []
