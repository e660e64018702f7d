"""A flipped bit is turned just once, and what it does to a home or a backup is harmless or named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mnemic.bench.faults import bit_flips
from mnemic.bench.faults.audit import Attack, Audit, attack_row
from mnemic.bench.faults.bit_flips import COMMITTED
from mnemic.bench.faults.scenarios import SPOOLED, TEXTS

ALL = Counter((*TEXTS, *SPOOLED, *COMMITTED))


def test_one_bit_is_turned_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3))
    bit_flips.flip(path, 1)
    bit_flips.flip(path, 24)
    assert path.read_bytes() == b"\x01\0\x80"
    bit_flips.flip(path, 24)
    assert path.read_bytes() == b"\x01\0\0"


@pytest.fixture(scope="module")
def flips(attacked_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Attack]:
    attacks = bit_flips.attacks(lambda: attacked_home, tmp_path_factory.mktemp("flips"), 1, seed=0)
    return {attack.name.removeprefix("flip/"): attack for attack in attacks}


@pytest.mark.system
def test_a_bit_of_the_write_ahead_log_and_one_of_a_backup_are_named(flips: dict[str, Attack]) -> None:
    for name in ("store.db-wal", "backup"):
        row = attack_row(flips[name])
        assert (row["state"], row["tried"], row["named"]) == ("ok", 1, 1), row


@pytest.mark.system
def test_a_bit_of_the_write_ahead_log_of_an_open_mind_is_harmless_or_named(flips: dict[str, Attack]) -> None:
    row = attack_row(flips["open/store.db-wal"])
    assert (row["state"], row["tried"]) == ("ok", 1), row


@pytest.mark.parametrize(
    ("found", "flaws", "named"),
    [
        (Audit(texts=ALL, wrong={"model": "none"}, told=[]), [], False),
        (Audit(texts=ALL - Counter(COMMITTED), wrong={"model": "none"}, told=[]), ["silent"], False),
        (Audit(texts=ALL - Counter(COMMITTED), wrong={"commits": "2 are lost"}, told=[]), [], True),
        (Audit(texts=ALL - Counter(COMMITTED), wrong={}, told=["2 torn"]), [], True),
        (Audit(texts=ALL + Counter(["never said"]), wrong={}, told=["2 torn"]), ["silent"], True),
        (Audit(texts=Counter(), wrong={}, told=["the key is another one's"], refused=True), ["lost"], True),
    ],
)
def test_what_is_gone_and_named_by_nobody_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Audit, flaws: list[str], named: bool
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\0")
    monkeypatch.setattr(bit_flips, "audit", lambda home: found)
    case = bit_flips._look_at_home(tmp_path, path, 1, frozenset({"model"}))
    assert ([flaw.kind for flaw in case.flaws], case.named) == (flaws, named)


@pytest.mark.system
def test_a_bit_that_is_not_there_is_said(flips: dict[str, Attack]) -> None:
    with pytest.raises(ValueError, match=r"key has 256 bits, and none of the number 257"):
        attack_row(flips["key"], 257)
