"""What a change of scopes is planned as, and what is told of it."""

from __future__ import annotations

import pytest

from mnemic.actors.kernel.errors import InvalidValue, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeChange
from mnemic.actors.scopes.changes import MergeScopes, MoveProject, RenameScope, SplitScope
from mnemic.actors.scopes.messages import ScopeInfo
from mnemic.actors.scopes.rescope import ScopeOutcome, plan_merge, scopes_under, summarize_changes


def known(*paths: str) -> list[ScopeInfo]:
    """Scopes of those paths; each holds as many memories as its path has letters."""
    return [ScopeInfo(path=path, found="named", project=None, memories=len(path), last_at=None) for path in paths]


def test_those_above_come_first_and_no_other_path_that_starts_alike() -> None:
    there = known("a/b/c", "a/b", "ab", "a", "a/c", "b/a")
    assert scopes_under(there, "a") == ["a", "a/b", "a/c", "a/b/c"]
    assert scopes_under(there, "b") == ["b/a"]


def test_a_scope_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownScope) as caught:
        scopes_under(known("work/shelf"), "work/shelv")
    assert "Did you mean 'work/shelf'?" in caught.value.remedy_text
    with pytest.raises(InvalidValue, match="no name"):
        scopes_under(known(""), "")


def test_a_merge_puts_like_into_like_and_moves_the_rest() -> None:
    there = known("a", "a/x", "a/y", "b", "b/x")
    assert plan_merge(there, "a", "b") == (
        MergeScopes(path="a", into="b"),
        MergeScopes(path="a/x", into="b/x"),
        RenameScope(path="a/y", to="b/y", below=False),
    )
    assert plan_merge(there, "b", "b") == ()


def test_a_scope_merges_into_the_one_above_it_though_a_path_is_left_and_taken_again() -> None:
    assert plan_merge(known("a", "a/a", "a/a/a"), "a/a", "a") == (
        MergeScopes(path="a/a", into="a"),
        RenameScope(path="a/a/a", to="a/a", below=False),
    )


def test_a_scope_does_not_merge_into_what_would_go_with_it() -> None:
    with pytest.raises(InvalidValue, match="lies below 'a'"):
        plan_merge(known("a", "a/b"), "a", "a/b")


@pytest.mark.parametrize(("path", "into"), [("a", "z"), ("z", "a")])
def test_both_must_be_there(path: str, into: str) -> None:
    with pytest.raises(UnknownScope):
        plan_merge(known("a"), path, into)


def test_what_was_done_is_told_scope_by_scope() -> None:
    done: list[ScopeChange] = [
        RenameScope(path="aa", to="c"),
        MergeScopes(path="c", into="bbb"),
        SplitScope(path="d", found="git", project=None, projects=(), into="bbb", memories=(b"1", b"2")),
        MoveProject(path="d", project="/q", was="/p"),
        RenameScope(path="bbb", to="e", below=False),
    ]
    assert summarize_changes(known("aa", "aa/x", "bbb"), done) == (
        ScopeOutcome("renamed", "aa", "c", memories=2),
        ScopeOutcome("renamed", "aa/x", "c/x", memories=4),
        ScopeOutcome("merged", "c", "bbb", memories=2),
        ScopeOutcome("split", "bbb", "d", memories=2),
        ScopeOutcome("moved", "d", "d", old_project="/p", project="/q"),
        ScopeOutcome("renamed", "bbb", "e", memories=3),
    )
