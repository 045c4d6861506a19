"""``gia datasets``: what there is, what there is to know about it, and downloading it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gia_science.data.cards import DatasetCard

app = typer.Typer(
    help="Datasets with a card: bundled, or downloaded when they are used.", no_args_is_help=True
)

_WIDTH = 100
_MOST_NAMED = 2
_PLACES = {
    "bundled": "comes with the package",
    "mirror": "in the mirror",
    "cached": "in the cache",
    "download": "to be downloaded",
}


@app.command("list")
def list_datasets() -> None:
    """One line per dataset: where it is (bundled, mirror, cached or download), its licence and its size."""
    from gia_science import catalog
    from gia_science.cli.output import print_table
    from gia_science.data.cards import load_card, whereabouts

    cards = [load_card(name) for name in catalog.names("datasets")]
    print_table(
        ("name", "domain", "rows", "where", "licence", "targets", "what"),
        [
            (
                card.name,
                card.domain,
                str(card.rows),
                whereabouts(card),
                card.licence_id,
                _targets(card),
                card.title,
            )
            for card in cards
        ],
    )


@app.command("show")
def show_dataset(name: Annotated[str, typer.Argument(help="Name of a dataset.")]) -> None:
    """Source, citation, licence, columns and known problems of a dataset."""
    from gia_science.data.cards import load_card

    for line in _described(load_card(name)):
        typer.echo(line)


@app.command("fetch")
def fetch_datasets(
    names: Annotated[list[str] | None, typer.Argument(help="Names of datasets.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All datasets.")] = False,
) -> None:
    """Download datasets into the cache and check them, to use them later without a network.

    The cache is the user's own, or the folder in GIA_CACHE. A folder or address in GIA_DATA_MIRROR is looked at first.
    """
    from gia_science import catalog
    from gia_science.data.cards import fetch_files, load_card
    from gia_science.errors import RecipeError, TableError

    if bool(names) == every:
        raise RecipeError("which datasets?", hint="name some, or say --all; gia datasets list shows them")
    cards = [load_card(name) for name in (catalog.names("datasets") if every else names or ())]
    failed = 0
    for card in cards:
        try:
            paths = fetch_files(card)
        except TableError as error:
            if len(cards) == 1:
                raise
            failed += 1
            typer.echo(f"{card.name}: not fetched: {error}", err=True)
            continue
        for path in paths:
            typer.echo(f"{card.name}: {path}")
        if not paths:
            typer.echo(f"{card.name}: {_PLACES['bundled']}")
    if failed:
        typer.echo(f"{failed} of {len(cards)} datasets not fetched", err=True)
        raise typer.Exit(2 if failed == len(cards) else 1)


def _targets(card: DatasetCard) -> str:
    names = [target.column for target in card.targets]
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} targets"


def _described(card: DatasetCard) -> Iterator[str]:
    """The whole card in lines for people."""
    from gia_science.data.cards import whereabouts

    yield f"{card.name}: {card.title}"
    yield ""
    yield f"{card.rows} rows, {card.domain}; {_PLACES[whereabouts(card)]}"
    yield from _paragraph("columns", ", ".join(card.columns))
    identity = "" if card.id is None else f", identifier {card.id}"
    yield from _paragraph("input", f"{card.input}{identity}")
    yield from _bullets(
        "targets",
        (
            f"{target.column}: {target.kind}{'' if target.unit is None else f', {target.unit}'}. {target.meaning}"
            for target in card.targets
        ),
    )
    yield from _bullets("files", _files(card))
    yield from _paragraph("origin", card.origin)
    yield from _paragraph("licence", card.licence)
    yield from _paragraph("citation", card.citation)
    yield from _bullets("known problems", card.known_problems)
    yield from _paragraph("split", card.evaluation.split)
    yield from _paragraph("metric", card.evaluation.metric)


def _files(card: DatasetCard) -> Iterator[str]:
    from gia_science.data.cards import BundledSource, PackageSource

    source = card.source
    if isinstance(source, BundledSource):
        yield f"{source.file.path}, sha256 {source.file.sha256}"
    elif isinstance(source, PackageSource):
        for file in (source.structures, source.values):
            yield f"{file.path} of the package {source.package}, sha256 {file.sha256}"
    else:
        for remote in source.files:
            yield f"{remote.name}, {remote.size:,} bytes, sha256 {remote.sha256}, {remote.url}"


def _paragraph(head: str, text: str) -> list[str]:
    return ["", head, *_wrapped(text, "  ")]


def _bullets(head: str, items: Iterator[str] | tuple[str, ...]) -> list[str]:
    return ["", head, *(line for item in items for line in _wrapped(item, "  - "))]


def _wrapped(text: str, first: str) -> list[str]:
    # Addresses and checksums stay whole, to be copied.
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
