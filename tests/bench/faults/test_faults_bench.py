"""The fault bench as it is run: a sample of every attack finds nothing, and one case of one attack can be had alone."""

from __future__ import annotations

import fnmatch
import os
import re

import pytest

from mnemic.bench.faults import faults_bench
from mnemic.bench.faults.audit import Attack
from mnemic.bench.faults.faults_bench import run
from mnemic.bench.faults.shim import Shim
from mnemic.bench.harness.measure import Row
from tests.paths import ROOT


def test_an_attack_that_there_is_none_of_is_said_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no attack begins with 'steam/'; there are: .*requests/unix"):
        list(run(only="steam/"))
    with pytest.raises(ValueError, match=r"--at is a case of one attack, and 3 begin with 'folder/'"):
        list(run(only="folder/", at=1))


def test_where_no_fault_can_be_injected_that_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults_bench, "why_no_shim", lambda: "there is no C compiler")
    before = os.umask(0o022)
    try:
        (row,) = run(only="kill/")
    finally:
        assert os.umask(before) == 0o022
    assert (row["state"], row["why"]) == ("skipped", "there is no C compiler")


def test_every_row_and_test_that_the_page_on_security_names_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[str] = []

    def note(attack: Attack, at: int | None) -> Row:
        rows.append(attack.name)
        return {}

    monkeypatch.setattr(faults_bench, "attack_row", note)
    monkeypatch.setattr(faults_bench, "why_no_shim", lambda: None)
    monkeypatch.setattr(faults_bench, "build_shim", Shim)
    assert len(list(run())) == len(rows)
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    named = re.findall(r"`([a-z]+/[^`…]*)`", page)
    paths = [one for one in named if one.startswith("tests/")]
    assert [one for one in paths if not (ROOT / one).exists()] == []
    patterns = [one for one in named if one not in paths]
    assert [one for one in patterns if not fnmatch.filter(rows, one)] == []
    kinds = {row.partition("/")[0] for row in rows}
    assert kinds == {one.partition("/")[0] for one in patterns}


@pytest.mark.system
def test_one_flipped_bit_in_each_kind_of_file_breaks_nothing() -> None:
    rows = list(run(only="flip/", flips=1))
    assert [row for row in rows if row["state"] != "ok"] == []
    assert all(row["tried"] == 1 for row in rows)
