"""Begins a package with a consolidator of somebody's own: class, spec and test, which work as they stand."""

from __future__ import annotations

import re
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from mnemic.actors.kernel.errors import InvalidValue

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

_PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["mnemic"]

[project.entry-points."mnemic.actors"]
{name} = "{name}:Consolidator"

[tool.setuptools]
py-modules = ["{name}"]
"""

_MODULE = '''\
"""A consolidator of one's own: ours, with a stage by which longer memories count a little more.

Change `read` (what is looked at of each memory: `text` is what it says, `data` the same in bytes; `role`, `kind` and
more stand beside it), `plan` (what each gains, from -1 to 1) and the test. Mnemic's docs/sleep.md says what a stage may
go by. In a mind that is in use, raise `version` with each change of `plan`, so that all is derived anew.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.actors.kernel.contract import Setting
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.effects import MemoryWeight, encode_effect
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.consolidator import ConsolidatorActor
from mnemic.actors.sleep.stages import Derivation

BLOCK = 64  # rows derived together


class Consolidator(ConsolidatorActor):
    """Nights as Mnemic has them, and one stage more."""

    settings = (
        *ConsolidatorActor.settings,
        Setting("{name}.weight", 0.25, "log-odds", "What the longest memories gain.", 0.0, maximum=1.0),
    )

    def stage_names(self) -> Sequence[str]:
        return [*super().stage_names(), "{name}:Length"]


class Length:
    """Weighs memories by how long they are."""

    name = "{name}"
    version = 1
    effect = "weigh"

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> "Length":
        return cls(settings["{name}.weight"])

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """Blocks of memories, each with what tells its state; the weight counts, too."""
        return {{
            b"rows:%d" % block: stamp + str(self.weight).encode() for block, stamp in snapshot.row_blocks(BLOCK).items()
        }}

    def read(self, key: bytes, snapshot: Snapshot) -> list[tuple[int, int]]:
        """Rows of a block, and how long each memory is."""
        rows = snapshot.rows_in_block(BLOCK, int(key.partition(b":")[2]))
        return [(row, len(one.data)) for row, one in zip(rows, snapshot.load_memories(rows), strict=True)]

    def plan(self, state: Sequence[tuple[int, int]]) -> Derivation:
        """What each gains."""
        weights = tuple(MemoryWeight(weight=self.weight * min(1.0, size / 200)) for _, size in state)
        return Derivation(encode_effect(weights), tuple(SourceSpan(row, 0, 0) for row, _ in state))
'''

_SPEC = """\
version = 1
name = "{name}"
about = "Whether longer memories that count more are better found."
seeds = [1, 2]
measures = ["mrr", "hit@1", "hit@10", "poison@1"]

[life]
kind = "generated"
first_night = 1.0

[nights]
after = 3

[probes]
every = 3
used = 0.4

[[arms]]
name = "ours"

[[arms]]
name = "{name}"
settings = {{ "actors.consolidator" = "{name}:Consolidator" }}

[[arms]]
name = "no nights"
nights = false
"""

_TEST = '''\
"""The stage weighs within bounds, and the class keeps the contract of actors."""

import json
import subprocess
import sys

from mnemic.actors.sleep.effects import decode_weights

from {name} import Length


def test_longer_memories_gain_more() -> None:
    derived = Length(0.25).plan([(1, 10), (2, 100_000)])
    short, long = decode_weights(derived.value, derived.sources)
    assert 0 <= short.weight < long.weight == 0.25


def test_it_keeps_the_contract() -> None:
    command = [sys.executable, "-m", "mnemic.bench", "contract", "{name}:Consolidator", "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert [one for one in told["rows"] if one["state"] == "failed"] == []
'''

_FILES = {"pyproject.toml": _PYPROJECT, "{name}.py": _MODULE, "experiment.toml": _SPEC, "test_{name}.py": _TEST}


def make_package(name: str, where: Path) -> tuple[Path, list[Path]]:
    """Write a package into a new folder of its name; returns that, and its files.

    Raises:
        InvalidValue: the name is none of a module, or the folder is there already.
        OSError: it cannot be written.
    """
    if not _NAME.fullmatch(name) or iskeyword(name) or find_spec(name) is not None:
        expected = "small letters, digits and _, a letter first, that no module has here"
        raise InvalidValue(name="a package", value=name, why="it is to name a new module", expected=expected)
    folder = where / name
    if folder.exists():
        raise InvalidValue(name="a package", value=str(folder), why="it is there already", expected="another name")
    folder.mkdir(parents=True)
    files = [Path(path.format(name=name)) for path in _FILES]
    for path, text in zip(files, _FILES.values(), strict=True):
        (folder / path).write_text(text.format(name=name), "utf-8")
    return folder, files
