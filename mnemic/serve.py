"""`mnemic serve`: becomes the one server process of a home, binds its sockets, and runs it.

A client starts one on demand; `mnemic serve` takes over from it. The engine is the one that the home's settings name
(`runtime.engine`), unless `mnemic serve --engine` says another. On Ray this runs in a child of
`mnemic.runtime.engine.ray.parent`, which holds lock, info file and sockets in its stead.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from mnemic.actors.kernel.errors import AlreadyServed, InvalidValue
from mnemic.runtime.client.launcher import request_drain, wait_exited
from mnemic.runtime.client.service_socket import release_waiting, wake_service
from mnemic.runtime.engine.engine import SWITCH_S
from mnemic.runtime.engine.ray.parent import DriverParent, kill_session
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.logs import log_to
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo, log_path, not_served, process_start_time
from mnemic.runtime.version import EXIT_REPLACED, __version__

if TYPE_CHECKING:
    from mnemic.actors.kernel.contract import Clock
    from mnemic.runtime.serve.http.tcp import TcpListener

_log = logging.getLogger("mnemic.serve")

_CLUSTER_S = 5.0
_LOCK_TIMEOUT_S = 20.0  # for whoever leaves to be gone


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `mnemic serve` was told."""

    engine: str | None = None
    """``embedded`` or ``ray``; the one that the home's settings name where absent."""
    address: str | None = None
    """The Ray cluster to use, which makes ray the engine; one of this process's own where absent."""
    http: str | None = None
    """``HOST:PORT`` to listen on beside the sockets."""
    tls_cert: str | None = None
    """Its certificate."""
    tls_key: str | None = None
    """The certificate's key."""
    on_demand: bool = False
    """Whether a client started it, in the background."""
    token: bool | None = None
    """Whether callers over TCP have to show the token; they do where nothing is said."""
    new_token: bool = False
    """Whether to make a new token; the one before is worth nothing from then on."""
    child: str | None = None
    """Descriptors of the sockets and of the pipe to the parent, with commas; the process that drives Ray has them."""


def serve_home(home: Path, options: ServeOptions, clock: Clock, say: Callable[[str], None]) -> int:
    """Serve a home until told to stop, or until nobody wants anything; returns the exit code.

    Args:
        say: tells whoever started it.

    Raises:
        AlreadyServed, NotServed, InvalidValue, EngineMissing, StoreReadOnly: nothing is served.
    """
    if options.child is not None:
        return _run_ray_child(home, options, clock, [int(number) for number in options.child.split(",")])
    activated = os.environ.get("LISTEN_PID") == str(os.getpid())  # a service manager starts the next one by itself
    code = _serve_once(home, options, clock, say)
    if code == EXIT_REPLACED and activated:
        return 0
    if code == EXIT_REPLACED:
        say("starting again, with what is installed and set now")
        again = [one for one in sys.orig_argv[1:] if one != "--new-token"]  # the one it made still counts
        os.execv(sys.executable, [sys.executable, *again])
    return code


def _serve_once(home: Path, options: ServeOptions, clock: Clock, say: Callable[[str], None]) -> int:
    sys.setswitchinterval(SWITCH_S)
    home, options = home.absolute(), _with_absolute_paths(options)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what it asks for, reading the settings, comes anyway
    if options.on_demand:
        say = _say_nothing  # what a client reads there is why none came up
    with release_waiting() as release:
        # Read here: clients would find a process that goes before it answers, if they were wrong.
        named = load_settings(home / "mnemic.toml")["runtime.engine"]
        engine = options.engine or ("ray" if options.address else named)
        if engine == "ray":
            _require_ray(options.address)
        if options.on_demand and _service_serves(home, clock):
            return 0
        run_dir = acquire_home(home, clock, foreground=not options.on_demand)
        return 0 if run_dir is None else _serve_locked(home, options, clock, say, run_dir, engine, release)


def _serve_locked(
    home: Path,
    options: ServeOptions,
    clock: Clock,
    say: Callable[[str], None],
    run_dir: RunDir,
    engine: str,
    release: Callable[[], None],
) -> int:
    """Bind the sockets of a home whose lock is held, write the info file, and serve.

    Args:
        release: lets those go who wait at the service's socket.
    """
    sockets: list[socket.socket] = []
    try:
        _clean_up_ray(home)
        tcp = _bind_tcp(home, options, say)
        sockets += [] if tcp is None else [tcp.listening]
        folder, http, mcp = run_dir.bind_sockets()
        sockets[:0] = [http, mcp]
        info = ServerInfo(
            protocol=PROTOCOL,
            version=__version__,
            pid=os.getpid(),
            started=process_start_time(os.getpid()),
            since_us=clock.now_us(),
            engine=engine,
            follows_settings=options.engine is None and options.address is None,
            mode="on-demand" if options.on_demand else "foreground",
            folder=folder,
            tcp=None if tcp is None else _address(tcp.listening),
            started_in="" if options.on_demand else _working_folder(),
        )
        run_dir.publish(info)
        release()
        serving = _serving_text(home, info, tcp)
        if engine == "ray":
            say(f"starting Ray to serve {home}, process {info.pid}; it takes seconds, and whoever asks meanwhile waits")
            with log_to(log_path(home), rotate=False):
                try:
                    return DriverParent(
                        run_dir, info, clock, info.pid, ready=lambda: _say_if_heard(say, serving), release=release
                    ).run(lambda numbers: _child_command(home, options, numbers), sockets)
                finally:
                    _clean_up_ray(home)  # a child that was killed has left it
        say(serving)
        with log_to(log_path(home)):
            from mnemic.process import serve_embedded  # here: it loads all there is, and clients may knock by now

            return serve_embedded(home, info, clock, run_dir, sockets, tcp, release)
    finally:
        run_dir.unpublish()
        for one in sockets:
            one.close()
        run_dir.release_server_lock()


def acquire_home(home: Path, clock: Clock, *, foreground: bool) -> RunDir | None:
    """Become the one process of a home; ``None`` where another one is, and this one was started on demand.

    Raises:
        AlreadyServed: another one was started in the foreground.
        NotServed: another one does not leave.
    """
    run_dir = RunDir(home)
    run_dir.prepare()
    until = clock.monotonic_s() + _LOCK_TIMEOUT_S
    pause = threading.Event()
    asked: set[tuple[int, str]] = set()
    while not run_dir.acquire_server_lock():
        info = run_dir.read_info()
        if info is not None and info.state != "draining" and info.is_alive():
            if not foreground:
                return None
            if info.mode == "foreground":
                raise AlreadyServed(home=str(home), pid=info.pid, engine=info.engine)
            if (info.pid, info.started) not in asked:  # once one has left, a client may have started another
                asked.add((info.pid, info.started))
                request_drain(info, "mnemic serve")
        if clock.monotonic_s() > until:
            raise not_served(home, "another process holds its lock")
        pause.wait(0.05)
    return run_dir


def _service_serves(home: Path, clock: Clock) -> bool:
    """Have the home's service started, where there is one and nobody serves; returns whether it serves now."""
    run_dir = RunDir(home)
    info = run_dir.read_info()
    if info is not None and info.is_alive() and info.state != "draining":
        return False  # somebody else was quicker
    if not wake_service(run_dir.folder):
        return False
    info = run_dir.read_info()
    if info is not None and info.protocol < PROTOCOL:  # the service is another installation's: it is of no use here
        request_drain(info, "an older service")
        wait_exited(info, clock, _LOCK_TIMEOUT_S)
        return False
    return info is not None and info.is_alive()


def option_error(options: ServeOptions) -> str | None:
    """What is wrong where an option was given that nothing would come of; ``None`` where nothing is."""
    if options.address is not None and options.engine == "embedded":
        return f"--address goes with --engine ray: the {options.engine} engine uses no cluster"
    if options.http is None:
        given = {
            "--tls-cert": options.tls_cert,
            "--tls-key": options.tls_key,
            "--new-token": options.new_token,
            "--token": options.token,
            "--no-token": options.token is False,
        }
        for name, value in given.items():
            if value:
                return f"{name} goes with --http HOST:PORT: the home's own sockets have no use for it"
    elif options.new_token and options.token is False:
        return "--new-token does not go with --no-token: where no token is demanded none is of any use"
    return None


def _serving_text(home: Path, info: ServerInfo, tcp: TcpListener | None) -> str:
    """What is said once a home is served: by whom, at which addresses, and where to read what can be asked there."""
    said = f"serving {home} on the {info.engine} engine, process {info.pid}; Ctrl-C ends it"
    if tcp is None:
        page = f"curl --unix-socket {shlex.quote(info.http_socket)} http://mnemic/openapi.json"
        return f"{said}\nit answers at {info.http_socket}; what can be asked: {page}"
    return f"{said}\nit answers at {tcp.url} and {info.http_socket}; what can be asked: {tcp.url}/docs"


def _say_nothing(line: str) -> None:
    """Leave it to the log."""


def _say_if_heard(say: Callable[[str], None], line: str) -> None:
    """Say one thing more to whoever started it, who may have closed the pipe since: it serves on all the same."""
    try:
        say(line)
    except OSError as error:
        _log.warning("nobody hears any more that it serves: %s", type(error).__name__)


def _bind_tcp(home: Path, options: ServeOptions, say: Callable[[str], None]) -> TcpListener | None:
    """The face over TCP, bound, where one is asked for."""
    if options.http is None:
        return None
    from mnemic.runtime.serve.http.tcp import bind_tcp, has_token, new_token

    tcp = bind_tcp(options.http, **_tcp_options(home, options))
    try:
        if tcp.token_file is None:
            say(
                f"{tcp.url} asks for no token: any program and any user of this machine may read every memory, add and "
                "forget, and of web pages only the origin is checked"
            )
        else:
            if options.new_token or not has_token(tcp.token_file):  # only now: the address may be refused
                new_token(tcp.token_file)
            say(f"{tcp.url} asks for the token in {tcp.token_file} (Authorization: Bearer TOKEN)")
    except BaseException:
        tcp.listening.close()
        raise
    return tcp


def _tcp_options(home: Path, options: ServeOptions) -> dict[str, Any]:
    """What is demanded of callers over TCP, as `tcp_listener` names it."""
    return {
        "token": None if options.token is False else home / "http-token",
        "certificate": None if options.tls_cert is None else Path(options.tls_cert),
        "key": None if options.tls_key is None else Path(options.tls_key),
    }


def _working_folder() -> str:
    """The folder this was started in, percent-encoded; empty where it was removed."""
    try:
        return quote(os.getcwdb())
    except FileNotFoundError:
        return ""


def _address(listening: socket.socket) -> str:
    """Where a socket listens; port 0 has become another one."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _clean_up_ray(home: Path) -> None:
    """Remove what a Ray has left whose process was killed."""
    if any((home / "run").glob("ray-*")):
        from mnemic.runtime.engine.ray.local import clean_up_home  # here: only where there was a Ray

        clean_up_home(home)


def _run_ray_child(home: Path, options: ServeOptions, clock: Clock, numbers: Sequence[int]) -> int:
    """Be the child that drives Ray: serve on the parent's sockets, until told to leave or until the parent is gone."""
    for number in numbers:
        os.set_inheritable(number, False)
    *listening, life = numbers
    sockets = [socket.socket(fileno=number) for number in listening]
    run_dir = RunDir(home)
    info = run_dir.read_info()
    if info is None:
        raise not_served(home, "its parent went before it began")
    threading.Thread(target=_exit_with_parent, args=(life,), daemon=True, name="mnemic-parent").start()
    with log_to(log_path(home)):
        from mnemic.process import serve_on_ray
        from mnemic.runtime.serve.http.tcp import tcp_listener

        tcp = tcp_listener(str(options.http), sockets[2], **_tcp_options(home, options)) if sockets[2:] else None
        return serve_on_ray(home, info, clock, run_dir, sockets, tcp, options.address)


def _exit_with_parent(life: int) -> None:
    """End this process and all of its session as soon as the parent has ended."""
    os.read(life, 1)  # nothing is ever written there: it returns when the other end is gone
    _log.error("the parent is gone: ending")
    kill_session(os.getsid(0))
    os._exit(1)


def _child_command(home: Path, options: ServeOptions, numbers: Sequence[int]) -> list[str]:
    # -P: without it the folder that somebody happens to be in comes first where modules are looked for.
    command = [sys.executable, "-P", "-m", "mnemic", "serve", "--home", str(home), "--engine", "ray"]
    command += ["--child", ",".join(map(str, numbers))]
    for name in ("address", "http", "tls_cert", "tls_key"):
        value = getattr(options, name)
        if value is not None:
            command += [f"--{name.replace('_', '-')}", value]
    return [*command, "--no-token"] if options.token is False else command


def _with_absolute_paths(options: ServeOptions) -> ServeOptions:
    """The options, with paths that mean the same in every folder: the child that drives Ray works in another one."""
    if "RAY_AUTH_TOKEN_PATH" in os.environ:
        os.environ["RAY_AUTH_TOKEN_PATH"] = os.path.abspath(os.environ["RAY_AUTH_TOKEN_PATH"])
    named = {name: getattr(options, name) for name in ("tls_cert", "tls_key")}
    return msgspec.structs.replace(
        options, **{name: os.path.abspath(path) for name, path in named.items() if path is not None}
    )


def _require_ray(address: str | None) -> None:
    """Refuse Ray where it is not installed, and a cluster that is open to all, or not there.

    Ray would take a quarter of a minute to miss one, and end the process.
    """
    from mnemic.runtime.engine.ray.local import ray_missing, require_token  # here: only whoever asks for Ray needs it

    missing = ray_missing()
    if missing is not None:
        raise missing
    if address is None:
        return
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:  # Ray knows other ways to say it
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CLUSTER_S).close()
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise InvalidValue(
                name="--address", value=address, why=why.lower(), expected="the address of a Ray that runs"
            ) from error
    require_token(address)
