"""Moments like the last steps of a session are found, with what was done next there, and what helped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue, UnknownSession
from mnemic.actors.kernel.events import Event, Outcome
from mnemic.actors.shape.messages import Answer, Shaped
from mnemic.actors.shape.questions.situations import HELPED
from mnemic.actors.shape.questions.typed import as_typed
from tests.harness import ActorHarness
from tests.shaped import event, shape, shaped

MISSING = "Exit code 1\nModuleNotFoundError: No module named {!r}"
KEY = "Exit code 1\nKeyError: {!r}"


def run(
    minute: int, session: str, command: str, printed: str, outcome: Outcome, scope: str = "work/auth"
) -> list[Event]:
    """A command of a shell, and what came of it."""
    told = {"tool": "Bash", "scope": scope}
    return [
        event(minute, "assistant", f"Bash\ncommand: {command}", session, "tool_call", **told),
        event(minute, "tool", printed, session, "tool_result", outcome=outcome, **told),
    ]


def mended(start: int, session: str, module: str, scope: str = "work/auth") -> list[Event]:
    """A module is missing, something else is tried in vain, and then it is installed."""
    test = f"python -m pytest tests/test_{module}.py"
    return [
        *run(start, session, test, MISSING.format(module), "failed", scope),
        *run(start + 1, session, f"ls {module}", "", "ok", scope),
        *run(start + 2, session, f"touch {module}.py", "", "ok", scope),
        *run(start + 3, session, test, MISSING.format(module), "failed", scope),
        *run(start + 4, session, f"pip install {module}", "", "ok", scope),
        *run(start + 5, session, test, "1 passed", "ok", scope),
    ]


EVENTS = [
    *mended(0, "s0", "yaml"),
    *mended(1_440, "s1", "attrs"),
    *run(2_880, "s2", "python seed.py", KEY.format("tide"), "failed"),
    *run(2_881, "s2", "export TIDE=1", "", "ok"),
    *run(2_882, "s2", "python seed.py", "", "ok"),
    *mended(4_000, "e0", "rich", "elsewhere"),
    *run(5_000, "now", "git status", "", "ok"),
    *run(5_001, "now", "python -m pytest tests/test_ulid.py", MISSING.format("ulid"), "failed"),
    *run(6_000, "key", "python seed.py", KEY.format("depth"), "failed"),
    *run(7_000, "odd", "cargo build", "error[E0382]: borrow of moved value: `x`", "failed"),
    *run(8_000, "well", "pip install click", "", "ok"),
    event(9_000, "user", "and what now?", "talk"),
]


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    with shaped(tmp_path_factory.mktemp("mind"), EVENTS) as actor_system:
        yield actor_system


def here(mind: ActorHarness, session: str | None, **more: object) -> Shaped:
    return shape(mind, here=True, session=session, **({"strict": False} | more))


def answered(found: Shaped, role: str) -> list[Answer]:
    return [one for one in found.answers if one.role == role]


def test_what_helped_against_such_failures_is_told_with_how_often_of_how_often_tried(mind: ActorHarness) -> None:
    helped = answered(here(mind, "now", scope="work/auth"), HELPED)
    assert [one.filler for one in helped] == ["pip install attrs"]  # the words of the likest, the newest of equals
    assert (helped[0].worked, helped[0].worked_of) == (1.0, 2)  # each failed twice before it helped
    assert helped[0].confidence > 0.5
    assert len(helped[0].memories) == 1


def test_which_moment_it_is_is_told_first(mind: ActorHarness) -> None:
    first = here(mind, "now", scope="work/auth").answers[0]
    assert (first.role, first.filler) == ("here", "python -m pytest tests/test_ulid.py, which failed")
    assert here(mind, "well", scope="work/auth").answers[0].filler == "pip install click, which ended well"


def test_another_error_is_mended_by_what_helped_against_that(mind: ActorHarness) -> None:
    (helped,) = answered(here(mind, "key", scope="work/auth"), HELPED)
    assert helped.filler == "export TIDE=1"
    assert answered(here(mind, "odd", scope="work/auth"), HELPED) == []


def test_moments_come_the_likest_first_and_the_moment_itself_is_none(mind: ActorHarness) -> None:
    found = here(mind, "now", scope="work/auth", k=20)
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert all(hit.session != "now" or "git status" in hit.text for hit in found.hits)
    assert "pytest" in found.hits[0].text
    assert found.hits[0].why.keys() == {"here"}


def test_what_is_done_next_is_told_whether_it_failed_or_not(mind: ActorHarness) -> None:
    for session in ("now", "well"):
        then = answered(here(mind, session, scope="work/auth"), "then")
        assert then
        assert sum(one.confidence for one in then) <= 1.001
        assert all(one.support for one in then)
    assert answered(here(mind, "well", scope="work/auth"), HELPED) == []


def test_without_a_name_the_newest_conversation_counts_and_only_the_scope_is_looked_through(mind: ActorHarness) -> None:
    newest = here(mind, None, scope="work/auth")
    assert newest.answers == here(mind, "well", scope="work/auth").answers
    elsewhere = here(mind, None, scope="elsewhere")
    assert {hit.scope for hit in elsewhere.hits} == {"elsewhere"}
    asking = here(mind, None, asking_session="now", scope="work/auth")
    assert asking.answers == here(mind, "now", scope="work/auth").answers
    unheard = here(mind, None, asking_session="not kept yet", scope="work/auth")
    assert unheard.answers == newest.answers


def test_a_conversation_without_steps_says_so_and_an_unknown_one_is_refused(mind: ActorHarness) -> None:
    assert here(mind, "talk").degraded == ("here: no call of a tool was found in the conversation",)
    with pytest.raises(UnknownSession):
        here(mind, "nobody's")
    for more in ({"pattern": {"tool": "git"}}, {"like": (bytes(16),)}, {"strict": True}):
        with pytest.raises(InvalidValue, match="nothing beside them"):
            here(mind, None, **more)


def test_before_the_conversation_began_and_after_it_ended_it_has_no_step(mind: ActorHarness) -> None:
    for more in ({"until": 1}, {"since": 2_000_000_000_000_000}):
        found = here(mind, "now", **more)
        assert (found.hits, found.answers) == ((), ())
        assert "here: no call of a tool was found in the conversation" in found.degraded


def test_it_is_kept_as_it_is_typed(mind: ActorHarness) -> None:
    from mnemic.actors.shape.messages import Shape

    assert as_typed(Shape(here=True, session="now")) == "--here --session now"


def test_kinds_of_errors_are_asked_for_by_name_and_by_what_was_said(mind: ActorHarness) -> None:
    assert {hit.session for hit in shape(mind, {"error": "ModuleNotFoundError", "kind": "tool_call"}).hits} == {
        *("s0", "s1", "e0", "now"),
    }
    said = shape(mind, {"error": "no module named …", "kind": "tool_result"}, strict=True)
    assert len(said.hits) == 7
    asked = shape(mind, {"tool": "cargo", "error": "?"})
    assert {one.filler for one in asked.answers} == {"e0382", "borrow of moved value: …", "borrow of moved value: `x`"}


def test_who_has_nothing_bound_is_told_nothing(tmp_path: Path) -> None:
    with shaped(tmp_path / "mind", []) as empty:
        assert here(empty, None).answers == ()
