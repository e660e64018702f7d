"""What is left out stays out by every way in, and is counted by none; and nothing else goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.capture_filter import (
    describe_rules,
    is_paused_at,
    root_session,
    session_mode,
    session_mode_changes,
)
from mnemic.actors.capture.messages import QueueTranscripts
from mnemic.actors.kernel.errors import CapturePaused, LeftOut, PausesUnreadable
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, IgnoredSession
from mnemic.actors.kernel.ports import FileStat, PauseSpan
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.runtime.capture.allow_deny import AllowDenyRules
from mnemic.runtime.engine.settings import Settings
from tests.actors.capture.test_drain import drained, opened, record, waiting
from tests.actors.capture.test_gone_folders import remove_worktree, worktree
from tests.harness import START_US, ActorHarness, turns
from tests.processes.faces import git_project, name_scope

MINUTE_US = 60_000_000
WORK = ScopeRef(path="work/shelf", project=None, found="named")


def left(
    home: Path,
    *,
    pauses: tuple[PauseSpan, ...] = (),
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    **more: Any,
) -> ActorHarness:
    """An actor system that leaves something out."""
    named = {"capture.allow": tuple(allow), "capture.deny": tuple(deny), "capture.leave_out": tuple(leave_out)}
    ports = {"pauses": lambda: pauses, "is_allowed": AllowDenyRules(allow, deny).allows}
    actor_system = opened(home, ports=ports, **named, **more)
    understand = actor_system.read_record

    def read(one: HookRecord) -> list[HookEvent]:
        return [IgnoredSession(assistant=one.assistant, session="s")] if one.event == "silenced" else understand(one)

    actor_system.read_record = read
    return actor_system


def taken_by_itself(actor_system: ActorHarness, *paths: str) -> int:
    """Have transcripts taken in the background; returns how many events of them were left out."""
    actor_system.extents |= {path: FileStat(1000, START_US) for path in paths}
    actor_system.ask(QueueTranscripts(paths=tuple((path, "list") for path in paths)))
    return drained(actor_system).left_out


# --- pauses ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9))), max_size=4), st.integers(-1, 10))
def test_a_pause_is_half_open(spans: list[PauseSpan], at: int) -> None:
    expected = any(at in range(since, 99 if until is None else until) for since, until in spans)
    assert is_paused_at(spans, at) == expected


def test_what_happened_in_a_pause_is_not_taken_from_a_transcript_unless_somebody_asks(tmp_path: Path) -> None:
    said = [
        *turns(["before"], said_at=START_US - 1),
        *turns(["in it"], said_at=START_US),
        *turns(["in it too"]),  # it does not say when: as the line before
        *turns(["after"], said_at=START_US + MINUTE_US),
    ]
    with left(tmp_path, sources={"/a": said}, pauses=((START_US, START_US + MINUTE_US),)) as actor_system:
        assert taken_by_itself(actor_system, "/a") == 2
        assert actor_system.texts() == [b"before", b"after"]
        (taken,) = actor_system.take("/a")
        assert (taken.new, taken.known, taken.left_out) == (2, 2, 0)
        assert sorted(actor_system.texts()) == [b"after", b"before", b"in it", b"in it too"]


def test_what_a_hook_kept_in_a_pause_all_the_same_is_dropped(tmp_path: Path) -> None:
    with left(tmp_path, pauses=((START_US + 5, None),)) as actor_system:
        actor_system.spool.write(
            record(["before"], at=START_US),
            record(["in it", {"transcript": "/a", "ended": True}], at=START_US + 5),
            record([{"raise": "unreadable"}], at=START_US + 6),
            record([{"nonce": "n"}], at=START_US + 7),
        )
        done = drained(actor_system)
        assert (done.records, done.new, done.left_out, done.quarantined) == (4, 1, 2, 0)
        assert (actor_system.texts(), waiting(actor_system).transcripts) == ([b"before"], 0)
        assert waiting(actor_system).checks == {"t": "n"}, "a trial is nobody's words"


@settings(max_examples=10)
@given(
    said=st.lists(st.tuples(st.sampled_from(["yes", "no"]), st.sampled_from(["hook", "missed", "paused"])), max_size=9),
    batch=st.sampled_from([1, 256]),
)
def test_a_pause_in_a_session_changes_nothing_of_what_is_kept_of_the_rest(
    said: list[tuple[str, str]], batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Texts without an id are known by how often they occur: a pause must not shift the count."""
    at = {number: START_US + number * MINUTE_US for number in range(len(said))}
    spans = tuple((at[number], at[number] + 1) for number, (_, how) in enumerate(said) if how == "paused")
    events = [turns([text], said_at=at[number])[0] for number, (text, _) in enumerate(said)]
    with left(tmp_path_factory.mktemp("m"), sources={"/a": events}, pauses=spans, batch_events=batch) as actor_system:
        for number, (text, how) in enumerate(said):
            if how == "hook":
                actor_system.spool.write(record([text], at=at[number]))
        drained(actor_system)
        taken_by_itself(actor_system, "/a")
        outside = [text.encode() for text, how in said if how != "paused"]
        assert sorted(actor_system.texts()) == sorted(outside)


def test_where_nobody_can_tell_when_it_was_paused_nothing_is_let_go_of(tmp_path: Path) -> None:
    unreadable = True

    def pauses() -> Sequence[PauseSpan]:
        if unreadable:
            raise PausesUnreadable(path="/pauses", why="Too many open files")
        return ()

    sources = {"/a": turns(["from a transcript"], session="other")}
    with opened(tmp_path, ports={"pauses": pauses}, sources=sources) as actor_system:
        actor_system.spool.write(record(["from a hook"], at=START_US))
        with pytest.raises(PausesUnreadable):
            drained(actor_system)
        with pytest.raises(PausesUnreadable):
            actor_system.keep("from a tool", assistant="mcp")
        assert actor_system.keep("its owner's word").created, "who asks for it is not asked about pauses"
        assert actor_system.recall("word", observe=True).hits
        unreadable = False
        taken_by_itself(actor_system, "/a")
        assert sorted(actor_system.texts()) == [b"from a hook", b"from a transcript", b"its owner's word"]


def test_what_an_assistant_hands_over_in_a_pause_is_refused_and_what_its_owner_does_is_kept(tmp_path: Path) -> None:
    with left(tmp_path, pauses=((0, 5), (START_US - 1, START_US + 3_600_000_000))) as actor_system:
        with pytest.raises(CapturePaused, match="until 2025-10-09T09:53:20Z: nothing is captured"):
            actor_system.keep("from a tool", assistant="mcp")
        assert actor_system.keep("by hand").created
        assert actor_system.texts() == [b"by hand"]


def test_what_is_marked_private_in_a_question_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.keep("the otter is well")
        assert actor_system.recall("otter <private>of Ada's</private>?", observe=True).hits
        actor_system.keep("a word after it")  # what was told to the store before is done by then
        asked = actor_system.look(lambda snapshot: snapshot._db.execute("SELECT query FROM givings").fetchall())
        assert asked == [("otter ?",)]
        logged = actor_system.look(lambda snapshot: snapshot._db.execute("SELECT change FROM log").fetchall())
        assert not any(b"Ada" in change for (change,) in logged)


def test_in_a_pause_no_question_is_kept_only_what_was_given(tmp_path: Path) -> None:
    spans: list[PauseSpan] = []
    with opened(tmp_path, ports={"pauses": lambda: spans}) as actor_system:
        actor_system.keep("the otter is well")
        asked = []
        for pause in ((), ((0, None),)):
            spans[:] = pause
            actor_system.recall("otter", observe=True)
            actor_system.keep(f"a word after {len(asked)}")  # what was told to the store before is done by then
            asked.append(
                actor_system.look(lambda snapshot: snapshot._db.execute("SELECT query FROM givings").fetchall())
            )
        assert asked == [[("otter",)], [("otter",), ("",)]]


# --- sessions that are left alone ------------------------------------------------------------------------------------


def test_a_session_that_was_to_be_left_alone_is_not_read_from_its_transcript(tmp_path: Path) -> None:
    said = [*turns(["alone"]), *turns(["its agent"], session="s/a"), *turns(["another"], session="s2")]
    with left(tmp_path, sources={"/a": said}) as actor_system:
        actor_system.spool.write(record([], event="silenced"), record([], event="silenced"))
        assert drained(actor_system).quarantined == 0
        assert taken_by_itself(actor_system, "/a") == 2
        assert actor_system.texts() == [b"another"]
        seq = actor_system.look(lambda snapshot: snapshot.seq)
        actor_system.spool.write(record([], event="silenced"), file=b"another file 123")
        drained(actor_system)
        log = actor_system.look(
            lambda snapshot: snapshot._db.execute("SELECT change FROM log WHERE seq > ?", (seq,)).fetchall()
        )
        assert not any(b"silence" in change for (change,) in log), "it is said once"
        assert actor_system.take("/a")[0].new == 2, "its owner asks for it"


def test_hooks_that_are_on_again_are_heard(tmp_path: Path) -> None:
    with left(tmp_path) as actor_system:
        actor_system.spool.write(record([], event="silenced"), record(["resumed without the variable"]))
        assert (drained(actor_system).new, actor_system.texts()) == (1, [b"resumed without the variable"])


# --- projects --------------------------------------------------------------------------------------------------------


def test_what_is_denied_never_reaches_the_store_by_any_way(tmp_path: Path) -> None:
    secret, fine = tmp_path / "secret" / "deep", tmp_path / "fine"
    for folder in (secret, fine):
        folder.mkdir(parents=True)
    said = [*turns(["hidden"], cwd=str(secret)), *turns(["seen"], cwd=str(fine))]
    with left(tmp_path / "home", sources={"/a": said}, deny=[f"{tmp_path}/secret"]) as actor_system:
        actor_system.spool.write(
            record(["hidden too", {"transcript": "/secret.jsonl", "ended": True}], cwd=str(secret)),
            record([{"raise": "unreadable"}], cwd=str(secret)),
            record(["seen too"], cwd=str(fine)),
        )
        done = drained(actor_system)
        assert (done.new, done.left_out, done.quarantined) == (1, 2, 0)
        assert actor_system.take("/a")[0].left_out == 1, "whoever asks"
        assert taken_by_itself(actor_system, "/a") == 1
        with pytest.raises(LeftOut, match=r"The settings leave the project 'secret'"):
            actor_system.keep("from a tool", assistant="mcp", place=ScopeRef("secret", str(secret), "folder"))
        assert sorted(actor_system.texts()) == [b"seen", b"seen too"]
        assert waiting(actor_system).left_out == (f"the projects {tmp_path}/secret",)
        assert waiting(actor_system).transcripts_later == waiting(actor_system).transcripts == 0
    store = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert b"hidden" not in store


def test_an_assistant_that_works_where_nothing_is_captured_hands_nothing_over_under_another_name(
    tmp_path: Path,
) -> None:
    secret, fine = tmp_path / "secret", tmp_path / "fine"
    for deny in (str(secret), "work/secret"):
        for folder in (secret, fine):
            name_scope(tmp_path / f"home-{len(deny)}", folder, f"work/{folder.name}")
        with left(tmp_path / f"home-{len(deny)}", deny=[deny]) as actor_system:
            for place in (WORK, ScopeRef(path="work/secret", project=None, found=".mnemic.toml")):
                with pytest.raises(LeftOut, match="the project 'work/s"):
                    actor_system.keep("hidden", assistant="mcp", place=place, folder=str(secret))
            assert actor_system.keep("seen", assistant="mcp", place=WORK, folder=str(fine)).created
            assert actor_system.keep("its owner's", place=WORK, folder=str(secret)).created


def test_where_some_are_allowed_only_those_are_captured(tmp_path: Path) -> None:
    said = [
        *turns(["allowed"], scope="work/shelf"),
        *turns(["denied"], scope="work/secret"),
        *turns(["not named"], scope="home"),
        *turns(["nowhere"]),
    ]
    with left(tmp_path, sources={"/a": said}, allow=["work"], deny=["work/s[e]cret"]) as actor_system:
        assert actor_system.take("/a")[0].left_out == 3
        assert actor_system.texts() == [b"allowed"]
        assert actor_system.keep("by its owner").created
        assert waiting(actor_system).left_out == ("all projects but work", "the projects work/s[e]cret")


# --- kinds of session ------------------------------------------------------------------------------------------------


def test_sessions_are_marked_once_and_found_all_the_same(tmp_path: Path) -> None:
    said = [
        *turns(["by a program"], session="h", headless=True),
        *turns(["its agent"], session="h/a", headless=True, subagent=True),
        *turns(["by somebody"]),
    ]
    with left(tmp_path, sources={"/a": said}) as actor_system:
        actor_system.spool.write(record([{"text": "by a program", "session": "h", "headless": True}]))
        drained(actor_system)
        actor_system.take("/a")
        counts = actor_system.look(lambda snapshot: snapshot.counts(None))
        assert (counts.sessions, counts.headless, counts.subagents) == (3, 1, 1)
        logged = actor_system.look(lambda snapshot: snapshot._db.execute("SELECT change FROM log").fetchall())
        assert sum(b"mark_session" in change for (change,) in logged) == 2
        assert len(actor_system.texts()) == 3


@pytest.mark.parametrize(
    ("kinds", "kept"),
    [
        (["headless"], ["agent", "somebody"]),
        (["subagents"], ["program", "somebody"]),
        (["headless", "subagents"], ["somebody"]),
    ],
)
def test_one_setting_leaves_them_out_by_every_way(tmp_path: Path, kinds: list[str], kept: list[str]) -> None:
    told: list[dict[str, Any]] = [
        {"text": "program", "session": "h", "headless": True},
        {"text": "program's agent", "session": "h/a", "headless": True, "subagent": True},
        {"text": "agent", "session": "s/a", "subagent": True},
        {"text": "somebody"},
    ]
    events = [turns([one["text"]], **{name: value for name, value in one.items() if name != "text"})[0] for one in told]
    with left(tmp_path / "hooks", leave_out=kinds) as actor_system:
        actor_system.spool.write(*[record([dict(one)]) for one in told])
        assert drained(actor_system).left_out == 4 - len(kept)
        assert sorted(actor_system.texts()) == [text.encode() for text in kept]
    with left(tmp_path / "asked", sources={"/a": events}, leave_out=kinds) as actor_system:
        assert actor_system.take("/a")[0].left_out == 4 - len(kept)
        assert sorted(actor_system.texts()) == [text.encode() for text in kept]


def test_a_headless_session_stays_out_where_only_its_hooks_say_what_it_is(tmp_path: Path) -> None:
    with left(tmp_path, sources={"/a": turns(["program"], session="h")}, leave_out=["headless"]) as actor_system:
        actor_system.spool.write(record([{"text": "program", "session": "h", "headless": True}]))
        drained(actor_system)
        assert taken_by_itself(actor_system, "/a") == 1
        assert actor_system.texts() == []


def test_the_words_for_it() -> None:
    event = Event(assistant="t", session="s/a", kind="turn", role="user", text=b"x")
    assert (session_mode(event), root_session("s/a"), root_session("s")) == ("", "s", "s")
    assert list(session_mode_changes([event])) == []
    assert describe_rules(Settings().values()) == ()
    named = {"capture.allow": ("a", "b"), "capture.deny": (), "capture.leave_out": ("headless", "subagents")}
    assert describe_rules(Settings(named).values()) == (
        "all projects but a, b",
        "headless sessions",
        "sessions of subagents",
    )


# --- a worktree that was removed before its hooks were read ----------------------------------------------------------


def from_removed_worktree(tmp_path: Path, said: Sequence[Any], **rules: Any) -> tuple[dict[str, str], int]:
    """Scope of each text that is kept of a session in a worktree of the project `app`, and how much was left out."""
    app, shelf = git_project(tmp_path / "app"), git_project(tmp_path / "shelf")
    pay = worktree(tmp_path / "pay", app)
    remove_worktree(pay, app)
    told = [*turns(["a prompt", "an answer"], cwd=str(pay)), *turns(["elsewhere"], cwd=str(shelf))]
    with left(tmp_path / "home", sources={"/a": told}, **rules) as actor_system:
        actor_system.extents["/a"] = FileStat(1000, START_US)
        for one in said:
            at_shelf = one == "elsewhere" or "at shelf" in one
            given = record([one], cwd=str(shelf if at_shelf else pay))
            main_folder = None if at_shelf else str(app)
            actor_system.spool.write(msgspec.structs.replace(given, main_folder=main_folder))
        done = drained(actor_system)
        rows = range(1, 1 + len(actor_system.texts()))
        kept = actor_system.look(lambda snapshot: snapshot.load_memories(rows))
        return {one.data.decode(): one.scope for one in kept}, done.left_out


ENDED = {"transcript": "/a", "ended": True}


@pytest.mark.parametrize("rule", ["app", "{}/app"])
def test_of_a_denied_project_neither_the_prompt_nor_the_transcript_is_kept(tmp_path: Path, rule: str) -> None:
    assert from_removed_worktree(tmp_path, ["a prompt", ENDED], deny=[rule.format(tmp_path)]) == ({}, 1)


def test_where_the_session_went_on_elsewhere_only_the_denied_folders_words_stay_out(tmp_path: Path) -> None:
    said = ["a prompt", "elsewhere", ENDED | {"at shelf": True}]
    assert from_removed_worktree(tmp_path, said, deny=["app"])[0] == {"elsewhere": "shelf"}


def test_a_project_that_alone_is_allowed_is_kept_from_there_too(tmp_path: Path) -> None:
    kept, left_out = from_removed_worktree(tmp_path, ["a prompt", ENDED], allow=["app"])
    assert (kept, left_out) == ({"a prompt": "app", "an answer": "app"}, 1)
