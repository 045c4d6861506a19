"""Time GIN and PNA attention against plain attention.

One thread, batch 4, width 256, 8 heads, float32, forward and backward, no padding. Every round times each
kind once, in rotating order, and takes ratios within the round, so that a busy machine slows all alike.
Times are processor times of the process, which waiting for a core does not lengthen.

    python benchmarks/attention_speed.py [--quick] [--check]
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median

import torch
from torch import nn

from gia_science.attention import GINAttention, PlainAttention, PNAAttention

BATCH, WIDTH, HEADS = 4, 256, 8
LENGTHS = (64, 128, 256, 512, 1024)
LIMITS = {"gin": 1.15, "pna": 2.2}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: under a minute in all")
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"exit with 1 where a ratio is above its limit: {LIMITS}",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers: dict[str, nn.Module] = {
        "plain": PlainAttention(WIDTH, heads=HEADS),
        "gin": GINAttention(WIDTH, heads=HEADS),
        "pna": PNAAttention(WIDTH, heads=HEADS),
    }
    if not options.quick:
        layers["gin, projected"] = GINAttention(
            WIDTH, heads=HEADS, values="projected", output_projection=True
        )

    others = [name for name in layers if name != "plain"]
    print(f"torch {torch.__version__}; median over rounds")
    print("   N  rounds  plain ms  " + "  ".join(f"{name} / plain" for name in others))
    exceeded = False
    for n in LENGTHS:
        rounds = measure(layers, n, seconds=3.0 if options.quick else 20.0)
        plain = 1000 * median(times["plain"] for times in rounds)
        ratios = {name: median(times[name] / times["plain"] for times in rounds) for name in others}
        columns = "  ".join(f"{ratios[name]:{len(name) + 8}.2f}" for name in others)
        print(f"{n:4d}  {len(rounds):6d}  {plain:8.1f}  {columns}", flush=True)
        exceeded |= any(ratios[name] > limit for name, limit in LIMITS.items())
    if options.check and exceeded:
        print(f"a ratio is above its limit: {LIMITS}", file=sys.stderr)
        return 1
    return 0


def measure(layers: dict[str, nn.Module], n: int, *, seconds: float) -> list[dict[str, float]]:
    """Time every layer in rounds, at least 5 and until the time is up."""
    x = torch.randn(BATCH, n, WIDTH, requires_grad=True)
    names = list(layers)
    for layer in layers.values():
        step(layer, x)
    rounds: list[dict[str, float]] = []
    end = time.monotonic() + seconds
    while len(rounds) < 5 or time.monotonic() < end:
        first = len(rounds) % len(names)
        rounds.append({name: step(layers[name], x) for name in names[first:] + names[:first]})
    return rounds


def step(layer: nn.Module, x: torch.Tensor) -> float:
    """Return the processor seconds of one forward and backward pass."""
    layer.zero_grad()
    x.grad = None
    start = time.process_time()
    layer(x).sum().backward()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
