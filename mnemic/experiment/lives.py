"""The lives that arms live through: what is said and done, in order of time, and what may be asked of it.

A life of somebody's own is named ``package:object``: a function that is given ``options`` and a seed and returns a
`Life`. Questions come with it, or from a file of JSON Lines (``question``, ``gold``: ids of what answers, and, if one
likes, ``id``, ``scope``, ``kind``, ``stale``), or from a function that is given the life and a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel import typed
from mnemic.actors.kernel.errors import InvalidValue, MindMissing, MnemicError, SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, in_world_time
from mnemic.actors.kernel.message import Verb, format_id
from mnemic.actors.kernel.times import UTC_ZONE
from mnemic.actors.log.changes import MEMORY_FIELDS
from mnemic.bench.quality.facts.change_sets import made_lives
from mnemic.bench.quality.locomo import convert
from mnemic.bench.quality.question_sets import locomo_set
from mnemic.experiment.spec import SpecFile
from mnemic.hooks.read.formats import find_transcripts, open_transcript
from mnemic.hooks.read.generic import GenericReader
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

_BLOCK = 256  # memories read at once


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is asked of all arms alike."""

    id: str
    """What it is told from others by; the same in each seed where it is the same question."""
    text: str
    """As it is asked."""
    gold: frozenset[str]
    """Ids of what answers it; it is asked once all of that was said."""
    scope: str = "*"
    """Where it is asked."""
    stale: frozenset[str] = frozenset()
    """Ids of what answered it once, and answers it no more."""
    kind: str = ""
    """Of which kind it is."""
    ask: Verb[Any] | None = None
    """What is asked in place of a recall of the text."""
    used_at: tuple[int, ...] = ()
    """Before these nights, counted from 1, an assistant asks it besides, and opens what answers; a night that is named
    twice, twice."""


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What is lived through."""

    events: tuple[Event, ...]
    """What was said and done, in order of time; each has a time and a `source_id`."""
    questions: tuple[Question, ...] = ()
    """What may be asked of it."""
    notes: tuple[str, ...] = ()
    """What of it could not be read."""


def load_life(file: SpecFile, seed: int, home: Path) -> Life:
    """The life of a spec for a seed, with its questions chosen.

    Args:
        home: where the mind of a ``log`` is.

    Raises:
        InvalidValue: there is none, or it is none; the key of the spec is named.
        SourceUnreadable, MindMissing, MindLocked, StoreError: it cannot be read.
    """
    spec = file.spec
    life = _checked(file, _MADE.get(spec.life.kind, _of_ones_own)(file, seed, home))
    questions = _questions(file, life, seed)
    if spec.probes.kinds:
        known = sorted({one.kind for one in questions})
        for kind in spec.probes.kinds:
            if kind not in known:
                expected = f"some of {', '.join(known) or 'none'}"
                raise file.wrong("probes.kinds", kind, "no question is of that kind", expected)
        questions = [one for one in questions if one.kind in spec.probes.kinds]
    questions = questions[:: spec.probes.every]
    if not questions:
        raise file.wrong("probes.source", spec.probes.source, "it holds no question", "one that does")
    said = {one.source_id for one in life.events}
    known_ids: set[str] = set()
    for one in questions:
        if one.id in known_ids:
            raise file.wrong("probes.source", one.id, "two questions have that id", "each an id of its own")
        known_ids.add(one.id)
        if not one.text.strip():
            raise file.wrong("probes.source", one.id, "this question is empty", "each a text")
        if one.scope != "*" and not _is_lived(one.scope, life):
            raise file.wrong(
                "probes.source",
                one.scope,
                f"{one.id} asks in it, and nothing is said there",
                "a scope of the life, or *",
            )
        if not one.gold and one.ask is None:
            raise file.wrong("probes.source", one.text, "this question has no gold", "each the ids of what answers it")
        if not one.gold <= said:
            missing = min(one.gold - said)
            expected = "ids of lines, or of memories; a line without an id has none"
            raise file.wrong("probes.source", missing, f"{one.id} names it, and nothing has that id", expected)
    return msgspec.structs.replace(life, questions=tuple(questions))


def load_object(file: SpecFile, where: str, name: str) -> Any:
    """What ``package:object`` names.

    Raises:
        InvalidValue: there is none; the key of the spec is named.
    """
    module, colon, member = name.partition(":")
    why = "it names no object of a module"
    if colon and module and member:
        try:
            return getattr(import_module(module), member)
        except Exception as error:  # whatever a stranger's module does when it is imported
            why = f"it cannot be had ({type(error).__name__}: {error})"
    raise file.wrong(where, name, why, "package:object of an installed package")


def _generated(file: SpecFile, seed: int, home: Path) -> Life:
    size = file.spec.life.size
    made = made_lives(range(seed * size, (seed + 1) * size))
    questions = [
        Question(
            id=f"{one.slot[0]} {number}",
            text=one.question,
            gold=one.gold,
            scope=one.slot[0],
            stale=one.stale,
            kind=one.kind,
        )
        for number, one in enumerate(made.questions)
    ]
    return Life(events=_generic(made.turns), questions=tuple(questions))


def _locomo(file: SpecFile, seed: int, home: Path) -> Life:
    path = _path(file)
    try:
        asked = locomo_set(path).questions
        events = _generic(convert(path))
    except OSError as error:
        raise file.wrong("life.path", str(path), error.strerror or "it cannot be read", "LoCoMo's file") from error
    except (ValueError, KeyError, TypeError) as error:
        why = f"it is not LoCoMo's JSON ({type(error).__name__})"
        raise file.wrong("life.path", str(path), why, "LoCoMo's file") from error
    return Life(
        events=events,
        questions=tuple(
            Question(id=f"{number}", text=one.question, gold=one.answers, scope=one.scope, kind=one.kind)
            for number, one in enumerate(asked)
        ),
    )


def _transcripts(file: SpecFile, seed: int, home: Path) -> Life:
    path = _path(file)
    if not path.is_dir():
        raise file.wrong("life.path", str(path), "there is no such folder", "a folder of transcripts")
    events: list[Event] = []
    notes: list[str] = []
    for one in find_transcripts(str(path)):
        source = open_transcript(one, "auto")
        try:
            for each in source:
                if isinstance(each, MalformedLine):
                    notes.append(f"not read: line {each.line} of {one}: {each.why}")
                elif isinstance(each, Event):
                    events.append(in_world_time(each, UTC_ZONE))
        finally:
            source.close()
    return Life(events=tuple(events), notes=tuple(notes))


def _log(file: SpecFile, seed: int, home: Path) -> Life:
    try:
        folder, keys = open_mind(home, file.spec.life.mind, looking=True)
    except MindMissing as error:
        raise file.wrong(
            "life.mind", file.spec.life.mind, f"there is no such mind in {home}", "one that is there"
        ) from error
    events: list[Event] = []
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as snapshot:
        rows = [int(row) for row in snapshot.memory_columns(0).row]
        for start in range(0, len(rows), _BLOCK):
            for memory in snapshot.load_memories(rows[start : start + _BLOCK]):
                id, said_at = format_id(memory.id), memory.recorded_at if memory.said_at is None else memory.said_at
                fields = {name: getattr(memory, name) for name in MEMORY_FIELDS}
                fields |= {"source_id": id, "said_at": said_at}
                events.append(
                    Event(
                        assistant=memory.assistant,
                        session=memory.session,
                        text=memory.data,
                        disambiguator=id,
                        scope=memory.scope or None,
                        files=memory.files,
                        **fields,
                    )
                )
    return Life(events=tuple(events))


def _of_ones_own(file: SpecFile, seed: int, home: Path) -> Life:
    kind = file.spec.life.kind
    make = load_object(file, "life.kind", kind)
    try:
        life = make(file.spec.life.options, seed)
    except Exception as error:  # whatever a stranger's function does
        raise file.wrong("life.kind", kind, f"it failed ({type(error).__name__}: {error})", "one that works") from error
    if not isinstance(life, Life) or not _is_well_formed(life):
        raise file.wrong(
            "life.kind",
            kind,
            "it gives no Life of events and questions",
            "a function that returns a mnemic.experiment.Life",
        )
    return life


_MADE: dict[str, Callable[[SpecFile, int, Path], Life]] = {
    "generated": _generated,
    "locomo": _locomo,
    "transcripts": _transcripts,
    "log": _log,
}


def _is_well_formed(life: Any) -> bool:
    are_events = all(isinstance(one, Event) and isinstance(one.text, bytes) for one in life.events)
    return are_events and all(map(_is_question, life.questions))


def _is_question(one: Any) -> bool:
    if not isinstance(one, Question):
        return False
    plain = msgspec.structs.replace(one, ask=None)
    try:
        return typed.convert(msgspec.structs.asdict(plain), Question) == plain
    except msgspec.ValidationError:
        return False


def _is_lived(scope: str, life: Life) -> bool:
    """Whether anything is said in a scope or below it; where scopes come from folders, that is not known."""
    return any(one.scope is None or f"{one.scope}/".startswith(f"{scope}/") for one in life.events)


def _path(file: SpecFile) -> Path:
    return (file.path.parent / Path(file.spec.life.path).expanduser()).resolve()


def _generic(turns: Iterable[Mapping[str, Any]]) -> tuple[Event, ...]:
    reader = GenericReader()
    return tuple(event for turn in turns for event in reader.read(dict(turn)) if isinstance(event, Event))


def _checked(file: SpecFile, life: Life) -> Life:
    """In order of time, with ids; what names no time was said with what stands before it."""
    if not life.events:
        raise file.wrong("life", file.spec.life.kind, "nothing happens in it", "one in which something is said")
    events, at = [], next((one.said_at for one in life.events if one.said_at is not None), 0)
    for number, one in enumerate(life.events):
        at = at if one.said_at is None else one.said_at
        events.append(msgspec.structs.replace(one, said_at=at, source_id=one.source_id or one.host_id or f"#{number}"))
    return msgspec.structs.replace(life, events=tuple(sorted(events, key=lambda one: one.said_at or 0)))


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    question: str
    gold: frozenset[str]
    id: str = ""
    scope: str = "*"
    kind: str = ""
    stale: frozenset[str] = frozenset()
    used_at: tuple[int, ...] = ()


def _questions(file: SpecFile, life: Life, seed: int) -> list[Question]:
    source = file.spec.probes.source
    if source == "life":
        if not life.questions:
            expected = "a file of questions, or package:object"
            raise file.wrong("probes.source", source, f"a life of {file.spec.life.kind} comes without any", expected)
        return list(life.questions)
    path = (file.path.parent / Path(source).expanduser()).resolve()
    if path.is_file():
        return _read_questions(file, path)
    if ":" not in source:
        raise file.wrong("probes.source", source, "there is no such file", "life, a file, or package:object")
    make = load_object(file, "probes.source", source)
    try:
        found: Sequence[Question] = tuple(make(life, seed))
    except MnemicError:
        raise
    except Exception as error:  # whatever a stranger's function does
        why = f"it failed ({type(error).__name__}: {error})"
        raise file.wrong("probes.source", source, why, "one that works") from error
    if not all(map(_is_question, found)):
        raise file.wrong("probes.source", source, "it gives no questions", "mnemic.experiment.Question, each")
    return list(found)


def _read_questions(file: SpecFile, path: Path) -> list[Question]:
    found = []
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadable(path=str(path), why="it is no text that can be read") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = msgspec.json.decode(line, type=_Line)
        except ValueError as error:
            name = f"line {number} of {path}"
            expected = 'such as {"question": "…", "gold": ["id"]}'
            raise InvalidValue(name=name, value=line, why=str(error), expected=expected) from error
        found.append(
            Question(
                id=one.id or f"{number}",
                text=one.question,
                gold=one.gold,
                scope=one.scope,
                stale=one.stale,
                kind=one.kind,
                used_at=one.used_at,
            )
        )
    return found
