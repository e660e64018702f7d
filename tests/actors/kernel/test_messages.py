"""Messages, changes, events and ports are documented to the last field, and none of them is dead."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.brief import messages as brief_messages
from mnemic.actors.capture import forget_messages
from mnemic.actors.capture import messages as capture_messages
from mnemic.actors.capture.capture import CaptureActor
from mnemic.actors.capture.forget_messages import BackupCopy, Retirement, Selection
from mnemic.actors.kernel import background, changes, contract, events, ports, snapshot
from mnemic.actors.kernel.message import Request, answer_type
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge import changes as knowledge_changes
from mnemic.actors.knowledge import messages as knowledge_messages
from mnemic.actors.knowledge import queries as knowledge_snapshot
from mnemic.actors.knowledge.knowledge import KnowledgeActor
from mnemic.actors.log import messages as log_messages
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.meaning import messages as meaning_messages
from mnemic.actors.meaning.changes import AddVectors, EncoderName
from mnemic.actors.meaning.embedder import EmbedderActor
from mnemic.actors.recall import messages as recall_messages
from mnemic.actors.recall.retriever import RetrieverActor
from mnemic.actors.scopes import messages as scope_messages
from mnemic.actors.scopes.messages import ScopeInfo
from mnemic.actors.shape import messages as shape_messages
from mnemic.actors.shape.binder import BinderActor
from mnemic.actors.sleep.consolidator import ConsolidatorActor
from mnemic.actors.store import messages as store_messages
from mnemic.actors.store.store import StoreActor
from tests.paths import ROOT

MESSAGES = [
    *(recall_messages, capture_messages, store_messages, meaning_messages, background),
    *(brief_messages, log_messages, scope_messages, forget_messages, shape_messages, knowledge_messages),
]
KNOWLEDGE = [knowledge_changes, knowledge_snapshot]
ACTORS = [
    StoreActor,
    EmbedderActor,
    BinderActor,
    RetrieverActor,
    CaptureActor,
    KnowledgeActor,
    ConsolidatorActor,
]
FOLDER = ROOT / "actors"


def structs(module: Any) -> list[type]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and hasattr(value, "__struct_fields__") and value.__module__ == module.__name__
    ]


def undocumented(path: Path) -> list[str]:
    """Classes without a docstring, and fields that no string follows."""
    found = []
    for node in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            found.append(node.name)
        for part, following in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                said = (
                    isinstance(following, ast.Expr)
                    and isinstance(following.value, ast.Constant)
                    and isinstance(following.value.value, str)
                )
                if not said:
                    found.append(f"{node.name}.{part.target.id}")
    return found


def test_every_struct_and_every_field_is_documented() -> None:
    exempt = {f"{actor.__name__}" for actor in ACTORS}
    found = [
        f"{module.__name__}: {one}"
        for module in (*MESSAGES, *KNOWLEDGE, changes, events, ports, snapshot, contract)
        for one in undocumented(Path(str(module.__file__)))
        if one.partition(".")[0] not in exempt
    ]
    assert found == []


def test_every_public_struct_is_frozen() -> None:
    public = [struct for module in (*MESSAGES, *KNOWLEDGE, changes, events, snapshot) for struct in structs(module)]
    assert [struct for struct in public if not struct.__struct_config__.frozen] == []


def sent_and_answered() -> set[str]:
    """Names that actors, runtime, hooks and root construct."""
    names = set()
    for folder in ("actors", "runtime", "hooks", "mnemic"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    names |= {one.id for one in (node.func, *node.args) if isinstance(one, ast.Name)}
    return names


def test_every_message_is_sent_by_somebody_and_taken_by_an_actor_or_it_is_an_answer_or_a_part_of_one() -> None:
    made = sent_and_answered()
    both = [struct for module in MESSAGES for struct in structs(module)]
    assert [struct.__name__ for struct in both if struct.__name__ not in made] == []
    taken = {kind for actor in ACTORS for kind in actor.takes}
    answers = {answer_type(kind) for kind in taken if issubclass(kind, Request)}
    parts = {
        store_messages.AddOutcome,
        recall_messages.Hit,
        recall_messages.SameMemory,
        recall_messages.Candidate,
        recall_messages.Memory,
        store_messages.ScopeCount,
        store_messages.LostTransactions,
    }
    parts |= {brief_messages.Quote, brief_messages.UnresolvedFailure, brief_messages.LastSession}
    parts |= {recall_messages.FactRef, brief_messages.QuotedPair, brief_messages.FailedCall}
    parts |= {brief_messages.BriefingSources, Retirement, ScopeInfo}
    parts |= {Selection, BackupCopy, shape_messages.Answer, shape_messages.RoleView}
    log = log_messages
    parts |= {
        log.MemoryEntry,
        log.Delivery,
        log.DeliveredMemory,
        log.RelatedMemory,
        log.MemoryDetail,
        log.Use,
        log.DeliveryCount,
        log.ProjectUse,
    }
    known = knowledge_messages
    parts |= {known.Fact, known.Conflict, known.Entity, known.EntityName, known.EntityNeighbour}
    dead = set(both) - taken - answers - parts
    assert {struct.__name__ for struct in dead} == set()


def test_what_is_asked_for_has_one_taker_and_only_events_may_have_more() -> None:
    takers: dict[type, int] = {}
    for actor in ACTORS:
        for taken in actor.takes:
            takers[taken] = takers.get(taken, 0) + 1
    several = {taken.__name__ for taken, number in takers.items() if number > 1}
    assert several <= {"Committed", "VectorsChanged", "MindOpened", "WorkOn"}


PLACE = ScopeRef(path="a/b", project=None, found="named")


def test_no_payload_carries_a_deadline_or_a_trace_id() -> None:
    payloads = [one for module in MESSAGES for one in structs(module)]
    known = {"trace": {recall_messages.Recall}}  # there `trace` asks for candidates
    found = [
        f"{one.__name__}.{name}"
        for one in payloads
        for name in ("deadline", "now", "trace")
        if name in one.__struct_fields__ and one not in known.get(name, ())
    ]
    assert found == []


def test_a_change_survives_the_log_and_leaves_its_bulk_out() -> None:
    memory = AddMemory(
        id=bytes(16),
        identity=bytes(32),
        assistant="a",
        session="s",
        place=PLACE,
        kind="turn",
        role="user",
        text=b"\xed\xa0\x80 long",
    )
    vectors = AddVectors(encoder=EncoderName("a", "b"), meanings=(), vectors=b"1234")
    decode = msgspec.msgpack.Decoder(changes.Change).decode
    for change in (memory, vectors):
        assert decode(msgspec.msgpack.encode(change)) == change


def test_lone_surrogates_pass_through_text_and_are_written_out_in_names() -> None:
    text = "a\ud800b\udc80"
    assert events.to_text(events.to_bytes(text)) == text
    assert events.escape_surrogates(text) == "a\\ud800b\\udc80"
    assert events.escape_surrogates("é😀") == "é😀"
    assert events.escape_surrogates(None) is None
