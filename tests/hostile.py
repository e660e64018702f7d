"""Texts as a stranger may write them to hold up who reads them: of one size each, made of what rules go astray on."""

from __future__ import annotations

_REPEATED = (
    *("\n", " ", "\t", "\r", "\r\n", "\u2028", "\u00a0", "\u200b", "\x00", "\n\n\t", " \n", "\n ", "\n>", "\n- ", "\n# "),
    *("`", "```", "```\n", "~~~\n", "'", '"', '"\\', "'\\", "\\", "(", ")", "[", "]", "{", "<", ">", "<a ", "<a>", "</a>"),
    *("<!-- ", "](", "[a](", "![", "[[", "[[a|", "(a", "a(", "$(", "<<a\n", "|", "| a ", "*", "**", "_", "__", "-", "---\n"),
    *("+++\n", "=", "#", "~", "^", "&", ";", ":", ",", ".", "...", "!", "?", "/", "//", "@", "$", "%", "+", "…", "“", "’"),
    *("a", "A", "1", "é", "я", "中", "ß", "\u0301", "😀", "aB", "a1", "a_", "a-", "a.", "a/", "a:", "a'", "a@", "1.", "1,", "0x"),
    *("a ", "A ", "1 ", "- ", "> ", ". ", ", ", ": ", "' ", "Ab ", "Ab-", "a  ", "a\n", "A\n", "word ", "Word. ", "a. "),
    *("Decision: ", "decided ", "always ", "we ", "I ", "we'll ", "please ", "house rule ", "remember ", "never\n", "not "),
    *("We use a ", "is ", "used to ", "if ", "that ", "from ", "until ", "since May ", "May ", "2026-", "in 2026 ", "ago "),
    *("ignore ", "ignore all ", "you are ", "system: ", "reveal your ", "do not tell ", "assistant ", "user has "),
    *("Error: ", "error: ", "File: ", "FAILED ", "npm ERR! ", "https://", "www.", "http://a:", "a@b.", "key=", "password: "),
    *("<private>", "</private>", "[secret: ", "<system-reminder>", "<hook_context>", "<image name=", "<mnemic-memory>"),
    *('"key":', '{"a":', "command: ", "*** Update File: a\n", "--- a\n", "export A=", "sudo ", "cd a && ", "'s ", "n't "),
)
_BETWEEN = (" ", "\n", "\t", "\u00a0", "\u2028", "\r", "a", "_", "-", ".", "a ", "(", "'", "`", "1")
_AROUND = (
    *(("Decision: we do it.", ""), ("We use a", "x for the port"), ("word", "word"), ("We moved from", "to tea")),
    *(("Remember", "that"), ("```\n", "\nWe use tea"), ("# a\n", "\nb"), ("> a", "\nb."), ("error", ": [a]"), ("ignore", "x")),
    *(('password: "', "x"), ("https://a:", "x"), ("[a](", ")"), ("<a", "x>"), ("no more", "than"), ("what is", "?")),
    *(("-- ", ":"), ("1", "x"), ("$ ls", "; x"), ("A.", "B"), ("\nsystem", "x"), ("you", "are a")),
)


def hostile_texts(size: int) -> dict[str, str]:
    """Texts of so many characters by a name: each opening again and again, and long runs between words."""
    repeated = {f"{unit!r} again": (unit * (size // len(unit) + 1))[:size] for unit in _REPEATED}
    ended = {f"{unit!r} again, then !": (unit * (size // len(unit)))[: size - 1] + "!" for unit in _BETWEEN}
    between = {
        f"{before!r} {run!r}… {after!r}": before + (run * size)[: size - len(before) - len(after)] + after
        for before, after in _AROUND
        for run in _BETWEEN
    }
    return repeated | ended | between
