"""The example after Generative Agents decides by words alone, its nights come to rest, and it can be installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mnemic_generative_agents import (
    LEAST,
    MOST,
    Consolidator,
    Importance,
    Reflections,
    RetrievalWeights,
    importance,
    rarities,
    stretches,
)

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.sleep.effects import decode_weights
from mnemic.experiment.run import check_arms
from mnemic.experiment.spec import load_spec
from tests.actors.sleep.sleeping import SHELF, whole_night
from tests.harness import ActorHarness, turns
from tests.paths import ROOT
from tests.processes.faces import lines, run, turn
from tests.waiting import BOUND_S

PACKAGE = ROOT / "examples" / "generative_agents"
STAGES = tuple(f"mnemic_generative_agents:{one.__name__}" for one in (Importance, Reflections, RetrievalWeights))
DAY_S = 86_400
TALK = [
    "The crane at the north dock is broken again",
    "From now on the crane at the north dock needs two people",
    "ok",
    "Lunch was late today, as ever",
    "The north dock crane stands still since Monday, says Mara",
    "I am worried about the crane at the north dock",
    "The bus was full",
    "They fixed the crane at the north dock for 900 euros",
]


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path, **{"generative_agents.threshold": 20}) as mind:
        yield mind


def talk(mind: ActorHarness, times: int = 1) -> None:
    for number in range(times):
        for text in TALK:
            mind.keep(f"{text}, time {number}" if number else text, session=str(number), place=SHELF)


def derived(mind: ActorHarness, stage: type) -> list[Any]:
    """What stands of a stage, without what depends on when it was made."""
    return [(one.key, one.value, one.sources) for one in mind.look(lambda now: now.derived(stage.name))]


def weights(mind: ActorHarness) -> dict[int, float]:
    """The weight of each memory, by row."""
    return {
        span.row: one.weight
        for item in mind.look(lambda now: now.derived(RetrievalWeights.name))
        for span, one in zip(item.sources, decode_weights(item.value, item.sources), strict=True)
    }


# --- decisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grade", "text", "rarity", "said"),
    [
        (1, "", 0.0, {}),
        (1, "The bus was full", 0.0, {}),
        (4, "quixotic zeppelins", 1.0, {}),
        (4, "From now on we deploy on a weekday", 0.0, {}),
        (4, "Postgres it is", 0.0, {"kind": "decision"}),
        (2, "we are so glad of it", 0.0, {}),
        (1, "I am happy to help", 0.0, {"role": "assistant"}),
        (2, "that was Mara", 0.0, {}),
        (2, "it costs 900", 0.0, {}),
        (10, "I hate it: never let Mara merge after 5", 1.0, {}),
    ],
)
def test_importance_follows_from_words_alone(grade: int, text: str, rarity: float, said: dict[str, str]) -> None:
    assert importance(text, rarity, **said) == grade


@given(st.text(), st.floats(0, 1), st.sampled_from(("user", "assistant")), st.sampled_from(("turn", "decision")))
def test_importance_is_from_1_to_10(text: str, rarity: float, role: str, kind: str) -> None:
    assert LEAST <= importance(text, rarity, role, kind) <= MOST


@given(st.lists(st.lists(st.integers(0, 9), unique=True, max_size=6), max_size=12), st.integers(0, 12))
def test_how_rare_words_are_follows_from_what_was_said_before(texts: list[list[int]], count: int) -> None:
    def of(some: list[list[int]]) -> list[float]:
        terms = np.array([term for one in some for term in one], np.int64)
        return rarities(terms, np.array([len(one) for one in some], np.int64)).tolist()

    found = of(texts)
    assert all(0 <= one <= 1 for one in found)
    assert of(texts[:count]) == found[:count]
    assert of([*texts, [77]])[len(texts) :] == [1.0 if texts else 0.0]


@given(st.lists(st.integers(LEAST, MOST), max_size=60), st.integers(1, 80), st.integers(0, 60))
def test_a_stretch_ends_where_the_importance_exceeds_the_threshold(grades: list[int], most: int, count: int) -> None:
    found = stretches(grades, most)
    assert [place for one in found for place in range(len(grades))[one]] == list(range(found[-1].stop if found else 0))
    assert all(sum(grades[one]) > most >= sum(grades[one][:-1]) for one in found)
    assert sum(grades[found[-1].stop if found else 0 :]) <= most
    before = stretches(grades[:count], most)
    assert before == found[: len(before)], "what comes later moves no cut"


@given(
    st.lists(st.tuples(st.integers(1, 99), st.integers(LEAST, MOST), st.integers(0, 8)), max_size=9),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_weights_lie_within_what_recalls_take(
    state: list[tuple[int, int, int]], by_importance: float, by_recency: float
) -> None:
    found = RetrievalWeights(0.995, by_importance, by_recency).plan(np.array(state, np.int64).reshape(-1, 3))
    assert len(decode_weights(found.value, found.sources)) == len(state)


def test_it_weighs_in_place_of_the_strengths(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **{"sleep.stages": "meaning uses strengths profile"}) as mind:
        consolidator = Consolidator.make(mind.ports)
        names = consolidator.stage_names()
        consolidator.close()
    assert names == ["meaning", "uses", "profile", *STAGES]


def test_its_experiment_can_be_run() -> None:
    file = load_spec(PACKAGE / "experiment.toml")
    assert check_arms(file)["generative agents"]["generative_agents.threshold"] == 150


# --- nights ----------------------------------------------------------------------------------------------------------


def test_nights_come_to_rest_and_two_minds_that_were_told_the_same_have_the_same(tmp_path: Path) -> None:
    found = []
    for name in ("one", "other"):
        with ActorHarness(tmp_path / name, **{"generative_agents.threshold": 20}) as mind:
            talk(mind, 12)
            assert whole_night(mind, stages=STAGES).changes > 3
            found.append([derived(mind, one) for one in (Importance, Reflections, RetrievalWeights)])
            mind.clock.advance(9 * DAY_S)
            assert whole_night(mind, stages=STAGES).changes == 0, "while nothing is said, nothing fades"
    assert found[0] == found[1]


def test_a_reflection_cites_what_is_said_again_and_again_and_that_weighs_more(mind: ActorHarness) -> None:
    talk(mind)
    whole_night(mind, stages=STAGES)
    [(key, _, sources), *_] = derived(mind, Reflections)
    assert key == b"scope:1:0"
    texts = mind.texts()
    assert sources
    assert all(b"crane" in texts[one.row - 1][one.start : one.stop] for one in sources)
    cited, *_ = (one.row for one in sources)
    alone = weights(mind)
    with ActorHarness(mind.home.with_name("no reflections"), **{"generative_agents.threshold": 999}) as other:
        talk(other)
        whole_night(other, stages=STAGES)
        assert alone[cited] == pytest.approx(weights(other)[cited] + 2 / 9)


def test_what_is_older_weighs_less_and_what_is_long_past_is_derived_no_more(mind: ActorHarness) -> None:
    talk(mind, 20)  # rows 1 to 160, of three blocks
    whole_night(mind, stages=STAGES)
    new = weights(mind)
    mind.clock.advance(90 * DAY_S)
    mind.keep("The bus was full", place=SHELF)
    whole_night(mind, stages=STAGES)
    old = weights(mind)
    assert {round(new[row] - old[row], 9) for row in new} <= {1.0, round(1 - 2 / 9, 9)}  # cited since
    for day in range(2):
        mind.clock.advance(DAY_S)
        mind.keep(f"ok, {day}", place=SHELF)
        assert {one.stage: one.changes for one in whole_night(mind, stages=STAGES).stages} == {
            Importance.name: 1,
            Reflections.name: 0,
            RetrievalWeights.name: 1,
        }


def test_what_tools_did_and_what_was_forgotten_is_neither_graded_nor_cited(mind: ActorHarness) -> None:
    said = turns(["make test"], kind="tool_call", role="assistant", tool="Bash", scope=SHELF.path)
    mind.sources["said"] = [*said, *turns(["!?"], scope=SHELF.path)]
    mind.take("said")
    whole_night(mind, stages=STAGES)
    assert list(weights(mind)) == [2]
    talk(mind)
    whole_night(mind, stages=STAGES)
    cited = derived(mind, Reflections)[0][2][0].row
    mind.ask(Forget(ids=tuple(mind.look(lambda now: now.ids_of([cited]))), reason="test"))
    whole_night(mind, stages=STAGES)
    assert cited not in weights(mind)
    assert cited not in {one.row for _, _, sources in derived(mind, Reflections) for one in sources}


# --- installed -------------------------------------------------------------------------------------------------------

SPEC = """\
version = 1
name = "small"
life = { kind = "transcripts", path = "life" }
probes = { source = "questions.jsonl" }
nights = { after = 1 }

[[arms]]
name = "ours"

[[arms]]
name = "generative agents"
settings = { "actors.consolidator" = "generative_agents", "generative_agents.threshold" = 20 }

[[arms]]
name = "no nights"
nights = false
"""


@pytest.mark.system
@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed")
def test_it_is_installed_and_compared_with_ours_and_with_no_nights(tmp_path: Path) -> None:
    package = shutil.copytree(PACKAGE, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    installed, life = tmp_path / "installed", tmp_path / "life"
    options = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", installed, package]
    subprocess.run(command, check=True, capture_output=True, timeout=BOUND_S)
    life.mkdir()
    said = [(day, number, text) for day in (1, 2, 3) for number, text in enumerate(TALK)]
    lines(
        life / "talk.jsonl",
        *(
            turn(
                f"{text}, day {day}", f"{day}", id=f"{day}-{number}", scope="dock", said_at=f"2026-03-0{day}T10:00:00Z"
            )
            for day, number, text in said
        ),
    )
    asked = [
        {"question": question, "gold": [f"{day}-{place}" for day in (1, 2, 3)]}
        for question, place in (("two people for the crane", 1), ("crane at the north dock", 5), ("Mara", 4))
    ]
    lines(tmp_path / "questions.jsonl", *asked)
    (tmp_path / "small.toml").write_text(SPEC, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(installed), "MNEMIC_HOME": str(tmp_path / "home")}
    ended = run("experiment", "run", tmp_path / "small.toml", "--json", cwd=tmp_path, env=environment)
    assert (ended.code, ended.json["failures"]) == (0, []), ended
    arms = {"ours", "generative agents", "no nights"}
    assert {(one["arm"], one["questions"]) for one in ended.json["points"]} == {(arm, 3) for arm in arms}
    assert {one["arm"] for one in ended.json["costs"] if one["night_s"]} == arms - {"no nights"}
    assert {one["arm"] for one in ended.json["moved"]} == {"generative agents"}, "its weights are what differs"
