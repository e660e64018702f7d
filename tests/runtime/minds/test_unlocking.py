"""The process holds what opens a mind only where it was unlocked, only in memory, and only as long as it is right."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemic.actors.kernel.errors import DamagedStore, InvalidValue, NotOnRay, Rekeyed
from mnemic.process import ServerProcess
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.engine import EmbeddedEngine
from mnemic.runtime.files.atomic_replace import lock_exclusive
from mnemic.runtime.keys.keys import Keys, Secrets
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.minds.rekey import rekey_mind
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo
from mnemic.runtime.minds.unlocking import UnlockedKeys
from tests.clocks import ManualClock
from tests.runtime.building import files_of, said

WORDS = "nine books on a shelf"


@pytest.fixture
def mind(tmp_path: Path) -> tuple[MindFolder, Keys]:
    create_mind(tmp_path, "default", SystemClock(), passphrase=WORDS)
    return open_mind(tmp_path, "default", WORDS)


def sent(keys: Keys) -> bytes:
    """A mind's secrets as they are given to the process."""
    return msgspec.json.encode(keys.secrets)


def test_what_was_given_is_held_until_it_is_taken_back_and_never_written(
    mind: tuple[MindFolder, Keys], tmp_path: Path
) -> None:
    before = files_of(tmp_path)
    held = UnlockedKeys(tmp_path)
    assert (held.get("default"), held.minds()) == (None, [])
    held.add("default", sent(mind[1]))
    found = held.get("default")
    assert found is not None
    assert (found.secrets, held.minds()) == (mind[1].secrets, ["default"])
    assert held.remove("default")
    assert not held.remove("default")
    assert held.get("default") is None
    assert files_of(tmp_path) == before


def test_a_key_that_was_changed_since_is_no_key_any_more(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    held = UnlockedKeys(tmp_path)
    held.add("default", sent(mind[1]))
    with lock_exclusive(mind[0].path):
        new = rekey_mind(*mind, passphrase=WORDS)
    assert held.get("default") is None
    assert held.minds() == []
    with pytest.raises(Rekeyed):
        held.add("default", sent(mind[1]))
    held.add("default", sent(new))
    assert held.get("default") is not None


def test_what_is_no_secret_of_the_mind_is_refused_and_not_repeated(
    mind: tuple[MindFolder, Keys], tmp_path: Path
) -> None:
    held = UnlockedKeys(tmp_path)
    short = Secrets(root=b"short", identities=bytes(32), seed=bytes(32))
    for body in (b"", b"{}", b"[" * 9999, b'"secret words"', msgspec.json.encode(short)):
        with pytest.raises(InvalidValue) as caught:
            held.add("default", body)
        assert "secret words" not in said(caught.value)
        assert caught.value.__cause__ is None
    with pytest.raises(Rekeyed):
        held.add("default", sent(Keys(Secrets.generate())))
    assert held.minds() == []


def test_only_a_mind_that_is_locked_is_unlocked(tmp_path: Path) -> None:
    create_mind(tmp_path, "default", SystemClock())
    held = UnlockedKeys(tmp_path)
    with pytest.raises(InvalidValue, match="its key file opens it"):
        held.add("default", sent(open_mind(tmp_path, "default")[1]))
    with pytest.raises(DamagedStore):
        held.add("nobody", b"{}")


def test_on_ray_nothing_is_held(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    held = UnlockedKeys(tmp_path, "ray")
    with pytest.raises(NotOnRay):
        held.add("default", sent(mind[1]))
    assert held.minds() == []


def test_a_process_that_holds_a_key_does_not_leave_because_nobody_comes(
    mind: tuple[MindFolder, Keys], tmp_path: Path
) -> None:
    clock = ManualClock(1_795_000_000_000_000)
    header = ServerInfo(protocol=PROTOCOL, pid=1, folder=str(tmp_path), mode="on-demand", engine="embedded")
    process = ServerProcess(tmp_path, header, clock, RunDir(tmp_path), lambda folder, keys: EmbeddedEngine(clock))
    clock.advance(10**6)
    assert not process._is_idle()  # nobody has looked yet whether hooks kept something
    process._drainer.poll()
    assert process._is_idle()
    process._unlocked.add("default", sent(mind[1]))
    assert not process._is_idle()
    assert process.server_info()["unlocked"] == ["default"]
    assert not process._is_locked("default")
    process._unlocked.remove("default")
    assert process._is_idle()
    assert process._is_locked("default")
