"""Reads a git repository's history: each commit is a note of its author, with its time and the files it changed.

The program git reads it (`_run` says how nothing that the repository itself names is executed by that), oldest commit
first, so that what is committed later comes at the end. The text is the message as it stands, and a line of the files;
a merge names none, since they are those of the commits it joins. A commit's id makes it known when it is read again.

What the folder says of itself is checked first (`_refuse_others`), since somebody else may have made it: the commits
are those of its own repository, and they come into no other project.

A commit is its owner's word where its address is one of those in the user's own git configuration, else another
person's.

First come the commits of the main branch, then those that only what is checked out has: git keeps no record of the
branch that a commit was made on, and these two are the ones that can be told.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Author, Event, to_bytes
from mnemic.actors.kernel.times import WrittenTime
from mnemic.hooks.read.lines import time_fields
from mnemic.runtime.files.foreign import MOST_LINE_BYTES
from mnemic.runtime.files.programs import find_program
from mnemic.runtime.minds.projects import git_directory_of, printable_path

FORMAT = "git"
_HEADER = "%H%x00%P%x00%at %ai%x00%aN%x00%ae%x00%B"
_MOST_FILES = 256
"""Of a commit that changed more, the first are kept: a first commit may bring along tens of thousands."""
_NAMED_FILES = 12
_CHUNK_BYTES = 1 << 16
_MOST_SENTENCE_LETTERS = 400
_LATEST_S = 253_402_300_800  # the year 10000
_KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_VARIABLES = {
    "LC_ALL": "C",  # its sentences are told in English, as ours
    # A clone that left out objects would fetch them, by a program that its config names: the first forbids it, which
    # older versions of git do not know, the second every way to fetch.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
# No command here reads the index or runs a hook today; programs of others are to stay out whatever a later git does.
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showRoot=true")
_LOG = (  # with names alone and a format, git makes no diffs, colours or notes, and compares no merge
    *("log", "-z", "--reverse", "--name-status", f"--format={_HEADER}", "--encoding=UTF-8", "--no-renames"),
    *("--no-relative", "-O/dev/null", "--no-show-signature", "--ignore-submodules=none"),
)
NO_EMAIL = (
    "your own git configuration names no user.email, so no commit counts as yours: each is kept as another person's "
    "words; run `git config --global user.email ADDRESS`, then capture again"
)
_NAMES_OF_COMMITS = ("packed-refs", "refs", "reftable", "worktrees")
_REMEDY = "Name a folder of a repository that git itself can read"
_SIGNS = {"A": " (new)", "D": " (deleted)"}


class GitSource:
    """A repository that is being read; fulfils `mnemic.actors.kernel.ports.Source`. It is measured in commits."""

    format = FORMAT

    def __init__(self, path: str) -> None:
        """Look at the repository that a folder lies in.

        Raises:
            SourceUnreadable: it lies in none, git refuses it, it is not the folder's own, or there is no git.
        """
        self._path = path
        self._log: subprocess.Popen[bytes] | None = None
        common = self._find_folder("--git-common-dir")
        try:
            top = self._find_folder("--show-toplevel")
        except SourceUnreadable:  # a bare repository has no files, and none are told of in a git directory
            top = None
        self._refuse_others(common, top)
        self._shallow = common / "shallow"
        self._session = printable_path(common)
        self._top = printable_path(top) if top is not None else None
        self._is_shallow = self._answer("rev-parse", "--is-shallow-repository") == "true"
        self._spans = self._find_spans()
        counts = [self._ask("rev-list", "--count", *revisions, "--") for _, revisions in self._spans]
        self.size_bytes: int | None = sum(map(int, counts))
        self.position_bytes = 0
        self._own_emails = self._find_own_emails()
        self.note = "" if self._own_emails or not self.size_bytes else NO_EMAIL

    def __iter__(self) -> Iterator[Event]:
        cut = self._commits_cut_off()
        for branch, revisions in self._spans:
            tokens = self._tokens(*_LOG, *revisions, "--")
            token = next(tokens, None)
            while token is not None:
                commit = token.decode("ascii")
                _, at, author, email, message = (next(tokens, b"") for _ in range(5))
                changed: list[tuple[str, str]] = []
                count = 0
                while (token := next(tokens, None)) is not None and len(token) < len(commit):  # a letter, not a commit
                    name = next(tokens, b"")
                    count += 1
                    if count <= _MOST_FILES:
                        changed.append((token.decode("ascii").strip()[:1], _decode(name)))
                if commit in cut:  # its parents are not here, so all of its files look new
                    changed, count = [], 0
                self.position_bytes += 1
                whose: Author = "owner" if _decode(email).strip().casefold() in self._own_emails else "other"
                yield self._event(commit, at, author, whose, message, changed, count, branch)

    def close(self) -> None:
        """End git, where it is still at work."""
        if self._log is not None:
            self._log.kill()
            self._log.wait()
            assert self._log.stdout is not None
            self._log.stdout.close()
            self._log = None

    def _event(
        self,
        commit: str,
        at: bytes,
        author: bytes,
        whose: Author,
        message: bytes,
        changed: list[tuple[str, str]],
        count: int,
        branch: str | None,
    ) -> Event:
        named = ", ".join(_printable(name) + _SIGNS.get(sign, "") for sign, name in changed[:_NAMED_FILES])
        more = f" and {count - _NAMED_FILES} more" if count > _NAMED_FILES else ""
        files = f"files: {named}{more}" if changed else ""
        return Event(
            assistant=FORMAT,
            session=self._session,
            kind="note",
            role="user",
            text=to_bytes("\n\n".join(filter(None, (_decode(message).strip(), files)))),
            host_id=commit,
            source_id=commit,
            speaker=_decode(author).strip() or None,
            author=whose,
            **_time_fields(at),
            cwd=self._top or self._session,
            branch=branch,
            files=tuple(os.path.join(self._top or "", name) for _, name in changed if _is_below(name)),
        )

    def _find_own_emails(self) -> frozenset[str]:
        """The addresses by which the machine's owner commits: a repository's own configuration is no proof of one.

        Nor is its ``.mailmap``, which only says how authors are called.
        """
        told = (self._answer("config", "--show-scope", "--get-all", "user.email") or "").splitlines()
        scoped = (line.partition("\t") for line in told)
        return frozenset(email.strip().casefold() for scope, _, email in scoped if scope in ("global", "system"))

    def _find_folder(self, option: str) -> Path:
        found = b"\0".join(self._tokens("rev-parse", "--path-format=absolute", option)).removesuffix(b"\n")
        return Path(os.path.realpath(os.fsdecode(found)))

    def _refuse_others(self, common: Path, top: Path | None) -> None:
        """Refuse a folder that leads to the commits of another one, or would have its own be those of another one.

        A file ``.git``, ``commondir`` and links lead to any repository, and ``core.worktree`` to any folder. So the
        repository has to be the one that the project of its files is known by, to which both have to name each other.
        """
        here = Path(os.path.realpath(self._path))
        if top is not None and self._answer("rev-parse", "--is-inside-work-tree") != "true":
            why = f"its repository says that its files are in {printable_path(top)}, and the folder is not"
            raise SourceUnreadable(path=self._path, why=why, remedy=_REMEDY)
        is_within = top is None and here.is_relative_to(common)  # as of a bare one, which has no .git
        if not is_within and git_directory_of(str(top or here)) != (printable_path(common), True):
            why = (
                f"git would read {printable_path(common)} as the repository of {printable_path(top or here)}, "
                "and the two do not name each other"
            )
            remedy = "If both are yours, run `git worktree repair`, or `git config core.worktree FOLDER`, there"
            raise SourceUnreadable(path=self._path, why=why, remedy=remedy)
        for place in _names_of_commits(common):
            if os.path.islink(place) and not Path(os.path.realpath(place)).is_relative_to(common):
                why = f"{printable_path(place)} is a link that leads out of its repository"
                raise SourceUnreadable(path=self._path, why=why, remedy=_REMEDY)

    def _find_spans(self) -> list[tuple[str | None, tuple[str, ...]]]:
        """What is read, one after another: each with the branch that its commits are on, and how git is asked."""
        branch = self._answer("symbolic-ref", "--quiet", "--short", "HEAD")
        head = (branch, ("HEAD",)) if self._is_commit("HEAD") else None  # a new repository, or branch, has none yet
        origin = (self._answer("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD") or "").rpartition("/")[2]
        for name in filter(None, (origin, "main", "master")):
            main = tuple(ref for ref in (f"refs/heads/{name}", f"refs/remotes/origin/{name}") if self._is_commit(ref))
            if main:
                return [(name, main), *([(branch, ("HEAD", "--not", *main))] if head else [])]
        return [head] if head else []

    def _is_commit(self, ref: str) -> bool:
        return self._answer("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is not None

    def _commits_cut_off(self) -> frozenset[str]:
        if not self._is_shallow:
            return frozenset()
        try:
            with open(self._shallow, encoding="ascii") as lines:
                return frozenset(lines.read().split())
        except (OSError, ValueError) as error:
            raise SourceUnreadable(path=self._path, why=f"its file shallow cannot be read ({error})") from error

    def _answer(self, *arguments: str) -> str | None:
        """What git says, without the end of its line; ``None`` where it says no."""
        try:
            return self._ask(*arguments)
        except SourceUnreadable:
            return None

    def _ask(self, *arguments: str) -> str:
        return b"\0".join(self._tokens(*arguments)).decode("utf-8", "backslashreplace").removesuffix("\n")

    def _tokens(self, *arguments: str) -> Iterator[bytes]:
        """What git prints, piece by piece between NULs."""
        with tempfile.TemporaryFile() as errors:
            log = self._log = _run(self._path, arguments, errors)
            assert log.stdout is not None
            held = bytearray()
            while chunk := log.stdout.read(_CHUNK_BYTES):
                *whole, rest = chunk.split(b"\0")
                for piece in whole:
                    yield bytes(held + piece)
                    held.clear()
                held += rest
                if len(held) > MOST_LINE_BYTES:
                    raise SourceUnreadable(path=self._path, why=f"a message is longer than {MOST_LINE_BYTES:,} bytes")
            if held:
                yield bytes(held)
            failed = log.wait() != 0
            log.stdout.close()
            self._log = None
            if failed:
                errors.seek(0)
                said = " ".join(errors.read(_CHUNK_BYTES).decode("utf-8", "replace").split())
                why = said.removeprefix("fatal: ")[:_MOST_SENTENCE_LETTERS]
                raise SourceUnreadable(path=self._path, why=f"git says: {why or 'nothing, and failed'}", remedy=_REMEDY)


def _names_of_commits(common: Path) -> Iterator[Path]:
    """The files in which a repository names commits, where git follows links; as ``HEAD`` it takes none that leads out.

    Whose objects the repository has does not matter: git reads those that are named.
    """
    for name in _NAMES_OF_COMMITS:
        yield common / name
        for folder, folders, files in os.walk(common / name):
            yield from (Path(folder, one) for one in (*folders, *files))


def _run(path: str, arguments: tuple[str, ...], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start git on a repository that somebody else may have made.

    Its configuration may name programs: a pager, a signature's checker, a file system monitor, drivers of diffs,
    what fetches. None of them is run. Variables that lead git to another repository are not passed on; whom its user
    trusts (``safe.directory``) stands in his own configuration, which counts.
    """
    kept = {name: value for name, value in os.environ.items() if name[:4] != "GIT_" or name in _KEPT_VARIABLES}
    git = find_program("git")
    if git is None:
        why = "the program git, which reads a repository, is not there"
        raise SourceUnreadable(path=path, why=why, remedy="Install git")
    command = [git, "-C", path, *_OPTIONS, *arguments]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=kept | _VARIABLES
        )
    except (OSError, ValueError) as error:
        raise SourceUnreadable(path=path, why=f"git cannot be started ({error})") from error


def _time_fields(written: bytes) -> dict[str, Any]:
    """When a commit was written, and by which clock (``1738548000 2025-02-02 18:00:00 -0800``); a time that no calendar
    holds is none.
    """
    seconds, *_, zone = written.split(b" ")
    try:
        at = int(seconds)
        hours, minutes = int(zone[1:3]), int(zone[3:5])
    except ValueError:
        return {}
    if abs(at) >= _LATEST_S:
        return {}
    offset = (60 * hours + minutes) * (-1 if zone[:1] == b"-" else 1)
    return time_fields(WrittenTime(at * 1_000_000, offset or None, is_local=False))


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _is_below(name: str) -> bool:
    """Whether a file of a commit lies in the repository: one may be made to name others, which git never checks out."""
    return not name.startswith("/") and ".." not in name.split("/")


def _printable(name: str) -> str:
    return name if name.isprintable() else ascii(name)[1:-1]
