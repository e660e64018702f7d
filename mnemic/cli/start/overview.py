"""`mnemic` alone: how things stand, and what to do next.

Nothing is started for it, no actor runs and no model is loaded: it looks at files, and into the store.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.times import to_iso
from mnemic.cli.context import CLOCK, CommandContext
from mnemic.cli.hooks.lines import short_path
from mnemic.cli.terminal.output import Line, columns, local_minute
from mnemic.runtime.api.reports import engine_problems, format_size, pluralize
from mnemic.runtime.minds.homes import DEFAULT_MIND
from mnemic.runtime.version import __version__

_QUESTION = ("what", "did", "we", "decide", "last", "week")


def print_overview(chosen: CommandContext) -> None:
    """What `mnemic` does alone."""
    chosen.print_answer(overview(chosen), overview_lines)


def overview(chosen: CommandContext) -> dict[str, Any]:
    """How a home and one of its minds are, as JSON.

    Raises:
        InvalidValue: no mind can have that name.
    """
    from mnemic.runtime.doctor.summary import summarize_mind

    mind = summarize_mind(chosen.home, chosen.mind, CLOCK)
    assistants, wrong = assistants_here(chosen)
    if mind is not None:
        wrong = [*dict.fromkeys([*_settings_or_model_wrong(chosen), *mind.wrong, *wrong])]
        wrong = [one for one in wrong if one != mind.paused]
    view = {
        "version": __version__,
        "home": str(chosen.home),
        "mind": chosen.mind,
        "set_up": mind is not None,
        "memories": None if mind is None else mind.memories,
        "captured_at": None if mind is None else to_iso(mind.captured_at),
        "waiting_bytes": 0 if mind is None else mind.waiting_bytes,
        "locked": mind is not None and mind.locked,
        "assistants": assistants,
        "paused": "" if mind is None else mind.paused,
        "wrong": wrong,
    }
    return view | {"next": [*_next(chosen, view)]}


def overview_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The same for a person."""
    name = f"mind {view['mind']!r} in {short_path(view['home'], columns() // 2)}"
    if not view["set_up"]:
        what = ": a long-term memory for AI assistants, on your own machine"
        yield [(f"Mnemic {view['version']}", "bold"), (what, "")]
        yield [("not set up yet", "yellow"), (f": there is no {name}", "")]
    else:
        yield [(f"Mnemic {view['version']}", "bold"), (f": {name}", "")]
        yield from _mind_lines(view)
    for state in ("wired", "wired to another home", "not as installed", "settings unreadable", "not wired"):
        named = [one["title"] for one in view["assistants"] if one["state"] == state]
        if named:
            yield [(f"{state}: ", "green" if state == "wired" else "yellow"), (", ".join(named), "")]
    if not view["assistants"]:
        yield "no assistant was found on this machine"
    if view["paused"]:
        yield [("paused: ", "yellow"), (view["paused"], "")]
    yield from ([("wrong: ", "red"), (why, "")] for why in view["wrong"])
    yield from next_lines(view["next"])


def _settings_or_model_wrong(chosen: CommandContext) -> list[str]:
    """Why no question is answered, or none by its meaning or by a process, by the settings or the model's folder."""
    from mnemic.runtime.engine.settings import load_asked_settings
    from mnemic.runtime.models.models import missing_model

    try:
        missing: MnemicError | None = missing_model(load_asked_settings(chosen.home / "mnemic.toml").values())
    except MnemicError as error:
        missing = error
    if missing is not None:
        return [f"{missing} {missing.remedy_text}", *engine_problems(chosen.home)]
    return engine_problems(chosen.home)


def next_lines(commands: list[dict[str, str]]) -> Iterator[Line]:
    """What to do next, a command a line."""
    width = max(len(one["command"]) for one in commands)
    beside = width + max(len(one["what"]) for one in commands) + 4 <= columns()
    yield [("next:", "bold")]
    for one in commands:
        what = f"{one['command']:<{width}}  {one['what']}".removeprefix(one["command"])
        yield [("  ", ""), (one["command"], "cyan"), *([(what, "")] if beside else [])]
        if not beside:
            yield [(f"    {one['what']}", "dim")]


def _mind_lines(view: dict[str, Any]) -> Iterator[Line]:
    if view["locked"]:
        yield [("locked", "yellow"), (" by its passphrase: what happens is kept, and nothing can be recalled", "")]
    elif view["memories"] is not None:
        newest = f", the last one captured {local_minute(view['captured_at'])}" if view["captured_at"] else ""
        yield f"{pluralize(view['memories'], 'memory')}{newest}"
        if view["waiting_bytes"]:
            yield f"{format_size(view['waiting_bytes'])} from hooks wait to be taken in"


def assistants_here(chosen: CommandContext) -> tuple[list[dict[str, str]], list[str]]:
    """Each assistant that is here or wired, and how; and what is wrong with them."""
    from mnemic.hooks.wire.record import InstallRecord
    from mnemic.hooks.wire.status import examine_present

    if not os.environ.get("HOME"):
        return [], []
    found, wrong = [], []
    try:
        record = InstallRecord(chosen.home, CLOCK)
        for host, status in examine_present(chosen.home, os.environ, CLOCK, record, ask_codex=False):
            if status.other_home is not None:
                state = "wired to another home"
            elif status.wired:
                state = "not as installed" if status.missing_parts else "wired"
            elif status.plugin:
                state = "wired"
            else:
                state = "settings unreadable" if status.wrong else "not wired"
            found.append({"name": host.name, "title": host.title, "state": state})
            wrong += status.wrong
    except MnemicError as error:
        wrong.append(f"{error} {error.remedy_text}")
    return found, wrong


def _next(chosen: CommandContext, view: dict[str, Any]) -> Iterator[dict[str, str]]:
    """What is worth doing now."""
    if not view["set_up"]:
        what = "makes it, and wires your assistants" if view["assistants"] else "makes it"
        yield step(chosen, what, "setup")
        yield {"command": f"{program()} demo", "what": "shows on an example what it does"}
    elif view["locked"]:
        yield step(chosen, "asks for its passphrase", "unlock")
    if view["wrong"]:
        yield step(chosen, "looks at all of it, and says what to do", "doctor")
    if view["set_up"] and any(one["state"] in ("not wired", "not as installed") for one in view["assistants"]):
        yield step(chosen, "wires those assistants", "setup")
    if view["memories"]:
        yield step(chosen, "finds what was said and done", "recall", *_QUESTION)
        yield step(chosen, "lists what was captured last", "log")
    elif view["memories"] == 0:
        yield step(chosen, "takes in transcripts, notes and exports", "capture", "FILE")
    yield {"command": f"{program()} --help", "what": "lists all commands"}


def worth_trying(chosen: CommandContext, view: dict[str, Any]) -> list[dict[str, str]]:
    """What a user who has just set Mnemic up can try, by the view of `mnemic setup`."""
    wired, steps = view["wired"], []
    if not wired:
        steps.append(step(chosen, "takes in transcripts, notes and exports", "capture", "FILE"))
    if not wired and not view["mind"]["memories"]:
        steps.append(step(chosen, "keeps a sentence", "remember", "Bea likes tea"))
        steps.append(step(chosen, "finds it", "recall", *["who", "likes", "tea"]))
    else:
        soon = "in a minute" if (view["backfill"] or {}).get("queued") else "once it is said"
        what = "finds what was said" if view["mind"]["memories"] else f"finds it, {soon}"
        steps.append(step(chosen, what, "recall", *_QUESTION))
    steps += [step(chosen, "proves that it works", "hooks", "status")] if wired else []
    return [*steps, step(chosen, "says how things stand")]


def step(chosen: CommandContext, what: str, *words: str) -> dict[str, str]:
    """A command to try, and what it does."""
    return {"command": command_line(chosen, *words), "what": what}


def command_line(chosen: CommandContext, *words: str) -> str:
    """A command for this home and this mind, as it can be pasted here."""
    from mnemic.runtime.minds.homes import default_home, expand_home

    mind = [] if chosen.mind == DEFAULT_MIND else ["--mind", chosen.mind]
    home = [] if chosen.home == expand_home(default_home(os.environ)) else ["--home", str(chosen.home)]
    return shlex.join([program(), *words, *home, *mind])


def program() -> str:
    """What starts this command from here: its name where the shell finds it, else how it was started."""
    given = sys.argv[0]
    return given if Path(given).name == "mnemic" and os.sep in given and shutil.which("mnemic") is None else "mnemic"
