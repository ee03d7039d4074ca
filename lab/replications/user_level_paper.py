"""The figures of Chua et al. 2024, Tables 1 to 6: perplexities a token of GPT-2 small, Enron mail and BookSum."""

from __future__ import annotations

SELECTIONS = ("random", "longest", "shortest", "highest_perplexity", "lowest_perplexity")
UNITS = {
    "Enron": {"records": 240_173, "held_out": 39_086, "mean": 13.2, "median": 2.0, "max": 5049, "min": 1},
    "BookSum": {"records": 9_600, "held_out": 1_431, "mean": 52.2, "median": 28.5, "max": 266, "min": 1},
}
EPSILONS = (1.0, 3.0, 8.0)


def _by_epsilon(rows: dict, epsilons: tuple = EPSILONS) -> dict:
    return {name: dict(zip(epsilons, found, strict=True)) for name, found in rows.items()}


GROUP_SELECTIONS = {
    "Enron": _by_epsilon(dict(zip(SELECTIONS, [
        (35.28, 31.50, 28.51), (35.00, 31.38, 28.29), (35.31, 31.96, 28.75), (35.30, 31.58, 28.46),
        (35.28, 31.69, 28.59)], strict=True))),
    "BookSum": _by_epsilon(dict(zip(SELECTIONS, [
        (27.34, 27.17, 27.02), (27.38, 27.17, 27.05), (27.43, 27.19, 27.04), (27.42, 27.19, 27.06),
        (27.39, 27.16, 27.03)], strict=True))),
}  # fmt: skip
"""Table 2, k = 10."""
WITH_NONE = (*EPSILONS, None)
GROUP_RECORDS = {
    "Enron": _by_epsilon(
        {2: (35.68, 32.04, 30.13, 23.01), 5: (34.06, 30.99, 28.77, 19.96), 10: (35.28, 31.50, 28.51, 19.53)},
        WITH_NONE,
    ),
    "BookSum": _by_epsilon(
        {2: (27.31, 27.14, 27.08, 26.07), 5: (27.34, 27.15, 27.05, 25.75), 10: (27.45, 27.17, 27.02, 25.62)},
        WITH_NONE,
    ),
}
"""Table 3; its 20 and 50 are left out. None: no noise."""
USER_SELECTIONS = {
    "Enron": _by_epsilon(dict(zip(("chunks", *SELECTIONS), [
        (34.01, 31.32, 29.87), (34.22, 31.85, 30.22), (34.47, 31.76, 30.54), (35.68, 32.91, 31.19),
        (34.36, 31.65, 30.16), (35.02, 31.53, 30.71)], strict=True))),
    "BookSum": _by_epsilon(dict(zip(("chunks", *SELECTIONS), [
        (27.31, 27.10, 26.93), (27.38, 27.16, 27.01), (27.38, 27.17, 27.02), (27.42, 27.16, 27.02),
        (27.41, 27.18, 27.04), (27.39, 27.16, 27.02)], strict=True))),
}  # fmt: skip
"""Table 4."""
USER_RECORDS = {
    "Enron": _by_epsilon(
        {2: (34.37, 31.31, 30.12, 22.87), 5: (35.02, 31.92, 30.29, 19.67), 10: (34.01, 31.32, 29.87, 18.64)},
        WITH_NONE,
    ),
    "BookSum": _by_epsilon(
        {2: (27.62, 27.29, 27.11, 24.38), 5: (27.38, 27.19, 27.02, 24.22), 10: (27.38, 27.18, 27.01, 24.12)},
        WITH_NONE,
    ),
}
"""Table 5."""
AT_THEIR_BEST = {
    "Enron": _by_epsilon({"group_privacy": (33.59, 31.05, 28.51), "user_wise": (33.36, 30.98, 28.32)}),
    "BookSum": _by_epsilon({"group_privacy": (27.42, 27.17, 27.00), "user_wise": (27.29, 27.15, 27.02)}),
}
"""Table 6; its ε = 0.5 is left out."""
