"""What is quarantined holds no secret and nothing private, and what was JSON can be read again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.capture.quarantine import quarantine_change, scrub_payload
from mnemic.actors.kernel.events import HookRecord, to_bytes
from mnemic.actors.kernel.ports import Scrubbed, UndecodedRecord
from mnemic.runtime.secrets.secrets import load_scrub

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PRIVATE = "<private>my own</private>"


def nothing(text: bytes) -> Scrubbed:
    return Scrubbed(text, ())


def wholly(text: bytes) -> Scrubbed:
    """Takes out one word."""
    return Scrubbed(text.replace(b"hunter2", b""), ())


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(document=JSONS, ascii=st.booleans(), indent=st.sampled_from([None, 1]))
def test_what_holds_nothing_of_the_kind_stays_byte_for_byte(document: Any, ascii: bool, indent: int | None) -> None:
    payload = to_bytes(json.dumps(document, ensure_ascii=ascii, indent=indent))
    assert scrub_payload(payload, nothing) == payload


@given(document=JSONS, ascii=st.booleans())
def test_of_json_only_the_texts_are_cleaned_and_it_stays_json(document: Any, ascii: bool) -> None:
    def said(inside: Any, word: str) -> Any:
        if isinstance(inside, str):
            return f"{inside}{word}\ud800"
        if isinstance(inside, list):
            return [said(one, word) for one in inside]
        return {key: said(one, word) for key, one in inside.items()} if isinstance(inside, dict) else inside

    payload = to_bytes(json.dumps(said({"hunter2": document}, "hunter2"), ensure_ascii=ascii))
    left = json.loads(scrub_payload(payload, lambda text: wholly(text) if b'": "' not in text else nothing(text)))
    assert left == said({"hunter2": document}, "")


@pytest.mark.parametrize(
    ("payload", "left"),
    [
        ({"prompt": f"it is {SECRET}."}, {"prompt": "it is [secret: github-pat]."}),
        ({"prompt": [f"a{PRIVATE}b", 1.50, {"<private>": PRIVATE}]}, {"prompt": ["ab", 1.5, {"<private>": ""}]}),
        ({"prompt": "an <private>end \ud800", "b": "c"}, {"prompt": "an ", "b": "c"}),
        (
            {"a": {"password": "tr0ub4dor&3x!"}, "b": "\ud800 \u00e9"},
            {"a": {"password": "[secret: password]"}, "b": "\ud800 \u00e9"},
        ),
    ],
)
def test_secrets_and_what_is_private_go(payload: Any, left: Any) -> None:
    assert json.loads(scrub_payload(json.dumps(payload).encode(), load_scrub())) == left


@pytest.mark.parametrize("before", [b"\xff no JSON: ", b'{"half": "', b"[" * 100_000, b""])
def test_what_is_no_json_is_cleaned_as_the_bytes_it_is(before: bytes) -> None:
    left = scrub_payload(before + f"{SECRET} and {PRIVATE}\n".encode(), load_scrub())
    assert left.startswith(before)
    assert b"[secret: github-pat] and " in left
    assert b"ghp_" not in left
    assert b"my own" not in left


def test_a_rule_that_cuts_a_character_in_two_stops_nothing() -> None:
    left = scrub_payload(to_bytes(json.dumps({"a": "x"})), lambda text: Scrubbed(text.replace(b"x", b"\xc3"), ()))
    assert json.loads(left) == {"a": "\ufffd"}


def test_a_record_and_one_that_was_never_taken_apart_are_both_cleaned() -> None:
    record = HookRecord(id=b"r", assistant="t\ud800", event="e", at=5, cwd="/x", branch=None, payload=b'["hunter2"]')
    kept = quarantine_change(record, "why" * 1000, wholly)
    assert (kept.text, kept.assistant, kept.at, kept.cwd) == (b'[""]', "t\\ud800", 5, "/x")
    assert len(kept.why) == 400
    kept = quarantine_change(UndecodedRecord(id=b"r", why="", body=b"\0hunter2\xff"), "its meta is odd", wholly)
    assert (kept.text, kept.why, kept.at) == (b"\0\xff", "its meta is odd", 0)
