"""The society of one mind: its actors with their ports, started under a supervisor.

The root (`mnemic.mind`) hands in what reads transcripts; benches start a society of their own on the same parts.
"""

from __future__ import annotations

import platform

from mnemic.actors.capture import CaptureActor
from mnemic.actors.contract import Actor, Clock
from mnemic.actors.embedder import EmbedderActor
from mnemic.actors.ports import TranscriptOpener
from mnemic.actors.retriever import RetrieverActor
from mnemic.actors.store import StoreActor
from mnemic.runtime.embedded import EmbeddedEngine
from mnemic.runtime.homes import MindFolder
from mnemic.runtime.keys import Keys, run_name
from mnemic.runtime.models import load_encoder
from mnemic.runtime.projects import Locator
from mnemic.runtime.reader import open_reader
from mnemic.runtime.settings import Settings
from mnemic.runtime.store import Stamp, Store
from mnemic.runtime.supervisor import ActorSpec, Supervisor

__all__ = ["start_society"]


def start_society(
    folder: MindFolder,
    keys: Keys,
    settings: Settings,
    clock: Clock,
    *,
    opener: TranscriptOpener,
    locate: Locator,
    code: str,
    seed: bytes | None = None,
) -> Supervisor:
    """Start Store, Embedder, Retriever and Capture on the embedded engine.

    Args:
        opener: reads transcripts.
        locate: finds scopes.
        code: version of Mnemic, for the log.
        seed: what chance depends on; the mind's own where absent.

    Raises:
        StoreError: the store cannot be opened; nothing runs then.
    """
    stamp = Stamp(machine=platform.node(), code=code, settings=settings.hash())
    capacity = settings["runtime.inbox_messages"]

    def make_store() -> Actor:
        return StoreActor(Store.open(folder.store, keys, stamp))

    def make_embedder() -> Actor:
        return EmbedderActor(
            lambda: load_encoder(settings.model_folder()),
            open_reader(folder.store, keys),
            settings["embedder.max_windows"],
            settings["embedder.bulk_windows"],
        )

    def make_retriever() -> Actor:
        return RetrieverActor(open_reader(folder.store, keys), settings["recall.hit_bytes"])

    def make_capture() -> Actor:
        return CaptureActor(
            opener, locate, keys.identity(), settings["capture.batch_events"], settings["capture.batch_bytes"]
        )

    return Supervisor(
        EmbeddedEngine(clock),
        [
            ActorSpec("store", StoreActor, make_store, capacity),
            ActorSpec("embedder", EmbedderActor, make_embedder, capacity),
            ActorSpec("retriever", RetrieverActor, make_retriever, capacity),
            ActorSpec("capture", CaptureActor, make_capture, capacity),
        ],
        clock=clock,
        seed=keys.seed if seed is None else seed,
        run=run_name(),
    )
