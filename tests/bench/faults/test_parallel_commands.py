"""Commands and hooks at once: each is done or says why not, and what was said is there once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mnemic.bench.faults import parallel_commands
from mnemic.bench.faults.audit import Audit, attack_row


@pytest.mark.system
def test_commands_at_once_lose_and_double_nothing(attacked_home: Path, tmp_path: Path) -> None:
    alone, _ = parallel_commands.attacks(lambda: attacked_home, tmp_path, 1)
    row = attack_row(alone)
    assert (row["what"], row["state"]) == ("parallel/alone", "ok"), row
    assert row["tried"] >= 11


@pytest.mark.system
def test_so_it_is_where_a_process_serves_and_a_double_would_be_seen(
    attacked_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, served = parallel_commands.attacks(lambda: attacked_home, tmp_path, 1)
    row = attack_row(served)
    assert (row["what"], row["state"]) == ("parallel/served", "ok"), row

    def doubling(home: Path) -> Audit:
        kept = audit(home)
        return Audit(texts=kept.texts + Counter([next(iter(kept.texts))]), wrong={}, told=[])

    audit = parallel_commands.audit
    monkeypatch.setattr(parallel_commands, "audit", doubling)
    row = attack_row(served)
    assert (row["state"], row["doubled"], row["lost"]) == ("failed", 1, 0)
