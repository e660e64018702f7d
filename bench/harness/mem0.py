"""mem0 as a competitor: installed in an environment of its own, with the model that Mnemic uses.

``pip install mem0ai`` in a virtual environment, whose interpreter the benches are given. As it ships, mem0 extracts and
embeds by a service of OpenAI's, which wants a key and the network. So it takes in turns as they are (``infer=False``)
and is handed the vectors of Mnemic's own encoder; its keyword search, which wants models from the network as well, has
no part. Below stands `mnemic.bench.harness.mem0_driver`, which runs in that environment.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.ports import Encoder

NOT_AS_IT_SHIPS = "mem0 extracts and embeds by a service of OpenAI's, which wants a key and the network"
"""Why there is no row of mem0 as it ships."""
_DRIVER = Path(__file__).with_name("mem0_driver.py")


class Mem0:
    """A store that turns were put into, as a running process."""

    def __init__(self, process: subprocess.Popen[str], encoder: Encoder, turns: Sequence[Mapping[str, Any]]) -> None:
        self._process, self._encoder = process, encoder
        fields = ("role", "text", "scope", "session", "id")
        given = [{name: turn[name] for name in fields} for turn in turns]
        self.added_s = float(self._ask({"dimensions": encoder.dimensions, "turns": given})["added_s"])
        """Seconds that it took to take them in, embedding included."""

    def search(self, question: str, scope: str | None, results: int) -> dict[str, Any]:
        """Session and id of the turns that are found, best first, as ``hits``; ``took_ms``, embedding included.

        Args:
            scope: whose turns are searched; ``None`` is all.
            results: how many at most.

        Raises:
            ChildProcessError: it ended.
        """
        return self._ask({"question": question, "scope": scope, "results": results})

    def _ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        while True:
            try:
                self._process.stdin.write(json.dumps(asked) + "\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                line = ""
            else:
                line = self._process.stdout.readline()
            if not line:
                raise ChildProcessError(f"mem0 ended with {self._process.wait()}; what it said stands above")
            answer: dict[str, Any] = json.loads(line)
            if "embed" not in answer:
                return answer
            windows = [self._encoder.windows(text, 1)[0][0] for text in answer["embed"]]
            asked = {"vectors": self._encoder.encode(windows).tolist()}


@contextmanager
def mem0(python: Path, encoder: Encoder, turns: Sequence[Mapping[str, Any]], into: Path) -> Iterator[Mem0]:
    """Put turns into a store, and search it.

    Args:
        python: the interpreter of the environment that mem0 is installed in.
        encoder: embeds what it takes in and what is asked, the first window of each.
        turns: what was said, as `mnemic capture` takes it, each with an id.
        into: a folder of the bench's, for all that it keeps.

    Raises:
        ChildProcessError: mem0 ended.
        OSError: the interpreter cannot be started.
    """
    into.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "HOME": str(into), "MEM0_DIR": str(into), "MEM0_TELEMETRY": "False"}
    environment |= {"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
    command = [str(python), "-I", str(_DRIVER), str(into)]  # without this folder, where a module is called mem0
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield Mem0(process, encoder, turns)
        finally:
            process.terminate()
