"""All languages, and which of them each function word speaks for."""

from __future__ import annotations

from mnemic.algorithms.text.languages.de import GERMAN
from mnemic.algorithms.text.languages.en import ENGLISH
from mnemic.algorithms.text.languages.es import SPANISH
from mnemic.algorithms.text.languages.fr import FRENCH
from mnemic.algorithms.text.languages.ja import JAPANESE
from mnemic.algorithms.text.languages.language import Language
from mnemic.algorithms.text.languages.pt import PORTUGUESE
from mnemic.algorithms.text.languages.th import THAI
from mnemic.algorithms.text.languages.zh import CHINESE

DEFAULT = ENGLISH
"""Of a text that does not tell: code, a name, a short answer."""
WITH_SPACES: tuple[Language, ...] = (ENGLISH, GERMAN, SPANISH, PORTUGUESE, FRENCH)
"""Told apart by their function words."""
WITHOUT_SPACES: tuple[Language, ...] = (CHINESE, JAPANESE, THAI)
"""Told by their script; kept by pairs of characters."""
BY_CODE = {one.code: one for one in (*WITH_SPACES, *WITHOUT_SPACES)}
"""All, by their codes."""
