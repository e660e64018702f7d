"""Keys of rarer issuers are found by their shape, and names that only begin alike are left.

Every sample is put together here, so that no file holds anything a scanner would take for a secret.
"""

from __future__ import annotations

import random
import string

import pytest

from mnemic.runtime.secrets.secrets import load_scrub

HEX = "0123456789abcdef"
LETTERS = string.ascii_letters + string.digits
SMALL = string.ascii_lowercase + string.digits
CAPITALS = string.ascii_uppercase + string.digits
SCRUB = load_scrub()


def made(length: int, alphabet: str = LETTERS) -> str:
    """Random characters, the same in every run."""
    return "".join(random.Random(f"{length}{alphabet}").choices(alphabet, k=length))


UUID = f"{made(8, HEX)}-{made(4, HEX)}-4{made(3, HEX)}-8{made(3, HEX)}-{made(12, HEX)}"
SHAPED = {
    "akamai-token": f"akab-{made(16, SMALL)}-{made(16, SMALL)}",
    "amazon-oauth-client-secret": "amzn1.oa2-cs.v1." + made(64, HEX),
    "apify-api-token": "apify_api_" + made(36),
    "axiom-token": "xaat-" + UUID,
    "azure-key": made(52) + "JQQJ99" + made(26),
    "backblaze-application-key": "K005" + made(27),
    "baidu-api-key": f"bce-v3/ALTAK-{made(21)}/{made(40, HEX)}",
    "bitbucket-http-token": "BBDC-" + made(44),
    "braintree-access-token": f"access_token$production${made(16, SMALL)}${made(32, HEX)}",
    "cerebras-api-key": "csk-" + made(48, SMALL),
    "clickhouse-cloud-api-secret": "4b1d" + made(38),
    "clickup-api-token": f"pk_{made(8, string.digits)}_{made(32, CAPITALS)}",
    "cloudflare-api-token": "cfut_" + made(40) + made(8, HEX),
    "cockroachdb-api-key": f"CCDB1_{made(22)}_{made(40)}",
    "contentful-token": "CFPAT-" + made(43),
    "cursor-api-key": "crsr_" + made(64, HEX),
    "databricks-api-token": "dose" + made(32, HEX),
    "deno-token": "ddp_" + made(36),
    "dropbox-access-token": "sl.u." + made(140),
    "duffel-api-token": "duffel_live_" + made(43),
    "e2b-api-key": "e2b_" + made(40, HEX),
    "firecrawl-api-key": "fc-" + made(32, HEX),
    "fireworks-api-key": "fw_" + made(24),
    "harness-api-key": f"pat.{made(22)}.{made(24, HEX)}.{made(20)}",
    "hubspot-access-token": "pat-na1-" + UUID,
    "infracost-api-token": "ico-" + made(32),
    "jina-api-key": "jina_" + made(32, HEX) + made(28),
    "langfuse-secret-key": "sk-lf-" + UUID,
    "llamacloud-api-key": "llx-" + made(48),
    "logfire-token": "pylf_v1_eu_" + made(43),
    "mailersend-api-token": "mlsn." + made(64, HEX),
    "matrix-access-token": f"syt_{made(9)}_{made(20, string.ascii_letters)}_{made(6)}",
    "mongodb-service-account-secret": "mdb_sa_sk_" + made(40),
    "neon-api-key": "napi_" + made(64, SMALL),
    "netbird-token": "nbp_" + made(36),
    "openai-api-key": "sess-" + made(40),
    "openshift-token": "sha256~" + made(43),
    "packagist-token": "packagist_uut_" + made(68, HEX),
    "readme-api-token": "rdme_" + made(70, SMALL),
    "runpod-api-key": "rpa_" + made(42, CAPITALS),
    "salesforce-session-id": f"00D{made(12)}!{made(96)}",
    "scalingo-api-token": "tk-us-" + made(48),
    "segment-api-token": "sgp_" + made(64),
    "shippo-api-token": "shippo_live_" + made(40, HEX),
    "shopify-token": "shptka_" + made(32, HEX),
    "slack-token": "xoxd-" + made(60).replace("a", "%2B"),
    "sonar-token": "squ_" + made(40, HEX),
    "stytch-secret": f"secret-live-{made(35)}=",
    "tencent-secret-id": "AKID" + made(32),
    "together-api-key": "tgp_v1_" + made(43),
    "trello-token": "ATTA" + made(64, HEX) + made(8, "0123456789ABCDEF"),
    "twitch-oauth-token": "oauth:" + made(30, SMALL),
    "typeform-api-token": "tfp_" + made(44),
    "vercel-token": "vcp_" + made(56),
    "voyage-api-key": "pa-" + made(43),
    "wakatime-api-key": "waka_" + UUID,
    "yandex-token": "y0_" + made(58),
    "youtrack-token": f"perm:{made(8)}==.{made(6)}==.{made(30)}",
    "zapier-webhook-url": f"https://hooks.zapier.com/hooks/catch/{made(7, string.digits)}/{made(7, SMALL)}",
}


@pytest.mark.parametrize("kind", SHAPED)
def test_a_key_is_taken_whole_by_its_shape(kind: str) -> None:
    for around in ("{}", "here: {}\nand so on", r"{{\"x\": \"{}\"}}", "(`{}`)"):
        done = SCRUB(around.format(SHAPED[kind]).encode())
        assert (done.text.decode(), done.found) == (around.format(f"[secret: {kind}]"), ((kind, 1),))


@pytest.mark.parametrize(
    "text",
    [
        "fw_updateStatusNotification fw_loadable_segment_count_12",
        "pa-1234567890-of-the-long-name-of-a-page-in-a-wiki",
        "sha256:" + made(64, HEX),
        "pat-na1-00000000-0000-0000-0000-000000000000-and-more",
        "oauth:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa key_" + made(40, HEX),
        "https://hooks.zapier.com/hooks/catch",
        "data:font/woff2;base64," + made(2000, LETTERS + "+/"),
    ],
)
def test_what_only_begins_like_a_key_is_left(text: str) -> None:
    assert SCRUB(text.encode()).found == ()
