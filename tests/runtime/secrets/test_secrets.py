"""The rules that ship find what issuers give out, leave ordinary text alone, and cost no more for a hostile one.

Every sample is put together here, so that no file holds anything a scanner would take for a secret.
"""

from __future__ import annotations

import base64
import random
import re
import string
import subprocess
import sys
import threading
import tomllib
from functools import partial
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.ports import Scrubbed
from mnemic.runtime.secrets.secrets import drop_private, load_scrub
from tests.paths import ROOT
from tests.waiting import BOUND_S

HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase
BASE32 = UPPER + "234567"
LETTERS = string.ascii_letters + string.digits
BASE64 = LETTERS + "+/"
SCRUB = load_scrub()


def made(length: int, alphabet: str = LETTERS) -> str:
    """Random characters, the same in every run."""
    return "".join(random.Random(f"{length}{alphabet}").choices(alphabet, k=length))


def block(kind: str, lines: int = 12, end: bool = True) -> str:
    """A key as OpenSSL writes it."""
    dashes = "-" * 5
    body = "\n".join(made(64, BASE64) if line else "MIIE" + made(60, BASE64) for line in range(lines))
    return f"{dashes}BEGIN {kind}{dashes}\n{body}" + (f"\n{dashes}END {kind}{dashes}" if end else "")


SHAPED = {
    "private-key": block("RSA PRIVATE" + " KEY"),
    "age-secret-key": "AGE-SECRET-KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "aws-access-token": "AK" + "IA" + made(16, BASE32),
    "aws-bedrock-api-key": "AB" + "SK" + made(120),
    "gcp-api-key": "AI" + "za" + made(35),
    "gcp-oauth-client-secret": "GOC" + "SPX-" + made(28),
    "gcp-oauth-token": "ya" + "29." + made(60),
    "azure-ad-client-secret": made(3) + "8Q~" + made(34),
    "digitalocean-token": "dop" + "_v1_" + made(64, HEX),
    "github-pat": "gh" + "p_" + made(36),
    "github-fine-grained-pat": "github" + "_pat_" + made(22) + "_" + made(59),
    "github-oauth": "gh" + "o_" + made(36),
    "github-app-token": "gh" + "s_" + made(36),
    "github-refresh-token": "gh" + "r_" + made(36),
    "gitlab-token": "gl" + "pat-" + made(20),
    "atlassian-api-token": "AT" + "ATT3" + made(186),
    "npm-access-token": "np" + "m_" + made(36),
    "pypi-upload-token": "py" + "pi-AgEIcHlwaS5vcmc" + made(80),
    "rubygems-api-token": "ruby" + "gems_" + made(48, HEX),
    "crates-io-token": "ci" + "o" + made(32),
    "docker-access-token": "dckr" + "_pat_" + made(27),
    "anthropic-api-key": "sk-" + "ant-api03-" + made(93) + "AA",
    "openai-api-key": "sk-" + "proj-" + made(74) + "T3" + "BlbkFJ" + made(74),
    "openrouter-api-key": "sk-" + "or-v1-" + made(64, HEX),
    "sk-api-key": "sk" + "-" + made(32, HEX),
    "huggingface-access-token": "hf" + "_" + made(34, string.ascii_letters),
    "groq-api-key": "gsk" + "_" + made(52),
    "xai-api-key": "xa" + "i-" + made(80),
    "stripe-access-token": "sk" + "_live_" + made(24),
    "mollie-api-key": "live" + "_" + made(30),
    "stripe-webhook-secret": "wh" + "sec_" + made(32),
    "square-access-token": "sq0" + "atp-" + made(22),
    "shopify-token": "shp" + "at_" + made(32, HEX),
    "slack-token": "xo" + "xb-" + made(12, string.digits) + "-" + made(13, string.digits) + "-" + made(24),
    "slack-webhook-url": "https://hooks.slack" + f".com/services/T{made(8)}/B{made(8)}/" + made(24),
    "discord-webhook-url": "https://discord" + f".com/api/webhooks/{made(18, string.digits)}/" + made(68),
    "discord-bot-token": "M" + made(25) + "." + made(6) + "." + made(38),
    "telegram-bot-api-token": made(9, string.digits) + ":AA" + made(33),
    "sendgrid-api-token": "S" + "G." + made(22) + "." + made(43),
    "mailgun-api-key": "ke" + "y-" + made(32, HEX),
    "mailchimp-api-key": made(32, HEX) + "-us" + "14",
    "twilio-api-key": "S" + "K" + made(32, HEX),
    "databricks-api-token": "da" + "pi" + made(32, HEX),
    "hashicorp-tf-api-token": made(14) + ".atlas" + "v1." + made(64),
    "vault-token": "hv" + "s." + made(90),
    "grafana-token": "gl" + "sa_" + made(32) + "_" + made(8, HEX),
    "sentry-token": "sntry" + "u_" + made(64, HEX),
    "linear-api-key": "lin" + "_api_" + made(40),
    "notion-api-token": "nt" + "n_" + made(46),
    "tailscale-key": "ts" + "key-auth-" + made(17) + "-" + made(32),
    "jwt": "ey" + "J" + made(33) + ".ey" + "J" + made(60) + "." + made(43),
}
IN_PLACE = {
    "url-password": ("postgres://app:", "tr0ub4dor", "@db:5432/x"),
    "authorization-header": ("curl -H 'Authorization: Bearer ", made(40), "' https://x.org"),
    "command-line-password": ("mysql -h db --password=", "tr0ub4dor", " x"),
    "command-line-token": ("deploy --api-key ", made(32), " --now"),
    "netrc-password": ("machine x.org login me password ", "tr0ub4dor", "\n"),
    "npm-access-token": ("//npm.x.org/:_authToken=", "9f8a7d6c-5b4e-4321-8fed-0a1b2c3d4e5f", "\nalways-auth=true"),
    "softlayer-api-key": ("https://api.softlayer" + ".com/soap/v3.1/", made(64, HEX), "/x"),
    "azure-account-key": ("AccountName=x;AccountKey=", made(86, BASE64) + "==", ";"),
    "azure-sas-signature": ("https://x.org/b?sv=2024&sig=", made(43) + "%3D", "&se=2026"),
    "aws-secret-access-key": ("AWS_SECRET_ACCESS_KEY=", made(40, BASE64), "\n"),
    "password": ("DB_PASSWORD=", "tr0ub,4(dor", "\nDB_HOST=x"),
    "generic-api-key": ('{"algolia_api_key": "', made(32, HEX), '"}'),
}
BASIC = base64.b64encode(b"me:tr0ub4dor").decode()

LEFT_ALONE = [
    "",
    "commit 5214ed2f0e1b3c7a9d8e4f6a1b2c3d4e5f607182",
    "session 019383ab-4c7d-7e1f-8a2b-3c4d5e6f7081 was resumed",
    "sha256:" + made(64, HEX),
    "integrity sha512-" + made(86, BASE64) + "==",
    "password: required, at least 8 characters",
    "The token limit is 200000, of which tokens_used=123456789012345678.",
    "def login(user: str, password: str | None = None, token=None) -> Token2: ...",
    "token = secrets.token_urlsafe(32)",
    "api_key = os.environ['OPENAI_API_KEY_2']",
    "api_key: ${{ secrets.DEPLOY_KEY_NUMBER_2 }}",
    "AWS_ACCESS_KEY_ID=" + "AK" + "IAIOSFODNN7EXAMPLE",
    "password = 'your_password_1'",
    "-----BEGIN CERTIFICATE-----\n" + made(64, BASE64) + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + made(64, BASE64) + "\n-----END PUBLIC KEY-----",
    "It starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + made(43, BASE64) + " me@host",
    "data:image/png;base64," + made(400, BASE64),
    "//npm.x.org/:_authToken=${NPM_TOKEN_OF_2026}",
    "cloud_key = settings.cloud_key_number2",
    "docker run -u 1000:1000 -e HOME=/home/me1 x",
    "https://user@host.org:8080/a1b2c3",
    "input[type=password]:focus2 { outline: 2px solid }",
    '<a id="pass_module" ></a> `#[pyo3(pass_module)]`',
    "[secret: aws-access-token] [secret: password]",
    "test_thatParserHandlesUtf8AndEmptys test_MultiTenantHttp2ConnectionPool test_abcdefghijklmnopqrstuvwxyzabcd",
    "test_parses_a_long_name_with_2_digits live_" + made(29) + " live_" + made(31) + " my_live_" + made(30),
    "live_" + made(30, HEX),
]


def scrubbed(text: str) -> tuple[str, dict[str, int]]:
    """What is left of a text, and what was found."""
    done = SCRUB(text.encode())
    return done.text.decode(), dict(done.found)


@pytest.mark.parametrize("kind", SHAPED)
def test_a_secret_with_a_shape_of_its_own_is_found(kind: str) -> None:
    for around in ("{}", "here: {}\nand so on", r"{{\"x\": \"{}\"}}", "(`{}`)"):
        assert scrubbed(around.format(SHAPED[kind])) == (around.format(f"[secret: {kind}]"), {kind: 1})


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("aws-access-token", "A3" + "TX" + made(16, BASE32)),
        ("gitlab-token", "GR13" + "48941" + made(20)),
        ("openai-api-key", "sk-" + "my-project_1-" + made(20) + "T3" + "BlbkFJ" + made(20)),
        ("telegram-bot-api-token", made(10, string.digits) + ":A" + "x" + made(33)),
        ("mollie-api-key", "test" + "_" + made(30)),
    ],
)
def test_other_forms_of_a_secret_are_found_too(kind: str, secret: str) -> None:
    assert scrubbed(f"here: {secret}.") == (f"here: [secret: {kind}].", {kind: 1})


@pytest.mark.parametrize("kind", IN_PLACE)
def test_a_secret_in_its_place_is_found_and_nothing_around_it_taken(kind: str) -> None:
    before, secret, after = IN_PLACE[kind]
    assert scrubbed(before + secret + after) == (f"{before}[secret: {kind}]{after}", {kind: 1})


def test_basic_authentication_is_found_by_what_it_says() -> None:
    found = scrubbed(f"-H 'Authorization: Basic {BASIC}'")
    assert found == ("-H 'Authorization: Basic [secret: authorization-header]'", {"authorization-header": 1})


@pytest.mark.parametrize("kind", ["PRIVATE", "EC PRIVATE", "OPENSSH PRIVATE", "ENCRYPTED PRIVATE"])
def test_a_private_key_is_taken_whole_however_it_was_printed(kind: str) -> None:
    key = block(kind + " KEY")
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(key.splitlines(), 1))
    for text in (key, key.replace("\n", "\\n"), key.replace("\n", "\r\n"), numbered.lstrip(" 1\t")):
        assert scrubbed(f"a {text} b") == ("a [secret: private-key] b", {"private-key": 1})
    assert scrubbed(f"a {block(kind + ' KEY', end=False)}\n\nand so on")[0] == "a [secret: private-key]\n\nand so on"


def test_a_private_key_of_pgp_and_one_that_is_encrypted_are_taken_with_their_headers() -> None:
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C\n\n"
    first, _, rest = block("RSA PRIVATE KEY", end=False).partition("\n")
    assert scrubbed(f"{first}\n{headers}{rest}\n")[0] == "[secret: private-key]\n"
    assert scrubbed(block("PGP PRIVATE KEY BLOCK"))[0] == "[secret: private-key]"


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_no_secret_comes_back_as_the_same_object(text: str) -> None:
    data = text.encode()
    done = SCRUB(data)
    assert done == Scrubbed(data, ())
    assert done.text is data


def test_nothing_is_found_in_the_example_project_and_the_transcripts() -> None:
    for folder in ("mnemic/example", "tests/fixtures/transcripts"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                assert SCRUB(path.read_bytes()).found == (), path


def test_every_rule_that_ships_has_an_id_that_a_mark_can_carry() -> None:
    data = tomllib.loads(files("mnemic.runtime.secrets").joinpath("rules.toml").read_text("utf-8"))
    for rule in [*data["shaped"], *data["placed"], *data["named"]]:
        assert re.fullmatch("[a-z0-9-]{1,60}", rule["id"])
        optional = {"entropy", "judge", "anywhere", "generic", "words", "names", "value", "before", "after"}
        assert rule.keys() <= {"id", "pattern", *optional}


@given(
    st.lists(
        st.sampled_from(
            [
                *(SHAPED[kind] for kind in ("github-pat", "aws-access-token", "sk-api-key", "jwt", "gitlab-token")),
                *("xoxb-", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", made(64), "tr0ub4dor", "XXXX"),
                *("password", "PASSWORD", "token", "api_key", "--token ", "--password ", "Bearer ", "-u a:", "is"),
                *("[secret: password]", "[secret", "[", "]", "https://a:", "@b", "?sig=", "<private>", "</private>"),
                *("**", "<b>", "</td>", " | ", " - ", "“", "”", ":\n", "：", "mot de passe", "пароль", " de x est "),
                *("sqlplus a/", "@db ", "create secret ", "--from-literal=a=", "vault write a b=", "net user a "),
                *("=", ": ", " ", '"', "'", "`", "\n", "\\n", "\x1b[31m", "-", ".", ",", "&", "(", "$", "example"),
            ]
        ),
        max_size=9,
    ).map(lambda parts: "".join(parts).encode())
)
def test_scrubbing_twice_is_scrubbing_once(text: bytes) -> None:
    once = SCRUB(text)
    assert SCRUB(once.text) == Scrubbed(once.text, ())


@given(
    text=st.lists(
        st.sampled_from(
            [
                *(SHAPED["github-pat"], SHAPED["jwt"], "tr0ub4dor", "password", "--token ", "<private>", "</private>"),
                *("<private ", ">", "=", ": ", " ", "\n", ",password,", "a,tr0ub4dor,c\n", "https://a:", "@b", "&"),
            ]
        ),
        max_size=9,
    ).map(lambda parts: "".join(parts).encode()),
    allow=st.lists(
        st.sampled_from(["tr0ub4dor", "password=tr0ub4dor", "tr0ub4dor@b", "tr0ub_*", "<private >", "a,tr0*"]),
        max_size=3,
    ),
)
def test_with_an_allow_list_scrubbing_twice_is_scrubbing_once(text: bytes, allow: list[str]) -> None:
    scrub = load_scrub(allow)
    once = scrub(text)
    assert scrub(once.text) == Scrubbed(once.text, ())


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_around_a_secret_everything_stays_byte_for_byte(before: str, after: str) -> None:
    before, after = (part.translate(dict.fromkeys(map(ord, "[=:@<"))) for part in (before, after))
    text = f"{before} {SHAPED['github-pat']} {after}".encode("utf-8", "surrogatepass")
    expected = f"{before} [secret: github-pat] {after}".encode("utf-8", "surrogatepass")
    assert SCRUB(text) == Scrubbed(expected, (("github-pat", 1),))


def test_what_is_private_goes_first_and_is_counted_among_the_rest() -> None:
    text = f"a <private>{SHAPED['jwt']}</private> b {SHAPED['github-pat']}".encode()
    assert SCRUB(text) == Scrubbed(b"a  b [secret: github-pat]", (("github-pat", 1), ("private", 1)))
    assert SCRUB(b" <private>a</private>\n") == Scrubbed(b"", (("private", 1),))


def test_a_mark_that_makes_a_tag_of_what_was_too_long_for_one_leaves_nothing_to_be_dropped_later() -> None:
    text = f"a <private {'gh' + 'p_' + made(100)}> b".encode()
    once = SCRUB(text)
    assert once == Scrubbed(b"a ", (("github-pat", 1), ("private", 1)))
    assert SCRUB(once.text) == Scrubbed(b"a ", ())


def test_what_is_private_goes_even_where_it_is_allowed() -> None:
    text = b"a <private>password=tr0ub4dor</private> password=tr0ub4dor"
    assert load_scrub(["<private>*", "tr0ub4dor"])(text) == Scrubbed(b"a  password=tr0ub4dor", (("private", 1),))


def test_without_scrubbing_only_what_is_private_goes() -> None:
    secret = SHAPED["github-pat"].encode()
    assert drop_private(b"<private>a</private>" + secret) == Scrubbed(secret, (("private", 1),))
    assert drop_private(secret).text is secret


@pytest.mark.parametrize(
    "piece",
    [
        *(b"a", b"a=", b"\0", b"\xff", b"token:", b"secret= ", b"--token ", b"sk-", b" eyJ0123456789.", b"://a:"),
        *(b"-----BEGIN PRIVATE KEY-----", b"[secret: password]", b"login a ", b"<private></private>", b"password is "),
        *(b"-----END PRIVATE KEY-----", b"A/b4" * 16 + b"\n", b",password,", b"a,password\n", b" from aaaaaa to b1 "),
        *(
            b"password for a ",
            b"postgres://a:",
            b"cookie: a=",
            b"echo a1b2c3 | ",
            b"password:\n",
            b"| password | a1 ",
            b"password</a><a>",
            b" /p:a",
            b" mysql -p",
            b"vault read -field=a ",
        ),
    ],
)
def test_a_long_hostile_text_is_gone_through_in_time(piece: bytes) -> None:
    """A quadratic step would take many minutes."""
    text = piece * (100_000 // len(piece))
    assert len(SCRUB(text).text) <= 2 * len(text)


@pytest.mark.parametrize(
    "before", [b"postgres://a:", b"mysql -p'", b"echo 'a", b"Cookie: sid=", b"user: ", b"openssl rand ", b"a,password,"]
)
@pytest.mark.parametrize("piece", [b"?password=a1b2c3&", b"?sig=a&", b"://a:b1c@d/"])
def test_what_waits_for_its_end_does_not_hold_up_what_is_found_meanwhile(before: bytes, piece: bytes) -> None:
    text = before + piece * (100_000 // len(piece))
    assert len(SCRUB(text).text) <= 2 * len(text)


def test_a_key_that_never_ends_is_gone_through_in_time() -> None:
    text = (block("PRIVATE KEY", end=False) + made(10_000, BASE64) * 100).encode()
    assert SCRUB(text) == Scrubbed(b"[secret: private-key]", (("private-key", 1),))


def test_threads_share_it() -> None:
    found: list[Scrubbed] = []
    text = f"a {SHAPED['jwt']} b".encode()
    threads = [threading.Thread(target=lambda: found.extend(map(SCRUB, [text] * 50))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)
    assert found == [Scrubbed(b"a [secret: jwt] b", (("jwt", 1),))] * 200


def test_nothing_is_loaded_before_the_first_text() -> None:
    code = (
        "import sys; from mnemic.runtime.secrets.secrets import drop_private, load_scrub; s = load_scrub();"
        " drop_private(b'a');"
        " print('re2' in sys.modules); s(b'a'); print('re2' in sys.modules)"
    )
    run = partial(subprocess.run, capture_output=True, text=True, timeout=BOUND_S, cwd=ROOT)
    done = run([sys.executable, "-c", code])
    assert (done.stderr, done.stdout.split()) == ("", ["False", "True"])


@pytest.mark.parametrize("text", ["*", "****", "a*", "AKIA**", "sk_*"])
def test_an_allowed_text_that_would_be_nearly_anything_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="nearly anything"):
        load_scrub([text])
