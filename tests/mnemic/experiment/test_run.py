"""A run checks all of its spec first, goes on where it was broken off, and keeps one arm's failure to that arm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.experiment.run import MANIFEST, RESULTS, read_run, run_experiment
from tests.mnemic.experiment.made import spec

SMALL = ('kind = "tests', 'options = {things = 2}\nfirst_night = 1.0\nkind = "tests')
NIGHT = ("seeds = [1]\n", "seeds = [1]\nnights = {after = 1}\n")
QUICK_SPEC = (SMALL, NIGHT)


class Counted:
    """Has jobs done in turn, and notes which."""

    def __init__(self, stop_after: int = 99) -> None:
        self.done: list[tuple[str, int]] = []
        self._stop_after = stop_after

    def __call__(self, act: Any, jobs: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for job in jobs:
            if len(self.done) == self._stop_after:
                raise KeyboardInterrupt
            self.done.append((job.arm, job.seed))
            yield job, act(job)


def test_every_arm_lives_once_for_each_seed_and_is_not_run_again(tmp_path: Path) -> None:
    file = spec(*QUICK_SPEC, ("seeds = [1]", "seeds = [1, 2]"))
    first = Counted()
    outcome = run_experiment(file, tmp_path / "run", tmp_path, run_jobs=first)
    assert first.done == [("ours", 1), ("none", 1), ("ours", 2), ("none", 2)]
    assert [(one.arm, one.seed) for one in outcome.results] == first.done
    assert outcome.texts["q:crane"] == "tell me of the crane"
    assert outcome.texts["m:crane-attic"].startswith("The crane stands in the attic")
    again = Counted()
    assert run_experiment(file, tmp_path / "run", tmp_path, run_jobs=again) == outcome
    assert again.done == []
    assert read_run(tmp_path / "run") == outcome


def test_what_was_broken_off_goes_on_and_what_changes_is_repeated(tmp_path: Path) -> None:
    file = spec(*QUICK_SPEC)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(file, tmp_path / "run", tmp_path, run_jobs=Counted(stop_after=1))
    rest = Counted()
    outcome = run_experiment(file, tmp_path / "run", tmp_path, run_jobs=rest)
    assert rest.done == [("none", 1)]
    other = Counted()
    changed = spec(*QUICK_SPEC, ("nights = false", "nights = true"))
    run_experiment(changed, tmp_path / "run", tmp_path, run_jobs=other)
    assert other.done == [("none", 1)]
    assert len(list((tmp_path / "run" / RESULTS).iterdir())) == 3
    assert run_experiment(file, tmp_path / "run", tmp_path).results == outcome.results


def test_an_arm_that_fails_keeps_no_other_from_living(tmp_path: Path) -> None:
    text = ("seeds = [1]", 'seeds = [1]\nmeasures = ["tests.mnemic.experiment.made:fails"]')
    outcome = run_experiment(spec(*QUICK_SPEC, text), tmp_path / "run", tmp_path)
    assert [(one.arm, one.why) for one in outcome.manifest.failures] == [
        ("ours", "KeyError: 'crane'"),
        ("none", "KeyError: 'crane'"),
    ]
    assert outcome.results == ()
    once = run_experiment(spec(*QUICK_SPEC), tmp_path / "run", tmp_path)
    assert (len(once.results), once.manifest.failures) == (2, ())


def test_questions_may_be_asked_by_shape(tmp_path: Path) -> None:
    made = "tests.mnemic.experiment.made"
    text = ("seeds = [1]", f'seeds = [1]\nmeasures = ["{made}:matches"]\nprobes = {{source = "{made}:shapes"}}')
    outcome = run_experiment(spec(*QUICK_SPEC, text), tmp_path / "run", tmp_path)
    assert {one.measured[f"{made}:matches"] for result in outcome.results for one in result.answers} == {3.0}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("settings = {", 'settings = {"recall.kk" = 3, ', "line 13 cannot be 3: there is no such setting"),
        ("settings = {", 'settings = {"recall.k" = "many", ', "line 13 cannot be 'many': it is not a whole number"),
        ("settings = {", 'settings = {"actors.consolidator" = "no_such:Class", ', "line 13 cannot be 'no_such:Class'"),
        ("settings = {", 'settings = {"actors.consolidator" = "pathlib:Path", ', "line 13 cannot be 'pathlib:Path'"),
        ("seeds = [1]", "seeds = [1]\nprobes = {at = [0, 9]}", "there are 1 nights"),
        ("seeds = [1]", 'seeds = [1]\nmeasures = ["luck"]', "there is no such measure"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        run_experiment(spec(*QUICK_SPEC, (old, new)), tmp_path / "run", tmp_path)
    assert said in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_what_is_no_run_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="there is no run in it"):
        read_run(tmp_path)
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(InvalidValue, match="another version, or damaged"):
        read_run(tmp_path)
