"""The verbs of shapes from Python: a pattern, an analogy, the roles; what is asked leaves no more than it should."""

from __future__ import annotations

import inspect
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.capture.forget_messages import Selection
from mnemic.actors.kernel.errors import InvalidValue, UnknownScope, UnknownSession
from mnemic.runtime.api.mind import Mind
from tests.paths import ROOT
from tests.processes.faces import lines, turn
from tests.waiting import until

CAPITALS = {"france": ("paris", "euro"), "japan": ("tokyo", "yen"), "norway": ("oslo", "krone")}

CALL = re.compile(r"mind\.(\w+)\(([^()\n]*)")


@pytest.fixture
def mind(home: Path, tmp_path: Path) -> Iterator[Mind]:
    """A mind without a model: of three projects, each with its branch and its tool, some calls."""
    calls = [
        turn(
            f"{tool} for {project}, number {number}",
            session=project,
            id=f"{project}-{number}",
            scope=project,
            role="assistant",
            kind="tool_call",
            tool=tool,
            files=[f"{branch}.txt"],
        )
        for project, (branch, tool) in CAPITALS.items()
        for number in range(4)
    ]
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "a.jsonl", *calls))
        yield mind


def test_a_pattern_is_answered_with_memories_and_fillers(mind: Mind) -> None:
    shaped = mind.shape({"tool": "yen", "file": "?"}, k=4)
    assert {hit.scope for hit in shaped.hits} == {"japan"}
    assert shaped.answers[0].filler == "tokyo.txt"
    assert shaped.answers[0].support == 4
    assert shaped.scope == "*"


def test_a_set_is_told_by_what_its_memories_have_in_common(mind: Mind) -> None:
    shaped = mind.shape({"tool": "?", "file": "?"}, session="norway")
    best = {one.role: one.filler for one in reversed(shaped.answers)}
    assert best == {"tool": "krone", "file": "oslo.txt"}
    assert {hit.session for hit in shaped.hits} == {"norway"}


def test_an_analogy_is_answered_by_what_fills_the_same_role(mind: Mind) -> None:
    answers = mind.shape(analogy=("france", "euro", "japan")).answers
    assert (answers[0].role, answers[0].filler) == ("tool", "yen")


def test_filters_that_cannot_be_are_refused(mind: Mind) -> None:
    with pytest.raises(UnknownScope):
        mind.shape({"tool": "yen"}, scope="atlantis")
    for ask in (lambda: mind.recall("yen", session="norw"), lambda: mind.shape({"tool": "yen"}, session="norw")):
        with pytest.raises(UnknownSession) as caught:
            ask()
        assert str(caught.value) == "No memory of the conversation 'norw' was found."
        assert caught.value.remedy_text.startswith("Did you mean 'norway'? ")
    with pytest.raises(InvalidValue, match="until"):
        mind.shape({"tool": "yen"}, since=2, until=1)
    wrong: list[dict[str, Any]] = [{"pattern": {}}, {"analogy": ("a", "b")}, {"pattern": {"tool": "yen"}, "k": 0}]
    for asked in wrong:
        with pytest.raises(InvalidValue):
            mind.shape(**asked)
    with pytest.raises(InvalidValue):
        mind.shape({"tool": "yen"}, analogy=("a", "b", "c"))


def test_what_python_gives_by_mistake_is_refused_by_what_is_wrong_with_it(mind: Mind) -> None:
    cases: list[tuple[Any, ...]] = [
        ({"pattern": "who=maya"}, "the pattern cannot be 'who=maya': it is no mapping of roles to fillers"),
        ({"pattern": {}}, 'it asks for nothing. Give a pattern, such as {"file": "?"}.'),
        ({"pattern": {"who": None}}, "the role who cannot be None: it is no text"),
        ({"pattern": {"hour": ["9"]}}, "the role hour cannot be \"['9']\": it is no text"),
        ({"analogy": "auth.py"}, "the analogy cannot be 'auth.py': it is no list of names"),
        ({"analogy": ("a", "b")}, "the analogy cannot be 'a b': it has not three names"),
        ({"pattern": {"tool": "yen"}, "since": 2**70}, f"since cannot be {2**70}: no time is as far from 1970 as that"),
        ({"pattern": {"tool": "yen"}, "until": -(2**70)}, "no time is as far from 1970 as that"),
        ({"pattern": {"tool": "yen"}, "since": "x"}, "since cannot be 'x': it is no whole number. Give microseconds"),
        ({"pattern": {"tool": "yen"}, "since": "x", "until": 3}, "since cannot be 'x': it is no whole number"),
        ({"pattern": {"tool": "yen"}, "until": b"x"}, "until cannot be \"b'x'\": it is no whole number"),
        ({"pattern": {"tool": "yen"}, "scope": 3}, "a scope cannot be 3: it is no text. Give names joined by '/'"),
        ({"pattern": {"tool": "yen"}, "session": 3}, "session cannot be 3: it is a whole number. Give a text."),
    ]
    for asked, said in cases:
        with pytest.raises(InvalidValue) as error:
            mind.shape(**asked)
        assert said in f"{error.value} {error.value.remedy_text}"


def test_times_that_no_store_can_tell_are_refused_by_every_verb_that_takes_them(mind: Mind) -> None:
    for verb in (
        lambda: mind.recall("yen", since=2**63),
        lambda: mind.log(since=2**63),
        lambda: mind.log_given(until=-(2**64)),
    ):
        with pytest.raises(InvalidValue, match="no time is as far from 1970 as that"):
            verb()
    assert mind.log(since=-(2**63), until=2**63 - 1).memories


def test_a_number_that_no_store_can_hold_is_refused_by_its_name(mind: Mind) -> None:
    for verb in (lambda: mind.recall("yen", k=2**63), lambda: mind.log(limit=2**63)):
        with pytest.raises(InvalidValue, match=rf"^(k|limit) cannot be {2**63}: it is larger than 64 bits\.$"):
            verb()


@pytest.mark.parametrize("form", [bytes, uuid.UUID, str])
def test_an_id_is_taken_as_bytes_as_a_uuid_and_as_its_text_by_every_verb(mind: Mind, form: type) -> None:
    kept = mind.remember("the yen is weak", scope="japan", similar=False).id
    named = uuid.UUID(bytes=kept)
    one: Any = {bytes: kept, uuid.UUID: named, str: str(named)}[form]
    assert mind.get([one])[0].id == mind.show([one])[0].memory.id == kept
    assert mind.undo_command([one]).split()[3] == str(named)
    assert mind.survey(Selection(ids=(one,))).memories == 1
    assert mind.forget([one]).memories[0].id == mind.recover([one]).memories[0].id == kept
    assert mind.correct(one, "the yen is strong", similar=False).created
    assert mind.get([one])[0].superseded_by is not None


def test_what_is_no_id_is_refused_in_one_sentence(mind: Mind) -> None:
    verbs: list[Callable[[Any], Any]] = [
        lambda one: mind.get([one]),
        lambda one: mind.show([one]),
        lambda one: mind.forget([one]),
        lambda one: mind.correct(one, "x"),
        lambda one: mind.remember("x", supersedes=one),
        lambda one: mind.similar("x", scope="japan", exclude=[one]),
        lambda one: mind.erase(Selection(ids=(one,))),
    ]
    for verb, one in zip(verbs, ("x", b"x", 3, 1.5, [], "", b""), strict=True):
        with pytest.raises(InvalidValue, match=r"^a memory's id cannot be .*: it is no UUID\.$") as error:
            verb(one)
        assert error.value.remedy_text == "Give 16 bytes, a uuid.UUID or its text."
    with pytest.raises(InvalidValue, match=r"the ids cannot be .*: it is no list"):
        mind.get(str(uuid.uuid4()))


def test_what_the_docs_call_of_a_mind_is_there_and_takes_what_they_give_it() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    calls = [(path.name, *call) for path in texts for call in CALL.findall(path.read_text("utf-8"))]
    assert len(calls) > 15
    for page, name, given in calls:
        takes = inspect.signature(getattr(Mind, name)).parameters
        assert set(re.findall(r"(\w+)=", given)) <= set(takes), (page, name, given)


def test_a_verb_is_named_as_it_is_called() -> None:
    verbs = inspect.getmembers(Mind, inspect.isfunction)
    assert [(name, verb.__name__) for name, verb in verbs if verb.__name__ != name] == []


def test_numbers_are_taken_as_their_text(mind: Mind) -> None:
    sizes = [mind.shape({"tool": "yen", "size": size}, observe=False).hits for size in (4, 4.0, "4")]
    assert sizes[0] == sizes[1] == sizes[2] != ()
    with pytest.raises(InvalidValue, match="the role hour cannot be '99'"):
        mind.shape({"hour": 99})
    with pytest.raises(InvalidValue, match="outcome cannot be 'yes'"):
        mind.shape({"outcome": True})


def test_what_is_not_observed_leaves_no_trace_and_what_is_private_no_question(mind: Mind) -> None:
    mind.shape({"tool": "yen"}, observe=False)
    mind.shape({"tool": "yen"}, private=True, assistant="codex", asking_session="abc")
    until(lambda: bool(mind.log_given().deliveries))
    (delivery,) = mind.log_given().deliveries
    assert (delivery.occasion, delivery.assistant, delivery.session, delivery.query) == ("shape", "codex", "abc", "")
    assert mind.log_given(own=True).deliveries == ()


def test_what_was_erased_is_no_answer_any_more_and_is_in_no_log(mind: Mind, home: Path) -> None:
    asked = {"tool": "yen", "file": "?"}
    assert mind.shape(asked, assistant="codex").answers[0].filler == "tokyo.txt"
    until(lambda: bool(mind.log_given().deliveries))
    assert any("tokyo.txt" in part.why for part in mind.log_given().deliveries[0].parts)
    mind.erase(Selection(session="japan"))
    after = mind.shape(asked, observe=False)
    assert after.answers == ()
    assert all(hit.scope != "japan" for hit in after.hits)
    assert [delivery.parts for delivery in mind.log_given().deliveries] == [()]
    assert all("tokyo.txt" not in role.samples for role in mind.roles().roles)


def test_the_roles_say_what_is_bound(mind: Mind) -> None:
    listed = mind.roles()
    assert (listed.bound, listed.pending) == (12, 0)
    tool = next(role for role in listed.roles if role.name == "tool")
    assert (tool.fillers, set(tool.samples)) == (3, {"euro", "yen", "krone"})


def test_a_mind_of_nothing_answers_with_nothing(home: Path) -> None:
    with mnemic.open(home) as empty:
        for pattern in ({"tool": "yen", "file": "?"}, {"after": "edit, test failed", "then": "?"}):
            shaped = empty.shape(pattern)  # nobody can tell yet by which words steps will be told here
            assert (shaped.hits, shaped.answers, shaped.searched) == ((), (), 0)
        assert empty.roles().bound == 0


def test_a_pause_is_said_with_the_answer(mind: Mind) -> None:
    mind.pause()
    (told,) = [line for line in mind.shape({"tool": "yen"}).degraded if "pause" in line.lower()]
    mind.resume()
    assert told not in mind.shape({"tool": "yen"}).degraded


def test_several_scopes_are_paths_each_once_and_everything_is_everything(mind: Mind) -> None:
    for scope in ("quay/a", "quay/b", "pier"):
        mind.remember("a heron", scope=scope, similar=False)
    for scope, told, searched in [
        (["/quay/a/", "pier", "pier/"], ("quay/a", "pier"), 2),
        (("quay",), "quay", 2),
        (iter(["quay/b"]), "quay/b", 1),
        ("/pier", "pier", 1),
    ]:
        recalled = mind.recall("heron", scope=scope)
        assert (recalled.scope, recalled.searched) == (told, searched)
    assert mind.recall("heron", scope=["pier", "*"]).scope == "*"
    assert {one.scope for one in mind.log(scope=["quay/a", "pier"]).memories} == {"quay/a", "pier"}
    for wrong in ([], ["pier", "a//b"], ["pier", 3], 7, None):
        with pytest.raises(InvalidValue):
            mind.recall("heron", scope=wrong)
