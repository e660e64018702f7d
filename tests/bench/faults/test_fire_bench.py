"""Fifty rounds of fire: what a hook acknowledged is in the store once, byte for byte, whoever is killed when.

Each run fires otherwise; `MNEMIC_FIRE_SEED` repeats what one drew, though not when the system let whom run.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from mnemic.bench.faults.fire_bench import run_campaign

SEED = "MNEMIC_FIRE_SEED"


@pytest.mark.system
def test_what_was_acknowledged_is_kept_once_whoever_is_killed_when(tmp_path: Path) -> None:
    seed = int(os.environ.get(SEED) or secrets.randbits(32))
    row = run_campaign(tmp_path / "home", 50, seed)
    again = f"{SEED}={seed} fires the same again: {row}"
    assert row["state"] == "ok", again
    assert row["acknowledged"] > 50, again
    assert row["hooks_killed"] > 0, again
    assert row["drains_killed"] > 0, again
