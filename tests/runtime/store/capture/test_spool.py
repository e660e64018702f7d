"""How far the spool is taken in, and how often texts have occurred; that it can be made again and taken back is tested
beside what else is captured by itself.
"""

from __future__ import annotations

import msgspec

from mnemic.actors.capture.changes import AdvanceSpool, CountOccurrences, DiscardSpoolFile, OccurrenceCount
from mnemic.runtime.store.capture.read import TOTALS_ROW
from mnemic.runtime.store.store import Store
from tests.runtime.building import apply
from tests.runtime.store.capture.test_write import FILE, seen


def test_the_offset_goes_where_it_is_told_to_and_counts_add_up(store: Store) -> None:
    apply(store, AdvanceSpool(file=FILE, offset=500, records=2))
    apply(store, AdvanceSpool(file=FILE, offset=400, torn=1))
    assert seen(store, lambda now: (now.spool_offsets(), now.torn_counts())) == ({FILE: 400}, {FILE: 1})
    counts = seen(store, lambda now: now.capture_progress(0))
    assert (counts.records, counts.torn) == (2, 1)
    assert apply(store, AdvanceSpool(file=FILE, offset=400)).changed == (False,)


def test_what_was_counted_is_never_counted_down(store: Store) -> None:
    one, two = OccurrenceCount(identity=b"1", hooks=3), OccurrenceCount(identity=b"2", missed=1, read_at=7)
    apply(store, CountOccurrences(counts=(one, two)))
    assert apply(store, CountOccurrences(counts=(OccurrenceCount(identity=b"1", hooks=2, missed=4),))).changed == (
        False,
    )
    assert seen(store, lambda now: now.occurrences([b"1", b"2", b"3"])) == {b"1": one, b"2": two}
    fewer = OccurrenceCount(identity=b"2", hooks=1, read_at=7)
    assert apply(store, CountOccurrences(counts=(fewer,))).changed == (True,)
    assert seen(store, lambda now: now.occurrences([b"2"])) == {b"2": fewer}


def test_a_file_that_is_gone_is_forgotten_and_what_came_of_it_stays_in_the_sums(store: Store) -> None:
    apply(store, AdvanceSpool(file=FILE, offset=500, records=2, torn=1), AdvanceSpool(file=b"g" * 16, offset=9))
    apply(store, AdvanceSpool(file=b"h" * 16, offset=7, records=3))
    before = seen(store, lambda now: now.capture_progress(0))
    forget = [DiscardSpoolFile(file=file) for file in (FILE, b"g" * 16, FILE, b"unknown", TOTALS_ROW)]
    assert apply(store, *forget).changed == (True, True, False, False, False)
    assert seen(store, lambda now: now.capture_progress(0)) == msgspec.structs.replace(before, offsets={b"h" * 16: 7})
    assert seen(store, lambda now: now.torn_counts()) == {}
