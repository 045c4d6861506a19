"""``gia validate``: what is wrong with a file, before any training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gia_science.cli.options import (
    SPLITS,
    Domain,
    Format,
    Header,
    Input,
    Kind,
    NumberColumns,
    TableFile,
    Targets,
)


def validate(
    data: TableFile,
    target: Targets = None,
    input: Input = None,
    domain: Domain = None,
    kind: Kind = None,
    column: NumberColumns = None,
    model: Annotated[
        Path | None, typer.Option(help="Model folder: hold the file against how this model reads.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Longest input, in residues, atoms or elements (default: 1024).")
    ] = None,
    split: Annotated[str | None, typer.Option(help=f"Look for leaks of a split: {SPLITS}")] = None,
    header: Header = True,
    format: Format = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON, with all rows in it.")
    ] = False,
) -> None:
    """Say what in a file would lose rows or flatter scores, and which command to run next.

    gia validate measured.csv --target logS

    gia validate measured.csv --target logS --split scaffold

    The exit code is 0 when nothing is wrong, 1 when something is, 2 when the file cannot be read at all.
    """
    from gia_science.evaluation.validation import validate as inspect

    report = inspect(
        Path(data),
        target=target,
        input=input,
        domain=domain,
        kind=kind,
        columns=column or (),
        model=model,
        max_length=max_length,
        header=header,
        format=format,
        split=split,
    )
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        typer.echo(str(report))
    if not report.ok:
        raise typer.Exit(1)
