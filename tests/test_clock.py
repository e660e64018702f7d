"""Time, zone and chance are arguments: one module reads a clock, one makes keys, and every generator has a seed.

Checked on the syntax tree, over everything but `bench` and the tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from tests.paths import ROOT

FOLDERS = ["actors", "algorithms", "hd", "hooks", "mnemic", "runtime"]
CLOCK = "runtime/clock.py"
KEYS = "runtime/keys/keys.py"

CLOCKS = {
    *("datetime.date.today", "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow"),
    *("os.times", "uuid.uuid1", "uuid.uuid6", "uuid.uuid7", "numpy.datetime64.now"),
}
CHANCE = {"uuid.uuid4", "uuid.uuid8", "random.SystemRandom", "os.urandom", "os.getrandom", "tempfile.mktemp"}
SEEDED = {
    *("random.Random", "numpy.random.default_rng", "numpy.random.SeedSequence", "numpy.random.MT19937"),
    *("numpy.random.PCG64", "numpy.random.PCG64DXSM", "numpy.random.Philox", "numpy.random.SFC64"),
}
"""What makes a generator, and takes it from the system where it is called without a seed."""
TYPES = {"numpy.random.Generator", "numpy.random.BitGenerator"}
SQL = re.compile(
    r"\bcurrent_(timestamp|time|date)\b|\b(date|time|datetime|julianday|unixepoch|strftime)\s*\([^)]*'now'|"
    r"\b(julianday|unixepoch|random|randomblob)\s*\(\s*\)|\brandomblob\s*\(\s*\d",
    re.IGNORECASE,
)
"""SQL that reads the clock or draws at random."""


def violations(source: str, path: str) -> list[str]:
    """List where the source of a module reads a clock or draws without a seed; `path` says what it may."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    names = _origins(nodes)
    calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    annotations = {id(part) for node in nodes for part in _annotated(node)}
    found = []
    for node in nodes:
        if id(node) in annotations:
            continue
        if isinstance(node, ast.Call) and _reads_zone(node):
            reason = "the machine's zone is read"
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            reason = _judge(_dotted(node, names), calls.get(id(node)), path)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            match = SQL.search(node.value)
            reason = f"{match[0]} in SQL" if match else None
        else:
            continue
        if reason:
            found.append(f"{node.lineno}: {reason}")
    return found


def _reads_zone(call: ast.Call) -> bool:
    """Whether a call takes the machine's zone because it is given none."""
    given = len(call.args) + len(call.keywords)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return (method, given) in {("astimezone", 0), ("fromtimestamp", 1)}


def _annotated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all that stands in the annotation of a node: naming a generator's type there draws nothing."""
    for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
        if annotation is not None:
            yield from ast.walk(annotation)


def _origins(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Map each name that an import binds to what it stands for, dotted."""
    origins = {"hash": "builtins.hash"}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                origins[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                origins[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return origins


def _dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """Resolve ``np.random.rand`` to ``numpy.random.rand``; ``None`` for what comes from no import."""
    if isinstance(node, ast.Attribute):
        stem = _dotted(node.value, names)
        return stem and f"{stem}.{node.attr}"
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _judge(name: str | None, call: ast.Call | None, path: str) -> str | None:
    """Say what is wrong with the use of a dotted name, `call` being the call where it is called."""
    if name is None:
        return None
    module, _, last = name.rpartition(".")
    if module == "time" or name in CLOCKS:
        return None if path == CLOCK else f"{name} reads a clock"
    secret = module == "secrets" or (module.split(".")[0] == "cryptography" and last.startswith("generate"))
    if secret or name in CHANCE:
        return None if path == KEYS and not name.startswith("uuid.") else f"{name} draws from the system"
    if name in SEEDED:
        seeds = [] if call is None else [*call.args, *(keyword.value for keyword in call.keywords)]
        sown = any(not (isinstance(seed, ast.Constant) and seed.value is None) for seed in seeds)
        return None if sown else f"{name} has no seed"
    if module in {"random", "numpy.random"} and name not in TYPES:
        return f"{name} draws from a generator that everybody shares"
    if module == "torch" and last.startswith(("rand", "normal", "bernoulli", "multinomial")):
        given = call is not None and any(keyword.arg == "generator" for keyword in call.keywords)
        return None if given else f"{name} has no generator"
    if name == "builtins.hash":
        return "hash is salted anew in each process"
    return None


def test_every_module_takes_time_and_chance_as_arguments() -> None:
    paths = sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    found = [f"{path}:{one}" for path in paths for one in violations((ROOT / path).read_text("utf-8"), path)]
    assert found == []
    assert {CLOCK, KEYS} <= set(paths)


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.time()",
        "import time as t\nclock = t.monotonic",
        "from time import perf_counter_ns\nperf_counter_ns()",
        "import time\ntime.sleep(1)",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "from datetime import datetime as d\nd.utcnow()",
        "from datetime import date\ndate.today()",
        "from datetime import datetime\ndatetime.fromisoformat('2026-05-01').astimezone()",
        "from datetime import datetime\ndatetime.fromtimestamp(0)",
        "import uuid\nuuid.uuid4()",
        "from uuid import uuid1\nuuid1()",
        "import random\nrandom.shuffle([])",
        "from random import choice\nchoice([1])",
        "import random\nrandom.Random()",
        "import random\nrandom.Random(None)",
        "import numpy as np\nnp.random.rand(3)",
        "import numpy as np\nnp.random.seed(3)",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng\nmake = default_rng",
        "import numpy.random\nnumpy.random.default_rng(seed=None)",
        "import secrets\nsecrets.token_bytes(32)",
        "import os\nos.urandom(32)",
        "from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey\nX25519PrivateKey.generate()",
        "import torch\ntorch.randn(3)",
        "hash('word')",
        "connection.execute('INSERT INTO log VALUES (CURRENT_TIMESTAMP)')",
        "connection.execute(\"SELECT strftime('%s', 'now')\")",
        "connection.execute('SELECT id FROM memory ORDER BY random()')",
    ],
)
def test_a_planted_clock_or_unseeded_draw_is_found(source: str) -> None:
    assert len(violations(source, "actors/planted.py")) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (CLOCK, "import time\nfrom datetime import datetime\ntime.time_ns()\ndatetime.now()"),
        (KEYS, "import os\nimport secrets\nos.urandom(32)\nsecrets.token_bytes(32)"),
        ("actors/a.py", "import random\nrandom.Random(7).random()"),
        ("actors/a.py", "import random\ndef f(chance: random.Random) -> random.Random | None: ..."),
        ("actors/a.py", "import numpy as np\ndef f(rng: np.random.Generator) -> None: np.random.default_rng([1, 2])"),
        ("actors/a.py", "from datetime import UTC, datetime\ndatetime.fromtimestamp(0, UTC)"),
        ("actors/a.py", "def f(context, time): return context.now, time.time, context.random.random()"),
        ("actors/a.py", "import torch\ntorch.randn(3, generator=g)"),
        ("actors/a.py", "'''Never says CURRENT_TIMESTAMP.'''"),
    ],
)
def test_time_and_chance_that_are_handed_in_are_let_pass(path: str, source: str) -> None:
    assert violations(source, path) == []
