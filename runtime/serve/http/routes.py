"""The HTTP API of the server process: routes, and the hook endpoint.

It only translates (see `mnemic.runtime.client.wire`). A caller that goes away stops nothing: what it asked for runs to
its end. Nothing of a request is logged but its verb, its trace and the code of what went wrong.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemic.actors.capture.messages import CaptureText, CaptureTranscript
from mnemic.actors.kernel.errors import BadBody, InvalidValue, MindLocked, MnemicError, OwnersChoice
from mnemic.actors.kernel.events import MCP_PREFIX
from mnemic.actors.kernel.times import to_iso
from mnemic.actors.knowledge.messages import SettleConflict
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.client.wire import ASK_MESSAGES, TELL_MESSAGES, decode_message, encode, encode_error
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.engine.reports import ActorSystemPort, Progress
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.minds.unlocking import UnlockedKeys
from mnemic.runtime.serve.http.endpoints import (
    ALLOWED_PATHS,
    FIXED,
    JSON,
    NDJSON,
    PAGES,
    PROTOCOL_HEADER,
)
from mnemic.runtime.serve.http.openapi import document
from mnemic.runtime.serve.http.page import PAGE_HEADERS, docs_page
from mnemic.runtime.serve.http.readable import indented
from mnemic.runtime.serve.http.responses import (
    ProgressStream,
    ReleaseMindResponse,
    check_protocol,
    draining_error,
    error_response,
    json_response,
    not_found,
    parse_headers,
    read_body,
    unrouted,
)
from mnemic.runtime.serve.mcp.http import McpHttp
from mnemic.runtime.serve.open_minds import OpenMinds
from mnemic.runtime.serve.server_control import ServerControl, run_in_thread

_log = logging.getLogger("mnemic.http")

_CLOCK = SystemClock()
_RELEASE_TIMEOUT_S = 30.0  # those who use a mind may take so long
_DRAIN_REASONS = ("an older process", "mnemic serve")
"""Why one drains; reasons are logged, and any other one would be a text of the caller's own choice."""


Handler = Callable[[Request], Awaitable[Response]]
LockedHookReply = Callable[[str, str, str, str | None, bytes, bool], bytes]
"""What a hook of a locked mind prints: given the mind, the assistant, the event, its folder, what the host said, and
whether its shell has switched the capture off."""


class _Api:
    """Answers requests."""

    def __init__(
        self, minds: OpenMinds, server_control: ServerControl, unlocked: UnlockedKeys, locked_answer: LockedHookReply
    ) -> None:
        self._minds = minds
        self._server_control = server_control
        self._unlocked = unlocked
        self._locked_answer = locked_answer

    async def ask(self, rights: Callable[[], Collection[str]], request: Request) -> Response:
        """Answer a message, if the caller has the right to ask it."""
        path, asked = request.path_params["message"], parse_headers(request.headers)
        kind = ASK_MESSAGES.get(path)
        if kind is None:
            _check_method(request)
            return not_found(path, ASK_MESSAGES)
        if _over_tcp(request):
            _check_allowed(f"/api/{path}", rights())
        body = await read_body(request)

        def verb(progress: Progress | None) -> bytes:
            with self._server_control.track_request(path, asked.trace, idle=asked.idle):
                message = decode_message(kind, body, _CLOCK)
                if _over_tcp(request):
                    message = _as_told(message)
                _check_message(message)
                with self._minds.use(asked.mind, asked.create) as mind:
                    answer = mind.actor_system.ask(message, asked.timeout_s, progress, asked.trace, idle=asked.idle)
                return encode(answer)

        if NDJSON in request.headers.get("accept", ""):
            return ProgressStream(verb, path, asked.trace)
        return Response(await run_in_thread(verb), media_type=JSON)

    async def tell(self, request: Request) -> Response:
        path = request.path_params["message"]
        kind = TELL_MESSAGES.get(path)
        if kind is None:
            return not_found(path, TELL_MESSAGES)
        body = await read_body(request)

        def told(mind: Mind, trace: str | None) -> None:
            mind.actor_system.tell(decode_message(kind, body, _CLOCK), trace=trace)

        return await self._of_mind(request, path, told)

    async def about(self, name: str, of: Callable[[ActorSystemPort], Any], request: Request) -> Response:
        """Look after the actors of a mind, which is nobody's wish."""
        return await self._of_mind(request, name, lambda mind, _: of(mind.actor_system), idle=True)

    async def _of_mind(
        self, request: Request, name: str, verb: Callable[[Mind, str | None], Any], idle: bool = False
    ) -> Response:
        """Answer with what a verb gives of the mind that a request names."""
        asked = parse_headers(request.headers)

        def held(_: Progress | None) -> Any:
            tracked = self._server_control.track_request(name, asked.trace, idle=idle)
            with tracked, self._minds.use(asked.mind, asked.create) as mind:
                return msgspec.to_builtins(verb(mind, asked.trace))

        return json_response(await run_in_thread(held))

    async def hook(self, request: Request) -> Response:
        """Answer with what a hook prints; whatever is wrong is logged and not told: an assistant must never see it."""
        came_us = _CLOCK.now_us()  # it may wait for a thread, and for its mind
        said = {name: request.headers.get(f"mnemic-{name}") for name in ("assistant", "event", "cwd")}
        assistant, event, cwd = (None if one is None else os.fsdecode(unquote_to_bytes(one)) for one in said.values())
        try:
            asked, payload = parse_headers(request.headers), await read_body(request)

            def verb(_: Progress | None) -> bytes:
                given = (assistant or "", event or "", cwd, payload, request.headers.get("mnemic-off") == "capture")
                updates_only = request.headers.get("mnemic-updates") == "1"
                try:
                    tracked = self._server_control.track_request("hook", asked.trace)
                    with tracked, self._minds.use(asked.mind, create=False) as mind:
                        return mind.hook_reply(*given, updates_only, came_us)
                except MindLocked:
                    return self._locked_answer(asked.mind, *given)

            return Response(await run_in_thread(verb), media_type=JSON)
        except MnemicError as error:
            _log.warning("a hook was told nothing: %s", error.code, extra={"code": error.code})
            return Response(media_type=JSON)

    async def unlock(self, request: Request) -> Response:
        asked, secrets = parse_headers(request.headers), await read_body(request)

        def verb(_: Progress | None) -> None:
            with self._server_control.track_request("unlock", asked.trace):
                self._unlocked.add(asked.mind, secrets)

        await run_in_thread(verb)
        return json_response(self._server_control.server_info())

    async def lock(self, request: Request) -> Response:
        asked = parse_headers(request.headers)

        def verb(_: Progress | None) -> bool:
            with self._server_control.track_request("lock", asked.trace):
                taken = self._unlocked.remove(asked.mind)
                if taken:  # first, so that nobody opens it again; then whoever has it open is done
                    with self._minds.release_mind(asked.mind, _RELEASE_TIMEOUT_S):
                        _log.info("locked a mind")
                return taken

        return json_response({"unlocked": await run_in_thread(verb)})

    async def let_go(self, request: Request) -> Response:
        """Keep a mind closed while the caller wants it."""
        asked = parse_headers(request.headers)

        @contextmanager
        def held() -> Iterator[None]:
            tracked = self._server_control.track_request("let-go", asked.trace)
            with tracked, self._minds.release_mind(asked.mind, _RELEASE_TIMEOUT_S):
                yield

        return ReleaseMindResponse(held)

    async def drain(self, request: Request) -> Response:
        given = _parse_drain_request(await read_body(request))
        await run_in_thread(lambda _: self._server_control.drain(*given))
        return json_response(self._server_control.server_info())

    async def healthz(self, request: Request) -> Response:
        refusal, info = draining_error(self._server_control), self._server_control.server_info()
        if _over_tcp(request):  # there anybody may ask, without a token
            info = {name: info[name] for name in ("protocol", "version", "state")}
        if "since_us" in info:
            info |= {"since": to_iso(info["since_us"])}
        return json_response(info) if refusal is None else json_response(refusal | info, 503, {"Retry-After": "1"})


async def _lead_to_docs(_: Request) -> Response:
    return RedirectResponse("/docs", 307)


async def _docs(request: Request) -> Response:
    page = await run_in_thread(lambda _: docs_page(_over_tcp(request)))
    return Response(page, media_type="text/html", headers=PAGE_HEADERS)


async def _openapi(request: Request) -> Response:
    made = await run_in_thread(lambda _: document(_over_tcp(request)))
    return Response(indented(json.dumps(made, separators=(",", ":")).encode()), media_type=JSON)


async def _show_metrics(metrics: Callable[[], tuple[str, bytes]], _: Request) -> Response:
    kind, text = await run_in_thread(lambda _: metrics())
    return Response(text, headers={"Content-Type": kind})


def make_app(
    minds: OpenMinds,
    server_control: ServerControl,
    *,
    metrics: Callable[[], tuple[str, bytes]],
    mcp: McpHttp,
    unlocked: UnlockedKeys,
    setting: Callable[[str], Any],
    locked_answer: LockedHookReply = lambda mind, assistant, event, cwd, payload, unkept: b"",
) -> ASGIApp:
    """The application: all that `mnemic.runtime.serve.http.endpoints.ENDPOINTS` lists.

    Args:
        metrics: gives the content type and the text of ``/metrics``.
        unlocked: holds the keys of minds that somebody unlocks.
        setting: the value of one, as it is in force.
    """
    api = _Api(minds, server_control, unlocked, locked_answer)
    handlers: dict[str, Handler | McpHttp] = {
        "/": _lead_to_docs,
        "/docs": _docs,
        "/openapi.json": _openapi,
        "/healthz": api.healthz,
        "/metrics": partial(_show_metrics, metrics),
        "/api/report": partial(api.about, "report", lambda actors: actors.report()),
        "/api/replay": partial(api.about, "replay", lambda actors: {"replayed": actors.replay_dead_letters()}),
        "/api/release": partial(api.about, "release", lambda actors: {"released": actors.release_quarantined()}),
        "/api/drain": api.drain,
        "/api/let-go": api.let_go,
        "/api/unlock": api.unlock,
        "/api/lock": api.lock,
        "/api/hook": api.hook,
        "/mcp": mcp,
    }
    app = Router(  # and no `Starlette`: that one has an answer of its own to an error
        routes=[
            *(Route(one.path, handlers[one.path], methods=[one.method]) for one in FIXED),
            Route("/api/tell/{message}", api.tell, methods=["POST"]),
            Route("/api/{message}", partial(api.ask, lambda: setting("mcp.allow")), methods=["POST"]),
        ],
        lifespan=lambda _: mcp.lifespan(),
    )
    return _Middleware(app, server_control)


class _Middleware:
    """What holds for every request: versions fit, the process is not leaving, and every failure has an answer."""

    def __init__(self, app: ASGIApp, server_control: ServerControl) -> None:
        self._app = app
        self._server_control = server_control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def say(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            refusal = self._refusal(scope)
            # With an application named in it, the router raises what it would else answer as plain text.
            await (self._app if refusal is None else refusal)({**scope, "app": self._app}, receive, say)
        except ClientDisconnect:
            _log.info("a caller left before it had said what it wants")  # its path is a text of its own choice
        except MnemicError as error:
            await error_response(error)(scope, receive, send)
        except HTTPException as error:
            await unrouted(scope["method"], scope["path"], error)(scope, receive, send)
        except Exception as error:  # the face's own loop: logged, counted by its caller as an error, never swallowed
            _log.error("a request failed: %s", safe_cause(error))
            if not begun:
                await json_response(encode_error(MnemicError()), 500)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        path = scope["path"]
        if path in ("/healthz", "/metrics", "/api/drain", *(one.path for one in PAGES)):
            return None
        refusal = draining_error(self._server_control)
        if refusal is not None:
            return json_response(refusal, 503, {"Retry-After": "1"})
        theirs = Headers(scope=scope).get(PROTOCOL_HEADER)
        if theirs is not None:
            check_protocol(theirs, self._server_control)
        return None


def _check_method(request: Request) -> None:
    """Refuse a path that is answered, and not to a POST; as the router does where only one route fits.

    Raises:
        HTTPException: that is it.
    """
    method = next((one.method for one in FIXED if one.path == request.url.path), None)
    if method is not None:
        raise HTTPException(405, headers={"Allow": "GET, HEAD" if method == "GET" else method})


def _over_tcp(request: Request) -> bool:
    return (request.scope.get("server") or ("", None))[1] is not None


def _check_allowed(path: str, rights: Collection[str]) -> None:
    """Refuse a message that a caller over TCP has no right to.

    Raises:
        OwnersChoice: that is it.
    """
    right = ALLOWED_PATHS[path]
    if right is not None and right not in rights:
        what = f"Over TCP {path} reaches every project, and is not answered"
        remedy = f'Its owner does so by `allow = ["{right}"]` under [mcp] in mnemic.toml; no caller can'
        raise OwnersChoice(what=what, right=right, remedy=remedy)


def _as_told(message: Any) -> Any:
    """A message that came over TCP: what it keeps or settles is an assistant's word, never a host's or the user's."""
    names: dict[Any, str] = {CaptureText: "assistant", SettleConflict: "by"}
    name = names.get(type(message))
    if name is None or getattr(message, name).startswith(MCP_PREFIX):
        return message
    return msgspec.structs.replace(message, **{name: f"{MCP_PREFIX}{getattr(message, name)}"})


def _check_message(message: Any) -> None:
    """A transcript is named by where it is: this process has neither its caller's folder nor its standard input."""
    if isinstance(message, CaptureTranscript) and not os.path.isabs(message.path):
        raise InvalidValue(name="path", value=message.path, why="it is relative", expected="an absolute path")


def _parse_drain_request(body: bytes) -> tuple[str, int]:
    try:
        value = json.loads(body or b"{}")
        reason = value.get("reason")
        return reason if reason in _DRAIN_REASONS else "no reason that is known", int(value.get("protocol", PROTOCOL))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadBody(why="it is no request to drain", expected="reason and protocol") from None
