"""Fifty rounds of fire: what a hook acknowledged is in the store once, byte for byte, whoever is killed when.

Each run fires otherwise; `MNEMIC_FIRE_SEED` repeats what one drew, though not when the system let whom run.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec
import pytest

from mnemic.bench.faults.fire_bench import Outcome, hook_commands, run_campaign

SEED = "MNEMIC_FIRE_SEED"


@pytest.mark.system
def test_what_was_acknowledged_is_kept_once_whoever_is_killed_when(tmp_path: Path) -> None:
    seed = int(os.environ.get(SEED) or secrets.randbits(32))
    outcome = run_campaign(tmp_path / "home", 50, seed, hook_commands())
    again = f"{SEED}={seed} fires the same again: {outcome}"
    assert outcome.whole, again
    assert outcome.acknowledged > 50, again
    assert outcome.hooks_killed > 0, again
    assert outcome.drains_killed > 0, again


@pytest.mark.parametrize(
    "flaw",
    [
        {"lost": ["a text"]},
        {"doubled": ["a text"]},
        {"altered": ["a text"]},
        {"set_aside": 1},
        {"left": ["a file"]},
        {"check": "page 3"},
    ],
)
def test_one_flaw_is_enough_to_fail(flaw: dict[str, object]) -> None:
    whole = Outcome(
        rounds=1,
        hooks=2,
        acknowledged=1,
        hooks_killed=1,
        drains_killed=1,
        counted=0,
        torn=1,
        lost=[],
        doubled=[],
        altered=[],
        set_aside=0,
        left=[],
        check="ok",
    )
    assert whole.whole
    assert not msgspec.structs.replace(whole, **flaw).whole
