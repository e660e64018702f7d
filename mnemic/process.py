"""The server process: starts its listeners and background threads, reloads settings, shuts down."""

from __future__ import annotations

import logging
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import AlreadyServed, BadConfiguration, DiskFull, MnemicError, StoreReadOnly
from mnemic.compose import open_actor_system, ray_engine_factory
from mnemic.hooks.wire.record import InstallRecord
from mnemic.open_mind import mind_over
from mnemic.runtime.engine.engine import EmbeddedEngine, Engine, EngineFactory
from mnemic.runtime.engine.ray.parent import ENGINE_LOST
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.logs import set_level
from mnemic.runtime.minds.homes import MindFolder, is_locked_mind
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo, settings_digest, settings_edited
from mnemic.runtime.minds.unlocking import UnlockedKeys
from mnemic.runtime.serve.actor_systems import ActorSystems
from mnemic.runtime.serve.drainer import DrainThread
from mnemic.runtime.serve.http.http_server import FaceServer
from mnemic.runtime.serve.http.routes import make_app
from mnemic.runtime.serve.http.tcp import TcpListener
from mnemic.runtime.serve.mcp.http import McpHttp
from mnemic.runtime.serve.mcp.stream import McpSocketServer
from mnemic.runtime.serve.mcp.tools import make_server
from mnemic.runtime.serve.metrics import CONTENT_TYPE, Metrics, RequestTracker
from mnemic.runtime.version import EXIT_REPLACED, Installation, __version__
from mnemic.session_start import locked_hook_reply

_log = logging.getLogger("mnemic.process")

_TICK_S = 0.5
_QUIET_S = 2.0  # between two requests of one command; the next version's process would refuse the second one
_EXIT_S = 9.0  # from being told to leave to the end, whatever hangs
_FACES_STOP_S = 3.0
_USERS_STOP_S = 1.0
_DRAINER_STOP_S = 0.5
_ACTOR_STOP_S = 1.5
_RELOAD_S = 30.0


def serve_embedded(
    home: Path,
    info: ServerInfo,
    clock: Clock,
    run_dir: RunDir,
    sockets: Sequence[socket.socket],
    tcp: TcpListener | None,
    release: Callable[[], None],
) -> int:
    """Serve with the actors in threads of this process; lock, info file and sockets are its own.

    Args:
        release: lets those go who wait at the service's socket.
    """

    def make_engine(folder: MindFolder, keys: Keys) -> Engine:
        return EmbeddedEngine(clock, stop_timeout_s=_ACTOR_STOP_S)

    process = ServerProcess(home, info, clock, run_dir, make_engine, release=release)
    return process.run(sockets, tcp, run_dir.unpublish)


def serve_on_ray(
    home: Path,
    info: ServerInfo,
    clock: Clock,
    run_dir: RunDir,
    sockets: Sequence[socket.socket],
    tcp: TcpListener | None,
    address: str | None,
) -> int:
    """Serve with the actors in processes under Ray; lock, info file and sockets are the parent's.

    Args:
        address: of the Ray to use; one of this process's own where absent.

    Raises:
        EngineMissing, EngineLost: Ray cannot be had.
    """
    from mnemic.runtime.engine.ray.local import LocalRay, connect  # here: only whoever asks for Ray needs it

    local = None if address else LocalRay.start(home)
    cluster = connect(str(address)) if local is None else local.cluster
    try:
        make_engine = ray_engine_factory(cluster, clock, stop_timeout_s=_ACTOR_STOP_S)
        lost = cluster.lost_reason if local is None else local.lost_reason
        return ServerProcess(home, info, clock, run_dir, make_engine, lost).run(sockets, tcp, run_dir.unpublish)
    finally:
        (cluster.close if local is None else local.stop)()


class ServerProcess:
    """The home's process; its faces ask it about its state."""

    def __init__(
        self,
        home: Path,
        info: ServerInfo,
        clock: Clock,
        run_dir: RunDir,
        make_engine: EngineFactory,
        lost: Callable[[], str | None] = lambda: None,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """Make it; `run` begins.

        Args:
            info: what it says of itself.
            make_engine: makes the engine of one mind.
            lost: says why the engines are gone, if they are.
            release: called again and again as long as it serves; on Ray the parent has its like.
        """
        self._home = home
        self._info = msgspec.structs.replace(info, settings=settings_digest(home))  # an edit from now on is one
        self._clock = clock
        self._run_dir = run_dir
        self._lost = lost
        self._release = release
        self._settings_error = ""
        self._metrics = Metrics()
        self._requests = RequestTracker(clock, self._metrics)
        self._unlocked = UnlockedKeys(home, info.engine)
        self._actor_systems = ActorSystems(
            home,
            clock,
            partial(open_actor_system, make_engine=make_engine),
            mind_over,
            self._metrics,
            self.server_info,
            self._unlocked.get,
            self._reload_if_edited,
        )
        self._minds = self._actor_systems.open_minds
        self._installation = Installation()
        self._is_replaced = False
        self._leave_reason = ""  # why it leaves as soon as nobody waits for it
        self._drainer = DrainThread(home, self._minds, self.track_request, clock, self._is_locked)
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()  # one that a signal handler may put into

    def server_info(self) -> dict[str, Any]:
        """What the process says of itself."""
        degraded = [self._settings_error] if self._settings_error else []
        degraded += self._drainer.problems()
        return msgspec.structs.asdict(self._info) | {"degraded": degraded, "unlocked": self._unlocked.minds()}

    def track_request(self, verb: str, trace: str | None = None, *, idle: bool = False) -> AbstractContextManager[None]:
        """Note a request, from its start to its end."""
        return self._requests.track_request(verb, trace, idle=idle)

    def drain(self, reason: str, their_protocol: int) -> None:
        """Finish what is begun, and leave; for a newer command not before nobody waits for an answer.

        Raises:
            AlreadyServed: it was started in the foreground, and is not older than who asks.
        """
        if self._info.mode == "foreground" and their_protocol <= PROTOCOL:
            raise AlreadyServed(home=str(self._home), pid=self._info.pid, engine=self._info.engine)
        _log.info("asked to leave: %s", reason)
        if their_protocol > PROTOCOL:  # what it breaks off, the next process refuses to those who waited for this one
            self._leave_reason = reason
        else:
            self._events.put("leave")

    def run(self, sockets: Sequence[socket.socket], tcp: TcpListener | None, unpublish: Callable[[], None]) -> int:
        """Serve until told to leave; returns the exit code.

        Args:
            sockets: for HTTP and for MCP first.
            unpublish: takes info file and sockets away.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._events.put("leave"))
        signal.signal(signal.SIGHUP, lambda *_: self._events.put("reload"))
        set_level(self._actor_systems.settings["runtime.log_level"])
        faces = self._faces(sockets[0], sockets[1], tcp)
        monitor = threading.Thread(
            target=self._run_until_stopped, args=(faces, unpublish), daemon=True, name="mnemic-monitor"
        )
        monitor.start()
        self._drainer.start()
        self._publish_state("ready")
        _log.info("serving %s: Mnemic %s, %s engine", self._home, __version__, self._info.engine)
        faces.run()
        self._events.put("leave")
        monitor.join()
        _log.info("left")
        return EXIT_REPLACED if self._is_replaced and self._info.mode == "foreground" else 0

    def _run_until_stopped(self, faces: FaceServer, unpublish: Callable[[], None]) -> None:
        try:
            self._run_events()
        finally:  # whatever it met: without a monitor nobody could end the process
            overdue = threading.Timer(_EXIT_S, self._force_exit)
            overdue.daemon = True
            overdue.start()  # never called off: what hangs may do so after all this
            try:
                unpublish()  # whoever comes from now on waits for the next process
            except OSError as error:  # that one clears what is left, and the minds are closed all the same
                _log.error("info file and sockets cannot be removed: %s", error.strerror or type(error).__name__)
            self._info = msgspec.structs.replace(self._info, state="draining")
            faces.stop(_FACES_STOP_S)
            self._drainer.stop(_DRAINER_STOP_S)
            self._minds.close(_USERS_STOP_S)

    def _run_events(self) -> None:
        while True:
            try:
                event = self._events.get(timeout=_TICK_S)
            except queue.Empty:
                event = "tick"
            self._release()
            if event == "leave":
                return
            if event == "reload":
                self._reload()
            why = self._lost()
            if why is not None:
                _log.error("the engine is gone: %s", why)
                self._publish_state("restarting", why)
                os._exit(ENGINE_LOST)  # nothing can be drained: whoever waits asks the next process
            if self._may_leave():
                _log.info("nobody waits for an answer: leaving (%s)", self._leave_reason)
                return
            if self._is_idle():
                _log.info("nobody has wanted anything for %g s", self._idle_exit_s)
                return
            if not os.path.exists(self._info.http_socket):
                _log.error("the socket %s is gone, and with it whoever could ask: ending", self._info.http_socket)
                return

    def _force_exit(self) -> None:
        _log.error("still not done %g s after being told to leave: ending", _EXIT_S)
        os._exit(1)

    def _may_leave(self) -> bool:
        """Whether it is to make room for another version, and nobody waits for it."""
        if not self._is_replaced and self._installation.is_replaced(self._clock.monotonic_s()):
            self._is_replaced = True
            self._leave_reason = "the installed Mnemic was replaced"
            _log.warning("the installed Mnemic was replaced: leaving once nobody waits for an answer")
        return bool(self._leave_reason) and self._requests.is_quiet(_QUIET_S)

    def _is_idle(self) -> bool:
        if self._info.mode != "on-demand":
            return False
        if not self._drainer.has_polled:
            return False
        if self._unlocked.minds():  # somebody said a passphrase once, and is not to say it every half hour
            return False
        return self._requests.is_quiet(self._idle_exit_s) and self._actor_systems.all_idle()

    @property
    def _idle_exit_s(self) -> float:
        return float(self._actor_systems.settings["runtime.idle_exit_s"])

    def _is_locked(self, mind: str) -> bool:
        return is_locked_mind(self._home, mind) and self._unlocked.get(mind) is None

    def _reload_if_edited(self) -> bool:
        """Read the settings again where no mind can be opened with those of before, and the file was edited since.

        Other minds that are open get them by and by. Returns whether it was edited.

        Raises:
            BadSettings, InvalidValue, ActorRefused: they cannot be used either.
        """
        if not settings_edited(self._info.settings, self._home):
            return False
        self._actor_systems.settings = load_settings(self._home / "mnemic.toml")
        self._events.put("reload")
        return True

    def _reload(self) -> None:
        """Read the settings again, and open all minds anew with them; bad ones change nothing, and are shown."""
        read = settings_digest(self._home)
        try:
            settings = load_settings(self._home / "mnemic.toml")
            if self._info.follows_settings and settings["runtime.engine"] != self._info.engine:
                self._leave_for(settings["runtime.engine"])
                return
        except MnemicError as error:
            self._settings_error = f"the settings were not reloaded: {error} {error.remedy_text}"
            _log.error("the settings were not reloaded: %s", error.code)
            return
        self._actor_systems.settings, self._settings_error = settings, ""
        set_level(self._actor_systems.settings["runtime.log_level"])
        self._info = msgspec.structs.replace(self._info, settings=read)
        try:
            self._run_dir.publish(self._info)
        except (StoreReadOnly, DiskFull) as error:
            # It serves on: only `doctor` does not see yet that they are in force.
            _log.warning("the info file was not written: %s", error.code)
        until = self._clock.monotonic_s() + _RELOAD_S
        while not self._minds.close_when_unused(_TICK_S):  # by and by, so that nobody waits long, and SIGTERM is heard
            if self._clock.monotonic_s() > until or not self._events.empty():
                self._settings_error = "the settings hold for new minds only, others were in use: send SIGHUP again"
                break
        _log.info("settings reloaded: %s", self._actor_systems.settings.hash())

    def _leave_for(self, engine: str) -> None:
        """Leave once nobody waits for an answer; the next process of the home runs on the engine of the settings.

        Raises:
            EngineMissing: it could not.
        """
        from mnemic.runtime.engine.ray.local import ray_missing  # here: only whoever asks for Ray needs it

        missing = ray_missing() if engine == "ray" else None
        if missing is not None:
            raise missing
        self._is_replaced, self._leave_reason = True, f"the settings name the engine {engine}"

    def _publish_state(self, state: str, cause: str = "") -> None:
        written = self._run_dir.read_info() or self._info
        self._info = msgspec.structs.replace(
            self._info, state=state, cause=cause or written.cause, restarts=written.restarts
        )
        self._run_dir.publish(self._info)

    def _faces(self, http: socket.socket, mcp: socket.socket, tcp: TcpListener | None) -> FaceServer:
        def setting(name: str) -> Any:
            return self._actor_systems.settings[name]

        def allowed(assistant: str) -> Collection[str]:
            try:
                known = InstallRecord(self._home, self._clock).hosts.get(assistant)
            except BadConfiguration as error:
                # `hooks status` says so to its owner; its own project it has all the same.
                _log.warning("an assistant has no rights of its own: %s", error.code, extra={"code": error.code})
                return ()
            return () if known is None else known.allow

        server = make_server(self._minds, self, self._clock, __version__, setting, allowed)
        app = make_app(
            self._minds,
            self,
            metrics=lambda: (CONTENT_TYPE, self._metrics.exposition()),
            mcp=McpHttp(server, self._info.started_in),
            unlocked=self._unlocked,
            setting=setting,
            locked_answer=partial(locked_hook_reply, self._home),
        )
        return FaceServer(app, McpSocketServer(server, self, __version__), http, mcp, tcp)
