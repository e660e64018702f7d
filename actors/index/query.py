"""What a question is looked up by: its scope, the vector of its text, and the stems of its words.

Without an Embedder there is no vector: the question is answered degraded and says so. Nothing heavy is imported here,
for the start of a session's sake. Below `mnemic.actors.recall.recaller`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import islice
from typing import NamedTuple

from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ModelError, ModelOff, RuntimeFault, UnknownScope, UnknownSession
from mnemic.actors.kernel.scope_paths import EVERYWHERE, asked_scopes, is_everywhere, suggest_scopes, suggest_sessions
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.messages import EmbedQuery, QueryEmbedded
from mnemic.algorithms.text.languages.language import Language
from mnemic.algorithms.text.languages.table import BY_CODE
from mnemic.algorithms.text.terms import QuestionTerm, language_of, question_terms, split_words

_TIMEOUT_S = 10.0  # an Embedder that hangs must leave time for the rest to answer
MOST_CHARS = 16_000
"""Characters of a question, or of a text that others are compared with, whose words are looked at: a longer one would
hold up what others ask."""
_MOST_WORDS = 512  # of a question; each is looked up by itself
_MOST_COMPARED = 2000  # conversations that a name that is none is compared with, the latest: 20 us each
_WORD = re.compile(r"\w+")
_SENTENCE_ENDS = frozenset(".!?:\n")


class QuestionWord(NamedTuple):
    """A word that a question is looked up by."""

    word: str
    """Lower case, without accents; a pair of characters, where there are no spaces."""
    terms: tuple[str, ...]
    """What texts may be kept under that have it, in any language that the mind's texts are of."""
    literal: bool
    """Whether it is met by itself alone: a number, a name, or a pair of characters."""


def query_vector(
    text: str,
    context: Context,
    degraded: list[str],
    without: str,
    part: str = "meaning",
    timeout_s: float | None = None,
    *,
    is_question: bool = True,
) -> QueryEmbedded | None:
    """Ask for the vector of a text; ``None`` where there is none.

    Args:
        degraded: told why there is none, in a sentence for each.
        without: a sentence: what is answered then.
        part: which part of the question it is for.
        timeout_s: how long to wait; ``None`` is 10 s.
        is_question: as in `EmbedQuery`.
    """
    try:
        wait_s = _TIMEOUT_S if timeout_s is None else timeout_s
        answer = context.ask(EmbedQuery(text=text, is_question=is_question), wait_s)
    except ModelOff:
        return None
    except (ModelError, RuntimeFault) as error:
        degraded.append(f"{part}: {error} {without}")
        return None
    return answer


def question_words(query: str, snapshot: Snapshot, degraded: list[str]) -> list[QuestionWord]:
    """A question's words, one of each stem in the question's own language.

    Args:
        degraded: told, in a sentence, what was left out.
    """
    query, size = query[:MOST_CHARS], len(query)
    languages = [BY_CODE[code] for code in snapshot.languages()]
    words: dict[str, QuestionTerm] = {}
    for one in question_terms(query, languages):
        words.setdefault(one.word, one)
    if len(words) > _MOST_WORDS or size > MOST_CHARS:
        looked_up = min(len(words), _MOST_WORDS)
        degraded.append(f"words: of the question's {size} characters the first {looked_up} words were looked up")
    names = _names(unicodedata.normalize("NFC", query), languages)
    found: dict[str, QuestionWord] = {}
    for one in islice(words.values(), _MOST_WORDS):
        literal = not one.has_spaces or one.word in names or any(sign.isdigit() for sign in one.word)
        known = found.setdefault(one.terms[0], QuestionWord(one.word, one.terms, literal))
        if known.terms != one.terms:
            found[one.terms[0]] = known._replace(terms=tuple(dict.fromkeys((*known.terms, *one.terms))))
    return list(found.values())


def _names(query: str, languages: Collection[Language]) -> set[str]:
    """The words that a question writes with a capital where no sentence begins; none, where it is all capitals, or in a
    language that writes nouns so.
    """
    if query == query.upper() or language_of(query, languages).capital_nouns:
        return set()
    names: set[str] = set()
    last = 0
    for place, match in enumerate(_WORD.finditer(query)):
        if place == _MOST_WORDS:
            break
        begins = not place or not _SENTENCE_ENDS.isdisjoint(query[last : match.start()])
        if not begins and match[0][0].isupper():
            names.update(split_words(match[0]))
        last = match.end()
    return names


def asked_scope_numbers(scope: str | Sequence[str], snapshot: Snapshot) -> frozenset[int] | None:
    """Numbers of the scopes that a question looks through; ``None`` for everything.

    Those are the ones asked for, those below them, and what is kept for every project (`EVERYWHERE`).

    Raises:
        UnknownScope: there is none of one of these paths.
        InvalidValue: none is named.
    """
    paths = asked_scopes(scope if isinstance(scope, str) else tuple(scope))
    if paths is None:
        return None
    everywhere = (number for number, path in snapshot.scopes().items() if is_everywhere(path))
    return frozenset((*scopes_below(snapshot, paths), *everywhere))


def known_or_everywhere(path: str | None, snapshot: Snapshot) -> str | None:
    """The scope that a question from a project looks through: its own, else what is kept for every project, if any."""
    if path is not None:
        return path
    return EVERYWHERE if any(map(is_everywhere, snapshot.scopes().values())) else None


def where_asked(scope: str | Sequence[str]) -> str:
    """Where something was looked for, within a sentence; nothing where that was everywhere."""
    if scope == "*":
        return ""
    return f" in {scope}" if isinstance(scope, str) else f" in {', '.join(scope)}"


def scopes_below(snapshot: Snapshot, scopes: Sequence[str]) -> list[int]:
    """Numbers of some scopes and of those below them, each once.

    Raises:
        UnknownScope: there is none of one of these paths.
    """
    paths = snapshot.scopes()
    found: set[int] = set()
    for scope in scopes:
        own = [number for number, path in paths.items() if path == scope or (scope and path.startswith(f"{scope}/"))]
        if not own:  # an assistant is told what is near within what it may read (`mnemic.runtime.serve.mcp.tools`)
            raise UnknownScope(scope=scope, near=suggest_scopes(scope, paths.values()))
        found.update(own)
    return sorted(found)


def unknown_session(session: str, known: Sequence[int], snapshot: Snapshot) -> UnknownSession:
    """What is raised where no memory is of a conversation.

    Args:
        known: numbers of the conversations that may be named in its place, ascending: those of the scopes that are
            asked for, since whoever asks may be told nothing of others.
    """
    return UnknownSession(
        session=session, near=suggest_sessions(session, snapshot.session_names(known[-_MOST_COMPARED:]))
    )
