"""Target kinds: what kind of thing a file is, by its name. Below `mnemic.algorithms.steps`.

A test is ``test`` whatever it is written in, since that is what one looks for; all else goes by its last name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["is_file", "language_of", "target_of"]

_SUFFIXES = """
python py pyi pyx ipynb
rust rs
javascript js jsx mjs cjs vue svelte
typescript ts tsx mts cts
go go
java java kt kts scala groovy gradle
c c h cc cpp cxx hpp hh
csharp cs fs vb csproj sln
ruby rb erb rake gemspec
php php
swift swift m mm
elixir ex exs erl
shell sh bash zsh fish ps1 bat
sql sql ddl
html html htm xml svg jinja j2
css css scss sass less
docs md rst txt adoc tex org
config toml yaml yml json jsonc json5 ini cfg conf env lock properties plist service timer tf hcl nix
data csv tsv parquet jsonl ndjson xlsx db sqlite
image png jpg jpeg gif webp ico
log log
"""
_KINDS = {suffix: kind for kind, *suffixes in map(str.split, _SUFFIXES.strip().splitlines()) for suffix in suffixes}
_NAMES = {
    **dict.fromkeys(("makefile", "dockerfile", "justfile", "procfile", "cmakelists.txt", "pipfile"), "config"),
    **dict.fromkeys(("requirements.txt", "constraints.txt", "manifest.in", "go.mod", "go.sum", ".gitignore"), "config"),
    **dict.fromkeys(("readme", "license", "changelog", "contributing"), "docs"),
}
_CODE = frozenset(_KINDS.values()) - {"docs", "config", "data", "image", "log", "html", "css", "sql"}
_FILE = re.compile(r"(?!.*//)[\w.~/\\ @+-]*[\w-]\.\w+")
_TEST = re.compile(r"(?:test|spec|conftest)(?:[_.-].*)?|.*(?:[_.-]|(?-i:[a-z](?=[TS])))(?:tests?|spec)", re.IGNORECASE)
_LANGUAGES = {
    program: language
    for language, programs in (
        ("python", "python pytest pip pip3 uv poetry tox nox mypy ruff black pyright flake8 pylint unittest ipython"),
        ("python", "manage.py setup.py"),
        ("rust", "cargo rustc rustfmt rustup"),
        ("javascript", "node npm npx yarn pnpm bun jest vitest mocha eslint prettier webpack vite playwright cypress"),
        ("typescript", "tsc deno ts-node tsx"),
        ("go", "go gofmt golangci-lint"),
        ("java", "java javac mvn mvnw gradle gradlew sbt"),
        ("c", "gcc g++ clang cmake ctest ninja"),
        ("ruby", "ruby bundle rake rspec rubocop gem rails"),
        ("php", "php composer phpunit"),
        ("csharp", "dotnet"),
        ("elixir", "mix elixir"),
        ("swift", "swift xcodebuild"),
        ("git", "git gh"),
        ("shell", "shellcheck shfmt"),
        ("sql", "sqlite3 psql mysql"),
    )
    for program in programs.split()
}


def target_of(files: Sequence[str]) -> str:
    """The kind of the first file that has one; ``""`` where none has."""
    return next((kind for path in files if (kind := _kind(path))), "")


def is_file(word: str) -> bool:
    """Whether a word of a command looks like the name of a file of a known kind: no address and no pattern."""
    return bool(_FILE.fullmatch(word)) and bool(_kind(word))


def language_of(program: str) -> str:
    """What a program is for, as far as its name says it; ``""`` for all others."""
    return _LANGUAGES.get(program, "")


def _kind(path: str) -> str:
    folder, _, name = path.partition("::")[0].replace("\\", "/").rpartition("/")
    if name.lower() in _NAMES:
        return _NAMES[name.lower()]
    stem, dot, suffix = name.rpartition(".")
    kind = _KINDS.get(suffix.lower(), "") if dot else ""
    if kind in _CODE and (_TEST.fullmatch(stem) or not {"test", "tests", "__tests__"}.isdisjoint(folder.split("/"))):
        return "test"
    return kind or ("test" if name in ("test", "tests") else _NAMES.get(name.partition(".")[0].lower(), ""))
