"""Notes and lines that name no offset are of the local day, and are known again wherever their owner is by then."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from mnemic.actors.kernel.events import Event
from mnemic.actors.recall.messages import Recall
from mnemic.hooks import open_transcript
from tests.clocks import ManualClock, NamedZone
from tests.harness import ActorHarness

PACIFIC = ZoneInfo("America/Los_Angeles")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = (datetime(2026, 3, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def us(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def sources(folder: Path) -> list[str]:
    """A note dated by its front matter, one by its name, and lines of every way to write a time."""
    (folder / "club.md").write_text("---\ndate: 2025-02-03\n---\n# Dues\nThe dues were paid to Marit.\n")
    (folder / "2025-07-11.md").write_text("# Log\nPainted the mast.\n")
    times = ("2025-02-03", "2025-02-03T18:00", "2025-02-03T18:00:00-05:00", "2025-02-04T02:00:00Z", 1738634400)
    lines = [{"role": "user", "text": f"turn {number}", "said_at": at} for number, at in enumerate(times)]
    (folder / "talk.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return [str(folder / name) for name in ("club.md", "2025-07-11.md", "talk.jsonl")]


def kept(mind: ActorHarness) -> list[tuple[datetime, int]]:
    """When each memory was said, and by which offset."""
    rows = mind.look(lambda now: now.load_memories(now.memory_columns(0).row.tolist()))
    return [(EPOCH + timedelta(microseconds=one.said_at), one.utc_offset_min) for one in rows]


def test_what_names_no_offset_is_local_and_captured_again_elsewhere_adds_nothing(tmp_path: Path) -> None:
    paths = sources(tmp_path)
    for number, zone in enumerate(("America/Los_Angeles", "UTC", "Asia/Kolkata")):
        with ActorHarness(tmp_path / "home", clock=ManualClock(NOW + number, NamedZone(zone))) as mind:
            mind.open_source = open_transcript
            for path in paths:
                mind.take(path)
            assert kept(mind) == [
                (datetime(2025, 2, 3, tzinfo=PACIFIC), -480),
                (datetime(2025, 7, 11, tzinfo=PACIFIC), -420),
                (datetime(2025, 2, 3, tzinfo=PACIFIC), -480),
                (datetime(2025, 2, 3, 18, tzinfo=PACIFIC), -480),
                (datetime(2025, 2, 3, 23, tzinfo=UTC), -300),
                (datetime(2025, 2, 3, 18, tzinfo=PACIFIC), -480),
                (datetime(2025, 2, 3, 18, tzinfo=PACIFIC), -480),
            ]
            day = Recall(query="dues", since=us(datetime(2025, 2, 3, tzinfo=PACIFIC)))
            assert [hit.text for hit in mind.ask(day).hits[:1]] == ["Dues\n\nThe dues were paid to Marit."]


def test_a_commit_keeps_the_offset_of_its_author(tmp_path: Path) -> None:
    def git(*arguments: str, **more: str) -> None:
        names = {f"GIT_{who}_{what}": "ana@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True, env={"PATH": "/usr/bin:/bin", **names, **more})

    git("init", "-q")
    for date in ("2025-02-02T18:00:00-0800", "2025-02-02T18:00:00+0545", "2025-02-02T18:00:00+0000"):
        git("commit", "-q", "--allow-empty", "-m", date, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
    source = open_transcript(str(tmp_path), "git")
    told = [(one.utc_offset_min, one.is_local) for one in source if isinstance(one, Event)]
    source.close()
    assert told == [(-480, False), (345, False), (None, False)]
