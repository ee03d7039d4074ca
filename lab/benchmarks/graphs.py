"""The secret graphs that several benchmarks share. Run alone, it prints their shapes.

Each gives (number of examples, edges, secrets); edges are unique and sorted by example and secret.
"""

import itertools

import numpy as np
import polars as pl

PRIOR = 1e-10
EXAMPLES_A_SECRET = 15
"""Of the paper's graph: 1.5 million examples for 100,000 secrets."""

CODE_PRIORS = (2**-33.2, 1e-6)
CODE_TARGETS = (1e-5, 2e-4, 1e-3)
CONFIDENTIAL = 0.7
"""The share of a code base's files that lie where any secret may; the rest is public or bought."""
KINDS = {"directory": 0.4, "owner": 0.25, "contributor": 0.25, "credential": 0.1}
"""Shares of the secrets of a code base."""
SMALLEST_DIRECTORY = 5


def paper_graph(secrets: int, seed: int = 0) -> tuple[int, pl.DataFrame, pl.DataFrame]:
    """50 to 100 draws a secret from examples of Pareto(1.5) popularity."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(50, 101, secrets)
    examples = EXAMPLES_A_SECRET * secrets
    popularity = rng.pareto(1.5, examples) + 0.1
    upto = np.cumsum(popularity / popularity.sum())
    # sorted first, which keeps the search near the memory it read last; the order is then taken away again
    example = np.searchsorted(upto, np.sort(rng.random(int(draws.sum()))))
    example = np.minimum(example, examples - 1).astype(np.uint64)
    rng.shuffle(example)
    edges = _edges(example, np.repeat(np.arange(secrets, dtype=np.uint64), draws))
    table = pl.DataFrame(
        {
            "secret_id": np.arange(secrets, dtype=np.uint32),
            "prior": np.full(secrets, PRIOR),
            "posterior": rng.uniform(2e-4, 1e-3, secrets),
        }
    )
    return examples, edges, table


def code_graph(
    files: int = 50_000, secrets: int = 500, seed: int = 0
) -> tuple[int, pl.DataFrame, pl.DataFrame]:
    """A code base: secrets are nested directories, their owners, contributors and pasted credentials.

    Files are numbered in the order of their paths, so a directory is an interval. Teams own directories and overlap
    with them, their sizes follow Zipf's law; a contributor's files lie in many directories; a credential stands in
    1 to 30 files. About a third of the files hold no secret.
    """
    rng = np.random.default_rng(seed)
    confidential = int(CONFIDENTIAL * files)
    number = {kind: round(share * secrets) for kind, share in KINDS.items()}
    number["credential"] += secrets - sum(number.values())
    tree = _directories(confidential, rng)
    members = _largest_and_others(tree, number["directory"], rng)
    members += [_owned(tree, 0.4 * confidential / (i + 1), rng) for i in range(number["owner"])]
    members += [_contributed(tree, confidential, rng) for _ in range(number["contributor"])]
    members += [
        rng.choice(confidential, rng.integers(1, 31), replace=False) for _ in range(number["credential"])
    ]
    sizes = [len(files_of) for files_of in members]
    edges = _edges(
        np.concatenate(members).astype(np.uint64), np.repeat(np.arange(secrets, dtype=np.uint64), sizes)
    )
    kinds = [kind for kind, count in number.items() for _ in range(count)]
    table = pl.DataFrame(
        {
            "secret_id": np.arange(secrets, dtype=np.uint32),
            "kind": kinds,
            "name": [f"{kind}-{i:04d}" for i, kind in enumerate(kinds)],
            "prior": np.exp(rng.uniform(*np.log(CODE_PRIORS), secrets)),
            "posterior": rng.choice(CODE_TARGETS, secrets),
        }
    )
    return files, edges, table


def _edges(example: np.ndarray, secret: np.ndarray) -> pl.DataFrame:
    pairs = np.sort(example << np.uint64(32) | secret)
    # an example drawn twice for a secret holds it once
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    return pl.DataFrame(
        {
            "example_id": (pairs >> np.uint64(32)).astype(np.uint32),
            "secret_id": (pairs & np.uint64(2**32 - 1)).astype(np.uint32),
        }
    )


def _directories(files: int, rng: np.random.Generator) -> np.ndarray:
    """(first, past the last) file of every directory below the root, shape (d, 2): shares of children by Zipf."""
    found, open_ = [], [(0, files)]
    while open_:
        first, end = open_.pop()
        shares = rng.permutation(1 / np.arange(1, rng.integers(3, 10)))
        cuts = first + np.round((end - first) * np.append(0, np.cumsum(shares) / shares.sum())).astype(int)
        children = [c for c in itertools.pairwise(cuts) if c[1] - c[0] >= SMALLEST_DIRECTORY]
        found += children
        open_ += children
    return np.array(found)


def _largest_and_others(tree: np.ndarray, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The largest directories, a tenth of `count`, and others at random."""
    sizes = tree[:, 1] - tree[:, 0]
    order = np.argsort(-sizes, kind="stable")
    largest, others = order[: count // 10], order[count // 10 :]
    # by the root of their size, else nearly all were leaves
    chances = np.sqrt(sizes[others]) / np.sqrt(sizes[others]).sum()
    others = rng.choice(others, count - len(largest), replace=False, p=chances)
    chosen = np.concatenate([largest, others])
    return [np.arange(*tree[d]) for d in chosen]


def _owned(tree: np.ndarray, size: float, rng: np.random.Generator) -> np.ndarray:
    """Directories at random until they hold about `size` files."""
    sizes = tree[:, 1] - tree[:, 0]
    owned: list[np.ndarray] = []
    while size >= SMALLEST_DIRECTORY or not owned:
        fitting = np.flatnonzero(sizes <= max(size, SMALLEST_DIRECTORY))
        chosen = rng.choice(fitting, p=sizes[fitting] / sizes[fitting].sum())
        owned.append(np.arange(*tree[chosen]))
        size -= len(owned[-1])
    return np.concatenate(owned)


def _contributed(tree: np.ndarray, files: int, rng: np.random.Generator) -> np.ndarray:
    """Some files of many directories; the number of directories has a Pareto(1) tail."""
    directories = min(int(2 + 3 * rng.pareto(1.0)), files // 50)
    starts = rng.choice(tree[:, 0], directories)
    lengths = rng.geometric(0.2, directories)
    contributed = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return np.minimum(contributed, files - 1)


def main() -> None:
    for name, (examples, edges, _) in {"paper": paper_graph(1_000), "code": code_graph()}.items():
        sizes = edges["secret_id"].value_counts()["count"]
        tagged = edges["example_id"].n_unique()
        print(
            f"{name}: {examples:,} examples, {tagged / examples:.0%} of them tagged; {len(sizes):,} secrets in "
            f"{sizes.min():,} to {sizes.max():,}, median {sizes.median():,.0f}; {edges.height:,} edges"
        )


if __name__ == "__main__":
    main()
