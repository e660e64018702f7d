"""A folder that is gone belongs to the project that its session told while it was there, in whatever order."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.ports import FileStat
from mnemic.actors.scopes.changes import MoveProject, RenameScope
from mnemic.actors.scopes.messages import ChangeScopes
from tests.actors.capture.test_drain import drained, opened, record
from tests.harness import START_US, ActorHarness, ListSource, turns
from tests.processes.faces import git_project, name_scope


def worktree(folder: Path, of: Path) -> Path:
    """A worktree of a repository, as git makes one."""
    entry = of / ".git" / "worktrees" / folder.name
    entry.mkdir(parents=True)
    (entry / "gitdir").write_text(f"{folder / '.git'}\n")
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {entry}\n")
    return folder


def remove_worktree(folder: Path, of: Path) -> None:
    shutil.rmtree(folder)
    shutil.rmtree(of / ".git" / "worktrees" / folder.name)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    return git_project(tmp_path / "app")


@pytest.fixture
def pay(tmp_path: Path, app: Path) -> Path:
    return worktree(tmp_path / "app-pay", app)


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with opened(tmp_path / "home") as made:
        yield made


def hooked(actor_system: ActorHarness, folder: Path, *said: str, session: str = "s") -> None:
    """What hooks kept in a folder, taken in."""
    actor_system.spool.write(*(record([{"text": text, "session": session}], cwd=str(folder)) for text in said))
    drained(actor_system)


def transcribed(actor_system: ActorHarness, *said: Event) -> None:
    actor_system.sources["/a"] = list(said)
    actor_system.take("/a")


def scopes(actor_system: ActorHarness) -> dict[str, str]:
    """The scope of each text."""
    rows = range(1, 1 + len(actor_system.texts()))
    return {one.data.decode(): one.scope for one in actor_system.look(lambda snapshot: snapshot.load_memories(rows))}


def test_a_transcript_of_a_removed_worktree_belongs_where_its_sessions_hooks_said(
    actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    hooked(actor_system, pay, "pay by card", "done")
    remove_worktree(pay, app)
    transcribed(actor_system, *turns(["before the hooks", "pay by card", "what a tool said", "done"], cwd=str(pay)))
    assert set(scopes(actor_system).values()) == {"app"}
    assert len(actor_system.texts()) == 4


def test_what_its_subagents_told_belongs_there_too(actor_system: ActorHarness, app: Path, pay: Path) -> None:
    hooked(actor_system, pay, "pay by card")
    remove_worktree(pay, app)
    transcribed(actor_system, *turns(["looked around"], session="s/agent-1", cwd=str(pay / "src")))
    hooked(actor_system, pay, "another session", session="s2")
    assert scopes(actor_system) == {"pay by card": "app", "looked around": "app", "another session": "app-pay"}


def test_hooks_that_are_taken_in_after_the_folder_went_belong_where_the_transcript_said(
    actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    transcribed(actor_system, *turns(["one", "two"], cwd=str(pay)))
    remove_worktree(pay, app)
    hooked(actor_system, pay, "three")
    assert scopes(actor_system) == {"one": "app", "two": "app", "three": "app"}


def test_hooks_that_waited_until_the_worktree_was_removed_belong_where_they_said(
    actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    remove_worktree(pay, app)
    waited = record(["pay by card"], cwd=str(pay))
    actor_system.spool.write(msgspec.structs.replace(waited, main_folder=str(app)))
    drained(actor_system)
    transcribed(actor_system, *turns(["pay by card", "what a tool said"], cwd=str(pay)))
    assert scopes(actor_system) == {"pay by card": "app", "what a tool said": "app"}


def test_a_transcript_of_which_a_hook_told_belongs_where_that_hook_said_with_its_subfolders(
    tmp_path: Path, actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    lib = git_project(tmp_path / "lib")
    remove_worktree(pay, app)
    said = [*turns(["one"], cwd=str(pay)), *turns(["two"], cwd=str(pay / "src")), *turns(["three"], cwd=str(lib))]
    actor_system.sources["/a"], actor_system.extents["/a"] = said, FileStat(1000, START_US)
    told = record([{"transcript": "/a", "ended": True}], cwd=str(pay))
    actor_system.spool.write(msgspec.structs.replace(told, main_folder=str(app)))
    drained(actor_system)
    assert scopes(actor_system) == {"one": "app", "two": "app", "three": "lib"}


def test_what_a_hook_said_of_a_worktree_that_is_there_does_not_count(
    tmp_path: Path, actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    other = git_project(tmp_path / "other")
    actor_system.spool.write(msgspec.structs.replace(record(["one"], cwd=str(pay)), main_folder=str(other)))
    drained(actor_system)
    assert scopes(actor_system) == {"one": "app"}


def test_hooks_that_waited_belong_to_the_project_in_which_their_session_began(
    actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    remove_worktree(pay, app)
    actor_system.spool.write(record(["one"], cwd=str(app)), record(["two"], cwd=str(pay)))
    drained(actor_system)
    assert scopes(actor_system) == {"one": "app", "two": "app"}


def test_a_session_in_several_projects_is_told_apart_by_the_folder_of_each_line(
    tmp_path: Path, actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    shelf, lib = git_project(tmp_path / "shelf"), worktree(tmp_path / "lib-fix", git_project(tmp_path / "lib"))
    for folder, said in ((shelf, "a"), (pay, "b"), (lib, "c")):
        hooked(actor_system, folder, said)
    remove_worktree(pay, app)
    remove_worktree(lib, tmp_path / "lib")
    lines = ((lib, "d"), (pay, "e"), (shelf, "a"), (pay, "b"), (lib, "c"), (pay / "src", "f"), (shelf, "g"))
    transcribed(actor_system, *(one for folder, said in lines for one in turns([said], cwd=str(folder))))
    assert scopes(actor_system) == {
        **dict.fromkeys("ag", "shelf"),
        **dict.fromkeys("bef", "app"),
        **dict.fromkeys("cd", "lib"),
    }


def test_of_a_session_that_no_hook_saw_the_folders_that_are_there_tell_it(
    actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    remove_worktree(pay, app)
    transcribed(actor_system, *turns(["one"], cwd=str(pay)), *turns(["two"], cwd=str(app)))
    assert scopes(actor_system) == {"one": "app", "two": "app"}


def test_where_they_are_of_several_projects_the_folder_is_itself_and_nothing_is_guessed(
    tmp_path: Path, actor_system: ActorHarness, app: Path, pay: Path
) -> None:
    remove_worktree(pay, app)
    places = (app, pay, git_project(tmp_path / "lib"))
    transcribed(actor_system, *(one for place in places for one in turns([place.name], cwd=str(place))))
    assert scopes(actor_system) == {name: name for name in ("app", "app-pay", "lib")}


def test_folders_of_another_machine_stay_apart_however_often_they_are_read(actor_system: ActorHarness) -> None:
    said = [*turns(["one"], cwd="/Users/x/app"), *turns(["two"], cwd="/Users/x/lib")]
    transcribed(actor_system, *said)
    transcribed(actor_system, *said, *turns(["three"], cwd="/Users/x/app"), *turns(["four"], cwd="/Users/x/lib"))
    assert scopes(actor_system) == {"one": "app", "two": "lib", "three": "app", "four": "lib"}


def test_a_clone_that_was_deleted_is_the_project_that_it_was(actor_system: ActorHarness, app: Path) -> None:
    hooked(actor_system, app, "one")
    shutil.rmtree(app)
    transcribed(actor_system, *turns(["two"], session="older", cwd=str(app / "src")))
    assert scopes(actor_system) == {"one": "app", "two": "app"}


def test_a_clone_that_was_moved_is_known_by_its_session_under_its_new_name(
    tmp_path: Path, actor_system: ActorHarness, app: Path
) -> None:
    hooked(actor_system, app, "one")
    app.rename(tmp_path / "away")
    was, now = (str(folder / ".git") for folder in (app, tmp_path / "away"))
    moved = (RenameScope(path="app", to="work/app"), MoveProject(path="work/app", project=now, was=was))
    actor_system.ask(ChangeScopes(changes=moved))
    transcribed(actor_system, *turns(["two"], cwd=str(app)))
    assert scopes(actor_system) == {"one": "work/app", "two": "work/app"}


def test_a_scope_that_a_file_named_is_known_by_its_session(tmp_path: Path, actor_system: ActorHarness) -> None:
    folder = name_scope(tmp_path / "home", tmp_path / "boat", "work/boat")
    hooked(actor_system, folder, "one")
    shutil.rmtree(folder)
    transcribed(actor_system, *turns(["two"], cwd=str(folder)), *turns(["three"], scope="mine", cwd=str(folder)))
    assert scopes(actor_system) == {"one": "work/boat", "two": "work/boat", "three": "mine"}


def test_a_folder_that_is_there_keeps_its_own_project(tmp_path: Path, actor_system: ActorHarness, app: Path) -> None:
    (tmp_path / "notes").mkdir()
    hooked(actor_system, app, "one")
    transcribed(actor_system, *turns(["two"], cwd=str(tmp_path / "notes")))
    assert scopes(actor_system) == {"one": "app", "two": "notes"}


def test_what_was_kept_of_the_folder_as_itself_says_nothing(actor_system: ActorHarness, app: Path, pay: Path) -> None:
    remove_worktree(pay, app)
    transcribed(actor_system, *turns(["one"], cwd=str(pay)))
    hooked(actor_system, app, "two")
    transcribed(actor_system, *turns(["one", "three"], cwd=str(pay)))
    assert scopes(actor_system) == {"one": "app-pay", "two": "app", "three": "app"}


def test_a_long_transcript_is_read_once_more_and_no_oftener(tmp_path: Path, app: Path, pay: Path) -> None:
    remove_worktree(pay, app)
    said = [*turns(map(str, range(9)), cwd=str(pay)), *turns(["last"], cwd=str(app))]
    with opened(tmp_path / "home", sources={"/a": said}, batch_events=2) as actor_system:
        actor_system.take("/a")
        assert set(scopes(actor_system).values()) == {"app"}
        assert len(actor_system.opened) == 2
        assert all(one.closed for one in actor_system.opened)


def test_a_pipe_is_read_once(tmp_path: Path, app: Path, pay: Path) -> None:
    remove_worktree(pay, app)
    read: list[Any] = []

    def open_pipe(path: str, format: str) -> ListSource:
        read.append(ListSource([*turns(["one"], cwd=str(app)), *turns(["two"], cwd=str(pay))], size_bytes=None))
        return read[-1]

    with opened(tmp_path / "home") as actor_system:
        actor_system.open_source = open_pipe
        actor_system.take("-")
        assert scopes(actor_system) == {"one": "app", "two": "app"}
        assert len(read) == 1
