"""Tells whether a text reads as if it were written for an AI assistant to obey, as plain prompt injections do.

What an assistant reads (a page, a log, a commit message) may be written to be obeyed (Greshake et al. 2023, "Not what
you've signed up for", https://arxiv.org/abs/2302.12173; OWASP LLM01). What users ask for ("always run the tests before
you commit") is no sign of that. These rules, without a model, know blunt ones: who takes pains gets by. So what must do
no harm has to stand where nobody takes it for an instruction, whatever this says.
"""

from __future__ import annotations

import functools
import re
import unicodedata

_AI = (
    r"(?:(?:(?:ai|coding|automated|autonomous|virtual|language|chat)\W)?(?:assistants?|assistenten?"
    r"|agents?(?!\.md)|llms?"
    r"|models?|bots?|copilots?)|a\.?i\.?|ki|ia|chatgpt|claude(?:\scode)?|codex|gemini|cursor)"
)
_BEFORE = r"(?:previous|prior|above|earlier|preceding|former|original|initial|system|safety|your|hidden|current)"
_RULES = r"(?:instructions?|prompts?|directives?|guidelines?|rules?|constraints?|restrictions?|safeguards?|guardrails?)"
_SIGNS = (
    # What was said before is not to hold.
    rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|es|ing)|overrule|bypass|skip|do not (?:follow"
    rf"|obey)|don't"
    rf" (?:follow|obey)|stop following)\W+(?:\w+\W+){{0,5}}?{_BEFORE}\W+(?:\w+\W+){{0,3}}?{_RULES}\b",
    r"\b(?:ignore|disregard|forget)\W+(?:\w+\W+){0,2}?(?:all|any|every|these"
    r"|those)\W+(?:\w+\W+){0,2}?(?:instructions?"
    r"|prompts?|directives?|guidelines?)\b",
    r"\b(?:ignore|disregard|forget)\W+(?:everything|anything|all|what|whatever)\W+(?:that\W+)?(?:you\W+(?:were"
    r"|are|have"
    r"|know)\b|(?:was |is )?(?:said |written )?(?:above|before)\b)",
    r"\b(?:ignorier|missacht|vergiss|vergesst|übergeh)\w*\W+(?:\w+\W+){0,5}?(?:anweisung|instruktion|vorgaben"
    r"|regeln)",
    r"\b(?:ignor\w+|oubli\w+|olvid\w+|(?:tiens|tenez) (?:plus|pas) compte)\W+(?:[\w’']++\W+){0,5}?(?:instructions"
    r"|consignes"
    r"|règles|instrucciones|reglas|instruções|istruzioni)\b",
    r"(?:忽略|无视|無視|忘记|忘掉)[^。\n]{0,14}(?:指令|指示|说明|提示|规则|要求)|(?:指示|命令|ルール)[^。\n]{0,8}(?:無視|忘れ)"
    r"|(?:игнорир|забуд)\w{0,24}\W+(?:\w+\W+){0,5}?(?:инструкц|указани|правил)",
    # Who it is to be, or who says so.
    r"\byou(?:['’]re| are)\W+(?:now|from now on|no longer)\W+(?:an?|the|called|operating|acting|in \w+ mode|dan|bound"
    r"|restricted|limited|unrestricted)\b|\bpretend\W+(?:that\W+)?you\W+(?:are|have)\b",
    r"<\|?/?(?:im_start|im_end|endoftext|start_header_id|eot_id|system|user|assistant)\|>|\[/?inst\]|<</?sys>>"
    r"|</?(?:system[-_](?:reminder|prompt|message|instructions?)|tool_results?|function_results?"
    r"|mnemic-memory)\b[^>]{0,400}>",
    r"(?:^|[\[(*#=\"'>])\s*(?:system|developer|admin(?:istrator)?|anthropic|openai)(?:\W(?:message|prompt|note"
    r"|notice|override"
    r"|update|instructions?))?\s*[\])*=]*\s*:\s+(?:\W*+\w++\W++){0,12}?you(?:r|\b)",
    # Said to the assistant that reads it.
    rf"\b(?:note|message|notice|attention|memo|reminder|hint|tip|info|important|hinweis(?: an)?|remarque|nota"
    rf"|aviso)\W{{1,2}}"
    rf"(?:\w+ )?(?:(?:to|for|für|pour|para|aux?) )?(?:(?:all|any|the|every|alle|die|your"
    rf"|whichever) )*{_AI}\b[^.\n]{{0,40}}:",
    rf"\bif\W+you(?:['’]re|\W+are)\W+(?:an?|the)\W+(?:\w+\W+)?{_AI}\b|\bdear\W+{_AI}\b|\bto whichever {_AI}\b",
    rf"\b{_AI}\W+(?:\w+\W+){{0,3}}?(?:reading|processing|parsing|summari[sz](?:es?|ing)|triaging|reviewing|(?:that"
    rf"|who|which)"
    r" (?:read|see|process|handle|touch|work)\w*)\W+(?:(?:on|with|in)\W+)?(?:this|these)\b",
    # Behind the user's back.
    r"\b(?:do not|don['’]t|never|without|no need to|must not|mustn['’]t|should not"
    r"|shouldn['’]t)\W+(?:\w+\W+){0,2}?(?:tell"
    r"|inform|mention|reveal|notify|alert|report|disclos)(?:e|ing|ting)?\W+(?:\w+\W+){0,4}?(?:the|your"
    r"|this)\W+(?:user|human"
    r"|operator|owner)s?\b|\b(?:hidden|hide|secret|keep)\W+(?:\w+\W+){0,3}?from\W+the\W+(?:user|human|operator"
    r"|owner)\b",
    r"\b(?:sag|erzähl|verrate|informier|teil)\w*\W+(?:\w+\W+){0,3}?(?:nutzer|benutzer)\w*\W+(?:\w+\W+){0,4}?nichts?\b"
    r"|\b(?:sans|sin|ne|no)\W+(?:[\w’']++\W+){0,4}?(?:dire|inform\w+|signaler|decir\w*|menci\w+"
    r"|avis\w+)\W+(?:[\w’']++\W+){0,3}?"
    r"(?:utilisateur|usuario)|(?:不要|别|勿|无需)[^。\n]{0,8}(?:告诉|告知|通知|提及)[^。\n]{0,6}用户|ユーザー?[^。\n]{0,6}(?:知らせ|伝え|報告)"
    r"[^。\n]{0,6}(?:ない|ず|なく)|не\W+(?:\w+\W+){0,3}?(?:говор|сообща|упомина)\w*\W+(?:\w+\W+){0,4}?пользовател",
    # What it is to give away, or to take as granted.
    r"\b(?:reveal|print|repeat|output|display|show|quote|disclose)\W+(?:\w+\W+){0,5}?(?:your system prompt"
    r"|instructions you"
    r" (?:were|have been)|(?:initial|hidden|original|secret) (?:instructions|prompt)|developer message)\b",
    r"\b(?:user|owner|admin\w*|operator|security team|anthropic|openai)\W+(?:has|have"
    r"|had)\W+(?:\w+\W+){0,2}?(?:pre-?approved"
    r"|(?:granted|given) (?:\w+ ){0,2}?(?:permission|consent|approval|authori[sz]ation))\b|\b(?:standing|blanket"
    r"|permanent)"
    r" (?:permission|approval|authori[sz]ation|consent)\b",
)
_BLANKS, _SIGNS_RUN, _LETTERS_RUN = re.compile(r"\s{9,}"), re.compile(r"\W{33,}"), re.compile(r"[A-Za-z0-9_]{65,}")
"""Runs that no instruction holds. They are cut short, for a pattern may look through a whole run at each sign of it."""
_LEAST_SWOLLEN = 4096
"""Letters. One may stand for eighteen: a text of these alone is made to hide something, or to hold up its reader."""
_SPACED = re.compile(r"\b(?:\w[ ._-]){4,}\w\b")
_LOOKALIKE = str.maketrans("аеорсухіјѕԁһοαεικνρτυ", "aeopcyxijsdhoaeikvptu")
_MIXED = re.compile(r"\b(?=\w*[a-z])(?=\w*[Ͱ-ϿЀ-ԯ])\w+\b", re.IGNORECASE)


def reads_as_instruction(text: str) -> bool:
    """Whether a text reads as if it were written for an AI assistant to obey."""
    if not text.isascii():  # without what hides words from rules: invisible letters, and look-alikes
        folded = unicodedata.normalize("NFKC", text)
        if len(folded) > max(4 * len(text), _LEAST_SWOLLEN):
            return True
        visible = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
        text = _MIXED.sub(lambda word: word[0].lower().translate(_LOOKALIKE), visible)
    text = _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", text)
    text = _SIGNS_RUN.sub(lambda run: run[0][:16] + run[0][-16:], text)
    text = _SPACED.sub(lambda word: re.sub(r"[ ._-]", "", word[0]), text)
    return _sign().search(_LETTERS_RUN.sub(lambda run: run[0][:64], text)) is not None


@functools.cache
def _sign() -> re.Pattern[str]:
    """All of them. Made when it is first asked for: that takes 5 ms."""
    return re.compile("|".join(f"(?:{sign})" for sign in _SIGNS), re.IGNORECASE | re.MULTILINE)
