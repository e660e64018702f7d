"""What the status says of use, and of what hooks lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mnemic.cli.status import usage_lines
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.spool.note import write_note
from tests.processes.faces import Outcome

Command = Callable[..., Outcome]


def test_use_is_told_by_project_and_of_the_weeks_that_have_any() -> None:
    none = {"memories": 0, "text_bytes": 0, "given": 0, "tokens": 0}
    use = {
        "projects": [
            {"path": "", **none, "memories": 1, "text_bytes": 90},
            {"path": "*", **none, "given": 1, "tokens": 1},
            {"path": "shelf", "memories": 2, "text_bytes": 1500, "given": 3, "tokens": 300},
        ],
        "weeks": [{"from": "2026-11-16", **none, "memories": 3, "text_bytes": 1590}, {"from": "2026-11-09", **none}],
    }
    assert list(usage_lines(use | {"told_twice": 2}, {}))[-1] == (
        "told twice: 2 times a user said again what memory held and that conversation had not been given"
    )
    assert list(usage_lines(use | {"told_twice": 0}, {"": "none", "shelf": "git"})) == [
        "  (no scope): 1 memory, 90 bytes (none)",
        "  (asked of everything): 0 memories, 0 bytes, 1 token given (1 time)",
        "  shelf: 2 memories, 1.5 kB, 300 tokens given (3 times) (git)",
        "by week, from Monday on:",
        "  2026-11-16: 3 memories, 1.6 kB",
    ]


def test_a_spool_file_that_was_cut_within_its_header_is_counted(command: Command, home: Path) -> None:
    command("init", "--home", home)
    spool = home / "minds" / "default" / "spool"
    write_note(spool, SystemClock(), b"{}", assistant="codex", event="tool")
    (path,) = spool.glob("*.spool")
    os.truncate(path, 47)
    counted = "1 place of the spool held no whole record"
    assert counted in command("status", "--home", home).out
    assert "1 spool file held what cannot be opened" in command("status", "--home", home).out
    assert counted in command("doctor", "--home", home).out
