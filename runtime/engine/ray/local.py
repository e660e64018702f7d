"""Starts a private local Ray or connects to an existing one, and cleans up after dead ones.

What a local one writes lies in a folder of mode 0700 with its token (0600), ``/tmp/mnemic-ray-*``: the paths of its
sockets have no room for a deeper one. A file in the home, ``HOME/run/ray-PID-START-*``, says where, so that it can be
told when its process is gone, however it went. Its ports bind every interface whatever they are told, and only the
token keeps strangers out; so it is never without one.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from mnemic.actors.kernel.errors import EngineLost, EngineMissing, InvalidValue
from mnemic.runtime.keys.keys import generate_key, write_private
from mnemic.runtime.minds.run_dir import RunDir, process_start_time
from mnemic.runtime.version import install_command

if TYPE_CHECKING:  # importing it imports Ray, which reads the environment first and takes a second
    from mnemic.runtime.engine.ray.cluster import Cluster

_GONE_S = 5.0
_OBJECT_STORE_BYTES = 128 << 20  # 50 MB there and back pass without the disk, which may be full
_PREFIX = "mnemic-ray-"
_TOKEN_FILE = "ray-token"

_PRIVACY_ENV = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",  # a call after the end would start another Ray
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",  # a minute where nobody says
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_NO_METRICS_ENV = {"AUTOSCALER_METRIC_PORT": "-1"}
"""Ray's monitor serves its figures on all interfaces, on a fixed port and without the token, and has no switch: there
is no such port, which it notes in its log."""
_ACTOR_ENV = {"OPENBLAS_NUM_THREADS": "1"}
"""Actors share the machine; a pool of threads in each would fight over it. Read when NumPy is loaded."""


class LocalRay:
    """A Ray that this process started, and that ends with it."""

    def __init__(self, cluster: Cluster, record: Path, before: Mapping[str, str | None]) -> None:
        self.cluster = cluster
        """The connection."""
        self.record = record
        """The file that says where it writes."""
        self._before = before
        self._head = [psutil.Process(pid) for pid in cluster.head_pids()]

    @classmethod
    def start(cls, home: Path, *, cpus: int = 1, object_store_bytes: int = _OBJECT_STORE_BYTES) -> LocalRay:
        """Start it, and end those that killed processes have left in the home.

        Args:
            cpus: so many processes wait for an actor, which counts for none, or are at a task.
            object_store_bytes: shared memory for what is larger than 100 KB; Ray wants 75 MiB at least.

        Raises:
            EngineMissing: Ray is not installed.
            EngineLost: it did not start.
            StoreReadOnly: the home cannot be written.
        """
        run = RunDir(home)
        run.prepare()
        clean_up_home(home)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))
        record = run.folder / f"ray-{os.getpid()}-{process_start_time(os.getpid())}-{folder.name.rpartition('-')[2]}"
        write_private(record, os.fsencode(folder))
        write_private(folder / _TOKEN_FILE, _process_token().encode())
        before = _set_environment(
            {
                **_PRIVACY_ENV,
                **_NO_METRICS_ENV,
                **_ACTOR_ENV,
                "RAY_AUTH_MODE": "token",
                "RAY_AUTH_TOKEN_PATH": str(folder / _TOKEN_FILE),
            }
        )
        try:
            cluster = _cluster(
                address="local",
                num_cpus=cpus,
                object_store_memory=object_store_bytes,
                include_dashboard=False,
                _temp_dir=str(folder / "r"),  # of mode 0777, as Ray will have it
            )
        except BaseException:
            _set_environment(before)
            clean_up(record)
            raise
        return cls(cluster, record, before)

    def lost_reason(self) -> str | None:
        """What of this Ray is gone without which no call gets through, if anything is; cheap."""
        for process in self._head:
            try:
                if process.status() != psutil.STATUS_ZOMBIE:
                    continue
            except psutil.NoSuchProcess:
                pass  # gone and buried
            return f"process {process.pid} of Ray died"
        return None

    def stop(self) -> None:
        """End it, whatever state it is in: no process of it is left, and no file.

        Where it was lost, Ray cannot be told to let go, and ends this process a few seconds later: be first.
        """
        if self.lost_reason() is None:
            self.cluster.close()
        clean_up(self.record)
        _set_environment(self._before)


@cache
def _process_token() -> str:
    """The token of every Ray that this process starts: what it has read once, Ray goes by for good."""
    return generate_key().hex()


def ray_missing() -> EngineMissing | None:
    """The error that the package ray is not installed; ``None`` where it is."""
    return None if importlib.util.find_spec("ray") else _ray_unusable("the package ray is not installed")


def _ray_unusable(why: str) -> EngineMissing:
    return EngineMissing(engine="ray", why=why, install=install_command("mnemic[ray]"))


def connect(address: str) -> Cluster:
    """Connect to a Ray that runs, as its own settings and the environment (``RAY_AUTH_TOKEN_PATH``) say.

    Raises:
        InvalidValue: the environment does not say that it demands a token.
        EngineMissing: Ray is not installed.
        EngineLost: there is none that lets us in.
    """
    require_token(address)
    _set_environment({name: os.environ.get(name, value) for name, value in _PRIVACY_ENV.items()})
    return _cluster(address=address, runtime_env={"env_vars": _ACTOR_ENV})


def require_token(address: str) -> None:
    """Refuse a Ray of somebody else's unless the environment says that it demands a token.

    Whoever reaches a port of one that does not can run what he likes, in our actors' processes too; and Ray tells
    those whom it lets in with a token as well as without one the same.

    Raises:
        InvalidValue: it does not say so.
    """
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        raise InvalidValue(
            name="--address",
            value=address,
            why="nothing says that this Ray keeps strangers out",
            expected="one that demands a token, and set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH to its file",
        )


def leftover_rays(home: Path) -> list[Path]:
    """The files of a home that name a Ray whose process is gone."""
    found = []
    for record in sorted(RunDir(home).folder.glob("ray-*-*-*")):
        _, pid, start, _ = record.name.split("-", 3)
        if pid.isdecimal() and process_start_time(int(pid)) != start:
            found.append(record)
    return found


def clean_up_home(home: Path) -> None:
    """End every Ray that a killed process has left in a home; anybody may, at any time."""
    for record in leftover_rays(home):
        clean_up(record)


def ray_folder(record: Path) -> Path | None:
    """Where a Ray writes, as its file says; ``None`` where that is no folder of this user's that we made."""
    try:
        folder = Path(os.fsdecode(record.read_bytes()))
        seen = folder.lstat()
    except (OSError, ValueError):  # it is gone, or no path at all
        return None
    own = stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid()
    return folder if own and folder.parent == Path("/tmp") and folder.name.startswith(_PREFIX) else None


def clean_up(record: Path) -> None:
    """End what is left of a Ray, and remove what it wrote and the file that names it; nothing else."""
    folder = ray_folder(record)
    if folder is not None:
        left = list(_processes(folder))
        for process in left:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue  # faster than us
        psutil.wait_procs(left, timeout=_GONE_S)
        shutil.rmtree(folder, onerror=_unless_gone)
    record.unlink(missing_ok=True)


def _unless_gone(_: object, path: str, error: tuple[type[BaseException], BaseException, object]) -> None:
    """Go on where a file is gone: another process sweeps the same folder."""
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]


def _processes(place: Path) -> Iterator[psutil.Process]:
    """Every process of the Ray whose files are here: by its command line, or, where it hides that, by its open log."""
    inside = str(place) + os.sep
    for process in psutil.process_iter():
        try:
            if process.pid == os.getpid() or process.uids().real != os.getuid():
                continue
            line = process.cmdline()
            program = os.path.basename(line[0]) if line else ""
            if program.startswith("ray::"):
                found = any(file.path.startswith(inside) for file in process.open_files())
            else:
                known = program.startswith(("python", "raylet", "gcs_server"))
                found = known and any(inside in part for part in line[1:])
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # it went meanwhile, or is nobody's that we could have started
        if found:
            yield process


def _cluster(**options: object) -> Cluster:
    try:
        from mnemic.runtime.engine.ray.cluster import Cluster  # takes a second, and reads the environment
    except ImportError as error:
        raise ray_missing() or _ray_unusable(f"it cannot be imported ({error.name})") from error
    try:
        return Cluster(**options)
    except Exception as error:  # Ray's own, by their names alone; one that starts too slowly is a bare `Exception`
        raise EngineLost(why=f"it did not start: {type(error).__name__}") from error


def _set_environment(values: Mapping[str, str | None]) -> dict[str, str | None]:
    """Set these variables of the environment, or remove them; returns what they were."""
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before
