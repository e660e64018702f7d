"""What is told a person of assistants' wiring: a block each where something changes, a line where all is well.

Each function takes the JSON of the command alone. The commands are in `mnemic.cli.hooks.commands`, and
`mnemic.cli.start.setup` tells its own in fewer lines.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mnemic.cli.terminal.output import Line, columns, cut_front, local_day
from mnemic.hooks.read.names import UNREAD_REMEDY, unread_sentence
from mnemic.runtime.api.reports import format_size, pluralize

_SHORTEST_PATH = 24


def install_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What an install does, or did, as `mnemic.cli.hooks.commands.wiring_view` gives it."""
    applied = view["applied"]
    notes = Counter(note for host in view["hosts"].values() for note in host["notes"])
    for name, host in view["hosts"].items():
        once = host | {"notes": [note for note in host["notes"] if notes[note] == 1]}
        yield from _block(name, once, applied, "wired", diff=view["shows_diff"])
    yield from (note for note, times in notes.items() if times > 1)
    yield from absent_lines(view)
    if not view["hosts"]:
        yield "no assistant was found"
        return
    if view["made"]:
        did = "made" if applied else "would make"
        yield f"{did} the mind that they fill; its key is {view['made']}: keep a copy elsewhere"
    if view["executables"]:
        paths = [Path(path) for path in view["executables"]]
        yield f"{'put' if applied else 'would put'} into {paths[0].parent}: {', '.join(path.name for path in paths)}"
    yield from _closing_lines(view, "nothing to do: it is all there already", bool(view["executables"]))
    yield from transcript_lines(view["transcripts"])
    yield from unread_lines(view)


def uninstall_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What an uninstall does, or did."""
    for name, host in view["hosts"].items():
        yield from _block(name, host, view["applied"], "undone", diff=view["shows_diff"])
    if not view["hosts"]:
        yield "no assistant is wired"
        return
    yield from _closing_lines(view, "nothing to do", False)


_NEXT_STEPS = {
    "claude-code-plugin": "next: `claude plugin marketplace add {folder}`, then `claude plugin install mnemic@mnemic`",
    "mcpb": "next: open it with Claude Desktop (Settings, Extensions)",
    "agents-md": "",
}
"""What to do with an export, by its kind."""


def export_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What an export writes, or wrote."""
    changed = [file for file in view["files"] if file["change"] != "unchanged"]
    for file in changed:
        done = file["change"] if view["applied"] else f"would be {file['change']}"
        yield [(short_path(file["path"], columns() - len(done) - 2), "cyan"), (f": {done}", "")]
        yield from ([(f"  {line}", diff_style(line))] for line in (file["diff"] if view["shows_diff"] else ()))
    if not changed:
        yield "nothing to do: it is all there already"
    elif not view["applied"]:
        more = "" if view["shows_diff"] or view["kind"] == "mcpb" else "; --diff shows every line of it"
        yield f"nothing was written; --apply does it{more}"
    elif _NEXT_STEPS[view["kind"]]:
        yield _NEXT_STEPS[view["kind"]].format(folder=shlex.quote(str(Path(view["files"][0]["path"]).parents[1])))


def leave_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What `mnemic uninstall` does, or did."""
    remains = [f"  {one['path']} ({format_size(one['size_bytes'])})" for one in view["remains"]]
    yield f"Uninstalling from the home {view['home']}"
    for name, host in view["hosts"].items():
        yield from _block(name, host, view["applied"], "undone", diff=False)
    if not view["hosts"]:
        yield "no assistant is wired"
    service = view["service"]
    if service is not None:
        yield f"the service {service['name']} {'is removed' if view['applied'] else 'would be stopped and removed'}"
        if service["error"]:
            left = f"{service['error']}; run this once {service['manager']} answers:"
            yield [("  not run: ", "red"), (left, "")]
            yield from ([(f"    {command}", "cyan")] for command in service["commands"])
    yield view["process"]
    gone = "removed" if view["applied"] else "would remove"
    yield from (f"{gone} {path}" for path in (*view["completions"], *view["link"], *view["removed"], *view["erased"]))
    if not view["applied"]:
        yield from ("--erase-data would remove, for good:", *remains) if view["erase_data"] else ()
        return
    yield from ("what stays is not Mnemic's:", *(f"  {path}" for path in view["stays"])) if view["stays"] else ()
    if view["erase_data"] and not view["erased"]:
        yield from ("what remains is yours:", *remains, "the data was not erased: see to the assistants above first")
    elif not view["erase_data"] and remains:
        yield from ("what remains is yours:", *remains)


def absent_lines(view: dict[str, Any]) -> Iterator[Line]:
    """Assistants that are left out; the JSON says of each how that was seen."""
    if view["left_out"]:
        yield [(f"not on this machine: {', '.join(view['left_out'])}", "dim")]


def _block(name: str, host: dict[str, Any], applied: bool, done: str, *, diff: bool) -> Iterator[Line]:
    """One assistant: what becomes of it, and which files lose or get what."""
    changed = [file for file in host["files"] if file["change"] != "unchanged"]
    if host["failed"]:
        yield [(name, "bold"), (f": not {done}: ", "red"), (host["failed"], "")]
    elif changed:
        yield [(name, "bold"), (f": {done}" if applied else f": would be {done}", "green" if applied else "yellow")]
    else:
        why = ", its plugin does all of it" if host["by_plugin"] else ""
        yield [(name, "bold"), (f": nothing changes{why}", "green")]
    yield from other_home_lines(host)
    yield from untried_lines(host)
    for file in changed:
        parts = ", ".join(file["parts"])
        what = f"without {parts}" if done == "undone" else parts or file["change"]
        what = {"made": f"{what} (a new file)", "removed": "the file goes"}.get(file["change"], what)
        yield [("  ", ""), (short_path(file["path"], columns() - len(what) - 5), "cyan"), (f": {what}", "")]
        yield from ([(f"  {line}", diff_style(line))] for line in (file["diff"] if diff else ()))
    if host["allow"] is not None:
        would = "" if applied else " would be"
        yield f"  what it may do by MCP beyond its own project{would}: {' and '.join(host['allow']) or 'nothing'}"
    if changed or host["allow"] is not None:
        yield from (f"  {note}" for note in host["notes"])


def other_home_lines(host: dict[str, Any]) -> Iterator[Line]:
    """Which home an assistant has filled so far, where that ends."""
    if host["other_home"]:
        yield [("  so far it fills another home: ", "yellow"), (host["other_home"], "")]


def untried_lines(host: dict[str, Any]) -> Iterator[Line]:
    """What of an assistant no test has run."""
    if host["untried"]:
        yield [("  ", ""), (host["untried"], "yellow")]


def _closing_lines(view: dict[str, Any], nothing: str, changes: bool) -> Iterator[Line]:
    hosts = view["hosts"].values()
    changes = changes or any(
        host["allow"] is not None or file["change"] != "unchanged" for host in hosts for file in host["files"]
    )
    if not changes and not any(host["failed"] for host in hosts):
        yield nothing
    elif changes and not view["applied"]:
        more = "" if view["shows_diff"] else "; --diff shows every line of it"
        yield f"nothing was written; --apply does it{more}"
    elif changes and any(file["backup"] for host in hosts for file in host["files"]):
        yield f"what was in these files is kept in {view['backups']}"


def diff_style(line: str) -> str:
    """How a line of a unified diff is shown."""
    return {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")


def short_path(path: str, width: int) -> str:
    """A path in so many columns, or not many more, its end where that is too few; a user's own folder is ``~``."""
    home = str(Path.home())
    shown = f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path
    return cut_front(shown, max(_SHORTEST_PATH, width))


def transcript_lines(transcripts: dict[str, Any]) -> Iterator[Line]:
    """What assistants have kept from before, an assistant a line."""
    for name, one in transcripts.items():
        kept = (
            ("database of sessions", "databases of sessions") if name == "opencode" else ("transcript", "transcripts")
        )
        files = pluralize(one["files"], *kept)
        yield f"{name} has {files} from before: {size_and_days([one])}, {minutes([one])} in the background"


def unread_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What assistants have kept and nothing reads, an assistant a line."""
    for name, paths in view["unread_files"].items():
        yield [(f"{name}: {unread_sentence(paths)}", "yellow"), (f". {UNREAD_REMEDY}", "")]


def size_and_days(transcripts: Iterable[dict[str, Any]]) -> str:
    """How large they are together, and from when to when."""
    kept = [*transcripts]
    since, until = local_day(min(one["since"] for one in kept)), local_day(max(one["until"] for one in kept))
    days = since if since == until else f"{since} to {until}"
    return f"{format_size(sum(one['size_bytes'] for one in kept))}, {days}"


def minutes(transcripts: Iterable[dict[str, Any]]) -> str:
    """About how long taking them in takes."""
    total = sum(one["minutes"] for one in transcripts)
    return f"about {max(1, round(total))} min" if total >= 1 else "under a minute"


def backfill_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What became of them; ``again`` is the command that takes them in."""
    taken = view["backfill"]
    if taken is None:
        yield f"What of them is not known yet is taken in by: {view['again']}"
    elif taken["error"]:
        yield [("they could not be queued: ", "red"), (taken["error"], "")]
    else:
        known = f", {taken['known']} were taken before" if taken["known"] else ""
        queued = pluralize(taken["queued"], "transcript")
        yield f"{queued} will be taken in, the newest first{known}; `mnemic status` tells"


def status_lines(view: dict[str, Any]) -> Iterator[Line]:
    """How each assistant is wired."""
    for name, host in view["hosts"].items():
        yield from _host_lines(name, host)
    executable = view["executable"]
    if executable["state"] != "ok" and any(host["wired"] and not host["other_home"] for host in view["hosts"].values()):
        remedy = f" -> {executable['remedy']}" if executable["remedy"] else ""
        yield [("executable: ", "yellow"), (f"{executable['detail']}{remedy}", "")]


def _host_lines(name: str, host: dict[str, Any]) -> Iterator[Line]:
    wired = sum(state == "wired" for state in host["events"].values())
    if host["other_home"]:
        yield [(name, "bold"), (f": wired to another home: {host['other_home']}", "yellow")]
    elif host["wired"]:
        works = [f"{wired} of {len(host['events'])} events wired"]
        works += ["a trial event reached the store"] if host["trial"] == "arrived" else []
        works += [f"answered in {host['asked_ms']:.0f} ms"] if host["asked"] == "answered" else []
        yield [(name, "bold"), (f": {', '.join(works)}", "green" if host["state"] == "ok" else "yellow")]
        if host["missing"]:
            yield f"  not as they were installed: {', '.join(host['missing'])} -> {host['remedy']}"
    elif host["plugin"]:
        yield [(name, "bold"), (": wired by its plugin", "yellow" if host["wrong"] else "green")]
    elif host["wrong"]:
        yield [(name, "bold"), (": whether it is wired cannot be seen", "red"), (f" -> {host['remedy']}", "")]
    else:
        yield [(f"{name}: not wired{'' if host['here'] else ', and not here'}", "dim")]
    if host["allow"]:
        yield f"  what it may do by MCP beyond its own project: {' and '.join(host['allow'])}"
    wrong = [*host["wrong"]]
    wrong += [f"the trial event: {host['trial']}"] if host["trial"] not in (None, "arrived") else []
    wrong += [f"asked as at a session's start: {host['asked']}"] if host["asked"] not in (None, "answered") else []
    yield from ([("  wrong: ", "red"), (why, "")] for why in wrong)
    yield from (f"  {note}" for note in host["notes"])
