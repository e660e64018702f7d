"""Reading requests and answering them over HTTP: errors and their status, refusals, and answers that take their time.

Above stands `mnemic.runtime.serve.http.routes`.
"""

from __future__ import annotations

import difflib
import json
import logging
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mnemic.actors.kernel.errors import (
    BodyTooLong,
    InvalidValue,
    MnemicError,
    NewerProcess,
    NotServed,
    OlderProcess,
    RuntimeFault,
)
from mnemic.runtime.client.wire import encode_error
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.engine.reports import Progress
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.serve.http.endpoints import ENDPOINTS, HEADERS, JSON, NDJSON, RequestHeaders
from mnemic.runtime.serve.server_control import ServerControl, run_in_thread

_log = logging.getLogger("mnemic.http")

BODY_BYTES = 64 << 20
"""The longest request that is read."""
_TRACE = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_MAX_TIMEOUT_S = 7 * 24 * 3600.0
_FALSE_VALUES = ("", "0", "false")
_RETRY = {"Retry-After": "1"}


async def read_body(request: Request) -> bytes:
    """The body.

    Raises:
        BodyTooLong: it is longer than `BODY_BYTES`; the rest is not read.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            raise BodyTooLong(why="it is too long", expected=f"at most {BODY_BYTES >> 20} MiB")
    return bytes(body)


def parse_headers(headers: Headers) -> RequestHeaders:
    """What the headers of a request say.

    Raises:
        InvalidValue: one says nothing that can be.
    """
    mind, create, trace, timeout_s, idle = (headers.get(name) for name in HEADERS)
    if trace is not None and not _TRACE.fullmatch(trace):
        raise InvalidValue(
            name="Mnemic-Trace", value=trace, why="it is no name", expected="letters, digits and . _ : -"
        )
    return RequestHeaders(
        mind="default" if mind is None else mind,
        create=(create or "") not in _FALSE_VALUES,
        trace=trace,
        timeout_s=None if timeout_s is None else _parse_timeout_s(timeout_s),
        idle=(idle or "") not in _FALSE_VALUES,
    )


def _parse_timeout_s(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= _MAX_TIMEOUT_S:  # nan is not
        raise InvalidValue(
            name="Mnemic-Timeout", value=text, why="it is no time to wait", expected=f"seconds up to {_MAX_TIMEOUT_S:g}"
        )
    return seconds


def check_protocol(theirs: object, server_control: ServerControl, oldest: int = PROTOCOL) -> None:
    """Refuse a caller of another protocol.

    Args:
        oldest: the earliest one that says what is asked here as this one does.

    Raises:
        OlderProcess: this process is the older one; the caller has it drained.
        NewerProcess: this process is the newer one.
        InvalidValue: that is no version.
    """
    try:
        version = int(str(theirs))
    except ValueError:
        raise InvalidValue(name="the protocol", value=theirs, why="it is no number", expected=str(PROTOCOL)) from None
    info = server_control.server_info()
    if version > PROTOCOL:
        raise OlderProcess(
            home=info.get("home", "this home"),
            version=info.get("version"),
            theirs=PROTOCOL,
            ours=version,
            pid=info.get("pid"),
        )
    if version < oldest:
        raise NewerProcess(
            home=info.get("home", "this home"),
            version=info.get("version"),
            theirs=PROTOCOL,
            command="an older Mnemic",
            ours=version,
            pid=info.get("pid"),
        )


def draining_error(server_control: ServerControl) -> dict[str, Any] | None:
    """What a process that is leaving answers, so that the caller asks the next one; ``None`` while it stays."""
    info = server_control.server_info()
    if info.get("state") != "draining":
        return None
    home = info.get("home", "this home")
    leaving = NotServed(home=home, why="it is leaving, and another one may be started", log=info.get("log", "the log"))
    return encode_error(leaving) | {"code": "draining"}


def error_response(error: MnemicError) -> Response:
    status = error.http_status
    if isinstance(error, RuntimeFault):
        _log.warning("a request was not answered: %s", error.code)
    return json_response(encode_error(error), status, _RETRY if status == 503 else None)


def not_found(path: str, known: Mapping[str, Any]) -> Response:
    error = InvalidValue(name="the message", value=path, why="nobody takes it here", expected=listed(path, known))
    return json_response(encode_error(error), 404)


def listed(given: str, known: Iterable[str]) -> str:
    """What may be given in place of a name that is none: what is near to it, and where all are listed."""
    near = difflib.get_close_matches(given, known, n=1)
    return f"{near[0]}, which is near, or another that `/docs` lists" if near else "one that `/docs` lists"


def unrouted(method: str, path: str, error: HTTPException) -> Response:
    """What is answered where the router knows no such path, or not that method of it."""
    headers = dict(error.headers or {})
    if "Allow" not in headers:
        expected = listed(path, [one.path for one in ENDPOINTS])
        refusal = InvalidValue(name="the path", value=path, why="nobody answers there", expected=expected)
    else:
        headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))  # a set of the router's
        why = f"{path} does not take it"
        refusal = InvalidValue(name="the method", value=method, why=why, expected=headers["Allow"])
    return json_response(encode_error(refusal), error.status_code, headers)


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(value, separators=(",", ":")), status, headers, JSON)


class ProgressStream(Response):
    """An answer that comes after lines of progress."""

    media_type = NDJSON

    def __init__(self, verb: Callable[[Progress | None], bytes], path: str, trace: str | None) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._verb = verb
        self._path = path
        self._trace = trace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def report(done: int, total: int | None) -> None:
            line = json.dumps({"progress": [done, total]}).encode() + b"\n"
            await send({"type": "http.response.body", "body": line, "more_body": True})

        try:
            line = b'{"answer":' + await run_in_thread(self._verb, report) + b"}\n"
        except MnemicError as error:
            line = json.dumps({"error": encode_error(error)}).encode() + b"\n"
        except Exception as error:  # as in the middleware, which can no longer answer
            _log.error("%s failed: %s (trace %s)", self._path, safe_cause(error), self._trace)
            line = json.dumps({"error": encode_error(MnemicError())}).encode() + b"\n"
        await send({"type": "http.response.body", "body": line, "more_body": False})


class ReleaseMindResponse(Response):
    """Keeps a mind closed for as long as the caller's connection stays open, and says so once it is.

    The connection is the right: once it is closed, however the caller ended, the process opens the mind again for
    whoever wants it.
    """

    media_type = NDJSON

    def __init__(self, held: Callable[[], AbstractContextManager[None]]) -> None:
        """Let go of nothing yet.

        Args:
            held: holds the mind closed; entered and left in one thread.
        """
        super().__init__()
        del self.headers["content-length"]
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        free, gone = anyio.Event(), threading.Event()
        refused: list[MnemicError] = []

        def hold() -> None:
            try:
                with self._held():
                    anyio.from_thread.run_sync(free.set)
                    gone.wait()
            except MnemicError as error:
                refused.append(error)
                anyio.from_thread.run_sync(free.set)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, hold)
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await free.wait()
                said = {"error": encode_error(refused[0])} if refused else {"free": True}
                line = json.dumps(said).encode() + b"\n"
                await send({"type": "http.response.body", "body": line, "more_body": not refused})
                while not refused and (await receive())["type"] != "http.disconnect":
                    pass  # the rest of the request's body
            finally:
                gone.set()
