"""Schemas say of a type what the wire writes of its values."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest

from mnemic.actors.kernel.message import Id, Message, Text, Time, to_json
from mnemic.runtime.serve.http.schemas import Schemas


class Berth(msgspec.Struct, frozen=True, array_like=True):
    """Where a boat lies."""

    pier: str
    """Its pier."""
    place: int = 1
    """From the shore."""


class Boat(Message, frozen=True, kw_only=True):
    """A boat; see `mnemic.actors.kernel.message.Message`."""

    id: Id
    """Its id."""
    name: Text = msgspec.field(name="text")
    """What is painted on it."""
    built: Time | None
    """When it was built."""
    berth: Berth
    """Where it lies."""
    moored: tuple[Berth, ...] = ()
    """Where it lay before."""
    weights: dict[str, float] = msgspec.field(default_factory=dict)
    """By part, tonnes."""
    colour: bytes | None = None


BOATS = [
    Boat(id=bytes(16), name=b"Otter", built=0, berth=Berth("north"), weights={"hull": 1.5}, moored=(Berth("east"),)),
    Boat(id=bytes(16), name=b"\xed\xa0\xbd\xed\xb8\x80", built=None, berth=Berth("n", 2), colour=b"\xff"),
]


def schema_of(kind: Any, **options: Any) -> dict[str, Any]:
    """A schema with what it refers to."""
    schemas = Schemas(**({"named": (), "closed": ()} | options))
    return {**schemas.of(kind), "components": {"schemas": schemas.components}}


@pytest.mark.parametrize("boat", BOATS)
def test_what_is_written_fits_the_schema(boat: Boat) -> None:
    jsonschema.validate(to_json(boat, exact=True), schema_of(Boat))


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": 5},
        {"built": 5},
        {"berth": {"pier": "north"}},
        {"berth": [1, 2]},
        {"moored": [{}]},
        {"weights": {"hull": "x"}},
    ],
)
def test_what_would_not_be_taken_does_not_fit(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(to_json(BOATS[0], exact=True) | wrong, schema_of(Boat))


def test_what_is_closed_takes_nothing_else_and_what_is_named_may_say_so() -> None:
    boat = to_json(BOATS[0], exact=True)
    closed = schema_of(Boat, named={Boat}, closed={Boat})
    jsonschema.validate(boat | {"type": "Boat"}, closed)
    jsonschema.validate(boat | {"sails": 2}, schema_of(Boat))
    for stray in ({"sails": 2}, {"type": "Ship"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(boat | stray, closed)


def test_fields_are_described_by_what_stands_after_them_and_types_by_what_they_say() -> None:
    boat = schema_of(Boat)["components"]["schemas"]["Boat"]
    assert boat["description"] == "A boat; see `Message`."
    assert boat["properties"]["text"]["description"] == "What is painted on it."
    assert (boat["properties"]["moored"]["default"], boat["required"]) == ([], ["id", "text", "built", "berth"])


def test_a_type_that_no_message_has_is_an_error() -> None:
    with pytest.raises(TypeError, match="has no schema"):
        schema_of(complex)
