"""The one error tree: a code, operands, one sentence and a remedy. Published as `mnemic.errors`.

It stands here, at the bottom of what can fail for a user, so that actors and the runtime may raise it; every face
(command line, MCP) translates it once. Operands name things (a path, an id, a number), never a memory's text.

Where an error comes from, in the code: what can be logged of it, since its own words may quote a memory.
"""

from __future__ import annotations

import re
import uuid
from typing import Any, ClassVar, Self

_GIVEN = frozenset({"value", "role", "scope", "session", "id"})
"""Operands that are what somebody gave, word for word; a whole file given by mistake is no part of a sentence."""
_HEAD, _TAIL = 160, 40


class MnemicError(Exception):
    """Anything that ends a request with one sentence: what happened, why, and what to do."""

    code: ClassVar[str] = "error"
    """What programs tell it by: the name of the kind in small letters, unless it says another one."""
    exit_code: ClassVar[int] = 1
    """What the command exits with: 2 bad input, 3 the store, 4 the model, 5 the runtime."""
    http_status: ClassVar[int] = 500
    """What stands for it in HTTP; 503: the same request may do later."""
    sentence: ClassVar[str] = "Mnemic could not do this."
    """What happened, and why, with a place for each operand; ``str(error)`` has them filled in."""
    remedy: ClassVar[str] = "Run `mnemic doctor`."
    """What to do, with a place for each operand; `remedy_text` has them filled in."""

    def __init_subclass__(cls) -> None:
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, **operands: Any) -> None:
        """Fill the places with operands; one named ``remedy``, a clause, stands in place of the remedy of the kind."""
        self.operands = {name: _quoted(value) if name in _GIVEN else value for name, value in operands.items()}
        super().__init__(self.sentence.format(**self.operands))

    @property
    def remedy_text(self) -> str:
        """The remedy, with the operands filled in."""
        return f"{self.operands['remedy']}." if "remedy" in self.operands else self.remedy.format(**self.operands)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_revive, (type(self), self.operands))


def _quoted(value: Any) -> Any:
    """What was given, or its beginning and its end."""
    if not isinstance(value, str | bytes) or len(value) <= _HEAD + _TAIL:
        return value
    dots: Any = " … " if isinstance(value, str) else b" ... "
    return value[:_HEAD] + dots + value[-_TAIL:]


def _revive(kind: type[MnemicError], operands: dict[str, Any]) -> MnemicError:
    return kind(**operands)


class BadInput(MnemicError):
    """The caller asked for something that cannot be; nothing was changed."""

    exit_code = 2
    http_status = 400


class InvalidValue(BadInput):
    sentence = "{name} cannot be {value!r}: {why}."
    remedy = "Give {expected}."


class BadPassphrase(InvalidValue):
    """What was said is shown nowhere."""

    sentence = "The passphrase cannot be taken: {why}."


class NotLockable(BadInput):
    sentence = "The mind {mind!r} cannot be locked: its key file opens it whenever somebody asks."
    remedy = "Run `mnemic rekey --passphrase{named}` to have a passphrase open it in place of the file."


class BadBody(InvalidValue):
    """What was sent as a whole; it may hold anything, and is shown nowhere."""

    sentence = "The body cannot be taken: {why}."


class BodyTooLong(BadBody):
    http_status = 413


class BadToken(BadInput):
    """What was shown instead is told nowhere."""

    http_status = 401
    sentence = "This needs the home's bearer token, and none or another one was shown."
    remedy = "Send the header `Authorization: Bearer TOKEN`, with what stands in the home's file `http-token`."


class MissingArgument(BadInput):
    sentence = "{tool} was called without {name!r}, which it needs."
    remedy = "Give it; what may be given: {known}."


class UnknownArgument(BadInput):
    sentence = "{tool} takes no argument {name!r}."
    remedy = "{near}What may be given: {known}."


class BadSettings(BadInput):
    """A file of settings cannot be read, or is no TOML."""

    sentence = "The settings in {path} cannot be read: {why}."
    remedy = "Mend the file, or move it away."


class RemovedSetting(InvalidValue):
    """A setting of an earlier version, which is refused because the owner relies on what it did."""

    sentence = "{name} in {path} is no longer a setting: {why}."
    remedy = "Take the line out of the file; {then}."


class BadConfiguration(BadInput):
    """A file of an assistant's configuration is not what its program reads, or changed while it was being edited."""

    sentence = "{path} was not changed: {why}."
    remedy = "Correct the file, then run the command again."


class InvalidSettings(BadConfiguration):
    """A file of an assistant's settings is not what its program reads, or holds what no edit can keep."""

    sentence = "{path} cannot be edited as {what}: {why}."


class BadTime(BadInput):
    sentence = "{value!r} is no time that can be read."
    remedy = (
        "Write it as 2026-11-21 or 2026-11-21T14:05:00+01:00; the command also reads `yesterday`, `2w` and, in quotes,"
        " `'last tuesday'`."
    )


class SourceUnreadable(BadInput):
    sentence = "{path} cannot be read: {why}."
    remedy = "Check its path, its permissions, and that it is whole."


class ExtraMissing(BadInput):
    sentence = "{what} cannot be had: {module} is not installed."
    remedy = "Run `pip install 'mnemic[{extra}]'`."


class UnreadableRecord(BadInput):
    sentence = "What a hook of {assistant} kept ({event}) cannot be understood: {why}."
    remedy = "It is kept aside, whole; a newer version of Mnemic may understand it."


class AmbiguousFormat(BadInput):
    sentence = "{path} is no transcript of a known format: {why}."
    remedy = "Name its format with --format ({known})."


class UnknownScope(BadInput):
    sentence = "No memory is in the scope {scope!r}."
    remedy = "{near}`mnemic status` lists the scopes; '*' is everything."


class UnknownSession(BadInput):
    sentence = "No memory of the conversation {session!r} was found."
    remedy = "{near}`mnemic log` shows which conversation each memory is of."


class UnknownFilter(BadInput):
    sentence = "No memory has the {what} {value!r}."
    remedy = "{near}{known}."


class UnknownRole(BadInput):
    sentence = "Memories have no role {role!r}."
    remedy = "{near}Ask for one of: {known}. `mnemic shape --roles` says what each one is."


class NoSuchMemory(BadInput):
    sentence = "There is no memory {id!r}."
    remedy = "Take the id from `mnemic log`, or from a hit of a recall."

    @classmethod
    def of(cls, memory: bytes, **more: str) -> Self:
        """The error for an id as it is kept, written as answers write ids."""
        return cls(**more, id=str(uuid.UUID(bytes=memory)) if len(memory) == 16 else memory.hex())


class AmbiguousId(BadInput):
    sentence = "{count} memories have an id that ends with {id!r}: {ids}."
    remedy = "Give more of its digits."


class UnknownCommunity(BadInput):
    sentence = "There is no community {id}."
    remedy = "Take its number from `mnemic communities`."


class UnknownNight(BadInput):
    sentence = "There is no night {id}{which}."
    remedy = "Take its number from `mnemic nights`."


class UnknownEntity(BadInput):
    sentence = "No memory names {name!r}{where}."
    remedy = "{near}`mnemic entities` lists what is named; `--scope '*'` looks through everything."


class UnknownConflict(BadInput):
    sentence = "There is no pair of statements {id!r}{where}."
    remedy = "Take its eight characters from `mnemic conflicts`, or from `mnemic conflicts --replaced`."


class ActorRefused(BadInput):
    """An actor of somebody's own does not keep the contract."""

    sentence = "The actor {name!r} cannot be used as {slot}: {why}."
    remedy = "Mend it (`python -m mnemic.bench contract {name}` says what it lacks), or remove it from `[actors]`."


class CapturePaused(BadInput):
    """What an assistant hands over in a pause; its owner's own `remember` is always taken."""

    code = "paused"
    sentence = "The memory is paused{ends}: nothing is captured."
    remedy = "Only its owner ends that, with `mnemic resume`; tell him that this was not kept."


class LeftOut(BadInput):
    """What an assistant hands over of a project that the settings leave out."""

    sentence = "The settings leave the project {scope!r} out of this memory: nothing of it is captured."
    remedy = "Its owner may change `capture.allow` and `capture.deny` in mnemic.toml, or use `mnemic remember`."


class SwitchedOff(BadInput):
    """An assistant asks in a session whose user has switched the memory off."""

    sentence = "MNEMIC_OFF is set where this session was started: {what}."
    remedy = "The user wants it so; a session started without it has its memory."


class OwnersChoice(BadInput):
    """An assistant asks for more than its own project, or writes as somebody else."""

    http_status = 403
    sentence = "{what}: the owner of this memory has not allowed it."
    remedy = (
        'Its owner does so by `allow = ["{right}"]` under [mcp] in mnemic.toml, or for one assistant by'
        " `mnemic hooks install NAME --apply --allow {right}`; this is not for an assistant to change."
    )


class NotOnRay(BadInput):
    """The actors on Ray are processes that read the key file; a passphrase is said to one process, which keeps it."""

    sentence = "The mind {mind!r} is locked by a passphrase, and the engine Ray cannot serve such a mind."
    remedy = (
        "Serve it with the embedded engine (`runtime.engine` in mnemic.toml, or --engine), or give it a key file with"
        " `mnemic rekey --key-file`."
    )


class EngineMissing(BadInput):
    """Refused like a bad setting, and not retried: starting again does not install it."""

    sentence = "The engine {engine!r} cannot be used: {why}."
    remedy = "Install it with `{install}`, or use the embedded engine (`runtime.engine` in mnemic.toml, or --engine)."


class AlreadyServed(BadInput):
    http_status = 409
    sentence = "{home} is served already, by process {pid} (mnemic serve --engine {engine})."
    remedy = "Stop that one first: kill {pid}."


class AlreadyThere(BadInput):
    """What is to be written is there, and nobody said that it may go."""

    sentence = "{path} exists already."
    remedy = "Name another place."


class NotABackup(BadInput):
    sentence = "{path} is no backup that can be restored: {why}."
    remedy = "Give a file that `mnemic backup` wrote, as it was; nothing was changed."


class NotAnExport(BadInput):
    sentence = "{path} is no export that can be imported: {why}."
    remedy = "Give a folder that `mnemic export` wrote, as it was; nothing was changed."


class MindMissing(BadInput):
    http_status = 404
    sentence = "There is no mind {mind!r} in {home}."
    remedy = "Look it up: `mnemic minds` lists those that are there, and `mnemic init --mind {mind}` makes this one."


class HookNotBuilt(BadInput):
    """Mnemic was installed from source where no cargo could build the hook."""

    sentence = "No assistant can be wired: there is no hook at {path}, since no cargo built it."
    remedy = (
        "Install Rust (`cargo` 1.89 or newer) and then Mnemic again, or a wheel of it; until then, `mnemic capture`"
        " takes in transcripts."
    )


class HomeMissing(BadInput):
    http_status = 404
    sentence = "There is no folder {home}, and so no mind in it; none was made."
    remedy = "Give the folder of your minds, or make one there with `mnemic init {named}`."


class StoreError(MnemicError):
    """The mind's file cannot be used as it is; nothing was written."""

    code = "store"
    exit_code = 3


class MindExists(StoreError):
    sentence = "{path} exists already."
    remedy = "Use another name, or leave it as it is."


class KeyMissing(StoreError):
    sentence = "The key {path} is not there, and without it the mind cannot be read."
    remedy = "Put the key file back from your own copy; or `mnemic unlock --recovery` writes one by the recovery key."


class KeyMismatch(StoreError):
    sentence = "The key {path} is not the key of this mind: {why}."
    remedy = "Put back the key file that was made with this mind."


class MindLocked(StoreError):
    """Its passphrase has to be said; hooks go on writing to it meanwhile."""

    http_status = 423
    sentence = "The mind {mind!r} is locked by its passphrase: what happens is kept, and nothing can be recalled."
    remedy = "Run `mnemic unlock{named}` in a terminal; what rewrites a mind asks for the passphrase each time."


class WrongPassphrase(StoreError):
    sentence = "That is not the passphrase of {what}."
    remedy = "Say it again; the recovery key that was printed with it opens the mind too."


class WrongRecoveryKey(StoreError):
    sentence = "That recovery key does not open {what}: {why}."
    remedy = "Compare it with what was printed; for a mind that can be opened, `mnemic rekey --recovery` makes one."


class Rekeyed(StoreError):
    sentence = "The key of {path} was changed at this very moment."
    remedy = "Run the same command again."


class DamagedStore(StoreError):
    sentence = "The store {path} is damaged: {why}."
    remedy = "Leave the file as it is and put back a copy of the mind's folder."


class BackupLocked(StoreError):
    """Nobody said what opens a backup, and the key file that is here does not."""

    sentence = "Nothing that is here opens the backup {path}."
    remedy = "Say what does: {how}."


class NewerSchema(StoreError):
    """Of a store, of the key header that says what opens it, or of a backup: its form is one of a later version."""

    sentence = "{path} was written by a newer Mnemic ({form} {found}; this one knows {known})."
    remedy = "Update Mnemic; nothing was changed."


class OtherSchema(StoreError):
    """Of a store that a version from before the first release made: its tables were others."""

    sentence = "The store {path} was made by another development version of Mnemic, with other tables."
    remedy = "Export the mind with that version and import it here, or make a new one."


class DiskFull(StoreError):
    sentence = "The disk that holds {path} is full: nothing new was kept, and what was there is as it was."
    remedy = "Free some space and run the same command again: what is already there is not stored twice."


class DiskFailed(StoreError):
    """A read or a write failed on the disk itself."""

    sentence = "The disk that holds {path} failed: {why}."
    remedy = "Look at the disk and the system's own log, then run the same command again: what was kept is as it was."


class StoreReadOnly(StoreError):
    sentence = "{path} cannot be written: {why}."
    remedy = "Make the folder writable for you, or name another home with --home."


class PausesUnreadable(StoreError):
    sentence = "Whether the memory was paused cannot be told: {path} cannot be read ({why})."
    remedy = "Make the file readable for you, or remove it. What hooks have kept waits in the spool until then."


class StoreBusy(StoreError):
    http_status = 503
    sentence = "Another process has been writing to {path} for {waited_s:.0f} s."
    remedy = "Try again when it has finished."


class Fenced(StoreError):
    sentence = "This writer of {path} was replaced by a newer one (epoch {own}, now {current}), and writes no more."
    remedy = "Try again: the newer one answers."


class ModelError(MnemicError):
    """The embedding model cannot be used; recall goes on by words alone and says so."""

    code = "model"
    exit_code = 4


class ModelOff(ModelError):
    """No fault: the owner wants words alone."""

    sentence = "Meaning is switched off in the settings."
    remedy = "Switch it on with `mnemic model use default`."


class ModelMissing(ModelError):
    sentence = "The embedding model is not at {path}: {why}."
    remedy = "Name the folder of a BERT model with safetensors weights in `[embedder] model`, or none for the default."


class ModelUnusable(ModelMissing):
    """There is a model, but not one that can be read: for recall it is missing all the same."""

    sentence = "The embedding model at {path} cannot be used: {why}."


class RerankerUnusable(ModelError):
    sentence = "The cross-encoder at {path} cannot be used: {why}."
    remedy = "Name the folder of a BERT with a classifier of one logit in `[rerank] model`, or none."


class NotRerankable(ModelError):
    sentence = "The cross-encoder failed on what was found ({cause})."
    remedy = "Name another one in `[rerank] model`, or none; recall answers without it."


class ImplementationMissing(ModelError):
    sentence = "{implementation} cannot embed: {why}."
    remedy = "{install}, or leave `[embedder] implementation` empty, and the best that is there is taken."


class DeviceExhausted(ModelError):
    sentence = "{implementation} cannot go on: {why}."
    remedy = "End what else uses the device, or name native-int8 as `[embedder] implementation`."


class NotEmbeddable(ModelError):
    sentence = "The embedding model failed on this text ({cause})."
    remedy = "Say it in other words; words are found without the model."


class RuntimeFault(MnemicError):
    """A message was not answered as it should have been."""

    code = "runtime"
    exit_code = 5


class DeadlineExceeded(RuntimeFault):
    http_status = 503
    sentence = "{actor} did not answer {message} within {timeout_s:g} s."
    remedy = "Try again; `mnemic doctor` says what is slow."


class InboxFull(RuntimeFault):
    http_status = 503
    sentence = "{actor} has {capacity} messages waiting and takes no more."
    remedy = "Try again in a moment."


class ActorFailed(RuntimeFault):
    sentence = "{actor} failed on {message} ({cause}); the supervisor restarts it."
    remedy = "Try again; if it stays, `mnemic doctor` and the log of the home say more."


class ActorStopped(RuntimeFault):
    sentence = "{actor} is stopping and did not take {message}."
    remedy = "Start again."


class Quarantined(RuntimeFault):
    sentence = "{actor} failed {failures} times and was set aside: {cause}."
    remedy = "Mend the cause; `mnemic doctor --repair` then has it made anew, and so does starting again."


class EngineLost(RuntimeFault):
    http_status = 503
    sentence = "The engine is gone ({why}) and is being brought back."
    remedy = "Try again in a moment."


class NotServed(RuntimeFault):
    http_status = 503
    sentence = "The process of {home} does not answer: {why}."
    remedy = "Try again; `mnemic doctor` and {log} say more."


class OlderProcess(RuntimeFault):
    http_status = 426
    sentence = (
        "The process of {home}, Mnemic {version}, is older (protocol {theirs}) than this command (protocol {ours}), and"
        " leaves as soon as nobody waits for its answer."
    )
    remedy = "Try again in a moment; or end it: kill {pid}."


class NewerProcess(RuntimeFault):
    http_status = 426
    sentence = (
        "The process of {home}, Mnemic {version}, is newer (protocol {theirs}) than this command, {command}"
        " (protocol {ours})."
    )
    remedy = "Update Mnemic here, or use the one it was started with; or end it: kill {pid}."


__all__ = [name for name, one in globals().items() if isinstance(one, type) and issubclass(one, MnemicError)]
