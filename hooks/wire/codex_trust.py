"""Asks Codex's app-server, over JSON-RPC, which hooks it knows and whether the user has trusted them.

A hook is trusted by a hash of what it runs, in ``[hooks.state."KEY"] trusted_hash`` of its configuration; key and hash
are Codex's own, so they are asked for, not computed (``hooks/list``: https://developers.openai.com/codex/app-server).
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.hooks.wire.commands import event_in_command
from mnemic.hooks.wire.edits import FileEdits, Member

__all__ = ["CodexHook", "list_codex_hooks", "with_trusted_hooks"]

_log = logging.getLogger("mnemic.hooks")

_TIMEOUT_S = 20.0
_NO_PLUGINS_ARGS = ("-c", "features.plugins=false")
"""Without it Codex fetches its catalogue of plugins over the network, and leaves what it got of it in its folder."""
_EXIT_TIMEOUT_S = 3.0
_READ_BYTES = 1 << 16


class CodexHook(msgspec.Struct, frozen=True):
    """A hook as Codex sees it."""

    key: str
    """What Codex calls it."""
    hash: str
    """What it runs, hashed by Codex."""
    event: str
    """What it passes on, as the command line names it."""
    trusted: bool
    """Whether it was trusted as it is now."""
    enabled: bool
    """Whether its user has left it switched on; Codex runs it where both hold."""


def with_trusted_hooks(files: list[FileEdits], trusted: Mapping[str, str]) -> list[FileEdits]:
    """The same files with hooks marked as trusted: by the key that Codex gives each, and the hash of what it runs."""
    marks = tuple(Member(("hooks", "state", key), {"trusted_hash": found}) for key, found in trusted.items())
    return [
        msgspec.structs.replace(file, edits=(*file.edits, *marks)) if file.format == "toml" else file for file in files
    ]


def list_codex_hooks(environment: Mapping[str, str], clock: Clock) -> list[CodexHook] | None:
    """The hooks of Mnemic's that Codex sees; ``None`` where there is no Codex to ask, or it does not answer."""
    program = shutil.which("codex", path=environment.get("PATH", ""))
    if program is None:
        return None
    folder = environment["HOME"]
    try:
        with _app_server(program, environment, folder) as server:
            asked = _AppServerClient(server, clock)
            asked.call("initialize", {"clientInfo": {"name": "mnemic", "title": "Mnemic", "version": "1"}})
            asked.notify("initialized")
            answer = asked.call("hooks/list", {"cwds": [folder]})
    except (OSError, _NoReply, ValueError) as error:
        _log.warning("Codex does not say which hooks it sees: %s", error)
        return None
    return _parse_hooks(answer)


class _NoReply(Exception):
    """It ended, or took too long."""


class _AppServerClient:
    """One conversation with the server."""

    def __init__(self, server: subprocess.Popen[bytes], clock: Clock) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._stdin, self._stdout = server.stdin, server.stdout
        self._deadline_s = clock.monotonic_s() + _TIMEOUT_S
        self._clock = clock
        self._number = 0
        self._buffer = b""

    def notify(self, method: str) -> None:
        self._send({"jsonrpc": "2.0", "method": method})

    def call(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        for line in self._lines():
            said = json.loads(line)
            if isinstance(said, dict) and said.get("id") == self._number and "method" not in said:
                if "result" not in said:
                    raise _NoReply(f"it refuses {method}")
                return said["result"]
        raise _NoReply(f"it ended before it answered {method}")

    def _send(self, message: dict[str, Any]) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    def _lines(self) -> Iterator[bytes]:
        with selectors.DefaultSelector() as ready:
            ready.register(self._stdout, selectors.EVENT_READ)
            while True:
                line, newline, rest = self._buffer.partition(b"\n")
                if newline:
                    self._buffer = rest
                    yield line
                    continue
                left_s = self._deadline_s - self._clock.monotonic_s()
                if left_s <= 0 or not ready.select(left_s):
                    raise _NoReply(f"it said nothing for {_TIMEOUT_S:g} s")
                piece = os.read(self._stdout.fileno(), _READ_BYTES)
                if not piece:
                    return
                self._buffer += piece


@contextmanager
def _app_server(program: str, environment: Mapping[str, str], folder: str) -> Iterator[subprocess.Popen[bytes]]:
    server = subprocess.Popen(
        [program, "app-server", *_NO_PLUGINS_ARGS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        cwd=folder,
    )
    try:
        yield server
    finally:
        try:  # at the end of its input it leaves, and clears up behind it
            server.communicate(timeout=_EXIT_TIMEOUT_S)
        except (subprocess.TimeoutExpired, OSError):
            server.kill()
            server.communicate()


def _parse_hooks(answer: Any) -> list[CodexHook] | None:
    """What is Mnemic's in an answer; ``None`` where it is of another shape than is known."""
    places = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(places, list):
        return None
    seen = []
    for hook in _objects(hook for place in _objects(places) for hook in place.get("hooks") or ()):
        event = event_in_command(hook.get("command"), "codex")
        key, found = hook.get("key"), hook.get("currentHash")
        if event is not None and isinstance(key, str) and isinstance(found, str):
            trusted = hook.get("trustStatus") in ("trusted", "managed")
            seen.append(CodexHook(key, found, event, trusted, hook.get("enabled") is not False))
    return seen


def _objects(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    return (value for value in values if isinstance(value, dict))
