"""Imports run one way, folders are never imported bare, and what is heavy or does I/O stays where it belongs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.paths import ROOT
from tests.waiting import BOUND_S

RANKS = {"_native": 0, "hd": 1, "algorithms": 1, "actors": 2, "runtime": 3, "hooks": 4, "bench": 4, "": 5}
"""A module imports its own folder and what stands lower; the root of the package, ``""``, stands above everything."""

ROOMS = [
    *("version", "clock", "logs", "files", "keys", "store", "spool", "minds", "capture", "secrets", "models"),
    *("transfer", "engine", "client", "api", "serve", "doctor"),
]
"""The rooms of `runtime`, and its few modules outside one: each imports only itself and what stands before it here."""

WORDS = {"messages", "changes", "queries", "effects", "ports", "forget_messages"}
"""Modules of a feature that only say what it is asked, what it writes, what it reads and what it needs: all may import
them."""
FEATURES: dict[str, set[str]] = {
    "kernel": set(),
    "store": set(),
    "meaning": set(),
    "index": set(),
    "scopes": set(),
    "transfer": set(),
    "log": {"index"},
    "knowledge": {"index"},
    "communities": {"index"},
    "shape": {"index", "log"},
    "sleep": {"index", "knowledge"},
    "brief": {"index", "knowledge", "shape", "sleep"},
    "capture": {"index", "brief", "scopes"},
    "recall": {"index", "log", "knowledge", "shape", "sleep", "brief", "capture"},
}
"""The features in `actors`, with those whose behaviour each one uses. All use the kernel, and words."""

FOLDERS = sorted(RANKS.keys() - {"", "_native"})
HEAVY = {
    *("torch", "torchhd", "ray", "igraph", "leidenalg", "matplotlib", "networkx", "mcp", "prometheus_client", "re2"),
    "uvicorn",
}
TOGETHER = {
    "mcp": {
        f"runtime/serve/mcp/{part}.py"
        for part in ("http", "resources", "session_prompt", "stream", "tool_schemas", "tools")
    },
    "torch": {"algorithms/text/torch_bert.py", "hd/torch_algebra.py"},
}
"""Modules that share a heavy package: those of MCP are never loaded without each other, and each of torch's two is
loaded only where it is asked for by name, from a folder that the other one's may not import."""
MOST_MODULES = 16
PURE = {"hd", "algorithms"}
IO_MODULES = {
    *(
        "apsw",
        "asyncio",
        "builtins",
        "click",
        "ctypes",
        "dbm",
        "fileinput",
        "glob",
        "http",
        "importlib.resources",
        "io",
    ),
    *("keyring", "logging", "mmap", "multiprocessing", "os", "pathlib", "pickle", "platformdirs", "shelve", "shutil"),
    *("signal", "socket", "sqlite3", "sqlite_vec", "ssl", "subprocess", "tempfile", "threading", "urllib", "zipfile"),
}
IO_NAMES = {
    *("breakpoint", "input", "open", "print"),
    *("from_file", "from_pretrained", "fromfile", "genfromtxt", "load_file", "loadtxt", "memmap", "safe_open"),
    *("save", "save_file", "savetxt", "savez", "savez_compressed", "tofile"),
}


BY_CALL = "import_module"
"""In place of names, where a module is imported by a call."""


class Import(NamedTuple):
    """One imported module, dotted, the line that asks for it, and the names that are taken from it."""

    module: str
    line: int
    names: tuple[str, ...] = ()


def imports(tree: ast.Module) -> Iterator[Import]:
    """Yield what a module imports anywhere in it, functions and type-checking blocks included.

    ``from mnemic import actors`` yields ``mnemic.actors``; a relative import yields a leading dot; what is imported
    through importlib by a constant name counts as well.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module == "mnemic":
                yield from (Import(f"mnemic.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield Import(module, node.lineno, tuple(alias.name for alias in node.names))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                yield Import(node.args[0].value, node.lineno, (BY_CALL,))


@cache
def imports_of(source: str) -> tuple[Import, ...]:
    """What the source of a module imports; to read all of them takes a second, and several tests do."""
    return tuple(imports(ast.parse(source)))


def folder_of(module: str) -> str:
    """Return which folder a dotted ``mnemic.*`` module lies in; ``""`` for the root's own."""
    _, _, below = module.partition(".")
    second = below.partition(".")[0]
    return second if second in RANKS else ""


def misplaced(source: str, folder: str) -> list[str]:
    """List what the source of a module in a folder imports against the rules."""
    found = []
    for module, line, _ in imports_of(source):
        first = module.split(".")[0]
        if not first:
            found.append(f"{line}: {module} is relative")
        elif first in FOLDERS or first in {"_native", "native", "tests"}:
            found.append(f"{line}: {module} is imported bare")
        elif first == "mnemic":
            target = folder_of(module)
            if target != folder and RANKS[target] >= RANKS[folder]:
                found.append(f"{line}: {folder or 'mnemic'} may not import {module}")
    return found


def impure(source: str) -> list[str]:
    """List what a module of `hd` or `algorithms` does that reaches outside."""
    tree = ast.parse(source)
    found = []
    for module, line, _ in imports(tree):
        parts = module.split(".")
        if any(".".join(parts[:length]) in IO_MODULES for length in range(1, len(parts) + 1)):
            found.append(f"{line}: imports {module}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in IO_NAMES and isinstance(node.ctx, ast.Load):
                found.append(f"{node.lineno}: uses {name}")
        elif isinstance(node, ast.ImportFrom):
            found.extend(f"{node.lineno}: uses {alias.name}" for alias in node.names if alias.name in IO_NAMES)
    return found


def modules() -> Iterator[tuple[str, Path]]:
    """Yield every module of the product with its folder; the root's is ``""``."""
    for folder in ["", *FOLDERS]:
        for path in sorted((ROOT / (folder or "mnemic")).rglob("*.py")):
            yield folder, path


def dotted(folder: str, path: Path) -> str:
    """The name that a module is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    names = [name for name in parts if name != "__init__"]
    return ".".join(names if names[0] == "mnemic" else ["mnemic", *names])


@cache
def imported_modules() -> dict[str, set[str]]:
    """Every module with the modules of the product that it imports, wherever in it."""
    sources = {dotted(folder, path): path.read_text("utf-8") for folder, path in modules()}
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, source in sources.items():
        for module, _, names in imports_of(source):
            if names == (BY_CALL,):
                continue
            if module not in sources and module.startswith("mnemic.") and module != "mnemic._native":
                module = "mnemic"  # a name of the root's own
            below = {f"{module}.{one}" for one in names}
            found = {full if full in sources else module for full in below} or {module}
            graph[name] |= found & sources.keys() - {name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The modules that import each other in circles: what is left once all others are taken away."""
    left = {name: set(targets) for name, targets in graph.items()}
    while True:
        free = {name for name, targets in left.items() if not targets & left.keys()}
        imported = set().union(*left.values()) if left else set()
        free |= left.keys() - imported
        if not free:
            return [sorted(left)] if left else []
        for name in free:
            del left[name]


def out_of_order(graph: dict[str, set[str]]) -> list[str]:
    """What a room of `runtime` imports from a room above it."""
    room = {name: name.split(".")[2] for name in graph if name.startswith("mnemic.runtime.")}
    return [
        f"{name} imports {target}"
        for name, targets in graph.items()
        for target in targets
        if name in room and target in room and ROOMS.index(room[target]) > ROOMS.index(room[name])
    ]


def feature_of(module: str) -> tuple[str, str]:
    """The feature of a module of `actors`, and the module's own name; empty texts for any other."""
    parts = module.split(".")
    return (parts[2], parts[-1]) if parts[:2] == ["mnemic", "actors"] and len(parts) > 3 else ("", "")


def undeclared(graph: dict[str, set[str]]) -> list[str]:
    """What a feature imports of another's behaviour without having said so, and behaviour that words import."""
    return [
        f"{name} imports {target}"
        for name, targets in graph.items()
        for target in targets
        if (one := feature_of(name))[0] and (other := feature_of(target))[0] not in {"", "kernel"}
        if other[1] not in WORDS
        if one[1] in WORDS or other[0] not in {one[0], *FEATURES.get(one[0], set())}
    ]


def test_a_module_imports_only_what_stands_below_it() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder, path in modules()
        for line in misplaced(path.read_text("utf-8"), folder)
    ]
    assert found == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(imported_modules()) == []


def test_the_rooms_of_the_runtime_keep_their_order_and_the_design_names_it() -> None:
    assert out_of_order(imported_modules()) == []
    assert " ← ".join(ROOMS) in (ROOT / "docs" / "design.md").read_text("utf-8").replace("\n", " ")


def test_a_feature_uses_words_the_kernel_and_the_features_that_it_declares() -> None:
    graph = imported_modules()
    assert {feature_of(name)[0] for name in graph} - {""} == FEATURES.keys()
    assert undeclared(graph) == []
    assert circles(FEATURES) == []


def test_every_declared_use_of_a_feature_is_one() -> None:
    uses = {(feature_of(name)[0], feature_of(to)[0]) for name, targets in imported_modules().items() for to in targets}
    assert [(name, other) for name, others in FEATURES.items() for other in others if (name, other) not in uses] == []


def test_a_planted_import_of_another_features_behaviour_is_found() -> None:
    views, actor = "mnemic.actors.sleep.night_views", "mnemic.actors.knowledge.fact_views"
    assert undeclared({actor: {views}, views: {actor}}) == [f"{actor} imports {views}"]
    assert undeclared({"mnemic.actors.sleep.messages": {views}}) == [f"mnemic.actors.sleep.messages imports {views}"]
    assert undeclared({actor: {"mnemic.actors.sleep.changes", "mnemic.actors.kernel.message"}}) == []


def test_no_folder_holds_more_than_sixteen_modules() -> None:
    held: dict[Path, int] = defaultdict(int)
    for _, path in modules():
        held[path.parent.relative_to(ROOT)] += path.name != "__init__.py"
    assert {str(folder): number for folder, number in held.items() if number > MOST_MODULES} == {}


def test_pure_folders_reach_nothing_outside() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder, path in modules()
        if folder in PURE
        for line in impure(path.read_text("utf-8"))
    ]
    assert found == []


def test_a_planted_circle_and_a_planted_upward_import_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    upward = {"mnemic.runtime.store.x": {"mnemic.runtime.api.y"}, "mnemic.runtime.api.y": set()}
    assert out_of_order(upward) == ["mnemic.runtime.store.x imports mnemic.runtime.api.y"]


def test_a_heavy_package_is_imported_by_one_module_only() -> None:
    importers = defaultdict(set)
    for folder, path in modules():
        if folder == "bench":
            continue  # a bench loads what it is to beat
        for module, *_ in imports_of(path.read_text("utf-8")):
            importers[module.split(".")[0]].add(path.relative_to(ROOT))
    several = {heavy: {str(path) for path in importers[heavy]} for heavy in HEAVY if len(importers[heavy]) > 1}
    assert several == TOGETHER


@pytest.mark.parametrize("module", ["mnemic", "mnemic.cli.main"])
def test_importing_the_package_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*set({sorted(HEAVY)}).intersection(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=BOUND_S)
    assert (loaded.stderr, loaded.stdout.split()) == ("", [])


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("algorithms", "from mnemic.actors.kernel.events import Event"),
        ("algorithms", "import mnemic.hd.algebra"),
        ("hd", "from mnemic import algorithms"),
        ("actors", "def f():\n    from mnemic.runtime import clock"),
        ("runtime", "import mnemic.hooks.hosts.claude_code as host"),
        ("runtime", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mnemic.cli.main import main"),
        ("hooks", "from mnemic.bench import recall"),
        ("bench", "from mnemic import open"),
        ("hooks", "import mnemic"),
        ("actors", "import importlib\nimportlib.import_module('mnemic.runtime.store.store')"),
        ("actors", "from .events import Event"),
        ("actors", "from . import events"),
        ("", "import runtime"),
        ("", "from actors.events import Event"),
        ("runtime", "import native"),
        ("runtime", "from tests import oracle"),
    ],
)
def test_a_planted_import_against_the_direction_is_found(folder: str, source: str) -> None:
    assert len(misplaced(source, folder)) == 1


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("algorithms", "import mnemic._native as _native"),
        ("actors", "from mnemic.actors.kernel.events import Event\nfrom mnemic.hd import algebra"),
        ("hooks", "from mnemic.runtime import clock\nfrom mnemic.actors import events"),
        ("", "from mnemic.hooks import claude_code\nfrom mnemic import cli"),
        ("runtime", "import benchmark_of_others, hdfs"),
    ],
)
def test_imports_in_the_right_direction_are_let_pass(folder: str, source: str) -> None:
    assert misplaced(source, folder) == []


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "from os import path",
        "from pathlib import Path",
        "import urllib.request",
        "import importlib.resources",
        "open('weights')",
        "print('done')",
        "import numpy as np\nnp.memmap('x')",
        "from safetensors.numpy import load_file",
        "tokenizer = Tokenizer.from_pretrained('x')",
    ],
)
def test_planted_input_and_output_is_found(source: str) -> None:
    assert len(impure(source)) == 1


def test_arithmetic_is_let_pass_as_pure() -> None:
    assert impure("import math\nimport importlib\nimport numpy as np\nx = np.zeros(3) @ np.ones(3)") == []
