"""Builds the shell commands that are written into assistants' settings, and recognises them again.

A hook's command is one line for any shell that knows ``&&`` and ``||`` (Codex takes ``$SHELL``, so fish too, which has
no ``if … then``). Where the executable is gone it reads its input to the end, so that no host meets a broken pipe, and
succeeds in silence; a hook has nothing to say on standard error (Gemini CLI takes that for an answer).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemic.actors.kernel.errors import InvalidValue

ASSISTANTS = ("claude-code", "codex", "gemini-cli", "cursor", "opencode")
"""The hosts that can be wired, as the command line names them."""
TOLD_WITH_PROMPTS = ("claude-code", "codex", "gemini-cli", "opencode")
"""Those that take something for the model beside a prompt."""

_ANOTHER = "another folder with --home"
_HOOK = re.compile(rf"/bin/mnemic-hook['\"]* (?P<assistant>{'|'.join(ASSISTANTS)}) (?P<event>[a-z-]+) ")


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be wired, and where."""

    home: Path
    """The home whose hooks are called, absolute."""
    mind: str = "default"
    """The mind in it that takes in what happens."""
    recall_prompts: bool = False
    """Whether memories are given with prompts too, and not only what replaced something that was told."""
    recall_failures: bool = True
    """Whether Claude Code is told what helped before, once a call failed."""
    allow: tuple[str, ...] = ()
    """What the assistant may do by MCP beyond its own project; see `mnemic.actors.kernel.scope_paths.MCP_RIGHTS`."""
    environment: Mapping[str, str]
    """The user's environment: where hosts have their configuration follows from it."""

    @property
    def user_home(self) -> Path:
        """The user's own folder."""
        return Path(self.environment["HOME"])

    @property
    def executable(self) -> Path:
        """What hooks call."""
        return self.home / "bin" / "mnemic-hook"

    def asks(self, assistant: str, event: str) -> tuple[str, ...]:
        """The option of a hook by which it asks what to tell; none where it only keeps what happens."""
        if event == "prompt" and not self.recall_prompts:
            return ("--updates",) if assistant in TOLD_WITH_PROMPTS else ()
        told = event in ("session-start", "prompt")
        return ("--ask",) if told or (event == "tool-failed" and self.tells_failures(assistant)) else ()

    def tells_failures(self, assistant: str) -> bool:
        """Say whether an assistant is told what helped before, once a call failed: Claude Code alone takes it there."""
        return self.recall_failures and assistant == "claude-code"

    def hook_argv(self, assistant: str, event: str) -> list[str]:
        """The command of a hook, word by word."""
        words = [str(self.executable), assistant, event, *self.asks(assistant, event), "--home", str(self.home)]
        return words if self.mind == "default" else [*words, "--mind", self.mind]

    def hook_command(self, assistant: str, event: str) -> str:
        """The command of a hook as one line for a shell."""
        words = [shlex.quote(word) for word in self.hook_argv(assistant, event)]
        return f"test -x {words[0]} && {' '.join(words)} 2>/dev/null || cat >/dev/null"

    def mcp_argv(self, assistant: str) -> list[str]:
        """The command of an assistant's MCP server, word by word; hosts start it without a shell."""
        words = [str(self.home / "bin" / "mnemic"), "mcp", "--assistant", assistant, "--home", str(self.home)]
        return words if self.mind == "default" else [*words, "--mind", self.mind]

    def calls_this_home(self, written: str) -> bool:
        """Whether a command, as it stands in a configuration, calls what is in this home's ``bin``."""
        called = str(self.home / "bin" / "mnemic")
        ways = "|".join(re.escape(way) for way in (shlex.quote(called).removesuffix("'"), called))
        return re.search(rf"(?<![^\s'\"])(?:{ways})", written) is not None

    def check_path(self) -> None:
        """Refuse a home in whose path a host would find something to substitute.

        Raises:
            InvalidValue: it has such a path.
        """
        if any(letter in str(self.home) for letter in "${"):
            why = "its path has a $ or a {, for which assistants put something else in their settings"
            raise InvalidValue(name="the home", value=str(self.home), why=why, expected=_ANOTHER)


def make_wiring(
    home: Path,
    environment: Mapping[str, str],
    *,
    mind: str = "default",
    recall_prompts: bool = False,
    recall_failures: bool = True,
) -> Wiring:
    """Say what to wire.

    Raises:
        InvalidValue: no configuration can hold the home's path, or no user's folder is known.
    """
    home = home.absolute()
    try:
        str(home).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidValue(
            name="the home",
            value=str(home),
            why="its path is not UTF-8, which an assistant's configuration has to be",
            expected=_ANOTHER,
        ) from None
    if not environment.get("HOME"):
        raise InvalidValue(
            name="$HOME", value="", why="nothing says where your assistants are configured", expected="it"
        )
    return Wiring(
        home=home, mind=mind, recall_prompts=recall_prompts, recall_failures=recall_failures, environment=environment
    )


def home_in_command(command: str) -> Path | None:
    """The home whose hook a command calls, however it was edited; ``None`` where that cannot be told."""
    try:
        called = next((word for word in shlex.split(command) if word.endswith("/bin/mnemic-hook")), None)
    except ValueError:  # a quotation that does not end
        return None
    return None if called is None else Path(called).parent.parent


def event_in_command(command: object, assistant: str) -> str | None:
    """The event that a command of a configuration passes on, if it is one of these hooks', of whatever home."""
    found = _HOOK.search(command) if isinstance(command, str) else None
    return found["event"] if found is not None and found["assistant"] == assistant else None
