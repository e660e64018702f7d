"""What a result follows from: the life, the arm and the code; what has the same stamp has the same answers."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from mnemic.actors.sleep.registry import find_stage
from mnemic.experiment.lives import Life
from mnemic.experiment.spec import Arm, Spec
from mnemic.runtime.engine.plugins import class_path
from mnemic.runtime.engine.settings import STAGES, Settings
from mnemic.runtime.version import __version__


def result_stamp(spec: Spec, arm: Arm, settings: Settings, life: Life, seed: int, encoder: str) -> str:
    """What tells a result from others, 24 hexadecimal digits.

    Args:
        encoder: name of what embeds, empty where nothing does.
    """
    probes = msgspec.structs.replace(spec.probes, source="", kinds=(), every=1)  # the questions themselves count
    about = [arm.name, arm.nights, seed, spec.life.first_night, spec.nights, probes, spec.measures, encoder]
    follows = (msgspec.msgpack.encode(about), settings.hash().encode(), life_stamp(life), _code(spec, settings))
    return hashlib.sha256(b"|".join(follows)).hexdigest()[:24]


def life_stamp(life: Life) -> bytes:
    """What tells a life with its questions from others."""
    encode = msgspec.msgpack.Encoder(order="deterministic").encode
    asked = [
        [one.id, one.text, sorted(one.gold), one.scope, sorted(one.stale), one.kind, one.used_at, repr(one.ask)]
        for one in life.questions
    ]
    return hashlib.sha256(encode(life.events) + encode(asked)).digest()


def commit() -> str:
    """The commit of a checkout, 12 hexadecimal digits; empty where Mnemic is installed."""
    return _git("rev-parse", "HEAD").strip()[:12]


def _code(spec: Spec, settings: Settings) -> bytes:
    """What tells this code from another, with that of strangers' packages which the spec and the arm name."""
    digest = hashlib.sha256(f"{__version__} {commit()} {_changed()}".encode())
    classes = [class_path(kind) for kind in settings.actors.values()]
    named = [spec.life.kind, spec.probes.source, *spec.measures, *classes]
    named += [class_path(find_stage(name)) for name in settings[STAGES].split()]
    named += [str(value) for value in settings.values().values()]  # such as an extractor
    for package in sorted({one.partition(":")[0].partition(".")[0] for one in named if ":" in one}):
        for path in _sources(package):
            digest.update(path.read_bytes())
    return digest.digest()


def _sources(package: str) -> Iterator[Path]:
    """The source files of a package or module that was imported; none of Mnemic's own, which the commit tells."""
    module = sys.modules.get(package)
    file = getattr(module, "__file__", None)
    if file is None or package == "mnemic":
        return
    path = Path(file)
    yield from sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]


@cache
def _git(*arguments: str) -> str:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():  # installed: the version tells
        return ""
    command = ("git", "-C", str(root), *arguments)
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def _changed() -> str:
    """A hash of what differs from the commit in a checkout."""
    differs = _git("diff", "HEAD")
    return hashlib.sha256(differs.encode()).hexdigest() if differs else ""
