"""Prints one closing line for several runs of pytest: of a test that ran in two of them, the last outcome counts."""

from __future__ import annotations

import sys
from collections import Counter
from xml.etree import ElementTree

OUTCOMES = {"failure": "failed", "error": "errors", "skipped": "skipped"}

outcomes: dict[tuple[str | None, str | None], str] = {}
seconds = 0.0
for path in sys.argv[1:]:
    for suite in ElementTree.parse(path).iter("testsuite"):
        seconds += float(suite.get("time", "0"))
        for case in suite.iter("testcase"):
            outcome = next((OUTCOMES[part.tag] for part in case if part.tag in OUTCOMES), "passed")
            outcomes[case.get("classname"), case.get("name")] = outcome
counts = Counter(outcomes.values())
told = ", ".join(f"{counts[one]} {one}" for one in ("failed", "passed", "skipped", "errors") if counts[one])
print(f"{told} in {seconds:.2f}s ({int(seconds) // 60}:{int(seconds) % 60:02}, {len(sys.argv) - 1} runs)")
