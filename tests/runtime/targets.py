"""What the doctor's checks are given in tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor.checks import Target


def _never() -> Any:
    pytest.fail("nobody asked for it")


def target_of(home: Path, mind: str = "default", **fields: Any) -> Target:
    """A home and a mind; nobody may open the mind unless the fields say how."""
    given: dict[str, Any] = {"clock": SystemClock(), "open_mind": _never, "progress": lambda what, done, total: None}
    return Target(home=home, mind=mind, **(given | fields))
