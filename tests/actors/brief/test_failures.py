"""Once a call failed its assistant is told what helped before: surely, briefly, in its project, and once a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.actors.brief.compose import FAILURE_TOKENS
from mnemic.actors.protocol.ambient_messages import Brief, Briefed, FailedCall
from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.log_messages import DeliveriesListed, ListDeliveries
from tests.actors.shape.questions.test_situations import MISSING, mended, run
from tests.harness import ActorHarness
from tests.shaped import bind, shaped

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
    assert "failed like this 4 times before; then this helped (2 of 2, last on " in answer.text
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


def test_the_failure_itself_is_no_precedent_once_it_is_bound(mind: ActorHarness) -> None:
    before = told(mind, "m").text
    command, printed = "python -m pytest tests/test_ulid.py", MISSING.format("ulid")
    mind.sources["now"] = run(3_000, "n", command, printed, "failed")
    mind.take("now")
    mind.embed()
    bind(mind)
    assert told(mind, "n").text == before
