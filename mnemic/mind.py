"""A mind, opened: the verbs of Mnemic for Python, and the one place that puts the parts together.

Every verb is a message to an actor, by way of the supervisor; the command line and the MCP face use these same verbs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from mnemic import __version__
from mnemic.actors.changes import Place
from mnemic.actors.contract import Clock
from mnemic.actors.errors import BadInput, InvalidValue, MindExists, MindMissing, ModelError, RuntimeFault
from mnemic.actors.events import DEFAULT_KINDS, Kind, Role, to_bytes
from mnemic.actors.messages import (
    CaptureText,
    Committed,
    Count,
    Counts,
    Embedded,
    EmbedPending,
    EncoderNamed,
    FindScope,
    GetMemories,
    Memories,
    Memory,
    NameEncoder,
    Rebuild,
    Rebuilt,
    Recall,
    Recalled,
    ScopeFound,
    Signal,
    Take,
    Taken,
    TextCaptured,
)
from mnemic.actors.retriever import NOT_NATIVE
from mnemic.algorithms.scan import NATIVE
from mnemic.hooks.formats import find_transcripts, open_transcript
from mnemic.reports import Captured, Status
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.embedded import EmbeddedEngine
from mnemic.runtime.homes import MindFolder, expanded, fork_mind, make_mind, open_mind
from mnemic.runtime.keys import Keys
from mnemic.runtime.projects import Locator, clean_scope
from mnemic.runtime.settings import Settings, load_settings
from mnemic.runtime.society import start_society
from mnemic.runtime.store import Store

__all__ = ["Mind"]

Progress = Callable[[str, int, int | None], None]
"""Told what is being done (``words`` or ``meaning``), how much of it is done, and how much there is."""


_MALFORMED_NAMED = 20  # all are counted


class Mind:
    """One memory, open. Close it, or use it in a ``with`` block."""

    def __init__(
        self, folder: MindFolder, keys: Keys, home: Path, settings: Settings, clock: Clock, seed: bytes | None
    ) -> None:
        """Start the actors; `Mind.open` is the way in."""
        self._folder = folder
        self._keys = keys
        self._home = home
        self._settings = settings
        self._clock = clock
        self._locate = Locator()
        self._supervisor = start_society(
            folder, keys, settings, clock, opener=open_transcript, locate=self._locate, code=__version__, seed=seed
        )

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str],
        mind: str = "default",
        *,
        engine: str = "embedded",
        clock: Clock | None = None,
        seed: bytes | None = None,
        create: bool,
    ) -> Mind:
        """Open a mind; see `mnemic.open`. Without `create`, one that is not there is `MindMissing`."""
        if engine != EmbeddedEngine.name:
            raise InvalidValue(name="engine", value=engine, why="there is no such engine", expected="'embedded'")
        clock = clock or SystemClock()
        folder = expanded(Path(home))
        settings = load_settings(folder / "mnemic.toml")
        try:
            found, keys = open_mind(folder, mind)
        except MindMissing:
            if not create:
                raise
            with contextlib.suppress(MindExists):  # another process made it meanwhile, whole: open that one
                make_mind(folder, mind, clock)
            found, keys = open_mind(folder, mind)
        return cls(found, keys, folder, settings, clock, seed)

    def close(self) -> None:
        """Stop the actors; what was acknowledged is kept, and what waits to be embedded is taken up the next time."""
        self._supervisor.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- verbs -------------------------------------------------------------------------------------------------------

    def capture(
        self,
        sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        format: str = "auto",
        scope: str | None = None,
        embed: bool = True,
        progress: Progress | None = None,
    ) -> Captured:
        """Take in transcripts: files, folders of them, or ``-`` for standard input. Twice is once.

        Args:
            format: ``auto``, ``claude-code``, ``codex``, ``jsonl`` or ``text``.
            scope: the scope they belong to; where absent, each event's own or its folder's project.
            embed: whether to wait until everything is found by meaning too.

        Returns the counts. A transcript that cannot be read is in `failed`, unless it is the only one.

        Raises:
            BadInput: the only source cannot be read.
            StoreError: what was committed before is kept.
        """
        given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
        paths = [path for source in given for path in find_transcripts(os.fspath(source))]
        report = Captured(malformed_lines=[], failed=[], scopes=[])
        sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
        for number, path in enumerate(paths):
            before = sum(sizes[:number])

            def show(position: int, before: int = before) -> None:
                if progress is not None:
                    progress("words", before + position, sum(sizes))

            try:
                self._capture_one(path, format, scope, report, show)
            except BadInput as error:
                if len(paths) == 1:
                    raise
                report.failed.append((path, str(error)))
        report.scopes = sorted(set(report.scopes))
        self._count_meaning(report, embed, progress)
        return report

    def remember(
        self,
        text: str,
        *,
        role: Role = "user",
        session: str = "direct",
        scope: Place | str | None = None,
        kind: Kind = "note",
        speaker: str | None = None,
        said_at: int | None = None,
        supersedes: bytes | None = None,
        assistant: str = "direct",
    ) -> TextCaptured:
        """Keep one text; with `supersedes`, it replaces an earlier memory and outranks it from then on.

        Args:
            scope: where it belongs; where absent, the scope of what it replaces, else none.

        Raises:
            InvalidValue: the text is empty, an argument is not of its kind, or the memory would replace itself or one
                of another scope.
            NoSuchMemory: there is nothing of the id to replace.
        """
        place = scope if isinstance(scope, Place) else self._locate(scope, None)
        if supersedes is not None:
            there = self.get([supersedes])[0].scope
            if scope is None:
                place = Place(path=there, project=None, found="named")
            elif self._path_of(place) != there:
                raise InvalidValue(
                    name="scope",
                    value=place.path,
                    why="what is replaced is in another scope, where this would not be seen",
                    expected="the scope of what is replaced, or none",
                )
        answer = self._ask(
            CaptureText(
                text=to_bytes(text),
                role=role,
                session=session,
                place=place,
                assistant=assistant,
                kind=kind,
                speaker=speaker,
                said_at=said_at,
                supersedes=supersedes,
            )
        )
        assert isinstance(answer, TextCaptured)
        return answer

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        scope: str = "*",
        kinds: Sequence[str] = DEFAULT_KINDS,
        session: str | None = None,
        since: int | None = None,
        until: int | None = None,
        as_of: int | None = None,
        budget_tokens: int | None = None,
        signals: Sequence[Signal] = ("dense", "lexical", "session"),
        observe: bool = True,
        trace: bool = False,
    ) -> Recalled:
        """Find the memories that matter; see `mnemic.actors.messages.Recall` for what each argument means.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        answer = self._ask(
            Recall(
                query=query,
                k=self._settings["recall.k"] if k is None else k,
                scope=scope if scope == "*" else clean_scope(scope),
                kinds=tuple(kinds),
                session=session,
                since=since,
                until=until,
                as_of=as_of,
                budget_tokens=budget_tokens,
                signals=tuple(signals),
                observe=observe,
                trace=trace,
            )
        )
        assert isinstance(answer, Recalled)
        return answer

    def get(self, ids: Sequence[bytes]) -> tuple[Memory, ...]:
        """Give memories whole, in the order asked for.

        Raises:
            NoSuchMemory: one of them is not there.
        """
        answer = self._ask(GetMemories(ids=tuple(ids)))
        assert isinstance(answer, Memories)
        return answer.memories

    def place_of(self, folder: str) -> tuple[str | None, Place]:
        """The scope of a folder's project: its path, if anything was captured there, and how it was found."""
        place = self._locate(None, folder)
        return self._path_of(place), place

    def embed(self, progress: Progress | None = None) -> Embedded:
        """Wait until every memory is found by its meaning.

        Raises:
            ModelError: the model cannot be used.
        """
        while True:
            answer = self._ask(EmbedPending())
            assert isinstance(answer, Embedded)
            if progress is not None:
                progress("meaning", answer.done, answer.done + answer.pending)
            if not answer.pending:
                return answer

    def rebuild(self, *, meaning: bool = False, progress: Callable[[int, int | None], None] | None = None) -> int:
        """Make what is derived again from the log; with `meaning`, vectors too. Returns the log's highest number."""
        answer = self._supervisor.ask(Rebuild(meaning=meaning), timeout_s=24 * 3600.0, progress=progress)
        assert isinstance(answer, Rebuilt)
        return answer.seq

    def fork(self, home: str | os.PathLike[str], mind: str = "default", *, at_seq: int | None = None) -> None:
        """Copy this mind, as it was after log number `at_seq`, into another home or under another name.

        Raises:
            MindExists, InvalidValue, StoreError: nothing was made.
        """
        store = Store.open(self._folder.store, self._keys)
        try:
            fork_mind(store, self._folder, expanded(Path(home)), mind, at_seq)
        finally:
            store.close()

    def counts(self) -> Counts:
        """Count what is there."""
        answer = self._ask(Count())
        assert isinstance(answer, Counts)
        return answer

    def status(self) -> Status:
        """What there is, and how it is."""
        counts = self.counts()
        encoder = None
        degraded = [] if NATIVE else [NOT_NATIVE]
        try:
            named = self._ask(NameEncoder())
            assert isinstance(named, EncoderNamed)
            encoder = f"{named.encoder.implementation} {named.encoder.model[:12]}"
        except (ModelError, RuntimeFault) as error:
            degraded.append(f"meaning: {error} {error.remedy_text}")
        if counts.pending:
            degraded.append(f"meaning: {counts.pending} memories are found by their words only so far")
        health = self._supervisor.health()
        degraded += [f"{actor.actor} was set aside: {actor.cause}" for actor in health if actor.quarantined]
        return Status(
            home=str(self._home),
            mind=self._folder.path.name,
            version=__version__,
            engine=EmbeddedEngine.name,
            counts=counts,
            store_bytes=sum(file.stat().st_size for file in self._folder.path.glob("store.db*")),
            native=NATIVE,
            encoder=encoder,
            actors=health,
            dead_letters=self._supervisor.dead_letter_count,
            last_dead_letters=list(self._supervisor.dead_letters),
            degraded=degraded,
        )

    def status_view(self) -> dict[str, Any]:
        """`status` as JSON."""
        view = msgspec.to_builtins(self.status())
        assert isinstance(view, dict)
        return view

    def follow(self) -> None:
        """Embed what waits in the background, after whoever asks meanwhile."""
        self._supervisor.tell(Committed(seq=self.counts().seq))

    # --- inside ------------------------------------------------------------------------------------------------------

    def _path_of(self, place: Place) -> str | None:
        answer = self._ask(FindScope(place=place))
        assert isinstance(answer, ScopeFound)
        return answer.path

    def _ask(self, message: object) -> object:
        return self._supervisor.ask(message, timeout_s=self._settings["runtime.ask_timeout_s"])

    def _capture_one(
        self, path: str, format: str, scope: str | None, report: Captured, show: Callable[[int], None]
    ) -> None:
        skip, done = 0, False
        while not done:
            taken = self._ask(Take(path=path, format=format, scope=scope, skip=skip))
            assert isinstance(taken, Taken)
            skip, done = taken.taken, taken.done
            report.new += taken.new
            report.known += taken.known
            report.differing += taken.differing
            report.elsewhere += taken.elsewhere
            report.malformed += len(taken.malformed)
            room = _MALFORMED_NAMED - len(report.malformed_lines)
            report.malformed_lines += [(path, line, why) for line, why in taken.malformed[:room]]
            report.scopes += taken.scopes
            show(taken.position_bytes)
        report.files += 1

    def _count_meaning(self, report: Captured, embed: bool, progress: Progress | None) -> None:
        counts = self.counts()
        report.embedded, report.pending, report.partly = counts.embedded, counts.pending, counts.partly
        if not embed or not counts.pending:
            return
        try:
            answer = self.embed(progress)
        except (ModelError, RuntimeFault) as error:
            report.meaning_error = f"{error} {error.remedy_text}"
        else:
            report.embedded, report.pending, report.partly = answer.done, answer.pending, answer.partly
