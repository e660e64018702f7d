"""Finds whose a folder was that is gone: a worktree that was removed, a clone that was moved or deleted.

A folder that is gone resolves to itself. While it was there its session's hooks said of which repository it was a
worktree, which holds where their records are read later. Where they were read in time, their memories are kept: the
session's other memories tell the project, and the transcript itself tells which of them were said in that very folder.
Above stand `mnemic.actors.capture.transcripts` and `mnemic.actors.capture.drain`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import islice, takewhile
from pathlib import PurePosixPath

import msgspec

from mnemic.actors.capture.capture_filter import root_session
from mnemic.actors.capture.prepare import ChangeBuilder, unstorable_reason
from mnemic.actors.kernel.events import Event, HookRecord, escape_surrogates
from mnemic.actors.kernel.ports import Source
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.snapshot import SnapshotSource

_Conversation = tuple[str, str]
_LOOKED_UP = 512
"""So many identities are looked up at once."""
_MOST_AHEAD = 20_000
"""So many items of a transcript are read once more: a second's work, in which no hook's record is taken in."""


class GoneFolders:
    """Places the events of one reading, of a transcript or of a part of the spool."""

    def __init__(
        self,
        keeping: ChangeBuilder,
        snapshots: SnapshotSource,
        is_gone: Callable[[str], bool],
        main_folders: dict[str, str],
        reread: Callable[[], Source] | None = None,
    ) -> None:
        """Look at nothing yet.

        Args:
            keeping: resolves folders and identities.
            is_gone: whether a folder of this machine is not there any more.
            main_folders: by worktree, as hooks have said so far; readings of one process share it.
            reread: opens the same transcript once more; ``None`` where that cannot be done.
        """
        self._keeping = keeping
        self._snapshots = snapshots
        self._look = is_gone
        self._main_folders = main_folders
        self._reread = reread
        self._known: dict[str, bool] = {}
        self._places: dict[tuple[_Conversation, str], ScopeRef] = {}
        self._others: dict[_Conversation, dict[str, ScopeRef]] = defaultdict(dict)
        """The projects of each conversation that folders which are there tell, by what makes them."""
        self._said: dict[tuple[_Conversation, str], Counter[ScopeRef]] = defaultdict(Counter)
        """How many memories that were said in a folder are kept in which scope."""

    def note_record(self, record: HookRecord) -> None:
        """Note the main folder of the worktree that a hook ran in, for its record and for the session's transcript."""
        if record.cwd is not None and record.main_folder is not None:
            self._main_folders[str(PurePosixPath(record.cwd))] = record.main_folder

    def folder_scope(self, folder: str | None) -> ScopeRef:
        """Tell where a folder belongs; a worktree that is gone belongs where its hooks said. See `ChangeBuilder`."""
        return self._keeping.folder_scope(self._lasting_folder(folder))

    def resolve_scope(self, event: Event, scope: str | None, *, anyway: bool) -> ScopeRef | str:
        """Where an event belongs; or why that cannot be told. As `ChangeBuilder.resolve_scope`, but for its folder."""
        if (folder := self._lasting_folder(event.cwd)) != event.cwd:
            event = msgspec.structs.replace(event, cwd=folder)
        place = self._keeping.resolve_scope(event, scope, anyway=anyway)
        if isinstance(place, str) or event.cwd is None or not place.path or place.found == "named":
            return place
        conversation = event.assistant, root_session(event.session)
        if place.found != "folder" or place.project is None or not self._is_gone(event.cwd):
            self._others[conversation][_name(place)] = place
            return place
        key = conversation, place.project
        if key not in self._places:
            self._places[key] = self._owner(conversation, place, place.project)
        return self._places[key]

    def _lasting_folder(self, folder: str | None) -> str | None:
        """The main folder of the repository whose worktree a folder lay in, where that is gone; else the folder."""
        if not folder or not self._main_folders:
            return folder
        above = (PurePosixPath(folder), *PurePosixPath(folder).parents)
        gone = takewhile(self._is_gone, map(str, above))
        return next((self._main_folders[one] for one in gone if one in self._main_folders), folder)

    def _owner(self, conversation: _Conversation, itself: ScopeRef, folder: str) -> ScopeRef:
        """The project of a folder that is gone, as far as anything tells; else the folder itself."""
        gone = [folder, *takewhile(self._is_gone, map(str, PurePosixPath(folder).parents))]
        self._look_ahead()
        with self._snapshots.snapshot() as snapshot:
            for one in gone:
                if said := self._said.get((conversation, one)):
                    return min(said, key=lambda place: (-said[place], place.path))
                clone = ScopeRef(path=itself.path, project=f"{one.rstrip('/')}/.git", found="git")
                if snapshot.scope_path_of(clone) is not None:
                    return clone
            kept = self._telling(snapshot.scopes_of_conversation(*map(_kept_name, conversation)))
        kept |= self._others[conversation]
        return next(iter(kept.values())) if len(kept) == 1 else itself

    def _look_ahead(self) -> None:
        """Read the transcript once more: which of its events are kept, and which folders of it are there."""
        reread, self._reread = self._reread, None
        if reread is None:
            return
        counts: Counter[bytes] = Counter()
        said: list[tuple[bytes, _Conversation, str]] = []
        with closing(reread()) as source:
            for item in islice(source, _MOST_AHEAD):
                if not isinstance(item, Event) or not item.cwd or item.scope is not None or unstorable_reason(item):
                    continue
                conversation, place = (item.assistant, root_session(item.session)), self._keeping.folder_scope(item.cwd)
                first = self._keeping.identity(item, 1)
                counts[first] += item.host_id is None
                if place.found != "folder" or place.project is None or not self._is_gone(item.cwd):
                    self._others[conversation][_name(place)] = place
                elif counts[first] <= 1:  # a text that was said before may have been said elsewhere
                    said.append((first, conversation, place.project))
        with self._snapshots.snapshot() as snapshot:
            for start in range(0, len(said), _LOOKED_UP):
                part = said[start : start + _LOOKED_UP]
                places = snapshot.scopes_of_identities([first for first, _, _ in part])
                for first, conversation, folder in part:
                    if first in places and (told := self._telling([places[first]])):
                        self._said[conversation, folder].update(told.values())

    def _telling(self, places: Iterable[ScopeRef]) -> dict[str, ScopeRef]:
        """Those of some places that tell a project: a folder that is gone, and was kept as itself, tells none."""
        return {
            _name(one): one
            for one in places
            if one.path and not (one.found == "folder" and one.project is not None and self._is_gone(one.project))
        }

    def _is_gone(self, folder: str) -> bool:
        known = self._known.get(folder)
        if known is None:
            known = self._known[folder] = self._look(folder)
        return known


def _name(place: ScopeRef) -> str:
    return place.project or place.path


def _kept_name(name: str) -> str:
    return str(escape_surrogates(name))
