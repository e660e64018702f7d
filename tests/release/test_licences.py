"""What is linked into the wheel may be, and its licence is in the wheel; what a base install brings may be needed."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from release.crates import Crate, linked_crates
from release.distributions import MAY_BE_NEEDED, MODEL, base_install, identifiers
from release.licences import NOTICES, NotTaken, licence_taken, licence_text, notices
from tests.paths import ROOT


@pytest.fixture(scope="module")
def linked() -> list[Crate]:
    """The crates that are linked in, where cargo has what they say of themselves."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    try:
        return linked_crates(offline=True)
    except subprocess.CalledProcessError:
        pytest.skip("the crates were not fetched here")


def test_every_crate_that_is_linked_in_is_named_with_its_licence_and_its_text(linked: list[Crate]) -> None:
    assert NOTICES.read_text("utf-8") == notices(linked), "make licences makes it anew"
    assert {"pyo3", "chacha20poly1305", "libc"} <= {crate.name for crate in linked}
    assert not {"proptest", "syn", "autocfg", "mnemic-kernels"} & {crate.name for crate in linked}


def test_without_cargo_it_is_seen_that_every_crate_that_is_named_is_locked_in_that_version() -> None:
    locked = tomllib.loads((ROOT / "native" / "Cargo.lock").read_text("utf-8"))["package"]
    named = [line.partition(":")[0] for line in NOTICES.read_text("utf-8").split("\n\n")[2].splitlines()]
    assert len(named) > 30
    assert set(named) <= {f"{crate['name']} {crate['version']}" for crate in locked}


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("MIT OR Apache-2.0", "MIT"),
        ("Apache-2.0 OR GPL-3.0-only", "Apache-2.0"),
        ("Unlicense OR MIT", "MIT"),
        ("(MIT)", "MIT"),
        ("GPL-3.0-or-later", None),
        ("MIT AND GPL-2.0-only", None),
        ("", None),
    ],
)
def test_of_a_choice_of_licences_one_that_may_be_linked_in_is_taken(expression: str, taken: str | None) -> None:
    assert licence_taken(expression) == taken


def test_a_crate_that_may_not_be_linked_in_is_named_and_so_is_one_without_its_text(tmp_path: Path) -> None:
    with pytest.raises(NotTaken, match=r"bad 1\.0 is GPL-3\.0-only"):
        notices([Crate("bad", "1.0", "GPL-3.0-only", tmp_path, ())])
    bare = Crate("bare", "2.0", "MIT OR Apache-2.0", tmp_path, ())
    (tmp_path / "LICENSE-APACHE").write_text("of the other licence")
    with pytest.raises(NotTaken, match=r"bare 2\.0 does not bring the text of MIT"):
        licence_text(bare, "MIT")
    (tmp_path / "LICENSE-MIT").write_bytes(b"\r\nDo.  \r\nAs you like.\r\n")
    assert licence_text(bare, "MIT") == "Do.\nAs you like.\n"


def test_a_base_install_brings_nothing_whose_licence_asks_for_more_than_a_notice() -> None:
    installed = {one.name: one for one in base_install()}
    wrong = {name: one.licence for name, one in installed.items() if not identifiers(one.licence) <= MAY_BE_NEEDED}
    assert wrong == {}
    assert {"mcp", "pydantic-core", "huggingface-hub", MODEL} <= installed.keys()
    assert "ray" not in installed, "it is an extra"
    assert not [licence for licence in MAY_BE_NEEDED if "GPL" in licence]


def test_a_base_install_is_what_the_constraints_pin() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").lower().replace("_", "-").splitlines()
    assert [f"{one.name}=={one.version}" for one in base_install() if f"{one.name}=={one.version}" not in lines] == []
