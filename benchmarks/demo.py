"""Train the shipped tasks, predict, embed, and say where the files lie: what the toolkit does, in five minutes.

Run by ``make demo``. Every step is a ``gia`` command that works the same on one's own files.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gia_science import catalog

OUT = Path("runs/demo")
MEMBERS = "2"
"""Networks of each model, fewer than by default, so that the demonstration is quick."""
# Task and the metric it is judged by.
TASKS = {"nav17": "rmse", "amp": "roc_auc", "expt_gap": "mae"}
CANDIDATES = """id,smiles,note
007,CC(=O)Oc1ccccc1C(=O)O,"aspirin, unchanged"
008,C1CC,a ring that is not closed
009,Cc1cnc(NS(=O)(=O)c2ccc(Oc3ccccc3)c(C#N)c2)s1,
"""
PEPTIDES = """>magainin-2
GIGKFLHSAKKFGKAFVGEIMNS
>bad a digit is no residue
GIGKF0HS
>lysine-rich and lower case
kwklfkkigavlkvl
"""


def gia(*arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
    """Run one command; its output, or an end with its message where the exit code is not an expected one."""
    done = subprocess.run(
        [sys.executable, "-m", "gia_science", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode not in allowed:
        sys.exit(f"gia {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout + done.stderr


def train(task: str) -> dict[str, str]:
    """Train one task on one core, and give its line of the summary."""
    started = time.monotonic()
    options = ("--overwrite", "--threads", "1", "--members", MEMBERS)
    gia("train", "--task", task, "-o", str(OUT / task), *options)
    metrics = json.loads((OUT / task / "metrics.json").read_text())
    card = json.loads((OUT / task / "config.json").read_text())
    split = json.loads((OUT / task / "split.json").read_text())
    scores = metrics["test"]["targets"][0]
    metric = TASKS[task]
    ours = next(score for score in scores["model"] if score["metric"] == metric)
    theirs = next(score for score in scores["baselines"]["random_forest"] if score["metric"] == metric)
    print(f"  {task}: done in {time.monotonic() - started:.0f} s", flush=True)
    return {
        "task": task,
        "domain": card["data"]["domain"],
        "rows": str(sum(len(lines) for lines in split["lines"].values())),
        "split": split["describe"],
        "metric": metric,
        **{name: f"{ours[name]:.4g}" for name in ("value", "low", "high")},
        "baseline": metrics["test"]["baselines"]["random_forest"],
        "baseline_value": f"{theirs['value']:.4g}",
    }


def main() -> None:
    """Train in parallel, write the summary, then use the models."""
    OUT.mkdir(parents=True, exist_ok=True)
    print(
        f"training {', '.join(TASKS)} (those that ship: {', '.join(catalog.names('tasks'))}) on two cores",
        flush=True,
    )
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(train, TASKS))
    with (OUT / "summary.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (OUT / "candidates.csv").write_text(CANDIDATES)
    (OUT / "peptides.fasta").write_text(PEPTIDES)
    print()
    for row in rows:
        print(
            f"{row['task']:9} {row['rows']:>5} rows  {row['metric']:8} {row['value']} [{row['low']}, {row['high']}]"
            f"   {row['baseline']}: {row['baseline_value']}"
        )
    print("(held-out rows; 95 % bootstrap intervals; lower is better for rmse and mae, higher for roc_auc)\n")
    # Both files hold one bad record on purpose: exit code 1, the row back in its place with the reason.
    for task, source, out in (
        ("nav17", "candidates.csv", "candidates_out.csv"),
        ("amp", "peptides.fasta", "peptides_out.csv"),
    ):
        print(gia("predict", str(OUT / task), str(OUT / source), "-o", str(OUT / out), allowed=(1,)).strip())
        print((OUT / out).read_text())
    print(
        gia(
            "embed",
            str(OUT / "amp"),
            str(OUT / "peptides.fasta"),
            "-o",
            str(OUT / "vectors.npz"),
            allowed=(1,),
        ).strip()
    )
    print(
        f"\nmodels with their reports (README.md, report.png): {', '.join(str(OUT / task) for task in TASKS)}"
    )
    print(f"summary: {OUT / 'summary.csv'}; predictions and vectors: {OUT}/*_out.csv, {OUT / 'vectors.npz'}")


if __name__ == "__main__":
    main()
