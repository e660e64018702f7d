"""The table of programs is whole: all that it says a program does has its rank."""

from __future__ import annotations

from mnemic.algorithms.steps.shell_programs import (
    COMMANDS,
    ELSEWHERE,
    INSTALL,
    PROGRAMS,
    RANKS,
    RUNNERS,
    USUAL,
    VIA,
    WORDS,
)


def test_every_action_of_the_table_has_a_rank() -> None:
    actions = {*PROGRAMS.values(), *USUAL.values(), *INSTALL.values()}
    actions = actions.union(*(known.values() for known in COMMANDS.values()), ("run", VIA))
    assert actions == set(RANKS)


def test_no_word_of_the_shell_is_a_program_as_well() -> None:
    assert set(WORDS).isdisjoint({*PROGRAMS, *COMMANDS, *RUNNERS, *ELSEWHERE})
