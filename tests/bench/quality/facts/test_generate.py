"""A life is what its seed says; its answers are what a replay of its statements gives that shares no code with it."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, timedelta

import pytest

from mnemic.bench.quality.facts.generate import Life, Statement, make_life
from mnemic.bench.quality.facts.phrases import ATTRIBUTES, CHATTER

SEEDS = range(4)
LIVES = {seed: make_life(seed) for seed in SEEDS}
ASSERTING = {"first", "change", "both", "in passing", "restated"}
TRAPS = {"past", "not asserted", "temporary"}
KINDS = ASSERTING | TRAPS | {"ended", "distractor", "chatter"}


def slot_of(life: Life, attribute: str, subject: str) -> list[Statement]:
    """All statements of a slot in order of time."""
    return sorted(
        (s for s in life.statements if (s.attribute, s.subject) == (attribute, subject)), key=lambda s: s.said_at
    )


def replay(told: list[Statement], day: str) -> list[str]:
    """The values held so far up to and with a day; an end adds an empty value."""
    held: list[str] = []
    for statement in told:
        if statement.said_at[:10] > day:
            break
        if statement.kind in ("first", "change", "both", "in passing", "distractor"):
            held.append(statement.value)
        elif statement.kind == "ended":
            held.append("")
    return held


@pytest.mark.parametrize("seed", SEEDS)
def test_a_life_has_its_size_and_all_kinds(seed: int) -> None:
    life = LIVES[seed]
    assert 300 <= len(life.statements) <= 500
    assert 200 <= len(life.questions) <= 400
    assert {s.kind for s in life.statements} == KINDS - {"chatter"}
    assert {q.kind for q in life.questions} == {"now", "before", "at", "since"}
    about = {a.name: a.about for a in ATTRIBUTES}
    subjects = {(about[s.attribute], s.subject) for s in life.statements}
    assert Counter(kind for kind, _ in subjects) == {"person": 8, "service": 4, "place": 4}
    for _, subject in subjects:
        assert len({s.attribute for s in life.statements if s.subject == subject}) >= 6
    roles = Counter(s.role for s in life.statements)
    assert roles["user"] > 10 * roles["assistant"] > 0
    per_session = Counter(s.session for s in life.statements)
    assert max(per_session.values()) <= 4
    assert all(4 <= len(s.text.split()) <= 32 for s in life.statements)
    assert all("{" not in s.text and "[" not in s.text for s in life.statements)
    assert all("{" not in q.question and "[" not in q.question for q in life.questions)


@pytest.mark.parametrize("seed", SEEDS)
def test_gold_stale_and_trap_are_of_the_slot_and_apart(seed: int) -> None:
    life = LIVES[seed]
    known = {s.id: s for s in life.statements}
    assert len(known) == len(life.statements)
    for question in life.questions:
        lists = (set(question.gold), set(question.stale), set(question.trap))
        assert question.gold, question
        assert (
            sum(map(len, lists))
            == len(set().union(*lists))
            == sum(map(len, (question.gold, question.stale, question.trap)))
        )
        for one in set().union(*lists):
            assert (known[one].attribute, known[one].subject) == (question.attribute, question.subject)
        assert {known[i].kind for i in question.trap} <= TRAPS
        assert {known[i].kind for i in question.gold + question.stale} <= ASSERTING
        told = slot_of(life, question.attribute, question.subject)
        assert set(question.trap) == {s.id for s in told if s.kind in TRAPS}
    assert len({(q.question, q.day) for q in life.questions}) == len(life.questions)


@pytest.mark.parametrize("seed", SEEDS)
def test_gold_is_what_a_replay_says_held(seed: int) -> None:
    life = LIVES[seed]
    for question in life.questions:
        told = slot_of(life, question.attribute, question.subject)
        held = replay(told, question.day)
        assert held, question
        assert held[-1], question
        assert not any(s.kind == "distractor" for s in told)
        want = held[-2] if question.kind == "before" else held[-1]
        asserted = {s.id for s in told if s.kind in ASSERTING and s.value == want}
        naming = {s.id for s in told if s.kind == "both" and s.old == want}
        restated = {s.id for s in told if s.kind == "restated"}
        gold, stale = set(question.gold), set(question.stale)
        if question.kind == "before":
            asserted |= naming
        if question.kind == "since":
            asserted -= restated
            assert len(held) > 1
            assert len(gold) == 1
        assert gold == asserted, question
        other = {s.id for s in told if s.kind in ASSERTING and s.value != want} - gold
        assert stale == (other - naming if question.kind == "at" else other), question


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_of_a_slot_fits_together(seed: int) -> None:
    life = LIVES[seed]
    for attribute, subject in {(s.attribute, s.subject) for s in life.statements}:
        told = slot_of(life, attribute, subject)
        asserted = [s.value for s in told if s.kind in ("first", "change", "both", "in passing")]
        assert len(asserted) == len(set(asserted))
        assert len(asserted) <= 4
        held: list[str] = []
        for statement in told:
            if statement.kind in ("first", "distractor"):
                assert not held
            elif statement.kind == "restated":
                assert statement.value == held[-1]
            elif statement.kind in ("both", "ended"):
                assert statement.old == held[-1]
            elif statement.kind in TRAPS:
                assert statement.value != held[-1]
                assert statement.kind == "not asserted" or statement.value not in asserted
            if statement.kind in ("first", "distractor", "change", "both", "in passing"):
                held.append(statement.value)
            elif statement.kind == "ended":
                held.append("")
        for statement in told:
            for named in (statement.value, statement.old if statement.kind in ("both", "ended") else ""):
                assert named.lower() in statement.text.lower()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_question_is_about_a_temporary_state(seed: int) -> None:
    life = LIVES[seed]
    for question in life.questions:
        for statement in slot_of(life, question.attribute, question.subject):
            if statement.kind == "temporary":
                said = date.fromisoformat(statement.said_at[:10])
                gap = (date.fromisoformat(question.day) - said).days
                assert not 0 <= gap <= 7, question


@pytest.mark.parametrize("seed", SEEDS)
def test_who_speaks_of_themselves_says_i(seed: int) -> None:
    life = LIVES[seed]
    people = {q.subject for q in life.questions if q.subject[0].isupper()}
    own = 0
    for statement in life.statements:
        if statement.subject in people:
            named = re.search(rf"\b{statement.subject}\b", statement.text, re.IGNORECASE) is not None
            assert named != (statement.speaker == statement.subject), statement
            own += statement.speaker == statement.subject
        if statement.role == "user":
            assert not re.search(rf"\b{statement.speaker}\b", statement.text, re.IGNORECASE), statement
    assert own > 40


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_statements_have_one_text_and_chatter_changes_nothing(seed: int) -> None:
    life = make_life(seed, 300)
    plain = [s for s in life.statements if s.kind != "chatter"]
    assert tuple(plain) == LIVES[seed].statements
    assert life.questions == LIVES[seed].questions
    assert len({s.text.lower().rstrip(".") for s in plain}) == len(plain)
    talk = [s for s in life.statements if s.kind == "chatter"]
    assert len(talk) == 300
    assert all(not s.attribute and not s.value for s in talk)
    assert max(Counter(s.text.lower().rstrip(".") for s in talk).values()) <= 2
    assert max(Counter(s.session for s in life.statements).values()) <= 4
    assert not {s.text for s in plain} & {s.text for s in talk}
    stamps = [s.said_at for s in life.statements]
    assert stamps == sorted(stamps)
    speakers: dict[str, set[str]] = {}
    for statement in life.statements:
        if statement.role == "user":
            speakers.setdefault(statement.session, set()).add(statement.speaker)
    assert all(len(names) == 1 for names in speakers.values())


def test_equal_seeds_give_equal_lives_and_others_do_not() -> None:
    assert make_life(5, 20) == make_life(5, 20)
    assert make_life(5) != make_life(6)


def test_every_attribute_has_its_wordings() -> None:
    assert len(ATTRIBUTES) == len({a.name for a in ATTRIBUTES}) >= 44
    assert Counter(a.theme for a in ATTRIBUTES) == {"work": 22, "home": 22}
    assert len(set(CHATTER["templates"])) >= 60
    for a in ATTRIBUTES:
        parts = (
            (a.first, 4),
            (a.change, 3),
            (a.both, 2),
            (a.passing, 2),
            (a.restated, 2),
            (a.past, 2),
            (a.not_asserted, 6),
            (a.temporary, 2),
            (a.now, 3),
            (a.before, 2),
            (a.at, 1),
            (a.since, 1),
        )
        assert all(len(part) >= least for part, least in parts), a.name
        texts = [text for part, _ in parts for text in part] + list(a.ended)
        assert len(texts) == len(set(texts)), a.name
        assert len(set(a.values)) >= 7
        for text in texts:
            bare = re.sub(r"\{(he|his|him|other)\}", "", text)
            assert "{s}" in bare, text
        assert all("{o}" in t and "{v}" in t for t in a.both)
        assert all("{o}" in t and "{v}" not in t for t in a.ended)
        assert all("{until}" in t and "{v}" in t for t in a.temporary)
        told = a.first + a.change + a.passing + a.restated + a.past + a.not_asserted
        assert all("{v}" in t and "{o}" not in t for t in told), a.name
        assert all("{day}" in t for t in a.at)
        assert all("{v}" not in t and "?" in t for t in a.now + a.before + a.at + a.since)


def test_four_seeds_cover_all_attributes() -> None:
    seen = {q.attribute for seed in range(4) for q in LIVES[seed].questions}
    assert seen == {a.name for a in ATTRIBUTES}


def test_a_life_spans_five_months() -> None:
    for life in LIVES.values():
        first, last = (date.fromisoformat(life.statements[i].said_at[:10]) for i in (0, -1))
        assert timedelta(130) <= last - first <= timedelta(151)
