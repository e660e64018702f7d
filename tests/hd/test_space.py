"""A space is one value that can be checked, compared and told from others by its stamp."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mnemic.hd.roles import ROLES
from mnemic.hd.space import Space
from tests.hd.spaces import SEED, space


def test_the_same_space_has_the_same_stamp_wherever_it_is_made() -> None:
    assert space(roles=("who", "date", "size")).stamp == "8bc7f064a1495e27742abc77fab6f433"
    assert space().stamp == Space(seed=SEED).stamp


@pytest.mark.parametrize(
    "change",
    [
        {"seed": bytes(32)},
        {"dimensions": 1024},
        {"version": 99},
        {"roles": ("who", "date")},
        {"roles": tuple(reversed(ROLES))},
        {"model": "beef"},
        {"embedding_dimensions": 12},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_changed_makes_another_stamp(change: dict[str, Any]) -> None:
    assert msgspec.structs.replace(space(384), **change).stamp != space(384).stamp


def test_another_encoder_of_a_role_makes_another_stamp(monkeypatch: pytest.MonkeyPatch) -> None:
    before = space().stamp
    monkeypatch.setitem(ROLES, "size", msgspec.structs.replace(ROLES["size"], encoder="symbol"))
    assert space().stamp != before


def test_the_stamp_does_not_hold_the_seed() -> None:
    assert SEED.hex() not in space().stamp
    assert len(space().stamp) == 32


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seed": b""}, "32 bytes, not 0"),
        ({"seed": b"short"}, "32 bytes, not 5"),
        ({"dimensions": 0}, "multiple of 64 bits, not 0"),
        ({"dimensions": 100}, "multiple of 64 bits, not 100"),
        ({"dimensions": -64}, "multiple of 64 bits, not -64"),
        ({"dimensions": 64 * 10**10}, "at most 1048576 bits, not 640000000000"),
        ({"embedding_dimensions": -1}, "not shorter than 0"),
        ({"roles": ("who", "whom")}, "no role named 'whom'; there are who, to, date"),
        ({"roles": ("who", "date", "who")}, "named twice"),
    ],
)
def test_a_space_that_cannot_be_is_refused_in_one_sentence(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Space(**{"seed": SEED, **wrong})


def test_a_space_has_a_64th_of_its_bits_in_words() -> None:
    assert space().words == 160
    assert space(dimensions=64).words == 1
