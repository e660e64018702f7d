"""What memories say of themselves is read in one way as long as `mnemic.actors.shape.features.EXTRACTION_VERSION` stays
as it is.

``python -m tests.actors.shape.test_features_golden > tests/golden/records.json`` makes the file anew; where its
``records`` change, `EXTRACTION_VERSION` has to grow first, so that every mind is bound again.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import mnemic
from mnemic.actors.shape.features import EXTRACTION_VERSION, extract_records
from mnemic.actors.shape.queries import Unbound
from mnemic.algorithms.knowledge.triples import triples
from mnemic.hd.roles import ROLES
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.store import Store
from tests.paths import ROOT
from tests.processes.faces import EXAMPLE

GOLDEN = ROOT / "tests" / "golden" / "records.json"
TOPICS = 5
ALL = 100_000
"""Rows, and bytes of a text: more than the example has."""


def example(home: Path) -> list[Unbound]:
    """The memories of the example with what is around them, without vectors."""
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
    with mnemic.open(home) as mind:
        assert mind.capture(EXAMPLE, embed=False).new
    folder, keys = open_mind(home, "default")
    with closing(Store.open(folder.store, keys)) as store:
        store.rebuild(lambda done, total: None, meaning=False)  # all of them wait to be bound then
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as now:
        return now.pending_bindings(None, False, 0, ALL, ALL)


def made(home: Path) -> dict[str, object]:
    """A digest of all records of the example, and how many there are of each tier."""
    roles = frozenset(ROLES)
    found = [
        (tier, repr([tuple(pair) for pair in record]))
        for unbound in example(home)
        for tier, record in extract_records(unbound, roles, TOPICS, triples)
    ]
    tiers = dict(sorted(Counter(tier for tier, _ in found).items()))
    digest = hashlib.sha256("\n".join(map(" ".join, sorted(found))).encode("utf-8", "surrogatepass"))
    return {"reading": EXTRACTION_VERSION, "tiers": tiers, "records": digest.hexdigest()}


def test_records_are_read_as_they_were_when_their_reading_got_its_number(tmp_path: Path) -> None:
    now, kept = made(tmp_path / "home"), json.loads(GOLDEN.read_bytes())
    if now["records"] != kept["records"]:
        assert now["reading"] > kept["reading"], (
            "memories are read otherwise: EXTRACTION_VERSION has to grow; see above"
        )
    assert now == kept, "make the file of what is kept anew; see above"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        json.dump(made(Path(folder) / "home"), sys.stdout, indent=1)
    print()
