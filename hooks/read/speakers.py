"""Makes the event of what stands in the user's place: a turn of the user's, or a text of the host's.

Where the host's record says who typed it, that decides; else the text does (`mnemic.algorithms.text.voices`). Hooks say
nothing of it and report all as a prompt, so what turns out to be the host's keeps a prompt's identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mnemic.actors.protocol.events import Event
from mnemic.algorithms.text.voices import Voice, voice_of
from mnemic.hooks.read.lines import Json

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


def prompt_event(
    make: Callable[..., Event], text: str, typed_by: Typist = None, voice: Voice | None = None, **ids: Any
) -> Event:
    """The event of a text in the user's place.

    Args:
        voice: whose it is by its own look, where the caller knows more of that than the text tells.
    """
    heard = typed_by or voice or voice_of(text)
    if typed_by == "unclear" and (voice or voice_of(text)) == "host":
        heard = "host"
    if heard == "host":
        return make("injected", "system", text, reported_as=("turn", "user"), **ids)
    return make("turn", "user", text, author="unknown" if heard == "unclear" else None, **ids)


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
