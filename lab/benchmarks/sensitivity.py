"""How far can one example move what is released? 10,000 neighbouring batches, made to be hard.

    python lab/benchmarks/sensitivity.py                     # some minutes, one core
    python lab/benchmarks/sensitivity.py --pairs 500

fp32 and bf16, all parameters and LoRA, batches of 1 to 4096: constant gradients, one token repeated, gradients
that cancel, factors of opposite sizes, huge, denormal and infinite ones, texts with losses × 1e-30 to 1e30
(tests/support/neighbours.py). Ratio: ‖sum − neighbour's sum‖ / C, before the noise. `moved`: pairs in
which the difference is not, to the bit, what the example adds alone. Then single examples on large layers.
Ends with status 1 if any ratio is above 1 or anything moved.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from neighbours import settings

from hush_core.training import clipped_gradient_sum

LARGE = ((256, 1024, 256), (768, 3072, 256), (768, 3072, 1024), (4096, 4096, 64), (4096, 4096, 4096))
"""rows, columns, tokens: constant gradients, which fp32 norms under-count most."""


def constant(rows: int, columns: int, tokens: int) -> float:
    """‖released‖ / C of one example whose gradient is one number everywhere."""
    layer, x = nn.Linear(rows, columns, bias=False), torch.full((1, tokens, rows), 0.1)

    def losses(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return layer(x).sum((1, 2))

    done = clipped_gradient_sum(layer, x, losses=losses, clip_norm=1.0)
    return float(done.gradients["weight"].norm())


def one_token(tokens: int = 32768, width: int = 64) -> float:
    """The same of an embedding that is asked for one row only."""
    layer = nn.Embedding(50, width)
    weights = 1 + torch.rand(1, tokens, 1, generator=torch.Generator().manual_seed(0))

    def losses(layer: nn.Module, ids: torch.Tensor) -> torch.Tensor:
        return (layer(ids) * weights).sum((1, 2))

    done = clipped_gradient_sum(layer, torch.full((1, tokens), 7), losses=losses, clip_norm=1.0)
    return float(done.gradients["weight"].norm())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--out", type=Path, help="write the result as JSON here")
    args = parser.parse_args()
    torch.set_num_threads(1)
    out: dict[str, dict[str, float]] = {}
    made = settings()
    for setting in made:
        pairs = -(-args.pairs // len(made))
        found = [setting.neighbours(seed) for seed in range(pairs)]
        ratios = np.array([one.ratio for one in found])
        out[setting.name] = {
            "pairs": pairs,
            "greatest": float(ratios.max()),
            "above": int((ratios > 1).sum()),
            "clipped": int((ratios > 0.99).sum()),
            "moved": sum(not one.alone for one in found),
        }
        row = out[setting.name]
        print(
            f"{setting.name:34}{pairs:6} pairs, greatest {row['greatest']:.9f} C, above C {row['above']}, "
            f"above 0.99 C {row['clipped']}, moved {row['moved']}",
            flush=True,
        )
    for shape in LARGE:
        out[f"constant {shape}"] = {"greatest": constant(*shape), "moved": 0}
    out["one token"] = {"greatest": one_token(), "moved": 0}
    for name in list(out)[len(made) :]:
        print(f"{name:34}{out[name]['greatest']:.9f} C", flush=True)
    if args.out:
        args.out.write_text(json.dumps(out, indent=2) + "\n")
    return int(any(not row["greatest"] <= 1 or row["moved"] for row in out.values()))


if __name__ == "__main__":
    sys.exit(main())
