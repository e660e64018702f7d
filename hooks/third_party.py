"""Whose payload it is: Cursor also runs hooks that are configured for Claude Code. Below the adapter and the asking.

It does so unless its user switches that off (https://cursor.com/docs/reference/third-party-hooks.md), with payloads of
its own: `mnemic.hooks.cursor_events` reads them, from the hooks that are wired in Cursor itself.
"""

from __future__ import annotations

from typing import Any

__all__ = ["is_cursors"]


def is_cursors(payload: dict[str, Any]) -> bool:
    """Whether Cursor wrote a payload: every one of it has these fields, and none of Claude Code's has."""
    return "cursor_version" in payload or payload.keys() >= {"conversation_id", "generation_id"}
