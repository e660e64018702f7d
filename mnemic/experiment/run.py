"""Runs an experiment: checks all of it, has every arm live once for each seed, and keeps what came of each.

What is kept is named by all that it follows from (the life, the arm's settings, the code), so that a run which was
broken off goes on where it was, and a spec that is run again after a change repeats what the change concerns.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mnemic.actors.protocol.errors import ActorRefused, InvalidValue, MnemicError
from mnemic.experiment.embeddings import VectorCache
from mnemic.experiment.lives import Life, load_life
from mnemic.experiment.measures import load_measures
from mnemic.experiment.replay import ArmJob, ArmResult, live_arm, live_shared_part, shared_events
from mnemic.experiment.spec import Spec, SpecFile
from mnemic.runtime.engine.settings import Settings, check_settings
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
    failures: tuple[Failure, ...] = ()
    """What failed."""
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
    """What questions and the memories named in answers say, by ``q:id`` and ``m:id``."""
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
    (folder / RESULTS).mkdir(parents=True, exist_ok=True)
    code = _code_stamp(spec)
    names = {
        (arm.name, seed): _result_name(spec, arms[arm.name], arm.nights, lives[seed], seed, code)
        for seed in spec.seeds
        for arm in spec.arms
    }
    todo = [key for key in names if not (folder / RESULTS / names[key]).exists()]
    cache = VectorCache.read(folder / VECTORS)
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
        results={f"{arm}/{seed}": name for (arm, seed), name in names.items() if (folder / RESULTS / name).exists()},
        failures=tuple(failures),
        engine=engine,
        machine=_machine(),
        commit=_commit(),
    )
    replace_private(folder / SPEC_FILE, file.text.encode())
    results = _results(folder, manifest)
    gold = {one.id: one.gold for life in lives.values() for one in life.questions}
    kept = _Kept(manifest, _texts(results, lives), gold)
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
        InvalidValue: one cannot be; the line of the spec is named.
    """
    found = {}
    for number, arm in enumerate(file.spec.arms):
        try:
            found[arm.name] = check_settings(arm.settings, file.path)
        except ActorRefused as error:
            named = {name: value for name, value in arm.settings.items() if name.startswith("actors.")}
            name, value = next(iter(named.items()))
            where = f"arms[{number}].settings.{name}"
            raise file.wrong(
                where, value, error.operands["why"], "a class that `mnemic bench contract` passes"
            ) from error
        except InvalidValue as error:
            name = str(error.operands["name"]).partition(" in ")[0]
            where = f"arms[{number}].settings.{name}"
            raise file.wrong(
                where, error.operands["value"], error.operands["why"], error.operands["expected"]
            ) from error
    return found


def _check_times(file: SpecFile, lives: Mapping[int, Life]) -> None:
    """Refuse a spec that asks after nights which it does not have."""
    for one in file.spec.probes.at:
        for life in lives.values():
            if one > (most := _night_count(file.spec, life)):
                why = f"there are {most} nights"
                raise file.wrong("probes.at", one, why, f"0 to {most}, or more nights.after")


def _night_count(spec: Spec, life: Life) -> int:
    lived = shared_events(life, spec.life.first_night)
    return len({(one.said_at or 0) // 86_400_000_000 for one in life.events[lived:]}) + spec.nights.after


# --- jobs ------------------------------------------------------------------------------------------------------------


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
    return tuple(
        msgspec.json.decode((folder / RESULTS / name).read_bytes(), type=ArmResult)
        for name in manifest.results.values()
    )


def _texts(results: Iterable[ArmResult], lives: Mapping[int, Life]) -> dict[str, str]:
    """What is said of all that a report may name."""
    named = {hit for result in results for answer in result.answers for hit in answer.hits}
    texts: dict[str, str] = {}
    for life in lives.values():
        for question in life.questions:
            texts[f"q:{question.id}"] = question.text
            named |= question.gold
        for event in life.events:
            if event.source_id in named:
                texts[f"m:{event.source_id}"] = event.text.decode("utf-8", "replace")
    return texts


# --- what a result follows from --------------------------------------------------------------------------------------


def _result_name(spec: Spec, settings: Settings, nights: bool, life: Life, seed: int, code: bytes) -> str:
    probes = msgspec.structs.replace(spec.probes, source="", kinds=(), every=1)  # the questions themselves count
    follows = (
        msgspec.msgpack.encode([spec.life.first_night, spec.nights, probes, spec.measures, nights, seed]),
        settings.hash().encode(),
        _life_stamp(life),
        code,
    )
    return hashlib.sha256(b"|".join(follows)).hexdigest()[:24] + ".json"


def _life_stamp(life: Life) -> bytes:
    encode = msgspec.msgpack.Encoder(order="deterministic").encode
    questions = [
        [one.id, one.text, sorted(one.gold), one.scope, sorted(one.stale), repr(one.ask)] for one in life.questions
    ]
    return hashlib.sha256(encode(life.events) + encode(questions)).digest()


def _code_stamp(spec: Spec) -> bytes:
    """What tells this code from another, that of strangers' modules which the spec names included."""
    digest = hashlib.sha256(f"{__version__} {_commit()} {_changed()}".encode())
    named = [spec.life.kind, spec.probes.source, *spec.measures]
    named += [str(value) for arm in spec.arms for value in arm.settings.values()]
    for name in sorted({part.partition(":")[0] for one in named for part in one.split() if ":" in part}):
        module = sys.modules.get(name)
        try:
            digest.update(inspect.getsource(module).encode() if module is not None else b"")
        except (OSError, TypeError):
            continue  # it has no source: its version cannot be told
    return digest.digest()


def _git(*arguments: str) -> str:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():  # installed: the version tells
        return ""
    command = ("git", "-C", str(root), *arguments)
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def _commit() -> str:
    return _git("rev-parse", "HEAD").strip()[:12]


def _changed() -> str:
    """A hash of what differs from the commit in a checkout."""
    differs = _git("diff", "HEAD")
    return hashlib.sha256(differs.encode()).hexdigest() if differs else ""


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
