"""Forgetting many at once, and erasing: what is gone is in no file of the home, and never comes back."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemic
from mnemic.actors.capture.forget_messages import Selection
from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.message import format_id, parse_id
from mnemic.actors.kernel.ports import UndecodedRecord
from mnemic.errors import InvalidValue, NoSuchMemory
from mnemic.open_mind import open_served
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.spool.frames import FrameDecryptor
from mnemic.runtime.spool.walk import scan_records
from mnemic.runtime.store.schema import connect
from mnemic.runtime.transfer.redact_log import QUOTE_BYTES
from tests.mnemic.test_hooks_end_to_end import hook, prompt
from tests.processes.faces import Outcome, claude_turn, git_project, lines, start, turn
from tests.processes.serving import serving
from tests.waiting import until

Command = Callable[..., Outcome]
SECRET = "the combination of the blue safe is 31 left, 7 right, 22 left"
OTHER = "nine books stand on the shelf, and the lamp is broken"
QUERY = "what is the combination of the blue safe"


def bytes_of(home: Path, mind: str = "default") -> dict[str, bytes]:
    """All files of a home, opened with the key: the store's pages and texts, the spool's frames; others as they are."""
    folder, keys = open_mind(home, mind)
    found: dict[str, bytes] = {}
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        name, data = str(path.relative_to(home)), path.read_bytes()
        found[name] = data
        if path.suffix == ".spool":
            found[name] += b"\xff".join(frames(data, FrameDecryptor(keys.spool_private, keys.earlier_spool_privates)))
        elif path.name.startswith("store") and path.suffix == ".db":
            with closing(connect(path, keys)) as db:
                rows: list[Any] = db.execute("SELECT packed, body FROM texts").fetchall()
                texts = [zlib.decompress(body) if packed else body for packed, body in rows]
                found[name] += b"\xff".join([db.serialize("main"), *texts])
    assert str(folder.store.relative_to(home)) in found
    return found


def frames(data: bytes, opener: FrameDecryptor) -> Iterator[bytes]:
    """What a spool file holds, record by record."""
    read = scan_records(lambda start, length: data[start : start + length], len(data), True, 0, 10**6, 1 << 40, opener)
    for one in read.records:
        yield one.body if isinstance(one, UndecodedRecord) else one.payload if isinstance(one, HookRecord) else b""


def holding(home: Path, *texts: str) -> dict[str, set[bytes]]:
    """The files that hold a run of sixteen bytes of some texts, and which."""
    said = [text.encode("utf-8", "surrogatepass") for text in texts]
    runs = {text[n : n + QUOTE_BYTES] for text in said for n in range(len(text) - QUOTE_BYTES + 1)}
    assert runs
    files = {name: {run for run in runs if run in data} for name, data in bytes_of(home).items()}
    return {name: some for name, some in files.items() if some}


def found(command: Command, home: Path, query: str) -> list[str]:
    return [hit["text"] for hit in command("recall", query, "--scope", "*", "--home", home, "--json").json["hits"]]


@contextmanager
def opened(home: Path, served: bool) -> Iterator[Mind]:
    """A mind, in this process or in the home's own."""
    if not served:
        with mnemic.open(home) as mind:
            yield mind
        return
    there = open_served(home, "default", SystemClock(), create=True)
    assert there is not None
    with there:
        yield there


# --- the whole -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("served", [False, pytest.param(True, marks=pytest.mark.system)], ids=["alone", "served"])
def test_what_is_erased_is_in_no_file_of_the_home_and_never_comes_back(
    home: Path, tmp_path: Path, command: Command, served: bool
) -> None:
    project, kept = git_project(tmp_path / "shelf"), tmp_path / "kept"
    transcript = lines(
        tmp_path / "a.jsonl",
        turn(f"{SECRET}, said the harbour master", session="secret", scope="harbour"),
        turn(f"and once more in full: {SECRET} " * 40, session="secret", scope="harbour", id="m2"),
        turn(OTHER, session="other", scope="shelf"),
    )
    command("init", "--home", home)
    prompt(home, f"please note that {SECRET}", project, session="secret")
    prompt(home, f"the helper heard that {SECRET}", project, session="secret/helper")
    shutil.copytree(home / "minds" / "default" / "spool", kept)
    prompt(home, f"and that {OTHER}", project, session="hooked")
    command("capture", transcript, "--home", home, "--no-meaning")
    with serving(home) if served else nullcontext():
        until(lambda: len(found(command, home, QUERY)) == 4)  # what recalls find is in the log, too
        exported = command("export", tmp_path / "exported", "--home", home)
        assert (exported.code, command("backup", tmp_path / "backup", "--home", home).code) == (0, 0)
        assert holding(home, SECRET)

        erased = command("forget", "--session", "secret", "--erase", "--yes", "--home", home, "--json").json
        assert (erased["applied"], erased["memories"]) == (True, 4)
        assert [one["what"] for one in erased["copies"]] == ["backup", "export"]
        assert holding(home, SECRET) == {}
        assert sorted(found(command, home, "books and the lamp")) == sorted([f"and that {OTHER}", OTHER])

        again = command("capture", transcript, "--home", home, "--no-meaning", "--json").json
        assert (again["new"], again["known"], again["erased"]) == (0, 1, 2)
        assert "2 were erased, and stay so" in command("capture", transcript, "--home", home, "--no-meaning").out
        for file in kept.glob("*.spool"):
            shutil.copy(file, home / "minds" / "default" / "spool" / f"again-{file.name}")
        with opened(home, served) as mind:
            assert mind.drain_spool().torn == 0
        assert command("import", tmp_path / "exported", "--home", home).code == 0
        texts = found(command, home, "combination safe books")
        assert len(texts) == 2
        assert not any("combination" in text for text in texts)
    status = command("status", "--home", home, "--json").json
    assert status["counts"]["memories"] == 2
    repaired = command("doctor", "--repair", "--home", home, "--json").json
    assert not [one for one in repaired["checks"] if one["state"] == "wrong" and one["name"] != "model"]
    with mnemic.open(home) as mind:
        mind.rebuild()
        assert mind.counts().memories == 2
        assert not mind.remember(SECRET, session="new").erased, "said anew, elsewhere, it is another memory"


def test_a_call_to_which_its_host_gives_no_id_does_not_come_back_from_the_spool_either(
    home: Path, tmp_path: Path, command: Command
) -> None:
    command("init", "--home", home)
    answered = {"llmContent": f"Output: {SECRET}", "returnDisplay": ""}
    called = {"tool_name": "run_shell_command", "tool_input": {"command": f"echo {SECRET}"}, "tool_response": answered}
    about = {"session_id": "s", "hook_event_name": "AfterTool", "cwd": str(tmp_path)}
    hook(home, "tool", about | called, assistant="gemini-cli")
    spool, kept = home / "minds" / "default" / "spool", tmp_path / "kept"
    shutil.copytree(spool, kept)
    with mnemic.open(home) as mind:
        assert mind.drain_spool().new == 2
        assert mind.erase(Selection(scope="*")).memories == 2
        mind.drain_spool()  # it finds the file gone, and forgets it
        for file in kept.glob("*.spool"):
            shutil.copy(file, spool / f"again-{file.name}")
        assert mind.drain_spool().new == 0
        assert mind.counts().memories == 0


TEXTS = st.text(st.characters(codec=None), min_size=QUOTE_BYTES, max_size=120)


@settings(max_examples=6)
@given(st.lists(TEXTS, min_size=1, max_size=5), st.lists(TEXTS, min_size=1, max_size=3))
def test_whatever_was_said_erased_leaves_no_sixteen_bytes_that_only_it_had(
    tmp_path_factory: pytest.TempPathFactory, gone: list[str], stays: list[str]
) -> None:
    home = tmp_path_factory.mktemp("erased")
    (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
    said = [turn(f"x {text}", session="gone") for text in gone] + [turn(f"x {text}", session="stays") for text in stays]
    path = lines(home / "t.jsonl", *said)
    with mnemic.open(home) as mind:
        mind.capture(path, embed=False)
        path.unlink()
        for text in gone:
            mind.recall(text[:40] if text.strip() else "x", signals=("lexical",))
        before = mind.counts().memories
        mind.erase(Selection(session="gone"))
        assert mind.counts().memories == before - len({turn["text"] for turn in said if turn["session"] == "gone"}) or (
            mind.counts().memories == len(stays)
        )
        left = mind.recall("x", 100, signals=("lexical",), observe=False).hits
        assert {hit.session for hit in left} <= {"stays"}
    others = b"\xff".join(f"x {text}".encode("utf-8", "surrogatepass") for text in stays)
    runs = {
        run
        for text in (text.encode("utf-8", "surrogatepass") for text in gone)
        for run in (text[n : n + QUOTE_BYTES] for n in range(len(text) - QUOTE_BYTES + 1))
        if run not in others
    }
    assert not [(name, run) for name, data in bytes_of(home).items() for run in runs if run in data and any(run)]


# --- what is shown and asked -----------------------------------------------------------------------------------------


@pytest.fixture
def filled(home: Path, tmp_path: Path, command: Command) -> Path:
    said = [
        turn("the first otter", session="a", scope="work/boat", said_at="2026-10-01T00:00:00Z"),
        turn("the second otter", session="a", scope="work/boat/deck", said_at="2026-10-02T00:00:00Z"),
        turn("the third otter", session="a/helper", scope="home", said_at="2026-10-03T00:00:00Z"),
        turn("the fourth otter", session="ab", scope="home", said_at="2026-10-04T00:00:00Z"),
    ]
    command("capture", lines(tmp_path / "a.jsonl", *said), "--home", home, "--no-meaning")
    return home


def left(command: Command, home: Path) -> set[str]:
    hits = command("recall", "otter", "--scope", "*", "--home", home, "--json").json["hits"]
    return {hit["text"].split()[1] for hit in hits}


@pytest.mark.parametrize(
    ("chosen", "stays"),
    [
        (["--scope", "work/boat"], {"third", "fourth"}),
        (["--scope", "*"], set()),
        (["--session", "a"], {"fourth"}),
        (["--since", "2026-10-02", "--before", "2026-10-04"], {"first", "fourth"}),
        (["--scope", "home", "--before", "2026-10-04"], {"first", "second", "fourth"}),
    ],
)
def test_what_conditions_select_is_hidden_and_found_again_or_erased(
    command: Command, filled: Path, chosen: list[str], stays: set[str]
) -> None:
    everything = {"first", "second", "third", "fourth"}
    hidden = command("forget", *chosen, "--yes", "--home", filled, "--json").json
    assert (hidden["changed"], hidden["unchanged"]) == (4 - len(stays), 0)
    assert left(command, filled) == stays
    assert command(*shlex.split(hidden["undo"])[1:]).code == 0
    assert left(command, filled) == everything
    assert command("forget", *chosen, "--erase", "--yes", "--home", filled).code == 0
    assert left(command, filled) == stays


@pytest.mark.parametrize("option", ["--since", "--before"])
def test_what_nobody_dated_is_not_hidden_by_a_time(home: Path, tmp_path: Path, command: Command, option: str) -> None:
    said = [turn("an undated otter"), turn("an old otter", said_at="2026-10-01T00:00:00Z")]
    command("capture", lines(tmp_path / "a.jsonl", *said), "--home", home, "--no-meaning")
    day = {"--since": "1990-01-01", "--before": "2100-01-01"}[option]
    assert command("forget", option, day, "--yes", "--home", home, "--json").json["changed"] == 1
    assert left(command, home) == {"undated"}


def test_taken_back_is_what_that_one_command_hid_and_nothing_else(command: Command, filled: Path) -> None:
    (first,) = command("recall", "first", "--home", filled, "--json").json["hits"][:1]
    command("forget", first["id"], "--home", filled)
    hidden = command("forget", "--scope", "work", "--yes", "--reason", "old", "--home", filled)
    assert "1 memory forgotten" in hidden.out
    assert "1 was forgotten already" in hidden.out
    undo = shlex.split(hidden.out.splitlines()[-1].partition(": ")[2])
    assert "1 memory found again" in command(*undo[1:]).out
    assert left(command, filled) == {"second", "third", "fourth"}
    assert "nothing is selected" in command(*undo[1:]).out


def test_nothing_is_done_where_nobody_can_be_asked(command: Command, filled: Path) -> None:
    for more in ([], ["--erase"]):
        shown = command("forget", "--scope", "work", *more, "--home", filled)
        assert (shown.code, shown.err) == (2, "")
        assert "the second otter" in shown.out
        nothing = f"nothing was {'erased' if more else 'hidden'}"
        assert shown.out.endswith(f"{nothing}: nobody is there to be asked; --yes does it\n")
        told = command("forget", "--scope", "work", *more, "--home", filled, "--json")
        assert (told.code, told.json["applied"], told.json["memories"]) == (2, False, 2)
        assert told.json["scopes"] == {"work/boat": 1, "work/boat/deck": 1}
    assert len(left(command, filled)) == 4


@pytest.mark.parametrize(("answer", "stays"), [("y\n", 2), ("n\n", 4), ("", 4)])
def test_whoever_sits_there_is_shown_what_goes_and_asked(
    command: Command, filled: Path, monkeypatch: pytest.MonkeyPatch, answer: str, stays: int
) -> None:
    import io

    assert command("recall", "otter", "--scope", "work", "--home", filled).code == 0
    given = io.StringIO(answer)
    given.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", given)
    shown = command("forget", "--scope", "work", "--erase", "--home", filled)
    assert shown.code == 0
    assert "2 memories to be erased, for good, of 1 session" in shown.out
    assert "removed with them: their words in 1 record of what a recall found or an assistant was given\n" in shown.out
    assert "There is no way back. Erase 2 memories?" in shown.out
    assert ("nothing was erased" in shown.out) == (stays == 4)
    monkeypatch.undo()
    assert len(left(command, filled)) == stays


def test_ids_alone_are_erased_and_are_no_memories_any_more(command: Command, filled: Path) -> None:
    (first,) = command("recall", "first", "--home", filled, "--json").json["hits"][:1]
    done = command("forget", first["id"], "--erase", "--yes", "--home", filled, "--json").json
    assert (done["memories"], done["applied"]) == (1, True)
    assert command("forget", first["id"], "--undo", "--home", filled).code == 2
    with mnemic.open(filled) as mind:
        with pytest.raises(NoSuchMemory):
            mind.get([parse_id(first["id"])])
        with pytest.raises(InvalidValue, match="nothing says which"):
            mind.erase(Selection())
        assert mind.survey(Selection(scope="*")).memories == 3


def test_who_interrupts_the_question_is_told_that_nothing_was_erased(
    command: Command, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    class Interrupted(io.StringIO):
        def isatty(self) -> bool:
            return True

        def readline(self, size: int | None = -1, /) -> str:
            raise KeyboardInterrupt

    for more, nothing in ((["--erase"], "nothing was erased"), ([], "nothing was hidden")):
        with monkeypatch.context() as patched:
            patched.setattr("sys.stdin", Interrupted())
            shown = command("forget", "--scope", "work", *more, "--home", filled)
        assert (shown.code, "Interrupted" in shown.err) == (130, True)
        assert shown.out.splitlines()[-1] == nothing
    assert len(left(command, filled)) == 4


def test_a_copy_is_named_once_and_one_that_is_gone_is_not_said_to_be_there(
    command: Command, filled: Path, tmp_path: Path
) -> None:
    kept, gone = tmp_path / "kept.bak", tmp_path / "gone.bak"
    for path in (kept, kept, gone):
        assert command("backup", path, "--replace", "--home", filled).code == 0
    gone.unlink()
    told = command("forget", "--scope", "work", "--erase", "--home", filled, "--json").json
    assert [(one["path"], one["what"], one["there"]) for one in told["copies"]] == [
        (str(gone), "backup", False),
        (str(kept), "backup", True),
    ]
    shown = command("forget", "--scope", "work", "--erase", "--yes", "--home", filled).out
    assert shown.count(f"  backup {kept} of ") == 2, "once before and once after"
    after = shown[shown.index("still there, and not Mnemic's to remove:") :]
    assert str(gone) not in after.split(" made at ")[0]
    at = told["copies"][0]["at"][:16].replace("T", " ")
    assert f"backup made at {gone}, {at}: not there any more" in after


def test_a_copy_of_the_mind_in_the_same_home_is_named(command: Command, filled: Path) -> None:
    with mnemic.open(filled) as mind:
        mind.fork(filled, "twin")
    command("init", "--home", filled, "--mind", "another")
    shown = command("forget", "--scope", "work", "--erase", "--yes", "--home", filled)
    assert "  the mind 'twin', a copy of this one\n" in shown.out
    assert "another" not in shown.out


def test_it_is_not_remembered_again_and_the_answer_says_so(command: Command, home: Path) -> None:
    with mnemic.open(home) as mind:
        kept = mind.remember(SECRET)
        mind.erase(Selection(ids=(kept.id,)))
        again = mind.remember(SECRET)
        assert (again.created, again.erased) == (False, True)
        with pytest.raises(NoSuchMemory):
            mind.get([again.id])
        assert mind.counts().memories == 0
        assert mind.recall("safe").hits == ()
        other = mind.remember("an otter")
    told = command("remember", SECRET, "--home", home)
    assert (told.code, told.out.startswith("not remembered: ")) == (0, True)
    assert "it was erased, and so is not kept again" in told.out
    assert command("remember", SECRET, "--home", home, "--json").json["erased"] is True
    refused = command("correct", str(format_id(other.id)), SECRET, "--home", home)
    assert refused.code == 2
    assert "the same words were erased" in refused.err


@pytest.mark.system
def test_killed_in_the_midst_of_it_the_command_leaves_all_or_nothing(command: Command, filled: Path) -> None:
    draft = filled / "minds" / "default" / ".next"
    process = start("forget", "--scope", "work", "--erase", "--yes", "--home", filled)
    until(lambda: draft.exists() or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left(command, filled) in ({"third", "fourth"}, {"first", "second", "third", "fourth"})
    assert command("forget", "--scope", "*", "--erase", "--yes", "--home", filled).code == 0
    assert left(command, filled) == set()
    assert not draft.exists()


def test_what_a_program_reads_of_it_is_json_to_the_last_field(command: Command, filled: Path) -> None:
    view = json.loads(command("forget", "--scope", "work", "--erase", "--yes", "--home", filled, "--json").out)
    assert view.keys() == {
        *("memories", "forgotten", "size_bytes", "sessions", "scopes", "oldest", "newest", "first", "originals"),
        *("given", "corrected", "copies", "migration_copies", "aside", "minds", "before_bytes", "after_bytes"),
        *("quoted", "spool_files", "applied", "took_s"),
    }
    assert (view["oldest"], view["newest"]) == ("2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z")
    assert [one["text"] for one in view["first"]] == ["the second otter", "the first otter"]


def test_neither_part_of_a_prompt_that_was_kept_whole_comes_back_once_it_is_erased(
    home: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = f"<ide_selection>\n{SECRET}\n</ide_selection>"
    file = lines(
        tmp_path / "a.jsonl",
        claude_turn(f"Look at this.\n{shown}", tmp_path, 1),
        claude_turn(f"Look at that.\n<ide_selection>\n{OTHER}\n</ide_selection>", tmp_path, 2),
    )
    with monkeypatch.context() as earlier:
        earlier.setattr("mnemic.hooks.read.speakers.split_appended", lambda text: (text, ""))
        with mnemic.open(home) as mind:
            assert mind.capture(str(file), embed=False).new == 2
            (whole,) = (one.id for one in mind.log(limit=9).memories if SECRET in one.data.decode())
            mind.erase(Selection(ids=(whole,)))
    again = command("capture", file, "--home", home, "--no-meaning", "--json").json
    assert (again["new"], again["known"], again["erased"]) == (0, 2, 2)
    assert holding(home, SECRET) == {}
