"""What was where at the last run, in a file that reveals nothing, so a reviewer sees only what changed.

>>> old = read_baseline(Path("baseline.json"), key)                       # doctest: +SKIP
>>> changes(old, baseline_of(secrets, edges, examples, key))              # doctest: +SKIP
Changes(12 new, 3 gone, 480 same)

An item is a secret in a file: (name, source, path). It does not depend on lines, on borders of chunks, on the
revision or on the mode: the items of a tree are among those of its history. Of a name that ends in a keyed
digest only the entry's id and that digest count, as rules and lines of a literal file are renamed.

The file holds one token an item: HMAC-SHA256 of the item under a key derived from the identity key, and 16 digits
more, by which the holder of the key can identify the config's entry. Without the key it reveals how many items
there are, and which of them two baselines share.
"""

import hmac
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hush_core.errors import InputError
from hush_core.files import write_whole

FORMAT = "hush baseline"
VERSION = 1
_TOKEN = re.compile(r"[0-9a-f]{80}")
_KEYED_NAME = re.compile(r"([^/]+)/.*:([0-9a-f]{12})", re.DOTALL)
ITEMS = ("token", "secret_id", "name", "kind", "source", "path")


@dataclass(frozen=True, repr=False)
class BaselineChanges:
    """Tokens, each sorted: only in the new baseline, only in the old one, in both."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    same: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Changes({len(self.new)} new, {len(self.gone)} gone, {len(self.same)} same)"


def items_of(
    secrets: pl.DataFrame,
    edges: pl.DataFrame,
    examples: pl.DataFrame,
    key: bytes,
    dropped: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Every item with its token: ITEMS, unique and sorted by token. It names files: for private places only.

    Args:
        secrets, edges, examples, dropped: as in `docs/reference/certificate_fields.rst`. What is left out of
            training is still in its file, and is an item; a weak secret has no secret_id.
    """
    pairs = (
        edges.select("example_id", "secret_id")
        .join(examples.select("example_id", "source", "path"), on="example_id")
        .select("secret_id", "source", "path")
        .unique()
        .join(secrets.select("secret_id", "name", "kind"), on="secret_id")
        .select("secret_id", "name", "kind", "source", "path")
    )
    if dropped is not None:
        out = dropped.select("name", "kind", "source", "path").unique()
        out = out.join(secrets.select("secret_id", "name"), on="name", how="left").select(pairs.columns)
        pairs = pl.concat([pairs, out]).unique()
    own = _derived(key)
    tokens = [_token(own, name, source, path) for _, name, _, source, path in pairs.iter_rows()]
    items = pairs.with_columns(token=pl.Series(tokens, dtype=pl.String)).select(ITEMS)
    return items.sort("token", "secret_id").unique("token", keep="first", maintain_order=True)


def baseline_of_items(items: pl.DataFrame, key: bytes) -> dict[str, Any]:
    """The baseline of the items of an extraction (`items_of`), JSON-able; the same for any order of rows."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "key": _check(_derived(key)),
        "items": items["token"].to_list(),
    }


def changes(old: dict[str, Any], new: dict[str, Any]) -> BaselineChanges:
    """What differs between two baselines.

    Raises:
        InputError: one is no baseline of this version, or they were made under different keys.
    """
    for baseline in (old, new):
        _validate(baseline, "baseline")
    if not hmac.compare_digest(old["key"], new["key"]):
        raise _wrong_key("baseline")
    before, after = set(old["items"]), set(new["items"])
    return BaselineChanges(
        tuple(sorted(after - before)), tuple(sorted(before - after)), tuple(sorted(before & after))
    )


def count_by_entry(tokens: Iterable[str], entries: Iterable[str], key: bytes) -> dict[str | None, int]:
    """How many of the tokens belong to each entry's id; None: to none of these."""
    own = _derived(key)
    counts: dict[str | None, int] = dict.fromkeys(entries, 0)
    known = [entry for entry in counts if entry is not None]
    other = 0
    for token in tokens:
        for entry in known:
            if _entry_tag(own, token[:64], entry) == token[64:]:
                counts[entry] += 1
                break
        else:
            other += 1
    return {**counts, None: other}


def read_baseline(path: Path, key: bytes) -> dict[str, Any]:
    """A baseline out of a file.

    Raises:
        InputError: it cannot be read, is no baseline, is of another version, or was made under another key.
    """
    try:
        baseline = json.loads(path.read_bytes())
    except OSError as error:
        hint = "name a baseline.json of an earlier report"
        raise InputError(str(path), error.strerror or "cannot be read", hint) from None
    except (ValueError, RecursionError):
        raise InputError(str(path), "is not JSON", "name a baseline.json of an earlier report") from None
    _validate(baseline, str(path))
    if not hmac.compare_digest(baseline["key"], _check(_derived(key))):
        raise _wrong_key(str(path))
    return baseline


def write_baseline(path: Path, baseline: dict[str, Any]) -> None:
    """Replace the file atomically and durably."""
    write_whole(path, json.dumps(baseline, indent=0, sort_keys=True).encode() + b"\n")


def _derived(key: bytes) -> bytes:
    """A key of our own: names of values are HMACs under the identity key itself."""
    return hmac.digest(key, b"hush baseline 1", "sha256")


def _check(own: bytes) -> str:
    return hmac.digest(own, b"check", "sha256").hex()[:32]


def _token(own: bytes, name: str, source: str, path: str) -> str:
    keyed = _KEYED_NAME.fullmatch(name)
    identity = [keyed[1], keyed[2]] if keyed else [name]
    item = hmac.digest(own, b"item " + json.dumps([identity, source, path]).encode(), "sha256").hex()
    return item + _entry_tag(own, item, name.partition("/")[0])


def _entry_tag(own: bytes, item: str, entry: str) -> str:
    return hmac.digest(own, f"entry {item} {entry}".encode(), "sha256").hex()[:16]


def _validate(baseline: Any, where: str) -> None:
    hint = "name a baseline.json that this version of hush wrote"
    if not isinstance(baseline, dict) or baseline.get("format") != FORMAT:
        raise InputError(where, "is no baseline", hint)
    if baseline.get("version") != VERSION:
        raise InputError(where, f"is of another version than {VERSION}", hint)
    items, check = baseline.get("items"), baseline.get("key")
    whole = isinstance(items, list) and all(isinstance(i, str) and _TOKEN.fullmatch(i) for i in items)
    if not whole or not isinstance(check, str) or not re.fullmatch(r"[0-9a-f]{32}", check):
        raise InputError(where, "is damaged", hint)


def _wrong_key(where: str) -> InputError:
    what = "was made under another identity key, so everything would look new"
    return InputError(where, what, "use the HUSH_HOME of that run, or continue without a baseline")
