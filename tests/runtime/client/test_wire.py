"""What crosses between a command and the home's process arrives as it was sent, and nothing else crosses."""

from __future__ import annotations

import functools
import json
import string
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.brief import messages as brief_messages
from mnemic.actors.capture import forget_messages
from mnemic.actors.capture import messages as capture_messages
from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.communities import messages as community_messages
from mnemic.actors.kernel import errors as tree
from mnemic.actors.kernel.errors import BadInput, InvalidValue, MnemicError, StoreError
from mnemic.actors.kernel.events import to_bytes
from mnemic.actors.kernel.message import Id, Text, Time
from mnemic.actors.kernel.times import FixedZone
from mnemic.actors.knowledge import messages as knowledge_messages
from mnemic.actors.log import messages as log_messages
from mnemic.actors.meaning import messages as meaning_messages
from mnemic.actors.recall import messages as recall_messages
from mnemic.actors.recall.messages import GetMemories, Recall
from mnemic.actors.scopes import messages as scope_messages
from mnemic.actors.shape import messages as shape_messages
from mnemic.actors.sleep import messages as sleep_messages
from mnemic.actors.sleep.messages import Sleep
from mnemic.actors.store import messages as store_messages
from mnemic.actors.store.messages import Apply
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import error_view
from mnemic.runtime.client import wire
from mnemic.runtime.client.wire import (
    ASK_MESSAGES,
    TELL_MESSAGES,
    decode,
    decode_error,
    decode_message,
    encode,
    encode_error,
    message_path,
)

TEXTS = st.text(st.characters())  # lone surrogates too
KINDS = sorted({*ASK_MESSAGES.values(), *TELL_MESSAGES.values()}, key=message_path)
MODULES = (
    *(
        recall_messages,
        capture_messages,
        store_messages,
        meaning_messages,
        brief_messages,
        log_messages,
        scope_messages,
        forget_messages,
    ),
    *(community_messages, knowledge_messages, shape_messages),
    sleep_messages,
)
MESSAGES = {
    name
    for module in MODULES
    for name, one in vars(module).items()
    if isinstance(one, type) and one.__module__ == module.__name__ and not name.startswith("_")
}
ANSWERS = [wire._ANSWERS[name] for name in sorted(wire._ANSWERS)]


@functools.cache
def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type that a message's field has."""
    plain = {
        str: TEXTS,
        bytes: st.binary(max_size=40),
        int: st.integers(-(1 << 63), (1 << 63) - 1),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        type(None): st.none(),
    }
    if hint in plain:
        return plain[hint]
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return {Id: st.binary(min_size=16, max_size=16), Text: TEXTS.map(to_bytes), Time: plain[int]}[hint]
    if kind is Literal:
        return st.sampled_from(inner)
    if kind in (Union, types.UnionType):
        return st.one_of([values(one) for one in inner])
    if kind is tuple and inner[-1:] == (...,):
        return st.lists(values(inner[0]), max_size=3).map(tuple)
    if kind is tuple:
        return st.tuples(*map(values, inner))
    if kind is dict:
        return st.dictionaries(values(inner[0]), values(inner[1]), max_size=3)
    hints = get_type_hints(hint, include_extras=True)
    return st.builds(hint, **{name: values(hints[name]) for name in hint.__struct_fields__})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(data=st.data())
def test_a_message_arrives_as_it_was_sent(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    message = data.draw(values(kind))
    assert decode_message(kind, encode(message)) == message


@pytest.mark.parametrize("kind", ANSWERS)
@settings(max_examples=8)
@given(data=st.data())
def test_an_answer_arrives_as_it_was_sent(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    answer = data.draw(values(kind))
    assert decode(json.loads(encode(answer))) == answer
    assert encode(answer).isascii()


def test_no_answer_is_none() -> None:
    assert decode(json.loads(encode(None))) is None


def test_what_writes_past_the_capturing_never_crosses() -> None:
    assert Apply not in ASK_MESSAGES.values()
    assert Apply not in TELL_MESSAGES.values()
    with pytest.raises(ValueError, match="no answer"):
        decode({"type": "Apply"})
    with pytest.raises(ValueError, match="no answer"):
        decode(["Recalled"])


def test_every_message_is_either_a_faces_or_the_actors_own() -> None:
    inside = {"Apply", "Checkpoint", "EmbedQuery", "EmbedWords", "Rerank", "VectorsChanged"}
    inside |= {"CommunitiesChanged", "MendLabels", "LabelsMended"}
    asked = {kind.__name__ for kind in (*ASK_MESSAGES.values(), *TELL_MESSAGES.values(), *ANSWERS)}
    parts = {
        "Hit",
        "SameMemory",
        "AddOutcome",
        "Memory",
        "Applied",
        "Checkpointed",
        "LostTransactions",
        "QueryEmbedded",
        "WordsEmbedded",
        "Reranked",
        "ScopeCount",
        "Candidate",
    }
    parts |= {
        "Answer",
        "RoleView",
        "Retirement",
        "ScopeInfo",
        "Selection",
        "BackupCopy",
    }
    parts |= {
        "MemoryEntry",
        "Delivery",
        "DeliveredMemory",
        "RelatedMemory",
        "MemoryDetail",
        "Use",
        "DeliveryCount",
        "ProjectUse",
    }
    parts |= {"CommunityView", "CommunityEvent", "CommunityNeighbour", "CommunityRole"}
    parts |= {"NightView", "NightChange", "Digest", "DigestSentence", "DerivedView", "ProfileEntry"}
    parts |= {"Fact", "FactRef", "Conflict", "Entity", "EntityName", "EntityNeighbour"}
    parts |= {"BriefingSources", "FailedCall", "LastSession", "Quote", "QuotedPair", "UnresolvedFailure"}
    assert asked | inside | parts == MESSAGES


def test_all_that_a_mind_asks_can_be_asked_from_outside() -> None:
    verbs = [verb for kind in Mind.__mro__ for verb in vars(kind).values() if hasattr(verb, "__code__")]
    named = {name for verb in verbs for name in verb.__code__.co_names}
    crossing = {kind.__name__ for kind in (*ASK_MESSAGES.values(), *TELL_MESSAGES.values(), *ANSWERS)}
    assert named & MESSAGES <= crossing | {"SignalName", "Memory"}


def test_names_in_paths_are_lower_case_with_dashes() -> None:
    assert message_path(CaptureText) == "capture-text"
    assert message_path(Recall(query="x")) == "recall"
    assert ASK_MESSAGES["capture-text"] is CaptureText


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"\xff\xfe",
        b"[]",
        b'"recall"',
        b"{}",
        b"[" * 100_000,
        b'{"query": 1}',
        b'{"query": "x", "k": "many"}',
        b'{"query": "x", "k": NaN}',
        b'{"query": "x", "k": Infinity}',
        b'{"query": "x", "k": 1e999}',
        b'{"query": "x", "k": 9223372036854775808}',
        b'{"query": "x", "k": ' + b"9" * 5000 + b"}",
        b'{"query": "x", "shape": "round"}',
        b'{"query": "x", "' + b"shape" * 50_000 + b'": 1}',
        b'{"query": "x", "type": "Apply"}',
    ],
)
def test_a_body_that_is_no_such_message_is_refused_with_a_sentence(body: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        decode_message(Recall, body)
    said = f"{caught.value} {caught.value.remedy_text}"
    assert len(said) < 1_000
    for unsaid in ("\n", "'this'", "`", "$"):
        assert unsaid not in said


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (Recall, b"nonsense", "The body cannot be taken: it is no JSON. Give one JSON object."),
        (Recall, b"[]", "The body cannot be taken: it is no JSON object. Give one JSON object."),
        (Recall, b"{}", "recall was called without 'query', which it needs. Give it; what may be given: query, k, "),
        (Recall, b'{"query": "x", "scop": 1}', "recall takes no argument 'scop'. Did you mean 'scope'? What may be "),
        (Recall, b'{"query": "x", "type": "Take"}', "type cannot be 'Take': recall is asked. Give Recall."),
        (Recall, b'{"query": "x", "k": "many"}', "k cannot be 'many': it is a text. Give a whole number."),
        (Recall, b'{"query": "x", "since": "soon"}', "'soon' is no time"),
        (GetMemories, b'{"ids": ["%"]}', "There is no memory '%'"),
        (GetMemories, b'{"ids": [7]}', "ids[0] cannot be 7: it is a whole number. Give bytes."),
        (Sleep, b'{"run": "n", "seed": "%", "budget_s": 1}', "seed cannot be '%': it is no base64. Give base64."),
        (Sleep, b'{"run": "n", "seed": "\\ud83d", "budget_s": 1}', "The body cannot be taken: it has half a surrogate"),
    ],
)
def test_what_is_wrong_with_a_body_is_named(kind: type[msgspec.Struct], body: bytes, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        decode_message(kind, body)
    assert f"{caught.value} {caught.value.remedy_text}".startswith(said)


# --- errors ----------------------------------------------------------------------------------------------------------

ERRORS = [getattr(tree, name) for name in tree.__all__]


def example(kind: type[MnemicError], text: str = "ein {Ding} \ud83d") -> MnemicError:
    """One of a kind, with an operand for each place."""
    names = {name for said in (kind.sentence, kind.remedy) for _, name, _, _ in string.Formatter().parse(said) if name}
    return kind(**{name: 3 if name.endswith("_s") else text for name in names})


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_arrives_as_the_same_kind_with_the_same_words(kind: type[MnemicError]) -> None:
    error = example(kind)
    back = decode_error(json.loads(json.dumps(encode_error(error))))
    assert type(back) is kind
    assert (error_view(back), back.operands) == (error_view(error), error.operands)


def test_operands_that_json_does_not_carry_leave_the_sentence_as_it_was() -> None:
    error = InvalidValue(name="the page", value=(0, float("nan"), b"\0"), why="it is none", expected="{a page}")
    back = decode_error(json.loads(json.dumps(encode_error(error), allow_nan=False)))
    assert isinstance(back, InvalidValue)
    assert error_view(back) == error_view(error)


def test_an_error_of_a_newer_version_keeps_its_words_and_its_family() -> None:
    said = {"code": "moon_full", "error": "The moon is {full}.", "remedy": "Wait {a while}.", "kind": "StoreError"}
    back = decode_error(said)
    assert isinstance(back, StoreError)
    assert error_view(back) == {name: said[name] for name in ("code", "error", "remedy")}
    assert encode_error(back) == said | {"operands": {}}


@pytest.mark.parametrize("value", [None, [], {}, {"code": 7}, {"code": "invalid_value", "operands": {"x": 1}}])
def test_what_is_no_error_at_all_is_one_still(value: Any) -> None:
    assert isinstance(decode_error(value), MnemicError)


def test_a_time_without_an_offset_is_read_in_the_zone_that_is_handed_in() -> None:
    message = decode_message(
        Recall, b'{"query": "x", "since": "2025-02-03", "until": "2025-02-04T00:00:00Z"}', FixedZone(-480)
    )
    assert message.until - message.since == 16 * 3_600_000_000
