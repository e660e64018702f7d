"""The run directory of a home (HOME/run): the server's lock, its info file serve.json, and its sockets.

``HOME/run/`` (0700) holds ``serve.lock``, which the process holds as long as it lives (the kernel lets go of it however
it ends, so there are never two), and ``serve.json``, its info file. The sockets lie beside them, or, where the home is
too deep for a socket's path, in a short folder of their own that the info file names. Above:
`mnemic.runtime.client.client` and the process itself.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.errors import NewerProcess, NotServed, StoreReadOnly
from mnemic.actors.kernel.typed import convert
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.version import __version__

PROTOCOL = 7
"""Version of what command and process say to each other; decision 31 says when it rises."""
OLDEST_PIPE = 6
"""The earliest protocol whose `mnemic mcp` is served: its first line, all that is its own, is still the same."""
LINE_BYTES = 64 << 20
"""The longest line of JSON-RPC that is read."""
_SOCKET_PATH_BYTES = 100  # the kernel takes 107 on Linux, 103 on macOS
_BACKLOG = 512


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who serves a home. The first three fields stay what they are in every version; one may have others besides."""

    protocol: int
    """What it speaks."""
    pid: int
    """The process that holds the lock."""
    folder: str
    """Where the sockets are."""
    version: str = ""
    """Version of Mnemic."""
    started: str = ""
    """When that process was started, as the system tells it: another process may have its number by now."""
    since_us: int = 0
    """World time at which it wrote its first info file, microseconds; 0 where an older version did."""
    engine: str = "unknown"
    """``embedded`` or ``ray``."""
    follows_settings: bool = True
    """Whether the settings named that engine, so that it changes when they do; else the command line did."""
    mode: str = "on-demand"
    """``on-demand`` or ``foreground``."""
    state: str = "starting"
    """``starting``, ``ready``, ``draining`` or ``restarting`` (the engine went, and is being brought back)."""
    cause: str = ""
    """Why it is restarting, or was last restarted."""
    restarts: int = 0
    """How often the engine was brought back."""
    tcp: str | None = None
    """The address it listens on beside its sockets."""
    started_in: str = ""
    """The folder in which `mnemic serve` was given, percent-encoded; empty of one that was started on demand."""
    settings: str = ""
    """Which `settings_digest` it works with; empty before it has read one, and where an older version wrote the
    info file.
    """

    @property
    def http_socket(self) -> str:
        """The socket of the HTTP face."""
        return os.path.join(self.folder, "http.sock")

    @property
    def mcp_socket(self) -> str:
        """The socket that `mnemic mcp` pipes to."""
        return os.path.join(self.folder, "mcp.sock")

    def is_alive(self) -> bool:
        """Whether the process that wrote the info file is still there."""
        return bool(self.started) and process_start_time(self.pid) == self.started


def settings_digest(home: Path) -> str:
    """A name for what stands in a home's ``mnemic.toml``, 16 hexadecimal digits; none is as good as an empty one.

    Not `mnemic.runtime.engine.settings.Settings.hash`: to have that, a command would have to load every actor.
    """
    try:
        content = (home / "mnemic.toml").read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:  # whoever reads it as settings says so
        content = repr(error).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def settings_edited(since: str, home: Path) -> bool:
    """Whether a home's settings were edited since a process read them, as its info file says; not where it does not."""
    return bool(since) and since != settings_digest(home)


def process_start_time(pid: int) -> str:
    """When a process was started, as text to compare; empty where there is none, or only its exit code is left."""
    try:  # in ticks since the start of the machine: the time of day may be set meanwhile
        stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()  # the name may hold anything
        # Killed, it is a zombie at once by its first thread, while others still hold its sockets and locks.
        return "" if stat[0] == b"Z" and int(stat[17]) <= 1 else stat[19].decode()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return ""
    except ProcessLookupError:  # it went meanwhile
        return ""
    import psutil  # where there is no /proc; it costs a command 20 ms

    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return ""


def log_path(home: Path) -> Path:
    """Where the process of a home writes its log."""
    return home / "serve.log"


def not_served(home: Path, why: str) -> NotServed:
    """The error that the process of a home does not answer; it names the log."""
    return NotServed(home=str(home), why=why, log=str(log_path(home)))


def newer_process(home: Path, info: ServerInfo) -> NewerProcess:
    """The error that a home's process speaks a later protocol than this command."""
    return NewerProcess(
        home=str(home),
        version=info.version or "of another version",
        theirs=info.protocol,
        command=f"Mnemic {__version__}",
        ours=PROTOCOL,
        pid=info.pid,
    )


class RunDir:
    """The run folder of one home."""

    def __init__(self, home: Path) -> None:
        self.home = home.absolute()
        self.folder = self.home / "run"
        """Holds lock and info file."""
        self._lock: int | None = None

    @property
    def info_path(self) -> Path:
        """The info file's file."""
        return self.folder / "serve.json"

    @property
    def errors_path(self) -> Path:
        """What a process that was started on demand says before it can log."""
        return self.folder / "serve.err"

    def read_info(self) -> ServerInfo | None:
        """The info file, if there is one that can be read; whoever wrote it may be gone."""
        try:
            written = msgspec.json.decode(self.info_path.read_bytes())
        except (OSError, msgspec.DecodeError):
            return None
        return _parse_info(written)

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            StoreReadOnly, DiskFull: it cannot be made, or is not this user's alone.
        """
        with _translated_write_errors(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            seen = self.folder.lstat()
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
            raise StoreReadOnly(path=str(self.folder), why="it is not a folder of yours")
        if stat.S_IMODE(seen.st_mode) & 0o077:
            with _translated_write_errors(self.folder):
                self.folder.chmod(0o700)

    def acquire_lock(self, name: str, *, wait: bool = False) -> int | None:
        """Take a lock of the folder and return its descriptor, to be closed; ``None`` where somebody holds it.

        Args:
            wait: until it is free.

        Raises:
            StoreReadOnly, DiskFull: the folder or the lock cannot be written.
        """
        with _translated_write_errors(self.folder / name):
            descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def is_server_locked(self) -> bool:
        """Whether a process has the server's lock; one that takes it at this very moment tries again."""
        if not (self.folder / "serve.lock").exists():
            return False
        descriptor = self.acquire_lock("serve.lock")
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is None

    def acquire_server_lock(self) -> bool:
        """Become the one process of this home; returns whether nobody else is. What a dead one left is cleared."""
        self.prepare()
        self._lock = self.acquire_lock("serve.lock")
        if self._lock is None:
            return False
        left = self.read_info()
        if left is not None:
            self._remove_published(left)
        return True

    def bind_sockets(self) -> tuple[str, socket.socket, socket.socket]:
        """Bind the sockets for HTTP and MCP, for nobody but this user, and listen; whoever comes early waits.

        Returns their folder and both sockets.

        Raises:
            StoreReadOnly, DiskFull: they cannot be made.
        """
        folder = self.folder
        with _translated_write_errors(folder):
            if len(os.fsencode(folder / "http.sock")) > _SOCKET_PATH_BYTES:
                folder = Path(tempfile.mkdtemp(prefix=self._prefix, dir=_short_runtime_folder()))
            return str(folder), _bind_socket(folder / "http.sock"), _bind_socket(folder / "mcp.sock")

    def publish(self, info: ServerInfo) -> None:
        """Say who serves; whoever reads it sees the old info file or the new one.

        Raises:
            StoreReadOnly, DiskFull: it cannot be written.
        """
        with _translated_write_errors(self.info_path):
            replace_private(self.info_path, json.dumps(msgspec.structs.asdict(info), indent=1).encode())

    def unpublish(self) -> None:
        """Take info file and sockets away: who comes from now on finds nobody, and waits for the lock.

        Only for who holds the lock, and for the child that serves in its stead.
        """
        info = self.read_info()
        if info is not None:
            self._remove_published(info)

    def release_server_lock(self) -> None:
        """Let go of the lock, last of all."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def _prefix(self) -> str:
        """What the names of this home's own folders for sockets start with."""
        return f"mnemic-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]}-"

    def _remove_published(self, info: ServerInfo) -> None:
        self.info_path.unlink(missing_ok=True)
        place = Path(info.folder)
        apart = place != self.folder
        if apart and not place.name.startswith(self._prefix):
            return  # this folder is the copy of another home: what its info file names is the other one's
        for path in (info.http_socket, info.mcp_socket):
            Path(path).unlink(missing_ok=True)
        if apart and place.is_dir():
            place.rmdir()


@contextmanager
def _translated_write_errors(path: Path) -> Iterator[None]:
    """Say in one sentence that something cannot be written."""
    try:
        yield
    except OSError as error:
        raise write_error(path, OSError(error.errno, error.strerror)) from error  # not by the name of a draft


def _parse_info(written: Any) -> ServerInfo | None:
    """An info file as it was written, perhaps by another version: at least its first three fields are understood."""
    for names in (ServerInfo.__struct_fields__, ("protocol", "pid", "folder")):
        try:
            return convert({name: written[name] for name in names if name in written}, ServerInfo)
        except (msgspec.ValidationError, TypeError):
            continue
    return None


def _bind_socket(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)  # the lock is ours: whoever bound it is gone
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    finally:
        os.umask(before)
    listening.listen(_BACKLOG)
    return listening


def _short_runtime_folder() -> str:
    """A folder of this user's own for what runs, or the one for temporary files."""
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    return named if os.path.isabs(named) and os.path.isdir(named) and len(os.fsencode(named)) < 60 else "/tmp"
