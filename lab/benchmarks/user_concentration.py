"""How concentrated users' averaged gradients are: the τ/C at which the concentration filter would pass them.

`hush replicate concentration_filter` has the τ/C below which that filter adds less noise than user-wise DP-SGD.
Here is the τ/C that the users of a folder of user_level_tables.py (--work) have at the public start; the paper says
about 1 of its data.
"""

from __future__ import annotations

import argparse
import math
import pickle
from pathlib import Path

import numpy as np
import torch

from hush_core.config import LoraConfig
from hush_core.training import LanguageModel, adapted, load_model
from hush_core.training.data import micro_batches
from lab.replications.concentration import concentration_score, pairwise_distances

UNITS, RECORDS = 300, (1, 2, 5, 10)
"""Units whose gradients are taken, and how many of their records are averaged."""
PAPER = "Chua et al.: the filter adds less below τ/C = 0.1, and τ/C is about 1 on their data"


def tau_of(gradients: np.ndarray) -> float:
    """The least τ at which the concentration score of (N, d) gradients is 4N/5: before noise, the filter passes."""
    distances = pairwise_distances(gradients)
    ordered = np.sort(distances, axis=None)
    tau = float(ordered[math.ceil(0.8 * distances.size) - 1])
    assert concentration_score(distances, tau) >= 0.8 * len(distances)
    return tau


def unit_gradients(
    model: LanguageModel, texts: list[bytes], users: np.ndarray, records: int, units: int
) -> np.ndarray:
    """(units, d) the mean gradient of the first `records` records of each unit; of the first units."""
    generator = np.random.default_rng(0)
    trained = [p for p in model.network.parameters() if p.requires_grad]
    rows = []
    for user in range(units):
        own = [texts[i] for i in np.flatnonzero(users == user)[:records]]
        sequences, _ = model.encode(own)
        (batch,) = micro_batches(sequences, model.objective, len(own), generator)
        model.network.zero_grad()
        model.losses(model.network, batch).mean().backward()
        rows.append(torch.cat([p.grad.flatten() for p in trained]).double().numpy())
    return np.stack(rows)


def measured(work: Path) -> None:
    """Of the users that user_level_tables.py read: τ with gradients clipped to 1, and τ over their median norm."""
    data = pickle.loads((work / "data.pickle").read_bytes())
    model = adapted(load_model(work / "start"), LoraConfig(rank=8, alpha=16), seed=0)
    for records in RECORDS:
        found = unit_gradients(model, data.texts, data.users, records, UNITS)
        norms = np.linalg.norm(found, axis=1)
        clipped = found / np.maximum(norms, 1.0)[:, None]
        print(
            f"{data.name}, k = {records}: median norm {np.median(norms):.2f}; τ/C = {tau_of(clipped):.2f} clipped "
            f"to C = 1, {tau_of(found) / np.median(norms):.2f} unclipped, at C = that norm",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="a data set's folder of user_level_tables.py"
    )
    measured(parser.parse_args().work)
    print(PAPER)


if __name__ == "__main__":
    main()
