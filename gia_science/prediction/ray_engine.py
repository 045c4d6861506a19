"""Prediction on Ray Data: whole windows of rows to the workers of a machine or a cluster, and back in order.

The last bits of a prediction depend on which rows are computed together. Workers get the windows that one process
would have read, so that the numbers are the same.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gia_science.data.parquet import column_texts, pyarrow_module
from gia_science.data.record import Record, Table, name_columns
from gia_science.data.shards import Shard, Stride
from gia_science.data.table import open_table
from gia_science.data.writer import output_columns
from gia_science.errors import EngineError, GiaError, TableError, Where
from gia_science.prediction.columns import numeric_columns, prediction_cells, prediction_columns
from gia_science.prediction.model import Model
from gia_science.prediction.outcomes import WINDOW
from gia_science.tokens.long import Long

if TYPE_CHECKING:
    from ray.data import Dataset

_STDERR = 2
_ADDRESS = "RAY_ADDRESS"
_LOG_LEVEL = "RAY_BACKEND_LOG_LEVEL"


def predict_dataset(
    dataset: Dataset,
    *,
    model: str | Path,
    input: str | None = None,
    long: Long = "error",
    workers: int | None = None,
    threads: int = 1,
    window: int = WINDOW,
) -> Dataset:
    """Add predictions to a Ray Dataset, as ``gia predict`` adds them to a table.

    Nothing is computed before the result is read or written. Its rows are in the order of the data set, for which
    ``preserve_order`` is set on it; at any time some windows of them are in memory.

    Parameters
    ----------
    dataset : ray.data.Dataset
        Rows of any columns.
    model : str or Path
        Model folder, under the same path on every node. Each worker loads it once.
    input, long
        As in `Model.predict`.
    workers : int, optional
        Number of worker processes; by default as many as the CPUs of the cluster allow.
    threads : int, default 1
        CPU threads of each worker.
    window : int
        Rows that are predicted together.

    Returns
    -------
    ray.data.Dataset
        The columns as they are, then those of `prediction_columns`: numbers as float64, null where there is none,
        the others as text.

    Raises
    ------
    EngineError
        When Ray is not installed.
    ModelFolderError
        When the model folder is not as it should be.
    """
    folder = Path(model).resolve()
    Model.load(folder)
    options = {"model": str(folder), "input": input, "long": long, "window": window}
    return _through_workers(dataset, _TableWorker, options, workers=workers, threads=threads)


def predict_file(
    data: str,
    *,
    model: str | Path,
    input: str | None = None,
    long: Long = "error",
    format: str | None = None,
    header: bool = True,
    share: Shard | None = None,
    done: int = 0,
    workers: int | None = None,
    threads: int = 1,
    window: int = WINDOW,
) -> Generator[Record, None, None]:
    """Predict the rows of a file with Ray, which is started on this machine unless ``RAY_ADDRESS`` names a cluster.

    Parameters
    ----------
    data : str
        Path of the file, the same on every node.
    format, header
        As in `open_table`.
    share : Shard, optional
        By default all rows.
    done : int
        Rows of the share at its beginning that are left out; a multiple of `window`.
    model, input, long, workers, threads, window
        As in `predict_dataset`.

    Yields
    ------
    Record
        Each row in order, the cells of `prediction_columns` behind its own.

    Raises
    ------
    EngineError
        When Ray is not installed, or fails.
    TableError, ModelFolderError, RecipeError
        As one process would.
    """
    folder = Path(model).resolve()
    table = open_table(data, format=format, header=header)
    Model.load(folder).outcomes(table, input=input, long=long)
    source = {"data": str(Path(data).resolve()), "format": format, "header": header}
    stretch = {"share": share or Shard(1, 1), "done": done, "window": window}
    options = {"model": str(folder), "input": input, "long": long, "window": window, "head": _head(table)}
    with _running_ray() as ray:
        start = ray.data.from_items([0])
        start.context.enable_progress_bars = False
        # Claiming no CPU, the reader never waits for workers that wait for it.
        records = start.map_batches(
            _read, batch_size=None, batch_format="pyarrow", num_cpus=0, fn_kwargs={**source, **stretch}
        )
        found = _through_workers(records, _RecordWorker, options, workers=workers, threads=threads)
        for block in found.iter_batches(batch_size=None, batch_format="pyarrow"):
            for text in block["row"].to_pylist():
                yield _row(json.loads(text), data)


def check_ray() -> None:
    """Raise `EngineError` when Ray is not installed."""
    _ray_module()


def _ray_module() -> Any:
    try:
        import_module("ray.data")
        return import_module("ray")
    except ImportError as error:
        raise EngineError(
            "the engine ray needs Ray Data, which is not installed", hint="pip install 'gia-science[ray]'"
        ) from error


@contextmanager
def _running_ray() -> Iterator[Any]:
    """Ray, started and stopped here unless it runs already.

    What it has to tell goes to its own logs; its messages of workers that died and are started again, which it would
    print among the output, to standard error.
    """
    ray = _ray_module()
    logger = logging.getLogger("ray.data")
    level, ours = logger.level, not ray.is_initialized()
    try:
        with redirect_stdout(sys.stderr) if ours else nullcontext():
            if ours:
                _start_quietly(ray)
            logger.setLevel(logging.CRITICAL + 1)
            yield ray
    except (ray.exceptions.RayError, ray.data.exceptions.SystemException) as error:
        *_, last = str(error).strip().splitlines() or [type(error).__name__]
        raise EngineError(
            "Ray could not finish the work",
            got=last.strip(),
            hint="every node needs the package, and the model folder and the input under the same paths",
        ) from error
    finally:
        logger.setLevel(level)
        if ours:
            ray.shutdown()


def _start_quietly(ray: Any) -> None:
    # Ray's core writes to the file descriptor of standard error, errors of no consequence among them; that it has
    # been told not to is what it writes there while it starts.
    if _ADDRESS in os.environ:
        logging.getLogger("gia_science").info("connecting to Ray at %s", os.environ[_ADDRESS])
    before = os.environ.get(_LOG_LEVEL)
    os.environ.setdefault(_LOG_LEVEL, "fatal")
    stderr = os.dup(_STDERR)
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), _STDERR)
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.CRITICAL)
    finally:
        os.dup2(stderr, _STDERR)
        os.close(stderr)
        if before is None:
            os.environ.pop(_LOG_LEVEL)


def _through_workers(
    dataset: Dataset,
    worker: type[_Worker],
    options: Mapping[str, object],
    *,
    workers: int | None,
    threads: int,
) -> Dataset:
    ray = _ray_module()
    cpus = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    count = workers or worker_count(cpus, threads=threads)
    # Windows would be others if blocks came in the order in which they happen to be ready.
    dataset.context.execution_options.preserve_order = True
    return dataset.repartition(target_num_rows_per_block=options["window"], strict=True).map_batches(
        worker,
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=count),
        num_cpus=claimed_cpus(sum(cpus), workers=count, threads=threads),
        fn_constructor_kwargs={**options, "threads": threads},
    )


def worker_count(cpus: Iterable[int], *, threads: int) -> int:
    """Number of workers of so many threads that nodes of so many CPUs have room for; at least one."""
    return max(1, sum(count // threads for count in cpus))


def claimed_cpus(cpus: int, *, workers: int, threads: int) -> float:
    """CPUs that each worker claims of Ray.

    One is left to Ray's own tasks, which read and cut blocks: workers that held all would wait for them forever.
    """
    share = max(0, cpus - 1) / workers
    if share >= 1:
        return min(threads, math.floor(share))  # Ray takes fractions below one only
    return math.floor(1000 * share) / 1000


class _Worker:
    """Holds a model in a process of its own."""

    def __init__(self, *, model: str, input: str | None, long: Long, window: int, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self._model = Model.load(model)
        self._input = input
        self._long = long
        self._window = window

    def _rows(self, table: Table) -> Iterator[tuple[Record, tuple[str, ...]]]:
        """Each record of a window, and its cells of `prediction_columns`."""
        cells = prediction_cells(self._model.targets, members=self._model.members, long=self._long)
        for outcome in self._model.outcomes(table, input=self._input, long=self._long, window=self._window):
            yield outcome.record, cells(outcome)


class _TableWorker(_Worker):
    def __call__(self, block: Any) -> Any:
        """Blocks with any columns."""
        arrow = pyarrow_module("pyarrow")
        header = tuple(block.column_names)
        texts = [column_texts(column.combine_chunks()) for column in block.columns]
        records = [
            Record("<dataset>", line, None, cells)
            for line, cells in enumerate(zip(*texts, strict=True), start=1)
        ]
        table = Table(name_columns(header, source="<dataset>"), records, "<dataset>", "memory", header)
        targets, members = self._model.targets, self._model.members
        names = output_columns(header, prediction_columns(targets, members=members, long=self._long))[
            len(header) :
        ]
        columns = zip(*(cells for _, cells in self._rows(table)), strict=True)
        numeric = numeric_columns(targets, members=members, long=self._long)
        for name, column, is_number in zip(names, columns, numeric, strict=True):
            values = [float(cell) if cell else None for cell in column] if is_number else column
            kind = arrow.float64() if is_number else arrow.string()
            block = block.append_column(name, arrow.array(values, type=kind))
        return block


class _RecordWorker(_Worker):
    def __init__(self, *, head: Mapping[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self._head = head

    def __call__(self, block: Any) -> Any:
        """Blocks of records as `_read` writes them."""
        rows = [json.loads(text) for text in block["row"].to_pylist()]
        records = [Record(self._head["source"], *row) for row in rows if isinstance(row, list)]
        done: list[object] = [
            (record.line, record.id, (*record.cells, *cells))
            for record, cells in self._rows(Table(records=records, **self._head))
        ]
        return _texts_block(done + [row for row in rows if not isinstance(row, list)])


def _head(table: Table) -> dict[str, Any]:
    """A table but for its records."""
    names = ("columns", "source", "format", "header")
    return {name: getattr(table, name) for name in names}


def _read(
    block: Any, *, data: str, format: str | None, header: bool, share: Shard, done: int, window: int
) -> Iterator[Any]:
    """Records of a file in windows; the error that ends it, if one does, as the last row."""
    del block
    try:
        table = open_table(data, format=format, header=header)
        records = iter(Stride(share.records(table.records), done))
        while batch := list(islice(records, window)):
            yield _texts_block([(row.line, row.id, row.cells, row.problem) for row in batch])
    except GiaError as error:
        where = error.where or Where()
        place = {"line": where.line, "column": where.column, "record": where.record}
        told = {"what": error.what, "got": error.got, "expected": error.expected, "hint": error.hint}
        yield _texts_block([{"error": told, "place": place}])


def _texts_block(rows: Iterable[object]) -> Any:
    arrow = pyarrow_module("pyarrow")
    texts = [json.dumps(row, ensure_ascii=False) for row in rows]
    return arrow.table({"row": arrow.array(texts, type=arrow.large_string())})


def _row(content: Any, data: str) -> Record:
    """A row that a worker made; the error of the reader is raised."""
    if isinstance(content, dict):
        raise TableError(**content["error"], where=Where(file=data, **content["place"]))
    line, name, cells = content
    return Record(data, line, name, tuple(cells))
