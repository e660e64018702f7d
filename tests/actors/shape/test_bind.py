"""The settings of binding say which space is bound, and whoever asks is told where something else is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.shape.bind import algebra_from_settings, extraction_version, settings_mismatch, space_from_settings
from mnemic.actors.shape.queries import SpaceRow
from mnemic.hd.roles import ROLES
from mnemic.runtime.engine.settings import Settings

SEED = bytes(32)


def settings(**given: Any) -> dict[str, Any]:
    return Settings({f"binder.{name}": value for name, value in given.items()}).values()


def bound(**given: Any) -> SpaceRow:
    """What is kept once everything was bound under some settings."""
    values = settings(**given)
    space = space_from_settings(SEED, values)
    return SpaceRow(
        stamp=space.stamp,
        dimensions=space.dimensions,
        version=space.version,
        roles=space.roles,
        model="",
        embedding=0,
        reading=extraction_version(values),
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"dimensions": 512}, "binder.dimensions is 512, and 5120 are bound"),
        ({"leave_out": ("who", "date", "workspace")}, "binder.leave_out leaves date, who out, and it is bound"),
        ({"leave_out": ()}, "binder.leave_out leaves workspace in, and nothing bound has it"),
        ({"topics": 1}, "binder.topics, binder.extractor or this version of Mnemic reads memories in another way"),
        ({"extractor": "mine:triples"}, "binder.extractor or this version"),
    ],
)
def test_what_the_settings_say_otherwise_than_what_is_bound_is_told_by_its_name(
    given: dict[str, Any], told: str
) -> None:
    said = settings_mismatch(bound(), settings(**given))
    assert said is not None
    assert told in said
    assert settings_mismatch(bound(**given), settings(**given)) is None
    assert settings_mismatch(None, settings(**given)) is None, "where nothing is bound, nothing is bound otherwise"


def test_of_somebodys_own_binder_nothing_is_told() -> None:
    theirs = settings(dimensions=512) | {"actors.binder": "theirs:Binder"}
    assert settings_mismatch(bound(), theirs) is None


def test_a_role_left_out_that_there_is_none_of_and_a_backend_that_is_not_there_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"'colour': there is no such role"):
        space_from_settings(SEED, settings(leave_out=("colour",)))
    with pytest.raises(InvalidValue, match=r"binder\.backend cannot be 'abacus'"):
        algebra_from_settings(settings(backend="abacus"))
    assert space_from_settings(SEED, settings(leave_out=())).roles == tuple(ROLES)


def test_a_space_of_before_is_told_from_one_of_now_by_any_of_what_it_is_made_of() -> None:
    kept = bound()
    for other in (
        msgspec.structs.replace(kept, dimensions=64),
        msgspec.structs.replace(kept, roles=kept.roles[1:]),
        msgspec.structs.replace(kept, reading="0"),
    ):
        assert settings_mismatch(other, settings()) is not None
