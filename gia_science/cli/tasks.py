"""``gia tasks``: the recipes that ship with the package."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Tasks that ship with the package: train one with gia train --task NAME.", no_args_is_help=True
)


@app.command("list")
def list_tasks() -> None:
    """One line per task."""
    from gia_science import catalog
    from gia_science.cli.output import print_table
    from gia_science.training.recipe import Recipe

    recipes = [(name, Recipe.load(catalog.find("tasks", name))) for name in catalog.names("tasks")]
    print_table(
        ("name", "dataset", "target", "what"),
        [
            (name, recipe.data.dataset or "", ", ".join(recipe.target.names), recipe.title)
            for name, recipe in recipes
        ],
    )


@app.command("show")
def show_task(name: Annotated[str, typer.Argument(help="Name of a task.")]) -> None:
    """The whole recipe of a task, defaults included: a starting point for one's own."""
    from gia_science import catalog
    from gia_science.training.recipe import Recipe

    typer.echo(Recipe.load(catalog.find("tasks", name)).to_yaml().rstrip())
