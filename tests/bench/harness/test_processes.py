"""Processes as benches see them: a family is counted whole, measured, and gone in the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from mnemic.bench.harness.homes import fill_home, lexical_settings
from mnemic.bench.harness.processes import (
    ProcessCensus,
    kill,
    process_family,
    pss_bytes,
    ready_info,
    role_of,
    served,
    stop_process,
    wait_until,
)
from tests.waiting import BOUND_S

LEADER = "import subprocess, sys, time; subprocess.Popen(['sleep', '600']); print('up', flush=True); time.sleep(600)"


def start_family() -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", LEADER], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.stdout.close()
    return process


def test_a_family_is_whoever_descends_from_a_process_or_is_in_its_session() -> None:
    process = start_family()
    census = ProcessCensus()
    found = census.record_family(process.pid)
    assert found[0].pid == process.pid
    assert len(found) == 2
    assert pss_bytes(found) > found[0].memory_info().rss // 10 > 0
    kill(found[:1])
    process.wait()
    wait_until(lambda: [one.pid for one in census.survivors()] == [found[1].pid], "the leader's end", BOUND_S)
    assert [one.pid for one in process_family(process.pid)] == []
    kill(census.survivors())
    wait_until(lambda: census.survivors() == [], "the end of all", BOUND_S)


def test_ending_a_process_ends_its_family() -> None:
    process = start_family()
    found = process_family(process.pid)
    stop_process(process)
    wait_until(
        lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in found), "it", BOUND_S
    )


def test_what_does_not_come_is_not_waited_for_for_ever() -> None:
    with pytest.raises(TimeoutError, match=r"the tide took longer than 0\.05 s"):
        wait_until(lambda: False, "the tide", 0.05)


@pytest.mark.system
def test_a_served_home_answers_and_leaves_nothing(tmp_path: Path) -> None:
    fill_home(tmp_path, 1, seed=0, encoder=None, settings=lexical_settings(tmp_path))
    assert ready_info(tmp_path) is None
    with served(tmp_path, "embedded") as info:
        found = process_family(info.pid)
        assert [role_of(one) for one in found] == ["process"]
        assert role_of(psutil.Process(os.getpid())) == "helper"
    assert ready_info(tmp_path) is None
    assert not any(one.is_running() for one in found)


def test_what_cannot_be_served_says_why(tmp_path: Path) -> None:
    (tmp_path / "mnemic.toml").write_text("[nothing]\nis = 1\n", "utf-8")
    with pytest.raises(ValueError, match="there is no such setting"), served(tmp_path, "embedded"):
        pass
