"""Access control for HTTP over TCP: host and origin checks, bearer token, TLS, allowed paths and bodies.

A page in a browser can have a name of its own resolve to this machine and then talk to it (DNS rebinding), and can post
a form or plain text anywhere unasked. So Host and Origin must be ours, and a body is JSON, which a browser sends
elsewhere only after asking. A caller shows a token, unless loopback goes without; beyond loopback nothing crosses the
network but through TLS. And whoever comes in is not the home's user: what reads files, or is for whoever looks after
the home, is not answered here.

How many may come is limited, since they need show nothing before they connect: each connection is a descriptor, those
of a process are few (256 on some systems), and the home's own sockets need theirs. How long each may take is in
`mnemic.runtime.serve.http.http_server`.

The token is 32 random bytes in a file of mode 0600, as the home's key files are: who can read it is the home's user,
and is answered on the home's own socket besides.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import json
import logging
import re
import resource
import socket
import ssl
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemic.actors.kernel.errors import BadToken, InvalidValue, MnemicError
from mnemic.runtime.client.wire import encode_error
from mnemic.runtime.keys.keys import generate_key, replace_private
from mnemic.runtime.serve.http.endpoints import ALLOWED_PATHS, JSON, OPEN_PATHS
from mnemic.runtime.serve.http.responses import listed


def new_token(path: Path) -> str:
    """Make a token and keep it in a file; one that was there before is worth nothing from then on.

    Returns the token, 43 characters.
    """
    token = base64.urlsafe_b64encode(generate_key()).rstrip(b"=").decode()
    replace_private(path, f"{token}\n".encode())
    return token


def has_token(path: Path) -> bool:
    """Whether a file holds a token; an older version kept its hash there, which is none."""
    return _read_token(path) is not None


def verify_token(path: Path, given: str) -> bool:
    """Whether this is the token; without a file that holds one, none is. Takes as long for a wrong one."""
    kept = _read_token(path)
    return kept is not None and hmac.compare_digest(given.encode("utf-8", "surrogatepass"), kept.encode())


def _read_token(path: Path) -> str | None:
    try:
        kept = path.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return kept if _TOKEN.fullmatch(kept) else None


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_PORTS = {"http": 80, "https": 443}
MAX_CONNECTIONS = 128
"""At most so many at a time; and no more than a quarter of the descriptors that the process may have."""
BACKLOG = 64
"""So many may wait to be taken, and are taken at once."""

_log = logging.getLogger("mnemic.tcp")


class LimitedSocket(socket.socket):
    """A listening socket that has at most so many connections open; one more is closed as soon as it is taken."""

    def __init__(self, fileno: int) -> None:
        super().__init__(fileno=fileno)
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.limit = MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, soft // 4)
        self._taken: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._full = False

    def accept(self) -> tuple[socket.socket, Any]:
        """Take a connection.

        Raises:
            ConnectionAbortedError: there are too many, and this one was closed; the event loop sees to its other
                sockets before it takes the next.
        """
        connection, address = super().accept()
        open_now = sum(one.fileno() >= 0 for one in self._taken)
        if open_now >= self.limit:
            connection.close()
            if not self._full:
                _log.warning("%d connections over TCP are open: more are refused", self.limit)
            self._full = True
            raise ConnectionAbortedError("too many connections")
        self._full = self._full and open_now > self.limit // 2  # so that one crowd is one line of the log
        self._taken.add(connection)
        return connection, address


class TcpListener(msgspec.Struct, frozen=True, kw_only=True):
    """A TCP face."""

    listening: LimitedSocket
    """Bound; see `bind_tcp`."""
    url: str
    """What callers name it by."""
    token_file: Path | None = None
    """File of the token that is demanded; ``None`` demands none, and where the file is not there nobody has it."""
    hosts: tuple[str, ...] = ()
    """Names by which callers may know this machine, beside those of loopback."""
    certificate: Path | None = None
    """For TLS."""
    key: Path | None = None
    """The certificate's."""


def bind_tcp(address: str, *, token: Path | None, certificate: Path | None, key: Path | None) -> TcpListener:
    """Bind an address such as ``127.0.0.1:8765``; port 0 takes one that is free.

    Args:
        token: the file of a token, made by now or later; beyond loopback one has to be demanded.

    Raises:
        InvalidValue: it is no address, cannot be bound, has half of what TLS needs, or reaches beyond loopback without
            a token or without TLS.
    """
    host, port = _split_address(address)
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        why = f"it cannot be resolved ({type(error).__name__})"
        raise _address_error(address, why, "an address of this machine") from error
    family, _, _, _, target = found[0]
    if (certificate is None) != (key is None):
        raise _address_error(
            address, "a certificate and its key go together", "both --tls-cert and --tls-key, or neither"
        )
    if not ipaddress.ip_address(str(target[0]).partition("%")[0]).is_loopback:
        if certificate is None:
            why = "memories do not cross the network in clear"
            raise _address_error(address, why, "127.0.0.1:PORT, or --tls-cert and --tls-key beside it")
        if token is None:
            raise _address_error(
                address, "beyond this machine a token is demanded", "127.0.0.1:PORT, or leave --no-token out"
            )
    if certificate is not None and key is not None:
        _check_certificate(address, certificate, key)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(target)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise _address_error(address, str(error.strerror).lower(), "a free address of this machine") from error
    return tcp_listener(address, listening, token=token, certificate=certificate, key=key)


def tcp_listener(
    address: str, listening: socket.socket, *, token: Path | None, certificate: Path | None, key: Path | None
) -> TcpListener:
    """A face on a socket that was bound by `bind_tcp`, here or in the process that handed it over; it takes it over."""
    host, _ = _split_address(address)
    bound, port = listening.getsockname()[:2]
    named = host or bound
    scheme = "http" if certificate is None else "https"
    return TcpListener(
        listening=LimitedSocket(fileno=listening.detach()),
        url=f"{scheme}://[{named}]:{port}" if ":" in named else f"{scheme}://{named}:{port}",
        token_file=token,
        hosts=() if host in ("", "0.0.0.0", "::") else (host,),
        certificate=certificate,
        key=key,
    )


class TcpGuard:
    """Lets pass what may come over TCP."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str], token: Path | None) -> None:
        self._app = app
        self._hosts = {name.lower().strip("[]") for name in (*_LOOPBACK, *hosts)}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        refusal = self._refusal(Headers(scope=scope), scope) if scope["type"] == "http" else None
        await (self._app if refusal is None else refusal)(scope, receive, send)

    def _refusal(self, headers: Headers, scope: Scope) -> Response | None:
        path, hosts, origins = scope["path"], headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_own_host(f"//{hosts[0]}"):
            return _refusal_response(421, "Host", ", ".join(hosts), "this is not its name", "a name of this machine")
        if not all(self._is_own_host(one, scope["scheme"], scope["server"][1]) for one in origins):
            why = "a page of somebody else's asks"
            return _refusal_response(403, "Origin", ", ".join(origins), why, "no page, or one of this very address")
        if self._token is not None and path not in OPEN_PATHS:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not verify_token(self._token, given.strip()):
                return _error_response(BadToken(), 401, {"WWW-Authenticate": "Bearer"})
        if path not in ALLOWED_PATHS:  # whatever else there is, or will be
            answered = f"{listed(path, ALLOWED_PATHS)}; the rest is answered on the home's own socket"
            return _refusal_response(404, "the path", path, "over TCP nobody answers there", answered)
        kinds = headers.getlist("content-type")
        if scope["method"] == "POST" and [kind.partition(";")[0].strip().lower() for kind in kinds] != [JSON]:
            why = "only JSON is taken here, since any page may send something else"
            return _refusal_response(415, "Content-Type", ", ".join(kinds), why, JSON)
        return None

    def _is_own_host(self, url: str, scheme: str = "", port: int | None = None) -> bool:
        """Whether a URL is of this machine; where a scheme and a port are given, of those too."""
        try:
            parts = urlsplit(url)
            named = parts.port or _PORTS.get(parts.scheme)
        except ValueError:  # a port that is none
            return False
        ours = parts.scheme == scheme and (port is None or named == port)
        return ours and parts.hostname in self._hosts and parts.username is None


def _refusal_response(status: int, name: str, value: str, why: str, expected: str) -> Response:
    error = InvalidValue(name=name, value=value, why=why, expected=expected)
    return _error_response(error, status)


def _error_response(error: MnemicError, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """An error, after which the connection is closed: what else comes on it is not waited for."""
    return Response(json.dumps(encode_error(error)), status, {"Connection": "close", **(headers or {})}, JSON)


def _split_address(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise _address_error(address, "it is no address", "HOST:PORT, such as 127.0.0.1:8765")
    return host.strip("[]"), int(port)


def _check_certificate(address: str, certificate: Path, key: Path) -> None:
    for path in (certificate, key):  # of what cannot be read, what loads them does not say which it was
        try:
            path.read_bytes()
        except OSError as error:
            why = f"{path} cannot be read ({str(error.strerror).lower()})"
            raise _address_error(address, why, "a certificate and its key, as PEM") from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        why = f"{certificate} and {key} cannot be used ({getattr(error, 'reason', None) or type(error).__name__})"
        raise _address_error(address, why, "a certificate and its key, as PEM") from error


def _address_error(address: str, why: str, expected: str) -> InvalidValue:
    return InvalidValue(name="--http", value=address, why=why, expected=expected)
