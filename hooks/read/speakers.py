"""Makes the events of what stands in the user's place: a turn of the user's, a text of the host's, or both.

Where the host's record says who typed it, that decides; else the text does (`mnemic.algorithms.text.voices`). Hooks say
nothing of it and report all as a prompt, so what turns out to be the host's keeps a prompt's identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mnemic.actors.kernel.events import Event
from mnemic.algorithms.text.voices import Voice, split_appended, voice_of
from mnemic.hooks.read.lines import Json, nonblank_text
from mnemic.hooks.read.own_text import strip_own_output

Typist = Voice | None
"""Who a record says typed a text; ``None`` where it is silent, ``unclear`` where it names someone nobody knows."""
_HOST_KINDS = frozenset(
    (
        *("agent", "auto-continuation", "channel", "coordinator", "cron", "hook", "observer", "observer-activity"),
        *("peer", "scheduled", "scheduled-task", "scheduled-trigger", "subagent", "system", "task-notification"),
        *("teammate", "webhook"),
    )
)
"""What Claude Code calls the origin of texts that no person typed."""


def user_text_events(
    make: Callable[..., Event], text: str, typed_by: Typist = None, voice: Voice | None = None, **ids: Any
) -> Iterator[Event]:
    """The events of a text in the user's place: what was said, then what the host put behind it in the same text.

    Args:
        voice: whose it is by its own look, where the caller knows more of that than the text tells.
    """
    said, appended = (text, "") if "host" in (typed_by, voice) else split_appended(text)
    heard = typed_by or voice or voice_of(said)
    if typed_by == "unclear" and (voice or voice_of(said)) == "host":
        heard = "host"
    if heard == "host":
        yield make("injected", "system", text, reported_as=("turn", "user"), **ids)
        return
    whole = text.encode("utf-8", "surrogatepass") if appended else None
    yield make("turn", "user", said, author="unknown" if heard == "unclear" else None, formerly_text=whole, **ids)
    if nonblank_text(rest := strip_own_output(appended)):
        yield make("injected", "system", rest, formerly_text=whole, **ids)


def claude_typist(record: Json) -> Typist:
    """Who typed a message of Claude Code's, by its ``origin``, ``isMeta`` and ``promptSource``."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    if kind == "human":
        return "person"
    if (isinstance(kind, str) and kind in _HOST_KINDS) or record.get("isMeta"):
        return "host"
    source: Any = {"typed": "person", "system": "host"}.get(str(record.get("promptSource")))
    return source or (None if kind is None else "unclear")  # newer versions name kinds of people's, too
