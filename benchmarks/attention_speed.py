"""Time and memory of graph attention against plain attention, and against the equations read literally.

One thread, batch 4, width 256, 8 heads, float32, forward and backward, no padding. Every round times each
layer once, in rotating order, and takes ratios within the round, so that a busy machine slows all alike; the
table holds medians over rounds. Times are processor times of the process, which waiting for a core does not
lengthen. Memory is the peak of what PyTorch's allocator hands out during one step, from its profiler: all that
the step makes, kept or not, including gradients, but neither the parameters nor the input.

    python benchmarks/attention_speed.py [--quick] [--check]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from gia_science.attention import GINAttention, GraphAttention, PlainAttention, PNAAttention
from gia_science.attention.dense import dense_gin, dense_pna

BATCH, WIDTH, HEADS = 4, 256, 8
LENGTHS = (64, 128, 256, 512, 1024)
LIMITS = {"gin": 1.15, "pna": 2.2, "gin, thresholded": 3.0}
"""Most time of a layer, in units of the plain layer's."""
MEMORY_LIMITS = {"gin": 1.2}
DENSE_LENGTH, DENSE_TIME, DENSE_MEMORY = 512, 4.0, 3.0
"""Where the literal equations are measured too, and how many times the layer's time and memory they take at least."""

Step = Callable[[], None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds and layers: under 50 seconds in all"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"exit with 1 where a ratio is beyond its limit: time {LIMITS}, memory {MEMORY_LIMITS}, and of the "
        f"literal equations at N = {DENSE_LENGTH} at least {DENSE_TIME} times the time and {DENSE_MEMORY} the memory",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = make_layers(quick=options.quick)
    missed = against_plain(layers, seconds=2.0 if options.quick else 20.0)
    missed += against_dense(layers, seconds=2.0 if options.quick else 20.0)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return int(options.check and bool(missed))


def make_layers(*, quick: bool) -> dict[str, GraphAttention]:
    """The plain layer and those that have a limit; others too unless in a hurry."""
    layers: dict[str, GraphAttention] = {
        "plain": PlainAttention(WIDTH, heads=HEADS),
        "gin": GINAttention(WIDTH, heads=HEADS),
        "pna": PNAAttention(WIDTH, heads=HEADS),
        "gin, thresholded": GINAttention(WIDTH, heads=HEADS, sparsifier="relu", threshold=0.002),
    }
    if not quick:
        layers["gin, projected"] = GINAttention(
            WIDTH, heads=HEADS, values="projected", output_projection=True
        )
        layers["gin, top 8"] = GINAttention(WIDTH, heads=HEADS, sparsifier="topk", k=8)
        layers["gin, known edges"] = GINAttention(WIDTH, heads=HEADS, edge_kinds=4)
        layers["gin, differential"] = GINAttention(WIDTH, heads=HEADS, adjacency="differential")
        layers["pna, thresholded"] = PNAAttention(WIDTH, heads=HEADS, sparsifier="relu", threshold=0.002)
        layers["pna, thresholded max"] = PNAAttention(
            WIDTH, heads=HEADS, sparsifier="relu", threshold=0.002, aggregators=("mean", "max", "std")
        )
    return layers


def against_plain(layers: dict[str, GraphAttention], *, seconds: float) -> list[str]:
    """Print time and memory of every layer in units of the plain one's; return the limits missed."""
    others = [name for name in layers if name != "plain"]
    print(f"torch {torch.__version__}; time and memory in units of plain attention's")
    print("   N  rounds  plain ms    MiB  " + "  ".join(f"{name:>13s}" for name in others))
    missed: list[str] = []
    for n in LENGTHS:
        x = torch.randn(BATCH, n, WIDTH, requires_grad=True)
        edges = torch.randint(0, 5, (BATCH, n, n), dtype=torch.uint8)
        steps: dict[str, Step] = {name: partial(step, layer, x, edges) for name, layer in layers.items()}
        rounds = measure(steps, seconds=seconds)
        peaks = {name: peak(steps[name]) for name in layers}
        times = {name: median(taken[name] / taken["plain"] for taken in rounds) for name in others}
        memory = {name: peaks[name] / peaks["plain"] for name in others}
        plain = 1000 * median(taken["plain"] for taken in rounds)
        columns = "  ".join(f"{times[name]:5.2f} / {memory[name]:5.2f}".rjust(len(name)) for name in others)
        print(f"{n:4d}  {len(rounds):6d}  {plain:8.1f}  {peaks['plain'] / 2**20:5.1f}  {columns}", flush=True)
        for what, found, limits in (("time", times, LIMITS), ("memory", memory, MEMORY_LIMITS)):
            missed += [
                f"{name} at N = {n}: {what} {found[name]:.2f}, at most {limit}"
                for name, limit in limits.items()
                if found[name] > limit
            ]
    return missed


def against_dense(layers: dict[str, GraphAttention], *, seconds: float) -> list[str]:
    """Print how much more time and memory the literal equations take; return the limits missed."""
    n = DENSE_LENGTH
    x = torch.randn(BATCH, n, WIDTH, requires_grad=True)
    print(f"\nthe equations read literally, in units of the layer's time and memory, N = {n}")
    missed: list[str] = []
    for name in ("gin", "gin, thresholded"):
        layer = layers[name]
        steps: dict[str, Step] = {
            "layer": partial(step, layer, x, None),
            "dense": partial(dense_step, layer, x),
        }
        rounds = measure(steps, seconds=seconds)
        taken = median(times["dense"] / times["layer"] for times in rounds)
        memory = peak(steps["dense"]) / peak(steps["layer"])
        print(f"{name:>16s}  {len(rounds):3d} rounds  {taken:5.1f} / {memory:4.1f}", flush=True)
        if taken < DENSE_TIME or memory < DENSE_MEMORY:
            missed.append(f"dense {name}: {taken:.1f} / {memory:.1f}, at least {DENSE_TIME} / {DENSE_MEMORY}")
    return missed


def measure(steps: dict[str, Step], *, seconds: float) -> list[dict[str, float]]:
    """Processor seconds of every step in rounds, at least 5 and until the time is up."""
    names = list(steps)
    for name in names:
        steps[name]()
    rounds: list[dict[str, float]] = []
    end = time.monotonic() + seconds
    while len(rounds) < 5 or time.monotonic() < end:
        first = len(rounds) % len(names)
        taken = {}
        for name in names[first:] + names[:first]:
            start = time.process_time()
            steps[name]()
            taken[name] = time.process_time() - start
        rounds.append(taken)
    return rounds


def step(layer: GraphAttention, x: Tensor, edges: Tensor | None) -> None:
    """One forward and backward pass."""
    layer(x, edges=edges).sum().backward()
    clear(layer, x)


def dense_step(layer: GraphAttention, x: Tensor) -> None:
    """The same as `step`, by the equations with all N x N weights."""
    config, adjacency = layer.config, layer.adjacency(x)
    values = (x if layer.value is None else layer.value(x)).view(*x.shape[:2], HEADS, -1).transpose(1, 2)
    if isinstance(layer, GINAttention):
        heads = dense_gin(adjacency, values, epsilon=layer.epsilon, form=config.epsilon_form, mlp=layer.mlp)
    else:
        assert isinstance(layer, PNAAttention)
        heads = dense_pna(
            adjacency,
            values,
            adjacency > 0,
            aggregators=config.aggregators,
            scalers=config.scalers,
            delta=config.delta,
            mlp=layer.mlp,
        )
    y = heads.transpose(1, 2).flatten(2)
    (y if layer.output is None else layer.output(y)).sum().backward()
    clear(layer, x)


def clear(layer: GraphAttention, x: Tensor) -> None:
    """Let go of all gradients, so that each step starts with as little memory as the first."""
    layer.zero_grad()
    x.grad = None


def peak(run: Step) -> int:
    """Most bytes that one run has allocated at a time."""
    with silence(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    with silence(), tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    held = most = 0
    for event in sorted((event for event in events if event["name"] == "[memory]"), key=lambda e: e["ts"]):
        held += event["args"]["Bytes"]
        most = max(most, held)
    return most


@contextmanager
def silence() -> Iterator[None]:
    """Keep the profiler's own log lines, which it writes past Python, off the terminal."""
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


if __name__ == "__main__":
    sys.exit(main())
