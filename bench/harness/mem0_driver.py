"""Runs in mem0's own environment, as a process: takes in turns, then answers searches, a JSON line each.

``python mem0_driver.py FOLDER``, which its vector store and its history lie in. It reads ``{"turns": [...]}`` first and
says what adding them took; then for each line ``{"question", "scope", "results"}`` it gives session and id of what was
found, best first. Whenever a text is to be embedded it says ``{"embed": [...]}`` and reads ``{"vectors": [...]}``, so
that it has the weights of whoever asks. Below stands mem0 alone, so nothing of Mnemic is imported here.
"""

import contextlib
import json
import os
import sys
import time
from importlib import import_module
from typing import Any

SCOPES = "agent_id"
"""What all of it is kept under besides its scope, so that a search may be of all scopes."""


def main(folder: str) -> None:
    """Take in and answer."""
    answers = sys.stdout

    def tell(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    base, factory = import_module("mem0.embeddings.base"), import_module("mem0.utils.factory")
    mem0 = import_module("mem0")

    def embed(self: Any, text: str, memory_action: str | None = None) -> Any:
        tell({"embed": [text]})
        return json.loads(sys.stdin.readline())["vectors"][0]

    with contextlib.redirect_stdout(sys.stderr):  # it tells of other things there
        embedder = type("AskedEmbedder", (base.EmbeddingBase,), {"embed": embed})
        setattr(sys.modules[__name__], embedder.__name__, embedder)  # it looks embedders up by their names
        factory.EmbedderFactory.provider_to_class["openai"] = f"{__name__}.AskedEmbedder"
        given = json.loads(sys.stdin.readline())
        store = {"path": os.path.join(folder, "qdrant"), "on_disk": True, "embedding_model_dims": given["dimensions"]}
        config = {
            "vector_store": {"provider": "qdrant", "config": {"collection_name": "bench", **store}},
            "history_db_path": os.path.join(folder, "history.db"),
        }
        memory = mem0.Memory.from_config(config)
        began = time.perf_counter()
        for turn in given["turns"]:
            said = [{"role": "user" if turn["role"] == "user" else "assistant", "content": turn["text"]}]
            whose = {"user_id": turn["scope"], SCOPES: "bench"}
            memory.add(said, infer=False, metadata={"session": turn["session"], "turn": turn["id"]}, **whose)
        tell({"added_s": time.perf_counter() - began})
        for line in sys.stdin:
            asked = json.loads(line)
            whose = {SCOPES: "bench"} if asked["scope"] is None else {"user_id": asked["scope"]}
            began = time.perf_counter()
            found = memory.search(asked["question"], top_k=asked["results"], filters=whose)["results"]
            took_s = time.perf_counter() - began
            hits = [[one["metadata"]["session"], one["metadata"]["turn"]] for one in found]
            tell({"hits": hits, "took_ms": 1e3 * took_s})


if __name__ == "__main__":
    main(*sys.argv[1:])
