"""Scopes renamed, merged and moved: what is taken back, made again or copied is as it was, and none is mixed up."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import BadInput, InvalidValue, UnknownScope
from mnemic.actors.kernel.scope_paths import SCOPES_AUTHOR, SCOPES_UNDO_AUTHOR, ScopeChange, ScopeRef
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.runtime.store.reader import StoreSnapshot, open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, held, id_of, said

PATHS = ["a", "a/b", "a/b/c", "a/c", "b", "b/c", "c"]
PROJECTS = [None, "/p/a/.git", "/p/b/.git", "/p/c"]
paths = st.sampled_from(PATHS)
projects = st.sampled_from(PROJECTS)
some_memories = st.none() | st.lists(st.integers(1, 9).map(id_of), max_size=3).map(tuple)
CHANGES = st.one_of(
    st.builds(RenameScope, path=paths, to=paths, below=st.booleans()),
    st.builds(MergeScopes, path=paths, into=paths),
    st.builds(MoveProject, path=paths, project=projects, was=projects),
    st.builds(MoveMemories, path=st.sampled_from(["", *PATHS]), to=paths, memories=some_memories),
    st.builds(ScopeRef, path=paths, project=projects, found=st.just("folder")),
)


def rescope(store: Store, *changes: Change, author: str = SCOPES_AUTHOR) -> tuple[bool, ...]:
    """Apply changes as Capture asks for them."""
    rescope.asked += 1  # type: ignore[attr-defined]
    key = b"rescope %d" % rescope.asked  # type: ignore[attr-defined]
    return store.apply(changes, at=1, key=key, author=author, run="run").changed


rescope.asked = 0  # type: ignore[attr-defined]


def scopes(path: Path) -> dict[str, tuple[str | None, tuple[str, ...], int]]:
    """Each scope's own project, those merged into it, and how many memories it holds."""
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        return {one.path: (one.project, one.projects, one.memories) for one in now.list_scopes()}


def unscoping(path: Path) -> tuple[ScopeChange, ...]:
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        return now.scope_undo()


def fill(store: Store, *places: tuple[str, str | None]) -> None:
    """One memory in each place."""
    kept = [
        added(n, place=ScopeRef(path=at, project=project, found="git")) for n, (at, project) in enumerate(places, 1)
    ]
    apply(store, *kept)


# --- the laws --------------------------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.lists(CHANGES, min_size=1, max_size=9))
def test_all_of_it_can_be_taken_back_made_again_and_copied_as_it_was(asked: list[Change | ScopeRef]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(Store.create(path, KEYS)) as store:
            states = [held(path)]
            at_seq = [0]
            for number, change in enumerate(asked, 1):
                try:
                    apply(store, added(number, place=change) if isinstance(change, ScopeRef) else change)
                except BadInput:
                    assert held(path) == states[-1], "what is refused changes nothing"
                    continue
                states.append(held(path))
                with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
                    at_seq.append(now.seq)
            last = states[-1]
            store.rebuild(lambda done, total: None, meaning=False)
            assert held(path) == last
            for number, (state, seq) in enumerate(zip(states, at_seq, strict=True)):
                copy = Path(folder) / f"copy {number}.db"
                store.fork(copy, seq)
                assert held(copy) == state


@settings(max_examples=20)
@given(st.lists(st.tuples(paths, projects), min_size=1, max_size=6, unique_by=lambda one: one[0]), paths, paths)
def test_a_rename_and_the_rename_back_is_nothing_and_a_merge_taken_back_is_nothing(
    there: list[tuple[str, str | None]], one: str, other: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(Store.create(path, KEYS)) as store:
            fill(store, *there)
            before = scopes(path)
            for change in (RenameScope(path=one, to=other), MergeScopes(path=one, into=other)):
                try:
                    rescope(store, change)
                except BadInput:
                    continue
                if one != other:
                    assert scopes(path) != before
                    rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
                assert scopes(path) == before


# --- memories that move -----------------------------------------------------------------------------------------------


def test_memories_move_to_a_scope_that_is_made_for_them_and_an_empty_name_is_none(store: Store, path: Path) -> None:
    apply(store, *(added(n, place=ScopeRef(path="a", project=None, found="named")) for n in (1, 2)))
    apply(store, added(3, place=ScopeRef(path="", project=None, found="none")))
    before = scopes(path)
    assert rescope(store, MoveMemories(memories=(id_of(1), id_of(3)), path="a", to="b")) == (True,)
    assert scopes(path) == {"": (None, (), 1), "a": (None, (), 1), "b": (None, (), 1)}, "what is elsewhere stays"
    rescope(store, MoveMemories(memories=None, path="", to="a"), MoveMemories(memories=None, path="a", to="b"))
    assert scopes(path) == {"b": (None, (), 3)}
    for _ in range(2):
        rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    assert scopes(path) == before


def test_a_project_keeps_its_scope_though_its_memories_move_away(store: Store, path: Path) -> None:
    fill(store, ("shelf", "/p/shelf"))
    rescope(store, MoveMemories(memories=None, path="shelf", to="b"))
    assert scopes(path) == {"b": (None, (), 1), "shelf": ("/p/shelf", (), 0)}


def test_a_memory_that_moved_stays_where_it_is_when_it_is_captured_again(store: Store, path: Path) -> None:
    fill(store, ("shelf", "/p/shelf"))
    rescope(store, MoveMemories(memories=(id_of(1),), path="shelf", to="b"))
    (again,) = apply(store, added(1, place=ScopeRef(path="shelf", project="/p/shelf", found="git"))).kept
    assert (again.created, again.scope) == (False, "b")


@pytest.mark.parametrize("to", ["/b", "b/", "a/../b", "*"])
def test_memories_move_to_a_path_and_to_nothing_else(store: Store, path: Path, to: str) -> None:
    fill(store, ("a", None))
    before = held(path)
    with pytest.raises(InvalidValue):
        rescope(store, MoveMemories(memories=None, path="a", to=to))
    assert held(path) == before


def test_no_folder_comes_to_the_name_of_what_is_kept_for_every_project(store: Store, path: Path) -> None:
    fill(store, ("everywhere", "/p/everywhere"))
    assert set(scopes(path)) == {"everywhere~2"}
    assert apply(store, added(9, place=ScopeRef(path="everywhere", project=None, found="named"))).kept[0].created
    assert set(scopes(path)) == {"everywhere", "everywhere~2"}


# --- rename ----------------------------------------------------------------------------------------------------------


def test_a_rename_takes_what_is_below_with_it_and_the_projects_are_found_there(store: Store, path: Path) -> None:
    fill(store, ("work/shelf", "/p/shelf"), ("work/shelf/lamp", None), ("work/shelter", None))
    rescope(store, RenameScope(path="work/shelf", to="home/books"))
    assert set(scopes(path)) == {"home/books", "home/books/lamp", "work/shelter"}
    again = apply(store, added(9, place=ScopeRef(path="shelf", project="/p/shelf", found="git"))).kept[0]
    assert again.scope == "home/books"


def test_a_path_that_is_no_scope_itself_is_renamed_for_those_below_it(store: Store, path: Path) -> None:
    fill(store, ("work/shelf", None), ("work/boat", None))
    rescope(store, RenameScope(path="work", to="home"))
    assert set(scopes(path)) == {"home/shelf", "home/boat"}


def test_a_scope_may_move_into_its_own_path_and_out_of_it(store: Store, path: Path) -> None:
    fill(store, ("a", None), ("a/a", None), ("a/a/a", None))
    rescope(store, RenameScope(path="a", to="a/a"))
    assert set(scopes(path)) == {"a/a", "a/a/a", "a/a/a/a"}
    rescope(store, RenameScope(path="a/a", to="a"))
    assert set(scopes(path)) == {"a", "a/a", "a/a/a"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (RenameScope(path="a", to="b"), "something is there"),
        (RenameScope(path="a", to="c"), "'c/d' lies below it"),
        (RenameScope(path="a/x", to="a"), "something is there"),
        (RenameScope(path="a", to="x//y"), "no path"),
        (RenameScope(path="a", to="x/"), "none"),
        (RenameScope(path="a", to=""), "none"),
        (RenameScope(path="a", to="x" * 511), "the new path of 'a/x' cannot be "),
        (RenameScope(path="a", to="/".join("x" * 16)), "it is too long"),
        (RenameScope(path="", to="x"), "stays there"),
        (MergeScopes(path="", into="a"), "stays there"),
        (MergeScopes(path="a", into=""), "stays there"),
        (MoveProject(path="a", project="/p/b", was="/p/a"), "it is the project of 'b'"),
        (MoveProject(path="a", project="/p/c", was="/p/b"), "not the one of 'a'"),
        (MoveProject(path="a", project="/p/c", was=None), "not the one of 'a'"),
        (SplitScope(path="b", found="git", project=None, projects=(), into="a", memories=()), "another one"),
        (SplitScope(path="x", found="git", project="/p/b", projects=(), into="a", memories=()), "the one of 'b' since"),
    ],
)
def test_what_would_mix_scopes_is_refused_with_a_sentence(store: Store, path: Path, change: Change, told: str) -> None:
    fill(store, ("a", "/p/a"), ("a/x", None), ("b", "/p/b"), ("c/d", None))
    before = held(path)
    with pytest.raises(InvalidValue) as caught:
        rescope(store, change)
    assert told in said(caught.value)
    assert held(path) == before


@pytest.mark.parametrize(
    "change",
    [
        RenameScope(path="z", to="y"),
        RenameScope(path="c", to="y", below=False),
        MergeScopes(path="z", into="a"),
        MergeScopes(path="a", into="z"),
        MoveProject(path="z", project="/p/z", was=None),
    ],
)
def test_a_scope_that_is_not_there_is_said(store: Store, path: Path, change: Change) -> None:
    fill(store, ("a", "/p/a"), ("c/d", None))
    with pytest.raises(UnknownScope):
        rescope(store, change)


# --- merge and move --------------------------------------------------------------------------------------------------


def test_what_a_merged_project_brings_lands_where_it_was_merged_into(store: Store, path: Path) -> None:
    fill(store, ("shelf", "/p/shelf"), ("shelf", "/q/shelf"))
    assert set(scopes(path)) == {"shelf", "shelf~2"}
    rescope(store, MergeScopes(path="shelf~2", into="shelf"))
    assert scopes(path) == {"shelf": ("/p/shelf", ("/q/shelf",), 2)}
    kept = apply(store, added(3, place=ScopeRef(path="shelf", project="/q/shelf", found="git"))).kept[0]
    assert kept.scope == "shelf"
    rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    # What was captured since is the merged scope's own, and stays; what comes now is the split one's again.
    assert scopes(path) == {"shelf": ("/p/shelf", (), 2), "shelf~2": ("/q/shelf", (), 1)}
    kept = apply(store, added(4, place=ScopeRef(path="shelf", project="/q/shelf", found="git"))).kept[0]
    assert kept.scope == "shelf~2"


def test_a_merged_project_goes_on_with_its_scope_when_that_is_merged_too(store: Store, path: Path) -> None:
    fill(store, ("a", "/p/a"), ("b", "/p/b"), ("c", "/p/c"))
    rescope(store, MergeScopes(path="a", into="b"))
    rescope(store, MergeScopes(path="b", into="c"))
    assert scopes(path) == {"c": ("/p/c", ("/p/a", "/p/b"), 3)}
    rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    assert scopes(path) == {"b": ("/p/b", ("/p/a",), 2), "c": ("/p/c", (), 1)}
    rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    assert scopes(path) == {"a": ("/p/a", (), 1), "b": ("/p/b", (), 1), "c": ("/p/c", (), 1)}
    assert unscoping(path) == ()


def test_a_project_that_moved_is_found_by_its_new_folder_alone(store: Store, path: Path) -> None:
    fill(store, ("shelf", "/p/shelf"))
    rescope(store, MoveProject(path="shelf", project="/q/shelf", was="/p/shelf"))
    new, old = (ScopeRef(path="shelf", project=project, found="git") for project in ("/q/shelf", "/p/shelf"))
    assert [one.scope for one in apply(store, added(2, place=new), added(3, place=old)).kept] == [
        "shelf",
        "shelf~2",
    ]


def test_a_project_that_was_merged_into_another_moves_too(store: Store, path: Path) -> None:
    fill(store, ("a", "/p/a"), ("b", "/p/b"))
    rescope(store, MergeScopes(path="a", into="b"))
    assert rescope(store, MoveProject(path="b", project="/q/a", was="/p/a")) == (True,)
    assert scopes(path)["b"] == ("/p/b", ("/q/a",), 2)
    assert rescope(store, MoveProject(path="b", project="/q/a", was="/p/b")) == (False,), "it is so already"


def test_who_holds_in_memory_what_is_in_which_scope_loads_it_again(store: Store, path: Path) -> None:
    fill(store, ("a", None), ("b", None))

    def generation() -> int:
        with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
            return now.generation

    first = generation()
    rescope(store, RenameScope(path="a", to="c"))
    assert generation() == first, "memories are where they were"
    rescope(store, MergeScopes(path="c", into="b"))
    merged = generation()
    rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    assert first < merged < generation()


def test_what_is_not_there_any_more_is_not_taken_out_again(store: Store, path: Path) -> None:
    fill(store, ("a", None), ("b", None))
    rescope(
        store,
        SplitScope(path="c", found="git", project=None, projects=(), into="a", memories=(id_of(1), id_of(2), id_of(9))),
    )
    assert scopes(path) == {"a": (None, (), 0), "b": (None, (), 1), "c": (None, (), 1)}


# --- folders' names and names by hand ---------------------------------------------------------------------------------

FOLDERS = [ScopeRef(path=path, project=f"/clones/{n}/{path}", found="git") for n in "12" for path in ("a", "b", "a~2")]
FILES = [
    ScopeRef(path=path, project=None, found=".mnemic.toml")
    for path in ("a", "a/x", "a/x/y", "a/y", "b/x", "a~2/x", "c")
]


@settings(max_examples=20)
@given(st.lists(st.sampled_from([*FOLDERS, *FILES]), min_size=1, max_size=10))
def test_in_any_order_no_folder_is_told_what_a_file_of_its_owner_names(captured: list[ScopeRef]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(Store.create(path, KEYS)) as store:
            for number, place in enumerate(captured, 1):
                apply(store, added(number, place=place))
            with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
                scope_of = {one.id: one.scope for one in now.load_memories(list(range(1, len(captured) + 1)))}
                for place in captured:
                    at = now.scope_path_of(place)
                    assert at is not None
                    told = {n for n in scope_of if f"{scope_of[n]}/".startswith(f"{at}/")}
                    asked = {id_of(n) for n, one in enumerate(captured, 1) if belongs(one, place)}
                    assert told == asked
            before = held(path)
            store.rebuild(lambda done, total: None, meaning=False)
            assert held(path) == before


NEW_PATHS = ["c", "a/x", "a/x/z", "b/x", "a~2/x", "a~2"]
STEPS = st.one_of(
    st.sampled_from([*FOLDERS, *FILES]),
    st.builds(RenameScope, path=st.sampled_from(["a", "b", "a~2", *NEW_PATHS]), to=st.sampled_from(NEW_PATHS)),
    st.just("undo"),
)


@settings(max_examples=12)
@given(st.lists(STEPS, min_size=2, max_size=12))
@example([FOLDERS[0], FOLDERS[1], RenameScope(path="b", to="a/x"), FILES[3], "undo"])
@example([FOLDERS[2], RenameScope(path="a~2", to="a/x"), FILES[1], "undo"])
@example([FOLDERS[2], RenameScope(path="a~2", to="a/x"), FILES[2], "undo"])
def test_whatever_is_renamed_and_taken_back_no_folder_is_told_but_its_own(steps: list[Change | ScopeRef | str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(Store.create(path, KEYS)) as store:
            captured: list[ScopeRef] = []
            for step in steps:
                if isinstance(step, ScopeRef):
                    captured.append(step)
                    apply(store, added(len(captured), place=step))
                    continue
                undoes = isinstance(step, str)
                changes = unscoping(path) if undoes else (step,)
                before = held(path)
                try:
                    rescope(store, *changes, author=SCOPES_UNDO_AUTHOR if undoes else SCOPES_AUTHOR)
                except BadInput:
                    assert held(path) == before
            with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
                check_folders_are_told_their_own(now, captured)
            before = held(path)
            store.rebuild(lambda done, total: None, meaning=False)
            assert held(path) == before


def check_folders_are_told_their_own(now: StoreSnapshot, captured: list[ScopeRef]) -> None:
    """What is told in a project that has its folder's name was captured in that project."""
    told_in = {one.id: one.scope for one in now.load_memories(list(range(1, len(captured) + 1)))}
    for place in captured:
        at = now.scope_path_of(place)
        if place.project is not None and at is not None and "/" not in at:
            told = {captured[n] for n in range(len(captured)) if f"{told_in[id_of(n + 1)]}/".startswith(f"{at}/")}
            assert told == {place}


def test_a_project_makes_way_for_what_is_renamed_below_it_and_comes_back_with_it(store: Store, path: Path) -> None:
    fill(store, ("boats", "/clones/boats"), ("slipway", "/p/slipway"))
    before = scopes(path)
    rescope(store, RenameScope(path="slipway", to="boats/slip"))
    assert scopes(path) == {"boats~2": ("/clones/boats", (), 1), "boats/slip": ("/p/slipway", (), 1)}
    rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    assert scopes(path) == before


def test_no_project_makes_way_for_what_was_below_it(store: Store, path: Path) -> None:
    fill(store, ("boats", "/p/boats"), ("boats/slip", None))
    rescope(store, RenameScope(path="boats/slip", to="boats/quay"))
    assert set(scopes(path)) == {"boats", "boats/quay"}
    rescope(store, RenameScope(path="boats", to="boats/fleet"))
    assert set(scopes(path)) == {"boats/fleet", "boats/fleet/quay"}


def test_what_came_to_lie_below_keeps_a_folders_name_from_coming_back_above_it(store: Store, path: Path) -> None:
    fill(store, ("work", "/clones/work"), ("other", None))
    rescope(store, MergeScopes(path="work", into="other"))
    apply(store, added(3, place=ScopeRef(path="work/secret", project=None, found=".mnemic.toml")))
    before = held(path)
    with pytest.raises(InvalidValue, match="'work/secret' came to lie below it since"):
        rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    assert held(path) == before


@pytest.mark.parametrize(
    "change", [RenameScope(path="proj", to="work"), MergeScopes(path="notes", into="work")], ids=["rename", "merge"]
)
def test_a_change_from_before_a_project_made_way_is_not_taken_back(store: Store, path: Path, change: Change) -> None:
    fill(store, ("proj" if isinstance(change, RenameScope) else "work", "/p/work"), ("notes", None))
    rescope(store, change)
    apply(store, added(3, place=ScopeRef(path="work", project=None, found=".mnemic.toml")))
    before = held(path)
    with pytest.raises(InvalidValue, match="made way since, and is 'work~2'"):
        rescope(store, *unscoping(path), author=SCOPES_UNDO_AUTHOR)
    assert held(path) == before


def belongs(one: ScopeRef, place: ScopeRef) -> bool:
    """Whether what is captured at one place is told at another: of the same project, or named so or below."""
    if place.project is not None or one.project is not None:
        return one.project == place.project
    return f"{one.path}/".startswith(f"{place.path}/")


def test_a_project_makes_way_with_all_its_memories_and_its_owner_puts_it_back_by_a_merge(
    store: Store, path: Path
) -> None:
    clone = ScopeRef(path="work", project="/clones/work/.git", found="git")
    secret = ScopeRef(path="work/secret", project=None, found=".mnemic.toml")
    apply(store, added(1, place=clone), added(2, place=clone))
    apply(store, added(3, place=secret))
    assert scopes(path) == {"work~2": ("/clones/work/.git", (), 2), "work/secret": (None, (), 1)}
    assert apply(store, added(4, place=clone)).kept[0].scope == "work~2"
    assert unscoping(path) == (), "it was no change that somebody asked for"
    rescope(store, RenameScope(path="work~2", to="work", below=False))
    assert set(scopes(path)) == {"work", "work/secret"}


def test_what_is_addressed_by_its_path_and_what_its_owner_renamed_stay(store: Store, path: Path) -> None:
    fill(store, ("boat", "/p/boat"), ("slip", "/p/slip"))
    rescope(store, RenameScope(path="slip", to="boats/slip"))
    for number, place in enumerate(["boat", "boat/cabin"], 8):
        kept = apply(store, added(number, place=ScopeRef(path=place, project=None, found="named"))).kept[0]
        assert kept.scope == place
    apply(store, added(10, place=ScopeRef(path="boats/slip/deck", project=None, found=".mnemic.toml")))
    assert set(scopes(path)) == {"boat", "boat/cabin", "boats/slip", "boats/slip/deck"}


def test_a_file_that_names_a_folders_name_is_told_nothing_of_that_folder_before_anything_is_kept(
    store: Store, path: Path
) -> None:
    fill(store, ("client", "/clones/client/.git"))
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert now.scope_path_of(ScopeRef(path="client", project=None, found=".mnemic.toml")) is None
        assert now.scope_path_of(ScopeRef(path="client", project=None, found="named")) == "client"
