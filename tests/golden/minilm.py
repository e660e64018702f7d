"""Makes the vectors of ``minilm.json`` anew, of the texts that stand there, by sentence-transformers.

Run by hand, in a throw-away environment: sentence-transformers is no dependency of this project. What stands in the
repository came from sentence-transformers 6.2.0, transformers 5.23.0 and torch 2.15.0 on a CPU, by::

    python -m venv golden-env
    golden-env/bin/pip install sentence-transformers && golden-env/bin/pip install -e .
    golden-env/bin/python tests/golden/minilm.py

A text is cut where `mnemic.runtime.models.encoders` cuts it, and each stretch is handed to the judge as a text of its
own: so its tokenizer, its limit of 256 tokens and its arithmetic are all its own.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found, unused-ignore]

from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import default_model_folder

if __name__ == "__main__":
    target = Path(__file__).with_suffix(".json")
    golden = json.loads(target.read_bytes())
    judge, encoder = SentenceTransformer(str(default_model_folder()), device="cpu"), load_encoder()
    for one in golden["texts"]:
        windows, _ = encoder.windows(one["text"], golden["limit"])
        vectors = judge.encode([one["text"][window.start : window.end] for window in windows], batch_size=1)
        one["windows"] = [
            {
                "start": window.start,
                "end": window.end,
                "vector": base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode("ascii"),
            }
            for window, vector in zip(windows, vectors, strict=True)
        ]
    golden["model"] = encoder.model
    target.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n", encoding="ascii")
