"""One Ray for all tests of a run that need one: it takes seconds to start, and a process can have only one."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from mnemic.runtime.engine.ray.local import LocalRay
from mnemic.runtime.engine.ray.protocol import Seal


class OpenSeal(msgspec.Struct, frozen=True):
    """The recipe of a seal whose key everybody knows."""

    def make_seal(self) -> Seal:
        return Seal(b"k" * 32)


@pytest.fixture(scope="session")
def local_ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRay]:
    """A local Ray. Each test takes a namespace of its own and stops what it starts."""
    ray = LocalRay.start(tmp_path_factory.mktemp("ray"))
    yield ray
    ray.stop()
