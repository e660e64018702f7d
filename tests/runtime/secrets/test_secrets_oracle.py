"""What detect-secrets tells by its shape, our rules take out: its expressions make the secrets, and none is left.

Its rules are looser than what issuers give out, since somebody looks at what it reports; here a finding replaces words.
So some of its shapes are made by narrower expressions, and some are not taken at all: each is listed, with the reason.
A plugin or a shape that a later release brings is made by its own expression, and fails until somebody decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from mnemic.algorithms.secrets.rules import entropy_bits
from mnemic.runtime.secrets.secrets import load_scrub

pytest.importorskip("detect_secrets", reason="detect-secrets is not installed; install mnemic[dev] for this test")

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

SCRUB = load_scrub()
PIECE = 8
"""No so many characters of a secret in a row are left of it."""
BODY = r"(?:[A-Za-z0-9+/]{64}\n){2}[A-Za-z0-9+/]{24}"
CONTEXTS = ["{}", "export VALUE_1={}\n", 'value: "{}",', '{{"value": "{}", "more": 1}}', "see `{}` there", "-e X={} -d"]
"""Around what is told without a name."""


class Left(NamedTuple):
    """A shape that is left alone."""

    why: str


def named(names: str, value: str) -> str:
    """A value behind a name, as programs, settings and JSON write it."""
    forms = (
        f"(?:export )?{names}(?: = |=|: |:| => | := )({value})\n",
        f"{names} ?[:=] ?'({value})'",
        f'"{names}": ?"({value})",',
    )
    return "|".join(forms)


def key_block(kind: str, dashes: str = "-----") -> str:
    return rf"{dashes}BEGIN {kind}{dashes}\n({BODY})\n{dashes}END {kind}{dashes}"


NOT_BY_SHAPE = {
    "Base64HighEntropyString": "entropy alone is a sign of digests, identifiers and data as well",
    "HexHighEntropyString": "entropy alone is a sign of commits, digests and identifiers as well",
    "KeywordDetector": "any value behind a name counts there; ours must look like a secret (tests of `scrub`)",
}
MADE: dict[str, tuple[str | Left, ...]] = {
    "ArtifactoryDetector": (
        "AKCp[a-zA-Z0-9]{69}",
        Left(
            "AP, a digit and eight letters are in the names of many things; what it looks for is an encrypted password"
        ),
    ),
    "AWSKeyDetector": (
        "(?:A3T[A-Z2-7]|ABIA|ACCA|AKIA|ASIA)[A-Z2-7]{16}",
        r"aws_(?:secret_key|key|password|session_token) ?[:=] ?(?:'([0-9a-zA-Z/+]{40})'|\"([0-9a-zA-Z/+]{40})\")",
    ),
    "AzureStorageKeyDetector": ("AccountKey=([a-zA-Z0-9+/]{86}==)",),
    "BasicAuthDetector": ("https://me:([A-Za-z0-9_-]{9,20})@db",),
    "CloudantDetector": (
        named("cloudant_(?:apikey|key|pwd|password|pass|token)", "[0-9a-f]{64}"),
        Left("letters alone behind a name are a word as often"),
        r"https://me:([0-9a-f]{64})@db\.cloudant\.com",
        r"https://me:([a-z]{24})@db\.cloudant\.com",
    ),
    "GitHubTokenDetector": ("(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{36}",),
    "IbmCloudIamDetector": (
        named(
            "(?:ibm_cloud_iam|ibm-cloud|ibm|iam|cloud)_(?:api_)?(?:key|pwd|password|pass|token)", "[a-zA-Z0-9_-]{44}"
        ),
    ),
    "IbmCosHmacDetector": (named("(?:(?:ibm_)?cos_hmac_)?secret_(?:access_)?key", "[a-f0-9]{48}"),),
    "IPPublicDetector": (Left("an address of a machine is no secret; who wants it out marks it as private"),),
    "JwtTokenDetector": (r"eyJ[A-Za-z0-9_-]{20,80}\.eyJ[A-Za-z0-9_-]{20,80}\.[A-Za-z0-9_-]{43,86}",),
    "MailchimpDetector": ("[0-9a-f]{32}-us[0-9]{1,2}",),
    "NpmDetector": (
        r"//registry\.npmjs\.org/:_authToken=(npm_[A-Za-z0-9]{36}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
    ),
    "PrivateKeyDetector": (
        key_block("DSA PRIVATE KEY"),
        key_block("EC PRIVATE KEY"),
        key_block("OPENSSH PRIVATE KEY"),
        key_block("PGP PRIVATE KEY BLOCK"),
        key_block("PRIVATE KEY"),
        key_block("RSA PRIVATE KEY"),
        key_block("SSH2 ENCRYPTED PRIVATE KEY", "----")
        .replace("----BEGIN", "---- BEGIN")
        .replace("KEY----", "KEY ----"),
        rf"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 8\n({BODY})",
    ),
    "SlackDetector": (
        "xox[abposr]-[0-9]{10,13}-[0-9]{10,13}-[a-zA-Z0-9]{24}",
        "https://hooks.slack.com/services/(T[A-Z0-9]{8,10}/B[A-Z0-9]{8,10}/[A-Za-z0-9]{24})".replace(".", r"\."),
    ),
    "SoftlayerDetector": (
        named("softlayer_(?:api_)?(?:key|pwd|password|pass|token)", "[a-z0-9]{64}"),
        r"https://api\.softlayer\.com/soap/v3(?:\.1)?/([a-z0-9]{64})",
    ),
    "SquareOAuthDetector": ("sq0csp-[0-9A-Za-z_-]{43}",),
    "TelegramBotTokenDetector": ("[0-9]{8,10}:A[0-9A-Za-z_-]{34}",),
    "TwilioKeyDetector": (Left("the name of an account; its secret has no shape"), "SK[0-9a-f]{32}"),
}
"""For each plugin, in the order of its expressions, what makes secrets (the one group, else all of it), or why not."""


def shapes() -> Iterator[Any]:
    """Every expression of every plugin that tells a secret by its shape, with what makes examples of it."""
    for plugin in get_mapping_from_secret_type_to_class().values():
        name = plugin.__name__
        if name not in NOT_BY_SHAPE:
            made = MADE.get(name, tuple(f"(?:{theirs.pattern})" for theirs in plugin.denylist))
            for number, (theirs, ours) in enumerate(zip(plugin.denylist, made, strict=True)):
                if not isinstance(ours, Left):
                    yield pytest.param(theirs, re.compile(ours), name in MADE, id=f"{name}-{number}")


def is_even(secret: str) -> bool:
    """Whether a secret is about as evenly drawn as an issuer's are; what hypothesis makes has runs and repetitions."""
    hexadecimal = sum(letter in "0123456789abcdef-" for letter in secret) >= 0.9 * len(secret)
    likely = 3.2 if hexadecimal else min(4.2, 2 + 0.07 * len(secret))
    drawn_of_digits_too = re.search("[0-9]", secret) or re.fullmatch("[a-z]+", secret)
    return bool(drawn_of_digits_too) and entropy_bits(secret.encode()) >= likely and not re.search(r"(.)\1{3}", secret)


@pytest.mark.parametrize(("theirs", "made_by", "listed"), list(shapes()))
def test_what_detect_secrets_tells_by_its_shape_is_taken_out(
    theirs: re.Pattern[str], made_by: re.Pattern[str], listed: bool
) -> None:
    @settings(max_examples=25, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.from_regex(made_by, fullmatch=True, alphabet=st.characters(codec="ascii")), st.sampled_from(CONTEXTS))
    def law(made: str, context: str) -> None:
        match = made_by.fullmatch(made)
        assert match is not None
        within = match.lastindex if listed else None
        secret = match[within or 0]
        assume(is_even(secret))
        assert theirs.search(made), f"its own expression does not find {made}"
        text = made if within else context.format(made)
        assume(theirs.search(text))  # it may ask for something around it
        left = SCRUB(text.encode()).text.decode()
        pieces = (secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1))
        assert not any(piece in left for piece in pieces), f"{left} is left of {text}"

    law()


def test_nothing_is_listed_that_is_there_no_more() -> None:
    plugins = {plugin.__name__: plugin for plugin in get_mapping_from_secret_type_to_class().values()}
    assert {*MADE, *NOT_BY_SHAPE} <= plugins.keys()
    for name, made in MADE.items():
        assert len(made) == len(list(plugins[name].denylist)), name
    assert not [name for name in NOT_BY_SHAPE if isinstance(getattr(plugins[name], "denylist", None), list | tuple)]
