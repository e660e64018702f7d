"""What the pages ask a served home with curl is answered."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from mnemic.runtime.minds.homes import default_home
from tests.docs.pages import PAGES, commands
from tests.docs.typed import User
from tests.processes.faces import Outcome
from tests.processes.serving import ready, serving

TYPED = [(page, one) for page, path in PAGES.items() for one in commands(path.read_text("utf-8"))]
ASKED = [(page, one.text) for page, one in TYPED if one.words[0] == "curl"]
PORT, SOCKET = "127.0.0.1:8765", "~/.local/share/mnemic/run/http.sock"
"""What the pages call the port and the socket."""


@pytest.mark.system
def test_what_pages_ask_with_curl_is_answered(
    tmp_path: Path, captured_example: tuple[Path, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    User(tmp_path, captured_example[0], monkeypatch)
    home = default_home(os.environ)
    (home / "mnemic.toml").write_text('[mcp]\nallow = ["read-all"]\n', "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = f"127.0.0.1:{free.getsockname()[1]}"
    assert len(ASKED) >= 3
    with serving(home, "--http", port):
        named = {PORT: port, SOCKET: ready(home).http_socket, "~": str(home.parents[2])}
        for page, text in ASKED:
            command = text
            for shown, here in named.items():
                command = command.replace(shown, here)
            done = subprocess.run(f"{command} --fail --silent", shell=True, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (page, command, done.stderr)
            assert json.loads(done.stdout)
