"""``gia datasets``: what is bundled, and what there is to know about it."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Datasets that ship with the package.", no_args_is_help=True)


@app.command("list")
def list_datasets() -> None:
    """One line per dataset."""
    from gia_science import catalog
    from gia_science.cli.output import print_table
    from gia_science.data.cards import load_card

    cards = [load_card(name) for name in catalog.names("datasets")]
    print_table(
        ("name", "domain", "rows", "targets", "what"),
        [
            (
                card.name,
                card.domain,
                str(card.rows),
                ", ".join(target.column for target in card.targets),
                card.title,
            )
            for card in cards
        ],
    )


@app.command("show")
def show_dataset(name: Annotated[str, typer.Argument(help="Name of a dataset.")]) -> None:
    """Source, citation, licence, columns and known problems of a dataset."""
    import yaml

    from gia_science.data.cards import load_card

    card = load_card(name)
    typer.echo(
        yaml.safe_dump(card.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100).rstrip()
    )
