"""Views of what is seen: entries of the log, what was given, one memory whole, use. Beside `mnemic.runtime.views`.

They go to a program as JSON, and `mnemic.seen_lines` makes lines for a person of them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mnemic.actors.seen import Giving, Link, Listed, Shown, Use, UseCounted
from mnemic.actors.times import to_iso
from mnemic.runtime.views import memory_view, show_id, text_view

__all__ = ["giving_view", "listed_view", "shown_view", "use_view"]


def listed_view(listed: Listed) -> dict[str, Any]:
    """An entry of the log."""
    view: dict[str, Any] = msgspec.structs.asdict(listed)
    return view | {
        "id": show_id(listed.id),
        "at": to_iso(listed.at),
        "text": text_view(listed.text, strict=False)["text"],
        "retired_at": to_iso(listed.retired_at),
    }


def giving_view(giving: Giving) -> dict[str, Any]:
    """What was given at one time."""
    view: dict[str, Any] = msgspec.structs.asdict(giving)
    return view | {
        "at": to_iso(giving.at),
        "text": _text(giving.text),
        "memories": [
            {
                "id": show_id(part.id),
                "why": part.why,
                "start_byte": part.start_byte,
                "text": _text(part.text),
                "size_bytes": part.size_bytes,
            }
            for part in view.pop("parts")
        ],
    }


def shown_view(shown: Shown) -> dict[str, Any]:
    """A memory with all that belongs to it."""
    return memory_view(shown.memory, shown.memory.text, strict=False) | {
        "mode": shown.mode,
        "kept_by": {
            "seq": shown.seq,
            "author": shown.author,
            "run": shown.run,
            "machine": shown.machine,
            "code": shown.code,
        },
        "scrubbed": shown.scrubbed,
        "original_kept": shown.original,
        "newer": [_link_view(link) for link in shown.newer],
        "older": [_link_view(link) for link in shown.older],
        "previous": show_id(shown.previous),
        "next": show_id(shown.next),
        "uses": [
            {"occasion": use.occasion, "own": use.own, "times": use.times, "last_at": to_iso(use.last_at)}
            for use in shown.uses
        ],
    }


def use_view(use: UseCounted, *, cross: bool) -> dict[str, Any]:
    """Memories, bytes and tokens given, by project and by week.

    Args:
        cross: whether each project is told week by week, too.
    """
    weeks = [str(to_iso(week))[:10] for week in use.weeks]
    return {
        "weeks": [{"from": week, **_use(one)} for week, one in zip(weeks, use.all, strict=True)],
        "projects": [
            {"path": project.path, **_use(project.total)}
            | ({"weeks": [_use(one) for one in project.weeks]} if cross else {})
            for project in use.projects
        ],
    }


def _use(use: Use) -> dict[str, Any]:
    view: dict[str, Any] = msgspec.structs.asdict(use)
    return view


def _text(text: bytes | None) -> str | None:
    return None if text is None else str(text_view(text, strict=False)["text"])


def _link_view(link: Link) -> dict[str, Any]:
    view: dict[str, Any] = msgspec.structs.asdict(link)
    return view | {
        "id": show_id(link.id),
        "at": to_iso(link.at),
        "since": to_iso(link.since),
        "retired_at": to_iso(link.retired_at),
        "text": _text(link.text),
    }
