"""Generates the reference vectors that encoder tests compare with, by sentence-transformers.

Run once, by hand, in a throw-away environment: sentence-transformers is no dependency of this project. The file in the
repository came from sentence-transformers 6.2.0, transformers 5.23.0 and torch 2.15.0 on a CPU, by::

    python -m venv golden-env
    golden-env/bin/pip install sentence-transformers && golden-env/bin/pip install -e .
    golden-env/bin/python bench/quality/golden.py tests/golden/minilm.json

A text is cut where `mnemic.runtime.models.encoders` cuts it, and each stretch is handed to the judge as a text of its
own: so its tokenizer, its limit of 256 tokens and its arithmetic are all its own.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import numpy as np

from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import default_model_folder

__all__ = ["LIMIT", "TEXTS", "main"]

LIMIT = 6
"""Windows a text may have."""

_MEETING = (
    "We met at nine to decide how the importer should treat duplicate rows. Ines wanted to keep the first one, because "
    "the ledger is append-only and the auditors ask for the original. Tomasz argued for the last one: the supplier "
    "corrects its own files by sending them again, so the newest line is nearly always the right one. We looked at the "
    "three incidents of this spring and found that two of them came from keeping stale prices. In the end we chose to "
    "keep both, mark the older one as superseded and show the newer one by default. The migration runs on Thursday "
    "night, after the backup; Ines writes the script, Tomasz reviews it, and nobody touches the price table until "
    "Friday noon. If the row counts differ by more than one in a thousand we roll back and look at the log together. "
)

_CODE = '''\
def merge(left: list[int], right: list[int]) -> list[int]:
    """Merge two sorted lists."""
    out, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i]); i += 1
        else:
            out.append(right[j]); j += 1
    return out + left[i:] + right[j:]
'''

_LOG = "\n".join(
    f"2026-03-{day:02d}T04:1{day % 10}:0{day % 7}Z worker-{day % 3} WARN queue depth {day * 37} over limit, shedding"
    for day in range(1, 25)
)

TEXTS: tuple[str, ...] = (
    "",
    " \t\n ",
    "a",
    "yes",
    "No.",
    "?",
    "42",
    "The kettle is on.",
    "Where did we put the spare key of the bicycle shed?",
    "Marta moved to Lisbon in September and works from the harbour library.",
    "Marta no longer lives in Lisbon; since May she has been in Porto.",
    "the tests fail on windows because the path separator is hard-coded in fixtures/paths.py",
    "Use PostgreSQL 16 for the staging database, not 15: logical replication from a standby needs it.",
    'ERROR: relation "invoices" does not exist (SQLSTATE 42P01) at character 15',
    "git rebase --onto main feature~3 feature && git push --force-with-lease",
    "SELECT customer, SUM(total) FROM orders WHERE placed_at >= '2026-01-01' GROUP BY customer;",
    "const debounce = (fn, ms) => { let t; return () => { clearTimeout(t); t = setTimeout(fn, ms); }; };",
    'fn main() { println!("{:?}", (1..=5).map(|x| x * x).collect::<Vec<_>>()); }',
    '{"user": {"id": 7, "roles": ["admin", "ops"]}, "ok": true, "latency_ms": 12.5}',
    "https://example.org/docs/v2/setup?lang=en#step-3",
    "tok-9f3aQ7zXw1LmV0 is the token in the fixture, it opens nothing",
    "deadbeefcafebabe0123456789abcdef" * 4,
    "Größe: 12 µm, Prüfstelle Köln, Straße gesperrt bis Ende März.",
    "L'été dernier, à Évian, nous avons mangé des crêpes près du lac.",
    "Привет! Когда будет готов отчёт за третий квартал?",
    "明日の会議は午後三時からに変更されました。",
    "我们决定把缓存的过期时间改为十分钟。",
    "अगली बैठक सोमवार को सुबह दस बजे है।",
    "نقلنا الاجتماع إلى يوم الخميس بعد الظهر.",
    "cafe\u0301 and caf\u00e9 are one word; \ufb01ne is fine; \u0130stanbul has a dot",
    "🚀 shipped 🎉 — thanks, all! 👩‍💻👨🏽‍🔧",
    "control\x00 characters \x07 and \u200bzero\u200bwidth\u2060 marks\ufeff, \u202eright to left\u202c",
    "x" * 150,
    "WHY IS EVERYTHING IN CAPITALS, and then nOt?",
    "one,two;three:four|five/six\\seven-eight_nine+ten=eleven~twelve",
    "She said \u201cwait\u201d \u2014 then\u2026 nothing.",
    "3.14159 2,718 6.022e23 0x7fff -273.15 1/3 100% $5 €7 £9",
    "# Plan\n\n- [x] draft the schema\n- [ ] ask Noor about retention\n- [ ] write the migration\n",
    _CODE,
    _MEETING,
    _MEETING * 3,
    _CODE * 4,
    _LOG,
)
"""Short and long, prose and code, many scripts, and what tokenizers stumble over."""


def main(target: Path) -> None:
    """Write the golden file: for each text its windows, each with its offsets and its vector (base64 of float32)."""
    from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found, unused-ignore]

    judge = SentenceTransformer(str(default_model_folder()), device="cpu")
    encoder = load_encoder()
    texts = []
    for text in TEXTS:
        windows, _ = encoder.windows(text, LIMIT)
        vectors = judge.encode([text[window.start : window.end] for window in windows], batch_size=1)
        texts.append(
            {
                "text": text,
                "windows": [
                    {
                        "start": window.start,
                        "end": window.end,
                        "vector": base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode("ascii"),
                    }
                    for window, vector in zip(windows, vectors, strict=True)
                ],
            }
        )
    golden = {"limit": LIMIT, "model": encoder.model, "texts": texts}
    target.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n", encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
