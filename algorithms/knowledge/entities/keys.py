"""Gives names a normal form: two spellings of one thing have one key, without looking at any other name.

Letters, accents, articles, possessives, marks, hyphens and a short table of abbreviations are levelled; what needs
another name to be told (``SM`` for ``San Marco``) is the work of `mnemic.algorithms.knowledge.entities.aliases`, which
stands above. Below stand the folding of letters in `mnemic.algorithms.text.terms` and the word classes of
`mnemic.algorithms.knowledge.extraction.sentences`.

It gives up what letters alone tell: ``US`` and ``us``, ``IT`` and ``it`` are one, and such keys are empty.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from mnemic.algorithms.knowledge.entities.nouns import EXTENSIONS
from mnemic.algorithms.knowledge.extraction.sentences import KINDS, OBJECT, SUBJECT, word_set
from mnemic.algorithms.text.terms import fold

ABBREVIATIONS = {
    "admin": "administrator",
    "app": "application",
    "apps": "applications",
    "config": "configuration",
    "db": "database",
    "dbs": "databases",
    "docs": "documentation",
    "env": "environment",
    "golang": "go",
    "k8s": "kubernetes",
    "mgmt": "management",
    "postgres": "postgresql",
    "prod": "production",
    "repo": "repository",
    "repos": "repositories",
}
"""Words that are short for one other word everywhere. ``auth`` is short for two, and ``dev`` too."""
WHOLE_ABBREVIATIONS = {
    "js": "javascript",
    "mongo": "mongodb",
    "nodejs": "node.js",
    "py": "python",
    "rb": "ruby",
    "ts": "typescript",
    "vscode": "visual studio code",
    "vs code": "visual studio code",
}
"""Names that are short for another one where no other word stands beside them but a version."""

_DETERMINERS = word_set("a an the my our your his her its their this that these those some any own")
_BEFORE = _DETERMINERS | word_set("mr mrs dr prof mr. mrs. dr. prof. uncle aunt aunty auntie")  # titles too
_PRONOUNS = (
    frozenset(word for word, kind in KINDS.items() if kind & (SUBJECT | OBJECT))
    | _DETERMINERS
    | word_set("my our us ours yours his hers theirs mine ourselves everyone anyone such what which")
)
_SELF = word_set("i me myself mine")
_WE = word_set("we us ourselves ours")
_OTHERS_OWN = word_set("your his her its their")
_AROUND = " \"“”„'‘’«»`*()[]{}<>,;:!?|"
_DASHES_AND_SPACES = re.compile(r"[\s_\-‐‑‒–—­]+")
_APOSTROPHES = str.maketrans("’‘ʼ", "'''")
_WORDS = re.compile(r"[^\W_]")
_FILE = re.compile(r"(?:\S*[\w)\]])?\.([a-z]\w{0,9})")
_ENDS_IN_NUMBER = re.compile(r"\d[a-z]?\Z")
_VERSION = re.compile(r"(?:(?<![\s_-])[\s_-]+[vV]?|(?<=[^\W\d_])(?=\d+\.))(\d{1,3}(?:\.\d+)*(?:[a-z]\d*)?)\Z")
_LETTER = re.compile(r"[^\W\d_]")
_MOST_ROUNDS = 8


@lru_cache(maxsize=8192)  # the same names come again and again
def entity_key(name: str) -> str:
    """The form that two spellings of a name have in common; ``""`` of a pronoun and of what holds no letter or digit.

    Lower case without accents; without article, possessive or title before it and ``'s`` after it; hyphens and
    underscores are spaces, but in paths and names of files, whose folders stay; they too are lower case, since people
    write them either way. A version stays (``postgresql 17``), without its ``v``. The key of a key is the key.

    >>> entity_key("our staging DB"), entity_key("Postgres v17"), entity_key("`README.md`"), entity_key("Élodie's")
    ('staging database', 'postgresql 17', 'readme.md', 'elodie')
    """
    key = name
    for _ in range(_MOST_ROUNDS):
        before, key = key, _levelled(key)
        if key == before:
            break
    return key


def is_file(key: str) -> bool:
    """Whether a key is of a file or a folder: it has no spaces, and a slash or an ending that files have."""
    if " " in key:
        return False
    match = _FILE.fullmatch(key)
    return "/" in key or (match is not None and match[1] in EXTENSIONS)


def split_version(name: str) -> tuple[str, str]:
    """A name without the version at its end, and that version; ``""`` where it has none.

    A number of four digits and more is a year, a port or a house and no version.

    >>> split_version("Postgres 17"), split_version("python3.11"), split_version("k8s")
    (('Postgres', '17'), ('python', '3.11'), ('k8s', ''))
    """
    name = name.strip()
    match = _VERSION.search(name) if _ENDS_IN_NUMBER.search(name) else None
    if match is None or not _LETTER.search(name, 0, match.start()):
        return name, ""
    return name[: match.start()], match[1]


def subject_key(subject: str, speaker: str | None, role: str) -> str:
    """The key of what a statement is said of; ``""`` where the words do not tell it.

    ==============================  ==========================================================
    ``I``, ``me``                   ``@`` and the speaker's key, or the role: ``@ines``, ``@user``
    ``my bike``, ``my own bike``    that with the thing's key: ``@ines's bike``
    ``we``, ``us``, ``our team``    ``@we``
    ``our server``, ``the server``  the key of the thing: ``server``
    ``Nadia's car``                 ``nadia's car``
    ``it``, ``she``, ``her bike``   ``""``: nothing is resolved that the text does not say
    ==============================  ==========================================================

    No other key begins with ``@``.

    Args:
        subject: as it is written.
        speaker: who says it; ``None`` where that is not known.
        role: whose words it is among, ``user`` or ``assistant``.
    """
    speaking = "@" + ((entity_key(speaker) if speaker else "") or role)
    words = _letters(subject).strip(_AROUND).split()
    if not words:
        return ""
    first = words[0]
    if first in _SELF:
        return speaking if len(words) == 1 else ""
    if first in _WE:
        return "@we" if len(words) == 1 else ""
    if first == "my":
        thing = entity_key(" ".join(words[1:])) if len(words) > 1 else ""
        return f"{speaking}'s {thing}" if thing else speaking
    if words == ["our", "team"]:
        return "@we"
    return "" if first in _OTHERS_OWN else entity_key(subject)


def _letters(name: str) -> str:
    """A name in lower case without accents, with straight apostrophes and single spaces."""
    if name.isascii():
        low = name.lower()
    else:
        low = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        low = fold(low).translate(_APOSTROPHES)
    return " ".join(low.split())


def _levelled(name: str) -> str:
    """One round of `entity_key`."""
    key = _letters(name).strip(_AROUND).lstrip("@")
    while (first := key.partition(" "))[1] and first[0] in _BEFORE:
        key = first[2].strip(_AROUND)
    if not _WORDS.search(key):
        return ""
    key = key.removesuffix("()").rstrip(".") or key
    while key.endswith("'s"):
        key = key[:-2]
    if is_file(key) or ("\\" in key and is_file(key.replace("\\", "/"))):
        return key.replace("\\", "/").removeprefix("./").rstrip("/").strip(_AROUND)
    bare = _DASHES_AND_SPACES.sub(" ", key).strip()
    if bare in _PRONOUNS:
        return ""
    plain, version = split_version(bare)
    plain = WHOLE_ABBREVIATIONS.get(plain, plain)
    words = [ABBREVIATIONS.get(word, word) for word in plain.split(" ")]
    return " ".join([*words, version] if version else words)
