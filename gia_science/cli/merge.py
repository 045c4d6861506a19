"""``gia merge``: the files of all shards back to one, in the order of the input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def merge(
    out: Annotated[
        str, typer.Argument(help="CSV, TSV or Parquet file to write; what -o was beside --shard.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of all shards, in any order; by default those beside the output."),
    ] = None,
) -> None:
    """Merge what gia predict or gia embed wrote with --shard, row by row in the order of the input.

    gia merge out.csv

    Cells are copied as they are. The shards stay.
    """
    from gia_science.data.shards import check_shard_target, find_shards, merge_shards, order_shards
    from gia_science.data.writer import check_place, refuse_overwrite
    from gia_science.errors import counted

    check_shard_target(out)
    check_place(out)
    shards = order_shards(files, out=out) if files else find_shards(out)
    refuse_overwrite(out, shards)
    rows = merge_shards(out, shards)
    typer.echo(f"{counted(rows)} of {counted(len(shards), 'shard')} -> {out}", err=True)
