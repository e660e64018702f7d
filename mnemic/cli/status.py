"""The commands `mnemic status` and `mnemic doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from mnemic.actors.meaning.messages import MODEL_OFF
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options, exit_where_failed
from mnemic.cli.derived.sleep import night_line
from mnemic.cli.terminal.output import Line, degraded_lines, progress_bars
from mnemic.runtime.api.reports import format_size, pluralize
from mnemic.runtime.version import __version__

_STATE_STYLES = {"ok": "green", "wrong": "bold red", "note": "yellow"}


@cli.command()
@common_options
def status(chosen: CommandContext) -> None:
    """What is there, and what is degraded."""
    if chosen.is_locked():
        _locked_status(chosen)
        return
    from mnemic.actors.kernel.message import to_json

    with chosen.open(create=False, asking=True) as mind:
        status = mind.status()
        nights = to_json(mind.nights(k=1), strict=False)["nights"]
        view = msgspec.to_builtins(status) | {"last_night": nights[0] if nights else None}
        view["capture"] |= {"told": [*status.capture.lines()]}

    chosen.print_answer(view, status_lines)


def status_lines(view: dict[str, Any]) -> Iterator[Line]:
    """How things stand, as the JSON has it."""
    counts, actor_system, process = view["counts"], view["actor_system"], view["process"]
    yield [(f"mind {view['mind']!r}", "bold"), (f" in {view['home']}, Mnemic {view['version']}", "")]
    alone = f"no process serves it: this command worked alone, {actor_system['engine']}"
    yield _process_line(process) if process else alone
    if view["paused"] is not None:
        yield [(f"PAUSED: {view['paused']['told']}", "yellow")]
    memories, sessions = pluralize(counts["memories"], "memory"), pluralize(counts["sessions"], "session")
    yield [
        (memories, "bold"),
        (f" in {sessions}, {counts['embedded']} found by meaning, {counts['bound']} by shape", ""),
    ]
    if counts["unreadable"]:
        yield f"the extractor of statements failed at {pluralize(counts['unreadable'], 'memory')}: see mnemic.log"
    if counts["communities"]:
        yield f"{pluralize(counts['communities'], 'community')} of memories; `mnemic communities` lists them"
    if counts["headless"] or counts["subagents"]:
        yield f"of the sessions {counts['headless']} headless, {counts['subagents']} of subagents"
    if counts["retired"]:
        yield f"{counts['retired']} of them forgotten: kept, and not found"
    kept, on_disk = format_size(counts["kept_bytes"]), format_size(view["store_bytes"])
    yield f"texts {format_size(counts['text_bytes'])}, kept as {kept}; on disk {on_disk}"
    yield from usage_lines(view["use"], {scope["path"]: scope["found"] for scope in counts["scopes"]})
    yield f"kinds: {', '.join(f'{kind} {count}' for kind, count in counts['kinds'].items()) or 'none yet'}"
    if view["encoder"] == MODEL_OFF:
        yield "meaning is switched off in the settings: words alone answer; `mnemic model use default` switches it on"
    else:
        yield f"embedded by {view['encoder'] or 'nobody'}, vectors compared by {counts['scan']}"
    yield from view["capture"]["told"]
    if view["last_night"] is not None:
        yield f"last night {night_line(view['last_night'])}"
    yield from _actor_lines(actor_system)
    shown = view["paused"]["told"] if view["paused"] else None
    yield from degraded_lines([one for one in view["degraded"] if one != shown] or ["nothing"])


def _locked_status(chosen: CommandContext) -> None:
    """What can be known of a mind without the key that its passphrase locks."""
    from mnemic.runtime.api.lock import server_info
    from mnemic.runtime.api.reports import engine_problems
    from mnemic.runtime.minds.homes import locked_error, mind_folder
    from mnemic.runtime.spool.files import measure_backlog, read_losses

    process = server_info(chosen.home, chosen.mind)
    folder = mind_folder(chosen.home, chosen.mind)
    waits, lost, error = measure_backlog(folder.spool, {}), read_losses(folder.spool), locked_error(folder)
    size_bytes = sum(file.stat().st_size for file in folder.path.glob("store.db*"))
    view = {
        "home": str(chosen.home),
        "mind": chosen.mind,
        "version": __version__,
        "locked": True,
        "store_bytes": size_bytes,
        "capture": {"backlog": msgspec.to_builtins(waits), "losses": msgspec.to_builtins(lost)},
        "process": process,
        "degraded": [f"{error} {error.remedy_text}", *([] if process else engine_problems(chosen.home))],
    }

    chosen.print_answer(view, locked_status_lines)


def locked_status_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The same for a person."""
    waits, lost = view["capture"]["backlog"], view["capture"]["losses"]["lost"]
    yield [(f"mind {view['mind']!r}", "bold"), (f" in {view['home']}, Mnemic {view['version']}", "")]
    yield _process_line(view["process"]) if view["process"] else "no process serves it"
    yield f"on disk {format_size(view['store_bytes'])}"
    if waits["files"]:
        waiting = f"{format_size(waits['size_bytes'])} in {pluralize(waits['files'], 'file')} of the spool"
        yield f"hooks: {waiting}; what of it is not taken in yet is kept until the mind is unlocked"
    if lost:
        yield f"hooks: {pluralize(lost, 'event')} could not be written and were lost"
    locked, *more = view["degraded"]
    yield [("locked: ", "yellow"), (locked, "")]
    yield from degraded_lines(more)


def _process_line(process: dict[str, Any]) -> str:
    """What the home's process says of itself."""
    line = f"served by process {process['pid']} ({process['mode']}, {process['engine']} engine), {process['state']}"
    if process["version"] != __version__:
        line += f", of Mnemic {process['version']}: `mnemic doctor` says what to do"
    if process["tcp"]:
        line += f", also on {process['tcp']}"
    if process["restarts"]:
        line += (
            f"; its engine was brought back {pluralize(process['restarts'], 'time')}, last because: {process['cause']}"
        )
    return line


def _actor_lines(actor_system: dict[str, Any]) -> Iterator[str]:
    """How the actors are, where there is something to say; `--json` says it of each."""
    for actor in actor_system["actors"]:
        if actor["failures"]:
            failed = pluralize(actor["failures"], "failure")
            yield f"  {actor['actor']} ({actor['kind']}): {actor['state']}, {failed}, the last: {actor['cause']}"
        elif not actor["kind"].startswith("mnemic."):
            yield f"  {actor['actor']}: {actor['kind']}, {actor['state']}"
    if actor_system["dead_letters"]:
        undelivered = pluralize(actor_system["dead_letters"], "message")
        yield f"  {undelivered} could not be delivered; `mnemic doctor` shows them"


def usage_lines(use: dict[str, Any], found: dict[str, str]) -> Iterator[str]:
    """Memories, bytes and tokens given, by project and by week, as `mnemic.runtime.api.views.usage_view` gives it.

    Args:
        found: how the scopes that are there were found, by path.
    """
    for project in use["projects"]:
        how = f" ({found[project['path']]})" if project["path"] in found else ""
        name = {"": "(no scope)", "*": "(asked of everything)"}.get(project["path"], project["path"])
        yield f"  {name}: {_amount(project)}{how}"
    weeks = [week for week in use["weeks"] if week["memories"] or week["given"]]
    if weeks:
        yield "by week, from Monday on:"
        yield from (f"  {week['from']}: {_amount(week)}" for week in weeks)
    if use["told_twice"]:
        times = pluralize(use["told_twice"], "time")
        yield f"told twice: {times} a user said again what memory held and that conversation had not been given"


def _amount(use: dict[str, Any]) -> str:
    kept = f"{pluralize(use['memories'], 'memory')}, {format_size(use['text_bytes'])}"
    times = pluralize(use["given"], "time")
    return f"{kept}, {pluralize(use['tokens'], 'token')} given ({times})" if use["given"] else kept


@cli.command()
@click.option("--repair", "is_repair", is_flag=True, help="Mend what can be mended without losing anything.")
@common_options
def doctor(chosen: CommandContext, is_repair: bool) -> None:
    """Look for what is wrong, and say what to do."""
    from mnemic.hooks.wire.status import wiring_checks
    from mnemic.runtime.capture.pauses import current_pause
    from mnemic.runtime.doctor.checks import Check, Target
    from mnemic.runtime.doctor.doctor import examine, repair

    keys = chosen.prompt_for_keys()
    with progress_bars(chosen.as_json) as progress:

        def look() -> tuple[Target, list[Check]]:
            target = Target(
                home=chosen.home,
                mind=chosen.mind,
                clock=CLOCK,
                open_mind=lambda: chosen.open(create=False),
                progress=progress,
                keys=keys,
            )
            held = current_pause(target.folder.path, CLOCK.now_us())
            told = "" if held is None else held.sentence()
            wiring = lambda target: wiring_checks(chosen.home, os.environ, CLOCK, target.trials, told)  # noqa: E731 - a name
            return target, examine(target, [("wiring", wiring)])

        target, checks = look()
        repairs = repair(target, checks) if is_repair else []
        if repairs:
            _, checks = look()
    has_problems = any(check.state == "wrong" for check in checks)

    repaired = sorted(one.name for one in repairs if one.succeeded)
    view = {"checks": msgspec.to_builtins(checks), "repaired": repaired}
    tried = {"repairs": msgspec.to_builtins(repairs)} if is_repair else {}
    chosen.print_answer(view | tried, doctor_lines)
    exit_where_failed(has_problems, done=True)


def doctor_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was looked at, how it is, and what to do."""
    for check in view["checks"]:
        remedy = f" -> {check['remedy']}" if check["remedy"] else ""
        what = f"  {check['name']}: {check['detail']}{remedy}"
        yield [(f"{check['state']:>6}", _STATE_STYLES.get(check["state"], "")), (what, "")]
    for one in view.get("repairs", ()):
        yield f"{'repaired' if one['succeeded'] else 'not repaired'}: {one['name']}: {one['detail']}"
    if view.get("repairs") == []:
        cannot = "nothing; what is wrong above cannot be repaired here"
        wrong = any(check["state"] == "wrong" for check in view["checks"])
        yield f"repaired: {cannot if wrong else 'nothing needed it'}"
