"""Where the checkout, its fixtures and the hook in Python lie, for tests at any depth."""

import sys
from pathlib import Path

__all__ = ["FIXTURES", "PYTHON_HOOK", "ROOT"]

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
PYTHON_HOOK = (sys.executable, "-I", "-m", "mnemic.runtime.capture.python_hook")
"""Its command, as the installer writes it down."""
