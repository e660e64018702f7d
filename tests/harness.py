"""A small actor system for tests: the real store, actors and engine, and an encoder that is small and can be held
up.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.capture.messages import CaptureText, CaptureTranscript, TextCaptured, TranscriptCaptured
from mnemic.actors.kernel.errors import ModelMissing
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, SourceItem, to_bytes
from mnemic.actors.kernel.ports import FileStat, Ports, Scrubbed, Source, SpoolBatch, UndecodedRecord, Window
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.meaning.messages import EmbedPending, EmbedProgress
from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.actors.shape.messages import BindPending, BindProgress
from mnemic.runtime.engine.actor_health import RestartPolicy
from mnemic.runtime.engine.engine import EmbeddedEngine
from mnemic.runtime.engine.plugins import BUILT_IN_ACTORS
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import ActorSpec, Supervisor
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.minds.projects import is_gone_folder, is_ignored, resolve_scope
from mnemic.runtime.store.reader import PendingReader, open_reader
from mnemic.runtime.store.store import Store
from tests.built import event
from tests.clocks import ManualClock
from tests.runtime.building import keys_of
from tests.waiting import BOUND_S, until

START_US = 1_760_000_000_000_000
NOWHERE = ScopeRef(path="", project=None, found="none")


class BagEncoder:
    """Embeds a window as the hashed bag of its words. Every window is one text of `window_chars` characters."""

    dimensions = 64

    def __init__(self, name: str = "bag", window_chars: int = 200, batch: int = 1) -> None:
        self.implementation = name
        self.model = f"{crc32(name.encode()):08x}" * 8
        self.batch_tokens = self.bulk_tokens = batch
        self._window_chars = window_chars
        self._texts: dict[int, str] = {}
        self.encoded: list[str] = []
        """Every window that was embedded, in order."""
        self.chokes_on: Callable[[str], BaseException | None] = lambda text: None
        """What embedding a text raises, if it raises."""
        self.gate: threading.Semaphore | None = None
        """Where there is one, each window waits for a turn."""
        self.entered = threading.Semaphore(0)
        """Released whenever a window begins."""

    def windows(self, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
        starts = range(0, max(1, len(text)), self._window_chars)[:limit]
        windows = []
        for start in starts:
            end = min(len(text), start + self._window_chars)
            number = len(self._texts)
            self._texts[number] = text[start:end]
            windows.append(Window(start, end, (number,)))
        return windows, windows[-1].end

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        vectors = np.full((len(windows), self.dimensions), 0.01, np.float32)
        for vector, window in zip(vectors, windows, strict=True):
            text = self._texts[window.token_ids[0]]
            self.entered.release()
            if self.gate is not None:
                assert self.gate.acquire(timeout=BOUND_S)
            error = self.chokes_on(text)
            if error is not None:
                raise error
            self.encoded.append(text)
            for word in re.findall(r"\w+", text.lower()):
                vector[crc32(word.encode("utf-8", "surrogatepass")) % self.dimensions] += 1
            vector /= np.float32(np.linalg.norm(vector))
        return vectors

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(words), self.dimensions), np.float32)
        for vector, word in zip(vectors, words, strict=True):
            vector[crc32(word.encode("utf-8", "surrogatepass")) % self.dimensions] = 1
        return vectors


class ListSource:
    """A transcript in memory."""

    format = "list"

    def __init__(self, items: Sequence[SourceItem], size_bytes: int | None = 1000) -> None:
        self._items = items
        self.size_bytes = size_bytes
        self.position_bytes = 0
        self.closed = False

    def __iter__(self) -> Iterator[SourceItem]:
        for item in self._items:
            self.position_bytes += 1
            yield item

    def close(self) -> None:
        self.closed = True


class ListSpool:
    """A spool in memory: files of records, by name, each as long as it has records."""

    def __init__(self) -> None:
        self.files: dict[bytes, list[HookRecord | UndecodedRecord]] = {}
        self.torn: dict[bytes, int] = {}
        """Where in a file nothing whole is: before the record of that number."""
        self.cleared: list[bytes] = []
        self.limits: list[int] = []
        """How many records were asked for, each time."""

    def write(self, *records: HookRecord | UndecodedRecord, file: bytes = b"a file of a hook") -> None:
        self.files.setdefault(file, []).extend(records)

    def read(self, offsets: Any, limit_records: int, limit_bytes: int) -> SpoolBatch | None:
        self.limits.append(limit_records)
        for file, records in self.files.items():
            start = offsets.get(file, 0)
            part = tuple(records[start : start + limit_records])
            if part:
                torn = int(self.torn.get(file, -1) in range(start, start + len(part)))
                return SpoolBatch(file=file, records=part, offset=start + len(part), torn=torn)
        return None

    def oldest_at(self, offsets: Any) -> int | None:
        waiting = [one for file, records in self.files.items() for one in records[offsets.get(file, 0) :]]
        return min((one.at for one in waiting if isinstance(one, HookRecord)), default=None)

    def remove_consumed(self, offsets: Any, checkpoint: Callable[[], bool]) -> list[bytes]:
        done = [file for file, records in self.files.items() if offsets.get(file, 0) == len(records)]
        done = done if done and checkpoint() else []
        self.cleared += done
        for file in done:
            del self.files[file]
        return [*done, *(offsets.keys() - self.files.keys() - set(done))]


_RUNS = itertools.count()


class ActorHarness:
    """The actors of one mind, wired as the program wires them, with ports that a test may replace."""

    def __init__(
        self,
        home: Path,
        *,
        encoder: BagEncoder | None = None,
        clock: ManualClock | None = None,
        sources: dict[str, Sequence[SourceItem]] | None = None,
        batch_events: int = 256,
        max_windows: int = 16,
        hit_bytes: int = 8192,
        seed: bytes | None = None,
        policy: RestartPolicy | None = None,
        ports: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.home = home
        self.clock = clock or ManualClock(START_US)
        self.encoder = encoder or BagEncoder()
        self.sources = {} if sources is None else sources
        self.opened: list[ListSource] = []
        self.load: Callable[[], Any] = lambda: self.encoder
        if not (home / "minds" / "default").exists():
            create_mind(home, "default", self.clock)
        self.folder, self.keys = open_mind(home, "default")

        def open_source(path: str, format: str) -> Source:
            self.opened.append(ListSource(self.sources[path]))
            return self.opened[-1]

        self.open_source: Callable[[str, str], Source] = open_source
        self.spool = ListSpool()
        self.read_record: Callable[[HookRecord], list[HookEvent]] = lambda record: []
        self.scrub: Callable[[bytes], Scrubbed] = lambda text: Scrubbed(text, ())
        self.extents: dict[str, FileStat] = {}

        settings = {"capture.batch_events": batch_events, "capture.batch_bytes": 1 << 20, "recall.hit_bytes": hit_bytes}
        own: dict[str, Any] = {
            "settings": Settings(settings | {"embedder.max_windows": max_windows} | more).values(),
            "seed": self.keys.seed,
            "open_store": lambda: Store.open(self.folder.store, self.keys),
            "open_snapshots": lambda: PendingReader(self.reader),
            "load_encoder": lambda: self.load(),
            "open_transcript": lambda path, format: self.open_source(path, format),
            "resolve_scope": partial(resolve_scope, home=home),
            "is_ignored_folder": is_ignored,
            "is_gone_folder": is_gone_folder,
            "stat_file": lambda path: self.extents.get(path),
            "open_spool": lambda: self.spool,
            "read_record": lambda record: self.read_record(record),
            "scrub": lambda text: self.scrub(text),
            "identity": self.keys.identity_hash(),
        }
        self.ports = Ports(**own | dict(ports or {}))
        self.supervisor = Supervisor(
            EmbeddedEngine(self.clock, stop_timeout_s=BOUND_S),
            [ActorSpec(slot, kind, partial(kind.make, self.ports)) for slot, kind in BUILT_IN_ACTORS.items()],
            clock=self.clock,
            seed=self.keys.seed if seed is None else seed,
            run=f"{keys_of(bytes(32)).check[:8]}{next(_RUNS)}",  # never twice: a key is answered as it was
            policy=policy or RestartPolicy(first_delay_s=0.0, longest_delay_s=0.0),
        )

    def reader(self) -> Any:
        """A reader of the store."""
        return open_reader(self.folder.store, self.keys, self.clock)

    def look(self, what: Callable[[Any], Any]) -> Any:
        """Look at the store's newest snapshot."""
        reader = self.reader()
        try:
            with reader.snapshot() as snapshot:
                return what(snapshot)
        finally:
            reader.close()

    def __enter__(self) -> ActorHarness:
        return self

    def __exit__(self, *_: object) -> None:
        if self.encoder.gate is not None:
            self.encoder.gate.release(10_000)
        self.supervisor.stop()

    # --- verbs -------------------------------------------------------------------------------------------------------

    def ask(self, message: Any, **options: Any) -> Any:
        return self.supervisor.ask(message, **options)

    def take_part(self, path: str, skip: int = 0, scope: str | None = None) -> TranscriptCaptured:
        taken = self.ask(CaptureTranscript(path=path, format="auto", scope=scope, skip=skip))
        assert isinstance(taken, TranscriptCaptured)
        return taken

    def take(self, path: str, scope: str | None = None) -> list[TranscriptCaptured]:
        """Take in a whole transcript."""
        parts = [self.take_part(path, 0, scope)]
        while not parts[-1].done:
            parts.append(self.take_part(path, parts[-1].taken, scope))
        return parts

    def take_quietly(self, path: str) -> None:
        """Take in a transcript, and have nothing of it embedded in the background."""

        def missing() -> Any:
            raise ModelMissing(path="/nowhere", why="it is gone")

        load, self.load = self.load, missing
        self.take(path)
        until(lambda: not self.supervisor.is_busy())  # an actor that asked for the model later would have all embedded
        self.load = load

    def keep(self, text: str, **options: Any) -> TextCaptured:
        """Keep one text; a second later than the one before."""
        self.clock.advance(1)
        defaults: dict[str, Any] = {"role": "user", "session": "s", "place": NOWHERE, "kind": "turn"}
        kept = self.ask(CaptureText(text=to_bytes(text), **(defaults | options)))
        assert isinstance(kept, TextCaptured)
        return kept

    def embed(self) -> EmbedProgress:
        """Embed all that waits."""
        while True:
            answer = self.ask(EmbedPending())
            assert isinstance(answer, EmbedProgress)
            if not answer.pending:
                return answer

    def bind(self) -> BindProgress:
        """Bind all that waits, and can be bound."""
        while True:
            answer = self.ask(BindPending())
            assert isinstance(answer, BindProgress)
            if not answer.pending:
                return answer

    def recall(self, query: str, **options: Any) -> Recalled:
        answer = self.ask(Recall(query=query, **({"observe": False} | options)))
        assert isinstance(answer, Recalled)
        return answer

    def texts(self) -> list[bytes]:
        """All texts, in the order they were kept."""

        def read(snapshot: Any) -> list[bytes]:
            return [memory.data for memory in snapshot.load_memories(snapshot.memory_columns(0).row.tolist())]

        found = self.look(read)
        assert isinstance(found, list)
        return found


def turns(texts: Iterable[str], session: str = "s", **fields: Any) -> list[Event]:
    """What a user said."""
    return [event(text, session=session, **fields) for text in texts]
