"""Once a call failed its assistant is told what helped before: surely, briefly, in its project, and once a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.actors.brief.compose import FAILURE_TOKENS
from mnemic.actors.brief.messages import Brief, Briefed, FailedCall
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.messages import DeliveriesListed, ListDeliveries
from tests.actors.shape.questions.test_situations import MISSING, mended, run
from tests.harness import ActorHarness
from tests.shaped import shaped

HERE = ScopeRef(path="work/auth", project=None, found="named")
CALL = b"Bash\ncommand: python -m pytest tests/test_ulid.py"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with shaped(tmp_path / "mind", [*mended(0, "s0", "yaml"), *mended(1_440, "s1", "attrs")]) as actor_system:
        yield actor_system


def told(
    mind: ActorHarness, session: str, printed: str = MISSING.format("ulid"), place: ScopeRef = HERE, **more: object
) -> Briefed:
    failed = FailedCall(tool="Bash", call=CALL, result=printed.encode())
    asked = Brief(occasion="tool-failed", place=place, assistant="a", session=session, failed=failed, **more)  # type: ignore[arg-type]
    answer = mind.ask(asked)
    assert isinstance(answer, Briefed)
    return answer


def test_what_helped_is_quoted_in_few_words_and_in_the_log(mind: ActorHarness) -> None:
    answer = told(mind, "n")
    assert "failed like this 4 times before; then this or its like helped (2 of 2, last on " in answer.text
    assert answer.text.splitlines()[2].endswith('"pip install attrs"')
    assert 0 < answer.tokens <= FAILURE_TOKENS
    given = mind.ask(ListDeliveries())
    assert isinstance(given, DeliveriesListed)
    (delivery,) = given.deliveries
    assert (delivery.occasion, delivery.session) == ("tool-failed", "n")
    assert [part.text for part in delivery.parts] == ["pip install attrs"]


def test_each_session_is_told_once(mind: ActorHarness) -> None:
    assert told(mind, "n").text
    assert told(mind, "n").text == ""
    assert told(mind, "m").text


def test_what_is_not_sure_is_not_told(mind: ActorHarness) -> None:
    assert told(mind, "n", "Exit code 1\nKeyError: 'tide'").text == ""
    assert told(mind, "n", "Exit code 1\n").text == ""
    assert told(mind, "n", place=ScopeRef(path="elsewhere", project=None, found="named")).text == ""
    assert told(mind, "n", place=ScopeRef(path="", project=None, found="none")).text == ""
    assert told(mind, "n", budget_tokens=0).text == ""
    assert told(mind, "n", budget_tokens=20).text == ""


def test_failures_of_other_kinds_and_what_was_tried_against_them_are_not_counted(tmp_path: Path) -> None:
    events = [*mended(0, "s0", "yaml"), *mended(1_440, "s1", "attrs")]
    for number in range(6):
        start, session = 10_000 + 1_440 * number, f"other{number}"
        events += run(start, session, "terraform plan", "Error: Invalid provider configuration", "failed")
        events += run(start + 1, session, "pip install boto", "", "ok")
        events += run(start + 2, session, "terraform plan", "Error: Invalid provider configuration", "failed")
    with shaped(tmp_path / "mind", events) as mind:
        assert "failed like this 4 times before; then this or its like helped (2 of 2, last on " in told(mind, "n").text


def test_what_comes_too_late_is_neither_told_nor_kept_as_told(mind: ActorHarness) -> None:
    assert told(mind, "n", answer_by=mind.clock.now_us() - 1).text == ""
    assert mind.ask(ListDeliveries()).deliveries == ()
    assert told(mind, "n", answer_by=mind.clock.now_us() + 1).text


def test_of_a_long_answer_the_end_is_read_which_says_what_ended_it(mind: ActorHarness) -> None:
    assert told(mind, "n", "Collecting é…\n" * 200_000 + MISSING.format("ulid")).text
