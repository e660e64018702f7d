"""The table of programs is whole: all that it says a program does has its rank."""

from __future__ import annotations

from mnemic.algorithms.steps.shell_programs import (
    ACTION_PRIORITY,
    INSTALL_SUBCOMMANDS,
    PROGRAMS,
    REMOTE_RUNNERS,
    RUNNERS,
    SCRIPT_ACTIONS,
    SHELL_BUILTINS,
    SUBCOMMANDS,
    VIA,
)


def test_every_action_of_the_table_has_a_rank() -> None:
    actions = {*PROGRAMS.values(), *SCRIPT_ACTIONS.values(), *INSTALL_SUBCOMMANDS.values()}
    actions = actions.union(*(known.values() for known in SUBCOMMANDS.values()), ("run", VIA))
    assert actions == set(ACTION_PRIORITY)


def test_no_word_of_the_shell_is_a_program_as_well() -> None:
    assert set(SHELL_BUILTINS).isdisjoint({*PROGRAMS, *SUBCOMMANDS, *RUNNERS, *REMOTE_RUNNERS})
