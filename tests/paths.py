"""Where the checkout, its fixtures and the built hook lie, for tests at any depth."""

import sys
from pathlib import Path

import pytest

__all__ = ["FIXTURES", "HOOK", "ROOT", "built_hook"]

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
HOOK = Path(sys.executable).with_name("mnemic-hook")
"""Where pip installs the hook that cargo built."""


def built_hook() -> str:
    """The hook's command; skips the test where no cargo built it."""
    if not HOOK.exists():
        pytest.skip(f"{HOOK} is not built")
    return str(HOOK)
