"""``gia graph``: the graph that a model sees in one input."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gia_science.cli.options import Format, Header, ModelFolder, Threads
from gia_science.errors import RecipeError, TableError, UnreadableInputError, Where

if TYPE_CHECKING:
    from gia_science.data.record import Table
    from gia_science.prediction.graph import TokenGraph
    from gia_science.prediction.model import Model

_LONG_HELP = "error: refuse an input longer than the model allows. truncate: use its first part."
_Index = Annotated[int | None, typer.Option(min=0, help="One only, counted from 0; by default all.")]


def graph(
    model: ModelFolder,
    text: Annotated[str | None, typer.Argument(help="A sequence, SMILES or formula.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")] = Path("graph"),
    file: Annotated[
        str | None,
        typer.Option(help="Read a row of a file of any type that gia predict reads, instead of a text."),
    ] = None,
    line: Annotated[
        int | None, typer.Option(min=1, help="Line on which the row starts; the header is line 1.")
    ] = None,
    input: Annotated[str | None, typer.Option(help="Input column of the file.")] = None,
    format: Format = None,
    header: Header = True,
    long: Annotated[str, typer.Option(help=_LONG_HELP)] = "error",
    member: _Index = None,
    layer: _Index = None,
    head: _Index = None,
    threshold: Annotated[
        float | None, typer.Option(help="Edges are weights above it; by default 1 / number of tokens.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the files of another graph.")
    ] = False,
    threads: Threads = None,
) -> None:
    """Write the attention between the tokens of one input, by layer and head.

    gia graph model/ "CC(=O)Nc1ccc(O)cc1" -o graph/

    The folder gets statistics.csv, degrees.csv, edges.csv, graph.graphml and graph.png.
    """
    from gia_science.cli.output import check_choice, use_threads
    from gia_science.data.table import open_table
    from gia_science.prediction.graph import check_free
    from gia_science.prediction.model import Model

    choices: tuple[Literal["error", "truncate"], ...] = ("error", "truncate")
    choice = check_choice("--long", long, choices)
    use_threads(threads)
    if (text is None) == (file is None) or (file is None) != (line is None):
        raise RecipeError(
            "name one input", expected="a text, or a table with --file and the line of a row with --line"
        )
    check_free(out, overwrite=overwrite)
    loaded = Model.load(model)
    if file is None or line is None:
        assert text is not None
        found = _of_text(loaded, text, long=choice)
    else:
        found = _of_row(
            loaded, open_table(file, header=header, format=format), line, input=input, long=choice
        )
    written = found.write(
        out, member=member, layer=layer, head=head, threshold=threshold, overwrite=overwrite
    )
    for note in found.reading.notes:
        typer.echo(note, err=True)
    if out / "graph.graphml" not in written:
        typer.echo(
            "graph.graphml left out: too many edges (a higher --threshold, or --layer and --head)", err=True
        )
    members, layers, heads = found.adjacency.shape[:3]
    sizes = f"{len(found)} tokens; members: {members}, layers: {layers}, heads: {heads}"
    typer.echo(f"{sizes} -> {out}", err=True)


def _of_text(model: Model, text: str, *, long: Literal["error", "truncate"]) -> TokenGraph:
    try:
        return model.graph(text, long=long)
    except UnreadableInputError as error:
        if os.path.exists(text):  # noqa: PTH110 - Path.exists raises for a text too long for a name
            error.hint = "a row of a file is read with --file and --line"
        raise


def _of_row(
    model: Model, table: Table, line: int, *, input: str | None, long: Literal["error", "truncate"]
) -> TokenGraph:
    """Graph of the row that starts on a line."""
    # Lines only go up: what follows need not be read.
    record = next((record for record in table.records if record.line >= line), None)
    if record is None or record.line != line:
        raise TableError("no row starts on this line", where=Where(file=table.source, line=line))
    if record.problem is not None:
        raise UnreadableInputError(record.problem, where=record.where)
    try:
        cells = dict(zip(table.columns, record.cells, strict=True))
        return model.graph(cells, input=input, long=long)
    except (UnreadableInputError, TableError) as error:
        error.where = record.where
        raise
