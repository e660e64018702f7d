"""Looks at what Mnemic needs of a machine: the model, the native code, a device that would pay."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mnemic.actors.errors import MnemicError
from mnemic.actors.ports import Encoder
from mnemic.algorithms.scan import NATIVE, backend
from mnemic.runtime.checks import Check
from mnemic.runtime.encoders import accelerator
from mnemic.runtime.settings import check_instructions, load_settings

__all__ = ["LoadEncoder", "device", "model", "native"]

LoadEncoder = Callable[[Mapping[str, Any]], Encoder]
"""Loads the encoder that the settings name."""


def model(home: Path, load: LoadEncoder) -> Iterator[Check]:
    """Whether the model is there, is the one that was measured, and can be used."""
    try:
        settings = load_settings(home / "mnemic.toml").values()
    except MnemicError:  # which is said by the check of the settings
        yield Check("model", "advice", "which one is meant cannot be read in the settings", "Mend the settings.")
        return
    encoder = load(settings)
    yield Check("model", "ok", f"{encoder.implementation}, weights {encoder.model[:12]}")


def native() -> Iterator[Check]:
    """Whether the native code is built, and for which instructions it chose itself."""
    if NATIVE:
        check_instructions()
        yield Check("native", "ok", backend())
    else:
        yield Check("native", "advice", "not built: NumPy scans", "Install cargo and then Mnemic again.")


def device() -> Iterator[Check]:
    """Whether there is a device that nothing here can use."""
    seen = accelerator()
    if seen and importlib.util.find_spec("torch") is None:
        yield Check("device", "advice", f"{seen} is there, torch is not", "pip install 'mnemic[torch]'")
