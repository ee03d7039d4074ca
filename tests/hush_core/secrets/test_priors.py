"""Priors err upwards: whatever a person could have chosen is weak, machine-made tokens are not."""

import base64
import math
import random
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sizes import seeds

from hush_core.secrets.priors import (
    ASSIGNED,
    ASSIGNED_PASSWORD,
    LEVEL_BITS,
    LEVELS,
    NEARBY,
    PASSWORD_BITS,
    WEAK_BITS,
    guess_bits,
    published_bits,
)

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def draw(n: int, alphabet: str, seed: int) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=n))


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize(
    ("rule", "prefix", "length", "alphabet"),
    [
        ("github-pat", "ghp_", 36, ALNUM),
        ("aws-access-token", "AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        ("aws-secret-access-key", "", 40, ALNUM + "+/"),
        ("gcp-api-key", "AIza", 35, ALNUM + "-_"),
        ("stripe-access-token", "sk_live_", 24, ALNUM),
        ("slack-bot-token", "xoxb-123456789012-123456789012-", 24, ALNUM),
        ("twilio-api-key", "SK", 32, HEX),
        ("some-new-provider.1", "tok_", 40, ALNUM),
        ("some-new-provider", "", 32, HEX),
    ],
)
def test_machine_made_tokens_are_strong(rule, prefix, length, alphabet, seed):
    assert guess_bits(f"betterleaks.{rule}", (prefix + draw(length, alphabet, seed)).encode()) >= WEAK_BITS


@given(st.sampled_from([ASSIGNED, ASSIGNED_PASSWORD, NEARBY, "betterleaks.new"]), st.text(max_size=40))
@example(ASSIGNED_PASSWORD, "İstanbul-İzmir-4711")
def test_no_letter_of_any_script_stops_the_scanner(rule, value):
    assert 0 <= guess_bits(rule, value.encode()) < math.inf


@pytest.mark.parametrize("rule", ["betterleaks.generic-credential-uri", ASSIGNED_PASSWORD])
def test_passwords_are_never_worth_more_than_ten_bits(rule):
    assert guess_bits(rule, draw(40, ALNUM, 3).encode()) == PASSWORD_BITS


def test_only_what_is_secret_in_a_token_counts():
    head = base64.urlsafe_b64encode(b'{"alg":"HS256"}').decode().rstrip("=")
    claims = base64.urlsafe_b64encode(draw(60, ALNUM, 1).encode()).decode()
    assert guess_bits("betterleaks.jwt", f"{head}.{claims}.".encode()) == 0
    assert guess_bits("betterleaks.jwt", f"{head}.{claims}.{draw(43, ALNUM, 2)}".encode()) > 33.2
    repeated = "ghp_" + "ab12" * 9
    assert guess_bits("betterleaks.github-pat", repeated.encode()) < WEAK_BITS
    time_based = "b6f0c3a2-7e1d-11ee-b962-0242ac120002"
    assert guess_bits("betterleaks.heroku-api-key", time_based.encode()) == 0
    short_pin = b"sk_live_1234"
    assert guess_bits("betterleaks.stripe-access-token", short_pin) < 14


@pytest.mark.parametrize(
    ("rule", "fixed", "drawn", "alphabet"),
    [
        ("aws-access-key-id", "AKIA{}", 16, 2**2.5),  # 40 of 80 bits name the account
        ("discord-webhook", "https://discord.com/api/webhooks/123456789012345678/{}", 68, 64),
        ("discord-bot-token", "MTIzNDU2Nzg5MDEyMzQ1Njc4.GhIjKl.{}", 38, 64),
        ("azure-client-secret", "abc8Q~{}", 34, 66),
        ("mailgun-key", "key-{}", 32, 16),
        ("mailchimp-api-key", "{}-us12", 32, 16),
        ("telegram-bot-token", "7123456789:AA{}", 33, 64),
        ("new-relic-key", "NRAK-{}", 27, 36),
        ("crates-io-token", "cio{}", 32, 62),
        ("django-secret-key", "django-insecure-{}", 50, 50),
    ],
)
def test_our_own_types_claim_no_more_than_what_their_issuer_draws(rule, fixed, drawn, alphabet):
    for seed in range(20):
        text = draw(
            drawn,
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" if alphabet < 16 else HEX if alphabet == 16 else ALNUM,
            seed,
        )
        claim = guess_bits(f"hush.{rule}", fixed.format(text).encode())
        assert WEAK_BITS < claim <= drawn * math.log2(alphabet)
    assert guess_bits(f"hush.{rule}", fixed.format("a" * drawn).encode()) < WEAK_BITS


def test_a_key_is_strong_and_a_dummy_key_is_not():
    armour = "-----{} RSA PRIVATE KEY-----"
    body = "\n".join(draw(64, ALNUM, i) for i in range(10))
    key = f"{armour.format('BEGIN')}\n{body}\n{armour.format('END')}".encode()
    assert guess_bits("betterleaks.private-key", key) > 100
    dummy = f"{armour.format('BEGIN')}\n{'A' * 64}\n{'A' * 64}\n{armour.format('END')}".encode()
    assert guess_bits("betterleaks.private-key", dummy) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rule", "make"),
    [
        (ASSIGNED, lambda chance: "".join(chance.choices(ALNUM, k=16))),
        (NEARBY, lambda chance: "".join(chance.choices(HEX, k=chance.randint(12, 64)))),
        ("betterleaks.github-pat", lambda chance: "ghp_" + "".join(chance.choices(ALNUM, k=36))),
        (
            "betterleaks.stripe-access-token",
            lambda chance: "sk_live_" + "".join(chance.choices("ab12Z", k=24)),
        ),
    ],
)
def test_priors_of_thousands_of_values_are_few_never_lower_and_pay_for_what_they_tell(rule, make):
    """Of 16 random characters the estimates are some hundred floats: 4.7 bits about a value were published."""
    chance = random.Random(rule)
    estimates = [guess_bits(rule, make(chance).encode()) for _ in range(2_000)]
    published = [published_bits(estimate) for estimate in estimates]
    assert set(published) <= set(LEVELS) and len(set(published)) <= 2**LEVEL_BITS
    assert len(set(estimates)) > 2 * len(set(published))
    for estimate, level in zip(estimates, published, strict=True):
        assert level == 0 or level + math.log2(len(LEVELS)) <= estimate  # what the level tells is paid for
        assert 2.0**-level >= 2.0**-estimate  # so no prior is lower than before


def test_levels_are_what_they_are_said_to_be():
    assert LEVEL_BITS == math.log2(len(LEVELS)) == 3 and WEAK_BITS in LEVELS and LEVELS[0] == 0
    for level in LEVELS[1:]:
        assert published_bits(level + 3) == level > published_bits(level + 2.99)


def test_an_adversary_who_sees_the_level_gains_no_more_than_was_charged():
    """Every value exactly as likely as its estimate allows: on the average over the levels the best guess of who
    sees one is no better than the prior that is published with it."""
    chance = random.Random(5)
    for _ in range(200):
        mass = [chance.random() ** 9 for _ in range(300)]
        prior = [m / sum(mass) for m in mass]
        levels = [published_bits(-math.log2(p)) for p in prior]
        seen = {
            level: [p for p, at in zip(prior, levels, strict=True) if at == level] for level in set(levels)
        }
        ratio = sum(max(of) / 2.0**-level for level, of in seen.items())
        assert ratio <= 1
        for level, of in seen.items():
            if sum(of) >= 1 / len(LEVELS):
                assert max(of) / sum(of) <= 2.0**-level


def test_checksum_characters_are_no_random_ones():
    """A checksum is computed from the rest: who counts its six characters claims 35 bits that are not there."""
    for rule, prefix in (("github-pat", "ghp_"), ("npm-access-token", "npm_")):
        for seed in range(50):
            short = prefix + draw(4, ALNUM, seed)
            claim = guess_bits(f"betterleaks.{rule}", (short + draw(6, ALNUM, seed + 1000)).encode())
            assert claim <= 4 * math.log2(62)
            full = guess_bits(f"betterleaks.{rule}", (prefix + draw(36, ALNUM, seed)).encode())
            other = guess_bits(
                f"betterleaks.{rule}", (prefix + draw(36, ALNUM, seed)[:-6] + "zzzzzz").encode()
            )
            assert full == other  # what stands in the checksum tells nothing, and counts nothing
            assert 0 < full <= 30 * math.log2(62)
    region = guess_bits("hush.mailchimp-api-key", b"0123456789abcdef0123456789abcdef-us12")
    assert region == guess_bits("hush.mailchimp-api-key", b"0123456789abcdef0123456789abcdef-us99")
