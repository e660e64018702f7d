"""Messages of the knowledge actor: what holds, what held, what contradicts, and which things are known.

A fact is a statement that a memory makes, with
the time for which it holds; see docs/facts.md.
"""

from __future__ import annotations

from typing import Literal

from mnemic.actors.kernel.message import Id, Message, Text, Time, Verb
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.knowledge.changes import Verdict
from mnemic.actors.recall.messages import FactRef

FactState = Literal["holds", "held", "replaced", "ended", "planned", "unsure"]
"""Of a statement as of a day: it holds; it held before, by its own words; another one has replaced it; it tells that
something has ended; it is planned, or is to hold later; or it is only wished, asked, supposed or quoted."""


class UpdateFacts(Verb["FactsProgress"], frozen=True, kw_only=True):
    """Read what waits to be read, and grade what waits to be graded: one bounded step, then on in the background."""


class FactsProgress(Message, frozen=True, kw_only=True):
    """Answer to `UpdateFacts`."""

    done: int
    """Memories that were read."""
    pending: int
    """Memories that wait to be read or graded."""


class Fact(Message, frozen=True, kw_only=True):
    """A statement of a memory."""

    memory: Id
    """The memory that makes it."""
    start_byte: int
    """Where its value begins in the memory's text."""
    subject: Text
    """What it is said of, word for word; empty where the text names nothing."""
    relation: str
    """The verb as a dictionary lists it, with its preposition; empty where the value is the whole predicate."""
    value: Text
    """What is said of it, word for word."""
    text: Text
    """The clause, word for word."""
    text_byte: int
    """Where it begins in the memory's text."""
    state: FactState
    """Whether it holds, as of the day that was asked for."""
    negative: bool = False
    """Whether it is denied."""
    modality: str
    """With what status it is said: ``asserted``, ``planned``, ``wished``, ..."""
    rule: str
    """What decided that."""
    said_at: Time
    """World time it was said."""
    holds_from: Time
    """World time from which it holds: by its words, else since it was first said."""
    holds_to: Time | None = None
    """World time from which it does no longer, by its words or by what replaced it; absent where nothing tells."""
    replaced_by: FactRef | None = None
    """What stands for it, if anything does."""
    in_question: bool = False
    """Whether another statement contradicts it, and nobody has settled that."""
    times: int = 1
    """In how many memories it is said; the newest of them is named, of its user's where there are any."""
    speaker: str | None
    """Who said it."""
    role: str
    """Who it comes from."""
    scope: str
    """The scope's path."""


class ListFacts(Verb["FactsListed"], frozen=True, kw_only=True):
    """List what holds: the statements of memories about a thing, or about all, the newest first."""

    entity: str = ""
    """Of what: a name as it is written anywhere; all things where absent."""
    relation: str = ""
    """A verb as a dictionary lists it (``use``): those statements alone."""
    at: Time | None = None
    """What held at the end of that day; now where absent."""
    history: bool = False
    """Whether what held before, what was only planned and what is unsure is listed, too."""
    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 20
    """At most so many."""


class FactsListed(Message, frozen=True, kw_only=True):
    """Answer to `ListFacts`."""

    facts: tuple[Fact, ...]
    """The newest first."""
    entity: str = ""
    """The name by which the thing that was asked for is known."""
    also_called: tuple[str, ...] = ()
    """Its other names."""
    total: int
    """How many there are; of all things together, among the newest 2,000 statements."""
    conflicts: tuple[Conflict, ...] = ()
    """What of these a person should settle."""
    waiting: int
    """How many memories of the whole mind are not read yet."""


class Conflict(Message, frozen=True, kw_only=True):
    """Two statements that are likely of one matter, and do not both hold."""

    id: str
    """Eight characters, by which it is settled."""
    older: Fact
    """The one said earlier."""
    newer: Fact
    """The one said later."""
    grade: str
    """``conflict``, or ``replaced`` where the newer one replaced the older by itself."""
    probability: float
    """How probably it did, 0 to 1."""
    why: str
    """What that rests on."""
    verdict: str = ""
    """What somebody said of it, if anybody did."""
    by: str = ""
    """Who."""


class ListConflicts(Verb["ConflictsListed"], frozen=True, kw_only=True):
    """List pairs of statements that somebody should settle, the newest first."""

    replaced: bool = False
    """Those instead that were settled: where one replaced the other by itself, or somebody said what they are."""
    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 20
    """At most so many."""


class ConflictsListed(Message, frozen=True, kw_only=True):
    """Answer to `ListConflicts`."""

    conflicts: tuple[Conflict, ...]
    """The newest first."""
    total: int
    """How many there are."""
    waiting: int
    """How many memories of the whole mind are not read yet."""


class SettleConflict(Verb["ConflictSettled"], frozen=True, kw_only=True):
    """Say which of two statements holds. It is kept with the name of who says it, and can be taken back."""

    id: str
    """Its number, as `mnemic conflicts` prints it."""
    verdict: Verdict
    """newer: that one holds. older: that one does. both: they do not exclude each other. unrelated: they are not about
    the same. open: takes back what was said of it."""
    scope: Scopes = "*"
    """Where it has to be."""
    by: str = "user"
    """Who says so."""


class ConflictSettled(Message, frozen=True, kw_only=True):
    """Answer to `SettleConflict`."""

    conflict: Conflict
    """As it is now."""
    changed: bool
    """Whether anything came of it."""


class Entity(Message, frozen=True, kw_only=True):
    """A thing that memories name."""

    name: str
    """How it is mostly written."""
    kind: str
    """What it is: a person, a service, a tool, a file, a place, a project; ``thing`` where nothing tells."""
    memories: int
    """How many memories name it."""
    also_called: tuple[str, ...] = ()
    """Its other names."""
    last_at: Time | None
    """World time it was named last; ``None`` where no memory names it, but statements are about it."""


class ListEntities(Verb["EntitiesListed"], frozen=True, kw_only=True):
    """List the things that memories name, those named most first."""

    kind: str = ""
    """Of that kind alone."""
    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 20
    """At most so many."""


class EntitiesListed(Message, frozen=True, kw_only=True):
    """Answer to `ListEntities`."""

    entities: tuple[Entity, ...]
    """Those named most first."""
    total: int
    """How many there are."""
    waiting: int
    """How many memories of the whole mind are not read yet."""


class EntityNeighbour(Message, frozen=True, kw_only=True):
    """A thing that is named beside another one."""

    name: str
    """How it is mostly written."""
    kind: str
    """What it is."""
    memories: int
    """How many memories name both."""


class ShowEntity(Verb["EntityShown"], frozen=True, kw_only=True):
    """Show a thing: what holds of it, what held, what it is named beside, and where."""

    name: str
    """Its name, as it is written anywhere."""
    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 10
    """At most so many facts, neighbours and memories each."""


class EntityShown(Message, frozen=True, kw_only=True):
    """Answer to `ShowEntity`."""

    entity: Entity
    """Itself."""
    facts: tuple[Fact, ...]
    """What holds of it, and after that what held, the newest first."""
    names: tuple[EntityName, ...]
    """Why its names are taken for names of one thing."""
    neighbours: tuple[EntityNeighbour, ...]
    """Named beside it most."""
    memories: tuple[Id, ...]
    """The memories that name it, the newest first."""


class EntityName(Message, frozen=True, kw_only=True):
    """One name of a thing that has several."""

    name: str
    """As it is written."""
    why: str
    """Why it is taken for a name of it; empty for the first."""


class MergeNames(Verb["NamesMerged"], frozen=True, kw_only=True):
    """Say that two names are of one thing; or, without the other name, that a name stands for itself again."""

    name: str
    """The name."""
    into: str = ""
    """The one that it goes by from now on; empty takes that back."""


class NamesMerged(Message, frozen=True, kw_only=True):
    """Answer to `MergeNames`."""

    entity: Entity
    """What the name stands for now."""
    changed: bool
    """Whether anything came of it."""
