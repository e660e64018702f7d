"""`make licences`: THIRD-PARTY-LICENSES, the licence of each crate that is linked into the wheel, with its text.

A text that several crates have word for word stands there once. Of a crate that leaves the choice between licences, the
one is taken that `TAKEN` names first.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

from release.crates import ROOT, Crate, linked_crates

NOTICES = ROOT / "THIRD-PARTY-LICENSES"
TAKEN = ("MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0")
"""What may be linked in: what asks for no more than its notice."""
_TEXTS = {"MIT": "MIT", "Apache-2.0": "APACHE"}
"""How the file of a licence is called where a crate has several."""
_HEAD = """\
Third-party licences

mnemic/_native and mnemic-hook, the native code of Mnemic, have these crates linked in, and the standard library of Rust
(MIT OR Apache-2.0, https://github.com/rust-lang/rust). Where zig links them, as in the wheels of a release, parts of
LLVM's libunwind and compiler-rt are in them as well (Apache-2.0 WITH LLVM-exception, https://llvm.org/LICENSE.txt).
Made by `make licences`.
"""


class NotTaken(Exception):
    """A crate has no licence that may be linked in, or does not bring its text; says which."""


def licence_taken(expression: str) -> str | None:
    """The licence under which something is used, of those that an SPDX expression leaves to choose from.

    One that has more to it than a choice (``AND``, ``WITH``) is taken under none: somebody has to look.
    """
    choice = {name.strip(" ()") for name in expression.split(" OR ")}
    return next((licence for licence in TAKEN if licence in choice), None)


def licence_text(crate: Crate, licence: str) -> str:
    """The text of a crate's licence, as it brings it.

    Raises:
        NotTaken: it brings none.
    """
    files = crate.licence_files
    named = [path for path in files if _TEXTS.get(licence, licence) in path.name.upper()]
    whole = [path for path in files if path.name.upper().partition(".")[0] in ("LICENSE", "LICENCE", "COPYING")]
    if not (named or whole):
        raise NotTaken(f"{crate.name} {crate.version} does not bring the text of {licence}.")
    text = (named or whole)[0].read_text("utf-8")
    return "\n".join(line.rstrip() for line in re.sub(r"\r\n?", "\n", text).strip("\n").split("\n")) + "\n"


def notices(crates: list[Crate]) -> str:
    """What THIRD-PARTY-LICENSES has to say.

    Raises:
        NotTaken: something may not be linked in.
    """
    lines: list[str] = []
    holders: dict[str, list[str]] = defaultdict(list)
    for crate in crates:
        licence = licence_taken(crate.licence)
        if licence is None:
            raise NotTaken(f"{crate.name} {crate.version} is {crate.licence}, which may not be linked in unlooked-at.")
        lines.append(f"{crate.name} {crate.version}: {licence}")
        holders[licence_text(crate, licence)].append(f"{crate.name} {crate.version}")
    texts = [f"{'=' * 80}\n{', '.join(named)}\n\n{text}" for text, named in holders.items()]
    return "\n".join([_HEAD, "\n".join(lines) + "\n", *texts])


def main(path: Path = NOTICES) -> None:
    """What the Makefile calls."""
    try:
        path.write_text(notices(linked_crates()), "utf-8")
    except (NotTaken, subprocess.CalledProcessError) as failed:
        raise SystemExit(str(failed)) from failed


if __name__ == "__main__":
    main()
