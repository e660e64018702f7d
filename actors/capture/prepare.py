"""From an event to the changes that keep it: where it belongs, what is taken out of it, and what cannot be kept.

Transcripts (`mnemic.actors.capture.transcripts`), hooks (`mnemic.actors.capture.drain`) and single texts
(`mnemic.actors.capture.capture`) all come through here, so that none of them keeps a secret that the others would not.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from mnemic.actors.capture.identity import identity_of, new_id
from mnemic.actors.protocol.changes import AddMemory, Change, KeepOriginal, Place
from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import BadInput
from mnemic.actors.protocol.events import Event, printable, to_text
from mnemic.actors.protocol.messages import Applied, Apply
from mnemic.actors.protocol.ports import Digest, Locate, Scrub
from mnemic.algorithms.secrets import scrub as private

__all__ = ["Keeping", "flaw", "keep"]

_log = logging.getLogger("mnemic.capture")

_PATIENCE_S = 600.0  # to index a text of 100 MB takes half a minute; whoever asked may be less patient
_FARTHEST_US = 1 << 62
"""No calendar holds a time beyond this, before or after 1970."""


class Keeping:
    """Turns events into changes."""

    def __init__(self, locate: Locate, identity: Digest, scrub: Scrub, *, originals: bool) -> None:
        """Keep nothing yet.

        Args:
            locate: finds scopes.
            identity: the mind's keyed hash.
            scrub: takes out of a text what must not be kept.
            originals: whether the words from which secrets were taken are kept too, where no recall looks.
        """
        self._locate = locate
        self._places: dict[tuple[str | None, str | None], Place] = {}
        self._folders: dict[str | None, Place] = {}
        self.digest = identity
        """The mind's keyed hash."""
        self.scrub = scrub
        """Takes out of a text what must not be kept."""
        self._originals = originals

    def begin(self) -> None:
        """Forget where folders belong, at the start of each message: a repository may have been made since."""
        self._places.clear()
        self._folders.clear()

    def identity(self, event: Event, occurrence: int) -> bytes:
        """The key of an event; see `mnemic.actors.capture.identity.identity_of`."""
        return identity_of(event, occurrence, self.digest)

    def place(self, event: Event, scope: str | None, *, anyway: bool) -> Place | str:
        """Where an event belongs; or why that cannot be told.

        Args:
            scope: where somebody says that it belongs; ``None`` leaves it to the event and its folder.
            anyway: whether it belongs to the folder itself where a file there is half written: where nobody looks on
                who could mend that, it must keep no words back.

        Raises:
            BadInput: the scope that somebody names is none.
        """
        named = printable(event.scope if scope is None else scope)
        place = self._places.get((named, event.cwd))
        if place is not None:
            return place
        try:
            place = self._locate(named, event.cwd)
        except BadInput as error:
            if scope is not None:
                raise
            if named is not None or not anyway:
                return str(error)
            place = self._locate(None, event.cwd, anyway=True)
            _log.warning("kept in the scope of the folder itself: %s", error)
        self._places[named, event.cwd] = place
        return place

    def place_of_folder(self, folder: str | None) -> Place:
        """Where a folder itself belongs, whatever a file there says."""
        place = self._folders.get(folder)
        if place is None:
            place = self._folders[folder] = self._locate(None, folder, anyway=True)
        return place

    def changes(self, event: Event, identity: bytes, place: Place, context: Context) -> tuple[Change, ...]:
        """What keeps an event: a memory, first; nothing where nothing of its text may be kept."""
        scrubbed = self.scrub(event.text)
        if not scrubbed.text.strip() and scrubbed.found:
            return ()
        memory = AddMemory(
            id=new_id(context, identity),
            identity=identity,
            assistant=printable(event.assistant),
            session=printable(event.session),
            place=Place(path=printable(place.path), project=printable(place.project), found=place.found),
            kind=event.kind,
            role=event.role,
            text=scrubbed.text,
            source_id=printable(event.source_id),
            speaker=printable(event.speaker),
            said_at=event.said_at,
            branch=printable(event.branch),
            tool=printable(event.tool),
            outcome=event.outcome,
            files=tuple(printable(file) for file in event.files),
            scrubbed=scrubbed.found,
        )
        if not self._originals or {kind for kind, _ in scrubbed.found} <= {"private"}:
            return (memory,)
        return (memory, KeepOriginal(memory=memory.id, text=private.drop(event.text)[0]))  # that is kept nowhere


def flaw(event: Event) -> str | None:
    """Why no store can keep an event, in a clause that does not quote it; ``None`` where one can.

    A store that meets such a thing fails; whoever makes events out of what strangers wrote makes one now and then.
    """
    try:
        msgspec.convert(msgspec.structs.asdict(event), Event)
        to_text(event.text)
    except UnicodeDecodeError as error:
        return f"its text is no UTF-8 at byte {error.start}"
    except msgspec.ValidationError as error:
        return f"it is no event ({error})"
    if event.said_at is not None and abs(event.said_at) >= _FARTHEST_US:
        return "no calendar holds its time"
    return None


def keep(changes: Sequence[Change], key: bytes, context: Context) -> Applied:
    """Have the Store carry out changes, on behalf of Capture.

    Raises: what the Store answers with; nothing was changed then.
    """
    answer = context.ask(Apply(changes=tuple(changes), key=key, author="capture", run=context.trace), _PATIENCE_S)
    assert isinstance(answer, Applied)
    return answer
