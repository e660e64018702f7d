"""Mutants: changes of single expressions, drawn by a seed, each run by the tests that pass through its line.

What no test notices, no test proves. The first command writes which test passes through which line (a quarter of an
hour); the second changes files in place, one at a time, and puts each back: run both in a clone of its own.

    make test ARGS='--cov --cov-context=test --cov-report='
    .venv/bin/python -m tests.mutants --count 100 --seed 1 --json build/mutants.json

With `--under mnemic/cli` both concern one folder: the first command then takes `--cov=mnemic/cli`, and its tests.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import coverage

from tests.paths import ROOT

FOLDERS = ("actors", "algorithms", "hd", "hooks", "mnemic", "runtime")
TESTS_AT_ONCE = 400
"""So many tests a run: those nearest to a line come first, and most mutants die of those."""
BOUND_S = 900.0
"""A run that takes longer hangs, and the mutant is dead."""
SWAPS: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}


class Mutant(NamedTuple):
    """One change of a file."""

    path: Path
    first_line: int
    last_line: int
    start: int
    """Where what changes begins, in bytes."""
    stop: int
    was: str
    becomes: str


def changed(node: ast.AST) -> ast.AST | None:
    """Return what a node becomes; ``None`` where nothing is made of it."""
    new: Any = copy.deepcopy(node)
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            new.ops = [SWAPS[type(op)]()]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in SWAPS:
            new.op = SWAPS[type(op)]()
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool()):
            new.value = not node.value
        case ast.Constant(value=int() | float()):
            new.value = node.value + 1
        case ast.Break() | ast.Continue():
            return SWAPS[type(node)]()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            new.value = ast.Constant(None)
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
        case ast.IfExp():
            new.body, new.orelse = new.orelse, new.body
        case _:
            return None
    return new


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All that can be changed in a file within functions, in the order of the text."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr))
    misplaced = {id(node) for text in texts for node in ast.walk(text)}  # by Python 3.11
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    nodes = (node for function in functions for statement in function.body for node in ast.walk(statement))
    for node in dict.fromkeys(nodes):  # a function within another comes twice
        new = None if id(node) in misplaced else changed(node)
        if new is not None and isinstance(node, ast.expr | ast.stmt):
            last_line, last = node.end_lineno or node.lineno, node.end_col_offset or 0
            start, stop = starts[node.lineno - 1] + node.col_offset, starts[last_line - 1] + last
            becomes = ast.unparse(ast.fix_missing_locations(new))
            becomes = f"({becomes})" if isinstance(new, ast.expr) else becomes
            yield Mutant(path, node.lineno, last_line, start, stop, source[start:stop].decode(), becomes)


def tests_through(data: coverage.CoverageData, mutant: Mutant) -> list[str]:
    """The tests that pass through the lines of a mutant, those of the file's own test module first."""
    found = data.contexts_by_lineno(str(mutant.path))
    lines = range(mutant.first_line, mutant.last_line + 1)
    names = {re.sub(r"\|\w+$", "", name) for line in lines for name in found.get(line, ()) if name}
    own = f"test_{mutant.path.stem}"
    return sorted(names, key=lambda name: (own not in name, mutant.path.parent.name not in name, name))


def killer(tests: Sequence[str]) -> str:
    """Run tests until one fails; returns which did, nothing where none did."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    for at in range(0, len(tests), TESTS_AT_ONCE):
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--in-memory", "-p", "no:cacheprovider"]
        command += [f"--rootdir={ROOT}", *tests[at : at + TESTS_AT_ONCE]]
        try:
            ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=BOUND_S)
        except subprocess.TimeoutExpired:
            return "it hangs"
        if ran.returncode:
            named = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.M)
            return named[1] if named else (ran.stdout + ran.stderr)[-300:]
    return ""


def judge(mutant: Mutant, data: coverage.CoverageData) -> dict[str, Any]:
    """Put a mutant in its file's place, run the tests that pass through it, and put the file back."""
    tests, source, times = tests_through(data, mutant), mutant.path.read_bytes(), mutant.path.stat()
    try:
        mutant.path.write_bytes(source[: mutant.start] + mutant.becomes.encode() + source[mutant.stop :])
        killed_by = killer(tests)
    finally:
        mutant.path.write_bytes(source)
        os.utime(mutant.path, ns=(times.st_atime_ns, times.st_mtime_ns))
    place = f"{mutant.path.relative_to(ROOT)}:{mutant.first_line}"
    return {"place": place, "was": mutant.was, "becomes": mutant.becomes, "tests": len(tests), "killed_by": killed_by}


def drawn(count: int, seed: int, folders: Sequence[str] = FOLDERS) -> list[Mutant]:
    """So many mutants of the product's folders, each as likely as any other."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return random.Random(seed).sample([one for path in paths for one in mutants_of(path)], count)


def main() -> None:
    """Judge mutants and say how many died."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="which part of them, as 1/2, where clones share the work")
    parser.add_argument("--under", nargs="+", default=FOLDERS, metavar="FOLDER", help="draw from these folders alone")
    parser.add_argument("--json", type=Path, required=True, help="where what became of each is written")
    asked = parser.parse_args()
    data = coverage.CoverageData(str(ROOT / ".coverage"))
    data.read()
    part, parts = map(int, asked.part.split("/"))
    judged: list[dict[str, Any]] = []
    for mutant in drawn(asked.count, asked.seed, asked.under)[part - 1 :: parts]:
        judged.append(judge(mutant, data))
        asked.json.write_text(json.dumps(judged, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print("dead " if judged[-1]["killed_by"] else "ALIVE", judged[-1]["place"], flush=True)
    print(f"{sum(bool(one['killed_by']) for one in judged)} of {len(judged)} are dead")


if __name__ == "__main__":
    main()
