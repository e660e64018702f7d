"""MemPalace as a competitor: installed in an environment of its own, as it ships, with the model that Mnemic uses.

``pip install mempalace`` in a virtual environment, whose interpreter the benches are given; ``mnemic[bench]`` here,
since its model comes from torch. Below stands `mnemic.bench.harness.palace_driver`, which runs in that environment.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemic.bench.harness.onnx_export import export_bert

STRATEGIES = ("vector", "union")
"""How it gathers what it ranks: by meaning, or by words as well."""
_DRIVER = Path(__file__).with_name("palace_driver.py")
_MODEL_FILES = ("tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt")
_SAFE = re.compile(r"[^\w-]+")


class MemPalace:
    """A palace that conversations were mined into, as a running process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.mined_s = float(self._answer()["mined_s"])
        """Seconds that mining took."""

    def search(self, question: str, scope: str | None, results: int, strategy: str) -> dict[str, Any]:
        """Names of the conversations of the hits, best first, each with its similarity, as ``hits``; ``took_ms``.

        Args:
            scope: whose conversations are searched; ``None`` is all.
            results: how many hits at most; several may be of one conversation.
            strategy: one of `STRATEGIES`.
        """
        wing = None if scope is None else _safe(scope)
        return self._ask({"question": question, "wing": wing, "results": results, "strategy": strategy})

    def wake_up(self, scope: str) -> int:
        """Bytes of what it tells at the start of a session about a scope."""
        return int(self._ask({"wake_up": _safe(scope)})["bytes"])

    def _ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ChildProcessError(f"MemPalace ended with {self._process.wait()}; what it said stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def mempalace(
    python: Path, model: Path, turns: Iterable[Mapping[str, Any]], into: Path, *, padded: bool = True
) -> Iterator[MemPalace]:
    """Mine conversations by the product's own path, and search them.

    Args:
        python: the interpreter of the environment that MemPalace is installed in.
        model: the folder of the model that Mnemic uses.
        turns: what was said, as `mnemic capture` takes it.
        into: a folder of the bench's, for the model, the transcripts and the palace.
        padded: whether texts are padded to 256 tokens, as it ships.

    Raises:
        ValueError: what exports the model is not installed here.
        ChildProcessError: MemPalace ended.
        OSError: the interpreter cannot be started.
    """
    home = into / "home"
    cache = home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
    check_installed()
    if not cache.exists():
        cache.mkdir(parents=True)
        export_bert(model, cache / "model.onnx")
        for name in _MODEL_FILES:
            if (model / name).exists():
                shutil.copy(model / name, cache)
        write_transcripts(turns, into / "conversations")
    environment = {
        **os.environ,
        "HOME": str(home),
        "MEMPALACE_EMBEDDING_MODEL": "minilm",
        "ANONYMIZED_TELEMETRY": "False",
        "HF_HUB_OFFLINE": "1",
    }
    padding = "stock" if padded else "unpadded"
    command = [str(python), str(_DRIVER), str(into / "conversations"), str(into / padding), padding]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield MemPalace(process)
        process.communicate()  # the end of its input ends it


def check_installed() -> None:
    """Find out beforehand whether its model can be exported. Raises ValueError: something is not installed here."""
    missing = [name for name in ("torch", "transformers", "onnx") if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"MemPalace needs its model exported, and {missing[0]} is missing: pip install 'mnemic[bench]'"
        )


def write_transcripts(turns: Iterable[Mapping[str, Any]], into: Path) -> None:
    """Write what was said as Claude Code's transcripts: a folder for each scope, a file for each conversation."""
    lines: dict[Path, list[str]] = {}
    for turn in turns:
        role = "user" if turn["role"] == "user" else "assistant"
        line = {"type": role, "timestamp": turn["said_at"], "message": {"role": role, "content": turn["text"]}}
        file = into / _safe(turn["scope"]) / f"{conversation_name(turn['session'])}.jsonl"
        lines.setdefault(file, []).append(json.dumps(line) + "\n")
    for file, told in lines.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(told), "utf-8")


def conversation_name(session: str) -> str:
    """What a conversation is called among the hits."""
    return _safe(session)


def _safe(name: str) -> str:
    return _SAFE.sub("_", name)
