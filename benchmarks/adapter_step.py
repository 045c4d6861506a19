"""Time of one training step of each kind of adapter, in units of LoRA's, at equally many trained parameters.

A masked-language step (forward, backward, AdamW) of a BERT of 26 million parameters on one core: batch 8, N = 128, dropout
as the model has it. Every round times each kind once, in rotating order, and takes ratios within the round, so that a
busy machine slows all alike; the table holds medians over rounds. Times are processor times of the process.

    python benchmarks/adapter_step.py [--check] [--base FOLDER] [--length N] [--seconds S] [--no-dropout]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn

from gia_science.adapters import (
    AdapterConfig,
    BottleneckConfig,
    LoRAConfig,
    SparseGINConfig,
    attach,
    rank_for,
)

BATCH, LENGTH = 8, 128
LIMIT = 1.5
"""Most time of a Sparse-GIN step, in units of LoRA's."""
REFERENCE = LoRAConfig(rank=8)
ARMS: dict[str, AdapterConfig] = {
    "lora": REFERENCE,
    "sparse-gin": SparseGINConfig(),
    "identity": SparseGINConfig(adjacency="identity"),
    "bottleneck": BottleneckConfig(),
}
SIZES = {"vocab_size": 25, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8}
"""Those of AntiBERTy (Ruffolo et al. 2021, arXiv 2112.07782)."""

Step = Callable[[], None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--base", type=Path, help="folder of a transformers model; a random one of the same sizes by default"
    )
    parser.add_argument("--length", type=int, default=LENGTH, help=f"tokens per row (default {LENGTH})")
    parser.add_argument("--seconds", type=float, default=60.0, help="of measuring (default 60)")
    parser.add_argument("--no-dropout", action="store_true", help="with the fused attention of evaluation")
    parser.add_argument(
        "--check", action="store_true", help=f"exit with 1 where Sparse-GIN takes over {LIMIT} times LoRA's"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    steps: dict[str, Step] = {}
    counts = {}
    for name, config in ARMS.items():
        steps[name], counts[name] = make_step(config, options)
    rounds = measure(steps, seconds=options.seconds)
    times = {name: median(taken[name] for taken in rounds) for name in ARMS}
    ratios = {name: median(taken[name] / taken["lora"] for taken in rounds) for name in ARMS}
    print(f"torch {torch.__version__}; batch {BATCH}, N = {options.length}, {len(rounds)} rounds")
    print("adapter      parameters  ms/step  in units of LoRA's")
    for name in ARMS:
        print(f"{name:<11s}  {counts[name]:>10,d}  {1000 * times[name]:7.0f}  {ratios[name]:.2f}")
    missed = ratios["sparse-gin"] > LIMIT
    if missed:
        print(f"missed: sparse-gin takes {ratios['sparse-gin']:.2f}, at most {LIMIT}", file=sys.stderr)
    return int(options.check and missed)


def make_step(config: AdapterConfig, options: argparse.Namespace) -> tuple[Step, int]:
    """The training step of an adapter on a base of its own, and the number of parameters that it trains."""
    model = load(options.base)
    wanted = attach(model, REFERENCE)
    parameters = wanted.parameters_count()
    wanted.remove()
    attached = attach(model, rank_for(model, config, parameters=parameters), seed=0)
    model.train(not options.no_dropout)
    optimizer = torch.optim.AdamW([parameter for _, parameter in attached.trainable()])
    ids = torch.randint(5, SIZES["vocab_size"], (BATCH, options.length))
    mask = torch.ones_like(ids)
    # Lengths differ within a batch, as they do in training.
    mask[0, options.length * 3 // 4 :] = 0
    inputs = {"input_ids": ids, "attention_mask": mask, "labels": ids}
    return partial(step, model, optimizer, inputs), attached.parameters_count()


def load(folder: Path | None) -> nn.Module:
    from transformers import AutoModelForMaskedLM, BertConfig, BertForMaskedLM

    model: nn.Module
    if folder is None:
        model = BertForMaskedLM(BertConfig(**SIZES, intermediate_size=2048))
    else:
        model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True)
    return model


def step(model: nn.Module, optimizer: torch.optim.Optimizer, inputs: dict[str, Any]) -> None:
    optimizer.zero_grad()
    model(**inputs).loss.backward()
    optimizer.step()


def measure(steps: dict[str, Step], *, seconds: float) -> list[dict[str, float]]:
    """Processor seconds of every step in rounds, at least 5 and until the time is up."""
    names = list(steps)
    for name in names:
        steps[name]()
    rounds: list[dict[str, float]] = []
    end = time.perf_counter() + seconds
    while len(rounds) < 5 or time.perf_counter() < end:
        taken = {}
        for place in range(len(names)):
            name = names[(place + len(rounds)) % len(names)]
            start = time.process_time()
            steps[name]()
            taken[name] = time.process_time() - start
        rounds.append(taken)
    return rounds


if __name__ == "__main__":
    sys.exit(main())
