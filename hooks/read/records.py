"""Turns one spooled hook record into events, by the adapter of the assistant that wrote it.

A record is what a host wrote on the hook's standard input. Nothing of it is lost in silence: what cannot be understood
is quarantined with a reason, and what nobody wants is known by its name. Claude Code and the hosts that took over the
shape of its hooks say in every payload which session it is, which subagent, in which folder, and where the transcript
lies. Whether somebody sits in front of a session, or a program started it, hosts tell each in a way of their own:

* Claude Code says so in every line of a transcript (``entrypoint``) and in its hooks' environment
  (``CLAUDE_CODE_ENTRYPOINT``, which a hook passes on): ``sdk-cli`` is ``claude -p``. Seen with 2.1.197.
* Codex says so in the first line of a rollout (``originator``, ``source``); its hooks only name that file. Seen with
  0.169.0: ``codex exec``.
* OpenCode says so to nobody; the plugin that Mnemic installs sees ``opencode run`` on the command line.
* Gemini CLI and Cursor say nothing of it: their sessions count as somebody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import cast

from mnemic.actors.kernel.errors import UnreadableRecord
from mnemic.actors.kernel.events import (
    IGNORED_SESSION,
    Event,
    HookEvent,
    HookRecord,
    IgnoredSession,
    SelfTestEvent,
    TranscriptRef,
)
from mnemic.hooks.read.lines import EventFactory, InvalidInput, Json, nonblank_text, parse
from mnemic.runtime.files.foreign import open_regular

_HEADLESS_ENTRYPOINTS = ("bench", "claude-code-github-action", "remote_trigger")
_HEADLESS_ORIGINATORS = ("codex_exec", "codex_sdk_")
_FIRST_LINE_BYTES = 1 << 20  # it holds the instructions of the model, about 20 kB


def is_headless_claude(entry: object) -> bool:
    """Whether this entry point of Claude Code is a program's."""
    return isinstance(entry, str) and (entry.startswith("sdk-") or entry in _HEADLESS_ENTRYPOINTS)


def is_headless_codex(meta: Json) -> bool:
    """Whether a thread of Codex was started by a program, as its ``session_meta`` says."""
    originator = nonblank_text(meta.get("originator")) or ""
    return originator.startswith(_HEADLESS_ORIGINATORS) or meta.get("source") == "exec"


def is_headless(record: HookRecord, payload: Json) -> bool:
    """Whether a program started the session that a hook's record is of, as far as its host tells."""
    if record.assistant == "claude-code":
        return is_headless_claude(record.entry)
    if record.assistant == "codex":
        path = nonblank_text(payload.get("transcript_path"))
        return path is not None and _is_headless_rollout(path)
    return record.assistant == "opencode" and payload.get("headless") is True


def _is_headless_rollout(path: str) -> bool:
    try:
        return _read_headless(path)
    except (OSError, ValueError):  # there is none yet, or none any more
        return False


@lru_cache(maxsize=256)
def _read_headless(path: str) -> bool:
    """What the first line of a rollout says; it never changes.

    Raises:
        OSError, ValueError: it cannot be read, or says nothing yet.
    """
    with open_regular(path) as file:
        line = parse(file.readline(_FIRST_LINE_BYTES))
    meta = None if line is None else line.get("payload")
    if not isinstance(meta, dict):
        raise InvalidInput("a rollout without its first line")
    return is_headless_codex(meta)


class RecordEventFactory(EventFactory):
    """Makes the events of one record."""

    def __init__(self, record: HookRecord, payload: Json) -> None:
        session = required_text(payload, "session_id")
        agent = nonblank_text(payload.get("agent_id"))
        super().__init__(
            assistant=record.assistant,
            session=f"{session}/{agent}" if agent else session,
            said_at=record.at,
            cwd=nonblank_text(payload.get("cwd")) or record.cwd,
            branch=record.branch,
            headless=is_headless(record, payload),
            subagent=agent is not None or "/" in session,
        )
        self._payload = payload
        self._format = record.assistant

    def prompt(self) -> str:
        """What the user said. Raises `InvalidInput`."""
        prompt = self._payload.get("prompt")
        if not isinstance(prompt, str):
            raise InvalidInput("prompt is missing")
        return prompt

    def reply_events(self) -> Iterator[Event]:
        """The answer that ends a turn, where it has words."""
        if text := nonblank_text(self._payload.get("last_assistant_message")):
            yield self("turn", "assistant", text)

    def transcript_events(self, *, ended: bool, name: str = "transcript_path") -> Iterator[TranscriptRef]:
        """The transcript that the payload names, if it does; a session that is not kept has none."""
        if path := nonblank_text(self._payload.get(name)):
            yield TranscriptRef(path=path, format=self._format, ended=ended)


def required_text(payload: Json, name: str) -> str:
    """A field without which the event means nothing. Raises `InvalidInput`."""
    value = nonblank_text(payload.get(name))
    if value is None:
        raise InvalidInput(f"{name} is missing")
    return value


ADAPTERS = {
    "claude-code": "mnemic.hooks.hosts.claude_code_events",
    "codex": "mnemic.hooks.hosts.codex_events",
    "cursor": "mnemic.hooks.hosts.cursor",
    "gemini-cli": "mnemic.hooks.hosts.gemini_cli_events",
    "opencode": "mnemic.hooks.hosts.opencode",
}
"""The module of each host. Its ``hook_events(record, payload)`` gives them in order and raises `InvalidInput` for
what it cannot understand; it is imported when its first record comes.
"""

# A byte that is no UTF-8 stands as a surrogate here, and three of them are a lone surrogate that was written as one.
ESCAPED = re.compile("[\udced][\udca0-\udcbf][\udc80-\udcbf]|[\udc80-\udcff]")


def read_record(record: HookRecord) -> list[HookEvent]:
    r"""What a record stands for, in order; empty where it is nothing to keep.

    Bytes that are no UTF-8 are written out (``\xNN``), so that the rest of the event is kept.

    Raises:
        UnreadableRecord: it cannot be understood; the reason quotes nothing of it.
    """
    try:
        payload = parse(_escape_invalid_utf8(record.payload) + b"\n")
        if payload is None:
            raise InvalidInput("it is empty")
        if nonce := nonblank_text(payload.get("mnemic_check")):
            return [SelfTestEvent(assistant=record.assistant, nonce=nonce)]
        if record.event == IGNORED_SESSION:
            return [IgnoredSession(assistant=record.assistant, session=required_text(payload, "session_id"))]
        return list(_adapter(record.assistant)(record, payload))
    except InvalidInput as bad:
        why = str(bad)
    except RecursionError:  # it could be parsed, but not be written as text
        why = "it is nested too deeply"
    raise UnreadableRecord(assistant=record.assistant, event=record.event, why=why)


def _adapter(assistant: str) -> Callable[[HookRecord, Json], Iterable[HookEvent]]:
    if assistant not in ADAPTERS:
        raise InvalidInput("no adapter is known for its host")
    return cast("Callable[[HookRecord, Json], Iterable[HookEvent]]", import_module(ADAPTERS[assistant]).hook_events)


def _escape_invalid_utf8(payload: bytes) -> bytes:
    try:
        payload.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return ESCAPED.sub(_escape_byte, payload.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogatepass")
    return payload


def _escape_byte(found: re.Match[str]) -> str:
    raw = found[0].encode("utf-8", "surrogateescape")
    # Inside a JSON string a backslash is written twice; outside of one the record is no JSON anyway.
    return raw.decode("utf-8", "surrogatepass") if len(raw) > 1 else f"\\\\x{raw[0]:02X}"
