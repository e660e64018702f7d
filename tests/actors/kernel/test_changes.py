"""Changes are a closed list, travel unchanged, and none of them takes a memory away."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from mnemic.actors.capture.changes import (
    AdvanceSpool,
    CountOccurrences,
    DiscardSpoolFile,
    FinishTranscript,
    IgnoreSession,
    KeepOriginal,
    MemoryLabels,
    OccurrenceCount,
    QuarantineRecord,
    QueueTranscript,
    RecordSelfTest,
    Relabel,
    ReleaseRecord,
    SetSessionMode,
)
from mnemic.actors.communities.changes import (
    CommunityRow,
    LineageEvent,
    MarkBoundary,
    PlaceMembers,
    SetCommunities,
    SetPrototypes,
)
from mnemic.actors.kernel import changes
from mnemic.actors.kernel.changes import Change, Logged
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.changes import (
    AddStatements,
    GradedPair,
    GradeStatements,
    MemoryReading,
    MentionRow,
    MergeEntities,
    SettleStatements,
    StatementRow,
)
from mnemic.actors.log.changes import AddMemory, DeliveredSpan, RecordDelivery, Retire, Supersede, Unretire
from mnemic.actors.meaning.changes import AddEncoder, AddVectors, DropEncoder, EmbeddedWindows, EncoderName
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.actors.shape.changes import AddCodes, AddSpace
from mnemic.actors.sleep.changes import (
    BeginNight,
    DerivedItem,
    EndNight,
    KeepDerived,
    KeepVerdict,
    SourceSpan,
    StageReport,
    TakeBackNights,
)
from mnemic.actors.transfer.changes import RecordBackup, RedactedChange, Tombstone

ENCODER = EncoderName(implementation="numpy-float32", model="0" * 64)
SAMPLES: list[Any] = [
    AddMemory(
        id=b"i" * 16,
        identity=b"h" * 32,
        assistant="codex",
        session="s",
        place=ScopeRef(path="a/b", project="/x/.git", found="git"),
        kind="tool_call",
        role="assistant",
        text="\ud800\0".encode("utf-8", "surrogatepass"),
        source_id="7",
        speaker="Ada",
        said_at=-1,
        branch="main",
        tool="Bash",
        outcome="failed",
        files=("a", "b"),
        scrubbed=(("aws-key", 2),),
    ),
    Supersede(old=b"1" * 16, new=b"2" * 16),
    Retire(memory=b"1" * 16, reason="it was \\ud800 wrong"),
    Unretire(memory=b"1" * 16),
    Relabel(
        labels=(
            MemoryLabels(
                memory=b"1" * 16,
                kind="injected",
                role="system",
                speaker=None,
                author="unknown",
                said_at=7,
                utc_offset_min=60,
            ),
        )
    ),
    AddEncoder(encoder=ENCODER, dimensions=384),
    DropEncoder(encoder=ENCODER),
    AddVectors(encoder=ENCODER, meanings=(EmbeddedWindows(b"i" * 16, ((0, 5), (5, 9)), 9, 12),), vectors=b"\0" * 32),
    AddSpace(stamp="5" * 32, dimensions=10_240, version=1, roles=("who", "date"), model="0" * 64, embedding=384),
    AddSpace(stamp="6" * 32, dimensions=64, version=2, roles=(), model="", embedding=0, reading="5 mine:triples"),
    AddCodes(stamp="5" * 32, seq=9, memories=(b"i" * 16,), items=b"\x90", codes=b"\0" * 1280),
    RecordDelivery(query="how many?", scope="*", parts=(), tokens=0),
    RecordDelivery(
        scope="*",
        assistant="codex",
        session="mcp-1",
        parts=(DeliveredSpan(memory=b"i" * 16, start=3, stop=9, why="asked for by its id"),),
        tokens=2,
        occasion="get",
    ),
    AdvanceSpool(file=b"f" * 16, offset=1 << 40, records=3, torn=1),
    DiscardSpoolFile(file=b"f" * 16),
    CountOccurrences(counts=(OccurrenceCount(identity=b"h" * 32, hooks=2, missed=1, read_at=1 << 50),)),
    QuarantineRecord(
        record=b"r" * 16, assistant="codex", event="prompt", why="it is odd", text=b"\xff", at=5, cwd="/x"
    ),
    ReleaseRecord(record=b"r" * 16),
    QueueTranscript(path="/a\\udc80", format="codex", due_at=7, changed_at=-1),
    FinishTranscript(path="/a", size_bytes=1 << 40, why="it went"),
    KeepOriginal(memory=b"i" * 16, text=b"hunter2"),
    RecordSelfTest(assistant="codex", nonce="n"),
    RecordBackup(path="/t/kept", what="backup", size_bytes=9),
    IgnoreSession(assistant="codex", session="s"),
    SetSessionMode(assistant="codex", session="s", mode="headless"),
    RenameScope(path="work", to="home"),
    RenameScope(path="work", to="home", below=False),
    MergeScopes(path="boat", into="work/shelf"),
    SplitScope(
        path="boat",
        found="git",
        project="/a/boat/.git",
        projects=("/b/boat",),
        into="work/shelf",
        memories=(b"i" * 16,),
    ),
    MoveProject(path="boat", project=None, was="/a/boat/.git"),
    MoveMemories(memories=None, path="", to="notes"),
    MoveMemories(memories=(b"i" * 16,), path="boat", to="everywhere"),
    Tombstone(identity=b"h" * 32, row=7),
    Tombstone(identity=b"h" * 32, row=7, place=ScopeRef(path="a/b", project=None, found="named")),
    MarkBoundary(reason="commits"),
    SetCommunities(
        generation=1,
        boundary=2,
        encoder="native-int8 0",
        scales=(),
        neighbour_rows=b"\1" * 8,
        neighbours=b"\2" * 8,
        cosines=b"\0" * 4,
        rows=b"\1" * 8,
        topics=b"\1" * 8,
        parts=b"\0" * 8,
        communities=(CommunityRow(id=1, level=1, parent=2, scope=1, size=3),),
        ended=(4,),
        events=(LineageEvent(kind="split", community=1, others=(2, 3)),),
    ),
    PlaceMembers(generation=1, rows=b"\1" * 8, topics=b"\1" * 8),
    SetPrototypes(stamp="5" * 32, generation=1, seq=9, communities=(1,), bundled=(2,), prototypes=b"\0" * 1280),
    AddStatements(
        generation=1,
        reading="statements/1",
        memories=(
            MemoryReading(
                row=1,
                statements=(
                    StatementRow(
                        subject="user",
                        subject_span=(0, 1),
                        relation="live in",
                        value=(10, 16),
                        clause=(0, 16),
                        negative=False,
                        modality="asserted",
                        holds_from=None,
                        holds_to=5,
                        single=True,
                        rule="present",
                    ),
                ),
                mentions=(MentionRow(key="lisbon", name="Lisbon", span=(10, 16), kind="place"),),
            ),
        ),
    ),
    GradeStatements(
        generation=1,
        seq=9,
        rows=(1, 2),
        pairs=(GradedPair(older=1, newer=2, grade="replaced", probability=0.97, why="it says so"),),
    ),
    SettleStatements(older=b"1" * 16, older_start=0, newer=b"2" * 16, newer_start=7, verdict="newer", by="user"),
    MergeEntities(entity=b"e" * 32, into=b"f" * 32),
    MergeEntities(entity=b"e" * 32),
    BeginNight(run="night-9", reason="idle"),
    KeepDerived(
        generation=1,
        run="night-9",
        stage="project-digests",
        items=(DerivedItem(key=b"project:1", stamp=b"s", value=b"v", sources=(SourceSpan(1, 0, 4),)),),
        ended=(b"project:2",),
        restamped=((b"project:3", b"t"),),
    ),
    EndNight(run="night-9", why="finished", stages=(StageReport(stage="facts", changes=1, took_us=9, state="done"),)),
    KeepVerdict(
        run="night-9", stage="strengths", effect="weigh", night=3, questions=30, passed=True, why="30 past questions"
    ),
    TakeBackNights(night=2, last_row=7),
    RedactedChange(),
    RedactedChange(links=((b"1" * 16, b"2" * 16),)),
]


def test_there_is_a_sample_of_every_change() -> None:
    assert {type(sample) for sample in SAMPLES} == {*get_args(Change), *get_args(Logged)}


def test_every_change_travels_unchanged() -> None:
    for change in SAMPLES:
        packed = msgspec.msgpack.encode(change)
        for union in (Change, Logged):
            if isinstance(change, get_args(union)):
                assert msgspec.msgpack.decode(packed, type=union) == change
            else:
                with pytest.raises(msgspec.ValidationError, match="Invalid value"):
                    msgspec.msgpack.decode(packed, type=union)


def test_no_change_can_be_changed() -> None:
    kinds = {type(sample) for sample in SAMPLES}
    assert [kind.__name__ for kind in kinds if not kind.__struct_config__.frozen] == []


def test_no_change_takes_a_memory_away() -> None:
    assert set(get_args(Logged)) - set(get_args(Change)) == {Tombstone, RedactedChange}


def test_every_change_and_every_field_is_documented() -> None:
    tree = ast.parse(Path(changes.__file__).read_text("utf-8"))
    for kind in (node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")):
        assert ast.get_docstring(kind), kind.name
        for field, after in zip(kind.body, [*kind.body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign):
                documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                assert documented, f"{kind.name}: {ast.unparse(field)}"
