"""Shapes as JSON: the promised names, numbers that a person can read, and texts that any encoder takes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.message import format_id, to_json
from mnemic.actors.shape.messages import Answer, RolesListed, RoleView, Shaped
from mnemic.runtime.api.views import answer_view, shape_view
from tests.runtime.api.test_views import HIT

IDS = tuple(bytes([number]) * 16 for number in range(3))
ANSWER = Answer(role="file", filler="a.py", confidence=0.987654, support=3, memories=IDS)
SHAPED = Shaped(
    hits=(msgspec.structs.replace(HIT, why={"who": 1.0, "about": 0.51237}),),
    answers=(ANSWER,),
    scope="work",
    searched=7,
    degraded=("2 memories wait",),
)


def test_an_answer_has_the_promised_names_and_what_is_not_known_is_not_there() -> None:
    assert answer_view(ANSWER, strict=False) == {
        "role": "file",
        "filler": "a.py",
        "confidence": 0.9877,
        "support": 3,
        "memories": [format_id(one) for one in IDS],
    }
    step = msgspec.structs.replace(ANSWER, role="then", filler="edit python ok", worked=2 / 3, worked_of=3)
    view = answer_view(step, strict=False)
    assert (view["worked"], view["worked_of"]) == (0.6667, 3)
    assert answer_view(step, strict=False, memories=1)["memories"] == [format_id(IDS[0])]
    assert answer_view(msgspec.structs.replace(step, worked=0.0), strict=True, memories=0)["worked"] == 0.0


def test_a_whole_answer_says_why_each_memory_is_in_it() -> None:
    view = shape_view(SHAPED, strict=False, found="git", took_ms=1.2345)
    assert view.keys() == {"hits", "answers", "scope", "scope_found", "searched", "degraded", "took_ms"}
    assert view["hits"][0]["why"] == {"who": 1.0, "about": 0.5124}
    assert (view["scope"], view["scope_found"], view["searched"], view["took_ms"]) == ("work", "git", 7, 1.2)
    assert view["degraded"] == ["2 memories wait"]
    empty = msgspec.structs.replace(SHAPED, hits=(), answers=())
    assert (lambda view: (view["hits"], view["answers"]))(shape_view(empty, strict=True, found="", took_ms=0)) == (
        [],
        [],
    )


@given(st.text(st.characters()))
def test_whatever_fills_a_role_a_strict_encoder_takes_it(filler: str) -> None:
    view: Any = answer_view(msgspec.structs.replace(ANSWER, filler=filler), strict=True)
    assert msgspec.json.decode(msgspec.json.encode(view)) == view


def test_roles_are_listed_with_all_that_is_known_of_them() -> None:
    role = RoleView(name="who", help="Who.", match="exact", decodes=True, fillers=2, samples=("user", "tool"))
    assert json.loads(json.dumps(to_json(RolesListed(roles=(role,), bound=5, pending=1)))) == {
        "roles": [
            {
                "name": "who",
                "help": "Who.",
                "match": "exact",
                "decodes": True,
                "fillers": 2,
                "samples": ["user", "tool"],
            }
        ],
        "bound": 5,
        "pending": 1,
    }
