"""Runs in MemPalace's own environment, as a process: mines conversations, then answers searches, a JSON line each.

``python palace_driver.py CONVERSATIONS PALACE stock|unpadded``. CONVERSATIONS has a folder for each wing, with a
transcript for each conversation. First it prints what mining took; then for each line ``{"question", "wing", "results",
"strategy"}`` on its standard input the names of the transcripts that were found, best first, with their similarity; for
``{"wake_up": wing}`` the length of what the start of a session is told. Below stands MemPalace alone, so nothing of
Mnemic is imported here.
"""

import contextlib
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


def leave_out_padding() -> None:
    """Embed each text as long as it is. As it ships, chromadb pads all to 256 tokens; the vectors are the same."""
    np, embedder = import_module("numpy"), import_module("chromadb.utils.embedding_functions").ONNXMiniLM_L6_V2
    padded = embedder._forward

    def forward(self: Any, documents: list[str], batch_size: int = 32) -> Any:
        self.tokenizer.no_padding()
        return np.concatenate([padded(self, [one], 1) for one in documents])

    embedder._forward = forward


def main(conversations: str, palace: str, padding: str) -> None:
    """Mine and answer."""
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # it tells of its progress there
        if padding == "unpadded":
            leave_out_padding()
        mine_convos = import_module("mempalace.convo_miner").mine_convos
        search_memories = import_module("mempalace.searcher").search_memories
        began = time.perf_counter()
        for wing in sorted(Path(conversations).iterdir()):
            mine_convos(str(wing), palace, wing=wing.name)
        print(json.dumps({"mined_s": time.perf_counter() - began}), file=answers, flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            if "wake_up" in asked:
                told = import_module("mempalace.layers").MemoryStack(palace).wake_up(asked["wake_up"])
                print(json.dumps({"bytes": len(told.encode())}), file=answers, flush=True)
                continue
            began = time.perf_counter()
            found = search_memories(
                asked["question"],
                palace,
                wing=asked["wing"],
                n_results=asked["results"],
                candidate_strategy=asked["strategy"],
            )
            took_s = time.perf_counter() - began
            hits = [[Path(hit["source_file"]).stem, hit["similarity"]] for hit in found["results"]]
            print(json.dumps({"hits": hits, "took_ms": 1e3 * took_s}), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
