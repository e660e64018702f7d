"""The process holds what opens a mind only where it was unlocked, only in memory, and only as long as it is right."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemic.actors.protocol.errors import DamagedStore, InvalidValue, NotOnRay, Rekeyed
from mnemic.process import Process
from mnemic.runtime.clock import ManualClock, SystemClock
from mnemic.runtime.engine.embedded import EmbeddedEngine
from mnemic.runtime.files.atomic_replace import exclusive
from mnemic.runtime.keys import key_slots as keyring
from mnemic.runtime.keys.keys import Keys, Secrets
from mnemic.runtime.minds.homes import MindFolder, make_mind, open_mind
from mnemic.runtime.minds.rekey import reseal
from mnemic.runtime.minds.run_dir import PROTOCOL, Card, Meeting
from mnemic.runtime.minds.unlocking import Unlocked
from tests.hosted import hosted
from tests.runtime.building import files_of, said

WORDS = "nine books on a shelf"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passphrase that costs nothing."""
    monkeypatch.setattr(keyring, "SCRYPT", (1 << 4, 8, 1))


@pytest.fixture
def mind(tmp_path: Path) -> tuple[MindFolder, Keys]:
    make_mind(tmp_path, "default", SystemClock(), passphrase=WORDS)
    return open_mind(tmp_path, "default", WORDS)


def sent(keys: Keys) -> bytes:
    """A mind's secrets as they are given to the process."""
    return msgspec.json.encode(keys.secrets)


def test_what_was_given_is_held_until_it_is_taken_back_and_never_written(
    mind: tuple[MindFolder, Keys], tmp_path: Path
) -> None:
    before = files_of(tmp_path)
    held = Unlocked(tmp_path)
    assert (held.keys("default"), held.names()) == (None, [])
    held.put("default", sent(mind[1]))
    found = held.keys("default")
    assert found is not None
    assert (found.secrets, held.names()) == (mind[1].secrets, ["default"])
    assert held.take_back("default")
    assert not held.take_back("default")
    assert held.keys("default") is None
    assert files_of(tmp_path) == before


def test_a_key_that_was_changed_since_is_no_key_any_more(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    held = Unlocked(tmp_path)
    held.put("default", sent(mind[1]))
    with exclusive(mind[0].path):
        new = reseal(*mind, passphrase=WORDS)
    assert held.keys("default") is None
    assert held.names() == []
    with pytest.raises(Rekeyed):
        held.put("default", sent(mind[1]))
    held.put("default", sent(new))
    assert held.keys("default") is not None


def test_what_is_no_secret_of_the_mind_is_refused_and_not_repeated(
    mind: tuple[MindFolder, Keys], tmp_path: Path
) -> None:
    held = Unlocked(tmp_path)
    short = Secrets(root=b"short", identities=bytes(32), seed=bytes(32))
    for body in (b"", b"{}", b"[" * 9999, b'"secret words"', msgspec.json.encode(short)):
        with pytest.raises(InvalidValue) as caught:
            held.put("default", body)
        assert "secret words" not in said(caught.value)
        assert caught.value.__cause__ is None
    with pytest.raises(Rekeyed):
        held.put("default", sent(Keys(Secrets.new())))
    assert held.names() == []


def test_only_a_mind_that_is_locked_is_unlocked(tmp_path: Path) -> None:
    make_mind(tmp_path, "default", SystemClock())
    held = Unlocked(tmp_path)
    with pytest.raises(InvalidValue, match="its key file opens it"):
        held.put("default", sent(open_mind(tmp_path, "default")[1]))
    with pytest.raises(DamagedStore):
        held.put("nobody", b"{}")


def test_on_ray_nothing_is_held(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    held = Unlocked(tmp_path, "ray")
    with pytest.raises(NotOnRay):
        held.put("default", sent(mind[1]))
    assert held.names() == []


def test_a_face_that_holds_no_keys_knows_no_such_path(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    with hosted(tmp_path) as face:
        for path in ("/api/unlock", "/api/lock"):
            assert face.post(path).status == 404
        refused = face.post("/api/count")
    assert (refused.status, refused.json["code"]) == (423, "mind_locked")


def test_a_process_that_holds_a_key_does_not_leave_because_nobody_comes(
    mind: tuple[MindFolder, Keys], tmp_path: Path
) -> None:
    clock = ManualClock(1_795_000_000_000_000)
    card = Card(protocol=PROTOCOL, pid=1, folder=str(tmp_path), mode="on-demand", engine="embedded")
    process = Process(tmp_path, card, clock, Meeting(tmp_path), lambda folder, keys: EmbeddedEngine(clock))
    clock.advance(10**6)
    assert process._nobody_comes()
    process._unlocked.put("default", sent(mind[1]))
    assert not process._nobody_comes()
    assert process.card()["unlocked"] == ["default"]
    assert not process._is_locked("default")
    process._unlocked.take_back("default")
    assert process._nobody_comes()
    assert process._is_locked("default")
