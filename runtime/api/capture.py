"""Verbs of a mind that take in what came, and have it understood: capture, drain what hooks kept, embed, bind.

Verbs of `mnemic.runtime.api.mind.Mind`. The actors go on with all of it in the background; here somebody waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import msgspec

from mnemic.actors.capture.messages import (
    CaptureProgress,
    CaptureTranscript,
    Drained,
    DrainSpool,
    GetCaptureProgress,
    QuarantineRetried,
    Queued,
    QueueTranscripts,
    RetryQuarantined,
)
from mnemic.actors.kernel.errors import ActorFailed, BadInput, ModelError, ModelOff, RuntimeFault
from mnemic.actors.kernel.events import DOCUMENT_FORMATS
from mnemic.actors.kernel.scope_paths import normalize_scope_path
from mnemic.actors.knowledge.messages import UpdateFacts
from mnemic.actors.meaning.messages import EmbedPending, EmbedProgress
from mnemic.actors.shape.messages import BindPending, BindProgress, RetryBinding
from mnemic.actors.store.messages import Committed, Count, Counts
from mnemic.runtime.api.reports import CaptureReport
from mnemic.runtime.api.verbs import MindVerbs, Progress
from mnemic.runtime.minds.run_dir import RunDir

DRAIN_LOCK = "drain.lock"
"""Held, in the folder where a home's processes meet, by the one that takes in what its hooks kept: two at once would
each count how often a text occurred, and not see what the other counts."""
_DRAIN_TIMEOUT_S = 600.0
"""How long one part may take: it may be a single result of a tool, as long as there are any."""
_MAX_MALFORMED_LINES = 20  # all are counted


class CaptureVerbs(MindVerbs):
    """The verbs."""

    def capture(
        self,
        sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        format: str = "auto",
        scope: str | None = None,
        embed: bool = True,
        progress: Progress | None = None,
    ) -> CaptureReport:
        """Take in transcripts and notes: files, folders of them, or ``-`` for standard input. Twice is once.

        Args:
            format: ``auto``, or one of `mnemic.hooks.read.formats.FORMATS`: a host's, another program's, ``git``,
                ``jsonl``, ``markdown``, ``text``.
            scope: the scope they belong to; where absent, each event's own or its folder's project.
            embed: whether to wait until everything is found by meaning too; where nothing is new, a home's process is
                left to it.

        Returns the counts. A transcript that cannot be read, or at which an actor fails, is in `failed`, unless it is
        the only one.

        Raises:
            BadInput, ActorFailed: the scope is none, or the only source cannot be read.
            StoreError: what was committed before is kept.
        """
        if scope is not None:
            normalize_scope_path(scope)  # one that is none is said once, not of every file
        given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
        report = CaptureReport(malformed_lines=[], failed=[], scopes=[])
        paths: list[str] = []
        folders: list[str | None] = []
        for named in given:
            source = os.fspath(named)
            found_in, left = self._ports.find_sources(source, format)
            report.notes_left += left
            paths += found_in
            folders += [os.path.abspath(source) if os.path.isdir(source) else None] * len(found_in)
        sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
        for number, path in enumerate(paths):

            def show(position: int, size: int | None, number: int = number) -> None:
                sizes[number] = size or sizes[number]
                if progress is not None:
                    progress("words", sum(sizes[:number]) + position, sum(sizes))

            try:
                self._capture_one(path, format, scope, folders[number], report, show)
            except (BadInput, ActorFailed) as error:
                if len(paths) == 1:
                    raise
                report.failed.append((path, str(error)))
        report.scopes = sorted(set(report.scopes))
        found = self._embed_new(report, progress) if embed else None
        if embed and (report.new or self._server_info() is None):  # not only what waits: the settings may have changed
            try:
                self.bind(progress)
            except (BadInput, RuntimeFault) as error:
                report.shape_error = f"{error} {error.remedy_text}"
            try:
                self._until_done(UpdateFacts(), "facts", progress)
            except (BadInput, RuntimeFault) as error:
                report.facts_error = f"{error} {error.remedy_text}"
        counts = self.counts()  # once: it takes the longer the larger the mind is
        found = found or EmbedProgress(done=counts.embedded, pending=counts.pending, partly=counts.partly)
        report.embedded, report.pending, report.partly = found.done, found.pending, found.partly
        report.bound, report.unbound, report.unread = counts.bound, counts.unbound, counts.unread
        return report

    def drain_spool(
        self, more: Callable[[], bool] = lambda: True, *, transcripts: bool = True, idle: bool = False
    ) -> Drained:
        """Take in what hooks kept, and transcripts that are due, until nothing is left. Twice is once.

        Where no process serves the home, this one holds `DRAIN_LOCK` meanwhile; in that process the drainer does.

        Args:
            more: asked before each bounded part, at most some hundred records long, whether there is time for it.
            transcripts: whether transcripts are taken too.
            idle: whether it is nobody's wish, as long as nothing comes.

        Returns the counts of all parts; `more` in it says whether something is left. Where another process takes in
        what this home's hooks kept at this moment, nothing is done.

        Raises:
            StoreError, RuntimeFault: what was taken in before is kept, and the rest comes again.
        """
        held = None
        if self._server_info() is None:
            run_dir = RunDir(self._home)
            run_dir.prepare()
            held = run_dir.acquire_lock(DRAIN_LOCK)
            if held is None:
                return Drained()
        try:
            total = Drained(more=True)
            while total.more and more():
                part = self._ask(DrainSpool(transcripts=transcripts), _DRAIN_TIMEOUT_S, idle=idle)
                counted = ("records", "new", "known", "quarantined", "left_out", "torn")
                sums = {name: getattr(total, name) + getattr(part, name) for name in counted}
                total = msgspec.structs.replace(part, **sums)
                idle = idle and not part.more
            return total
        finally:
            if held is not None:
                os.close(held)

    def queue_transcripts(self, transcripts: Iterable[tuple[str | os.PathLike[str], str]]) -> Queued:
        """Have transcripts taken in, in the background, the newest first; those that were, and did not change, are not.

        Args:
            transcripts: each with the name of its format, as in `capture`.
        """
        paths = tuple((os.path.abspath(path), format) for path, format in transcripts)
        return self._ask(QueueTranscripts(paths=paths))

    def capture_progress(self) -> CaptureProgress:
        """What hooks kept: what of it was taken in, what could not be understood, which transcripts wait."""
        return self._ask(GetCaptureProgress(), idle=True)

    def retry_quarantined(self) -> QuarantineRetried:
        """Try again what could not be understood, and queue the transcripts that could not be read."""
        total = QuarantineRetried(readmitted=0, after=0, queued=0, more=True)
        while total.more:
            part = self._ask(RetryQuarantined(after=total.after))
            total = msgspec.structs.replace(part, readmitted=total.readmitted + part.readmitted)
        return total

    def embed(self, progress: Progress | None = None) -> EmbedProgress:
        """Wait until every memory is found by its meaning.

        Raises:
            ModelError: the model cannot be used.
        """
        return self._until_done(EmbedPending(), "meaning", progress)

    def bind(self, progress: Progress | None = None, more: Callable[[], bool] = lambda: True) -> BindProgress:
        """Wait until every memory is found by its shape; those that wait for their meaning first are not waited for.

        Args:
            more: asked before each bounded step but the first whether there is time for it.
        """
        return self._until_done(BindPending(), "shape", progress, more)

    def rebind_failed(self, progress: Progress | None = None) -> int:
        """Bind again the memories of which something could not be bound: what reads them may have been mended.

        Returns of how many that is so now.
        """
        self._ask(RetryBinding())
        self.bind(progress)
        return self.counts().unread

    def counts(self) -> Counts:
        """Count what is there."""
        return self._ask(Count())

    def embed_in_background(self) -> None:
        """Embed what waits in the background, after whoever asks meanwhile."""
        self.actor_system.tell(Committed(seq=self.counts().seq))

    def _capture_one(
        self,
        path: str,
        format: str,
        scope: str | None,
        folder: str | None,
        report: CaptureReport,
        show: Callable[[int, int | None], None],
    ) -> None:
        named, path = (
            path,
            path if path == "-" else os.path.abspath(path),
        )  # whoever reads it may work in another folder
        skip, done = 0, False
        while not done:
            taken = self._ask(CaptureTranscript(path=path, format=format, scope=scope, folder=folder, skip=skip))
            skip, done = taken.taken, taken.done
            report.new += taken.new
            report.known += taken.known
            report.differing += taken.differing
            report.elsewhere += taken.in_other_scope
            report.retired += taken.retired
            report.erased += taken.erased
            report.left_out += taken.left_out
            report.malformed += len(taken.malformed)
            room = _MAX_MALFORMED_LINES - len(report.malformed_lines)
            report.malformed_lines += [(named, line, why) for line, why in taken.malformed[:room]]
            for name, lines in taken.unknown_fields:
                report.unknown_fields[name] = report.unknown_fields.get(name, 0) + lines
            report.scopes += taken.scopes
            report.made_way |= {one.path: one.to for one in taken.made_way}
            show(taken.position_bytes, taken.size_bytes)
        report.files += 1
        report.documents += taken.format in DOCUMENT_FORMATS
        report.formats = sorted({*report.formats, taken.format})

    def _embed_new(self, report: CaptureReport, progress: Progress | None) -> EmbedProgress | None:
        """Wait for the meaning of what is new, or of what was left; ``None`` where nothing waits, or none can be."""
        if not report.new and (self._server_info() is not None or not self.counts().pending):
            return None  # what waits is somebody else's, and the process embeds it
        try:
            return self.embed(progress)
        except ModelOff:
            report.meaning_off = True
            return None
        except (ModelError, RuntimeFault) as error:
            report.meaning_error = f"{error} {error.remedy_text}"
            return None
