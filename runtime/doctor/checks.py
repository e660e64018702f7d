"""The result of one check of `mnemic doctor`, and how a check that itself fails is reported.

Above stand the modules that look (`examine_home`, `examine_machine`, `examine_mind`, `examine_process` and
`examine_actor system`), and `mnemic.runtime.doctor.doctor`, which has them look.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from mnemic.actors.protocol.errors import MnemicError
from mnemic.runtime.engine.engine import safe_cause

__all__ = ["Check", "failed_check", "format_size", "pluralize", "run_check"]

_log = logging.getLogger("mnemic.doctor")
_LONGEST = 400


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    """What."""
    state: Literal["ok", "advice", "wrong"]
    """``advice``: it works, and could work better."""
    detail: str
    """What was seen, one sentence."""
    remedy: str = ""
    """What to do, where it is not ``ok``."""
    repairable: bool = False
    """Whether ``--repair`` mends it."""


def failed_check(name: str, error: MnemicError, *, repairable: bool = False, remedy: str = "") -> Check:
    """A check that met an error: what it says, on one line, and its remedy unless there is a better one."""
    return Check(name, "wrong", " ".join(str(error).split())[:_LONGEST], remedy or error.remedy_text, repairable)


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


def pluralize(number: int, one: str, many: str = "") -> str:
    """A number and what it counts."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def format_size(size_bytes: int) -> str:
    """A number of bytes."""
    return f"{size_bytes / 1e6:.1f} MB"
