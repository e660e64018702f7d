"""A life, questions and measures of somebody's own, as specs of the tests name them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.events import Event
from mnemic.actors.shape.messages import Shape
from mnemic.experiment import Life, Question
from mnemic.experiment.spec import SpecFile, parse_spec

START_US = 1_760_000_000_000_000
DAY_US = 86_400_000_000
THINGS = ("crane", "kettle", "ledger", "buoy", "lamp", "rope", "anchor", "rudder")
SPEC = """\
version = 1
name = "made"
seeds = [1]

[life]
kind = "tests.mnemic.experiment.made:life"

[[arms]]
name = "ours"
settings = {"embedder.model" = "/nowhere", "sleep.stages" = "fingerprints duplicates uses strengths"}

[[arms]]
name = "none"
nights = false
settings = {"embedder.model" = "/nowhere"}
"""


def life(options: Mapping[str, Any], seed: int) -> Life:
    """Where things stand, two a day; each is asked for by its name."""
    events, questions = [], []
    for number, thing in enumerate(THINGS[: options.get("things", len(THINGS))]):
        for place in ("attic", "harbour"):
            events.append(
                Event(
                    assistant="generic",
                    session=f"{thing} {place}",
                    kind="turn",
                    role="user",
                    text=f"The {thing} stands in the {place} these days ({seed}).".encode(),
                    source_id=f"{thing}-{place}",
                    scope="made",
                    said_at=START_US + number // 2 * DAY_US + number * 1_000_000,
                )
            )
        gold = frozenset({f"{thing}-attic"})
        questions.append(Question(id=thing, text=f"tell me of the {thing}", gold=gold, scope="made", kind="thing"))
    return Life(events=tuple(events), questions=tuple(questions))


def failing_life(options: Mapping[str, Any], seed: int) -> Life:
    """One that cannot be had."""
    raise ZeroDivisionError


def no_life(options: Mapping[str, Any], seed: int) -> str:
    """None at all."""
    return "a life"


def shapes(of: Life, seed: int) -> Sequence[Question]:
    """Questions that are asked by shape."""
    return [Question(id="who", text="?", gold=frozenset(), ask=Shape(pattern={"kind": "turn"}, k=3, observe=False))]


def none(of: Life, seed: int) -> Sequence[Question]:
    """No question at all."""
    return ()


def strangers(of: Life, seed: int) -> Sequence[Any]:
    """What is no question."""
    return ["where?"]


def matches(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """How many memories have a shape."""
    return float(len(answer.hits)) if question.id == "who" else None


def fails(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """One that fails."""
    raise KeyError(question.id)


def another_each_seed(options: Mapping[str, Any], seed: int) -> Life:
    """One whose questions differ by the seed, and their ids do not."""
    of = life(options, seed)
    asked = [msgspec.structs.replace(one, text=f"{one.text} {seed}") for one in of.questions]
    return msgspec.structs.replace(of, questions=tuple(asked))


def words_alone(options: Mapping[str, Any], seed: int) -> Life:
    """One of texts."""
    return msgspec.structs.replace(life(options, seed), events=("The crane is red.",))


def listed_gold(options: Mapping[str, Any], seed: int) -> Life:
    """One whose questions have lists."""
    return _asked(options, seed, gold=["crane-attic"])


def asked_elsewhere(options: Mapping[str, Any], seed: int) -> Life:
    """One whose questions are asked where nothing is."""
    return _asked(options, seed, scope="nowhere")


def empty_question(options: Mapping[str, Any], seed: int) -> Life:
    """One whose questions are empty."""
    return _asked(options, seed, text=" ")


def _asked(options: Mapping[str, Any], seed: int, **fields: Any) -> Life:
    of = life(options, seed)
    return msgspec.structs.replace(of, questions=tuple(msgspec.structs.replace(one, **fields) for one in of.questions))


def unknown(question: Question, answer: Any, settings: Mapping[str, Any]) -> float:
    """A measure that gives no number."""
    return float("nan")


def dies(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """One that ends the process of the arm without nights, each time."""
    if "sleep.stages" in settings and settings["sleep.stages"].startswith("labels meaning"):
        os._exit(1)
    return 1.0


class Broken:
    """A stage that fails."""

    name = "broken"
    version = 1

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Broken:
        """Make one."""
        return cls()

    def sources(self, snapshot: Any) -> Mapping[bytes, bytes]:
        """Fail."""
        raise ZeroDivisionError("words of a memory")

    def read(self, key: bytes, snapshot: Any) -> None:
        """Nothing."""

    def plan(self, state: Any) -> None:
        """Nothing."""


def spec(*replaced: tuple[str, str], text: str = SPEC) -> SpecFile:
    """The spec of the tests, with parts of it replaced by others."""
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return parse_spec(text, Path("/specs/made.toml"))


def dies_once(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """One that kills its process the first time, as running out of memory would."""
    marker = Path(os.environ["MNEMIC_TEST_MARKER"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0
