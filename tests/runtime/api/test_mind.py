"""A mind, opened: each verb of Python does what it says, with the real model and, where it matters, without one."""

from __future__ import annotations

import json
import logging
import shlex
import shutil
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.errors import (
    ActorFailed,
    ActorStopped,
    AmbiguousFormat,
    InvalidValue,
    MindExists,
    MindMissing,
    NoSuchMemory,
    SourceUnreadable,
    UnknownScope,
)
from mnemic.actors.recall.messages import Recalled
from mnemic.actors.recall.ranking.first_pass import NOT_NATIVE
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.hooks.read.lines import LineSource
from mnemic.open_mind import open_here
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.engine import actor_system
from mnemic.runtime.minds.homes import open_mind
from tests.clocks import ManualClock
from tests.harness import START_US, BagEncoder
from tests.processes.faces import name_scope
from tests.waiting import until

SECRET = "the tea is in the blue tin"
LINES = [
    "We keep the bookings in SQLite, one file per season.",
    "The ferry to the island leaves at seven in the morning.",
    "Maud is allergic to shellfish.",
    "The boiler was serviced and needs a new valve.",
    "Let us paint the fence dark green.",
    "The invoice for the sails was paid on Monday.",
    "Nobody may moor at the north pier in winter.",
    "The spare key hangs behind the barometer.",
    "Our best dinghy is called Plover.",
    "The choir rehearses on Thursdays.",
]
QUESTIONS = ["which database did we choose?", "food that makes somebody ill", "barometer", "what colour is the fence"]


def jsonl(path: Path, texts: list[str], session: str = "s", **fields: Any) -> Path:
    """Write a generic transcript."""
    lines = [{"session": session, "role": "user", "text": text} | fields for text in texts]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def said(recalled: Recalled) -> list[str]:
    return [hit.text for hit in recalled.hits]


@pytest.fixture(scope="module")
def kept_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose mind holds `LINES`, embedded by the real model."""
    home = tmp_path_factory.mktemp("kept")
    with mnemic.open(home / "home", clock=ManualClock(START_US)) as mind:
        mind.capture(jsonl(home / "lines.jsonl", LINES))
    return home / "home"


@pytest.fixture
def real(kept_home: Path, tmp_path: Path) -> Iterator[Mind]:
    """That mind, a copy for each test."""
    shutil.copytree(kept_home, tmp_path / "home")
    with mnemic.open(tmp_path / "home", clock=ManualClock(START_US + 10**6)) as mind:
        yield mind


@pytest.fixture
def bag(monkeypatch: pytest.MonkeyPatch) -> BagEncoder:
    """The small encoder in place of the model."""
    encoder = BagEncoder()
    monkeypatch.setattr(actor_system, "encoder_from_settings", lambda settings: encoder)
    return encoder


@pytest.fixture
def mind(tmp_path: Path, bag: BagEncoder) -> Iterator[Mind]:
    """An empty mind with the small encoder."""
    with mnemic.open(tmp_path / "home", clock=ManualClock(START_US)) as mind:
        yield mind


# --- the main job ----------------------------------------------------------------------------------------------------


def test_three_lines_capture_and_recall_by_meaning(real: Mind) -> None:
    for question, expected in zip(QUESTIONS, (LINES[0], LINES[2], LINES[7], LINES[4]), strict=True):
        assert said(real.recall(question, 3))[0] == expected, question
    assert real.recall(QUESTIONS[0]).degraded == (() if NATIVE else (NOT_NATIVE,))


def test_vectors_made_again_are_the_same_bits_and_give_the_same_answers(real: Mind) -> None:
    def vectors() -> dict[bytes, bytes]:
        folder, keys = open_mind(real._home, "default")
        reader = actor_system.open_reader(folder.store, keys)
        with reader.snapshot() as now:
            (name,) = now.encoders()
            block = now.vectors(name, 0)
            ids = {row: one.id for row, one in zip(block.row, now.load_memories(block.row.tolist()), strict=True)}
            found = {ids[row]: vector.tobytes() for row, vector in zip(block.row, block.vectors, strict=True)}
        reader.close()
        return found

    def answers() -> list[Recalled]:
        return [real.recall(question, 10, observe=False, trace=True) for question in QUESTIONS]

    before = vectors(), answers()
    assert len(before[0]) == len(LINES)
    shown: list[tuple[int, int | None]] = []
    kept = real.counts().seq
    rebuilt = real.rebuild(meaning=True, progress=lambda done, total: shown.append((done, total)))
    assert kept <= rebuilt <= real.counts().seq  # its vectors and its structure come back meanwhile
    assert shown
    assert shown[-1][0] == shown[-1][1]
    assert real.embed().done == len(LINES)
    assert (vectors(), answers()) == before


def test_a_recall_just_after_a_text_was_kept_finds_it_by_its_words_and_then_by_meaning(real: Mind) -> None:
    kept = real.remember("The lighthouse keeper wants a parrot.")
    assert kept.created
    assert said(real.recall("parrot", 1, signals=("lexical",))) == ["The lighthouse keeper wants a parrot."]
    real.embed()
    hits = real.recall("who would like a bird?", 1, signals=("dense",)).hits
    assert [hit.id for hit in hits] == [kept.id]


# --- capture ---------------------------------------------------------------------------------------------------------


def test_a_folder_is_captured_whole_and_again_it_adds_nothing(mind: Mind, tmp_path: Path) -> None:
    folder = tmp_path / "transcripts"
    (folder / "deep").mkdir(parents=True)
    jsonl(folder / "a.jsonl", ["one", "two"], "a", scope="work/shelf")
    jsonl(folder / "deep" / "b.jsonl", ["three"], "b")
    (folder / "notes.txt").write_text("not asked for")
    shown: list[tuple[str, int, int | None]] = []
    report = mind.capture(folder, progress=lambda *step: shown.append(step))
    assert (report.new, report.known, report.files, report.embedded, report.pending) == (3, 0, 2, 3, 0)
    assert report.scopes == ["", "work/shelf"]
    assert [step for step in shown if step[0] == "words"][-1][1:] == (
        sum(p.stat().st_size for p in folder.rglob("*.jsonl")),
    ) * 2
    assert [step for step in shown if step[0] == "meaning"][-1:] in ([], [("meaning", 3, 3)])  # or all was done by then
    again = mind.capture(folder)
    assert (again.new, again.known, again.files, again.scopes) == (0, 3, 2, [])


def test_what_is_only_partly_found_by_meaning_is_counted_whoever_embedded_it(mind: Mind, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", ["word " * 2000, "short"])
    assert mind.capture(path).partly == 1
    assert mind.capture(path).partly == 1
    assert mind.status().counts.partly == 1


def test_without_waiting_for_meaning_it_comes_in_the_background(mind: Mind, tmp_path: Path) -> None:
    report = mind.capture(jsonl(tmp_path / "a.jsonl", ["one", "two"]), embed=False)
    assert report.embedded + report.pending == 2
    assert len(mind.recall("one", signals=("lexical",)).hits) == 1
    until(lambda: not mind.counts().pending)


def test_lines_that_cannot_be_read_are_counted_and_named_and_the_rest_is_kept(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = json.dumps({"session": "s", "role": "user", "text": "one"})
    path.write_text(f"{good}\n{{torn\n[]\n" + "nonsense\n" * 30 + good.replace("one", "two"))
    report = mind.capture(path)
    assert (report.new, report.malformed) == (2, 32)
    assert len(report.malformed_lines) == 20
    assert report.malformed_lines[0][:2] == (str(path), 2)


def test_a_source_at_which_an_actor_fails_is_named_and_the_others_are_kept(
    mind: Mind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FailingSource(LineSource):
        def __iter__(self) -> Any:
            yield from super().__iter__()
            if self.size_bytes != good.stat().st_size:
                raise KeyError("the words of somebody")

    good, bad = jsonl(tmp_path / "a.jsonl", ["one"]), jsonl(tmp_path / "b.jsonl", ["a longer one"])
    monkeypatch.setattr("mnemic.hooks.read.formats.LineSource", FailingSource)
    report = mind.capture([bad, good], embed=False)
    ((path, why),) = report.failed
    assert (report.new, path) == (1, str(bad))
    assert why.startswith("capture failed on CaptureTranscript (KeyError)")
    with pytest.raises(ActorFailed):
        mind.capture(bad)


def test_of_several_sources_the_ones_that_cannot_be_read_are_named_and_an_only_one_is_an_error(
    mind: Mind, tmp_path: Path
) -> None:
    good = jsonl(tmp_path / "a.jsonl", ["one"])
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(b"\xff\xfe\x00" * 10)
    report = mind.capture([tmp_path / "gone.jsonl", good, odd])
    assert report.new == 1
    assert [path for path, _ in report.failed] == [str(tmp_path / "gone.jsonl"), str(odd)]
    with pytest.raises(SourceUnreadable):
        mind.capture(tmp_path / "gone.jsonl")
    with pytest.raises(AmbiguousFormat):
        mind.capture(odd)
    with pytest.raises(InvalidValue):
        mind.capture(good, format="telex")
    with pytest.raises(InvalidValue):
        mind.capture(good, scope="a//b")


def test_an_interruption_in_the_middle_leaves_a_clean_store_and_the_next_capture_finishes(
    tmp_path: Path, bag: BagEncoder
) -> None:
    path = jsonl(tmp_path / "a.jsonl", [f"text {n}" for n in range(700)])

    def interrupt(what: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with mnemic.open(tmp_path / "home") as mind, pytest.raises(KeyboardInterrupt):
        mind.capture(path, progress=interrupt)
    with mnemic.open(tmp_path / "home") as mind:
        report = mind.capture(path)
        assert (report.new, report.known) == (700 - 256, 256)
        assert mind.counts().memories == 700


# --- single memories -------------------------------------------------------------------------------------------------


def test_a_text_is_kept_corrected_and_given_back_whole(mind: Mind) -> None:
    text = "a\udc80\0\r\n" * 50_000
    old = mind.remember(text, scope="work/shelf", role="assistant", kind="decision", speaker="Maud")
    new = mind.remember("short", scope="work/shelf", supersedes=old.id)
    first, second = mind.get([old.id, new.id])
    assert first.data == text.encode("utf-8", "surrogatepass")
    assert (first.superseded_by, second.supersedes, first.kind, first.speaker) == (
        new.id,
        (old.id,),
        "decision",
        "Maud",
    )
    assert (first.assistant, first.session, first.scope, first.found) == ("direct", "direct", "work/shelf", "named")
    assert mind.recall("short", scope="work").hits[0].superseded_by is None
    with pytest.raises(NoSuchMemory):
        mind.get([bytes(16)])
    with pytest.raises(UnknownScope):
        mind.recall("short", scope="play")


def test_what_is_forgotten_is_hidden_and_recovered_by_the_command_that_is_named(mind: Mind, tmp_path: Path) -> None:
    old = mind.remember("the ferry leaves at seven")
    new = mind.remember("the ferry leaves at nine", supersedes=old.id)
    (one,) = mind.forget([new.id], "it was the bus").memories
    assert (one.id, one.changed, one.reason, one.data) == (new.id, True, "it was the bus", b"the ferry leaves at nine")
    assert said(mind.recall("ferry")) == ["the ferry leaves at seven"]
    assert [memory.superseded_by for memory in mind.get([old.id, new.id])] == [None, None]
    assert mind.counts().retired == 1
    undo = shlex.split(mind.undo_command([new.id]))
    assert undo[:3] == ["mnemic", "forget", "--undo"]
    assert undo[3:] == [str(uuid.UUID(bytes=new.id)), "--home", str(tmp_path / "home")]
    with pytest.raises(NoSuchMemory):
        mind.recover([new.id, bytes(16)])
    mind.rebuild()
    assert said(mind.recall("ferry")) == ["the ferry leaves at seven"]
    mind.fork(tmp_path / "copy", "other")
    with mnemic.open(tmp_path / "copy", "other") as copy:
        assert copy.counts().retired == 1
        assert copy.undo_command([new.id]).endswith("--mind other")
    assert mind.recover([new.id]).memories[0].retired_at is None
    assert said(mind.recall("ferry"))[0] == "the ferry leaves at nine"


def test_a_folder_is_known_by_its_project_once_something_was_captured_there(mind: Mind, tmp_path: Path) -> None:
    project = tmp_path / "shelf"
    for folder in (project / ".git" / "objects", project / ".git" / "refs", project / "src"):
        folder.mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    path, place = mind.folder_scope(str(project / "src"))
    assert (path, place.path, place.found) == (None, "shelf", "git")
    mind.remember("one", scope=place)
    assert mind.folder_scope(str(project))[0] == "shelf"
    assert said(mind.recall("one", scope="shelf")) == ["one"]


def test_a_mind_answers_as_it_was_at_any_time_of_its_own_clock(tmp_path: Path, bag: BagEncoder) -> None:
    clock = ManualClock(START_US)
    with mnemic.open(tmp_path, clock=clock) as mind:
        old = mind.remember("the token lasts ten minutes")
        clock.advance(60)
        new = mind.remember("the token lasts an hour", supersedes=old.id)
        assert [hit.id for hit in mind.recall("token").hits] == [new.id, old.id]
        assert [hit.id for hit in mind.recall("token", as_of=START_US).hits] == [old.id]
        assert mind.get([new.id])[0].recorded_at == START_US + 60_000_000


# --- without a model, and with a broken one --------------------------------------------------------------------------


def test_without_a_model_everything_works_by_words_and_everything_says_so(tmp_path: Path) -> None:
    (tmp_path / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere/at/all"\n')
    with mnemic.open(tmp_path) as mind:
        report = mind.capture(jsonl(tmp_path / "a.jsonl", LINES))
        assert (report.new, report.embedded, report.pending) == (10, 0, 10)
        assert report.meaning_error is not None
        assert "/nowhere/at/all" in report.meaning_error
        recalled = mind.recall("barometer")
        assert said(recalled)[0] == LINES[7]
        assert recalled.degraded[0].endswith("Words alone answered.")
        degraded = mind.status().degraded
        assert any("/nowhere/at/all" in line for line in degraded)
        assert any("10 memories are found by their words only" in line for line in degraded)


def test_what_an_actor_stumbles_over_is_named_in_status_and_never_quoted(
    mind: Mind, bag: BagEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mind.remember(SECRET)
    mind.embed()
    bag.chokes_on = lambda text: RuntimeError(SECRET)
    recalled = mind.recall("tea tin")
    assert said(recalled) == [SECRET]
    status = mind.status()
    health = {actor.actor: actor for actor in status.actor_system.actors}
    assert health["embedder"].failures == 1
    assert health["embedder"].cause.startswith("RuntimeError at encode")
    assert SECRET not in repr(status) + repr(recalled.degraded) + caplog.text


def test_status_counts_what_is_there(mind: Mind, tmp_path: Path) -> None:
    mind.capture(jsonl(tmp_path / "a.jsonl", ["one", "two"], scope="work/shelf"))
    status = mind.status()
    assert (status.counts.memories, status.counts.embedded, status.mind) == (2, 2, "default")
    assert status.actor_system.engine == "embedded"
    assert status.store_bytes > 0
    assert [actor.actor for actor in status.actor_system.actors] == [
        *("store", "embedder", "binder", "retriever", "capture", "communities", "knowledge", "consolidator")
    ]
    assert status.actor_system.dead_letters == 0
    view = mind.status_view()
    assert json.loads(json.dumps(view))["counts"]["memories"] == 2


def test_following_embeds_what_another_process_left(tmp_path: Path, bag: BagEncoder) -> None:
    with mnemic.open(tmp_path) as one, mnemic.open(tmp_path) as other:
        bag.chokes_on = lambda text: RuntimeError("the device is away")
        one.remember("the kettle is on")
        assert said(other.recall("kettle", signals=("lexical",))) == ["the kettle is on"]
        bag.chokes_on = lambda text: None
        other.embed_in_background()
        until(lambda: not one.counts().pending)


# --- opening, forking, closing ---------------------------------------------------------------------------------------


def test_a_mind_is_made_where_there_is_none_only_when_that_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(MindMissing):
        open_here(tmp_path / "home", create=False)
    assert not (tmp_path / "home").exists()
    with pytest.raises(InvalidValue, match="no such engine"):
        mnemic.open(tmp_path / "home", engine="steam")
    with pytest.raises(InvalidValue):
        mnemic.open(tmp_path / "home", mind="../elsewhere")


def test_an_argument_of_another_type_is_named(mind: Mind) -> None:
    wrong: dict[str, Any] = {"session": 3}
    for verb in (mind.recall, mind.remember):
        with pytest.raises(InvalidValue, match="session cannot be 3: it is a whole number") as error:
            verb("an otter", **wrong)
        assert error.value.remedy_text == "Give a text."


def test_a_copy_holds_what_there_was_and_goes_its_own_way(mind: Mind, tmp_path: Path) -> None:
    mind.remember("one")
    seq = mind.counts().seq
    mind.remember("two")
    mind.fork(tmp_path / "lab", "then", at_seq=seq)
    mind.fork(tmp_path / "lab", "now")
    with pytest.raises(MindExists):
        mind.fork(tmp_path / "lab", "now")
    with pytest.raises(InvalidValue):
        mind.fork(tmp_path / "lab", "never", at_seq=10**6)
    with mnemic.open(tmp_path / "lab", "then") as then, mnemic.open(tmp_path / "lab", "now") as now:
        assert (then.counts().memories, now.counts().memories) == (1, 2)
        then.remember("three")
        assert now.recall("three", signals=("lexical",)).hits == ()


def test_two_copies_of_one_seed_and_clock_give_the_same_ids(mind: Mind, tmp_path: Path) -> None:
    ids = []
    for name in ("one", "two"):
        mind.fork(tmp_path / "lab", name, at_seq=0)
        with mnemic.open(tmp_path / "lab", name, clock=ManualClock(START_US), seed=b"a seed") as copy:
            copy.capture(jsonl(tmp_path / "a.jsonl", ["yes", "no", "yes"]))
            ids.append([one.id for hit in copy.recall("yes no", 10).hits for one in (hit, *hit.same)])
    assert len(set(ids[0])) == 3
    assert ids[0] == ids[1]
    with mnemic.open(tmp_path / "lab", "one", clock=ManualClock(START_US), seed=b"another") as copy:
        assert copy.remember("yes").id not in ids[0]


def test_closing_twice_is_closing_once_ends_all_threads_and_refuses_what_comes_later(
    tmp_path: Path, bag: BagEncoder
) -> None:
    before = set(threading.enumerate())
    mind = mnemic.open(tmp_path)
    mind.remember("one")
    mind.close()
    mind.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(ActorStopped):
        mind.recall("one")


def test_what_was_recalled_last_is_in_the_log_when_the_mind_is_closed_at_once(tmp_path: Path, bag: BagEncoder) -> None:
    with mnemic.open(tmp_path) as mind:
        mind.remember("one")
        mind.embed()
        mind.bind()
        seq = mind.counts().seq
        mind.recall("one")
    with mnemic.open(tmp_path) as mind:
        assert mind.counts().seq == seq + 1


def test_a_correction_goes_where_what_it_replaces_is_and_nowhere_else(mind: Mind) -> None:
    old = mind.remember("the quay is dry", scope="harbour")
    with pytest.raises(InvalidValue, match="another scope"):
        mind.remember("the quay is wet", scope="workshop", supersedes=old.id)
    new = mind.remember("the quay is wet", supersedes=old.id)
    assert new.scope == "harbour"
    assert [hit.id for hit in mind.recall("quay", scope="harbour/").hits] == [new.id, old.id]


def test_a_line_whose_folder_has_broken_settings_is_named_and_the_rest_is_kept(mind: Mind, tmp_path: Path) -> None:
    broken = name_scope(tmp_path / "home", tmp_path / "broken", "mended")
    (broken / ".mnemic.toml").write_text("scope = [")
    line = {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "a buoy"}, "cwd": str(tmp_path)}
    lines = [line, line | {"cwd": str(broken), "message": {"role": "user", "content": "a lamp"}}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    report = mind.capture(tmp_path / "s.jsonl")
    assert (report.new, report.malformed) == (1, 1)
    (broken / ".mnemic.toml").write_text("scope = 'mended'")
    with mnemic.open(tmp_path / "home") as again:
        assert again.capture(tmp_path / "s.jsonl").scopes == ["mended"]
