"""A pattern lets in, or keeps out, a project and what is below it; what is denied is denied whatever is allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.capture.allow_deny import AllowDenyRules
from tests.processes.faces import git_project

NAMES = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3).map("/".join)


@pytest.mark.parametrize(
    ("pattern", "scopes", "folders", "fits"),
    [
        ("work", ["work"], [], True),
        ("work", ["work/shelf"], [], True),
        ("work", ["workshop"], [], False),
        ("work", [], ["/work"], False),
        ("work/*", ["work/shelf/deep"], [], True),
        ("work/*", ["work"], [], False),
        ("*/client", ["work/client"], [], True),
        ("/home/ada/x", [], ["/home/ada/x/sub"], True),
        ("/home/ada/x/", [], ["/home/ada/x"], True),
        ("/home/ada/x", [], ["/home/ada/xy"], False),
        ("/home/*/x", [], ["/home/ada/x/.git"], True),
        ("/home/ada/x", ["home/ada/x"], [], False),
        ("~/x", [], ["{home}/x/y"], True),
        ("/", [], ["/anything"], True),
        ("[w]ork", ["WORK"], [], False),
        ("*", [""], [], True),
        ("*", [], ["/x"], False),
        (r"C:\x", [], ["C:\\x"], False),
        ("/x", [], ["/nul\0"], False),
    ],
)
def test_a_pattern_fits_a_project_and_what_is_below_it(
    pattern: str, scopes: list[str], folders: list[str], fits: bool
) -> None:
    named = [folder.format(home=Path.home()) for folder in folders]
    assert AllowDenyRules([pattern], []).allows(scopes, named) == fits
    assert AllowDenyRules([], [pattern]).allows(scopes, named) != fits


def test_a_folder_counts_by_its_own_name_and_by_the_one_that_its_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for pattern in ("real", "link"):
        admission = AllowDenyRules([], [str(tmp_path / pattern)])
        assert not admission.allows([], [str(tmp_path / "link" / "sub")])
        assert not admission.allows([], [str(tmp_path / "real" / "sub")]), "hosts say where a link leads to"


@pytest.mark.parametrize("pattern", ["~*", "~nobody-of-that-name/*", "/*", "/?", "/nul\0/*"])
def test_any_pattern_can_be_taken(pattern: str) -> None:
    assert AllowDenyRules([], [pattern]).allows(["work"], ["/some/folder"]) == (pattern != "/*")


def test_a_worktree_elsewhere_counts_as_its_repository_whatever_its_scope_is_called(tmp_path: Path) -> None:
    main, tree = git_project(tmp_path / "acme"), tmp_path / "elsewhere" / "trial"
    (main / ".git" / "worktrees" / "trial").mkdir(parents=True)
    (main / ".git" / "worktrees" / "trial" / "commondir").write_text("../..\n")
    (main / ".git" / "worktrees" / "trial" / "HEAD").write_text("ref: refs/heads/trial\n")
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/trial\n")
    (tree / ".mnemic.toml").write_text('scope = "work/boat"\n')
    inside, of_main = [str(tree / "src")], [str(main)]
    assert not AllowDenyRules([], of_main).allows(["work/boat"], inside)
    assert not AllowDenyRules(of_main, []).allows(["work/boat"], inside), "it only says that it is of that repository"
    (main / ".git" / "worktrees" / "trial" / "gitdir").write_text(f"{tree}/.git\n")
    assert not AllowDenyRules([], of_main).allows(["work/boat"], inside)
    assert AllowDenyRules(of_main, []).allows(["work/boat"], inside)
    assert AllowDenyRules([], of_main).allows(["work/boat"], [str(tmp_path / "elsewhere")])


@pytest.mark.parametrize("rest", ["", "/", "/*", "/s?b", "/su[b]"])
def test_a_pattern_that_leads_through_a_link_fits_what_is_behind_it(tmp_path: Path, rest: str) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    admission = AllowDenyRules([], [f"{tmp_path}/link{rest}"])
    assert not admission.allows([], [f"{tmp_path}/real/sub"])
    assert not admission.allows([], [f"{tmp_path}/link/sub"])
    assert admission.allows([], [f"{tmp_path}/other/sub"])


@given(st.lists(NAMES, max_size=3), st.lists(NAMES, max_size=3), NAMES)
def test_what_is_denied_wins_and_an_empty_list_says_nothing(allow: list[str], deny: list[str], scope: str) -> None:
    def below(patterns: list[str]) -> bool:
        return any(scope == one or scope.startswith(f"{one}/") for one in patterns)

    expected = not below(deny) and (not allow or below(allow))
    assert AllowDenyRules(allow, deny).allows([scope], []) == expected


@given(st.lists(NAMES, max_size=2), st.lists(NAMES, max_size=2), st.lists(NAMES, max_size=3))
def test_one_denied_name_of_several_is_enough_and_so_is_one_allowed(
    allow: list[str], deny: list[str], scopes: list[str]
) -> None:
    admits = AllowDenyRules(allow, deny).allows(scopes, [])
    denied = any(not AllowDenyRules([], deny).allows([one], []) for one in scopes)
    allowed = not allow or any(AllowDenyRules(allow, []).allows([one], []) for one in scopes)
    assert admits == (not denied and allowed)


def test_of_a_name_that_no_system_takes_only_the_folders_count_that_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    look = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **options: asked.append(path) or look(path, **options))
    denied = AllowDenyRules([], [str(tmp_path / "private")])
    assert not denied.allows([], [f"{tmp_path}/private" + "/a" * 10_000])
    assert denied.allows([], [f"{tmp_path}/open" + "/a" * 10_000])
    assert max(len(str(path)) for path in asked) <= 4096 + len("/.git")
    assert 0 < len(asked) <= 10 * 4096
