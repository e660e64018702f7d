"""Each hook keeps the hooks' contract: the executable that a cargo built, and the module that stands in for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

import pytest

from tests.contract.hook_contract import HookContract
from tests.paths import PYTHON_HOOK

EXECUTABLE = Path(sys.executable).with_name("mnemic-hook")


@pytest.mark.skipif(not EXECUTABLE.exists(), reason=f"{EXECUTABLE} is not built")
class TestExecutable(HookContract):
    command = (str(EXECUTABLE),)
    runs = 30


class TestPython(HookContract):
    # Where the executable is there, assistants start that one; the whole suite runs both.
    pytestmark: ClassVar = [pytest.mark.system] if EXECUTABLE.exists() else []
    command = PYTHON_HOOK
    runs = 12
