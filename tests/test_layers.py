"""Imports run one way, folders are never imported bare, and what is heavy or does I/O stays where it belongs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

RANKS = {"_native": 0, "hd": 1, "algorithms": 1, "actors": 2, "runtime": 3, "hooks": 4, "bench": 4, "": 5}
"""A module imports its own folder and what stands lower; the root of the package, ``""``, stands above everything."""

FOLDERS = sorted(RANKS.keys() - {"", "_native"})
HEAVY = {"torch", "torchhd", "ray", "leidenalg", "networkx", "mcp", "prometheus_client", "re2", "uvicorn"}
TOGETHER = {
    "mcp": {f"runtime/mcp_{part}.py" for part in ("face", "http", "stream", "tools")},
    "torch": {"algorithms/torch_bert.py", "hd/torch_algebra.py"},
}
"""Modules that share a heavy package: those of MCP are never loaded without each other, and each of torch's two is
loaded only where it is asked for by name, from a folder that the other one's may not import."""
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


class Import(NamedTuple):
    """One imported module, dotted, and the line that asks for it."""

    module: str
    line: int


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
                yield Import(module, node.lineno)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                yield Import(node.args[0].value, node.lineno)


def folder_of(module: str) -> str:
    """Return which folder a dotted ``mnemic.*`` module lies in; ``""`` for the root's own."""
    _, _, below = module.partition(".")
    second = below.partition(".")[0]
    return second if second in RANKS else ""


def misplaced(source: str, folder: str) -> list[str]:
    """List what the source of a module in a folder imports against the rules."""
    found = []
    for module, line in imports(ast.parse(source)):
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
    for module, line in imports(tree):
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


MODULES = [pytest.param(folder, path, id=str(path.relative_to(ROOT))) for folder, path in modules()]


@pytest.mark.parametrize(("folder", "path"), MODULES)
def test_a_module_imports_only_what_stands_below_it(folder: str, path: Path) -> None:
    assert misplaced(path.read_text("utf-8"), folder) == []


@pytest.mark.parametrize("path", [param.values[1] for param in MODULES if param.values[0] in PURE], ids=str)
def test_pure_folders_reach_nothing_outside(path: Path) -> None:
    assert impure(path.read_text("utf-8")) == []


def test_a_heavy_package_is_imported_by_one_module_only() -> None:
    importers = defaultdict(set)
    for folder, path in modules():
        if folder == "bench":
            continue  # a bench loads what it is to beat
        for module, _ in imports(ast.parse(path.read_text("utf-8"))):
            importers[module.split(".")[0]].add(path.relative_to(ROOT))
    several = {heavy: {str(path) for path in importers[heavy]} for heavy in HEAVY if len(importers[heavy]) > 1}
    assert several == TOGETHER


@pytest.mark.parametrize("module", ["mnemic", "mnemic.cli"])
def test_importing_the_package_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*set({sorted(HEAVY)}).intersection(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (loaded.stderr, loaded.stdout.split()) == ("", [])


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("algorithms", "from mnemic.actors.events import Event"),
        ("algorithms", "import mnemic.hd.algebra"),
        ("hd", "from mnemic import algorithms"),
        ("actors", "def f():\n    from mnemic.runtime import clock"),
        ("runtime", "import mnemic.hooks.claude_code as host"),
        ("runtime", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mnemic.cli import main"),
        ("hooks", "from mnemic.bench import recall"),
        ("bench", "from mnemic import open"),
        ("hooks", "import mnemic"),
        ("actors", "import importlib\nimportlib.import_module('mnemic.runtime.store')"),
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
        ("actors", "from mnemic.actors.events import Event\nfrom mnemic.hd import algebra"),
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
