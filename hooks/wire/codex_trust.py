"""Asks Codex's app-server, over JSON-RPC, which hooks it knows and whether the user has trusted them.

A hook is trusted by a hash of what it runs, in ``[hooks.state."KEY"] trusted_hash`` of its configuration; key and hash
are Codex's own, so they are asked for, not computed (``hooks/list``: https://developers.openai.com/codex/app-server).
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from mnemic.hooks.wire.commands import event_in_command
from mnemic.hooks.wire.edits import FileEdits, Member
from mnemic.runtime.files.programs import find_program

_log = logging.getLogger("mnemic.hooks")

_TIMEOUT_S = 20.0
_NO_PLUGINS_ARGS = ("-c", "features.plugins=false")
"""Without it Codex fetches its catalogue of plugins over the network, and leaves what it got of it in its folder."""
_EXIT_TIMEOUT_S = 3.0


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


def list_codex_hooks(environment: Mapping[str, str]) -> list[CodexHook] | None:
    """The hooks of Mnemic's that Codex sees; ``None`` where there is no Codex to ask, or it does not answer."""
    program = find_program("codex", environment)
    if program is None:
        return None
    folder = environment["HOME"]
    try:
        server = subprocess.Popen(
            [program, "app-server", *_NO_PLUGINS_ARGS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
        late = threading.Timer(_TIMEOUT_S, os.killpg, (server.pid, signal.SIGKILL))  # what it started, too
        late.start()
        try:
            _call(server, 1, "initialize", {"clientInfo": {"name": "mnemic", "title": "Mnemic", "version": "1"}})
            _send(server, {"method": "initialized"})
            answer = _call(server, 2, "hooks/list", {"cwds": [folder]})
        finally:
            late.cancel()
            try:  # at the end of its input it leaves, and clears up behind it
                server.communicate(timeout=_EXIT_TIMEOUT_S)
            except (subprocess.TimeoutExpired, OSError):
                os.killpg(server.pid, signal.SIGKILL)
                server.communicate()
    except (OSError, ValueError) as error:
        _log.warning("Codex does not say which hooks it sees: %s", error)
        return None
    return _parse_hooks(answer)


def _send(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def _call(server: subprocess.Popen[bytes], number: int, method: str, parameters: dict[str, Any]) -> Any:
    """What is answered. Raises `OSError` or `ValueError` where that is nothing of use."""
    _send(server, {"id": number, "method": method, "params": parameters})
    assert server.stdout is not None
    for line in server.stdout:
        said = json.loads(line)
        if isinstance(said, dict) and said.get("id") == number and "method" not in said:
            if "result" not in said:
                raise ValueError(f"it refuses {method}")
            return said["result"]
    raise ValueError(f"it ended, or took too long, before it answered {method}")


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
