"""Runs an experiment: checks all of it, has every arm live once for each seed, and keeps what came of each.

What is kept is named by all that it follows from (the life, the arm's settings, the code), so that a run which was
broken off goes on where it was, and a spec that is run again after a change repeats what the change concerns.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mnemic.actors.kernel.errors import ActorRefused, InvalidValue, MnemicError
from mnemic.actors.sleep.registry import find_stage
from mnemic.experiment.embeddings import VectorCache
from mnemic.experiment.jobs import ArmJob, ArmResult
from mnemic.experiment.lives import Life, load_life
from mnemic.experiment.measures import load_measures
from mnemic.experiment.replay import live_arm, live_shared_part, remove_left_homes, shared_events
from mnemic.experiment.spec import Arm, Spec, SpecFile
from mnemic.experiment.stamps import commit, life_stamp, result_stamp
from mnemic.runtime.engine.settings import STAGES, Settings, check_settings
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.version import __version__

RESULTS, SPEC_FILE, MANIFEST, VECTORS = "results", "spec.toml", "run.json", "vectors.npz"
"""What lies in a run's folder."""
Told = Callable[[str, int, int | None], None]
"""Told what is being done, how far, and of how much."""
RunJobs = Callable[[Callable[[ArmJob], Any], Iterable[ArmJob]], Iterator[tuple[ArmJob, Any]]]
"""Has jobs done by a function, somewhere; gives each with what came of it, as they end."""


class Failure(msgspec.Struct, frozen=True):
    """An arm that did not live to the end."""

    arm: str
    """Its name."""
    seed: int
    """The seed."""
    why: str
    """In a sentence."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is of, and which results it consists of."""

    spec: Spec
    """As it was read."""
    results: dict[str, str]
    """By ``arm/seed``, the name of each result's file."""
    lives: dict[str, str] = {}
    """What tells the life of each seed from others."""
    failures: tuple[Failure, ...] = ()
    """What failed."""
    notes: tuple[str, ...] = ()
    """What of the life could not be read."""
    engine: str = "embedded"
    """Where arms lived when it was run last."""
    machine: str = ""
    """Where that was."""
    version: str = __version__
    """Of Mnemic."""
    commit: str = ""
    """Of its code, where that is known."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A run, with what came of it."""

    manifest: Manifest
    """What it is of."""
    results: tuple[ArmResult, ...]
    """By arm and seed, in the spec's order."""
    texts: dict[str, str] = {}
    """What questions and the memories named in answers say, by ``q:id`` and ``m:seed:id``."""
    gold: dict[str, frozenset[str]] = {}
    """Of each question, by its id, what answers it."""

    def of(self, arm: str) -> list[ArmResult]:
        """The results of an arm, by seed."""
        return [one for one in self.results if one.arm == arm]


def run_experiment(
    file: SpecFile,
    folder: Path,
    home: Path,
    *,
    run_jobs: RunJobs | None = None,
    engine: str = "embedded",
    told: Told = lambda what, done, of: None,
) -> Outcome:
    """Check a spec, run what is not done yet, and keep it.

    Args:
        folder: the run's own.
        home: where a ``log``'s mind is.
        run_jobs: has arms live, such as in processes under Ray; one after the other in this process where absent.
        engine: what that is called.

    Raises:
        InvalidValue: the spec cannot be; nothing has run then.
        MnemicError, OSError: what is needed cannot be read or written.
    """
    spec = file.spec
    arms = check_arms(file)
    measures = load_measures(file)
    lives = {seed: load_life(file, seed, home) for seed in spec.seeds}
    _check_times(file, lives)
    _check_same_questions(file, lives)
    (folder / RESULTS).mkdir(parents=True, exist_ok=True)
    remove_left_homes()
    cache = VectorCache.read(folder / VECTORS)
    encoders = {arm: cache.name_of(settings.values()) for arm, settings in arms.items()}
    names = {
        (arm.name, seed): result_stamp(spec, arm, arms[arm.name], lives[seed], seed, encoders[arm.name]) + ".json"
        for seed in spec.seeds
        for arm in spec.arms
    }
    todo = [key for key, name in names.items() if _read_result(folder / RESULTS / name) is None]
    if todo:
        _embed(folder, cache, arms, lives, told)
    failures: list[Failure] = []
    jobs = _jobs(spec, arms, measures, lives, todo, cache)
    done = len(names) - len(todo)
    told("arms", done, len(names))
    for job, found in (run_jobs or _in_turn)(_safely, jobs):
        if isinstance(found, ArmResult):
            data = msgspec.json.encode(found)
            replace_private(folder / RESULTS / names[job.arm, job.seed], data)
        else:
            failures.append(Failure(job.arm, job.seed, str(found)))
        done += 1
        told("arms", done, len(names))
    manifest = Manifest(
        spec=spec,
        results={f"{arm}/{seed}": name for (arm, seed), name in names.items() if _read_result(folder / RESULTS / name)},
        lives={str(seed): life_stamp(life).hex()[:16] for seed, life in lives.items()},
        failures=tuple(sorted(failures, key=lambda one: list(names).index((one.arm, one.seed)))),
        notes=tuple(sorted({note for life in lives.values() for note in life.notes})),
        engine=engine,
        machine=_machine(),
        commit=commit(),
    )
    replace_private(folder / SPEC_FILE, file.text.encode())
    results = _results(folder, manifest)
    gold = {one.id: one.gold for life in lives.values() for one in life.questions}
    kept = _Kept(manifest, _texts(spec, results, lives), gold)
    replace_private(folder / MANIFEST, msgspec.json.encode(kept))
    return Outcome(manifest=manifest, results=results, texts=kept.texts, gold=gold)


class _Kept(msgspec.Struct, frozen=True):
    manifest: Manifest
    texts: dict[str, str]
    gold: dict[str, frozenset[str]]


def read_run(folder: Path) -> Outcome:
    """What a run's folder holds.

    Raises:
        InvalidValue: it is no run's.
    """
    try:
        kept = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Kept)
        return Outcome(
            manifest=kept.manifest, results=_results(folder, kept.manifest), texts=kept.texts, gold=kept.gold
        )
    except (OSError, msgspec.DecodeError) as error:
        why = "there is no run in it" if isinstance(error, OSError) else "it is of another version, or damaged"
        expected = "one that `mnemic experiment list` names"
        raise InvalidValue(name="a run", value=str(folder), why=why, expected=expected) from error


def check_arms(file: SpecFile) -> dict[str, Settings]:
    """The settings of each arm, by its name.

    Raises:
        InvalidValue: one cannot be; the key of the spec is named.
    """
    found = {}
    for number, arm in enumerate(file.spec.arms):
        try:
            found[arm.name] = check_settings(arm.settings, file.path)
            _check_stages(found[arm.name])
            _check_shared(file.spec, arm)
        except ActorRefused as error:
            slot = error.operands["slot"]
            where, expected = f"arms[{number}].settings.actors.{slot}", "an installed class that keeps the contract"
            value = arm.settings.get(f"actors.{slot}", error.operands["name"])
            raise file.wrong(where, value, error.operands["why"], expected) from error
        except InvalidValue as error:
            name = str(error.operands["name"]).partition(" in ")[0]
            where = f"arms[{number}].settings.{name}"
            raise file.wrong(
                where, error.operands["value"], error.operands["why"], error.operands["expected"]
            ) from error
    return found


def _check_shared(spec: Spec, arm: Arm) -> None:
    """Refuse settings by which the part of the life that all arms share would have been captured otherwise."""
    for name, value in arm.settings.items() if spec.life.first_night else ():
        if name == "actors.capture" or name.startswith("capture."):
            why = "what comes before the first night is captured once for all arms"
            raise InvalidValue(
                name=name, value=value, why=why, expected="life.first_night = 0.0, or the same in all arms"
            )


def _check_stages(settings: Settings) -> None:
    for name in settings[STAGES].split():
        try:
            find_stage(name)
        except InvalidValue as error:
            raise InvalidValue(**(error.operands | {"name": STAGES})) from error


def _check_times(file: SpecFile, lives: Mapping[int, Life]) -> None:
    """Refuse a spec that asks after nights which it does not have."""
    for one in file.spec.probes.at:
        for life in lives.values():
            if one > (most := _night_count(file.spec, life)):
                why = f"there are {most} nights"
                raise file.wrong("probes.at", one, why, f"0 to {most}, or more nights.after")


def _check_same_questions(file: SpecFile, lives: Mapping[int, Life]) -> None:
    """Refuse lives in which one id is of two questions: they would be told as one."""
    known: dict[str, tuple[str, frozenset[str]]] = {}
    for life in lives.values():
        for one in life.questions:
            if known.setdefault(one.id, (one.text, one.gold)) != (one.text, one.gold):
                why = "it is of another question in another seed"
                raise file.wrong("probes.source", one.id, why, "each question an id of its own")


def _night_count(spec: Spec, life: Life) -> int:
    lived = shared_events(life, spec.life.first_night)
    return len({(one.said_at or 0) // 86_400_000_000 for one in life.events[lived:]}) + spec.nights.after


def _embed(
    folder: Path, cache: VectorCache, arms: Mapping[str, Settings], lives: Mapping[int, Life], told: Told
) -> None:
    for life in lives.values():
        new = False
        for settings in (Settings(), *arms.values()):
            new |= cache.fill(settings.values(), life, lambda done, of: told("embedding", done, of))
        if new:
            replace_private(folder / VECTORS, cache.to_bytes())


def _jobs(
    spec: Spec,
    arms: Mapping[str, Settings],
    measures: Mapping[str, Any],
    lives: Mapping[int, Life],
    todo: Iterable[tuple[str, int]],
    cache: VectorCache,
) -> Iterator[ArmJob]:
    """What is to be done, seed by seed: of each the shared part is lived once."""
    wanted = set(todo)
    for seed in spec.seeds:
        if not any(one == seed for _, one in wanted):
            continue
        life = lives[seed]
        lived = shared_events(life, spec.life.first_night)
        mind, vectors = live_shared_part(life, lived, seed, cache), cache.to_bytes()
        drawn = np.random.default_rng(seed).permutation(len(life.questions))
        used = frozenset(life.questions[place].id for place in drawn[: int(spec.probes.used * len(drawn))])
        at = spec.probes.at or (0, _night_count(spec, life))
        for arm in spec.arms:
            if (arm.name, seed) in wanted:
                yield ArmJob(
                    arm=arm.name,
                    seed=seed,
                    settings=arms[arm.name].values(),
                    nights=arm.nights,
                    after=spec.nights.after,
                    life=life,
                    lived=lived,
                    asked_at=tuple(sorted(set(at))),
                    used=used,
                    depth=spec.probes.depth,
                    measures=measures,
                    mind=mind,
                    vectors=vectors,
                )


def _in_turn(act: Callable[[ArmJob], Any], jobs: Iterable[ArmJob]) -> Iterator[tuple[ArmJob, Any]]:
    for job in jobs:
        yield job, act(job)


def _safely(job: ArmJob) -> ArmResult | str:
    """What came of a job, or why nothing did: one arm's failure keeps no other from living."""
    try:
        return live_arm(job)
    except MnemicError as error:
        return str(error)
    except Exception as error:  # a stranger's actor or measure may do anything
        return f"{type(error).__name__}: {error}"


def _results(folder: Path, manifest: Manifest) -> tuple[ArmResult, ...]:
    found = (_read_result(folder / RESULTS / name) for name in manifest.results.values())
    return tuple(one for one in found if one is not None)


def _read_result(path: Path) -> ArmResult | None:
    """A result that was kept; ``None`` where there is none, or it was cut short: it is had again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ArmResult)
    except (OSError, msgspec.DecodeError):
        return None


def _texts(spec: Spec, results: Iterable[ArmResult], lives: Mapping[int, Life]) -> dict[str, str]:
    """What is said of all that a report may name. Of a mind's own log no memory's words are kept: they may be erased
    there.
    """
    named: dict[int, set[str]] = {seed: set() for seed in lives}
    for result in results:
        named[result.seed].update(hit for answer in result.answers for hit in answer.hits)
    texts: dict[str, str] = {}
    for seed, life in lives.items():
        for question in life.questions:
            texts[f"q:{question.id}"] = question.text
            named[seed] |= question.gold
        for event in life.events if spec.life.kind != "log" else ():
            if event.source_id in named[seed]:
                texts[f"m:{seed}:{event.source_id}"] = event.text.decode("utf-8", "replace")
    return texts


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
