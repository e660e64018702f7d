"""What `mnemic serve` was told, and what that demands of callers over TCP."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    pass

__all__ = ["ServeOptions", "tcp_options"]


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `mnemic serve` was told."""

    engine: str
    """``embedded`` or ``ray``."""
    address: str | None = None
    """The Ray cluster to use; one of this process's own where absent."""
    http: str | None = None
    """``HOST:PORT`` to listen on beside the sockets."""
    tls_cert: str | None = None
    """Its certificate."""
    tls_key: str | None = None
    """The certificate's key."""
    on_demand: bool = False
    """Whether a client started it, in the background."""
    token: bool = False
    """Whether callers on loopback have to show the token too."""
    new_token: bool = False
    """Whether to make a new token; the one before is worth nothing from then on."""
    child: str | None = None
    """Descriptors of the sockets and of the pipe to the parent, with commas; the process that drives Ray has them."""


def tcp_options(home: Path, options: ServeOptions) -> dict[str, Any]:
    """What is demanded of callers over TCP, as `mnemic.runtime.serve.http.tcp.TcpListener` names it."""
    host = str(options.http).rpartition(":")[0].strip("[]")
    demanded = options.token or not _is_loopback(host)
    return {
        "token": home / "http-token" if demanded else None,
        "hosts": () if host in ("", "0.0.0.0", "::") else (host,),
        "certificate": None if options.tls_cert is None else Path(options.tls_cert),
        "key": None if options.tls_key is None else Path(options.tls_key),
    }


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
