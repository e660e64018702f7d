"""A wheel is linked for the oldest glibc that will do, by zig where it is there, and for no processor without it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from release import wheels
from release.wheels import Refused, build, linker_variables


def test_what_links_is_asked_for_the_target_and_the_oldest_glibc(tmp_path: Path) -> None:
    variables = linker_variables("aarch64-unknown-linux-gnu", tmp_path / "zig")
    assert variables["CARGO_BUILD_TARGET"] == "aarch64-unknown-linux-gnu"
    assert variables["_PYTHON_HOST_PLATFORM"] == "linux-aarch64"
    (tmp_path / "cargo-zigbuild").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (tmp_path / "cargo-zigbuild").chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    linker = variables["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"]
    told = subprocess.run([linker, "a b.o", "-lm"], env=environment, capture_output=True, text=True, check=True).stdout
    assert told == "zig|cc|--|a b.o|-lm|-target|aarch64-linux-gnu.2.17|"


@pytest.mark.skipif(sys.platform != "linux", reason="zig links for Linux alone")
def test_another_processors_wheel_is_refused_where_zig_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(wheels, "host_target", lambda: "x86_64-unknown-linux-gnu")
    with pytest.raises(Refused, match="aarch64-unknown-linux-gnu is linked by zig, which is not installed"):
        build(tmp_path / "dist", "aarch64-unknown-linux-gnu")
    assert not (tmp_path / "dist").exists()
