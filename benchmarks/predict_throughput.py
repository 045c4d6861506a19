"""Rows per second of ``gia predict`` as a whole command, beside what its parts allow on the same cores.

Models of the default size, five networks and a forest, after one step of training on a few hundred rows: speed does not
depend on what is learnt, but for the depth of the trees, which grows with the logarithm of the rows. Inputs are made
by rule. The network alone is timed on batches that are already padded, of a sample of the rows, with the same
threads; featurising alone on one core. From the two follows what the machine allows: all cores busy all the
time with nothing but these two.

    python benchmarks/predict_throughput.py [--quick] [--check] [--only PART] [--threads N] [--chemprop PYTHON]
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

import torch

import gia_science
from gia_science.data.batching import Batch, batches_by_tokens, collate
from gia_science.prediction.forward import BATCH_ROWS, BATCH_TOKENS
from gia_science.prediction.model import Model
from gia_science.tokens.featurizer import Example

NETWORK_SHARE, MEMORY_RATIO, START_SECONDS = 0.8, 1.15, 6.0
"""Least speed in units of the network's alone; most memory in units of that of few rows; most seconds to the first."""
PARTS = ("smiles", "protein", "memory")


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows: of the tables, of the samples on which the parts are timed, for the memory, and for training."""

    smiles: int
    protein: int
    smiles_sample: int
    protein_sample: int
    memory: tuple[int, int]
    training: int


FULL = Sizes(
    200_000, 20_000, smiles_sample=4096, protein_sample=512, memory=(100_000, 1_000_000), training=200
)
# Few enough for 50 seconds. Memory stays flat from the first whole window on, which ends at row 8,192.
QUICK = Sizes(1_100, 32, smiles_sample=64, protein_sample=6, memory=(8_200, 9_200), training=40)

MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss)
sys.exit(process.returncode)
"""
"""Runs a command and prints the most memory that it had."""
RESIDUES = "ACDEFGHIKLMNPQRSTVWY"

CORES = (
    *("c1cc({0})c({1})cc1{2}", "c1nc({0})c({1})cc1{2}", "c1nc({0})nc({1})c1{2}", "c1c({0})sc({1})c1{2}"),
    *("c1c({0})oc({1})c1{2}", "c1cc2c(cc1{0})n({1})cc2{2}", "c1cc2c(cc1{0})nc({1})cc2{2}"),
    *("C1CC({0})CN({1})C1{2}", "C1CN({0})C({2})CN1{1}", "n1c({0})c({1})n(C)c1{2}"),
    *("c1cc2c(cc1{0})oc({1})c2{2}", "C1C({0})CCC({1})C1{2}"),
)
LINKERS = ("", "C", "CC", "O", "OC", "C(=O)N", "NC(=O)", "S(=O)(=O)N", "C(=O)", "NC(=O)N", "CO", "N(C)C")
ENDS = (
    *("c1ccccc1", "c1ccncc1", "c1ccc(F)cc1", "c1ccc(Cl)cc1", "C1CCNCC1", "C1CCOCC1", "N1CCOCC1", "C1CC1"),
    *("C(C)C", "C(C)(C)C", "CC(F)(F)F", "c1cccs1", "c1ccc(OC)cc1", "c1ccc(C#N)cc1", "C1CCCCC1", "c1cnn(C)c1"),
)
SMALL = ("F", "Cl", "C", "OC", "C#N", "C(F)(F)F", "N", "O", "NC(C)=O", "S(C)(=O)=O", "C(=O)O", "Br")


@dataclass
class Case:
    """One domain: its model, its rows, and the sample on which the parts are timed."""

    domain: str
    folder: Path
    table: Path
    texts: list[str]
    sample: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few rows; their rates leave out the start",
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound is missed")
    parser.add_argument("--only", choices=PARTS, action="append", help="a part of it; given again, another")
    parser.add_argument(
        "--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores"
    )
    parser.add_argument("--chemprop", metavar="PYTHON", help="interpreter of an environment with chemprop 2")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sizes = QUICK if options.quick else FULL
    missed: list[str] = []
    rows = {"smiles": sizes.smiles, "protein": sizes.protein}
    samples = {"smiles": sizes.smiles_sample, "protein": sizes.protein_sample}
    with tempfile.TemporaryDirectory() as folder:
        for part in options.only or PARTS:
            if part == "memory":
                missed += memory(Path(folder), *sizes.memory, threads=options.threads)
                continue
            case = prepare(part, rows[part], Path(folder), sample=samples[part], training=sizes.training)
            missed += throughput(case, threads=options.threads, started=not options.quick)
            if part == "smiles":
                against_chemprop(case, options.chemprop)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return int(options.check and bool(missed))


def smiles() -> Iterator[str]:
    """Molecules of 15 to 40 heavy atoms, all different, in an order that mixes their parts."""
    parts = (CORES, LINKERS, ENDS, LINKERS, ENDS, SMALL)
    total = 1
    for part in parts:
        total *= len(part)
    for number in range(total):
        place, chosen = number * 7919 % total, []  # 7919 is prime and no factor of `total`
        for part in parts:
            place, index = divmod(place, len(part))
            chosen.append(part[index])
        core, link, end, other_link, other_end, small = chosen
        other_end = other_end.replace("1", "3")
        yield core.format(link + end.replace("1", "4"), other_link + other_end, small)


def proteins() -> Iterator[str]:
    """Chains of 30 to 1,000 random residues."""
    draw = random.Random(0)  # noqa: S311 # nothing secret
    while True:
        yield "".join(draw.choices(RESIDUES, k=draw.randint(30, 1000)))


def compositions() -> Iterator[str]:
    """Ternary oxides with amounts in steps of a thousandth."""
    metals = ("Fe", "Ti", "Al", "Cu", "Mg", "Zn", "Ni", "Co", "La", "Sr", "Ba", "Ca")
    pairs = [(one, other) for one in metals for other in metals if one < other]
    for number in range(10_000_000):
        amount, pair = divmod(number, len(pairs))
        one, other = pairs[pair]
        yield f"{one}{1 + amount / 1000:g}{other}O{2 + amount % 7}"


MAKERS: dict[str, Callable[[], Iterator[str]]] = {
    "smiles": smiles,
    "protein": proteins,
    "composition": compositions,
}


def prepare(domain: str, rows: int, folder: Path, *, sample: int, training: int) -> Case:
    """A model, and a table of other rows than it has seen."""
    made = MAKERS[domain]()
    train(domain, list(islice(made, training)), folder / domain)
    texts = list(islice(made, rows))
    table = folder / f"{domain}.csv"
    write(table, domain, texts)
    return Case(domain, folder / domain, table, texts, sample)


def train(domain: str, texts: Sequence[str], folder: Path, **settings: object) -> None:
    """One step of training on targets that mean nothing."""
    import pandas as pd

    frame = pd.DataFrame({domain: texts, "y": [len(text) % 17 + 0.5 for text in texts]})
    once = {"training.epochs": 1, "training.min_steps": 1, "baselines": []}
    gia_science.train(
        frame,
        target="y",
        input=domain,
        domain=domain,
        settings={**once, **settings},
        out=folder,
        progress=False,
    )


def write(path: Path, column: str, texts: Sequence[str]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column])
        writer.writerows([text] for text in texts)


def throughput(case: Case, *, threads: int, started: bool) -> list[str]:
    """Time the command and its parts; print their ratios; return the bounds missed.

    With `started` the time to start counts, which for few rows is most of the time.
    """
    model = Model.load(case.folder)
    sample, rows = case.texts[: case.sample], len(case.texts)
    examples, featurising = featurise(model, sample)
    batches = padded(examples)
    network = forward_seconds(model, batches) / len(sample)
    torch.set_num_threads(1)
    network_on_one = forward_seconds(model, batches) / len(sample)
    torch.set_num_threads(threads)
    alone = one_row_seconds(model, sample[:10])
    start = command_seconds(case.folder, first_rows(case, 1), threads=threads)
    whole = command_seconds(case.folder, case.table, threads=threads) / rows
    counted = whole if started else whole - start / rows
    allowed = max((featurising + network_on_one) / threads, network)
    print(f"\n{case.domain}: {rows} rows, {threads} threads; microseconds per row")
    for name, seconds in (
        ("command, all of it", whole),
        ("command without its start", whole - start / rows),
        ("network alone", network),
        ("network alone, one thread", network_on_one),
        ("featurising alone, one core", featurising),
        ("what the machine allows", allowed),
        ("one-row calls of Model.predict", alone),
    ):
        print(f"  {name:32s}{1e6 * seconds:10.0f}")
    print(f"  speed of the command{'' if started else ' without its start'}, in units of")
    for name, seconds in (
        ("the network alone", network),
        ("featurising, then the network", featurising + network),
        ("what the machine allows", allowed),
        ("one-row calls", alone),
    ):
        print(f"    {name:30s}{seconds / counted:10.2f}")
    print(f"  seconds to the first row of a table: {start:.1f}", flush=True)
    missed = []
    if network / counted < NETWORK_SHARE:
        missed.append(
            f"{case.domain}: {network / counted:.2f} of the network's speed, at least {NETWORK_SHARE}"
        )
    if start > START_SECONDS:
        missed.append(f"{case.domain}: {start:.1f} s to the first row, at most {START_SECONDS}")
    return missed


def featurise(model: Model, texts: Sequence[str]) -> tuple[list[Example], float]:
    """Examples, and the processor seconds that each takes once caches are warm."""
    featurizer = model.saved.featurizer
    for text in texts[:50]:
        featurizer.example(featurizer.read(text))
    started = time.process_time()
    examples = [featurizer.example(featurizer.read(text)) for text in texts]
    return examples, (time.process_time() - started) / len(texts)


def padded(examples: Sequence[Example]) -> list[Batch]:
    """Batches as prediction makes them."""
    lengths = [len(example) for example in examples]
    return [
        collate([examples[row] for row in index])
        for index in batches_by_tokens(lengths, tokens=BATCH_TOKENS, rows=BATCH_ROWS)
    ]


@torch.inference_mode()
def forward_seconds(model: Model, batches: Sequence[Batch]) -> float:
    """Median over three runs of the seconds for all batches."""
    network = model.saved.network
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        for batch in batches:
            network.each(batch)
        taken.append(time.perf_counter() - started)
    return median(taken)


def one_row_seconds(model: Model, texts: Sequence[str]) -> float:
    """Median seconds of a call with one row."""
    taken = []
    for text in texts:
        started = time.perf_counter()
        model.predict([text])
        taken.append(time.perf_counter() - started)
    return median(taken)


def first_rows(case: Case, rows: int) -> Path:
    """A table of the first rows of a case."""
    path = case.table.with_name(f"first_{case.table.name}")
    write(path, case.domain, case.texts[:rows])
    return path


def command_seconds(folder: Path, table: Path, *, threads: int) -> float:
    """Seconds that ``gia predict`` takes from its start to its end."""
    started = time.perf_counter()
    subprocess.run(command(folder, table, threads=threads), check=True, capture_output=True)
    return time.perf_counter() - started


def command(folder: Path, table: Path, *, threads: int) -> list[str]:
    out = str(table.with_suffix(".out.csv"))
    arguments = ("predict", str(folder), str(table), "-o", out, "--threads", str(threads))
    return [sys.executable, "-m", "gia_science", *arguments]


def memory(folder: Path, few: int, many: int, *, threads: int) -> list[str]:
    """Peak memory of the command's own process over few rows and over many.

    With a small network over compositions, which are cheap. The fewer rows are already more than a window.
    """
    made = compositions()
    small = {"network.width": 16, "network.layers": 1, "network.members": 1}
    train("composition", list(islice(made, 60)), folder / "composition", **small)
    texts = list(islice(made, many))
    peaks = []
    for rows in (few, many):
        table = folder / f"memory_{rows}.csv"
        write(table, "composition", texts[:rows])
        peaks.append(peak_bytes(command(folder / "composition", table, threads=threads)))
    ratio = peaks[1] / peaks[0]
    mebibytes = " and ".join(f"{peak / 2**20:.0f} MiB" for peak in peaks)
    print(f"\npeak memory at {few} and {many} rows: {mebibytes}, ratio {ratio:.3f}", flush=True)
    return [f"memory ratio {ratio:.2f}, at most {MEMORY_RATIO}"] if ratio > MEMORY_RATIO else []


def peak_bytes(arguments: Sequence[str]) -> int:
    """Most resident memory of a process, without those that it starts itself."""
    # A process begins with the peak of the one that starts it, which must be a small one.
    found = subprocess.run([sys.executable, "-c", MEASURE, *arguments], check=True, capture_output=True)
    return int(found.stdout) * (1 if sys.platform == "darwin" else 1024)


def against_chemprop(case: Case, python: str | None) -> None:
    """Print rows per second of chemprop 2 on the same molecules, where it is installed."""
    found = python and subprocess.run([python, "-c", "import chemprop"], check=False, capture_output=True)
    if not found or found.returncode:
        print("  chemprop: skipped, give --chemprop an interpreter that can import it", flush=True)
        return
    program = str(Path(python).with_name("chemprop"))
    work = case.folder.parent
    seen, out = work / "chemprop.csv", work / "chemprop"
    with seen.open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "y"), *((text, len(text) % 17) for text in case.texts[:200])])
    # More epochs than its two of warm-up; how good the model is does not matter here.
    training = [program, "train", "--data-path", str(seen), "--task-type", "regression", "--epochs", "3"]
    subprocess.run([*training, "--output-dir", str(out)], check=True, capture_output=True)
    model = str(next(out.rglob("*.pt")))
    predicting = [program, "predict", "--test-path", str(case.table), "--model-paths", model]
    started = time.perf_counter()
    subprocess.run([*predicting, "--preds-path", str(work / "out.csv")], check=True, capture_output=True)
    seconds = time.perf_counter() - started
    print(
        f"  chemprop predict, all of it: {1e6 * seconds / len(case.texts):.0f} microseconds per row",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
