"""In Python: a locked mind opens with its passphrase, stays what it is by another key, and asks nobody in vain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic import compose
from mnemic.actors.kernel.errors import InvalidValue, KeyMismatch, MindLocked, NotServed, StoreBusy, WrongPassphrase
from mnemic.open_mind import open_served
from mnemic.runtime.api import lock
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.files import atomic_replace
from mnemic.runtime.keys.key_slots import format_recovery_key, is_recovery_key
from mnemic.runtime.minds import ask_passphrase
from mnemic.runtime.minds.homes import create_mind, open_mind
from tests.processes.faces import lines, turn
from tests.processes.serving import serving

WORDS = "nine books on a shelf"
OTHER = "ten jars on a sill"
RECOVERY = bytes(range(32))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What somebody at a terminal answers, question by question."""
    answers: list[str] = []
    monkeypatch.setattr(ask_passphrase, "is_interactive", lambda: True)
    monkeypatch.setattr(ask_passphrase, "prompt_hidden", lambda prompt: answers.pop(0))
    yield answers
    assert answers == []


def test_a_passphrase_makes_and_opens_a_mind(home: Path) -> None:
    with mnemic.open(home, passphrase=WORDS) as mind:
        mind.remember("the heron stands on the pier")
    with mnemic.open(home, passphrase=WORDS) as mind:
        assert mind.recall("heron").hits[0].data == b"the heron stands on the pier"
    with pytest.raises(MindLocked):
        mnemic.open(home)
    with pytest.raises(WrongPassphrase):
        mnemic.open(home, passphrase=OTHER)
    with pytest.raises(InvalidValue, match="too short"):
        mnemic.open(home, "another", passphrase="short")
    assert not (home / "minds" / "another").exists()


def test_a_mind_goes_on_beneath_the_object_that_changes_its_key(home: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "said.jsonl", turn("an otter swims"), turn("an otter swims"))
    with mnemic.open(home) as mind:
        heron = mind.remember("the heron stands on the pier", session="s")
        assert mind.capture(source, embed=False).new == 2
        made = mind.rekey(recovery=True)
        assert made.key == home / "minds" / "default" / "key"
        assert made.recovery is not None
        assert is_recovery_key(made.recovery)
        again = mind.capture(source, embed=False)
        assert (again.new, again.known) == (0, 2), "it is known by the same identities"
        locked = mind.rekey(passphrase=WORDS)
        assert (locked.key, locked.recovery == made.recovery) == (None, False)
        assert mind.recall("heron").hits[0].id == heron.id
        assert mind.rekey().key is None, "it keeps its passphrase"
    with mnemic.open(home, passphrase=WORDS) as mind:
        assert mind.rekey(key_file=True).key is not None
    with mnemic.open(home) as mind:
        assert mind.recall("heron").hits[0].id == heron.id


def test_a_new_recovery_key_is_told_though_the_process_does_not_take_the_new_keys(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NotServed(home=str(home), why="it ended", log="")

    create_mind(home, "default", SystemClock(), passphrase=WORDS)
    monkeypatch.setattr(lock, "is_unlocked", lambda *_: True)
    monkeypatch.setattr(lock, "unlock", refuse)
    keys = open_mind(home, "default", WORDS)[1]
    done = lock.rekey(home, "default", keys, passphrase=OTHER, recovery=True)
    assert done.recovery is not None
    assert (done.unlocked, "it ended" in (done.not_unlocked or "")) == (False, True)
    open_mind(home, "default", done.recovery)
    with mnemic.open(home, passphrase=OTHER) as mind:
        assert mind.rekey(passphrase=WORDS).recovery is not None


def test_a_mind_whose_key_is_changed_while_it_is_opened_is_opened_by_the_new_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_mind(home, "default", SystemClock())
    find, times = compose.open_or_make_mind, []

    def late(*given: Any, **named: Any) -> Any:
        folder, keys = find(*given, **named)
        if len(times) < changes:
            times.append(lock.rekey(home, "default", keys))
        return folder, keys

    monkeypatch.setattr(compose, "open_or_make_mind", late)
    changes = 1
    with mnemic.open(home) as mind:
        assert mind.counts().memories == 0
    changes = 99
    with pytest.raises(KeyMismatch, match="another one by now"):
        mnemic.open(home)
    assert len(times) == 4, "nobody tries for ever"


def test_what_cannot_be_changed_leaves_the_mind_open_as_it_was(home: Path) -> None:
    with mnemic.open(home) as mind:
        heron = mind.remember("the heron stands on the pier")
        check = open_mind(home, "default")[1].check
        for wrong in ({"passphrase": "short"}, {"passphrase": WORDS, "key_file": True}):
            with pytest.raises(InvalidValue):
                mind.rekey(**wrong)  # type: ignore[arg-type]
        assert mind.recall("heron").hits[0].id == heron.id
    assert open_mind(home, "default")[1].check == check


def test_one_that_was_opened_by_its_recovery_key_wants_a_new_passphrase(home: Path) -> None:
    create_mind(home, "default", SystemClock(), passphrase=WORDS, recovery=RECOVERY)
    with mnemic.open(home, passphrase=format_recovery_key(RECOVERY)) as mind:
        with pytest.raises(InvalidValue, match="not known here"):
            mind.rekey()
        told = mind.rekey(passphrase=OTHER)
        assert told.recovery not in (None, format_recovery_key(RECOVERY))
    mnemic.open(home, passphrase=OTHER).close()


def test_whoever_has_a_mind_open_keeps_its_key_from_being_changed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "mnemic.runtime.api.verbs.lock_exclusive", lambda path: atomic_replace.lock_exclusive(path, 0.1)
    )
    with mnemic.open(home), mnemic.open(home) as mind:
        check = open_mind(home, "default")[1].check
        with pytest.raises(StoreBusy):
            mind.rekey()
        assert mind.counts().memories == 0
    assert open_mind(home, "default")[1].check == check


def test_a_fork_of_a_locked_mind_is_locked_by_the_same_passphrase(home: Path, tmp_path: Path) -> None:
    with mnemic.open(home, passphrase=WORDS) as mind:
        mind.remember("the heron stands on the pier")
        mind.fork(tmp_path / "lab")
    with pytest.raises(MindLocked):
        mnemic.open(tmp_path / "lab")
    with mnemic.open(tmp_path / "lab", passphrase=WORDS) as lab:
        assert lab.counts().memories == 1


@pytest.mark.system
def test_what_opened_a_mind_here_unlocks_it_for_everybody(home: Path) -> None:
    with mnemic.open(home, passphrase=WORDS) as mind, serving(home):
        heron = mind.remember("the heron stands on the pier")
        served = open_served(home, "default", SystemClock(), create=False)
        assert served is not None
        with pytest.raises(MindLocked):
            served.recall("heron")
        assert served.is_locked()
        mind.unlock()
        assert not served.is_locked()
        assert served.recall("heron").hits[0].id == heron.id
        assert mind.lock()
        assert not mind.lock()
        with pytest.raises(MindLocked):
            served.recall("heron")
        assert mind.recall("heron").hits[0].id == heron.id


# --- asking ----------------------------------------------------------------------------------------------------------


def test_nobody_is_asked_where_it_is_not_locked_or_what_is_given_opens_it(home: Path, asked: list[str]) -> None:
    create_mind(home, "plain", SystemClock())
    assert ask_passphrase.keys_for(home, "plain")
    create_mind(home, "default", SystemClock(), passphrase=WORDS)
    assert ask_passphrase.keys_for(home, "default", passphrase=WORDS)
    with pytest.raises(WrongPassphrase):
        ask_passphrase.keys_for(home, "default", passphrase=OTHER)


def test_whoever_sits_at_the_terminal_is_asked_three_times_at_most(
    home: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    create_mind(home, "default", SystemClock(), passphrase=WORDS, recovery=RECOVERY)
    asked += [OTHER, WORDS]
    found = ask_passphrase.keys_for(home, "default")[1]
    asked += [OTHER, "", format_recovery_key(RECOVERY)]
    assert ask_passphrase.keys_for(home, "default")[1].check == found.check
    asked += [OTHER] * 3
    with pytest.raises(WrongPassphrase):
        ask_passphrase.keys_for(home, "default")
    assert capsys.readouterr().err.count("not the passphrase") == 5


def test_without_a_terminal_nobody_is_asked(home: Path) -> None:
    create_mind(home, "default", SystemClock(), passphrase=WORDS)
    with pytest.raises(MindLocked) as caught:
        ask_passphrase.keys_for(home, "default")
    assert f"`mnemic unlock --home {home}`" in caught.value.remedy_text
    create_mind(home, "birds", SystemClock(), passphrase=WORDS)
    with pytest.raises(MindLocked) as caught:
        ask_passphrase.keys_for(home, "birds")
    assert f"`mnemic unlock --home {home} --mind birds`" in caught.value.remedy_text
