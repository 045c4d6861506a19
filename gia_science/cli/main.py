"""The command line: ``gia`` and its commands. Heavy packages are imported inside the commands that need them."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, cast

import typer

from gia_science.cli import (
    benchmark,
    datasets,
    embed,
    evaluate,
    finetune,
    graph,
    merge,
    predict,
    pretrain,
    tasks,
    train,
    validate,
)
from gia_science.errors import GiaError
from gia_science.training.processes import is_further, is_under_torchrun

app = typer.Typer(
    name="gia",
    help="From a table of measurements to a property predictor, for proteins, molecules and materials.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("validate")(validate.validate)
app.command("train")(train.train)
app.command("finetune")(finetune.finetune)
app.command("pretrain")(pretrain.pretrain)
app.command("predict")(predict.predict)
app.command("merge")(merge.merge)
app.command("embed")(embed.embed)
app.command("evaluate")(evaluate.evaluate)
app.command("graph")(graph.graph)
app.add_typer(benchmark.app, name="benchmark")
app.add_typer(datasets.app, name="datasets")
app.add_typer(tasks.app, name="tasks")

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""
# The base of all mistakes in options and arguments has no public name: typer moved it out of click.
_UsageError = cast(type[typer.BadParameter], typer.BadParameter.__mro__[1])


class _Interrupted(BaseException):
    """Ctrl-C. Not a `KeyboardInterrupt`, which Lightning turns into an end of its own with exit code 1."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and end the process.

    A user's mistake is one line on standard error and exit code 2, never a traceback; so is what the system
    refuses, such as a full disk. Ctrl-C is one line and exit code 130.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the name of the program; by default the process's own.
    """
    with _told_on_stderr():
        try:
            with _interruptible():
                code = app(arguments, prog_name="gia", standalone_mode=False)
        except GiaError as error:
            _fail(str(error))
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            _fail(f"{name}{error.strerror or error}")
        except _UsageError as error:
            _refuse_usage(error)
        except _Interrupted:
            _fail("interrupted", code=INTERRUPTED)
        sys.exit(code or 0)


def _fail(message: str, *, code: int = 2) -> NoReturn:
    # Under torchrun all processes of a machine run the same command into the same mistake.
    if not (is_under_torchrun() and is_further()):
        sys.stderr.write(f"error: {message}\n")
    sys.exit(code)


def _refuse_usage(error: typer.BadParameter) -> NoReturn:
    """One line for a wrong option or argument, and where to read about the right ones."""
    message = " ".join(error.format_message().split()).rstrip(".")
    if type(error).__name__ == "NoArgsIsHelpError":
        # The help is its message, or is printed already, with typer's version.
        sys.stderr.write(error.message)
        sys.exit(2)
    command = error.ctx.command_path if error.ctx is not None else "gia"
    _fail(f"{message[:1].lower()}{message[1:]} ({command} --help)")


@contextmanager
def _told_on_stderr() -> Iterator[None]:
    """Send what the package has to tell to standard error, as plain lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("gia_science")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise `_Interrupted` at the first Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise _Interrupted

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
