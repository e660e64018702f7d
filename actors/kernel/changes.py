"""The closed list of write operations on the store; actors send them in `Apply`.

The Store carries out all changes of one `Apply` in one transaction, which has a number (`seq`), a run and an author.
What came in and what was decided about it is kept in the log (`Logged`): carried out again from its start, it gives the
same memories; to a number, those of then. What is made from memories (vectors, hypervectors, communities, statements),
what was given to whom, and how far files were read is written in the same transaction and is not logged. What only
erasing writes, no actor can ask for: nothing in `Change` takes a memory away. `Retire` hides one, and keeps its bytes.
"""

from __future__ import annotations

from typing import Union

from mnemic.actors.capture.changes import (
    AdvanceSpool,
    CountOccurrences,
    DiscardSpoolFile,
    FinishTranscript,
    IgnoreSession,
    KeepOriginal,
    QuarantineRecord,
    QueueTranscript,
    RecordSelfTest,
    Relabel,
    ReleaseRecord,
    SetSessionMode,
)
from mnemic.actors.communities.changes import MarkBoundary, PlaceMembers, SetCommunities, SetPrototypes
from mnemic.actors.knowledge.changes import AddStatements, GradeStatements, MergeEntities, SettleStatements
from mnemic.actors.log.changes import AddMemory, RecordDelivery, Retire, Supersede, Unretire
from mnemic.actors.meaning.changes import AddEncoder, AddVectors, DropEncoder
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.actors.shape.changes import AddCodes, AddSpace
from mnemic.actors.sleep.changes import BeginNight, EndNight, KeepDerived, KeepVerdict, TakeBackNights
from mnemic.actors.transfer.changes import RecordBackup, RedactedChange, Tombstone

_Input = Union[  # noqa: UP007 - msgspec's
    AddMemory,
    Supersede,
    Retire,
    Unretire,
    Relabel,
    KeepOriginal,
    CountOccurrences,
    IgnoreSession,
    SetSessionMode,
    RenameScope,
    MergeScopes,
    SplitScope,
    MoveProject,
    MoveMemories,
    MarkBoundary,
    SettleStatements,
    MergeEntities,
    BeginNight,
    TakeBackNights,
]
UnloggedChange = Union[  # noqa: UP007 - as above
    AddEncoder,
    DropEncoder,
    AddVectors,
    AddSpace,
    AddCodes,
    SetCommunities,
    PlaceMembers,
    SetPrototypes,
    AddStatements,
    GradeStatements,
    KeepDerived,
    KeepVerdict,
    EndNight,
    RecordDelivery,
    AdvanceSpool,
    DiscardSpoolFile,
    QuarantineRecord,
    ReleaseRecord,
    QueueTranscript,
    FinishTranscript,
    RecordSelfTest,
    RecordBackup,
]
"""What is written and not logged: what is made from memories, what was given, and how far capture has come."""
Change = Union[_Input, UnloggedChange]  # noqa: UP007 - as above
"""What an actor may ask for."""
Logged = Union[_Input, Tombstone, RedactedChange]  # noqa: UP007 - as above
"""What a log may hold."""
