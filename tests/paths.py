"""Where the checkout, its fixtures and the hook in Python lie, for tests at any depth."""

from pathlib import Path

__all__ = ["FIXTURES", "PYTHON_HOOK", "ROOT"]

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
PYTHON_HOOK = ROOT / "runtime" / "capture" / "python_hook.py"
