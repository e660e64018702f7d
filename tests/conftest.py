"""What holds for every test: laws are checked on the same examples every time, and no test touches a user's home."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# No deadline and no health check of speed: they measure the machine, not the law.
settings.register_profile(
    "mnemic", database=None, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("mnemic")


@pytest.fixture(scope="session", autouse=True)
def _no_user_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Point everything that looks for a home at a folder of this run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MNEMIC_HOME", str(tmp_path_factory.mktemp("home")))
        yield
