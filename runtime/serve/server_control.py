"""What the faces ask of the process that hosts them, and running a blocking verb in a worker thread.

Below stand minds and their actor systems; above, `mnemic.runtime.serve.http.routes` and
`mnemic.runtime.serve.mcp.tools`, which only translate. The event loop of the faces never waits for an actor: each verb
has a thread for as long as it takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread

from mnemic.runtime.engine.reports import Progress

MAX_CONCURRENT_VERBS = 128
"""So many verbs run at a time; more wait for their turn."""

T = TypeVar("T")


class ServerControl(Protocol):
    """What the process says and does about itself."""

    def server_info(self) -> dict[str, Any]:
        """``protocol``, ``version``, ``pid``, ``engine``, ``mode``, ``state`` and whatever else there is to tell."""

    def drain(self, reason: str, their_protocol: int) -> None:
        """Finish what is begun, take up nothing more, and end.

        Raises:
            AlreadyServed: it was started in the foreground, and stays.
        """

    def track_request(self, verb: str, trace: str | None = None, *, idle: bool = False) -> AbstractContextManager[None]:
        """Held, in the thread that does the work, while a request is served; see `mnemic.runtime.serve.metrics`."""


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
