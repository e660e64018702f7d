"""Correcting, from Python: what replaces what, what is alike, and scopes that change while a mind is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemic
from mnemic.actors.capture.forget_messages import Selection
from mnemic.actors.kernel.errors import BadInput, InvalidValue, NoSuchMemory, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.scopes.rescope import ScopeOutcome
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.engine import actor_system
from mnemic.runtime.minds.projects import resolve_scope
from tests.clocks import ManualClock
from tests.harness import START_US, BagEncoder
from tests.processes.faces import claude_turn, git_project, lines, name_scope

TOKEN = "The session token lasts thirty minutes for everybody."
QUESTIONS = ("session token", "otter", "what lasts for everybody?")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


@pytest.fixture
def mind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: ManualClock) -> Iterator[Mind]:
    """An empty mind with a small encoder."""
    monkeypatch.setattr(actor_system, "encoder_from_settings", lambda settings: BagEncoder())
    with mnemic.open(tmp_path / "home", clock=clock) as mind:
        yield mind


def seen(mind: Mind) -> dict[str, Any]:
    """All that a recall sees of a mind, and where; a scope that cannot be asked for is left out."""
    mind.embed()  # else meaning may come between two looks
    found: dict[str, Any] = {}
    for scope in ("*", *(one.path for one in mind.scopes().scopes)):
        for question in QUESTIONS:
            hits = mind.recall(question, 50, scope=scope, observe=False).hits
            found[f"{scope} {question}"] = [(hit.id, hit.data, hit.scope, hit.superseded_by) for hit in hits]
    return found


# --- corrections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["decision", "note", "turn"])
def test_a_correction_outranks_what_it_replaces_at_once_everywhere_and_both_say_so(
    mind: Mind, clock: ManualClock, kind: Any
) -> None:
    old = mind.remember(TOKEN, kind=kind, scope="shelf", session="then")
    clock.advance(60)
    between = clock.now_us()
    clock.advance(60)
    new = mind.correct(old.id, "It is a quarter of an hour from now on.")
    first, second = mind.recall(TOKEN, scope="shelf").hits[:2]
    assert (first.id, first.superseded_by, first.supersedes) == (new.id, None, (old.id,))
    assert (second.id, second.superseded_by, second.supersedes) == (old.id, new.id, ())
    was, now = mind.get([old.id, new.id])
    assert (was.text, was.superseded_by, was.valid_to) == (TOKEN, new.id, now.valid_from)
    assert now.kind == ("decision" if kind == "decision" else "note")
    then = mind.recall(TOKEN, scope="shelf", as_of=between).hits
    assert [(hit.id, hit.superseded_by) for hit in then] == [(old.id, None)]
    told = mind.brief(scope="shelf", session="now").text
    assert 'corrected: "It is a quarter of an hour from now on."' in told
    # The last that was said is told in any case; where it is the past, it says so.
    assert (TOKEN in told) == (kind == "turn")
    mark = "(no reply) (corrected since)"
    assert (f'- the user last said {mark}: "{TOKEN}"' in told) == (kind == "turn")


def test_a_correction_that_was_said_as_a_turn_is_told_at_the_start_too(mind: Mind) -> None:
    old = mind.remember(TOKEN, kind="decision", scope="shelf")
    mind.remember("Fifteen.", kind="turn", scope="shelf", supersedes=old.id, session="then")
    told = mind.brief(scope="shelf", session="now").text
    assert 'corrected: "Fifteen."' in told
    assert TOKEN not in told


def test_what_an_answer_left_open_is_not_told_once_the_answer_is_the_past(mind: Mind) -> None:
    mind.remember("Go on.", kind="turn", scope="shelf", session="then")
    open_end = "TODO: paint the fence."
    reply = mind.remember(open_end, kind="turn", role="assistant", scope="shelf", session="then", said_at=START_US + 9)
    told = mind.brief(scope="shelf", session="now").text
    assert open_end in told
    mind.correct(reply.id, "The fence stays as it is.")
    told = mind.brief(scope="shelf", session="later").text
    assert "- open: " not in told
    assert 'corrected: "The fence stays as it is."' in told


def test_who_forgets_the_correction_has_the_old_word_again(mind: Mind) -> None:
    old = mind.remember(TOKEN, kind="note")
    new = mind.correct(old.id, "A quarter of an hour.")
    assert mind.command("forget", "x").startswith("mnemic forget x --home ")
    mind.forget([new.id])
    (hit,) = mind.recall(TOKEN).hits
    assert (hit.id, hit.superseded_by, hit.supersedes) == (old.id, None, ())


def test_a_correction_holds_though_the_same_words_were_the_correction_once_and_are_the_past(mind: Mind) -> None:
    old = mind.remember(TOKEN)
    ten = mind.correct(old.id, "It lasts ten minutes.")
    assert mind.correct(old.id, "It lasts ten minutes.") == msgspec.structs.replace(ten, created=False)
    five = mind.correct(old.id, "It lasts five minutes.")
    back = mind.correct(old.id, "It lasts ten minutes.")
    assert back.created
    assert mind.correct(old.id, "It lasts ten minutes.").id == back.id
    standing = {hit.id: hit.superseded_by for hit in mind.recall("how long it lasts").hits}
    assert standing == {old.id: ten.id, ten.id: five.id, five.id: back.id, back.id: None}
    mind.forget([back.id])
    again = mind.correct(old.id, "It lasts ten minutes.")
    assert (again.id, again.created, again.retired_at is None) == (back.id, False, False)


def test_a_correction_of_nothing_is_refused(mind: Mind) -> None:
    with pytest.raises(NoSuchMemory):
        mind.correct(bytes(16), "x")
    old = mind.remember(TOKEN)
    with pytest.raises(InvalidValue):
        mind.correct(old.id, "  ")
    assert mind.get([old.id])[0].superseded_by is None


# --- the same words in two projects ----------------------------------------------------------------------------------


def test_the_same_words_are_kept_once_in_each_scope(mind: Mind, tmp_path: Path) -> None:
    here = resolve_scope(None, str(tmp_path))
    odd = ScopeRef(path="\ud800", project=None, found="named")
    kept = {one: mind.remember("We use tabs.", scope=one) for one in ("a", "b", here, "a/x", odd)}
    assert [one.created for one in kept.values()] == [True] * 5
    assert [one.scope for one in kept.values()] == ["a", "b", here.path, "a/x", "\\ud800"]
    mind.forget([kept["a"].id])
    mind.rename_scope("b", "c")
    for scope, was in (("a", "a"), ("c", "b"), (here, here), ("a/x", "a/x"), (odd, odd)):
        again = mind.remember("We use tabs.", scope=scope)
        assert (again.id, again.created) == (kept[was].id, False)
    assert mind.remember("We use tabs.", scope="d").created, "that it was forgotten elsewhere says nothing of here"
    assert [hit.scope for hit in mind.recall("We use tabs.", scope="c").hits] == ["c"]


def test_of_what_was_erased_nothing_is_looked_for_that_is_similar(mind: Mind) -> None:
    mind.erase(Selection(ids=(mind.remember(TOKEN, scope="a").id,)))
    again = mind.remember(TOKEN, scope="b")
    assert (again.erased, again.similar, again.degraded) == (True, (), ())


# --- alike -----------------------------------------------------------------------------------------------------------


def test_near_duplicates_are_named_when_a_text_is_kept_and_it_is_kept(mind: Mind) -> None:
    old = mind.remember(TOKEN, scope="shelf")
    assert old.similar == ()
    mind.remember(TOKEN, scope="boat", session="another")
    again = mind.remember(TOKEN.replace("thirty", "fifteen"), scope="shelf")
    assert again.created
    assert [(one.id, one.scope) for one in again.similar] == [(old.id, "shelf")]
    assert mind.remember(TOKEN.replace("thirty", "ten"), scope="shelf", similar=False).similar == ()
    corrected = mind.correct(old.id, TOKEN.replace("thirty", "five"))
    assert old.id not in {one.id for one in corrected.similar}


def test_a_text_is_kept_though_nothing_similar_can_be_looked_for(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise UnknownScope(scope="shelf", near="")

    monkeypatch.setattr("mnemic.actors.recall.similarity.asked_scope_numbers", broken)
    kept = mind.remember(TOKEN, scope="shelf")
    assert kept.created
    assert kept.degraded == ("nothing was looked for that is similar: No memory is in the scope 'shelf'.",)
    assert [hit.id for hit in mind.recall(TOKEN).hits] == [kept.id]


# --- scopes ----------------------------------------------------------------------------------------------------------


def fill(mind: Mind) -> None:
    for path in ("a", "a/x", "a/y", "b", "b/x"):
        mind.remember(f"An otter in {path}, and a session token for everybody.", scope=path, similar=False)


PATHS = st.sampled_from(["a", "a/x", "a/z", "b", "b/x", "c", "c/d"])


def test_a_change_of_scopes_taken_back_is_nothing_to_a_recall(mind: Mind) -> None:
    fill(mind)
    before = seen(mind)

    @settings(max_examples=20)
    @given(st.sampled_from(["rename_scope", "merge_scopes"]), PATHS, PATHS)
    def law(verb: str, one: str, other: str) -> None:
        try:
            moved = getattr(mind, verb)(one, other)
        except BadInput:
            assert seen(mind) == before
            return
        if moved:
            assert seen(mind) != before, "the same open mind sees it at once"
            assert mind.undo_scope_change() != ()
        assert seen(mind) == before
        assert mind.undo_scope_change() == ()

    law()


def test_a_rename_is_seen_at_once_below_it_too_and_renaming_back_is_nothing(mind: Mind) -> None:
    fill(mind)
    before = seen(mind)
    assert mind.rename_scope("a", "work/a") == (
        ScopeOutcome("renamed", "a", "work/a", memories=1),
        ScopeOutcome("renamed", "a/x", "work/a/x", memories=1),
        ScopeOutcome("renamed", "a/y", "work/a/y", memories=1),
    )
    assert {hit.scope for hit in mind.recall("otter", scope="work").hits} == {"work/a", "work/a/x", "work/a/y"}
    with pytest.raises(UnknownScope):
        mind.recall("otter", scope="a")
    mind.rename_scope("work/a", "a")
    assert seen(mind) == before


def test_a_merge_is_seen_at_once_in_the_scope_that_stays(mind: Mind) -> None:
    fill(mind)
    assert {hit.scope for hit in mind.recall("otter", scope="b").hits} == {"b", "b/x"}  # it is loaded by now
    assert mind.merge_scopes("a", "b") == (
        ScopeOutcome("merged", "a", "b", memories=1),
        ScopeOutcome("merged", "a/x", "b/x", memories=1),
        ScopeOutcome("renamed", "a/y", "b/y", memories=1),
    )
    hits = mind.recall("otter", scope="b").hits
    assert sorted((hit.scope, hit.data.split()[3]) for hit in hits) == [
        ("b", b"a,"),
        ("b", b"b,"),
        ("b/x", b"a/x,"),
        ("b/x", b"b/x,"),
        ("b/y", b"a/y,"),
    ]
    mind.rebuild()
    assert {hit.id for hit in mind.recall("otter", scope="b").hits} == {hit.id for hit in hits}
    # A correction stays with what it corrects, wherever that has come.
    (old,) = [hit for hit in hits if b"a/x" in hit.data]
    assert mind.correct(old.id, "No otter.").scope == "b/x"


def test_several_changes_are_taken_back_one_by_one_the_last_first(mind: Mind) -> None:
    fill(mind)
    before = mind.scopes()
    mind.rename_scope("a", "c")
    mind.merge_scopes("c", "b")
    mind.undo_scope_change()
    mind.rename_scope("b", "d")
    mind.undo_scope_change()
    assert [one.path for one in mind.scopes().scopes] == ["b", "b/x", "c", "c/x", "c/y"]
    assert mind.undo_scope_change() == (
        ScopeOutcome("renamed", "c", "a", memories=1),
        ScopeOutcome("renamed", "c/x", "a/x", memories=1),
        ScopeOutcome("renamed", "c/y", "a/y", memories=1),
    )
    assert mind.scopes() == before
    assert mind.undo_scope_change() == ()


def test_what_cannot_be_taken_back_any_more_is_refused_and_changes_nothing(mind: Mind) -> None:
    fill(mind)
    mind.rename_scope("a", "c")
    mind.remember("A new otter.", scope="a", similar=False)
    before = seen(mind)
    with pytest.raises(InvalidValue, match="something is there"):
        mind.undo_scope_change()
    assert seen(mind) == before
    mind.rename_scope("a", "newer")
    mind.undo_scope_change()  # that one
    mind.merge_scopes("a", "b")
    mind.undo_scope_change()
    with pytest.raises(InvalidValue, match="something is there"):
        mind.undo_scope_change()


# --- folders ---------------------------------------------------------------------------------------------------------


def captured(mind: Mind, folder: Path, number: int = 1) -> str:
    """The scope that a turn said in a folder lands in."""
    source = lines(folder.parent / f"{folder.name} {number}.jsonl", claude_turn(f"otter {number}", folder, number))
    (scope,) = mind.capture(source, embed=False).scopes
    return scope


def test_a_project_whose_folder_moved_goes_on_in_its_scope(mind: Mind, tmp_path: Path) -> None:
    old = git_project(tmp_path / "old" / "shelf")
    assert captured(mind, old) == "shelf"
    new = old.rename(tmp_path / "books")
    (moved,) = mind.move_scope("shelf", new)
    assert moved == ScopeOutcome("moved", "shelf", "shelf", old_project=str(old / ".git"), project=str(new / ".git"))
    assert captured(mind, new / "src", 2) == "shelf"
    assert mind.folder_scope(str(new))[0] == "shelf"
    assert mind.brief(scope=mind.folder_scope(str(new))[1], session="now").text
    assert mind.move_scope(str(new), new) == (), "it is so already"
    mind.undo_scope_change()
    assert mind.folder_scope(str(new))[0] is None


def test_all_projects_of_a_folder_move_with_it(mind: Mind, tmp_path: Path) -> None:
    old, plain = tmp_path / "code", tmp_path / "code" / "notes"
    git_project(old / "shelf")
    plain.mkdir()
    git_project(tmp_path / "code2")
    assert [captured(mind, folder) for folder in (old / "shelf", plain, tmp_path / "code2")] == [
        "shelf",
        "notes",
        "code2",
    ]
    new = old.rename(tmp_path / "src")
    plain.parent.mkdir()  # something else is there by now
    (new / "notes").rmdir()  # and this is not there any more
    assert {one.path: one.project for one in mind.move_scope(str(old), new)} == {
        "shelf": str(new / "shelf" / ".git"),
        "notes": str(new / "notes"),
    }
    assert {one.path: one.project for one in mind.scopes().scopes}["code2"] == str(tmp_path / "code2" / ".git")
    assert captured(mind, new / "shelf", 2) == "shelf"


def test_two_scopes_of_one_project_become_one_where_it_moved_before_that_was_said(mind: Mind, tmp_path: Path) -> None:
    old = git_project(tmp_path / "shelf")
    captured(mind, old)
    (tmp_path / "books").mkdir()
    new = old.rename(tmp_path / "books" / "shelf")
    assert captured(mind, new, 2) == "shelf~2"
    with pytest.raises(InvalidValue) as caught:
        mind.move_scope("shelf", new)
    assert "it is the project of 'shelf~2'" in str(caught.value)
    assert "merge" in caught.value.remedy_text
    mind.merge_scopes("shelf~2", "shelf")
    assert captured(mind, new, 3) == "shelf"
    assert len(mind.recall("otter", scope="shelf").hits) == 3


@pytest.mark.parametrize("into", ["shelf", "books"])
@pytest.mark.parametrize("by_folder", [True, False])
def test_what_was_merged_after_it_moved_lets_go_of_the_old_folder(
    mind: Mind, tmp_path: Path, into: str, by_folder: bool
) -> None:
    old = git_project(tmp_path / "shelf")
    captured(mind, old)
    new = old.rename(tmp_path / "books")
    assert captured(mind, new, 2) == "books"
    gone, there = str(old / ".git"), str(new / ".git")
    with pytest.raises(InvalidValue) as caught:
        mind.move_scope("shelf", f"{new}/")
    assert f"{f'{new}/'!r}: it is the project of 'books'" in str(caught.value)
    assert mind.command("scope", "merge", "books", "shelf") in caught.value.remedy_text
    mind.merge_scopes("books" if into == "shelf" else "shelf", into)
    assert mind.moved_folders(into) == ((str(old), str(new)),)
    mind.rename_scope(into, "work/books")
    by_path = not by_folder and into == "shelf"  # a scope whose own folder is the new one is there already
    moved = mind.move_scope("work/books" if by_path else str(old), new)
    assert {(one.what, one.path, one.old_project) for one in moved} >= {("moved", "work/books", gone)}
    assert {one.what for one in moved} == {"moved"}
    (scope,) = mind.scopes().scopes
    assert (scope.path, scope.project, scope.projects, scope.memories) == ("work/books", there, (), 2)
    assert mind.moved_folders("work/books") == ()
    assert captured(mind, new, 3) == "work/books"
    assert captured(mind, git_project(old), 4) == "shelf", "another project"
    mind.rebuild()
    assert captured(mind, old, 5) == "shelf"
    mind.rename_scope("shelf", "other")
    mind.undo_scope_change()
    with pytest.raises(InvalidValue):
        mind.undo_scope_change()  # the old folder is another scope's by now


def test_that_a_folder_was_let_go_is_taken_back(mind: Mind, tmp_path: Path) -> None:
    old = git_project(tmp_path / "shelf")
    captured(mind, old)
    new = old.rename(tmp_path / "books")
    captured(mind, new, 2)
    for path, into in (("books", "shelf"), ("shelf", "books")):
        mind.merge_scopes(path, into)
        before = mind.scopes().scopes
        assert mind.move_scope(str(old), new)
        assert {one.path for one in mind.undo_scope_change()} == {into}
        assert mind.scopes().scopes == before
        mind.undo_scope_change()
    assert [one.path for one in mind.scopes().scopes] == ["books", "shelf"]


def test_a_scope_that_was_named_can_be_given_a_folder(mind: Mind, tmp_path: Path) -> None:
    mind.remember(TOKEN, scope="work/shelf")
    folder = git_project(tmp_path / "shelf")
    mind.move_scope("work/shelf", folder)
    assert captured(mind, folder) == "work/shelf"


def test_a_move_that_cannot_be_is_refused_with_a_sentence(mind: Mind, tmp_path: Path) -> None:
    for scope in ("shelf", "work/lamp"):
        mind.remember(TOKEN, scope=scope, session=scope, similar=False)
    name_scope(tmp_path / "home", tmp_path / "named", "elsewhere")
    before = mind.scopes()
    cases: list[tuple[Any, ...]] = [
        ("shelf", "nowhere", "no such folder"),
        ("/no/where", ".", "no project that is known here was in it"),
        ("work", ".", "holds nothing itself"),
        ("boat", ".", "No memory is in the scope"),
        ("shelf", "named", "says that it is 'elsewhere'"),
    ]
    for what, folder, told in cases:
        with pytest.raises(BadInput) as caught:
            mind.move_scope(what, tmp_path / folder)
        assert told in str(caught.value)
        assert mind.scopes() == before


def test_memories_are_assigned_to_a_scope_with_what_corrections_link_and_back(mind: Mind) -> None:
    first = mind.remember(TOKEN, scope="a", similar=False)
    second = mind.correct(first.id, "It lasts an hour for everybody.", similar=False)
    third = mind.correct(second.id, "It lasts a day for everybody.", similar=False)
    loose = mind.remember("An otter that nobody placed.", similar=False)
    stays = mind.remember("An otter in a.", scope="a", similar=False)
    before = seen(mind)
    moved = mind.assign_scope([second.id, loose.id], "b/x")
    assert moved == (
        ScopeOutcome("assigned", "", "b/x", memories=1),
        ScopeOutcome("assigned", "a", "b/x", memories=3),
    )
    assert {hit.id for hit in mind.recall("lasts otter", 9, scope="b").hits} == {
        first.id,
        second.id,
        third.id,
        loose.id,
    }
    assert {hit.id for hit in mind.recall("otter", 9, scope="a").hits} == {stays.id}
    now = seen(mind)
    mind.rebuild()
    assert seen(mind) == now
    assert mind.assign_scope([loose.id], "b/x") == ()
    assert mind.undo_scope_change() != ()
    assert seen(mind) == before


def test_all_that_is_in_no_project_gets_a_scope_at_once(mind: Mind) -> None:
    mind.remember(TOKEN, similar=False)
    mind.remember("An otter.", similar=False)
    assert mind.assign_unscoped("notes") == (ScopeOutcome("assigned", "", "notes", memories=2),)
    assert [one.path for one in mind.scopes().scopes] == ["notes"]
    assert mind.assign_unscoped("notes") == ()
    mind.undo_scope_change()
    assert [one.path for one in mind.scopes().scopes] == [""]


def test_what_cannot_be_assigned_is_refused(mind: Mind) -> None:
    kept = mind.remember(TOKEN, scope="a", similar=False)
    for scope in ("", "/", "*", "a/../b"):
        with pytest.raises(InvalidValue):
            mind.assign_scope([kept.id], scope)
    with pytest.raises(NoSuchMemory):
        mind.assign_scope([kept.id, b"x" * 16], "b")
    assert [one.path for one in mind.scopes().scopes] == ["a"]


def test_what_is_erased_after_it_was_assigned_is_gone_from_the_log_and_a_rebuild_holds(mind: Mind) -> None:
    gone, stays = (mind.remember(f"{TOKEN} {n}", scope="a", similar=False) for n in range(2))
    mind.assign_scope([gone.id, stays.id], "b")
    selection = Selection(ids=(gone.id,))
    mind.erase(selection, mind.survey(selection))
    mind.rebuild()
    assert [(hit.id, hit.scope) for hit in mind.recall(TOKEN).hits] == [(stays.id, "b")]
    mind.undo_scope_change()
    assert [(hit.id, hit.scope) for hit in mind.recall(TOKEN).hits] == [(stays.id, "a")]


def test_what_is_kept_everywhere_is_found_from_every_scope_and_listed_in_none_but_its_own(mind: Mind) -> None:
    fill(mind)
    mine = mind.remember("An otter is my favourite animal.", scope="everywhere", similar=False)
    for scope in ("a", "b/x", ("a/x", "b"), "everywhere"):
        assert mine.id in {hit.id for hit in mind.recall("otter", 9, scope=scope).hits}
    assert mine.id not in {entry.id for entry in mind.log(scope="a").memories}
    assert mind.survey(Selection(scope="a")).memories == 3


def test_what_belongs_to_no_project_has_no_name_to_change(mind: Mind) -> None:
    mind.remember(TOKEN, scope=ScopeRef(path="", project=None, found="none"))
    mind.remember(TOKEN, scope="a", session="another", similar=False)
    for verb in (mind.rename_scope, mind.merge_scopes):
        with pytest.raises(InvalidValue) as caught:
            verb("", "a")
        assert "`mnemic scope assign --unscoped SCOPE`" in caught.value.remedy_text
    with pytest.raises(InvalidValue):
        mind.rename_scope("a", "")
