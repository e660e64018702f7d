"""The executable that a cargo built keeps the hooks' contract."""

from __future__ import annotations

import pytest

from tests.contract.hook_contract import HookContract
from tests.paths import HOOK


@pytest.mark.skipif(not HOOK.exists(), reason=f"{HOOK} is not built")
class TestExecutable(HookContract):
    command = (str(HOOK),)
    runs = 30
