"""What does protection cost a training step? Ours and the peers ÷ the non-private step, in one run.

    python lab/benchmarks/training_speed.py --out training_speed.json       # a quarter of an hour, one core
    python lab/benchmarks/training_speed.py --quick                         # a minute, no memory

A step: forward, backward, clip, accumulate over the micro-batches of a logical batch, noise, AdamW. All but
the non-private step run as hush trains (`kept_for_reuse`: freed memory is kept, and no collection of garbage
looks at what was there before); that one runs as PyTorch does by default, and as hush trains besides. The steps
take turns in one process; medians of --repeats (peers: of up to --peer-repeats); with one thread of CPU time,
so that a busy machine does little harm. GPT-2 small has T = 128 and micro-batches of 4: the peers run
there with --full only.

`ratio` is as measured, with a logical batch of 8 to 32. `B 2048` is extrapolated: what grows with the batch is
scaled; the `rest` (fresh sums, noise, AdamW) is not. Each clipped sum is compared with a float64 loop on two
examples (the shape with one layer): `wrong` above 2e-3. A peer that fails on tied weights is measured untied,
against the untied non-private step. `memory`: peak resident size above what the process held with its model,
in two steps, a fresh process each. bf16: autocast around the losses; ours and the non-private step only.

On a GPU (--times 32 or more fills it): CUDA events, tokens/s, and 6·parameters·tokens as a share of --peak-tflops.
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
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn
from training_costs import EXAMPLES, EXPECTED, noise_cost, sampler_cost
from training_peers import STEPS, Plain
from training_shapes import (
    CLIP,
    Shape,
    Tokens,
    losses_of,
    make_batches,
    make_model,
    named_shape,
    one_layer,
    reference,
    shapes,
)

from hush_core.memory import kept_for_reuse
from hush_core.training.placement import same_kernels

WRONG = 2e-3
"""Twice what the grid of a large matrix is charged with (docs/training.md, "Rounding")."""
PLAIN, STEADY = "non-private", "non-private, steady memory"
OURS = (PLAIN, STEADY, "hush", "hush, scaled")
PEER_SECONDS = 20.0
"""A peer that has taken longer is not repeated."""


class Clock:
    """Seconds between marks: CPU time at one thread, else wall time; events on a GPU."""

    def __init__(self, device: torch.device) -> None:
        self.cuda = device.type == "cuda"
        self.now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter

    def mark(self) -> object:
        if not self.cuda:
            return self.now()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, start: object, end: object) -> float:
        if not self.cuda:
            return end - start
        end.synchronize()
        return start.elapsed_time(end) / 1e3


def in_bf16(losses: Callable[[nn.Module, Tokens], Tensor], device: torch.device) -> Callable:
    def wrapped(model: nn.Module, batch: Tokens) -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, cache_enabled=False):
            values = losses(model, batch)
        return values.float()

    return wrapped


def make_step(shape: Shape, name: str, device: torch.device, *, untied: bool, bf16: bool) -> Plain:
    losses = losses_of(shape)
    model = make_model(shape, untied=untied).to(device)
    step = STEPS[PLAIN if name == STEADY else name]
    return step(model, in_bf16(losses, device) if bf16 else losses, 1.0, device)


def check(shape: Shape, name: str, *, quick: bool, untied: bool) -> float:
    """The greatest error of a clipped sum, relative to the whole sum's norm; both examples clipped."""
    small, (sums, batch) = one_layer(shape), reference(shape.name, quick, untied)
    step = STEPS[name](make_model(small, untied=untied), losses_of(small), CLIP, torch.device("cpu"))
    got, size = step.sums(batch), torch.stack([s.norm() for s in sums.values()]).norm()
    return float(max((got[n].double() - sums[n]).norm() for n in sums) / size)


def measure_times(
    shape: Shape, steps: dict[str, Plain], device: torch.device, repeats: dict[str, int]
) -> dict[str, dict[str, float]]:
    """name → medians, in seconds, of a later micro-batch, the rest of the step, and the step; warm, by turns.

    The first micro-batch also pays for fresh sums, once a step: what it takes more belongs to the rest.
    """
    clock, batches = Clock(device), make_batches(shape, device)
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for turn in range(max(repeats.values())):
        for name, step in steps.items():
            spent = sum(total for _, total in seen[name])
            if turn >= repeats[name] or (name not in OURS and spent > PEER_SECONDS):
                continue
            marks: list[object] = []
            memory = nullcontext() if name == PLAIN else kept_for_reuse()

            def stamped(marks: list[object] = marks) -> Iterator[Tokens]:
                for batch in batches:
                    marks.append(clock.mark())
                    yield batch

            kernels = same_kernels(device) if name.startswith("hush") else nullcontext()
            with memory, kernels:
                step.step(stamped(), lambda marks=marks: marks.append(clock.mark()))
                end = clock.mark()
            each = [clock.between(one, other) for one, other in pairwise(marks)]
            later = each[1:] or each
            seen[name].append((sum(later) / len(later), clock.between(marks[0], end)))
    out = {}
    for name, values in seen.items():
        micro, whole = (statistics.median(column) for column in zip(*values, strict=True))
        rest = statistics.median(total - one * len(batches) for one, total in values)
        out[name] = {"micro": micro, "rest": rest, "step": whole}
    return out


def measure_memory(args: argparse.Namespace, shape: Shape, name: str, untied: bool) -> float:
    """Peak MiB that two steps add to a fresh process that holds the model."""
    command = [sys.executable, __file__, "--threads", str(args.threads), "--memory-of", shape.name, name]
    command += ["--untied"] * untied + ["--quick"] * args.quick
    # Without a fixed threshold glibc keeps freed blocks, and the peak shows its heap, not the step.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def peak_of(args: argparse.Namespace) -> float:
    name, step = args.memory_of
    shape, cpu = named_shape(name, args.quick), torch.device("cpu")
    made, batches = make_step(shape, step, cpu, untied=args.untied, bf16=False), make_batches(shape, cpu)
    before = resident_mib("VmRSS")
    for _ in range(2):
        made.step(batches, lambda: None)
    return resident_mib("VmHWM") - before


def resident_mib(key: str) -> float:
    """From Linux' own books: getrusage's peak survives exec, so a child would report its parent's."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key + ":"))
    return int(line.split()[1]) / 1024


def measure_shape(args: argparse.Namespace, shape: Shape, device: torch.device) -> dict:
    """All variants of one shape; a peer that fails is a reason in words."""
    examples, notes, rows = shape.micro_batch * shape.micro_batches, {}, {}
    names = list(dict.fromkeys([*OURS, *STEPS]) if shape.peers and not args.no_peers else OURS)
    failed: list[str] = []
    for untied in (False, True):
        if untied:
            names = [PLAIN, *failed] if failed and not shape.lora else []
        steps = {}
        for name in names:
            try:
                if name not in (PLAIN, STEADY):  # every peer, and ours
                    error = check(shape, name, quick=args.quick, untied=untied)
                    notes[name] = f"wrong: {error:.0e}" if error > WRONG else f"error {error:.0e}"
                made = make_step(shape, name, device, untied=untied, bf16=False)
                made.step(make_batches(shape, device), lambda: None)
                steps[name] = made
            except Exception as problem:  # a peer's own refusals and failures have no common type
                where = "untied" if untied else "as it is"
                notes[f"{name}, {where}"] = "does not run: " + " ".join(str(problem).split())[:90]
                failed.append(name)
        if not steps:
            continue
        repeats = {n: args.repeats if n in OURS and not untied else args.peer_repeats for n in steps}
        found = measure_times(shape, steps, device, repeats)
        rows |= table(found, untied, shape.micro_batch)
        if not untied and not (args.no_bf16 or args.quick):
            steps = {n: make_step(shape, n, device, untied=False, bf16=True) for n in OURS}
            for step in steps.values():
                step.step(make_batches(shape, device), lambda: None)
            half = measure_times(shape, steps, device, dict.fromkeys(steps, args.repeats))
            rows |= {f"{n}, bf16": row for n, row in table(half, untied, shape.micro_batch).items()}
        whole = not shape.lora
        peers = [n for n in names if n in found and n != STEADY and (n in OURS or whole)]
        if device.type == "cpu" and not args.quick:
            peaks = {n: measure_memory(args, shape, n, untied) for n in peers}
            for n in peaks:
                key = f"{n}, untied" if untied else n
                rows[key] |= {"peak_mib": peaks[n], "memory_ratio": peaks[n] / peaks[PLAIN]}
    return {"rows": rows, "notes": notes, "examples": examples, "tokens": shape.tokens}


def table(found: dict, untied: bool, micro_batch: int) -> dict[str, dict]:
    """Ratios to this group's non-private step, measured and at B = 2048."""

    def large(times: dict) -> float:
        return times["micro"] / micro_batch * EXPECTED + times["rest"]

    plain = found[PLAIN]
    return {
        (f"{name}, untied" if untied else name): {
            "ms_per_example": 1e3 * times["micro"] / micro_batch,
            "rest_ms": 1e3 * times["rest"],
            "ratio": times["step"] / plain["step"],
            "ratio_at_2048": large(times) / large(plain),
        }
        for name, times in found.items()
    }


def show(name: str, result: dict, args: argparse.Namespace, gpu: bool) -> None:
    print(
        f"\n{name}: {result['examples']} examples of {result['tokens']} tokens, {result['parameters']:,} trained"
    )
    print(f"{'':34}{'ms/example':>11}{'rest ms':>11}{'ratio':>7}{'B 2048':>8}{'memory':>8}  clipped sum")
    for key, row in result["rows"].items():
        memory = f"{row['memory_ratio']:8.2f}" if "memory_ratio" in row else f"{'':8}"
        note = result["notes"].get(key.removesuffix(", untied"), "")
        print(
            f"{key:34}{row['ms_per_example']:11.2f}{row['rest_ms']:11.1f}{row['ratio']:7.2f}"
            f"{row['ratio_at_2048']:8.3f}{memory}  {note}"
        )
        if gpu:
            rate = 1e3 * result["tokens"] / row["ms_per_example"]
            share = 6 * result["all_parameters"] * rate / (args.peak_tflops * 1e12)
            print(f"{'':34}{rate:11,.0f} tokens/s, {share:.0%} of {args.peak_tflops:g} TFLOP/s")
    for key, note in result["notes"].items():
        if note.startswith("does not run"):
            print(f"{key}: {note}")
    share = result["noise_share_at_2048"]
    print(f"noise {result['noise_ms']:.1f} ms a step, {share:.2%} of a step at B = 2048 (extrapolated)")


def version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # opacus comes with the extra `bench` only
        return "not installed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the result as JSON here")
    parser.add_argument("--quick", action="store_true", help="two shapes, small batches, few repeats")
    parser.add_argument("--full", action="store_true", help="the peers on GPT-2 small too: half an hour more")
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--peer-repeats", type=int)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-bf16", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--times", type=int, default=1, help="micro-batches so many times as large: fill a GPU"
    )
    parser.add_argument("--peak-tflops", type=float, default=67.0, help="fp32 of an H200 SXM, without TF32")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--untied", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.repeats = args.repeats or (3 if args.quick else 7)
    args.peer_repeats = args.peer_repeats or (1 if args.quick else 2)
    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore")  # the peers' hints about their own hooks
    if args.memory_of:
        print(peak_of(args))
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    versions = {name: version_of(name) for name in ("torch", "transformers", "opacus", "peft")}
    print(", ".join(f"{k} {v}" for k, v in versions.items()), f"; {device}, {args.threads} thread(s)")
    out = {
        "versions": versions,
        "machine": platform.machine(),
        "device": str(device),
        "threads": args.threads,
    }
    out["shapes"] = {}
    for shape in shapes(args.quick, args.times):
        if args.only.lower() not in shape.name.lower():
            continue
        if shape.large and not args.full:
            shape = replace(shape, peers=False)
        result = measure_shape(args, shape, device)
        parameters = list(make_model(shape).parameters())
        result["all_parameters"] = sum(p.numel() for p in parameters)
        trained = sum(p.numel() for p in parameters if p.requires_grad)
        result |= noise_cost(trained, result["rows"]["hush"]["ms_per_example"])
        out["shapes"][shape.name] = result
        show(shape.name, result, args, device.type == "cuda")
    out["sampler_ms"] = sampler_cost(20 if args.quick else 100)
    words = ", ".join(f"{name} {ms:.3f}" for name, ms in out["sampler_ms"].items())
    print(f"\nsampler, ms a draw at n = {EXAMPLES:,}, B = {EXPECTED}: {words}")
    if args.out:
        args.out.write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
