"""Contract bench, in a subprocess: runs one trial of an actor after another and reports each.

Results go to a file, a line each, because the actor may print, hang or die. The messages that it is sent, valid and
invalid, stand here too, and which answers are accepted.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
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
from mnemic.actors.kernel.errors import ActorRefused, MnemicError
from mnemic.actors.kernel.message import Request, answer_type
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
    NightReport,
    Preempt,
    ShowNight,
    ShowProfile,
    Sleep,
    UndoNights,
)
from mnemic.actors.store.messages import Apply, Committed, Count, NoteBackup, Rebuild
from mnemic.bench.contract.world import ActorHarness, ContractViolation, close_actor
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import ActorFactory
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.engine.plugins import load_actor
from mnemic.runtime.minds.homes import MindFolder

SLEEP_BUDGET_S = 0.2
"""Of a night that is asked for, seconds."""
_SHELF = ScopeRef(path="work/shelf", project=None, found="named")
GRACE_S = 3.0  # a step that is begun may end
_STEPS = 60  # after so many a job of this size is done
_DAY_S = 86400
_BY_STEPS = (
    *(EmbedPending, BindPending, VectorsChanged, Committed, Sleep),
    *(UpdateCommunities, CommunitiesChanged, UpdateFacts, MindOpened, WorkOn),
)  # they may go on


class TrialJob(msgspec.Struct, frozen=True):
    """What a process is to do."""

    recipe: ActorFactory
    """Makes the actors; its folder is a mind with a few memories, which is copied for each trial."""
    slot: str
    """Where the actor under trial stands."""
    lines: str
    """Path of a transcript that `open_lines` reads."""
    trials: tuple[str, ...]
    """Which, in order."""
    minds: tuple[str, ...]
    """A fresh copy of the mind's folder for each."""
    shift_days: int
    """How far the system's clock is put forward, as far as Python code reads it by `time`."""


def recipe_in(job: TrialJob, mind: str) -> ActorFactory:
    """The job's recipe for a copy of its mind."""
    return msgspec.structs.replace(job.recipe, folder=MindFolder(Path(mind)))


# --- trials ----------------------------------------------------------------------------------------------------------

NoteMessage = Callable[[str], None]


def _is_made(job: TrialJob, mind: str, note: NoteMessage) -> None:
    """Make it by its recipe, which came here pickled."""
    try:
        made = recipe_in(job, mind).make(job.slot)
    except ActorRefused as error:
        raise ContractViolation(error.operands["why"]) from error
    close_actor(made)


def _answers(job: TrialJob, mind: str, note: NoteMessage) -> list[Any]:
    """Ask all that it may be asked; returns what it answered, and what it asked for and told meanwhile."""
    with closing(ActorHarness(recipe_in(job, mind), job.slot, note)) as world:
        record = []
        for message in _script(world, job):
            answer = world.ask(message)
            check_answer(message, answer)
            if not isinstance(answer, MnemicError):
                _check_foresight(load_actor(world.recipe.actors[job.slot], job.slot), message, world.calls)
            record.append([type(message).__name__, repr(answer), world.calls])
            world.calls = []
        return record


def _check_foresight(kind: Any, message: Any, calls: list[str]) -> None:
    """What was foreseen was asked for: an engine fetches those answers beforehand."""
    name = type(message).__name__
    foreseen = kind.foresees(message) if hasattr(kind, "foresees") else ()
    if not isinstance(foreseen, tuple):
        raise ContractViolation(f"it foresees a {type(foreseen).__name__} at {name}, no tuple of messages")
    for one in foreseen:
        if repr(one) not in calls:
            raise ContractViolation(f"it foresees a {type(one).__name__} at {name} that it does not ask for")


def _errors(job: TrialJob, mind: str, note: NoteMessage) -> None:
    """Ask for what cannot be."""
    with closing(ActorHarness(recipe_in(job, mind), job.slot, note)) as world:
        for message in invalid_messages(_takes(world)):
            check_answer(message, world.ask(message))


def _twice(job: TrialJob, mind: str, note: NoteMessage) -> None:
    """Give every message again, to a new instance, as is done where a process dies over one."""
    with closing(ActorHarness(recipe_in(job, mind), job.slot, note)) as world:
        for number, message in enumerate(_script(world, job)):
            trace = f"twice-{number}"
            world.ask(message, trace)
            grown = True
            if isinstance(message, Rebuild):
                continue  # the others make again what they make of memories, each time
            for _ in range(_STEPS if isinstance(message, _BY_STEPS) else 1):
                before = world.seq()
                world.restart()
                world.ask(message, trace)
                grown = world.seq() > before
                if not grown:
                    break
            if grown:
                again = "again and again" if isinstance(message, _BY_STEPS) else "twice"
                raise ContractViolation(f"a {type(message).__name__} given {again} changes something each time")


def _restarts(job: TrialJob, mind: str, note: NoteMessage) -> None:
    """Make it anew before each message that is asked."""
    with closing(ActorHarness(recipe_in(job, mind), job.slot, note)) as world:
        for message in _script(world, job):
            world.restart()
            check_answer(message, world.ask(message))


def _sleeps(job: TrialJob, mind: str, note: NoteMessage) -> None:
    """Have it sleep by the system's own clock, and wake it."""
    with closing(ActorHarness(recipe_in(job, mind), job.slot, note, SystemClock())) as world:
        for night in range(3):
            run = f"night-{night}"
            world.ask(Sleep(run=run, seed=bytes(32), budget_s=SLEEP_BUDGET_S), settle=False)
            answer = world.ask(Preempt(run=run), settle=False)
            if answer is not None and not isinstance(answer, NightReport):
                raise ContractViolation(
                    f"it answers Preempt with a {type(answer).__name__}, not with None or a NightReport"
                )
            world.deliver_pending()
            for name, held_s in world.longest_s.items():
                if held_s > SLEEP_BUDGET_S + GRACE_S:
                    raise ContractViolation(f"it held {name} for {held_s:.1f} s, and its budget was {SLEEP_BUDGET_S} s")


def _script(world: ActorHarness, job: TrialJob) -> list[Any]:
    ids = world.read_snapshot(
        lambda now: tuple(one.id for one in now.load_memories(now.memory_columns(0).row.tolist()))
    )
    return valid_messages(_takes(world), job.lines, ids)


def _takes(world: ActorHarness) -> tuple[type, ...]:
    return load_actor(world.recipe.actors[world.slot], world.slot).takes


TRIALS: dict[str, Callable[[TrialJob, str, NoteMessage], Any]] = {
    "made": _is_made,
    "answers": _answers,
    "errors": _errors,
    "twice": _twice,
    "restarts": _restarts,
    "nights": _sleeps,
}
"""By name; each raises `ContractViolation`, and may return what is to be compared."""


def main(job_path: str, out_path: str) -> None:
    """Do the trials of a pickled `TrialJob`; write a line of JSON as each begins, at each message, and as it ends."""
    job: TrialJob = pickle.loads(Path(job_path).read_bytes())
    if job.shift_days:
        _shift_clock(job.shift_days * _DAY_S)
    with Path(out_path).open("w", encoding="utf-8", buffering=1) as out:

        def say(**fields: Any) -> None:
            out.write(json.dumps(fields) + "\n")

        for trial, mind in zip(job.trials, job.minds, strict=True):
            say(trial=trial)
            try:
                say(trial=trial, why="", record=TRIALS[trial](job, mind, lambda name: say(message=name)))
            except ContractViolation as broken:
                say(trial=trial, why=str(broken))
            except Exception as error:  # the actor's or ours: said, and the next trial goes on
                why = str(error).rstrip(".") if isinstance(error, MnemicError) else safe_cause(error)
                say(trial=trial, why=f"the trial ended in {why}")


def _shift_clock(by_s: int) -> None:
    """Put forward what Python code reads as the time, so that an actor that looks gives itself away."""
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + by_s
    time.time_ns = lambda: nanoseconds() + by_s * 10**9


# --- messages that may well come, and those that cannot be answered --------------------------------------------------


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
