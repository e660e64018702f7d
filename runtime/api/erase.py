"""Verbs of a mind that forget (hide) or erase (delete for good) a whole selection of memories.

Verbs of `mnemic.runtime.api.mind.Mind`. Below are `mnemic.actors.kernel.scope_paths`, which says what a selection
is, and `mnemic.runtime.transfer.erase`, which works on the files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mnemic.actors.capture.forget_messages import ForgetSelection, Selection, SelectionForgotten, Survey, Surveyed
from mnemic.actors.kernel.errors import InvalidValue, MnemicError
from mnemic.actors.kernel.message import ids_bytes
from mnemic.actors.kernel.scope_paths import normalize_scope_path
from mnemic.actors.kernel.times import to_iso
from mnemic.runtime.api.capture import CaptureVerbs
from mnemic.runtime.api.verbs import Progress

if TYPE_CHECKING:
    from mnemic.runtime.transfer.erase import Erasure

_SELECTION_TIMEOUT_S = 3600.0


class CopyHolders(msgspec.Struct, frozen=True, kw_only=True, rename={"quarantined": "aside"}):
    """What holds memories beside the store: what goes with them, and what does not."""

    migration_copies: tuple[str, ...]
    """Copies of the store from before a migration, in the mind's folder; erasing removes them."""
    quarantined: tuple[str, ...]
    """Spool files that are kept because they hold what could not be opened; erasing removes them."""
    minds: tuple[str, ...]
    """Other minds of the home that are copies of this one; they are left alone."""


class ErasureVerbs(CaptureVerbs):
    """The verbs."""

    def survey(self, selection: Selection, shown: int = 10) -> Surveyed:
        """Say what a selection holds, and how the newest of its memories begin; nothing is changed.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession: there is nothing of that name.
            InvalidValue: nothing is selected by anything.
        """
        return self._ask(Survey(selection=_check_selection(selection), shown=shown), _SELECTION_TIMEOUT_S)

    def forget_all(self, selection: Selection, reason: str = "") -> SelectionForgotten:
        """Hide all memories of a selection from recall from now on. Nothing is lost: `recover_all` takes it back.

        Args:
            reason: why, kept with them.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession, InvalidValue: nothing was changed.
        """
        return self._ask(ForgetSelection(selection=_check_selection(selection), reason=reason), _SELECTION_TIMEOUT_S)

    def recover_all(self, selection: Selection) -> SelectionForgotten:
        """Take back that memories of a selection were forgotten; with `forgotten_at`, those of one `forget_all` alone.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession, InvalidValue: nothing was changed.
        """
        return self._ask(ForgetSelection(selection=_check_selection(selection), restore=True), _SELECTION_TIMEOUT_S)

    def recover_command(self, at: int) -> str:
        """The command that takes back what was forgotten at a time, whichever home the shell is set to."""
        return self.command("forget", "--undo", "--forgotten-at", str(to_iso(at)))

    def copy_holders(self) -> CopyHolders:
        """What holds memories beside the store."""
        from mnemic.runtime.minds.homes import mind_folder
        from mnemic.runtime.transfer.erase import migration_copies, quarantined_files

        folder = mind_folder(self._home, self._name)
        return CopyHolders(
            migration_copies=tuple(migration_copies(folder)),
            quarantined=tuple(quarantined_files(folder.spool)),
            minds=tuple(_copies_of(self._home, self._name)),
        )

    def erase(
        self,
        selection: Selection,
        seen: Surveyed | None = None,
        progress: Progress = lambda what, done, total: None,
    ) -> Erasure:
        """Remove memories for good: texts, words, vectors, and what the log and the spool hold of them.

        What is left of each is a keyed hash, so that no transcript, spool or import brings it back. There is no way
        back. Backups and exports that were made before hold them still: `Surveyed.copies` and `copy_holders` name them.

        Args:
            seen: what `survey` said of the selection: what was kept since is not erased. Surveyed here where absent.

        Raises:
            NoSuchMemory, UnknownScope, UnknownSession, InvalidValue: there is nothing of that name; nothing was erased.
            MindLocked: nobody says what opens the mind.
            StoreError: nothing was erased.
        """
        from mnemic.runtime.transfer.erase import erase

        selection = _check_selection(selection)
        self.drain_spool(transcripts=False)  # so that it is erased with the rest
        if seen is None:
            seen = self.survey(selection, 0)
        _, keys = self._keys()  # who sits there is asked before the mind is taken from others
        with self._exclusive_mind() as folder:
            return erase(folder, keys, selection, seen, progress)


def _check_selection(selection: Selection) -> Selection:
    selection = msgspec.structs.replace(selection, ids=ids_bytes(selection.ids))
    if selection.empty:
        why, expected = "nothing says which memories", "ids, a scope, a session or a time"
        raise InvalidValue(name="the selection", value="", why=why, expected=expected)
    if selection.ids and selection != Selection(ids=selection.ids):
        why, expected = "ids are named beside conditions", "ids alone, or conditions alone"
        raise InvalidValue(name="the selection", value="", why=why, expected=expected)
    if selection.since is not None and selection.until is not None and selection.until <= selection.since:
        raise InvalidValue(
            name="--before",
            value=to_iso(selection.until),
            why=f"nothing is said at or after {to_iso(selection.since)} and before this",
            expected="a time after the one of --since",
        )
    if selection.scope is None or selection.scope in ("*", ""):
        return selection
    return msgspec.structs.replace(selection, scope=normalize_scope_path(selection.scope))


def _copies_of(home: Path, mind: str) -> list[str]:
    """Names of the other minds of a home that were made at the very moment at which this one was: its copies."""
    from mnemic.runtime.minds.homes import MindFolder, read_key_header

    def made_at(name: str) -> int | None:
        try:
            return read_key_header(MindFolder(home / "minds" / name)).made_at_us
        except MnemicError:  # it cannot be read: then nobody can say what it is, and whoever opens it is told
            return None

    own = made_at(mind)
    with os.scandir(home / "minds") as found:
        names = sorted(entry.name for entry in found if not entry.name.startswith(".") and entry.is_dir())
    return [name for name in names if name != mind and own and made_at(name) == own]
