"""Patterns are read as people write them, and what cannot be asked is said in a sentence that helps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import InvalidValue, UnknownRole
from mnemic.actors.kernel.times import UTC_ZONE, FixedZone, parse_time
from mnemic.actors.shape.patterns import PatternPair, PatternQuery, parse_pattern, texts_to_embed, with_local_date
from mnemic.hd.records import Pair
from mnemic.hd.roles import ROLES, TIERS

KNOWN: dict[str, tuple[str, ...]] = {
    "action": ("edit", "test", "read", "git commit"),
    "target": ("python", "test", "docs"),
    "tool": ("pytest", "bash"),
    "outcome": ("ok", "failed"),
}


def asked(**pattern: str) -> PatternQuery:
    return parse_pattern(pattern, tuple(ROLES), lambda role: KNOWN.get(role, ()))


def refused(**pattern: str) -> str:
    with pytest.raises(InvalidValue) as error:
        asked(**pattern)
    return f"{error.value} {error.value.remedy_text}"


def test_roles_that_are_known_and_roles_that_are_asked_for_are_told_apart() -> None:
    question = asked(who="Assistant", tool="pytest", outcome="failed", about="token rotation", file="?", size="300")
    assert question.tier == "episode"
    assert [one.pair for one in question.exact] == [
        Pair("who", "assistant"),
        Pair("tool", "pytest"),
        Pair("outcome", "failed"),
    ]
    assert [one.pair.role for one in question.near] == ["size"]
    assert question.similar_texts == (("about", "token rotation"),)
    assert question.unknown == ("file",)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_alone_asks_the_records_that_have_it(role: str) -> None:
    text = {"date": "2026-05-01", "hour": "14", "weekday": "monday", "size": "3"}
    text = (text | {"kind": "note", "outcome": "ok", "worked": "no"}).get(role, "something")
    tier = asked(**{role: text}).tier
    assert tier in ROLES[role].tiers
    assert tier == "episode" or "episode" not in ROLES[role].tiers


@given(pattern=st.dictionaries(st.sampled_from(list(ROLES)), st.just("?"), min_size=1, max_size=4))
def test_whatever_is_asked_is_refused_or_asks_records_that_have_all_of_it(pattern: dict[str, str]) -> None:
    try:
        question = asked(**pattern)
    except InvalidValue:
        decodes = all(ROLES[role].decodes for role in pattern)
        tiers = [tier for tier in TIERS if all(tier in ROLES[role].tiers for role in pattern)]
        assert not decodes or not tiers
    else:
        assert question.unknown == tuple(pattern)
        assert all(question.tier in ROLES[role].tiers for role in pattern)


def test_steps_before_are_told_oldest_first_by_words_that_steps_here_have() -> None:
    question = asked(after="edit python, test failed", then="?")
    assert question.tier == "step"
    assert question.exact == (
        PatternPair("after", Pair("action", "edit", 2)),
        PatternPair("after", Pair("target", "python", 2)),
        PatternPair("after", Pair("action", "test", 1)),
        PatternPair("after", Pair("outcome", "failed", 1)),
    )
    assert question.unknown == ("then",)


def test_a_step_itself_is_told_by_words_or_by_its_roles() -> None:
    assert [one.pair for one in asked(then="git commit ok").exact] == [
        Pair("action", "git commit"),
        Pair("outcome", "ok"),
    ]
    assert [one.pair for one in asked(then="test test").exact] == [Pair("action", "test"), Pair("target", "test")]
    assert [one.pair for one in asked(after="edit", outcome="ok").exact] == [
        Pair("action", "edit", 1),
        Pair("outcome", "ok"),
    ]


@pytest.mark.parametrize(
    ("filler", "since", "until"),
    [
        ("2026-05-01..2026-05-07", "2026-05-01", "2026-05-08"),
        ("2026-05", "2026-05-01", "2026-06-01"),
        ("2025-12", "2025-12-01", "2026-01-01"),
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-02..2026-03-15", "2026-02-01", "2026-03-16"),
        (" 2026-05-01 .. 2026-05-01 ", "2026-05-01", "2026-05-02"),
    ],
)
def test_a_range_of_dates_is_exact_and_has_its_last_day(filler: str, since: str, until: str) -> None:
    question = asked(date=filler, who="?")
    assert (question.since, question.until) == (parse_time(since, UTC_ZONE), parse_time(until, UTC_ZONE))
    assert question.near == ()


def test_a_single_day_is_near() -> None:
    question = asked(date="2026-05-01")
    assert question.near == (PatternPair("date", Pair("date", "2026-05-01")),)
    assert question.since is question.until is None


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026-05-01T02:00:00Z", "2026-04-30"),
        ("2026-05-01T02:00:00", "2026-05-01"),
        ("2026-05-01T02:00:00+09:00", "2026-05-01"),
        ("2026-05-01", "2026-05-01"),
    ],
)
def test_a_moment_that_an_answer_gave_is_asked_for_as_the_local_day(written: str, day: str) -> None:
    pattern = with_local_date({"date": written, "who": "?"}, FixedZone(-480))
    assert asked(**pattern).near == (PatternPair("date", Pair("date", day)),)
    assert with_local_date({"who": "?"}, FixedZone(-480)) == {"who": "?"}


def test_an_unknown_role_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownRole) as error:
        asked(foo="?")
    assert str(error.value) == "Memories have no role 'foo'."
    for role in (*ROLES, "after", "then"):
        assert f" {role}" in error.value.remedy_text


@pytest.mark.parametrize(
    ("typed", "meant"), [("flie", "file"), ("Who", "who"), ("afer", "after"), ("xyz", ""), ("bogus", "")]
)
def test_a_role_that_is_misspelt_is_told_which_was_meant(typed: str, meant: str) -> None:
    with pytest.raises(UnknownRole) as error:
        asked(**{typed: "?"})
    start = f"Did you mean {meant!r}? " if meant else ""
    assert error.value.remedy_text.startswith(f"{start}Ask for one of: who, ")


@pytest.mark.parametrize("role", ["kind", "outcome", "worked"])
def test_what_nothing_else_can_fill_is_taken_in_any_case_and_asked_for_with_a_question_mark(role: str) -> None:
    filler = {"kind": " NOTE ", "outcome": "Failed", "worked": "Yes"}[role]
    assert asked(**{role: filler}).exact == (PatternPair(role, Pair(role, filler.strip().lower())),)
    assert asked(**{role: "?"}).unknown == (role,)


@pytest.mark.parametrize(("filler", "meant"), [("true", "yes"), ("False", "no")])
def test_whether_it_worked_is_told_by_true_and_false_too(filler: str, meant: str) -> None:
    assert asked(worked=filler) == asked(worked=meant)


@pytest.mark.parametrize("filler", ["x" * 100_000, "1" * 100_000, "edit " * 20_000, "🎉" * 100_000])
@pytest.mark.parametrize("role", ["date", "hour", "size", "kind", "worked", "after", "then", "nothing"])
def test_what_is_very_long_is_quoted_by_its_beginning(role: str, filler: str) -> None:
    for pattern in ({role: filler}, {filler: role}):
        with pytest.raises((InvalidValue, UnknownRole)) as error:
            asked(**pattern)
        assert len(f"{error.value} {error.value.remedy_text}") < 1_000


def test_words_of_steps_are_not_looked_up_where_nobody_can_tell_which_there_are() -> None:
    assert parse_pattern({"after": "frob, edit", "then": "?"}, tuple(ROLES), None).unknown == ("then",)
    with pytest.raises(InvalidValue, match="a step is empty"):
        parse_pattern({"after": "frob,,edit"}, tuple(ROLES), None)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ({}, "it asks for nothing"),
        ({"who": " "}, "the role who cannot be ' ': it is empty"),
        ({"about": "?"}, "has no name that could be told"),
        ({"after": "?"}, "what came before is not asked for"),
        ({"subject": "alice", "then": "?"}, "subject is a role of facts and then one of steps"),
        ({"subject": "alice", "file": "?"}, "subject asks for facts, which have no role file"),
        ({"action": "edit", "kind": "turn"}, "action asks for steps, which have no role kind"),
        ({"after": "edit, frobnicate"}, "no step here is told by 'frobnicate'"),
        ({"after": "edit edit"}, "the step is told by 'edit' twice"),
        ({"after": "edit read"}, "'read' and 'edit' are both a step's action"),
        ({"after": "edit;test"}, 'Give a comma between two steps, as in after="edit, test failed"'),
        ({"then": "edit,test"}, "it is one step, and a comma stands between two"),
        ({"kind": "bogus"}, "Give one of turn, tool_call, tool_result, decision, note, summary, thinking, injected."),
        ({"outcome": "fail"}, "Give one of ok, failed."),
        ({"worked": "maybe"}, "Give one of yes, no."),
        ({"size": "-3"}, "the role size cannot be '-3': nothing is as short as that"),
        ({"about": "?!,."}, "there is no word in it"),
        ({"previous": "—"}, "there is no word in it"),
        ({"after": "edit,,test"}, "a step is empty"),
        ({"after": "edit, edit, edit, edit"}, "a step remembers 3 steps before it, and these are 4"),
        ({"date": "2026-13"}, "it is no range of dates"),
        ({"date": "yesterday..today"}, "it is no range of dates"),
        ({"date": "2026-05-07..2026-05-01"}, "it ends before it begins"),
        ({"date": "9999-12"}, "it is no range of dates"),
        ({"date": "soon"}, "the role date cannot be 'soon'"),
        ({"date": "2026-02-30"}, "the role date cannot be '2026-02-30': there is no such day."),
        ({"date": "2026-05-01T25:00"}, "there is no such time."),
        ({"date": "tomorrow"}, "Give a day, a month, or a range, such as 2026-05-01,"),
        ({"hour": "25"}, "the role hour cannot be '25'"),
        ({"size": "many"}, "the role size cannot be 'many': a number is expected, such as 300, not 'many'."),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence_and_what_to_give_instead(
    pattern: dict[str, str], said: str
) -> None:
    text = refused(**pattern)
    assert said in text
    assert " Give " in text


def test_words_of_steps_are_refused_with_those_that_there_are_or_with_that_there_are_none() -> None:
    assert "words that tell steps here: edit, test, read, git commit, python" in refused(after="frob")
    with pytest.raises(InvalidValue) as error:
        parse_pattern({"after": "edit"}, tuple(ROLES), lambda role: ())
    assert "no step of a tool is bound yet" in error.value.remedy_text


def test_a_role_that_is_left_out_of_what_is_bound_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"binder\.leave_out") as error:
        parse_pattern({"topic": "?"}, [role for role in ROLES if role != "topic"], lambda role: ())
    assert "take topic out of binder.leave_out" in error.value.remedy_text


def test_texts_that_must_be_embedded_are_known_before_anything_is_read() -> None:
    pattern = {"about": "tea", "next": "?", "who": "user", "foo": "bar", "previous": " "}
    assert texts_to_embed(pattern) == {"about": "tea"}
