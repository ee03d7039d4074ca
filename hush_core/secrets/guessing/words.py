"""What people make values of: words by how common they are, and how likely letters follow each other.

The lists are those of zxcvbn (Wheeler, USENIX Security 2016): leaked passwords, names, and words of Wikipedia and
of films, by rank. Its own estimate is not used: it gives 105 bits to md5("password") and 133 to a phrase in base64.
"""

import hashlib
import marshal
import math
import sys
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from hush_core.secrets.kept import keep, kept

OF_TRADE = """
acme api apis app apps auth aws azure backend backup beta bot bucket build bus cache cert ci client cloud
cluster conf config corp cron csv data database db dbs debug default deploy dev devel dns docker edge email
endpoint eng env etl eu frontend gateway gcp git github gitlab grafana graphql grpc guest hash hook host
html http https hub id iam image infra int internal ip jdbc jenkins job json jwt kafka key keys kube
kubernetes lambda ldap live local localhost log login mail main master mongo mongodb monitor mq mysql nginx
node nodes nonprod null oauth odbc ops oracle org passwd passphrase payment pg php pin pipeline port
postgres postgresql preprod private prod production proxy public pwd qa queue rabbitmq rds redis repo rest
root rsa sa salt samba sandbox sdk secret secrets secure server service session sftp shared sign signing sip
smtp snmp sql srv ssh ssl sso stage staging stg storage store svc sys sysadmin system temp template
terraform test testing token tokens tls tmp uat uk uri url us user username utf vault vm vpn web webhook
wiki wordpress worker wp www xml xmpp yaml alg typ hs256 rs256 es256 iat exp sub iss aud nbf jti kid scope
role ctx ns ref rev src dst req res msg uid gid pid changeme changeit letmein dummy example sample
placeholder insert replace redacted todo fixme foobar foo bar baz qux quux lorem ipsum dolor sit amet
consectetur adipiscing elit hunter c0ffee badc0de 1337 31337
""".split()  # noqa: SIM905
_RANK_OF_TRADE = 500

CONSTANTS = (
    "3141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067"
    "98214808651 2718281828459045235360287471352662497757247093699959574966967627724076630353547594571382"
    "17852516642742746639193 141421356237309504880168872420969807856967187537694807317667973799 161803398"
    "874989484820458683436563811772030917 112358132134558914423337761098715972584 24816326412825651210242"
    "0484096819216384327686553613107226214452428810485 23571113171923293137414347535961677173798389971011"
    "0310710911312713 149162536496481100121144169196225256289324361 243f6a8885a308d313198a2e03707344a4093"
    "822299f31d0082efa98ec4e6c89452821e638d01377be5466cf34e90c6cc0ac29b7c97c50dd 6a09e667f3bcc908bb67ae85"
    "84caa73b3c6ef372fe94f82ba54ff53a5f1d36f1510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b 6a09e667bb6"
    "7ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19 67452301efcdab8998badcfe10325476c3d2e1f0 01234"
    "56789abcdeffedcba9876543210 9e3779b97f4a7c15f39cc0605cedc834 00112233445566778899aabbccddeeff deadbe"
    "ef cafebabe feedface baadf00d 0badc0de decafbad facefeed cafed00d deadc0de 8badf00d deadbabe 1badb00"
    "2"
)
"""Digits that everybody can compute: pi, e, roots, Fibonacci's numbers, powers, primes, what ciphers begin with."""

MOST = 24
"""Longest word that is looked up."""
_OTHER = 26
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
INDEX = {letter: i for i, letter in enumerate(_LETTERS)}


@cache
def _lists() -> dict[str, list[str]]:
    """zxcvbn's, alone: the package makes tables of its own of them when it is imported."""
    folder = find_spec("zxcvbn").submodule_search_locations[0]
    spec = spec_from_file_location("zxcvbn.frequency_lists", Path(folder) / "frequency_lists.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FREQUENCY_LISTS


@cache
def _tables() -> tuple[dict[str, float], frozenset[str], list[float]]:
    """`word_bits`, `heads` and `letter_bits`, out of the folder of `keep_in` where it has them."""
    made = hashlib.sha256(Path(__file__).read_bytes() + version("zxcvbn").encode()).hexdigest()[:32]
    name = f"{made}-{sys.implementation.cache_tag}.words"
    if (data := kept(name)) is None:
        words = _word_bits()
        tables = words, frozenset(word[:4] for word in words if len(word) >= 4), _letter_bits()
        keep(name, marshal.dumps(tables))
        return tables
    return marshal.loads(data)  # type: ignore[no-any-return]


def word_bits() -> dict[str, float]:
    """A word → log2 of its best rank in any list; words of at least two characters."""
    return _tables()[0]


def heads() -> frozenset[str]:
    """The first four characters of words: what begins otherwise need not be looked up."""
    return _tables()[1]


def letter_bits() -> list[float]:
    """-log2 P(letter | the two before it), at [(a·27 + b)·27 + c]; 26 represents "no letter"."""
    return _tables()[2]


def _word_bits() -> dict[str, float]:
    best = dict.fromkeys(OF_TRADE, math.log2(_RANK_OF_TRADE))
    for words in _lists().values():
        for rank, word in enumerate(words, start=2):
            if 2 <= len(word) <= MOST:
                bits = math.log2(rank)
                if best.get(word, 99.0) > bits:
                    best[word] = bits
    return best


def _letter_bits() -> list[float]:
    words = [
        w
        for name, listed in _lists().items()
        if name != "passwords"
        for w in listed
        if w.isascii() and w.isalpha() and len(w) > 2
    ]
    text = np.frombuffer(("  " + "  ".join(words)).encode(), dtype=np.uint8)
    codes = np.where(text == 32, _OTHER, text - 97).astype(np.int64)
    triples = (codes[:-2] * 27 + codes[1:-1]) * 27 + codes[2:]
    counts = np.bincount(triples, minlength=27**3).reshape(27, 27, 27)[:, :, :26].astype(float)
    pairs = (
        counts.sum(axis=0, keepdims=True) + 0.5
    )  # where the pair was rarely seen: by the one letter before
    smooth = counts + 4.0 * pairs / pairs.sum(axis=2, keepdims=True)
    table = np.full((27, 27, 27), 20.0)
    table[:, :, :26] = -np.log2(smooth / smooth.sum(axis=2, keepdims=True))
    return table.ravel().tolist()


COMMONEST = 1000


@cache
def commonest_passwords() -> frozenset[bytes]:
    """The COMMONEST that were leaked most often: they are in texts of all kinds, as examples and numbers."""
    return frozenset(word.encode() for word in _lists()["passwords"][:COMMONEST])


def common_passwords() -> list[str]:
    """What a hash is likely to be of: passwords, words, names, numbers, and the usual changes to the first."""
    lists = _lists()
    plain = [*lists["passwords"], *lists["english_wikipedia"][:10_000], *OF_TRADE, ""]
    plain += [*lists["male_names"], *lists["female_names"]]
    plain += [f"{n:0{width}d}" for width in (1, 2, 3, 4) for n in range(10**width)]
    first = [*lists["passwords"][:1000], *OF_TRADE]
    ends = "1 12 123 1234 ! 1! 123! @123 2020 2021 2022 2023 2024 2025 2026".split()  # noqa: SIM905
    changed = [f"{word}{end}" for word in first for end in ends]
    return list(
        dict.fromkeys(
            [*plain, *changed, *(w.capitalize() for w in [*first, *changed]), *map(str.upper, first)]
        )
    )
