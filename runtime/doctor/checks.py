"""One check of `mnemic doctor`, what the checks look at, and how a check that itself fails is told.

Above stand the modules that look, and `mnemic.runtime.doctor.doctor` with the table of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from mnemic.actors.kernel.errors import MnemicError
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.minds.homes import MindFolder, mind_folder
from mnemic.runtime.minds.run_dir import RunDir

if TYPE_CHECKING:
    from mnemic.actors.kernel.contract import Clock
    from mnemic.runtime.api.mind import Mind
    from mnemic.runtime.api.verbs import Progress
    from mnemic.runtime.keys.keys import Keys
    from mnemic.runtime.store.schema import EncryptedConnection

_log = logging.getLogger("mnemic.doctor")
_LONGEST = 400


State = Literal["ok", "advice", "wrong"]


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    """What."""
    state: State
    """``advice``: it works, and could work better."""
    detail: str
    """What was seen, one sentence."""
    remedy: str = ""
    """What to do, where it is not ``ok``."""
    repairable: bool = False
    """Whether ``--repair`` mends it."""


@dataclass(kw_only=True)
class Target:
    """What is looked at, and what the checks so far have found out about it for those that follow."""

    home: Path
    """The home's folder."""
    mind: str
    """One of its minds."""
    clock: Clock
    """Tells the time of now."""
    open_mind: Callable[[], AbstractContextManager[Mind]]
    """Opens the mind for a repair, by way of the home's process where it runs."""
    progress: Progress
    """Told how far a repair is."""
    keys: Keys | None = None
    """What opens the store: of a mind that is locked, as somebody said; else as the check of the key found."""
    able: bool = False
    """Whether there is a model, as its check found."""
    wants_model: bool = True
    """Whether the settings want one."""
    serving: bool = False
    """Whether a process serves the mind, as the check of its actors found."""
    trials: Mapping[str, str] = field(default_factory=dict)
    """The last trial event of each host that reached the store, as the check of capture found."""
    states: dict[str, str] = field(default_factory=dict)
    """The state of each check so far."""

    @property
    def folder(self) -> MindFolder:
        """The mind's folder."""
        return mind_folder(self.home, self.mind)

    @property
    def run_dir(self) -> RunDir:
        """The run directory of the home."""
        return RunDir(self.home)

    @property
    def readable(self) -> bool:
        """Whether the store can be opened and is whole, as its check found."""
        return self.keys is not None and self.states.get("store") == "ok"

    @contextmanager
    def store(self) -> Iterator[EncryptedConnection]:
        """A connection to the store, its own: a process that serves the mind, and its writer, go on meanwhile."""
        from mnemic.runtime.store.schema import connect, translate_errors

        assert self.keys is not None, "the check of the key comes first"
        path = self.folder.store
        with translate_errors(path), closing(connect(path, self.keys)) as connection:
            yield connection


def failed_check(name: str, error: MnemicError, *, remedy: str = "") -> Check:
    """A check that met an error: what it says, on one line, and its remedy unless there is a better one."""
    return Check(name, "wrong", " ".join(str(error).split())[:_LONGEST], remedy or error.remedy_text)


def run_check(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Look; whatever is raised on the way is one more thing that is wrong, and hides nothing that was seen before."""
    try:
        yield from look()
    except MnemicError as error:
        yield failed_check(name, error)
    except OSError as error:
        what = f"{error.filename or 'it'}: {error.strerror or type(error).__name__}"
        yield Check(name, "wrong", f"it could not be looked at ({what})", "See to that, and run the doctor again.")
    except Exception as error:  # a defect of the check: said, and the others look all the same
        cause = safe_cause(error)
        _log.error("the check %s failed: %s", name, cause)
        remedy = "Report it: the fault is in this check."
        yield Check(name, "wrong", f"it could not be looked at ({cause})", remedy)
