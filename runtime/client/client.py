"""Client of the server process: sends messages to a mind's actors over HTTP on a Unix socket, with retries.

A request carries its own trace, from which the keys of what it writes follow. So one whose answer was lost, because
the process was replaced or killed, is sent again to the next one, and what it wrote is not written twice. Nothing
heavy is imported here: a command that finds the process running is quick.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from mnemic.actors.kernel.errors import ActorStopped, EngineLost, NewerProcess, OlderProcess
from mnemic.actors.kernel.typed import convert
from mnemic.runtime.client.launcher import REPLACED, ensure_running, startup_error, wait_replaced, wait_unpublished
from mnemic.runtime.client.unix_http import (
    MAX_SILENCE_S,
    MalformedAnswer,
    ServerDraining,
    call,
    parse_answer,
)
from mnemic.runtime.client.wire import decode, encode, message_path
from mnemic.runtime.engine.reports import ActorSystemReport
from mnemic.runtime.keys.keys import random_id
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, newer_process, not_served

if TYPE_CHECKING:
    from mnemic.actors.kernel.contract import Clock

_log = logging.getLogger("mnemic.client")

_ENGINE_LOST_WAIT_S = 2.0  # that its engine is gone
_ANSWER_GRACE_S = 30.0  # beyond the time that the process itself has for an answer
_MAX_ATTEMPTS = 5  # so often one request goes to another process before it is given up

T = TypeVar("T")


class RemoteActorSystem:
    """The actors of one mind, in the home's process."""

    def __init__(self, home: Path, mind: str, create: bool, clock: Clock) -> None:
        """Make a client; nothing is asked yet.

        Args:
            create: whether the mind is made where there is none.
        """
        self._home = home
        self._headers = {
            "Mnemic-Protocol": str(PROTOCOL),
            "Mnemic-Mind": mind,
            "Mnemic-Create": str(int(create)),
            "Content-Type": "application/json",
        }
        self._clock = clock
        self._trace = f"c{random_id()}"
        self._number = 0
        self._numbering = threading.Lock()

    def ask(
        self,
        message: Any,
        timeout_s: float | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        trace: str | None = None,
        *,
        idle: bool = False,
    ) -> Any:
        """Send a message and wait for its answer; see `mnemic.runtime.engine.supervisor.Supervisor.ask`.

        Args:
            timeout_s: the process's own setting where absent.

        Raises: what the process answers with; `NotServed` where none can be had.
        """
        headers = {"Mnemic-Trace": trace or self._new_trace()}
        if timeout_s is not None:
            headers["Mnemic-Timeout"] = repr(timeout_s)
        if idle:
            headers["Mnemic-Idle"] = "1"
        if progress is not None:
            headers["Accept"] = "application/x-ndjson"
        return self._request(decode, "POST", f"/api/{message_path(message)}", encode(message), headers, progress)

    def tell(self, message: Any, trace: str | None = None) -> None:
        """Send a message that nobody answers."""
        headers = {"Mnemic-Trace": trace or self._new_trace()}
        self._request(_nothing, "POST", f"/api/tell/{message_path(message)}", encode(message), headers)

    def report(self) -> ActorSystemReport:
        """How the actors are."""
        return self._request(lambda answer: convert(answer, ActorSystemReport), "GET", "/api/report")

    def replay_dead_letters(self) -> int:
        """Send dead letters again; returns how many."""
        return self._request(lambda answer: int(answer["replayed"]), "POST", "/api/replay")

    def release_quarantined(self) -> list[str]:
        """Make quarantined actors anew; returns which."""
        return self._request(lambda answer: [str(one) for one in answer["released"]], "POST", "/api/release")

    def server_info(self) -> dict[str, Any]:
        """What the process says of itself."""
        return self._request(lambda answer: {**answer}, "GET", "/healthz")

    def unlock(self, secrets: bytes) -> dict[str, Any]:
        """Give the process a mind's secrets, as JSON; returns what it says of itself."""
        headers = {"Mnemic-Trace": self._new_trace()}
        return self._request(lambda answer: {**answer}, "POST", "/api/unlock", secrets, headers)

    def lock(self) -> bool:
        """Have the process forget a mind's secrets; says whether it held them."""
        headers = {"Mnemic-Trace": self._new_trace()}
        return self._request(lambda answer: bool(answer["unlocked"]), "POST", "/api/lock", b"", headers)

    def stop(self) -> None:
        """Nothing: the process goes on for whoever else needs it."""

    def _new_trace(self) -> str:
        with self._numbering:
            self._number += 1
            return f"{self._trace}-{self._number}"

    def _request(
        self,
        read: Callable[[Any], T],
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
        progress: Callable[[int, int | None], None] | None = None,
    ) -> T:
        """Ask a process, or the next one.

        Args:
            read: what the JSON of the answer stands for.
        """
        why, older = "", None
        given = headers.get("Mnemic-Timeout")
        limit_s = MAX_SILENCE_S if given is None else float(given) + _ANSWER_GRACE_S
        for _ in range(_MAX_ATTEMPTS):
            info = ensure_running(self._home, self._clock)
            try:
                answer = call(info.http_socket, method, path, body, {**self._headers, **headers}, progress, limit_s)
                return parse_answer(read, answer)
            except (ActorStopped, EngineLost) as error:  # does the process leave, or get itself another engine?
                why = str(error).rstrip(".")
                if not wait_unpublished(self._home, info, self._clock, _ENGINE_LOST_WAIT_S):
                    raise
            except REPLACED as error:  # another one takes the same request
                older = error if isinstance(error, OlderProcess) else None
                why = str(error) if isinstance(error, OlderProcess | ServerDraining) else type(error).__name__
                wait_replaced(self._home, info, self._clock, error)
            except TimeoutError:
                raise not_served(self._home, f"it said nothing for {limit_s:g} s") from None
            except MalformedAnswer:
                raise not_served(self._home, "what it answers cannot be read") from None
            except NewerProcess:
                raise newer_process(self._home, info) from None
            _log.warning("the process of the home did not answer %s (%s): asking again", path, why)
        if older is not None:
            raise older
        said = startup_error(RunDir(self._home))
        why = f"{_MAX_ATTEMPTS} of them went before they answered ({why}{f'; the last said: {said}' if said else ''})"
        raise not_served(self._home, why)


def _nothing(_: Any) -> None:
    return None
