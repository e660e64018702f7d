"""Finding the communities of a boundary, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemic.actors.protocol.community_changes import SetCommunities
from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.snapshot import SnapshotSource


def detector_from_settings(settings: Mapping[str, Any]) -> Any:
    return settings["communities.backend"]


class BoundaryWork:
    def __init__(self, source: SnapshotSource, detector: Any, seed: bytes) -> None:
        self.why_not = ""

    def retry(self) -> None:
        self.why_not = ""

    def step(self, context: Context) -> SetCommunities | None:
        return None
