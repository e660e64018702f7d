"""Verbs of a mind that pause and resume capturing.

Verbs of `mnemic.runtime.api.mind.Mind`. They work on one small file beside the store (`mnemic.runtime.capture.pauses`),
so that they need neither a key nor the home's process, and hold from the next event of a hook on.
"""

from __future__ import annotations

import re

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.runtime.api.verbs import MindVerbs
from mnemic.runtime.capture import pauses
from mnemic.runtime.capture.pauses import Pause
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import mind_folder

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_SPAN = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_LONGEST_S = 10 * 366 * 86_400


class PauseVerbs(MindVerbs):
    """The verbs."""

    def pause(self, for_s: float | None = None) -> Pause:
        """Capture nothing from now on, until somebody resumes, or for so long; a pause that holds ends anew.

        What is said explicitly is kept nevertheless: `remember`, and `capture` of a file that is named.

        Args:
            for_s: for how long, seconds; ``None`` until somebody resumes.

        Raises:
            InvalidValue: that is no span of time.
            StoreReadOnly, DiskFull: nothing was changed.
        """
        return pauses.pause(self._home, self._name, _now_us(), None if for_s is None else _duration_us(for_s, for_s))

    def resume(self) -> Pause | None:
        """Capture again; returns the pause that ended, ``None`` where none held.

        Raises:
            StoreReadOnly, DiskFull: nothing was changed.
        """
        return pauses.resume(self._home, self._name, _now_us())

    def paused(self) -> Pause | None:
        """The pause that holds; ``None`` where none does."""
        return pauses.current_pause(mind_folder(self._home, self._name).path, _now_us())

    def _pause_notice(self) -> tuple[str, ...]:
        """The sentence of the pause that holds, for every answer; nothing where none does."""
        paused = self.paused()
        return () if paused is None else (paused.sentence(),)

    def _notices(self, *, unkept: bool = False) -> tuple[str, ...]:
        """What the start of a session has to say first, a sentence each."""
        return pauses.session_notices(mind_folder(self._home, self._name).path, _now_us(), unkept=unkept)


def parse_duration_us(text: str) -> int:
    """Read a span of time, such as ``2h``, ``90m`` or ``1d12h``: microseconds.

    Raises:
        InvalidValue: it is none, or longer than ten years.
    """
    words = "".join(text.split()).lower()
    if not _SPAN.fullmatch(words):
        raise _duration_error(text, "it is no span of time")
    parts = re.findall(r"([\d.]+)([smhdw])", words)
    return _duration_us(sum(float(number) * _UNITS_S[unit] for number, unit in parts), text)


def _duration_us(seconds: float, given: object) -> int:
    if not 0 < seconds <= _LONGEST_S:  # nan is not
        raise _duration_error(given, "it has to be longer than nothing, and no longer than ten years")
    return max(1, round(seconds * 1e6))


def _duration_error(given: object, why: str) -> InvalidValue:
    return InvalidValue(name="the time to pause for", value=given, why=why, expected="30m, 2h, 1d or 1d12h")


def _now_us() -> int:
    return SystemClock().now_us()  # hooks, which heed what is written, have no other clock
