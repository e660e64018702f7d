"""Bearer tokens: what a caller over the network shows. Only a token's hash is kept, in a file of mode 0600.

A token is 32 random bytes, so a plain hash is enough: there is nothing to guess, and nothing to slow down.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from pathlib import Path

from mnemic.runtime.keys import make_key, write_private

__all__ = ["check", "new_token"]


def new_token(path: Path) -> str:
    """Make a token and keep its hash; one that was there before is worth nothing from then on.

    Returns the token, 43 characters: it is told this once.
    """
    token = base64.urlsafe_b64encode(make_key()).rstrip(b"=").decode()
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    write_private(draft, f"{_hash(token)}\n".encode())
    os.replace(draft, path)
    return token


def check(path: Path, given: str) -> bool:
    """Whether this is the token; without a file that can be read, none is. Takes as long for a wrong one."""
    try:
        kept = path.read_text("ascii").strip()
    except (OSError, ValueError):
        return False
    return hmac.compare_digest(_hash(given), kept)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
