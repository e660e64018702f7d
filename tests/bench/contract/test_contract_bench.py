"""The contract bench lets our own actors pass, and finds what is wrong with others, each at the right point."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.contract.contract_bench import CHECKS, run
from mnemic.bench.contract.trial_messages import valid_messages
from mnemic.runtime.engine.plugins import BUILT_IN_ACTORS, SLOTS, class_path, slot_messages
from tests.bench.contract import third_party_actors
from tests.runtime.building import ROOT
from tests.waiting import BOUND_S, until

HERE = third_party_actors.__name__


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes find these tests' modules."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def tried(name: str) -> dict[str, tuple[str, str]]:
    """State and reason of every point."""
    rows = list(run(name))
    assert [row["check"] for row in rows] == list(CHECKS)
    return {row["check"]: (row["state"], row["why"]) for row in rows}


_TRIED = ("consolidator", "retriever")
"""Those of our own actors that are tried wherever the tests run; each takes processes of its own."""


def failed(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {check: why for check, (state, why) in found.items() if state == "failed"}


@pytest.mark.parametrize("slot", SLOTS)
def test_every_message_that_a_slot_is_asked_for_is_tried(slot: str) -> None:
    asked = slot_messages(slot)
    assert {type(message) for message in valid_messages(asked, "/lines", (bytes(16),))} == set(asked)


@pytest.mark.parametrize(
    "slot", [pytest.param(slot, marks=[pytest.mark.system] if slot not in _TRIED else []) for slot in SLOTS]
)
def test_our_own_actors_keep_their_contract(slot: str) -> None:
    found = tried(class_path(BUILT_IN_ACTORS[slot]))
    assert failed(found) == {}
    skipped = {check for check, (state, _) in found.items() if state == "skipped"}
    assert skipped == (set() if slot == "consolidator" else {"nights"})


def test_a_stranger_with_messages_and_settings_of_its_own_keeps_it() -> None:
    assert {state for state, _ in tried(f"{HERE}:Steady").values()} == {"ok"}


@pytest.mark.system
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_a_stranger_keeps_it_on_ray() -> None:
    # As a process of its own: this one may have a Ray already, and there can be no second.
    command = [sys.executable, "-m", "mnemic.bench", "contract", f"{HERE}:Steady", "--engine", "ray", "--json"]
    ended = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
    assert (ended.returncode, {row["state"] for row in json.loads(ended.stdout)["rows"]}) == (0, {"ok"}), ended.stderr


FAULTS = {
    "no_such_package:Actor": ("class", "no_such_package cannot be imported"),
    f"{HERE}:Absent": ("class", "there is no class 'Absent'"),
    f"{HERE}:OfAnotherContract": ("contract", "it keeps contract 7, and this is contract 1"),
    f"{HERE}:Again": ("contract", "it does not say which contract it keeps"),
    "tests.runtime.strangers:TakesWords": ("messages", "it takes 'str', which is no message type"),
    "tests.runtime.strangers:NeverWakes": ("messages", "it does not take Preempt"),
    "tests.runtime.strangers:SettingTwice": ("settings", "two of its settings have one name"),
    "tests.runtime.strangers:NoHandle": ("methods", "it has no handle(message, context)"),
    "tests.runtime.strangers:Greedy": ("company", "it takes Count, and the retriever is asked for that"),
    f"{HERE}:IsMadeOnlyHere": ("made", "its make() failed: FileNotFoundError at "),
    f"{HERE}:FailsAtSleep": ("answers", "it failed on Sleep: KeyError at handle (third_party_actors.py:"),
    f"{HERE}:AnswersWithADict": ("answers", "it answers Sleep with a dict, not a NightReport"),
    f"{HERE}:AnswersWithAWrongField": ("answers", "its NightReport holds what it may not (Expected `int`, got `str`"),
    f"{HERE}:AnswersForAnother": ("answers", "its NightReport is of another run than was asked for"),
    f"{HERE}:AnswersWithCode": ("answers", "its answer to Sleep cannot be pickled"),
    f"{HERE}:AnswersWithAnErrorThatStays": ("answers", "its answer to Sleep cannot be pickled (TypeError)"),
    f"{HERE}:NeverEnds": ("answers", "Again and what it sets off never come to an end"),
    f"{HERE}:CannotBeClosed": ("made", "its close() failed: OSError at close"),
    f"{HERE}:AsksForWhatNobodyTakes": ("answers", "0 actors take a Again, which is asked for"),
    f"{HERE}:ForeseesInVain": ("answers", "it foresees a Again at Sleep that it does not ask for"),
    f"{HERE}:ForeseesALine": ("answers", "it foresees a str at Sleep, no tuple of messages"),
    f"{HERE}:FailsWhereNothingIsLeft": ("errors", "it failed on Sleep: ZeroDivisionError at handle"),
    f"{HERE}:LooksAtTheClock": ("chance", "it answers the same Sleep differently in another process"),
    f"{HERE}:LooksAtTheDay": ("chance", "it answers the same Sleep differently in another process"),
    f"{HERE}:DrawsUnseeded": ("chance", "what it asks for at the same Sleep is not the same in another process"),
    f"{HERE}:CountsOnTheOrderOfASet": ("chance", "it answers the same Sleep differently in another process"),
    f"{HERE}:WritesEachTime": ("twice", "a Sleep given again and again changes something each time"),
    f"{HERE}:NeedsItsPast": ("restarts", "it failed on Sleep: KeyError at handle"),
    f"{HERE}:HoldsOn": ("nights", "it held Sleep for "),
    f"{HERE}:WakesWithAWord": ("nights", "it answers Preempt with a _Woken, not with None or a NightReport"),
}


# These hold a night too long, or try the same in several processes; others of their kind are quick.
_SLOW = frozenset(
    f"{HERE}:{name}"
    for name in (
        "HoldsOn",
        "LooksAtTheDay",
        "DrawsUnseeded",
        "CountsOnTheOrderOfASet",
        "WritesEachTime",
        "WakesWithAWord",
    )
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.system] if name in _SLOW else []) for name in FAULTS]
)
def test_what_is_wrong_is_found_at_its_point(name: str) -> None:
    check, why = FAULTS[name]
    found = tried(name)
    assert failed(found)[check].startswith(why)
    order = list(CHECKS)
    assert all(order.index(other) >= order.index(check) for other in failed(found)), "what came before it is all right"
    assert found["actor_system"][0] == "skipped"


def test_one_that_ends_its_process_is_found_out() -> None:
    assert failed(tried(f"{HERE}:TakesItsProcessAlong")) == {"answers": "its process ended by itself (3), at a Sleep"}


def test_one_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(command: list[str], *, timeout: float, env: dict[str, str], **_: object) -> None:
        told = Path(command[-1])
        with subprocess.Popen(command, env=env) as process:
            until(lambda: told.exists() and '"message": "Sleep"' in told.read_text("utf-8"))
            process.kill()
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", give_up)
    assert failed(tried(f"{HERE}:Hangs")) == {"answers": "it was not done after 60 s, at a Sleep"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "mnemic.bench", "contract", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), timeout=BOUND_S, check=False)


def test_the_command_prints_a_line_for_each_point_and_fails_where_one_does() -> None:
    good = bench("mnemic.actors.sleep.consolidator:ConsolidatorActor", "--json")
    assert (good.returncode, good.stderr) == (0, "")
    rows: list[dict[str, Any]] = json.loads(good.stdout)["rows"]
    assert [(row["check"], row["state"]) for row in rows] == [(check, "ok") for check in CHECKS]
    bad = bench(f"{HERE}:OfAnotherContract")
    assert (bad.returncode, bad.stderr) == (1, "")
    lines = bad.stdout.splitlines()[1:]
    assert len(lines) == len(CHECKS)
    assert lines[1] == "failed  contract     it keeps contract 7, and this is contract 1"
