"""A run checks all of its spec first, goes on where it was broken off, and keeps one arm's failure to that arm."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.experiment.lives import load_life
from mnemic.experiment.measures import load_measures
from mnemic.experiment.replay import remove_left_homes
from mnemic.experiment.run import MANIFEST, RESULTS, read_run, run_experiment
from mnemic.experiment.spec import parse_spec
from mnemic.experiment.stamps import life_stamp, result_stamp
from mnemic.open_mind import open_here
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.minds.run_dir import process_start_time
from tests.mnemic.experiment.made import SPEC, spec

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
    assert outcome.texts["m:1:crane-attic"].startswith("The crane stands in the attic")
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
        ("settings = {", 'settings = {"recall.kk" = 3, ', "made.toml cannot be 3: there is no such setting"),
        ("settings = {", 'settings = {"recall.k" = "many", ', "made.toml cannot be 'many': it is not a whole number"),
        (
            "settings = {",
            'settings = {"actors.consolidator" = "no_such:Class", ',
            "cannot be 'no_such:Class'",
        ),
        ("settings = {", 'settings = {"actors.consolidator" = "pathlib:Path", ', "made.toml cannot be 'pathlib:Path'"),
        ('"fingerprints dup', '"fingerprints dups dup', "made.toml cannot be 'dups': there is none of that name"),
        ("seeds = [1]", "seeds = [1]\nprobes = {at = [0, 9]}", "there are 1 nights"),
        ("seeds = [1]", 'seeds = [1]\nmeasures = ["luck"]', "there is no such measure"),
        ("settings = {", 'settings = {"capture.scrub" = false, ', "is captured once for all arms"),
        ("made:life", "made:another_each_seed", "it is of another question in another seed"),
        ("made:life", "made:words_alone", "it gives no Life of events and questions"),
        ("made:life", "made:listed_gold", "it gives no Life of events and questions"),
        ("made:life", "made:asked_elsewhere", "nothing is said there"),
        ("made:life", "made:empty_question", "this question is empty"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = spec(*QUICK_SPEC, ("seeds = [1]", "seeds = [1, 2]"), (old.replace("[1]", "[1, 2]"), new))
    with pytest.raises(InvalidValue) as caught:
        run_experiment(file, tmp_path / "run", tmp_path)
    assert said in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_equal_arms_and_an_arm_that_is_renamed_have_results_of_their_own(tmp_path: Path) -> None:
    equal = (("nights = false", "nights = true"), ('settings = {"embedder.model" = "/nowhere"}', ""))
    same = spec(*QUICK_SPEC, *equal, (', "sleep.stages" = "fingerprints duplicates uses strengths"}', "}"))
    renamed = spec(*QUICK_SPEC, ('name = "none"', 'name = "other"'))
    for file in (same, renamed):
        outcome = run_experiment(file, tmp_path / "run", tmp_path)
        assert [len(outcome.of(arm.name)) for arm in file.spec.arms] == [1, 1]


def test_what_is_asked_when_and_somebodys_own_code_make_a_result_another(tmp_path: Path) -> None:
    life = load_life(spec(*QUICK_SPEC), 1, tmp_path)
    practised = msgspec.structs.replace(life.questions[0], used_at=(1,))
    other_kind = msgspec.structs.replace(life.questions[0], kind="z")
    stamps = {
        life_stamp(msgspec.structs.replace(life, questions=(one,)))
        for one in (life.questions[0], practised, other_kind)
    }
    assert len(stamps) == 3
    (tmp_path / "own_measure").mkdir()
    for part in ("__init__.py", "core.py"):
        (tmp_path / "own_measure" / part).write_text("def one(*given): return 1.0\n")
    sys.path.insert(0, str(tmp_path))
    try:
        file = spec(*QUICK_SPEC, ("seeds = [1]", 'seeds = [1]\nmeasures = ["own_measure:one"]'))
        load_measures(file)
        arm, settings = file.spec.arms[0], Settings(dict(file.spec.arms[0].settings))
        before = result_stamp(file.spec, arm, settings, life, 1, "")
        assert result_stamp(file.spec, arm, settings, life, 1, "") == before
        assert result_stamp(file.spec, arm, settings, life, 1, "another model") != before
        (tmp_path / "own_measure" / "core.py").write_text("def one(*given): return 2.0\n")
        assert result_stamp(file.spec, arm, settings, life, 1, "") != before
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["own_measure"]


def test_a_result_that_was_cut_short_is_had_again(tmp_path: Path) -> None:
    file = spec(*QUICK_SPEC)
    outcome = run_experiment(file, tmp_path / "run", tmp_path)
    cut = tmp_path / "run" / RESULTS / outcome.manifest.results["none/1"]
    cut.write_bytes(cut.read_bytes()[:50])
    again = Counted()
    repeated = run_experiment(file, tmp_path / "run", tmp_path, run_jobs=again)
    assert repeated.results[1].answers == outcome.results[1].answers
    assert again.done == [("none", 1)]


def test_a_measure_that_gives_no_number_is_a_failure_that_names_it(tmp_path: Path) -> None:
    name = "tests.mnemic.experiment.made:unknown"
    text = ("seeds = [1]", f'seeds = [1]\nmeasures = ["{name}"]')
    outcome = run_experiment(spec(*QUICK_SPEC, text), tmp_path / "run", tmp_path)
    assert {one.why for one in outcome.manifest.failures} == {
        f"ValueError: the measure {name} gives nan for the question crane"
    }


def test_of_a_minds_own_log_no_words_of_memories_are_kept(tmp_path: Path) -> None:
    with open_here(tmp_path / "home", create=True) as mind:
        id = str(uuid.UUID(bytes=mind.remember("The crane is red.", scope="yard").id))
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "which colour has the crane?", "gold": [id]}))
    text = SPEC.replace('kind = "tests.mnemic.experiment.made:life"', 'kind = "log"\nfirst_night = 1.0')
    text = text.replace("seeds = [1]\n", 'seeds = [1]\nprobes = {source = "q.jsonl"}\n')
    file = parse_spec(text, tmp_path / "s.toml")
    outcome = run_experiment(file, tmp_path / "run", tmp_path / "home")
    assert {one.hits for result in outcome.results for one in result.answers} == {(id,)}
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file() and b"crane is red" in path.read_bytes()]
    assert kept == []


def test_homes_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, alive = tmp_path / "mnemic-experiment-999999999-1-x", tmp_path / f"mnemic-experiment-{os.getpid()}-"
    alive = Path(f"{alive}{process_start_time(os.getpid())}-x")
    for folder in (dead, alive):
        folder.mkdir()
    remove_left_homes()
    assert (dead.exists(), alive.exists()) == (False, True)


def test_what_is_no_run_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="there is no run in it"):
        read_run(tmp_path)
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(InvalidValue, match="another version, or damaged"):
        read_run(tmp_path)
