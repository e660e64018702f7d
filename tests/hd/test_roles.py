"""Roles are one table, which further ones join by name."""

from __future__ import annotations

import pytest

from mnemic.hd.encoders import ENCODERS, match_kind
from mnemic.hd.roles import ROLES, TIERS, Role, register_role, role_named
from tests.hd.spaces import space


def test_a_role_is_found_by_its_name_and_no_other() -> None:
    for name, role in ROLES.items():
        assert role_named(name) is role
        assert role.name == name
    assert role_named("whom") is None
    assert role_named("") is None


def test_every_role_has_an_encoder_and_decodes_unless_it_is_of_meaning() -> None:
    for role in ROLES.values():
        assert role.encoder in ENCODERS
        assert role.decodes == (match_kind(role.name) != "meaning")
        assert role.tiers
        assert set(role.tiers) <= set(TIERS)
        assert role.help


@pytest.mark.parametrize(
    ("role", "match"), [("who", "exact"), ("file", "exact"), ("date", "near"), ("size", "near"), ("about", "meaning")]
)
def test_fillers_match_as_their_encoder_says(role: str, match: str) -> None:
    assert match_kind(role) == match


def test_a_registered_role_is_in_new_spaces_and_makes_them_others() -> None:
    before = space()
    register_role(Role(name="mood", encoder="symbol", tiers=("episode",), help="How it was said."))
    try:
        assert space().roles == (*before.roles, "mood")
        assert space().stamp != before.stamp
    finally:
        del ROLES["mood"]
    assert space() == before


@pytest.mark.parametrize(
    ("name", "said"), [("who", "already"), ("Mood", "lower case"), ("my mood", "one word"), ("", "one word")]
)
def test_a_role_that_could_not_be_asked_for_is_not_registered(name: str, said: str) -> None:
    before = dict(ROLES)
    with pytest.raises(ValueError, match=said):
        register_role(Role(name=name, encoder="symbol", tiers=("episode",), help="How it was said."))
    assert before == ROLES
