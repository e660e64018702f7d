"""`mnemic doctor`: what was seen of a home and a mind, what was mended, and how both are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.hooks.wire.status import wiring_checks
from mnemic.runtime.api.mind import Mind, Progress
from mnemic.runtime.doctor.capture import arrived
from mnemic.runtime.doctor.checks import Check, counted
from mnemic.runtime.doctor.doctor import Mended, examine, repair
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.models.encoders import encoder_from

__all__ = ["Findings", "care_for"]


class Findings(msgspec.Struct, frozen=True):
    """What the doctor has to say."""

    checks: list[Check]
    """Everything that was looked at, as it is now."""
    mended: list[Mended] | None
    """What was tried, where it was asked for."""

    @property
    def wrong(self) -> bool:
        """Whether anything is."""
        return any(check.state == "wrong" for check in self.checks)

    @property
    def repaired(self) -> list[str]:
        """What was mended, by name."""
        return sorted(one.name for one in self.mended or () if one.done)

    def view(self) -> dict[str, Any]:
        """As JSON."""
        return {"checks": [msgspec.structs.asdict(check) for check in self.checks], "repaired": self.repaired}

    def lines(self) -> Iterator[str]:
        """For a person."""
        for check in self.checks:
            yield f"{check.state:>6}  {check.name}: {check.detail}{f' -> {check.remedy}' if check.remedy else ''}"
        if self.mended is None:
            return
        for one in self.mended:
            yield f"{'repaired' if one.done else 'not repaired'}: {one.name}: {one.told}"
        if not self.mended:
            nothing = "nothing; what is wrong above cannot be repaired here" if self.wrong else "nothing needed it"
            yield f"repaired: {nothing}"


def care_for(
    home: Path,
    mind: str,
    clock: Clock,
    environment: Mapping[str, str],
    *,
    mend: bool,
    opened: Callable[[], AbstractContextManager[Mind]],
    progress: Progress,
    keys: Keys | None = None,
) -> Findings:
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
            again = whole.read_again()
            whole.drain()
        return f"understood {again.readmitted} of the records now, and read {again.queued} transcripts again"

    def bind_again() -> str:
        with opened() as whole:
            left = whole.bind_again(progress)
        return (
            f"bound them again; {counted(left, 'still fails', 'still fail')}" if left else "bound them again, all whole"
        )

    def look() -> list[Check]:
        wiring = lambda: wiring_checks(home, environment, clock, arrived(home, mind, clock, keys))  # noqa: E731 - a name
        return examine(home, mind, clock, encoder_from, {"wiring": wiring}, keys)

    checks = look()
    if not mend:
        return Findings(checks, None)
    mended = repair(home, mind, clock, checks, rebuild, read_again, bind_again, keys)
    return Findings(look() if mended else checks, mended)
