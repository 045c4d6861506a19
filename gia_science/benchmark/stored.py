"""Trials that lie in files, so that an interrupted benchmark goes on, and the processes that run what is left."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import BaseModel

from gia_science.data.writer import atomic_file
from gia_science.errors import RecipeError, Where
from gia_science.settings import validate

ModelT = TypeVar("ModelT", bound=BaseModel)
ResultT = TypeVar("ResultT")


def read_stored(path: Path, model: type[ModelT], *, same: Mapping[str, Any]) -> ModelT | None:
    """What lies in a file of trials; None where there is no such file.

    Parameters
    ----------
    path : Path
    model : type of pydantic model
        What was written there.
    same : mapping
        Fields that must have these values: trials of other settings do not belong in one table.

    Raises
    ------
    RecipeError
        When it is something else, or of other settings.
    """
    if not path.is_file():
        return None
    where = Where(file=str(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecipeError("not trials of a comparison", hint=str(error), where=where) from error
    if not isinstance(data, dict):
        raise RecipeError("not trials of a comparison", where=where)
    stored = validate(model, data, error=RecipeError, what="the trials", where=where)
    require_same(stored, same, path=path)
    return stored


def require_same(stored: BaseModel, same: Mapping[str, Any], *, path: Path) -> None:
    """Raise `RecipeError` where a field of what lies in a file has not the value that it must have."""
    for name, value in same.items():
        found = getattr(stored, name)
        if found != value:
            other = "other settings" if name == "settings" else f"another {name}"
            hint = "choose another --out"
            where = Where(file=str(path))
            raise RecipeError(f"trials of {other} lie here", got=str(found), hint=hint, where=where)


def write_stored(path: Path, stored: BaseModel) -> None:
    """Write a file of trials, whole or not at all."""
    with atomic_file(path) as stream:
        stream.write(stored.model_dump_json(indent=1).encode())


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by name, each of which appears when it is whole."""
    for name, content in files.items():
        with atomic_file(folder / name) as stream:
            stream.write(content)


def in_processes(
    function: Callable[..., ResultT], arguments: Sequence[tuple[Any, ...]], *, jobs: int
) -> Iterator[ResultT]:
    """Results of a function, as they come; in processes of one thread each where `jobs` is more than 1."""
    if jobs == 1:
        yield from (function(*given) for given in arguments)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)
    try:
        for future in as_completed([pool.submit(function, *given) for given in arguments]):
            yield future.result()
    finally:
        # After an error or an interruption nobody waits for the others.
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    torch.set_num_threads(1)
    # Ctrl-C reaches every process of a terminal: the first tells of it, the others end without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
