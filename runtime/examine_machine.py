"""Looks at what Mnemic needs of a machine: the model, the native code, a device that would pay."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

from mnemic.actors.errors import MnemicError
from mnemic.actors.ports import Encoder
from mnemic.algorithms.scan import NATIVE, backend
from mnemic.runtime.checks import Check
from mnemic.runtime.settings import load_settings

__all__ = ["LoadEncoder", "accelerator", "device", "model", "native"]

LoadEncoder = Callable[[Path | None], Encoder]
"""Loads the model of a folder, or the default one."""


def model(home: Path, load: LoadEncoder) -> Iterator[Check]:
    """Whether the model is there, is the one that was measured, and can be used."""
    try:
        folder = load_settings(home / "mnemic.toml").model_folder()
    except MnemicError:  # which is said by the check of the settings
        yield Check("model", "advice", "which one is meant cannot be read in the settings", "Mend the settings.")
        return
    encoder = load(folder)
    yield Check("model", "ok", f"{encoder.implementation}, weights {encoder.model[:12]}")


def native() -> Iterator[Check]:
    """Whether the native code is built, and for which instructions it chose itself."""
    if NATIVE:
        yield Check("native", "ok", backend())
    else:
        yield Check("native", "advice", "not built: NumPy scans", "Install cargo and then Mnemic again.")


def device() -> Iterator[Check]:
    """Whether there is a device that nothing here can use."""
    seen = accelerator()
    if seen and importlib.util.find_spec("torch") is None:
        yield Check("device", "advice", f"{seen} is there, torch is not", "pip install 'mnemic[torch]'")


def accelerator(devices: Path = Path("/dev")) -> str | None:
    """A device on which torch would pay, if one is seen."""
    if any(devices.glob("nvidia[0-9]*")):
        return "an NVIDIA GPU"
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return "Apple silicon"
    return None
