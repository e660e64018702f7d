"""Folders that somebody else made: files of the names that a memory heeds, which never end, nest too deeply or lie.

A hook runs in each, and the session's own words are captured, into a scope of that folder. Whatever the files say, a
neighbour's project gets nothing of it, and a recall from the folder gives nothing of the neighbour's. Where a file
silences a folder, whatever it is, nothing is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from mnemic.bench.faults.audit import Attack, Case, Flaw, audit, crash_of, in_parallel, mnemic, run_command
from mnemic.bench.faults.scenarios import Base, hook_command, hook_event

_SECRET = "The neighbour's harbour is deep."
_LONG = 1 << 30
_DEEP = 100_000


def _zeros(file: Path) -> None:
    file.symlink_to("/dev/zero")


def _long(file: Path) -> None:
    file.touch()
    os.truncate(file, _LONG)


def _binary(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 16)


def _dangling(file: Path) -> None:
    file.symlink_to("nowhere/at/all")


def _nested(file: Path) -> None:
    file.write_bytes(b"scope = " + b"[" * _DEEP)


def _loop(file: Path) -> None:
    file.symlink_to(file)


_MAKERS: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "zeros without end": _zeros,
    "a gigabyte": _long,
    "binary": _binary,
    "a link to nowhere": _dangling,
    "a link to itself": _loop,
    "nested": _nested,
}


def _points_at_neighbour(folder: Path, neighbour: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {neighbour / '.git'}\n")


def _is_linked(folder: Path, neighbour: Path) -> None:
    (folder / ".git").symlink_to(neighbour / ".git")


def _points_at_itself(folder: Path, neighbour: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {folder / '.git'}\n")


def _common_folder(folder: Path, neighbour: Path) -> None:
    _repository(folder)
    (folder / ".git" / "commondir").write_text(f"{neighbour / '.git'}\n")


def _worktree(folder: Path, neighbour: Path) -> None:
    """A worktree of a repository of its own, whose common folder is the neighbour's."""
    own = folder / "private" / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "gitdir").write_text(f"{folder / '.git'}\n")
    (own / "commondir").write_text(f"{neighbour / '.git'}\n")
    (folder / ".git").write_text(f"gitdir: {own}\n")


def _names_neighbour(folder: Path, neighbour: Path) -> None:
    """A file that nobody trusted."""
    (folder / ".mnemic.toml").write_text(f'scope = "{neighbour.name}"\n')


def _names_neighbour_in_git(folder: Path, neighbour: Path) -> None:
    _repository(folder)
    _names_neighbour(folder, neighbour)


def _head(make: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    def build(folder: Path, neighbour: Path) -> None:
        _repository(folder)
        (folder / ".git" / "HEAD").unlink()
        make(folder / ".git" / "HEAD")

    return build


def _file(name: str, make: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    def build(folder: Path, neighbour: Path) -> None:
        make(folder / name)

    return build


def trees() -> dict[str, dict[str, Callable[[Path, Path], None]]]:
    """What makes each hostile folder, given it and the neighbour's, by the file that is bad and what it is."""
    pointers = {
        "it points at the neighbour's": _points_at_neighbour,
        "it is a link to the neighbour's": _is_linked,
        "it points at itself": _points_at_itself,
        "its commondir is the neighbour's": _common_folder,
        "a worktree whose commondir is the neighbour's": _worktree,
        "its HEAD is a FIFO": _head(os.mkfifo),
        "its HEAD has no end": _head(_zeros),
    }
    scopes = {"it names the neighbour's": _names_neighbour, "so it does in a repository": _names_neighbour_in_git}
    return {
        ".mnemic.toml": {what: _file(".mnemic.toml", make) for what, make in _MAKERS.items()} | scopes,
        ".git": {what: _file(".git", make) for what, make in _MAKERS.items()} | pointers,
        ".mnemicignore": {what: _file(".mnemicignore", make) for what, make in _MAKERS.items()},
    }


def attacks(base: Base, work: Path) -> Iterator[Attack]:
    """Each hostile folder, in its turn.

    Args:
        base: makes the home.
        work: an empty folder.
    """

    def runner(name: str, makers: list[Callable[[Path, Path], None]]) -> Callable[[int | None], Iterator[Case]]:
        def run(at: int | None) -> Iterator[Case]:
            if at is not None and not 1 <= at <= len(makers):
                raise ValueError(f"there are {len(makers)} folders with a bad {name}, and none of the number {at}")
            base()
            yield from in_parallel(one, range(1, len(makers) + 1) if at is None else [at])

        def one(number: int) -> Case:
            return _visit(base(), work, number, makers[number - 1], ignored=name == ".mnemicignore")

        return run

    for name, makers in trees().items():
        yield Attack(name=f"folder/{name}", run=runner(name, list(makers.values())))


def _visit(base: Path, work: Path, number: int, make: Callable[[Path, Path], None], *, ignored: bool) -> Case:
    """Work in a hostile folder as an assistant does, beside a neighbour's project."""
    with tempfile.TemporaryDirectory(dir=work) as beside:
        folder = Path(shutil.copytree(base, Path(beside) / "case"))
        home, hostile, neighbour = folder / "home", folder / "hostile", folder / "neighbour"
        hostile.mkdir()
        neighbour.mkdir()
        _repository(neighbour)
        flaws = _capture(folder, "neighbour", neighbour, _SECRET)
        make(hostile, neighbour)
        said = "Said in a hostile folder."
        flaws += _capture(folder, "hostile", hostile, said)
        recalled = run_command(mnemic(home, "recall", "harbour"), cwd=hostile)
        crash = crash_of(recalled)
        flaws += [] if crash is None else [Flaw("crashed", f"a recall from there: {crash}")]
        found = audit(home)
        flaws += found.flaws
        scopes = {one["text"]: one["scope"] for one in _log(home)}
        if scopes.get(_SECRET) != "neighbour":
            flaws.append(Flaw("lost", f"the neighbour's memory is in {scopes.get(_SECRET)!r}"))
        if recalled.code == 0 and not ignored and _SECRET in recalled.out:
            flaws.append(Flaw("silent", "a recall from there gave what is the neighbour's"))
        if ignored:
            flaws += [Flaw("silent", "it was kept though the folder is ignored")] if said in scopes else []
        elif said not in scopes:
            flaws.append(Flaw("lost", said))
        elif scopes[said] != "hostile":
            flaws.append(Flaw("silent", f"it was kept in the scope {scopes[said]!r}"))
        return Case(at=number, flaws=flaws, named=recalled.code != 0)


def _capture(folder: Path, session: str, cwd: Path, text: str) -> list[Flaw]:
    """Have a hook keep a prompt, as it is run in a folder."""
    ended = run_command(hook_command(folder), stdin=hook_event(session, text, cwd), cwd=cwd)
    if ended.code or ended.out or ended.err:
        return [Flaw("crashed", f"a hook ended with {ended.code} and said {(ended.err or ended.out)!r}")]
    return []


def _log(home: Path) -> list[dict[str, str]]:
    ended = run_command(mnemic(home, "log", "--scope", "*", "-n", "1000"))
    if ended.code:
        raise ValueError(f"mnemic log ended with {ended.code}: {ended.out}{ended.err}")
    return [json.loads(line) for line in ended.out.splitlines()]


def _repository(folder: Path) -> None:
    """Make the few files by which a folder is known as a repository of git's."""
    git = folder / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
