"""The command line: ``gia`` and its commands. Heavy packages are imported inside the commands that need them."""

from __future__ import annotations

import logging
import sys

import typer

from gia_science.cli import datasets, embed, evaluate, predict, tasks, train
from gia_science.errors import GiaError

app = typer.Typer(
    name="gia",
    help="From a table of measurements to a property predictor, for proteins, molecules and materials.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("embed")(embed.embed)
app.command("evaluate")(evaluate.evaluate)
app.add_typer(datasets.app, name="datasets")
app.add_typer(tasks.app, name="tasks")


def main() -> None:
    """Entry point: a user's mistake is one line on standard error and exit code 2, never a traceback."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("gia_science")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        app()
    except GiaError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
