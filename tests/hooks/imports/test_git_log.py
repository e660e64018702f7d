"""A commit is a note of its author: when, which files, the whole message; nothing a repository names is executed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, to_text
from mnemic.hooks import open_transcript
from mnemic.hooks.imports.git_log import GitSource

FIRST_S = 1_700_000_000
Git = Callable[..., str]


def events(path: Path) -> list[Event]:
    source = open_transcript(str(path), "git")
    try:
        found = list(source)
    finally:
        source.close()
    assert source.position_bytes == source.size_bytes == len(found)
    return [one for one in found if isinstance(one, Event)]


def texts(path: Path) -> list[str]:
    return [to_text(one.text) for one in events(path)]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Run git on a repository; each commit is a minute after the one before it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (tmp_path / "gitconfig").write_text(
        "[user]\nname=Ines\nemail=i@x\n[init]\ndefaultBranch=main\n[commit]\ngpgSign=false\n"
    )
    now = [FIRST_S]

    def run(folder: Path, *arguments: str, given: bytes | None = None, **environment: str) -> str:
        when = {f"GIT_{who}_DATE": f"{now[0]} +0000" for who in ("AUTHOR", "COMMITTER")}
        now[0] += 60
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "protocol.file.allow=always", *arguments],
            input=given,
            capture_output=True,
            check=True,
            env=os.environ | when | environment,
        )
        return done.stdout.decode("utf-8", "replace").strip()

    return run


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    """Three commits and a merge."""
    folder = tmp_path / "boats"
    git(folder, "init", "-q")
    (folder / "src").mkdir()
    (folder / "src" / "heron.py").write_text("1")
    (folder / "pier.md").write_text("1")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Mend the heron\n\nIt leaked at the keel.")
    git(folder, "checkout", "-qb", "fix/pier")
    (folder / "pier.md").unlink()
    git(folder, "commit", "-qam", "Drop the pier", "--author", "Odo <o@x>")
    return folder


def test_a_commit_is_its_authors_note_with_time_files_and_the_whole_message(repository: Path, git: Git) -> None:
    first, second = events(repository)
    assert first == Event(
        assistant="git",
        session=str(repository / ".git"),
        kind="note",
        role="user",
        text=b"Mend the heron\n\nIt leaked at the keel.\n\nfiles: pier.md (new), src/heron.py (new)",
        host_id=git(repository, "rev-parse", "HEAD~1"),
        source_id=git(repository, "rev-parse", "HEAD~1"),
        speaker="Ines",
        author="owner",
        said_at=(FIRST_S + 120) * 1_000_000,
        cwd=str(repository),
        branch="main",
        files=(str(repository / "pier.md"), str(repository / "src" / "heron.py")),
    )
    assert (second.speaker, second.author, second.branch, second.text) == (
        "Odo",
        "other",
        "fix/pier",
        b"Drop the pier\n\nfiles: pier.md (deleted)",
    )


def test_neither_a_repositorys_own_configuration_nor_its_mailmap_makes_a_strangers_commit_the_owners(
    repository: Path, git: Git
) -> None:
    git(repository, "config", "user.email", "o@x")
    (repository / ".mailmap").write_text("Ines <i@x> Odo <o@x>\n")
    assert [(one.speaker, one.author) for one in events(repository)] == [("Ines", "owner"), ("Ines", "other")]


def test_who_has_no_address_of_their_own_has_no_commits_of_their_own(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("")
    assert {one.author for one in events(repository)} == {"other"}


def test_a_merge_says_its_message_and_no_files(repository: Path, git: Git) -> None:
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge the pier", "fix/pier")
    git(repository, "config", "log.diffMerges", "separate")
    git(repository, "notes", "add", "-m", "noted")
    git(repository, "config", "notes.displayRef", "refs/notes/*")
    merge = events(repository)[-1]
    assert (merge.text, merge.files, merge.branch) == (b"Merge the pier", (), "main")


def test_what_is_committed_later_comes_at_the_end(repository: Path, git: Git) -> None:
    before = events(repository)
    git(repository, "commit", "-q", "--allow-empty", "-m", "later")
    assert events(repository)[:-1] == before


@pytest.mark.parametrize("misleading", [("GIT_DIR",), ("GIT_WORK_TREE",), ("GIT_DIR", "GIT_WORK_TREE")])
def test_variables_lead_to_no_other_repository(
    repository: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, misleading: tuple[str, ...]
) -> None:
    before = events(repository)
    elsewhere = tmp_path / "elsewhere"
    git(elsewhere, "init", "-q")
    git(elsewhere, "commit", "-q", "--allow-empty", "-m", "of another one")
    for name in misleading:
        monkeypatch.setenv(name, str(elsewhere / ".git" if name == "GIT_DIR" else elsewhere))
    assert events(repository) == events(repository / "src") == before
    assert len(before) == 2


def test_a_bare_repository_names_files_as_they_are_in_it(repository: Path, git: Git, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    first, second = events(tmp_path / "bare.git")
    assert (first.files, first.cwd) == (("pier.md", "src/heron.py"), str(tmp_path / "bare.git"))
    assert second.branch == "fix/pier"


def test_where_a_shallow_clone_begins_nothing_is_said_to_be_new(repository: Path, git: Git, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    assert texts(tmp_path / "shallow") == ["Drop the pier"]


def test_an_empty_repository_has_no_commits(tmp_path: Path, git: Git) -> None:
    git(tmp_path / "new", "init", "-q")
    assert events(tmp_path / "new") == []


def test_of_a_large_commit_the_first_files_are_kept_and_the_others_counted(tmp_path: Path, git: Git) -> None:
    folder = tmp_path / "large"
    git(folder, "init", "-q")
    for number in range(300):
        (folder / f"{number:03}").write_text("")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "all")
    (large,) = events(folder)
    assert len(large.files) == 256
    assert to_text(large.text).endswith("011 (new) and 288 more")


def test_names_dates_and_words_that_no_calendar_and_no_utf_8_holds(tmp_path: Path, git: Git) -> None:
    folder = tmp_path / "odd"
    git(folder, "init", "-q")
    (folder / 'a\n"b\t.md').write_text("")
    (folder / os.fsdecode(b"\xff")).write_text("")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first", GIT_AUTHOR_DATE="@0 +0000")
    tree = git(folder, "rev-parse", "HEAD^{tree}")
    written = [(b"7000000000", b"\xe9 ist kein UTF-8"), (b"9223372036854775807", b"x"), (b"-5", b""), (b"soon", b"y")]
    for when, message in written:
        head = git(folder, "rev-parse", "HEAD")
        raw = (
            f"tree {tree}\nparent {head}\nauthor  <> ".encode()
            + when
            + b" +0000\ncommitter C <c> 1 +0000\n\n"
            + message
        )
        made = git(folder, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", given=raw)
        git(folder, "update-ref", "HEAD", made)
    git(folder, "config", "i18n.logOutputEncoding", "latin1")
    first, *others = events(folder)
    assert (first.said_at, first.text) == (0, b'first\n\nfiles: a\\n"b\\t.md (new), \\xff (new)')
    assert first.files == (str(folder / 'a\n"b\t.md'), str(folder / "\\xff"))
    assert [to_text(one.text) for one in others] == ["\\xe9 ist kein UTF-8", "x", "", "y"]
    assert others[0].said_at == 7_000_000_000_000_000
    assert all(one.said_at is None or abs(one.said_at) < 1 << 62 for one in others)
    assert {one.speaker for one in others} == {None}


def test_nothing_that_a_repository_configures_is_run_and_none_of_it_changes_what_is_read(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
    head, tree = git(repository, "rev-parse", "HEAD"), git(repository, "rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nparent {head}\nauthor A <a> 9 +0000\ncommitter A <a> 9 +0000\n{signature}\nsigned\n"
    signed = git(repository, "hash-object", "-t", "commit", "-w", "--stdin", given=raw.encode())
    git(repository, "update-ref", "HEAD", signed)
    before = events(repository)
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    (repository / ".git" / "info" / "attributes").write_text("* diff=evil filter=evil\n")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    settings = {
        **dict.fromkeys(("core.fsmonitor", "core.pager", "pager.log", "diff.external", "gpg.program"), str(program)),
        **dict.fromkeys(
            ("diff.evil.textconv", "diff.evil.command", "filter.evil.clean", "core.sshCommand"), str(program)
        ),
        "alias.log": f"!{program}",
        "core.hooksPath": str(hooks),
        "log.showSignature": "true",
        "log.showRoot": "false",
        "log.diffMerges": "separate",
        "color.ui": "always",
        "color.diff": "always",
        "diff.relative": "true",
        "diff.orderFile": "missing",
        "diff.noprefix": "true",
    }
    for name, value in settings.items():
        git(repository, "config", name, value)
    assert events(repository / "src") == before
    assert not (tmp_path / "ran").exists()


def test_a_renamed_file_is_a_deleted_and_a_new_one(repository: Path, git: Git) -> None:
    git(repository, "mv", "src/heron.py", "src/egret.py")
    git(repository, "commit", "-qm", "Rename it")
    git(repository, "config", "diff.renames", "copies")
    git(repository, "commit", "-q", "--allow-empty", "-m", "later")
    assert texts(repository)[2:] == ["Rename it\n\nfiles: src/egret.py (new), src/heron.py (deleted)", "later"]


def test_a_message_in_another_encoding_is_read_as_what_it_says(repository: Path, git: Git) -> None:
    git(repository, "config", "i18n.commitEncoding", "ISO-8859-1")
    author = {"GIT_AUTHOR_NAME": os.fsdecode("Zoë".encode("latin-1"))}
    git(repository, "commit", "-q", "--allow-empty", "-F", "-", given="Brücke".encode("latin-1"), **author)
    commit = events(repository)[-1]
    assert (to_text(commit.text), commit.speaker) == ("Brücke", "Zoë")


def test_a_submodule_that_moved_on_is_a_file_whatever_is_configured(repository: Path, git: Git, tmp_path: Path) -> None:
    git(tmp_path / "parts", "init", "-q")
    git(tmp_path / "parts", "commit", "-q", "--allow-empty", "-m", "part")
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "parts"), "parts")
    git(repository, "config", "-f", ".gitmodules", "submodule.parts.ignore", "all")
    git(repository, "config", "diff.ignoreSubmodules", "all")
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-qm", "Take the parts")
    assert texts(repository)[-1] == "Take the parts\n\nfiles: .gitmodules (new), parts (new)"


# --- a repository and its folder -------------------------------------------------------------------------------------


def test_a_subfolder_a_worktree_and_a_link_are_the_same_repository(repository: Path, git: Git, tmp_path: Path) -> None:
    other, link, far = tmp_path / "other", tmp_path / "link", tmp_path / "far"
    git(repository, "worktree", "add", "-q", "--detach", str(other))
    link.symlink_to(repository)
    far.symlink_to(repository / "src")
    before = [(one.session, one.host_id) for one in events(repository)]
    for folder in (repository / "src", repository / ".git", other, other / "src", link, link / "src", far):
        assert [(one.session, one.host_id) for one in events(folder)] == before
    assert {one.cwd for one in events(link / "src")} == {str(repository)}
    assert {one.cwd for one in events(other / "src")} == {str(other)}


def test_a_submodule_and_its_worktree_are_a_repository_of_their_own(repository: Path, git: Git, tmp_path: Path) -> None:
    git(tmp_path / "parts", "init", "-q")
    git(tmp_path / "parts", "commit", "-q", "--allow-empty", "-m", "part")
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "parts"), "lib/parts")
    git(repository / "lib" / "parts", "worktree", "add", "-q", str(tmp_path / "trial"))
    for folder in (repository / "lib" / "parts", tmp_path / "trial"):
        (part,) = events(folder)
        kept = repository / ".git" / "modules" / "lib" / "parts"
        assert (part.text, part.cwd, part.session) == (b"part", str(folder), str(kept))
    assert len(events(repository / "lib")) == 2


def test_a_bare_repository_its_subfolder_and_its_worktrees_are_one(repository: Path, git: Git, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    git(shelf, "clone", "-q", "--bare", str(repository), ".bare")
    (shelf / ".git").write_text("gitdir: ./.bare\n")
    git(shelf, "worktree", "add", "-q", "main")
    for folder in (shelf, shelf / ".bare", shelf / ".bare" / "refs", shelf / "main"):
        assert {one.session for one in events(folder)} == {str(shelf / ".bare")}


def test_a_git_directory_kept_elsewhere_is_read_once_it_names_the_folder(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    git(repository, "init", "-q", f"--separate-git-dir={tmp_path / 'kept'}")
    with pytest.raises(SourceUnreadable, match="the two do not name each other") as refused:
        events(repository)
    assert "git config core.worktree" in refused.value.remedy_text
    git(repository, "config", "core.worktree", str(repository))
    assert len(events(repository)) == 2


def a_git_file(evil: Path, private: Path) -> None:
    (evil / ".git").write_text(f"gitdir: {private / '.git'}\n")


def a_git_file_to_a_bare_repository(evil: Path, private: Path) -> None:
    (evil / ".git").write_text(f"gitdir: {private.parent / 'bare.git'}\n")


def a_git_file_to_a_worktree(evil: Path, private: Path) -> None:
    (evil / ".git").write_text(f"gitdir: {private / '.git' / 'worktrees' / 'trial'}\n")


def a_link(evil: Path, private: Path) -> None:
    (evil / ".git").symlink_to(private / ".git")


def a_commondir(evil: Path, private: Path) -> None:
    for name in ("objects", "refs"):
        (evil / ".git" / name).mkdir(parents=True)
    (evil / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (evil / ".git" / "commondir").write_text(f"{private / '.git'}\n")


def a_commondir_of_a_bare_repository(evil: Path, private: Path) -> None:
    (evil / "HEAD").write_text("ref: refs/heads/main\n")
    (evil / "commondir").write_text(f"{private / '.git'}\n")


def links_to_its_names(evil: Path, private: Path) -> None:
    (evil / ".git").mkdir()
    (evil / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (evil / ".git" / name).symlink_to(private / ".git" / name)


def a_link_to_one_name(evil: Path, private: Path) -> None:
    for name in ("objects/info", "refs/heads"):
        (evil / ".git" / name).mkdir(parents=True)
    (evil / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (evil / ".git" / "objects" / "info" / "alternates").write_text(f"{private / '.git' / 'objects'}\n")
    (evil / ".git" / "refs" / "heads" / "main").symlink_to(private / ".git" / "refs" / "heads" / "main")


@pytest.mark.parametrize(
    "lead",
    [
        *(a_git_file, a_git_file_to_a_bare_repository, a_git_file_to_a_worktree, a_link),
        *(a_commondir, a_commondir_of_a_bare_repository, links_to_its_names, a_link_to_one_name),
    ],
)
def test_no_file_of_a_folder_makes_another_repositorys_commits_its_own(
    repository: Path, git: Git, tmp_path: Path, lead: Callable[[Path, Path], None]
) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "trial"), "main")
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    evil = tmp_path / "evil"
    evil.mkdir()
    lead(evil, repository)
    assert len(git(evil, "log", "--format=%H", "main").split()) == 1  # git itself is led there
    with pytest.raises(SourceUnreadable, match=r"do not name each other|is a link that leads out of its repository"):
        GitSource(str(evil))


@pytest.mark.parametrize("name", ["packed-refs", "refs", "refs/heads", "reftable", "worktrees"])
def test_no_link_in_a_repository_leads_to_the_names_of_anothers_commits(
    repository: Path, git: Git, tmp_path: Path, name: str
) -> None:
    evil = tmp_path / "evil"
    git(evil, "init", "-q")
    git(evil, "commit", "-q", "--allow-empty", "-m", "own")
    git(repository, "pack-refs", "--all")
    own = evil / ".git" / name
    if own.exists():
        own.rename(tmp_path / "before")
    own.symlink_to(repository / ".git" / name)
    with pytest.raises(SourceUnreadable, match=f"{own} is a link that leads out of its repository"):
        GitSource(str(evil))


def test_a_link_within_a_repository_is_followed(repository: Path, git: Git) -> None:
    git(repository, "config", "core.preferSymlinkRefs", "true")
    git(repository, "symbolic-ref", "HEAD", "refs/heads/main")
    assert (repository / ".git" / "HEAD").is_symlink()
    assert len(events(repository)) == 1


@pytest.mark.parametrize("target", ["boats", "boats/src", ".", "/"])
def test_no_setting_makes_a_repositorys_commits_another_folders(
    repository: Path, git: Git, tmp_path: Path, target: str
) -> None:
    evil = tmp_path / "evil"
    git(evil, "init", "-q")
    git(evil, "commit", "-q", "--allow-empty", "-m", "false")
    git(evil, "config", "core.worktree", str(tmp_path / target))
    with pytest.raises(SourceUnreadable, match=r"do not name each other|its files are in .*, and the folder is not"):
        GitSource(str(evil))


def test_a_folder_outside_the_files_of_its_repository_is_refused(repository: Path, git: Git) -> None:
    git(repository, "config", "core.worktree", str(repository / "src"))
    with pytest.raises(SourceUnreadable, match=r"says that its files are in .*/src, and the folder is not"):
        GitSource(str(repository))


# --- git -------------------------------------------------------------------------------------------------------------


def test_what_a_clone_left_out_is_fetched_by_no_program(repository: Path, git: Git, tmp_path: Path) -> None:
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://nowhere/x",
        "core.sshCommand": str(program),
    }
    for name, value in settings.items():
        git(repository, "config", name, value)
    with pytest.raises(SourceUnreadable, match="git says: "):
        events(repository)
    assert not (tmp_path / "ran").exists()


def test_what_git_refuses_is_said_in_its_words(tmp_path: Path, git: Git, repository: Path) -> None:
    with pytest.raises(SourceUnreadable, match="git says: not a git repository"):
        GitSource(str(tmp_path))
    (repository / ".git" / "config").write_text("[core\n")
    with pytest.raises(SourceUnreadable, match="git says: bad config line 1"):
        GitSource(str(repository))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_repository_of_somebody_else_is_read_once_its_user_trusts_it(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    for path in (repository, repository / ".git"):
        os.chown(path, 4321, 4321)
    with pytest.raises(SourceUnreadable, match=r"dubious ownership .* git config --global --add safe\.directory"):
        events(repository)
    with open(tmp_path / "gitconfig", "a") as settings:
        settings.write(f"[safe]\ndirectory={repository}\n")
    assert len(events(repository)) == 2


def test_where_there_is_no_git_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceUnreadable, match="the program git, which reads a repository, is not there") as refused:
        GitSource(str(tmp_path))
    assert refused.value.remedy_text == "Install git."


@pytest.mark.parametrize("place", [".", "", "bin"])
def test_a_git_of_the_repository_is_not_run_though_the_path_leads_there(
    repository: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    hijacked = repository / place / "git"
    hijacked.parent.mkdir(exist_ok=True)
    hijacked.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hijacked'}\n")
    hijacked.chmod(0o700)
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", place, prepend=os.pathsep)
    assert len(events(repository)) == 2
    assert not (tmp_path / "hijacked").exists()


def test_git_ends_with_the_reading(repository: Path, git: Git) -> None:
    source = GitSource(str(repository))
    items = iter(source)
    next(items)
    log = source._log
    source.close()
    assert log is None or log.returncode is not None


def test_names_that_lead_out_of_the_repository_are_no_files_of_a_commit(tmp_path: Path) -> None:
    def git(*words: str, given: bytes = b"") -> bytes:
        asked = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@x", *words]
        return subprocess.run(asked, cwd=tmp_path, input=given, check=True, capture_output=True).stdout.strip()

    git("init", "-q", "-b", "main")
    blob = bytes.fromhex(git("hash-object", "-w", "--stdin", given=b"x").decode())
    entries = b"".join(b"100644 %s\0%s" % (name, blob) for name in (b"../x", b"/etc/passwd", b"a.py"))
    tree = git("hash-object", "-w", "-t", "tree", "--stdin", "--literally", given=entries).decode()
    git("update-ref", "refs/heads/main", git("commit-tree", tree, "-m", "Out").decode())
    (event,) = [one for one in GitSource(str(tmp_path)) if isinstance(one, Event)]
    assert event.files == (str(tmp_path / "a.py"),)
