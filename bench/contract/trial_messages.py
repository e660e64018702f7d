"""The messages that the contract bench sends to an actor: those that may well come, and those that cannot be answered.

Above stands `mnemic.bench.contract.trial`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mnemic.actors.brief.messages import Brief
from mnemic.actors.capture.forget_messages import Forget, ForgetSelection, Recover, Selection, Survey
from mnemic.actors.capture.messages import (
    CaptureText,
    CaptureTranscript,
    DrainSpool,
    GetCaptureProgress,
    MendLabels,
    QueueTranscripts,
    RetryQuarantined,
)
from mnemic.actors.communities.messages import CommunitiesChanged, ListCommunities, ShowCommunity, UpdateCommunities
from mnemic.actors.kernel.background import MindOpened, WorkOn
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.messages import (
    ListConflicts,
    ListEntities,
    ListFacts,
    MergeNames,
    SettleConflict,
    ShowEntity,
    UpdateFacts,
)
from mnemic.actors.log.changes import AddMemory, RecordDelivery, Supersede
from mnemic.actors.log.messages import CountUse, FindIds, ListDeliveries, ListMemories, NoteDelivery, ShowMemories
from mnemic.actors.meaning.messages import DescribeEncoder, EmbedPending, EmbedQuery, EmbedWords, Rerank
from mnemic.actors.recall.messages import FindSimilar, GetMemories, Recall
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.scopes.messages import ChangeScopes, FindScope, ListScopes
from mnemic.actors.shape.messages import BindPending, ListRoles, RetryBinding, Shape, VectorsChanged
from mnemic.actors.sleep.messages import (
    ListDerived,
    ListDigests,
    ListNights,
    ListProcedures,
    Preempt,
    ShowNight,
    ShowProfile,
    Sleep,
    UndoNights,
)
from mnemic.actors.store.messages import Apply, Committed, Count, NoteBackup, Rebuild

SLEEP_BUDGET_S = 0.2
"""Of a night that is asked for, seconds."""
_SHELF = ScopeRef(path="work/shelf", project=None, found="named")


def valid_messages(takes: tuple[type, ...], lines: str, ids: tuple[bytes, ...]) -> list[Any]:
    """Messages that may well come, of all types that an actor takes.

    Args:
        lines: path of a transcript.
        ids: memories that are there.
    """
    text = _memory(1, b"The harbour wall is two metres high.")
    known: list[Any] = [
        CaptureText(text=b"The tide table hangs by the door.", role="user", session="talk", place=_SHELF),
        CaptureText(text=b"It hangs in the hall now.", role="user", session="talk", place=_SHELF, supersedes=ids[0]),
        CaptureTranscript(path=lines, format="auto", scope=None, skip=0),
        Forget(ids=ids[:2], reason="it was wrong"),
        Recover(ids=ids[:1]),
        Apply(changes=(text, _memory(2, b"The lamp is lit at dusk.")), key=b"contract/1", author="contract", run="r"),
        Apply(
            changes=(RecordDelivery(query="q", scope="*", parts=(), tokens=0),), key=b"contract/2", author="c", run="r"
        ),
        Committed(seq=1),
        DescribeEncoder(),
        EmbedQuery(text="where does the tide table hang?"),
        EmbedWords(words=("tide", "table")),
        Rerank(query="where does the tide table hang?", texts=("It hangs in the hall.", "")),
        EmbedPending(),
        WorkOn(),
        MindOpened(),
        VectorsChanged(seq=1),
        CommunitiesChanged(seq=1),
        UpdateCommunities(mark="asked"),
        UpdateCommunities(),
        ListCommunities(scope="work", k=2),
        ShowCommunity(id=1),
        UpdateFacts(),
        ListFacts(scope="work", k=2),
        ListFacts(entity="the tide table", relation="hang", history=True, at=1_800_000_000_000_000),
        ListConflicts(),
        ListConflicts(replaced=True, scope="work", k=1),
        ListEntities(kind="tool", k=2),
        ShowEntity(name="the tide table", k=1),
        SettleConflict(id="0a1b2c3d", verdict="both"),
        MergeNames(name="the tide table", into="the harbour wall"),
        MergeNames(name="the tide table"),
        BindPending(),
        RetryBinding(),
        Recall(query="where does the tide table hang?", k=3),
        Recall(query="harbour", k=2, scope="work", observe=False, trace=True),
        Recall(query="harbour", scope="", place=_SHELF, hit_bytes=64),
        GetMemories(ids=ids[:2]),
        FindScope(place=_SHELF),
        Count(),
        Shape(pattern={"role": "user"}, k=3),
        ListRoles(),
        FindSimilar(text="The harbour wall is two metres high.", scope="work"),
        ShowMemories(ids=ids[:1], context=1),
        FindIds(ends=tuple(one.hex()[-8:] for one in ids[:1])),
        ListMemories(scope="work", limit=2),
        NoteDelivery(assistant="contract", session="new", parts=()),
        ListDeliveries(limit=2),
        CountUse(weeks=2),
        ListScopes(),
        Survey(selection=Selection(session="talk"), shown=1),
        ForgetSelection(selection=Selection(session="talk"), reason="it is over"),
        ForgetSelection(selection=Selection(session="talk"), restore=True),
        ChangeScopes(changes=(RenameScope(path="work/shelf", to="work/board"),)),
        NoteBackup(path="/backups/one", what="backup", size_bytes=1),
        DrainSpool(),
        QueueTranscripts(paths=((lines, "auto"),)),
        GetCaptureProgress(),
        RetryQuarantined(),
        MendLabels(run="night-1", reason="asked"),
        Brief(occasion="session-start", place=_SHELF, assistant="contract", session="new"),
        Brief(occasion="prompt", place=_SHELF, assistant="contract", session="new", prompt="where is the tide table?"),
        Sleep(run="night-1", seed=bytes(32), budget_s=SLEEP_BUDGET_S),
        Preempt(run="night-1"),
        Sleep(run="night-2", seed=bytes([1]) * 32, budget_s=SLEEP_BUDGET_S),
        Sleep(run="night-3", seed=bytes([2]) * 32, budget_s=SLEEP_BUDGET_S, dry_run=True),
        ListNights(k=2),
        ShowNight(id=1),
        ListDigests(of="session", scope="work", k=2),
        ListProcedures(k=2),
        ListDerived(stage="session-digests", k=2),
        ShowProfile(k=2),
        UndoNights(),
        Rebuild(),
    ]
    types = {type(message) for message in known}
    own = [message() for message in takes if message not in types and _without_fields(message)]
    return [message for message in known if type(message) in takes] + own


def invalid_messages(takes: tuple[type, ...]) -> list[Any]:
    """Messages that ask for what cannot be, or for next to nothing."""
    known: list[Any] = [
        CaptureText(text=b"  ", role="user", session="talk", place=_SHELF),
        CaptureText(text=b"a", role="user", session="talk", place=_SHELF, supersedes=bytes(16)),
        CaptureTranscript(path="/nowhere/at/all", format="auto", scope=None, skip=0),
        Forget(ids=(), reason=""),
        Forget(ids=(bytes(16),), reason="\udc80"),
        Recover(ids=(bytes(16),)),
        ShowCommunity(id=0),
        ListCommunities(scope="no/such/scope"),
        ListFacts(entity="no such thing"),
        ListFacts(scope="no/such/scope"),
        ListFacts(k=0),
        ListFacts(entity="\udc80", relation="\0"),
        ListConflicts(k=0),
        ListEntities(scope="no/such/scope"),
        ShowEntity(name="", k=-1),
        ShowEntity(name=" \udc80"),
        SettleConflict(id="", verdict="newer"),
        SettleConflict(id="\udc80", verdict="open", by="\udc80"),
        MergeNames(name="no such thing", into="\udc80"),
        MergeNames(name=""),
        Apply(changes=(Supersede(old=bytes(16), new=bytes(16)),), key=b"contract/3", author="contract", run="r"),
        Apply(changes=(), key=b"contract/4", author="contract", run="r"),
        Committed(seq=0),
        EmbedQuery(text=""),
        EmbedQuery(text="\0\udc80" * 999),
        EmbedWords(words=()),
        EmbedWords(words=("", "\0", "\udc80" * 99)),
        Recall(query=" "),
        Recall(query="tide", k=0),
        Recall(query="tide", scope="no/such/scope"),
        Recall(query="\udc80"),
        Recall(query="tide", place=ScopeRef(path="no/such", project="/no/such", found="git")),
        Recall(query="tide", hit_bytes=0),
        GetMemories(ids=(bytes(16),)),
        GetMemories(ids=()),
        FindScope(place=ScopeRef(path="no/such", project="/no/such", found="git")),
        Brief(
            occasion="prompt", place=_SHELF, assistant="\udc80", session="\udc80", prompt=" \udc80", budget_tokens=-1
        ),
        Sleep(run="night-0", seed=bytes(32), budget_s=0.0),
        ListNights(k=0),
        ShowNight(id=-1),
        ListDigests(scope="no/such/scope"),
        ListProcedures(k=0),
        ListDerived(stage="no:such"),
        ShowProfile(scope="no/such/scope"),
        UndoNights(id=1 << 40),
        Preempt(run="a night that never was"),
    ]
    return [message for message in known if type(message) in takes]


def _memory(number: int, text: bytes) -> Change:
    return AddMemory(
        id=number.to_bytes(16, "big"),
        identity=number.to_bytes(32, "big"),
        assistant="contract",
        session="applied",
        place=_SHELF,
        kind="turn",
        role="user",
        text=text,
    )


def _without_fields(message: Any) -> bool:
    return all(
        field.default is not msgspec.NODEFAULT or field.default_factory is not msgspec.NODEFAULT
        for field in msgspec.structs.fields(message)
    )
