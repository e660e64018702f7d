"""The doctor tells a locked mind from a broken one, and takes a lost key header from its copy where that is right."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import DamagedStore, KeyMismatch
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor import mind as mind_checks
from mnemic.runtime.doctor.checks import Check
from mnemic.runtime.files.atomic_replace import lock_exclusive
from mnemic.runtime.keys.keys import Keys, generate_key
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.minds.rekey import rekey_mind
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import apply
from tests.runtime.targets import target_of

CLOCK = SystemClock()
WORDS = "nine books on a shelf"


def a_mind(home: Path, passphrase: str | None = None) -> tuple[MindFolder, Keys]:
    create_mind(home, "default", CLOCK, passphrase=passphrase)
    folder, keys = open_mind(home, "default", passphrase)
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, added(1))
    return folder, keys


def checks(home: Path, keys: Keys | None = None) -> dict[str, Check]:
    """What is said of key, key header and store."""
    target = target_of(home, keys=keys)
    found = [*mind_checks.check_key(target), *mind_checks.check_store(target)]
    return {check.name: check for check in found}


def test_a_locked_mind_is_no_broken_one(tmp_path: Path) -> None:
    _, keys = a_mind(tmp_path, WORDS)
    seen = checks(tmp_path)
    assert {name: check.state for name, check in seen.items()} == {"key": "advice"}
    assert "locked by its passphrase" in seen["key"].detail
    said = checks(tmp_path, keys)
    assert {name: check.state for name, check in said.items()} == {"key": "ok", "store": "ok", "words": "ok"}


@pytest.mark.parametrize("content", [None, b"", b"{"])
def test_a_lost_key_header_of_a_locked_mind_is_taken_from_its_copy(tmp_path: Path, content: bytes | None) -> None:
    folder, keys = a_mind(tmp_path, WORDS)
    before = folder.key_header.read_bytes()
    folder.key_header.unlink() if content is None else folder.key_header.write_bytes(content)
    assert checks(tmp_path)["mind"].repairable
    mind_checks.rewrite_key_header(target_of(tmp_path))
    assert folder.key_header.read_bytes() == before
    assert open_mind(tmp_path, "default", WORDS)[1].check == keys.check


def test_a_copy_that_is_not_this_key_s_is_no_key_header(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    old_copy = folder.key_header_copy.read_bytes()
    with lock_exclusive(folder.path):
        rekey_mind(folder, keys)
    folder.key_header.unlink()
    folder.key_header_copy.write_bytes(old_copy)
    assert not any(check.repairable for check in checks(tmp_path).values())
    with pytest.raises(DamagedStore):
        mind_checks.rewrite_key_header(target_of(tmp_path))
    assert not folder.key_header.exists()


def test_another_key_file_gets_no_key_header_of_its_own(tmp_path: Path) -> None:
    folder, _ = a_mind(tmp_path)
    header = folder.key_header.read_bytes()
    folder.key.write_bytes(generate_key())
    assert checks(tmp_path)["key"].state == "wrong"
    with pytest.raises(KeyMismatch):
        mind_checks.rewrite_key_header(target_of(tmp_path))
    assert folder.key_header.read_bytes() == header
