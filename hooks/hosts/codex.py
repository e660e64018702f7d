"""Reads Codex's session files (rollouts), ``CODEX_HOME/sessions/Y/M/D/rollout-*.jsonl``, as events.

Written against Codex 0.169.0 (real rollouts in the tests); older shapes are read too. A rollout tells most things
twice: as what the model reads (``response_item``) and as what the program shows (``event_msg``). Calls, results,
reasoning and the host's own texts are taken from the first. What is this memory's own, its tools and what it told, is
not taken at all.

A turn may be told up to three times: as an item completed (since 2026), as a message shown (before), and as what the
model reads (always). The model also reads what nobody said: a compaction asks it for a summary and gets an answer, as
messages like any other. So what was shown decides, and what the model reads is taken only where nothing is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal

from mnemic.actors.kernel.events import Event, Kind, Outcome, Role, to_bytes
from mnemic.hooks.hosts.codex_events import (
    IMAGE_MARK,
    is_capability_listing,
    is_host_text,
    parse_arguments,
    parse_outcome,
    parse_output,
    render_codex_call,
    texts,
)
from mnemic.hooks.read.lines import InvalidInput, Json, nonblank_text, parse_time_us
from mnemic.hooks.read.own_calls import CallShares, TypedCommands
from mnemic.hooks.read.own_text import strip_own_output
from mnemic.hooks.read.records import is_headless_codex
from mnemic.hooks.read.speakers import user_text_events

TurnSource = Literal["completed", "shown", "read", "copied"]
"""``copied``: read by the model, in history copied from another thread, where nothing is shown."""

MAX_HELD_EVENTS = 256
"""A prompt is shown within a line or two of being read; a rollout silent for this long never shows one."""


class TurnDeduplicator:
    """Lets each turn through once and everything else as it comes, in order."""

    def __init__(self) -> None:
        self._chosen_source: TurnSource | None = None
        self._held: list[tuple[Event, bool]] = []

    def add_other(self, events: list[Event]) -> Iterable[Event]:
        """Pass what is no turn, behind turns that are held back."""
        if not self._held:
            return events
        self._held += [(event, False) for event in events]
        return self._release(self._chosen_source) if len(self._held) > MAX_HELD_EVENTS else ()

    def add_turn(self, telling: TurnSource, event: Event) -> Iterable[Event]:
        """Pass a turn, hold it until it is known which telling is taken, or drop it."""
        if telling == "copied":
            return self.add_other([event])
        if telling == "read":
            if self._chosen_source is None:
                self._held.append((event, True))
                return ()
            return [event] if self._chosen_source == "read" else ()
        if self._chosen_source == "read" or (telling == "shown" and self._chosen_source == "completed"):
            return ()
        return [*self._release(telling), event]

    def finish(self) -> Iterable[Event]:
        """What is still held at the end: nothing was shown, so what was read is taken."""
        return self._release(self._chosen_source)

    def _release(self, taken: TurnSource | None) -> Iterable[Event]:
        self._chosen_source = taken or "read"
        held, self._held = self._held, []
        return [event for event, is_turn in held if not is_turn or self._chosen_source == "read"]


LINE_TYPES = ("session_meta", "turn_context", "event_msg", "response_item", "compacted", "world_state")


def is_codex(line: Json) -> bool:
    """Whether a line looks like Codex's: its envelope, or the first line of a rollout from before there was one."""
    if isinstance(line.get("payload"), dict):
        return line.get("type") in LINE_TYPES
    return "type" not in line and all(name in line for name in ("id", "timestamp", "instructions"))


class CodexReader:
    """Reads a rollout's lines; remembers the thread, its folder, its calls and how they ended."""

    def __init__(self) -> None:
        self._thread: str | None = None
        self._session: str | None = None
        self._own_session: str | None = None
        self._own_history_start: int | None = None
        self._cwd: str | None = None
        self._branch: str | None = None
        self._session_flags: dict[str, tuple[bool, bool]] = {}  # sessions: whether headless, whether a subagent's
        self._calls: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._typed: str | None = None
        self._injected: set[str] = set()  # texts of the last message that are the host's
        """The last prompt that the rollout notes as its user's; where it is shown too, nothing says so."""
        self._shares = CallShares()
        self._deduplicator = TurnDeduplicator()

    def read(self, line: Json) -> Iterable[Event]:
        """Events of one line, and of earlier ones that were held back. Raises `InvalidInput`."""
        kind, payload = line.get("type"), line.get("payload")
        if payload is None and "record_type" not in line:  # before there was an envelope
            kind, payload = ("session_meta", line) if kind is None and "id" in line else ("response_item", line)
        if kind not in LINE_TYPES:
            return ()
        if not isinstance(payload, dict):
            raise InvalidInput("a line without its payload")
        self._skip_copied_history(line, payload)
        said_at = parse_time_us(line.get("timestamp"))
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self._cwd = nonblank_text(payload.get("cwd")) or self._cwd
        elif kind == "compacted":
            text = nonblank_text(payload.get("message"))
            return self._deduplicator.add_other([self._event(said_at, "summary", "system", text)] if text else [])
        elif kind == "event_msg":
            return self._event_message(payload, said_at)
        elif kind == "response_item":
            return self._response_item(payload, said_at)
        return ()

    def finish(self) -> Iterable[Event]:
        """Turns of a rollout that tells them only once."""
        return self._deduplicator.finish()

    def _meta(self, payload: Json) -> None:
        thread, root, source = payload.get("id"), payload.get("session_id"), payload.get("source")
        if not isinstance(thread, str) or not thread:
            raise InvalidInput("a session without its id")
        session = thread
        if isinstance(source, dict) and "subagent" in source:
            root = nonblank_text(root) or nonblank_text(payload.get("parent_thread_id"))
            session = f"{root}/{thread}" if root and root != thread else thread
        if self._thread is None:
            self._thread = thread
            self._session = self._own_session = session
            start = payload.get("subagent_history_start_ordinal")
            self._own_history_start = start if isinstance(start, int) else None
        elif thread != self._thread:  # history copied from the thread this one was forked from
            self._session = session
        self._session_flags.setdefault(session, (is_headless_codex(payload), session != thread))
        self._cwd = nonblank_text(payload.get("cwd")) or self._cwd
        git = payload.get("git")
        self._branch = (nonblank_text(git.get("branch")) if isinstance(git, dict) else None) or self._branch

    def _skip_copied_history(self, line: Json, payload: Json) -> None:
        """Notice where copied history ends: where the rollout says so, else at the first turn younger than the thread.

        Ids are UUIDv7, which sort by time; a turn without an id is taken for the thread's own.
        """
        if self._session == self._own_session or self._thread is None:
            return
        ordinal, turn = line.get("ordinal"), payload.get("turn_id")
        if self._own_history_start is not None and isinstance(ordinal, int):
            own = ordinal >= self._own_history_start
        else:
            own = (line.get("type") == "turn_context" or payload.get("type") == "task_started") and (
                not isinstance(turn, str) or turn > self._thread
            )
        if own:
            self._session = self._own_session

    def _event_message(self, payload: Json, said_at: int | None) -> Iterable[Event]:
        kind = payload.get("type")
        if kind == "item_completed" and isinstance(item := payload.get("item"), dict):
            role = {"UserMessage": "user", "AgentMessage": "assistant"}.get(str(item.get("type")))
            if role:
                text = "".join(texts(item.get("content")))
                return self._turn("completed", role, text, said_at, item.get("id"))
            self._record_outcome(item.get("id"), item)
        elif kind in ("user_message", "agent_message"):
            role = "user" if kind == "user_message" else "assistant"
            return self._turn("shown", role, payload.get("message"), said_at, None)
        else:  # exec_command_end, patch_apply_end, mcp_tool_call_end
            self._record_outcome(payload.get("call_id"), payload)
        return ()

    def _record_outcome(self, call: object, end: Json) -> None:
        if isinstance(call, str) and (outcome := parse_outcome(end)):
            self._outcomes[call] = outcome

    def _response_item(self, payload: Json, said_at: int | None) -> Iterable[Event]:
        kind = str(payload.get("type"))
        if kind == "message":
            return self._message(payload, said_at)
        if kind == "reasoning":
            parts = [*texts(payload.get("summary")), *texts(payload.get("content"))]
            text = nonblank_text("\n\n".join(parts))
            if text is None:
                return ()
            return self._deduplicator.add_other(
                [self._event(said_at, "thinking", "assistant", text, payload.get("id"))]
            )
        if kind.endswith("_call_output"):
            return self._deduplicator.add_other(list(self._result(payload, said_at)))
        if kind.endswith("_call") and kind != "image_generation_call":
            return self._deduplicator.add_other(list(self._call(kind, payload, said_at)))
        return ()

    def _message(self, payload: Json, said_at: int | None) -> Iterator[Event]:
        role, content = payload.get("role"), payload.get("content")
        if role not in ("user", "assistant", "developer", "system") or not isinstance(content, list):
            raise InvalidInput("a message without role or content")
        passed = payload.get("internal_chat_message_metadata_passthrough")
        kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
        said, is_noted = [], True
        self._injected.clear()
        for number, block in enumerate(content):
            for text in texts([block]):
                if not text.strip() or is_capability_listing(text):
                    continue
                known = kinds[number] if isinstance(kinds, list) and number < len(kinds) else None
                if role in ("developer", "system") or (role == "user" and is_host_text(known, text)):
                    if rest := nonblank_text(strip_own_output(TypedCommands().kept(text))):
                        self._injected.add(text)
                        event = self._event(said_at, "injected", "system", rest, payload.get("id"))
                        yield from self._deduplicator.add_other([event])
                elif not IMAGE_MARK.fullmatch(text):
                    said.append(text)
                    is_noted = is_noted and isinstance(known, str) and known.startswith("user.")
        if role == "user":
            self._typed = "".join(said) if is_noted else None
        if role in ("user", "assistant"):
            telling: TurnSource = "read" if self._session == self._own_session else "copied"
            yield from self._turn(telling, role, "".join(said), said_at, payload.get("id"))

    def _turn(
        self, telling: TurnSource, role: Any, text: object, said_at: int | None, own_id: object
    ) -> Iterator[Event]:
        if not nonblank_text(text):
            return
        if role == "user":
            make = partial(self._event, said_at, own_id=own_id)
            events = list(user_text_events(make, str(text), "person" if text == self._typed else None))
            if events[0].kind == "injected" and text in self._injected:  # shown once more
                return
        else:
            events = [self._event(said_at, "turn", role, str(text), own_id)]
        for event in events:
            yield from self._deduplicator.add_turn(telling, event)

    def _call(self, kind: str, payload: Json, said_at: int | None) -> Iterator[Event]:
        tool = nonblank_text(payload.get("name")) or kind.removesuffix("_call")
        if space := nonblank_text(payload.get("namespace")):
            tool = f"{space.removesuffix('__')}__{tool}"
        given = parse_arguments(payload.get("arguments", payload.get("input", payload.get("action"))))
        call = nonblank_text(payload.get("call_id"))
        share = self._shares.call(call, tool, given)
        text, files = render_codex_call(tool, given if share is None else share.arguments)
        if call:
            self._calls[call] = tool, files
        if share is not None:
            own_id = payload.get("id")
            yield self._event(said_at, "tool_call", "assistant", text, own_id, host_id=call, tool=tool, files=files)

    def _result(self, payload: Json, said_at: int | None) -> Iterator[Event]:
        call = nonblank_text(payload.get("call_id"))
        if call is None:
            raise InvalidInput("a tool's result without its call's id")
        tool, files = self._calls.get(call, (None, ()))
        text, outcome = parse_output(payload.get("output"))
        ended = self._outcomes.pop(call, outcome)
        kept = self._shares.result(call, text)
        if kept is not None:
            yield self._event(
                said_at,
                "tool_result",
                "tool",
                kept,
                payload.get("id"),
                host_id=call,
                tool=tool,
                outcome=ended,
                files=files,
            )

    def _event(
        self, said_at: int | None, kind: Kind, role: Role, text: str, own_id: object = None, **more: Any
    ) -> Event:
        if self._session is None:
            raise InvalidInput("no session was named before it")
        headless, subagent = self._session_flags[self._session]
        return Event(
            assistant="codex",
            session=self._session,
            kind=kind,
            role=role,
            text=to_bytes(text),
            source_id=nonblank_text(own_id),
            said_at=said_at,
            cwd=self._cwd,
            branch=self._branch,
            headless=headless,
            subagent=subagent,
            **more,
        )
