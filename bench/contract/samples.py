"""Valid and invalid messages that the contract bench sends to an actor, and the answers it accepts."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec

from mnemic.actors.protocol.ambient_messages import (
    Brief,
    DrainSpool,
    GetCaptureProgress,
    QueueTranscripts,
    RetryQuarantined,
)
from mnemic.actors.protocol.changes import AddMemory, Change, RecordDelivery, RenameScope, ScopeRef, Supersede
from mnemic.actors.protocol.errors import MnemicError
from mnemic.actors.protocol.log_messages import (
    CountUse,
    ListDeliveries,
    ListMemories,
    NoteDelivery,
    ShowMemories,
)
from mnemic.actors.protocol.message import Request, answer_type
from mnemic.actors.protocol.messages import (
    Apply,
    CaptureText,
    CaptureTranscript,
    Committed,
    Count,
    DescribeEncoder,
    EmbedMore,
    EmbedPending,
    EmbedQuery,
    FindScope,
    FindSimilar,
    Forget,
    GetMemories,
    NightReport,
    NoteBackup,
    Preempt,
    Rebuild,
    Recall,
    Recover,
    Sleep,
)
from mnemic.actors.protocol.scopes import (
    ChangeScopes,
    ForgetSelection,
    ListScopes,
    Selection,
    Survey,
)
from mnemic.actors.protocol.shape_messages import (
    BindMore,
    BindPending,
    ListRoles,
    RetryBinding,
    Shape,
    VectorsChanged,
)
from mnemic.bench.contract.world import ContractViolation

__all__ = ["SLEEP_BUDGET_S", "check_answer", "invalid_messages", "valid_messages"]

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
        EmbedPending(),
        EmbedMore(),
        VectorsChanged(seq=1),
        BindPending(),
        BindMore(),
        BindMore(opened=True),
        RetryBinding(),
        Recall(query="where does the tide table hang?", k=3),
        Recall(query="harbour", k=2, scope="work", observe=False, trace=True),
        GetMemories(ids=ids[:2]),
        FindScope(place=_SHELF),
        Count(),
        Shape(pattern={"role": "user"}, k=3),
        ListRoles(),
        FindSimilar(text="The harbour wall is two metres high.", scope="work"),
        ShowMemories(ids=ids[:1]),
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
        Brief(occasion="session-start", place=_SHELF, assistant="contract", session="new"),
        Brief(occasion="prompt", place=_SHELF, assistant="contract", session="new", prompt="where is the tide table?"),
        Sleep(run="night-1", seed=bytes(32), budget_s=SLEEP_BUDGET_S),
        Preempt(run="night-1"),
        Sleep(run="night-2", seed=bytes([1]) * 32, budget_s=SLEEP_BUDGET_S),
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
        Apply(changes=(Supersede(old=bytes(16), new=bytes(16)),), key=b"contract/3", author="contract", run="r"),
        Apply(changes=(), key=b"contract/4", author="contract", run="r"),
        Committed(seq=0),
        EmbedQuery(text=""),
        EmbedQuery(text="\0\udc80" * 999),
        Recall(query=" "),
        Recall(query="tide", k=0),
        Recall(query="tide", scope="no/such/scope"),
        Recall(query="\udc80"),
        GetMemories(ids=(bytes(16),)),
        GetMemories(ids=()),
        FindScope(place=ScopeRef(path="no/such", project="/no/such", found="git")),
        Brief(
            occasion="prompt", place=_SHELF, assistant="\udc80", session="\udc80", prompt=" \udc80", budget_tokens=-1
        ),
        Sleep(run="night-0", seed=bytes(32), budget_s=0.0),
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


def check_answer(message: Any, answer: Any) -> None:
    """See that an answer is one that may be given.

    Raises:
        ContractViolation: it is not.
    """
    name = type(message).__name__
    try:
        same = pickle.loads(pickle.dumps(answer))
    except Exception as error:
        raise ContractViolation(f"its answer to {name} cannot be pickled ({type(error).__name__})") from error
    if isinstance(answer, MnemicError):
        if type(same) is not type(answer) or str(same) != str(answer):
            raise ContractViolation(f"its error {type(answer).__name__} does not survive pickling")
        return
    expected = answer_type(type(message)) if isinstance(message, Request) else None
    if expected is None:
        if answer is not None and not isinstance(answer, msgspec.Struct):
            raise ContractViolation(f"it answers {name} with a {type(answer).__name__}, no struct")
        return
    if not isinstance(answer, expected):
        raise ContractViolation(f"it answers {name} with a {type(answer).__name__}, not a {expected.__name__}")
    try:
        msgspec.msgpack.decode(msgspec.msgpack.encode(answer), type=expected)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise ContractViolation(f"its {expected.__name__} holds what it may not ({error})") from error
    if isinstance(answer, NightReport) and answer.run != message.run:
        raise ContractViolation("its NightReport is of another run than was asked for")
