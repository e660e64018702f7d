"""Rules in gitleaks' format find what they find in gitleaks, each part of a rule doing what it does there.

Python's own `re` runs them here; `tests/runtime/secrets/test_rule_files.py` has RE2 do so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence

import pytest

from mnemic.algorithms.secrets.gitleaks_rules import (
    GitleaksRules,
    InvalidRuleFile,
    KeywordMatcher,
    RuleFile,
    compile_rule_file,
    read_rule_file,
)
from mnemic.algorithms.secrets.rules import GITLEAKS_GENERIC_RANK, GITLEAKS_RANK


class _Expression:
    """Python's own `re`, which these rules run on as well."""

    def __init__(self, pattern: bytes) -> None:
        try:
            self._compiled = re.compile(pattern)
        except re.error as error:
            raise ValueError(str(error)) from error

    @property
    def groups(self) -> int:
        return self._compiled.groups

    def search(self, text: bytes, pos: int = 0) -> re.Match[bytes] | None:
        return self._compiled.search(text, pos)


def _words(words: Sequence[bytes]) -> KeywordMatcher:
    def which(text: bytes) -> Collection[int]:
        return [number for number, word in enumerate(words) if word.lower() in text.lower()]

    return which


def file(toml: str) -> RuleFile:
    return read_rule_file(tomllib.loads(toml))


def rules(toml: str) -> GitleaksRules:
    return compile_rule_file(file(toml), _Expression, _words)


def found(toml: str, text: str) -> list[tuple[str, str]]:
    """The types that are found in a text, each with the secret."""
    data = text.encode()
    tried = rules(toml).candidates_for([data])
    return [(one.kind, data[one.start : one.end].decode()) for rule in tried for one in rule.find(data)]


def secrets(toml: str, text: str) -> list[str]:
    return [secret for _, secret in found(toml, text)]


def rule(*lines: str, id: str = "one") -> str:
    return "\n".join(["[[rules]]", f'id = "{id}"', *lines, ""])


KEY = "regex = '''key-([0-9a-z]+)'''"


class TestWhatARuleFinds:
    def test_the_secret_is_the_first_group_that_is_not_empty(self) -> None:
        assert secrets(rule("regex = 'a()(b)?(c)|d'"), "abc ac d") == ["b", "c", "d"]

    def test_the_secret_is_the_group_that_is_named_where_it_took_part(self) -> None:
        assert secrets(rule("regex = 'a(b)(c)?'", "secretGroup = 2"), "abc ab abc") == ["c", "c"]

    def test_without_a_group_it_is_all_that_matched_but_line_ends_around_it(self) -> None:
        assert secrets(rule(r"regex = '\n*key\d\n*'"), "\n\nkey1\n\nkey2") == ["key1", "key2"]

    def test_what_matches_nothing_is_nothing(self) -> None:
        assert secrets(rule("regex = 'x*'"), "axbxx") == ["x", "xx"]
        assert secrets(rule("regex = 'x*'"), "") == secrets(rule("regex = '()'"), "ab") == []

    def test_it_has_more_entropy_than_the_rule_says(self) -> None:
        assert secrets(rule(KEY, "entropy = 2"), "key-abab key-abcd key-abcde") == ["abcde"]
        assert secrets(rule(KEY, "entropy = 1.99"), "key-abab key-abcd") == ["abcd"]
        assert secrets(rule(KEY), "key-aaaa") == ["aaaa"]

    def test_a_rule_is_tried_where_one_of_its_keywords_is_anywhere_in_whatever_case(self) -> None:
        toml = rule(KEY, 'keywords = ["ACME", "road"]')
        assert secrets(toml, "key-1 of Acme") == secrets(toml, "a road to key-1") == ["1"]
        assert secrets(toml, "key-1 of nobody") == []

    def test_without_keywords_a_rule_is_always_tried(self) -> None:
        toml = rule(KEY, 'keywords = ["acme"]') + rule("regex = 'x'", "keywords = []", id="two")
        assert found(toml, "key-1 x") == [("two", "x")]
        assert found(toml, "x acme key-1") == [("one", "1"), ("two", "x")]

    @pytest.mark.parametrize(
        ("id", "kind"),
        [
            ("github-pat", "github-pat"),
            ("GitHub PAT_2", "github-pat-2"),
            ("--é--", "rule-1"),
            ("a" * 59 + "-b", "a" * 59),
            ("", "rule-1"),
        ],
    )
    def test_its_type_is_its_id_as_marks_can_carry_it(self, id: str, kind: str) -> None:
        assert found(rule("regex = 'x'", id=id), "x") == [(kind, "x")]

    def test_generic_ones_give_way_to_every_other_type(self) -> None:
        generic, other = rules(rule("regex = 'x'", id="a-Generic-key") + rule("regex = 'x'")).rules
        assert (generic.rank, other.rank) == (GITLEAKS_GENERIC_RANK, GITLEAKS_RANK)


class TestWhatAnAllowlistAllows:
    @pytest.mark.parametrize("head", ["[[rules.allowlists]]", "[rules.allowlist]", "[[allowlists]]", "[allowlist]"])
    def test_what_its_expressions_match_or_its_words_are_in(self, head: str) -> None:
        toml = rule(KEY) + head + "\nregexes = ['^a+$', '9']\nstopwords = ['EXAMPLE']\n"
        assert secrets(toml, "key-aaa key-1a key-29 key-1example2 key-aab") == ["1a", "aab"]

    @pytest.mark.parametrize(
        ("target", "left"), [("secret", ["1", "2"]), ("", ["1", "2"]), ("match", ["2"]), ("line", [])]
    )
    def test_its_expressions_are_tried_on_what_it_names(self, target: str, left: list[str]) -> None:
        toml = rule(r"regex = '\w*?_key-([0-9a-z]+)'")
        toml += f"[[rules.allowlists]]\nregexTarget = '{target}'\nregexes = ['test', '^# sample$']\n"
        assert secrets(toml, "\ntest_key-1 my_key-2 # testing\n") == left

    def test_a_line_ends_where_it_ends_and_of_a_long_one_a_part_is_looked_at(self) -> None:
        toml = rule(KEY) + "[[rules.allowlists]]\nregexTarget = 'line'\nregexes = ['fine']\n"
        assert secrets(toml, "fine\nkey-1\nfine") == ["1"]
        assert secrets(toml, "fine key-1") == secrets(toml, "key-1" + " " * 1000 + "fine") == []
        assert secrets(toml, "key-1" + " " * 1100 + "fine") == ["1"]

    @pytest.mark.parametrize("condition", ["AND", "and", "&&"])
    def test_under_and_all_must_hold(self, condition: str) -> None:
        toml = rule(KEY) + f"[[rules.allowlists]]\ncondition = '{condition}'\n"
        both = toml + "regexes = ['^a']\nstopwords = ['b']\n"
        assert secrets(both, "key-a1 key-1b key-ab key-cc") == ["a1", "1b", "cc"]
        assert secrets(toml + "regexes = ['^a']\n", "key-a1 key-b1") == ["b1"]
        assert secrets(toml + "stopwords = ['b']\n", "key-a1 key-b1") == ["a1"]

    @pytest.mark.parametrize("never", ["paths = ['''.*''']", "commits = ['c0ffee']"])
    def test_a_text_has_neither_path_nor_commit(self, never: str) -> None:
        toml = rule(KEY) + f"[[rules.allowlists]]\n{never}\nregexes = ['^a']\n"
        assert secrets(toml, "key-a1 key-b1") == ["b1"]
        assert secrets(toml + "condition = 'AND'\n", "key-a1 key-b1") == ["a1", "b1"]
        assert secrets(rule(KEY) + f"[allowlist]\n{never}\n", "key-a1") == ["a1"]

    def test_one_for_certain_rules_is_for_no_others(self) -> None:
        toml = rule(KEY) + rule(KEY, id="two") + "[[allowlists]]\ntargetRules = ['two']\nregexes = ['.']\n"
        assert found(toml, "key-1") == [("one", "1")]


class TestWhatIsLeftOut:
    @pytest.mark.parametrize(
        "more", [r"path = '\.php$'", "skipReport = true", "[[rules.required]]\nid = 'two'\nwithinLines = 3"]
    )
    def test_rules_that_need_a_path_or_one_another(self, more: str) -> None:
        assert found(rule(KEY, more) + rule("regex = 'x'", id="two"), "x key-1") == [("two", "x")]

    def test_what_only_describes(self) -> None:
        toml = 'title = "t"\nminVersion = "v8.25.0"\n' + rule(KEY, 'description = "d"', "tags = ['a']", "new = 1")
        assert secrets(toml, "key-1") == ["1"]

    def test_names_are_read_in_any_case(self) -> None:
        toml = rule("REGEX = '(a)(b)'", "secretgroup = 2") + "[[rules.AllowLists]]\nStopWords = ['c']\n"
        assert secrets(toml, "ab") == ["b"]


class TestAFileThatStandsOnAnother:
    def test_rules_of_both_are_there_but_for_those_it_switches_off(self) -> None:
        base = rule(KEY) + rule("regex = 'x'", id="off") + "[allowlist]\nregexes = ['^b']\n"
        own = "[extend]\ndisabledRules = ['off']\n" + rule("regex = 'yy'", id="own") + "[allowlist]\nregexes = ['^a']\n"
        both = file(own).merged_over(file(base))
        assert [rule.id for rule in both.rules] == ["one", "own"]
        data = b"key-a key-b key-c x [yy]"
        tried = compile_rule_file(both, _Expression, _words).candidates_for([data])
        assert [data[f.start : f.end] for rule in tried for f in rule.find(data)] == [b"c", b"yy"]

    def test_what_it_says_of_a_rule_of_the_other_stands_above_that(self) -> None:
        base = rule(KEY, "entropy = 9", "secretGroup = 1", 'keywords = ["a"]') + "[rules.allowlist]\nregexes = ['^a']\n"
        own = rule("entropy = 1", 'keywords = ["b"]') + "[[rules.allowlists]]\nregexes = ['^b']\n"
        (both,) = file(own).merged_over(file(base)).rules
        assert (both.regex, both.entropy, both.secretgroup) == ("key-([0-9a-z]+)", 1, 1)
        assert both.keywords == ["a", "b"]
        assert [one.regexes for one in both.allowlists] == [["^a"], ["^b"]]


@pytest.mark.parametrize(
    ("toml", "why"),
    [
        ("", "there is no rule in it that finds anything in a text"),
        (rule("path = 'x'"), "there is no rule in it that finds anything in a text"),
        (rule("entropy = 2"), "its rule 'one' has neither a regex nor a path"),
        (
            rule("regex = '('"),
            "RE2 refuses a regex of its rule 'one' (missing ), unterminated subpattern at position 0)",
        ),
        (rule(r"regex = '(?s)a\Cb'"), r"RE2 refuses a regex of its rule 'one' (invalid escape sequence: \C)"),
        (rule("regex = 'x'", "secretGroup = 1"), "the regex of its rule 'one' has no group 1"),
        (rule("regex = 'x'", "secretGroup = -1"), "the regex of its rule 'one' has no group -1"),
        (rule("regex = 1"), "a value in it is none of the format: Expected str, got int - at $.rules[0].regex"),
        (rule("regex = '('", id=""), "RE2 refuses a regex of its rule 1 (missing ), unterminated"),
        (
            rule(KEY) + "[[rules.allowlists]]\ncondition = 'XOR'\nregexes = ['a']\n",
            "an allowlist of its rule 'one' has a condition or a regexTarget that is none",
        ),
        (
            rule(KEY) + "[allowlist]\nregexTarget = 'file'\nregexes = ['a']\n",
            "an allowlist for all rules has a condition or a regexTarget that is none",
        ),
        (rule(KEY) + "[allowlist]\nregexes = ['[']\n", "RE2 refuses a regex for all rules (unterminated"),
    ],
)
def test_what_cannot_be_used_is_said_with_the_rules_name(toml: str, why: str) -> None:
    with pytest.raises(InvalidRuleFile, match=re.escape(why)):
        rules(toml)


def test_a_backslash_before_a_letter_is_no_part_of_one() -> None:
    assert secrets(rule(r"regex = '\\C'"), r"a\C") == [r"\C"]
