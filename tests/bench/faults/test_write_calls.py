"""A fault at a write call costs nothing that was acknowledged; and a command that is not atomic is found out."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from mnemic.bench.faults import write_calls
from mnemic.bench.faults.audit import attack_row
from mnemic.bench.faults.scenarios import Scenario, Texts, scenarios
from mnemic.bench.faults.shim import FAULTS, Shim
from mnemic.bench.faults.write_calls import LEAST_CASES, AttackedCommand

TRANSFERS = ("backup", "restore", "export", "import")
"""Commands that are attacked at every kind of call in `tests.runtime.transfer.test_disk_faults`, and killed at any
moment in `tests.runtime.api.test_transfer_killed`."""
CARELESS = "import sys; open(sys.argv[1], 'w').write('one\\ntwo\\nthree\\n')"
CAREFUL = """
import os, sys
with open(sys.argv[1] + ".new", "w") as file:
    file.write("one\\ntwo\\nthree\\n")
os.replace(sys.argv[1] + ".new", sys.argv[1])
"""


def rewriting(program: str) -> Scenario:
    """A command that replaces a file of two lines by one of three, not the memory."""

    def lines(folder: Path) -> Texts:
        return Counter((folder / "notes").read_text().split())

    def command(folder: Path) -> list[str]:
        return [sys.executable, "-I", "-c", program, str(folder / "notes")]

    def prepare(folder: Path) -> None:
        (folder / "notes").write_text("one\ntwo\n")

    return Scenario(name="rewrite", prepare=prepare, command=command, artefact=lines)


@pytest.fixture(scope="module")
def careful(shim: Shim, attacked_home: Path, tmp_path_factory: pytest.TempPathFactory) -> AttackedCommand:
    return AttackedCommand(rewriting(CAREFUL), shim, tmp_path_factory.mktemp("careful"), attacked_home)


def attack_all(command: AttackedCommand, fault: str) -> list[str]:
    """The kinds of flaws that a fault at each call brings to light."""
    cases = [command.attack(fault, at) for at in range(1, command.expected.calls + 1)]
    return [flaw.kind for case in cases if case is not None for flaw in case.flaws]


@pytest.mark.system
def test_a_file_that_is_not_replaced_at_once_is_a_loss_and_one_that_is_none(
    shim: Shim, attacked_home: Path, careful: AttackedCommand, tmp_path: Path
) -> None:
    careless = AttackedCommand(rewriting(CARELESS), shim, tmp_path, attacked_home)
    assert set(attack_all(careless, "kill")) == {"lost"}
    assert attack_all(careful, "kill") == []


def test_a_command_that_fails_without_a_sentence_crashed(careful: AttackedCommand) -> None:
    case = careful.attack("eio", careful.expected.calls)
    assert case is not None
    (flaw,) = case.flaws
    assert (flaw.kind, case.named) == ("crashed", False)
    assert flaw.why.startswith("eio at rename: crashed: OSError: [Errno 5]")


def test_a_call_that_is_never_made_is_no_case(careful: AttackedCommand) -> None:
    assert careful.attack("kill", careful.expected.calls + 1) is None


@pytest.mark.system
def test_what_is_remembered_survives_a_kill_and_a_full_disk(shim: Shim, attacked_home: Path, tmp_path: Path) -> None:
    (remember,) = [one for one in scenarios() if one.name == "remember"]
    command = AttackedCommand(remember, shim, tmp_path, attacked_home)
    assert command.expected.after - command.expected.before
    for fault in FAULTS:
        places = command.places(1000, fault)
        assert LEAST_CASES <= len(places) <= LEAST_CASES + 1
        assert set(places) <= set(range(1, command.expected.calls + 1))
    for fault, at in (("kill", command.expected.calls // 2), ("full", 1)):
        case = command.attack(fault, at)
        assert case is not None
        assert case.flaws == []
        assert case.named == (fault == "full")


@pytest.mark.system
def test_an_attack_is_carried_out_at_several_calls_and_counted(shim: Shim, attacked_home: Path, tmp_path: Path) -> None:
    attacks = write_calls.attacks(shim, lambda: attacked_home, tmp_path, 1000)
    (killed,) = [attack for attack in attacks if attack.name == "kill/hook"]
    row = attack_row(killed)
    assert (row["state"], row["lost"]) == ("ok", 0), row
    assert row["tried"] >= LEAST_CASES


@pytest.mark.system
@pytest.mark.parametrize("name", [one.name for one in scenarios() if one.name not in TRANSFERS])
def test_no_fault_costs_a_command_what_was_acknowledged(
    shim: Shim, attacked_home: Path, tmp_path: Path, name: str
) -> None:
    (scenario,) = [one for one in scenarios() if one.name == name]
    command = AttackedCommand(scenario, shim, tmp_path, attacked_home)
    calls = command.expected.calls
    kills = [("kill", calls // 2), ("kill", calls)]
    others = [(fault, calls * number // len(FAULTS)) for number, fault in enumerate(FAULTS) if fault != "kill"]
    cases = [command.attack(fault, max(1, at)) for fault, at in (*kills, *others)]
    assert [flaw for case in cases if case is not None for flaw in case.flaws] == []
    assert cases[0] is not None
