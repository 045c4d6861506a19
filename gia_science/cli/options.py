"""Options and arguments that commands share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gia_science.evaluation.baselines import DEFAULT, NAMES

TABLES = "CSV, TSV, FASTA, SMI, SDF, CIF or Parquet file, plain or gzip; - for stdin."
FORMATS = (
    "Format of the file where its name and content do not tell: csv, tsv, fasta, smi, sdf, cif, parquet."
)
LONG_HELP = (
    "error: refuse inputs longer than the model allows. truncate: use their first part. "
    "window: read proteins in overlapping windows."
)
SPLITS = (
    "random, stratified, folds, scaffold, scaffold_balanced, cluster, composition, chemical_system, time:COLUMN, "
    "value:COLUMN, leave_out:COLUMN=GROUP, a split.json, or the name of a column with train/validation/test."
)
BASELINES = (
    f"Plain method to fit on the same rows and print beside; repeat it for several: {', '.join(NAMES)} "
    f"(default: {' and '.join(DEFAULT)})."
)
RESUME_HELP = "Go on with a run that was interrupted: the same command, and this option."
SHARD_HELP = "i/n: only every n-th row, from the i-th on, to out.i-of-n.csv; gia merge joins the files."

TableFile = Annotated[str, typer.Argument(help=TABLES)]
OptionalTableFile = Annotated[str | None, typer.Argument(help=TABLES)]
ModelFolder = Annotated[Path, typer.Argument(help="Model folder.")]
Input = Annotated[str | None, typer.Option(help="Input column.")]
Domain = Annotated[str | None, typer.Option(help="protein, smiles or composition.")]
Kind = Annotated[str | None, typer.Option(help="regression, binary, multilabel, multiclass or per_token.")]
Targets = Annotated[
    list[str] | None, typer.Option("--target", "-t", help="Target column; repeat it for several.")
]
NumberColumns = Annotated[
    list[str] | None, typer.Option("--column", help="Numeric column to use beside the input.")
]
Format = Annotated[str | None, typer.Option(help=FORMATS)]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
]
RecipeHeader = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns (default: yes)."),
]
SplitMethod = Annotated[str | None, typer.Option(help=SPLITS)]
Fold = Annotated[int | None, typer.Option(min=0, help="Test fold, counted from 0, of five.")]
BadRows = Annotated[
    str | None,
    typer.Option(help="stop (default): list rows that cannot be used and stop. drop: list and go on."),
]
DuplicatePolicy = Annotated[
    str | None,
    typer.Option(
        help="Rows of one input: keep (default), mean, median or first make them one row; drop leaves out inputs "
        "whose targets differ; error stops at them."
    ),
]
Members = Annotated[
    int | None,
    typer.Option(min=1, help="Networks whose predictions are averaged; by default by the number of rows."),
]
Time = Annotated[
    str | None,
    typer.Option("--time", help="Time to train in, such as 90s or 5m: decides how many networks there are."),
]
Blend = Annotated[
    bool | None,
    typer.Option(
        "--blend/--no-blend",
        help="Blend the networks with a forest on the descriptors, by rows that neither has seen.",
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the run.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Any setting of the recipe: training.epochs=30.")
]
Baselines = Annotated[list[str] | None, typer.Option("--baseline", help=BASELINES)]
NoBaseline = Annotated[bool, typer.Option("--no-baseline", help="Fit no baseline beside.")]
Device = Annotated[str, typer.Option(help="auto, cpu or gpu.")]
DevicesPerNode = Annotated[
    int | None,
    typer.Option(min=1, help="Processes per machine: one for each GPU, or sharing the CPU (default: 1)."),
]
Nodes = Annotated[int | None, typer.Option(min=1, help="Machines (default: 1).")]
SharedThreads = Annotated[
    int | None, typer.Option(min=1, help="CPU threads of each process; by default all cores, shared.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")]
LongInputs = Annotated[str, typer.Option(help=LONG_HELP)]
Resume = Annotated[bool, typer.Option("--resume", help=RESUME_HELP)]
ShardOf = Annotated[str | None, typer.Option(metavar="I/N", help=SHARD_HELP)]
PartRows = Annotated[int | None, typer.Option(min=1, hidden=True, help="Rows of a part.")]
