"""Stages are found by name, those of installed packages too; nights and homes go on without one that is gone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.sleep.registry import BUILT_IN_STAGES, MORE_SETTINGS, MORE_STAGES, absent_stages, find_stage
from mnemic.actors.sleep.stages import Derivation
from mnemic.runtime.engine.settings import load_settings, unknown_settings
from tests.actors.sleep.sleeping import SHELF, offer_stages, whole_night
from tests.harness import ActorHarness

OLD = " ".join(("session-digests", *MORE_STAGES))
"""What `sleep.stages` may hold of a version in which these were built in."""


class Quiet:
    """A stage that derives nothing."""

    name: ClassVar[str] = "session-steps"
    version: ClassVar[int] = 1

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        return cls()

    def sources(self, snapshot: Any) -> Mapping[bytes, bytes]:
        return {}

    def read(self, key: bytes, snapshot: Any) -> Any: ...

    def plan(self, state: Any) -> Derivation: ...


QUIET = f"{__name__}:Quiet"


def test_a_stage_that_a_package_offers_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_stages(tmp_path, monkeypatch, session_steps=QUIET, dreams="nowhere:Stage")
    assert find_stage("session-steps") is find_stage(QUIET)
    with pytest.raises(InvalidValue, match="cannot be loaded"):
        find_stage("dreams")
    offer_stages(tmp_path / "more", monkeypatch, "others", session_steps=f"{__name__}:Other")
    with pytest.raises(InvalidValue, match="several installed packages offer it"):
        find_stage("session-steps")


@pytest.mark.parametrize("name", MORE_STAGES)
def test_a_stage_that_was_built_in_names_the_package_that_has_it_now(name: str) -> None:
    assert name not in BUILT_IN_STAGES
    (error,) = absent_stages(("profile", name))
    assert str(error) == f"a stage cannot be {name!r}: the package mnemic-more-stages has it, and is not installed."
    assert "`pip install ./examples/more_stages`" in error.remedy_text


def test_nights_go_on_without_a_stage_that_is_gone_and_have_it_once_its_package_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ActorHarness(tmp_path / "home", **{"sleep.stages": OLD}) as mind:
        for number in range(5):
            mind.keep(f"Otto tunes the harpsichord on day {number}.", session="s", place=SHELF)
            report = whole_night(mind)
        first, *gone = report.stages
        assert (first.state, first.note) == ("done", "")
        assert [one.stage for one in gone] == list(MORE_STAGES)
        assert all("mnemic-more-stages has it" in one.note and "pip install" in one.note for one in gone)
        assert mind.look(lambda now: now.stage_failures()) == {}, "it is tried in each night"
        offer_stages(tmp_path, monkeypatch, session_steps=QUIET)
        notes = {one.stage: one.note for one in whole_night(mind).stages}
        assert notes["session-steps"] == ""
        assert "mnemic-more-stages" in notes["procedures"]


def test_settings_of_stages_that_are_gone_are_read_and_held_against_what_they_may_be(tmp_path: Path) -> None:
    path = tmp_path / "mnemic.toml"
    path.write_text(f'[sleep]\nstages = "{OLD}"\nprocedure_times = 5\ntopic_digest_bytes = 900\n', "utf-8")
    assert unknown_settings(path) == []
    assert {one.name for one in MORE_SETTINGS} <= load_settings(path).values().keys()
    path.write_text("[sleep]\nprocedure_times = 1\n", "utf-8")
    with pytest.raises(InvalidValue, match=r"sleep\.procedure_times"):
        load_settings(path)
    path.write_text("[sleep]\nprocedure_time = 3\n", "utf-8")
    with pytest.raises(InvalidValue, match="no such setting"):
        load_settings(path)
