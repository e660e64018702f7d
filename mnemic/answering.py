"""What a hook prints, from what the host gave it: one way for the home's process and for where there is none.

Nothing slow to load is imported here, for the second's sake. Below are `mnemic.hooks.asking`, which reads the payload,
and `mnemic.hooks.answers`, which words the answer for the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mnemic.actors.ambient import Brief, Briefed
from mnemic.actors.briefing import with_notices
from mnemic.actors.excerpts import tokens_of
from mnemic.actors.ports import Locate
from mnemic.hooks.answers import NOTHING_BRIEFED, answer, takes
from mnemic.hooks.asking import Asked, answer_check, asked_by, brief_for
from mnemic.runtime.git_index import nearest_is_tracked

__all__ = ["hook_answer"]

_SCOPE_FILE = ".mnemic.toml"


def hook_answer(
    assistant: str,
    event: str,
    cwd: str | None,
    payload: bytes,
    locate: Locate,
    tell: Callable[[Brief], Briefed],
    notices: Sequence[str] = (),
) -> bytes:
    """The exact bytes for a hook's standard output; few or none where there is nothing to tell.

    Args:
        assistant: the host, as its hooks are wired.
        event: what its adapter calls the event.
        cwd: the folder it works in.
        payload: what it gave the hook, byte for byte.
        locate: finds the scope of a folder.
        tell: says what the assistant should know; asked only where something is to be told.
        notices: what the start of a session is told in any case, also one that goes on, a sentence each.

    Raises:
        MnemicError: the scope cannot be told, or `tell` fails.
    """
    asked = asked_by(assistant, event, payload) if takes(assistant, event) else Asked(occasion=None)
    if asked.check:
        return answer_check(asked.check)
    starts = asked.occasion == "session-start" or asked.goes_on
    told_first = tuple(notices) if starts and "/" not in asked.session else ()  # a subagent's session has no user
    if asked.occasion is None:
        return answer(
            assistant, "session-start" if told_first else None, _noticed(NOTHING_BRIEFED, told_first), told_first
        )
    place = locate(None, cwd)
    tracked = place.found == _SCOPE_FILE and nearest_is_tracked(cwd or "", _SCOPE_FILE)
    brief = brief_for(assistant, asked, place, tracked=tracked, notices=told_first)
    return answer(assistant, asked.occasion, _noticed(tell(brief), told_first), told_first)


def _noticed(briefed: Briefed, notices: Sequence[str]) -> Briefed:
    """What is told with the notices, if they do not stand in it yet: where nothing else is told, they are."""
    text = with_notices(briefed.text, notices)
    if text == briefed.text:
        return briefed
    return msgspec.structs.replace(briefed, text=text, tokens=tokens_of(text.encode()))
