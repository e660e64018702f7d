"""`mnemic demo`: captures the bundled example in a home of its own and asks it a few questions."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.message import format_id
from mnemic.actors.kernel.times import to_iso
from mnemic.cli.context import CommandContext
from mnemic.cli.recall import answer_lines
from mnemic.cli.start.overview import next_lines, program, step
from mnemic.cli.terminal.output import Line, columns, cut, local_day
from mnemic.open_mind import open_here
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import answer_view
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.minds.homes import default_home, expand_home

_PATTERN, _EXPECTED_ANSWER = {"after": "edit, test failed", "then": "?"}, "test python ok"
_TAKEN, _FREE = "something is in it already", "a folder that is new or empty"
_BEFORE_TEXT = 26
"""So many columns of a hit's line are its number, day and speaker."""
_CORRECTION = "The session token lasts 10 minutes from today: the tablet in the boathouse is shared."


def run_demo(
    progress: Callable[[str, int, int | None], None], keep: Path | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Run it in a home of its own; returns what happened, as JSON and as lines for a person.

    Args:
        keep: the home, which stays; else one that is thrown away.

    Raises:
        InvalidValue: something is there already, or no home of a demo can be there.
        StoreReadOnly, DiskFull: it cannot be made.
    """
    clock = SystemClock()
    with as_file(files("mnemic") / "example") as example, _demo_home(keep) as home:
        questions = {q["kind"]: q for q in json.loads((example / "questions.json").read_text("utf-8")) if q.get("demo")}
        with open_here(home, create=True) as mind:
            return _run_in(mind, example, questions, clock, progress)


def demo_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What the demo did, and what to do next."""
    yield from view["told"]
    yield ""
    yield from next_lines(view["next"])


def what_next(chosen: CommandContext, *, kept: bool) -> list[dict[str, str]]:
    """What to try after the demo."""
    asks = [
        step(chosen, "asks what it kept", "recall", "Who struggles with poor eyesight?"),
        step(chosen, "lists it", "log"),
    ]
    leaves = {"command": f"{program()} demo --keep DIR", "what": "leaves this memory in a folder, to play with"}
    setup = {"command": f"{program()} setup", "what": "makes your own memory, and wires your assistants"}
    return [*asks, setup] if kept else [setup, leaves]


@contextmanager
def _demo_home(keep: Path | None) -> Iterator[Path]:
    """A folder to work in: thrown away at the end, or moved to where it is to be kept once that is reached.

    It lies on the same file system, beside that place or above what is missing of it.
    """
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="mnemic-demo-") as home:
            yield Path(home)
        return
    place = _empty_place(keep)
    beside = next(folder for folder in place.parents if folder.exists())
    try:
        made = tempfile.mkdtemp(prefix=".mnemic-demo-", dir=beside)
    except OSError as error:
        raise write_error(beside, error) from error
    try:
        yield Path(made)
        _move(made, place)
    except BaseException:
        if os.path.exists(made):  # a signal may come when it was just moved
            shutil.rmtree(made)
        raise


def _empty_place(keep: Path) -> Path:
    """Where the home goes, its links resolved: a folder that is not there yet, or is empty. Nothing is made.

    Raises:
        InvalidValue: it is neither, is the user's own home, or cannot be replaced.
    """
    place = Path(os.path.realpath(keep))
    if place == Path(os.path.realpath(expand_home(default_home(os.environ)))):
        raise _refused(keep, "your own memories belong there", "another folder")
    if keep.is_symlink() and not keep.exists():
        raise _refused(keep, f"it is a link to {os.readlink(keep)}, which is not there", _FREE)
    try:
        if place.exists() and any(place.iterdir()):
            raise _refused(keep, _TAKEN, _FREE)
        if place.exists() and (os.path.ismount(place) or place.samefile(os.curdir)):
            raise _refused(keep, "a mount point or the working folder cannot be replaced", "a folder in it")
    except OSError as error:
        raise write_error(keep, error) from error
    return place


def _move(made: str, place: Path) -> None:
    """Move a home to where it is to stay.

    Raises:
        InvalidValue: something was put there meanwhile.
        StoreReadOnly, DiskFull: it cannot be moved.
    """
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.rename(made, place)  # onto a folder only where that is empty
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise _refused(place, _TAKEN, _FREE) from error
        raise write_error(place, error) from error


def _refused(keep: Path, why: str, expected: str) -> InvalidValue:
    return InvalidValue(name="--keep", value=str(keep), why=why, expected=expected)


def _run_in(
    mind: Mind,
    example: Path,
    questions: dict[str, Any],
    clock: SystemClock,
    progress: Callable[[str, int, int | None], None],
) -> tuple[dict[str, Any], list[str]]:
    lines: list[str] = []
    view: dict[str, Any] = {"answers": []}

    def timed(verb: Callable[[], Any]) -> tuple[Any, float]:
        started = clock.monotonic_s()
        return verb(), clock.monotonic_s() - started

    def note(title: str, question: str, took_s: float, expected: str, rank: int | None, answer: Any) -> None:
        view["answers"].append(
            {
                "what": title,
                "question": question,
                "expected": expected,
                "rank": rank,
                "took_ms": round(1e3 * took_s, 1),
                "hits": [{"id": format_id(hit.id), "text": hit.text} for hit in answer.hits],
                "degraded": list(answer.degraded),
            }
        )
        if rank is None:
            lines.append(f"  (the expected answer is not among them: {expected!r})")
        lines.extend(f"  degraded: {line}" for line in answer.degraded)

    def ask(title: str, question: str, expected: str, **options: Any) -> Any:
        recalled, took_s = timed(lambda: mind.recall(question, 3, **options))
        lines.extend(["", f"{title}: {question}   ({1e3 * took_s:.0f} ms)"])
        for number, hit in enumerate(recalled.hits, start=1):
            old = "  [superseded]" if hit.superseded_by else ""
            who = hit.speaker or hit.role
            said = cut(" ".join(hit.text.split()), columns() - _BEFORE_TEXT - len(old))
            lines.append(f"  {number}. {_day(hit.said_at)} {who:<9} {said}{old}")
        rank = next((n for n, hit in enumerate(recalled.hits, start=1) if expected in hit.text), None)
        note(title, question, took_s, expected, rank, recalled)
        return recalled

    def ask_shape(title: str, pattern: dict[str, str], expected: str) -> None:
        shaped, took_s = timed(lambda: mind.shape(pattern, 3))
        typed = " ".join(f"{role}={shlex.quote(filler)}" for role, filler in pattern.items())
        lines.extend(["", f"{title}: {typed}   ({1e3 * took_s:.0f} ms)"])
        found = answer_lines([answer_view(one, strict=False) for one in shaped.answers])
        lines.extend(f"  {line}" for line in found)
        rank = next((n for n, one in enumerate(shaped.answers, start=1) if expected in one.filler), None)
        note(title, typed, took_s, expected, rank, shaped)

    report, took_s = timed(lambda: mind.capture(example, scope=None, progress=progress))
    again, again_s = timed(lambda: mind.capture(example, embed=False))
    lines.append(
        f"captured {report.new} memories from {report.files} transcripts in {took_s:.1f} s:"
        f" {report.embedded + report.pending} found by words, {report.embedded} by meaning too"
    )
    if report.meaning_error:
        lines.append(f"no meaning: {report.meaning_error}")
    lines.append(f"the same again: {again.new} new, {again.known} known, in {again_s:.1f} s")
    view["capture"] = {"new": report.new, "files": report.files, "embedded": report.embedded, "again_new": again.new}

    for kind, title in (("meaning", "by meaning"), ("words", "by words")):
        ask(title, questions[kind]["question"], questions[kind]["answer_contains"])
    ask_shape("by shape", _PATTERN, _EXPECTED_ANSWER)

    changed = questions["changed"]
    ask("a changed mind", changed["question"], changed["new_contains"])
    more = mind.recall(changed["question"], 10, observe=False)  # by words alone it may stand further down
    said = next((hit for hit in more.hits if changed["new_contains"] in hit.text), None)
    if said is not None:
        then = clock.now_us()
        kept = mind.remember(_CORRECTION, supersedes=said.id)
        if report.meaning_error is None:
            mind.embed()
        lines.extend(["", f"remembered, in place of what was said on {_day(said.said_at)}: {_CORRECTION}"])
        view["correction"] = {"id": format_id(kept.id), "supersedes": format_id(said.id)}
        ask("the changed fact, now", changed["question"], _CORRECTION)
        ask("the same, as it was known before", changed["question"], changed["new_contains"], as_of=then)
    return view, lines


def _day(at: int | None) -> str:
    return local_day(to_iso(at), "")
