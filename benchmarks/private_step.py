"""What does protection cost a training step? Private ÷ ordinary time and memory for the byte GPT, in one run.

    python benchmarks/private_step.py --out private_step.json

Time: both steps (forward, backward, AdamW; the private one with clipping and noise) take turns in one
process; medians. Memory: each step in a fresh process, its peak resident size above what it held before.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from hush_core.config import ModelConfig
from hush_core.training import SecureGaussian, byte_gpt, clipped_gradient_sum, per_example_losses
from hush_core.training.data import collate
from hush_core.training.module import make_optimizer
from hush_core.training.noise import clip_within_grid, noisy_sum


def make_steps(args: argparse.Namespace) -> dict[str, Callable[[], None]]:
    """The two steps, each on a model of its own, on the same random bytes."""
    shape = ModelConfig(layers=args.layers, width=args.width, heads=args.heads)
    rng = np.random.default_rng(0)
    batches = [
        collate([rng.bytes(args.context) for _ in range(args.micro_batch)]) for _ in range(args.micro_batches)
    ]
    size = args.micro_batch * args.micro_batches

    def ordinary() -> Callable[[], None]:
        model = byte_gpt(shape, args.context)
        optimizer = make_optimizer(model, "adamw", 1e-3)

        def step() -> None:
            for batch in batches:
                (per_example_losses(model, batch).sum() / size).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return step

    def private() -> Callable[[], None]:
        model = byte_gpt(shape, args.context)
        optimizer, noise = make_optimizer(model, "adamw", 1e-3), SecureGaussian()
        parameters = list(model.parameters())
        sizes = [p.numel() for p in parameters]
        rounds = iter(range(1 << 40))

        def step() -> None:
            bound = clip_within_grid(1.0, sum(sizes))
            total = torch.zeros(sum(sizes), dtype=torch.float64)
            for batch in batches:
                clipped = clipped_gradient_sum(model, batch, losses=per_example_losses, clip_norm=bound)
                total += torch.cat([gradient.flatten() for gradient in clipped.gradients.values()])
            noisy = noisy_sum(total.numpy(), noise, next(rounds), scale=1.0, clip_norm=1.0)
            gradient = torch.from_numpy(noisy / size).float()
            for parameter, part in zip(parameters, gradient.split(sizes), strict=True):
                parameter.grad = part.view_as(parameter)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return step

    return {"ordinary": ordinary, "private": private}


def measure_time(args: argparse.Namespace) -> dict[str, float]:
    """Median seconds a step."""
    steps = {name: make() for name, make in make_steps(args).items()}
    seen: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(args.repeats):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            seen[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seen.items()}


def measure_memory(args: argparse.Namespace) -> dict[str, float]:
    """Peak MiB that three steps add to a fresh process that holds the model."""
    out = {}
    for name in ("ordinary", "private"):
        command = [sys.executable, __file__, *sys.argv[1:], "--memory-of", name]
        # Without a fixed threshold glibc keeps freed blocks, and the peak shows its heap, not the step.
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        out[name] = float(done.stdout)
    return out


def peak_of(args: argparse.Namespace) -> float:
    step = make_steps(args)[args.memory_of]()
    before = resident_mib("VmRSS")
    for _ in range(3):
        step()
    return resident_mib("VmHWM") - before


def resident_mib(key: str) -> float:
    """From Linux' own books: getrusage's peak survives exec, so a child would report its parent's."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key + ":"))
    return int(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the result as JSON here")
    for name, default in (("layers", 2), ("width", 128), ("heads", 4), ("context", 256)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--micro-batch", type=int, default=32)
    parser.add_argument("--micro-batches", type=int, default=4, help="that make up one logical batch")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--memory-of", choices=("ordinary", "private"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.memory_of:
        print(peak_of(args))
        return
    seconds, memory = measure_time(args), measure_memory(args)
    result = {
        "model": {name: getattr(args, name) for name in ("layers", "width", "heads", "context")},
        "micro_batch": args.micro_batch,
        "micro_batches": args.micro_batches,
        "threads": args.threads,
        "torch": torch.__version__,
        "machine": platform.machine(),
        "ms_per_example": {
            name: 1e3 * value / (args.micro_batch * args.micro_batches) for name, value in seconds.items()
        },
        "peak_mib": memory,
        "time_ratio": seconds["private"] / seconds["ordinary"],
        "memory_ratio": memory["private"] / memory["ordinary"],
    }
    for name in ("ordinary", "private"):
        print(f"{name:9} {result['ms_per_example'][name]:7.2f} ms/example {memory[name]:8.0f} MiB")
    print(f"private / ordinary: time {result['time_ratio']:.3f}, memory {result['memory_ratio']:.3f}")
    if args.out:
        args.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
