"""Ports that the HTTP and MCP interfaces depend on, and running a blocking verb in a worker thread.

Below stand minds and their actor systems; above, `mnemic.runtime.serve.http.routes` and
`mnemic.runtime.serve.mcp.tools`, which only translate. The event loop of the faces never waits for an actor: each verb
has a thread for as long as it takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread

from mnemic.actors.protocol.changes import DeliveredSpan, ScopeRef
from mnemic.actors.protocol.events import DEFAULT_KINDS, Kind, Role
from mnemic.actors.protocol.messages import Forgotten, Memory, Recalled, TextCaptured
from mnemic.actors.protocol.shape_messages import Shaped
from mnemic.runtime.engine.reports import ActorSystemPort, Progress

__all__ = ["MAX_CONCURRENT_VERBS", "MindPort", "OpenMindsPort", "ServerControl", "run_in_thread"]

MAX_CONCURRENT_VERBS = 128
"""So many verbs run at a time; more wait for their turn."""

T = TypeVar("T")


class MindPort(Protocol):
    """The verbs that the tools call; see `mnemic.runtime.api.mind.Mind`."""

    @property
    def actor_system(self) -> ActorSystemPort:
        """The actors."""
        ...

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        scope: str = "*",
        kinds: Sequence[str] = DEFAULT_KINDS,
        session: str | None = None,
        since: int | None = None,
        until: int | None = None,
        as_of: int | None = None,
        budget_tokens: int | None = None,
        assistant: str = "",
        asking: str = "",
        private: bool = False,
        progress: Progress | None = None,
    ) -> Recalled:
        """Find memories."""
        ...

    def shape(
        self,
        pattern: Mapping[str, str | float] | None = None,
        k: int | None = None,
        *,
        scope: str = "*",
        until: int | None = None,
        observe: bool = True,
        assistant: str = "",
        asking: str = "",
        private: bool = False,
        progress: Progress | None = None,
    ) -> Shaped:
        """Find memories by their structure."""
        ...

    def note_delivery(self, assistant: str, session: str, parts: Sequence[DeliveredSpan]) -> None:
        """Keep in the log that an assistant was given memories that it named itself."""
        ...

    def remember(
        self,
        text: str,
        *,
        role: Role = "user",
        session: str = "direct",
        scope: ScopeRef | str | None = None,
        kind: Kind = "note",
        said_at: int | None = None,
        supersedes: bytes | None = None,
        assistant: str = "direct",
        folder: str | None = None,
    ) -> TextCaptured:
        """Keep a text."""
        ...

    def get(self, ids: Sequence[bytes]) -> tuple[Memory, ...]:
        """Give memories whole."""
        ...

    def forget(self, ids: Sequence[bytes], reason: str = "") -> Forgotten:
        """Hide memories from recall."""
        ...

    def undo_command(self, ids: Sequence[bytes]) -> str:
        """The command that takes back that memories were forgotten."""
        ...

    def folder_scope(self, folder: str) -> tuple[str | None, ScopeRef]:
        """Find the scope of a folder."""
        ...

    def hook_reply(self, assistant: str, event: str, cwd: str | None, payload: bytes, unkept: bool = False) -> bytes:
        """What a hook is to print: the exact bytes."""
        ...

    def status_view(self) -> dict[str, Any]:
        """What there is, as JSON."""
        ...


class OpenMindsPort(Protocol):
    """The minds of the home."""

    def use(self, name: str, create: bool) -> AbstractContextManager[MindPort]:
        """Hold a mind open for one request; with `create`, it is made where there is none.

        Raises:
            MnemicError: it cannot be opened.
        """
        ...

    def release_mind(self, name: str, timeout_s: float) -> AbstractContextManager[None]:
        """Have a mind closed for as long as the context lasts; whoever wants it meanwhile waits.

        Raises:
            StoreBusy: those who use it took longer.
        """
        ...


class ServerControl(Protocol):
    """What the process says and does about itself."""

    def server_info(self) -> dict[str, Any]:
        """``protocol``, ``version``, ``pid``, ``engine``, ``mode``, ``state`` and whatever else there is to tell."""
        ...

    def drain(self, reason: str, their_protocol: int) -> None:
        """Finish what is begun, take up nothing more, and end.

        Raises:
            AlreadyServed: it was started in the foreground, and stays.
        """
        ...

    def track_request(self, verb: str, trace: str | None = None, *, idle: bool = False) -> AbstractContextManager[None]:
        """Held, in the thread that does the work, while a request is served; see `mnemic.runtime.serve.metrics`."""
        ...


async def run_in_thread(
    verb: Callable[[Progress | None], T], report: Callable[[int, int | None], Awaitable[None]] | None = None
) -> T:
    """Run a verb in a thread. Whoever is cancelled meanwhile goes at once; the verb itself runs to its end.

    Args:
        verb: given a listener for its progress, where there is somebody to report to.
        report: told, in the event loop, how far it is; of what comes faster than it can tell, only some.
    """
    if report is None:
        return await anyio.to_thread.run_sync(verb, None, abandon_on_cancel=True)
    loop = asyncio.get_running_loop()
    wake = asyncio.Event()
    news: tuple[int, int | None] | None = None
    answered = False

    def hear(done: int, total: int | None) -> None:
        nonlocal news
        news = (done, total)
        wake.set()

    async def tell() -> None:
        nonlocal news
        while not (answered and news is None):
            if news is not None:
                told, news = news, None
                await report(*told)
            elif not answered:
                wake.clear()
                await wake.wait()

    def listen(done: int, total: int | None) -> None:
        loop.call_soon_threadsafe(hear, done, total)

    telling = asyncio.create_task(tell())
    try:
        answer = await anyio.to_thread.run_sync(verb, listen, abandon_on_cancel=True)
        answered = True
        wake.set()
        await telling  # the last of it, since nothing comes after the answer
        return answer
    finally:
        telling.cancel()
