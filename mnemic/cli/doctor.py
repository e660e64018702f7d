"""`mnemic doctor`: runs all checks, repairs on request, and formats the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.hooks.wire.status import wiring_checks
from mnemic.runtime.api.mind import Mind, Progress
from mnemic.runtime.doctor.capture import last_trial_events
from mnemic.runtime.doctor.checks import Check, pluralize
from mnemic.runtime.doctor.doctor import RepairResult, examine, repair
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.models.encoders import encoder_from_settings

__all__ = ["DoctorReport", "run_doctor"]


class DoctorReport(msgspec.Struct, frozen=True):
    """What the doctor has to say."""

    checks: list[Check]
    """Everything that was looked at, as it is now."""
    repairs: list[RepairResult] | None
    """What was tried, where it was asked for."""

    @property
    def has_problems(self) -> bool:
        """Whether anything is."""
        return any(check.state == "wrong" for check in self.checks)

    @property
    def repaired(self) -> list[str]:
        """What was mended, by name."""
        return sorted(one.name for one in self.repairs or () if one.succeeded)

    def view(self) -> dict[str, Any]:
        """As JSON."""
        return {"checks": [msgspec.structs.asdict(check) for check in self.checks], "repaired": self.repaired}

    def lines(self) -> Iterator[str]:
        """For a person."""
        for check in self.checks:
            yield f"{check.state:>6}  {check.name}: {check.detail}{f' -> {check.remedy}' if check.remedy else ''}"
        if self.repairs is None:
            return
        for one in self.repairs:
            yield f"{'repaired' if one.succeeded else 'not repaired'}: {one.name}: {one.detail}"
        if not self.repairs:
            nothing = (
                "nothing; what is wrong above cannot be repaired here" if self.has_problems else "nothing needed it"
            )
            yield f"repaired: {nothing}"


def run_doctor(
    home: Path,
    mind: str,
    clock: Clock,
    environment: Mapping[str, str],
    *,
    mend: bool,
    opened: Callable[[], AbstractContextManager[Mind]],
    progress: Progress,
    keys: Keys | None = None,
) -> DoctorReport:
    """Look, mend where that is asked for, and look again.

    Args:
        environment: where the assistants keep their settings follows from it.
        opened: the mind, by way of the home's process where it runs.
        progress: told how far a repair is.
        keys: of a mind that is locked, where somebody said its passphrase.
    """

    def rebuild() -> None:
        with opened() as whole:
            whole.rebuild(progress=lambda done, total: progress("log", done, total))

    def read_again() -> str:
        with opened() as whole:
            again = whole.retry_quarantined()
            whole.drain_spool()
        return f"understood {again.readmitted} of the records now, and read {again.queued} transcripts again"

    def bind_again() -> str:
        with opened() as whole:
            left = whole.rebind_failed(progress)
        return (
            f"bound them again; {pluralize(left, 'still fails', 'still fail')}"
            if left
            else "bound them again, all whole"
        )

    def look() -> list[Check]:
        wiring = lambda: wiring_checks(home, environment, clock, last_trial_events(home, mind, clock, keys))  # noqa: E731 - a name
        return examine(home, mind, clock, encoder_from_settings, {"wiring": wiring}, keys)

    checks = look()
    if not mend:
        return DoctorReport(checks, None)
    mended = repair(home, mind, clock, checks, rebuild, read_again, bind_again, keys)
    return DoctorReport(look() if mended else checks, mended)
