"""Fifty rounds of fire: what a hook acknowledged is in the store once, byte for byte, whoever is killed when."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.bench.fire_bench import Outcome, fire, hook_commands


@pytest.mark.slow
@settings(max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32 - 1))
def test_what_was_acknowledged_is_kept_once_whoever_is_killed_when(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    home = tmp_path_factory.mktemp("fire") / "home"
    outcome = fire(home, 50, seed, hook_commands())
    assert (outcome.lost, outcome.doubled, outcome.altered) == ([], [], [])
    assert (outcome.set_aside, outcome.left, outcome.check) == (0, [], "ok")
    assert outcome.whole
    assert outcome.acknowledged > 50
    assert outcome.hooks_killed > 0
    assert outcome.drains_killed > 0


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
