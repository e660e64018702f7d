"""What was kept before offsets were gets the day that its owner would name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mnemic.actors.capture.changes import MemoryLabels
from mnemic.actors.capture.kept_days import with_local_day
from mnemic.actors.kernel.times import MINUTE_US
from tests.clocks import NamedZone

PACIFIC = NamedZone("America/Los_Angeles")
WINTER = (datetime(2025, 2, 3, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
SUMMER = (datetime(2025, 7, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
NOTE = MemoryLabels(
    memory=b"m" * 16, kind="note", role="user", speaker=None, author=None, said_at=WINTER, utc_offset_min=None
)


@pytest.mark.parametrize(
    ("kept", "assistant", "said_at", "offset_min"),
    [
        ({}, "generic", WINTER + 480 * MINUTE_US, -480),
        ({"said_at": WINTER + 1}, "generic", WINTER + 1, -480),
        ({"kind": "turn"}, "generic", WINTER + 480 * MINUTE_US, -480),
        ({}, "git", WINTER, -480),
        ({"said_at": None}, "generic", None, -420),
        ({"utc_offset_min": 60}, "generic", WINTER, 60),
    ],
)
def test_what_is_of_a_day_alone_is_dated_at_that_days_local_midnight(
    kept: dict[str, Any], assistant: str, said_at: int | None, offset_min: int
) -> None:
    labels = msgspec.structs.replace(NOTE, **kept)
    dated = with_local_day(labels, assistant, SUMMER, PACIFIC)
    assert dated == msgspec.structs.replace(labels, said_at=said_at, utc_offset_min=offset_min)
    assert with_local_day(dated, assistant, SUMMER, PACIFIC) == dated, "once is enough"
