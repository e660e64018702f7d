"""What a hook prints, from what the host gave it: one way for the home's process and for where there is none.

Nothing slow to load is imported here, for the second's sake. Below are `mnemic.hooks.asking`, which reads the payload,
and `mnemic.hooks.answers`, which words the answer for the host.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.actors.ambient import Brief, Briefed
from mnemic.actors.ports import Locate
from mnemic.hooks.answers import NOTHING_BRIEFED, answer, takes
from mnemic.hooks.asking import Asked, answer_check, asked_by, brief_for
from mnemic.runtime.git_index import nearest_is_tracked

__all__ = ["hook_answer"]

_SCOPE_FILE = ".mnemic.toml"


def hook_answer(
    assistant: str, event: str, cwd: str | None, payload: bytes, locate: Locate, tell: Callable[[Brief], Briefed]
) -> bytes:
    """The exact bytes for a hook's standard output; few or none where there is nothing to tell.

    Args:
        assistant: the host, as its hooks are wired.
        event: what its adapter calls the event.
        cwd: the folder it works in.
        payload: what it gave the hook, byte for byte.
        locate: finds the scope of a folder.
        tell: says what the assistant should know; asked only where something is to be told.

    Raises:
        MnemicError: the scope cannot be told, or `tell` fails.
    """
    asked = asked_by(assistant, event, payload) if takes(assistant, event) else Asked(occasion=None)
    if asked.check:
        return answer_check(asked.check)
    if asked.occasion is None:
        return answer(assistant, None, NOTHING_BRIEFED)
    place = locate(None, cwd)
    tracked = place.found == _SCOPE_FILE and nearest_is_tracked(cwd or "", _SCOPE_FILE)
    return answer(assistant, asked.occasion, tell(brief_for(assistant, asked, place, tracked=tracked)))
