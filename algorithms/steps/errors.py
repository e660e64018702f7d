"""Reads out of what a failed command printed which kind of error it was, and what it said.

Compilers and interpreters name an error by a class or a code (``ModuleNotFoundError``, ``E0382``, ``ENOENT``), other
programs by a line that begins as such lines do (``fatal: …``). What a line quotes, its paths and its numbers differ
from case to case, so a message is read as it is and with these left out. Pure; `mnemic.actors.shape.features` binds it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_MESSAGE_CHARS = 100
"""A longer message is cut."""
GAP = "…"
"""What stands for a part of a message that differs from case to case."""
_MAX_LINES, _MAX_LINE_CHARS = 400, 500
_CLASS = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Failure|Timeout|DoesNotExist|NotFound)"
_RAISED = re.compile(
    rf"^(?:E\s+)?(?:Uncaught )?(?P<kind>{_CLASS})(?: \[(?P<code>[A-Z][A-Z0-9_]{{3,}})\])?(?::\s*(?P<said>.*))?$"
)
"""A line in which an interpreter names the class of what was raised."""
_TEST = re.compile(r"^(?:FAILED|ERROR) \S+ - (?=.)")
"""What pytest puts before the reason of a test that failed."""
_ASSERTED = re.compile(r"^(?:E\s+)?(?P<said>assert .*)$")
"""A line in which pytest tells an assertion that failed."""
_CODED = (
    re.compile(r"^(?:.*?[:)] *|- +)?error ?\[?(?P<kind>(?:TS|E|C|CS|LNK)\d{3,5})\]?:\s*(?P<said>.*)$"),
    re.compile(r"^npm (?:ERR!|error) code (?P<kind>E[A-Z0-9]{3,})(?P<said>)$"),
    re.compile(r"^.*?error: (?P<said>.*?)\s+\[(?P<kind>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)\]$"),
    re.compile(r"^(?:\S+:\d+:\d+: )?(?P<kind>[A-Z]{1,4}\d{3,4})(?: \[\*\])? (?P<said>[A-Z`].*)$"),
)
"""Lines in which compilers and linters name an error by a code."""
_ERRNO = re.compile(
    r"\bE(?:NOENT|ACCES|PERM|EXIST|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|PIPE|ISDIR|NOTDIR|NOTEMPTY|MFILE|NOSPC|BUSY)\b"
)
_LED = re.compile(r"^(?:fatal|panic|error|failed|FAIL|FAILED|ERROR|Error|make(?:\[\d+\])?: \*\*\*)[:!]? +(?P<said>.*)$")
"""A line that says in its first word that something failed."""
_PHRASES = (
    *("command not found", "permission denied", "no such file or directory", "not a directory", "is a directory"),
    *("connection refused", "address already in use", "no rule to make target", "would be reformatted", "timed out"),
)
"""What the system says in the same words for every program: then that is the kind."""
_WORDS = (
    *("already exists", "not found", "no such", "cannot", "can't", "could not", "unable to", "undefined", "unknown"),
    *("unrecognized", "unexpected", "missing", "rejected", "conflict", "invalid", "refused", "denied", "failed"),
    *("failure", "error", "panicked"),
)
_SAYS = re.compile(rf"\b(?:{'|'.join((*_PHRASES, *_WORDS))})\b", re.IGNORECASE)
_NOISE = re.compile(
    r"^(?:Exit code \d+|Traceback \(most recent call last\):|=(?:.*=)?|-+|_+|\^+[\^~\s]*|npm (?:ERR!|error)\s*)$"
)
_VARIABLE = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|‘[^’]*’|<[^<>]*>"""  # what is quoted
    r"|(?<![\w/])(?:[\w.~-]*/)+[\w.-]*|\b[\w-]+\.[A-Za-z]\w{0,4}\b"  # paths and files
    r"|0x[0-9a-fA-F]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*"  # numbers
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class ErrorKind(NamedTuple):
    """What went wrong."""

    name: str
    """Its class or code: ``ModuleNotFoundError``, ``E0382``; ``""`` where it has none."""
    phrase: str
    """What the system says of it for any program: ``permission denied``; ``""`` where it says nothing of the kind."""
    message: str
    """What was said, without what differs from case to case: ``no module named …``."""
    exact: str
    """What was said."""

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the most general first, without those that are empty or say the same."""
        return tuple(dict.fromkeys(one for one in self if one))


def read_error(text: str) -> ErrorKind | None:
    """The kind of error that a text tells, or ``None`` where it tells none.

    Of several the last that a class names counts, since what is printed last is what ended it; else the first that
    has a code; else the first line that says in one of the usual ways that something failed, or else the first.

    Args:
        text: what a failed command printed, or a part of it.
    """
    whole = text.splitlines()
    if len(whole) > _MAX_LINES:
        whole = whole[: _MAX_LINES // 2] + whole[-_MAX_LINES // 2 :]
    lines = [_TEST.sub("", _ANSI.sub("", line[:_MAX_LINE_CHARS]).strip()) for line in whole]
    lines = [line for line in lines if line and not _NOISE.match(line)]
    raised = [match for line in lines if (match := _RAISED.match(line))]
    if raised:
        name, code = raised[-1]["kind"].rpartition(".")[2], raised[-1]["code"]
        return _kind(code if code and name == "Error" else name, raised[-1]["said"] or "")
    asserted = next((match for line in lines if (match := _ASSERTED.match(line))), None)
    if asserted:
        return _kind("AssertionError", asserted["said"])
    for form in _CODED:
        coded = next((match for line in lines if (match := form.match(line))), None)
        if coded:
            return _kind(coded["kind"], coded["said"])
    said = next((led["said"] for line in lines if (led := _LED.match(line))), None)
    said = said or next((line for line in lines if _SAYS.search(line)), None)
    return _kind("", said or lines[0]) if lines else None


def _kind(name: str, said: str) -> ErrorKind:
    exact = " ".join(said.split())[:MAX_MESSAGE_CHARS].strip()
    masked = " ".join(_VARIABLE.sub(GAP, said).split()).lower()
    masked = re.sub(rf"(?:{GAP}[\s:,.]*)+{GAP}", GAP, masked)[:MAX_MESSAGE_CHARS].strip()
    errno = _ERRNO.search(said)
    if errno and name in ("", "Error"):
        name = errno[0]
    name = "" if name == "Error" else name
    return ErrorKind(name, _phrase(said), masked if any(map(str.isalnum, masked)) else "", exact)


def _phrase(line: str) -> str:
    lowered = line.lower()
    return next((one for one in _PHRASES if one in lowered), "")
