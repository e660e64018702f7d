"""Counting what was kept and what was given, by project and by week.

Part of `mnemic.runtime.reader.StoreSnapshot`, by `mnemic.runtime.seen_reader`.
"""

from __future__ import annotations

from typing import Any

import apsw

from mnemic.actors.seen import ProjectUse, Use, UseCounted

__all__ = ["WHEN", "count_use"]

WHEN = "coalesce(said_at, recorded_at)"
"""World time a memory was said, else kept; the index ``memories_when`` has it."""
_WEEK_US = 7 * 24 * 3600 * 1_000_000
_MONDAY_US = 4 * 24 * 3600 * 1_000_000
"""The first Monday of world time."""


def count_use(connection: apsw.Connection, weeks: int, now: int) -> UseCounted:
    """Memories, bytes and tokens given, in all and by project.

    Args:
        weeks: so many, the one of `now` and those before it.
        now: world time, microseconds.
    """
    this = (now - _MONDAY_US) // _WEEK_US
    found: dict[str, dict[int, list[int]]] = {}
    kept: list[Any] = connection.execute(
        f"SELECT c.path, k.week, k.count, k.size FROM (SELECT m.scope AS scope, {_week(WHEN)} AS week,"
        " count(*) AS count, sum(t.size) AS size FROM memories m JOIN texts t ON t.id = m.text GROUP BY 1, 2) k"
        " JOIN scopes c ON c.id = k.scope"
    ).fetchall()
    given: list[Any] = connection.execute(
        f"SELECT scope, {_week('at')}, count(*), sum(tokens) FROM givings WHERE assistant != '' GROUP BY 1, 2"
    ).fetchall()
    for first, rows in ((0, kept), (2, given)):
        for path, week, *numbers in rows:
            counts = found.setdefault(path, {}).setdefault(this - week, [0, 0, 0, 0])
            counts[first : first + 2] = numbers
    projects = tuple(
        ProjectUse(
            path=path, total=_sum(ages.values()), weeks=tuple(_sum([ages.get(age, [0] * 4)]) for age in range(weeks))
        )
        for path, ages in sorted(found.items())
    )
    return UseCounted(
        weeks=tuple(_MONDAY_US + (this - age) * _WEEK_US for age in range(weeks)),
        all=tuple(_sum([ages[age] for ages in found.values() if age in ages]) for age in range(weeks)),
        projects=projects,
    )


def _week(time: str) -> str:
    """The number of the week that a time is in; SQLite rounds towards zero."""
    since = f"({time} - {_MONDAY_US})"
    return f"(({since} - ((({since} % {_WEEK_US}) + {_WEEK_US}) % {_WEEK_US})) / {_WEEK_US})"


def _sum(all_of_them: Any) -> Use:
    memories, text_bytes, given, tokens = map(sum, zip(*all_of_them, [0] * 4, strict=True))
    return Use(memories=memories, text_bytes=text_bytes, given=given, tokens=tokens)
