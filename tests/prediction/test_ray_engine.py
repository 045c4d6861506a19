"""Ray's workers give the rows of one process, bit by bit and in order; what they do is tested without Ray as well."""

from __future__ import annotations

import gzip
import importlib.util
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from gia_science.cli.main import main
from gia_science.data.shards import Shard, Stride
from gia_science.data.table import open_table
from gia_science.errors import EngineError, RecipeError, TableError
from gia_science.prediction import model as prediction
from gia_science.prediction import ray_engine
from gia_science.prediction.columns import prediction_cells
from gia_science.prediction.model import Model
from gia_science.prediction.ray_engine import claimed_cpus, predict_dataset, predict_file, worker_count

WINDOW = 20
ROWS = 95
ALL = Shard(1, 1)
Rows = list[tuple[int, str | None, tuple[str, ...]]]
arrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(molecules: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return molecules.save(tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Bad rows, a row cut short and cells that have to be quoted."""
    lines = [
        f'{place},C{"C" * (place % 37)}{"NO"[place % 2]}c1ccccc1{"C" * (place % 11)},"note, {place}\n"'
        for place in range(ROWS)
    ]
    lines[7], lines[41] = "x,C1CC,bad", "y,CC"
    path = tmp_path / "in.csv"
    path.write_text("id,smiles,note\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def by_one_process(folder: Path, data: str, *, share: Shard = ALL, done: int = 0) -> Rows:
    model, source = Model.load(folder), open_table(data)
    records = Stride(share.records(source.records), done)
    rest = type(source)(source.columns, records, source.source, source.format, source.header)
    cells = prediction_cells(model.targets)
    return [
        (outcome.record.line, outcome.record.id, (*outcome.record.cells, *cells(outcome)))
        for outcome in model.outcomes(rest, window=WINDOW)
    ]


def by_a_worker(folder: Path, data: str, *, share: Shard = ALL, done: int = 0) -> Rows:
    """Reader and worker as Ray calls them, without Ray."""
    head = ray_engine._head(open_table(data))
    options = {"model": str(folder), "input": None, "long": "error", "window": WINDOW, "threads": 1}
    worker = ray_engine._RecordWorker(head=head, **options)
    found = []
    for block in ray_engine._read(
        None, data=data, format=None, header=True, share=share, done=done, window=WINDOW
    ):
        assert len(block) <= WINDOW
        found += worker(block)["row"].to_pylist()
    return taken(ray_engine._row(ray_engine.json.loads(text), data) for text in found)


def taken(records: Iterator[ray_engine.Record]) -> Rows:
    return [(record.line, record.id, record.cells) for record in records]


@pytest.mark.parametrize(("share", "done"), [(ALL, 0), (ALL, 40), (Shard(2, 3), WINDOW)])
def test_a_worker_gives_the_rows_of_one_process(folder: Path, table: str, share: Shard, done: int) -> None:
    expected = by_one_process(folder, table, share=share, done=done)
    assert by_a_worker(folder, table, share=share, done=done) == expected
    assert expected


def test_an_error_of_the_file_comes_back_as_what_it_is(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.csv.gz"
    lines = "smiles\n" + "".join(f"{'C' * (place % 90 + 1)}{place % 10}CC1\n" for place in range(300_000))
    path.write_bytes(gzip.compress(lines.encode())[:-9])
    with pytest.raises(TableError) as local:
        for _ in open_table(path).records:
            pass
    *_, last = ray_engine._read(
        None, data=str(path), format=None, header=True, share=ALL, done=0, window=100_000
    )
    with pytest.raises(TableError) as distributed:
        ray_engine._row(ray_engine.json.loads(last["row"][-1].as_py()), str(path))
    assert str(distributed.value) == str(local.value)


def test_blocks_of_any_columns_keep_them(folder: Path) -> None:
    options = {"model": str(folder), "input": None, "long": "truncate", "window": WINDOW, "threads": 1}
    block = arrow.table({"mass": [1.5, None], "smiles": ["CCO", "C1"], "y_pred": [1, 2]})
    found = ray_engine._TableWorker(**options)(block)
    assert found.column_names == [*block.column_names, "y_pred_2", "truncated", "status", "reason"]
    assert found.select(block.column_names).equals(block)
    assert str(found.schema.field("y_pred_2").type) == "double"
    assert found["y_pred_2"][1].as_py() is None
    assert found["status"].to_pylist() == ["ok", "error"]


def test_without_ray_the_extra_is_named(folder: Path, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(EngineError, match=r"not installed \(pip install 'gia-science\[ray\]'\)"):
        next(predict_file(table, model=folder))


def test_a_request_that_cannot_be_carried_out_is_refused_before_ray_starts(folder: Path, table: str) -> None:
    with pytest.raises(TableError, match="no column 'smile'"):
        next(predict_file(table, model=folder, input="smile"))
    with pytest.raises(RecipeError, match="window"):
        next(predict_file(table, model=folder, long="window"))


class FakeRay:
    """As much of Ray as starting and stopping it takes."""

    exceptions = SimpleNamespace(RayError=type("RayError", (Exception,), {}))
    data = SimpleNamespace(
        exceptions=SimpleNamespace(SystemException=type("SystemException", (Exception,), {}))
    )

    def __init__(self) -> None:
        self.calls: list[str] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: object) -> None:
        self.calls.append("init")
        os.write(2, b"log level set")

    def shutdown(self) -> None:
        self.calls.append("shutdown")


def test_ray_is_stopped_and_its_failure_is_one_line(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    """What it prints of its own does not get into an output on standard output."""
    fake = FakeRay()
    monkeypatch.setattr(ray_engine, "_ray_module", lambda: fake)

    def work() -> None:
        with ray_engine._running_ray():
            sys.stdout.write("(raylet) a worker died\n")
            raise fake.exceptions.RayError("Traceback:\n  File x\nModelFolderError: no such model folder\n")

    with pytest.raises(EngineError, match="could not finish the work: got ModelFolderError: no such model"):
        work()
    assert fake.calls == ["init", "shutdown"]
    assert tuple(capfd.readouterr()) == ("", "(raylet) a worker died\n")
    assert "RAY_BACKEND_LOG_LEVEL" not in os.environ


@pytest.mark.parametrize(
    ("cpus", "threads", "count"), [([2], 1, 2), ([8, 8], 5, 2), ([2], 4, 1), ([], 1, 1), ([0, 16], 4, 4)]
)
def test_workers_fit_on_their_nodes(cpus: list[int], threads: int, count: int) -> None:
    assert worker_count(cpus, threads=threads) == count


@pytest.mark.parametrize("cpus", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("workers", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("threads", [1, 4])
def test_a_cpu_is_left_for_reading(cpus: int, workers: int, threads: int) -> None:
    claimed = claimed_cpus(cpus, workers=workers, threads=threads)
    assert 0 <= claimed <= threads
    assert claimed * workers <= cpus - 1
    assert claimed < 1 or math.floor(claimed) == claimed


# Of its own settings, which it reads as it starts.
WARNINGS_OF_RAY = "ignore::DeprecationWarning:ray"
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


@pytest.fixture(scope="module")
def ray() -> Iterator[object]:
    """Ray on this machine, with CPUs for two workers."""
    module = pytest.importorskip("ray")
    module.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield module
    module.shutdown()


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings(WARNINGS_OF_RAY)
def test_two_workers_give_the_rows_of_one_process(ray, folder: Path, table: str) -> None:
    found = taken(predict_file(table, model=folder, workers=2, window=WINDOW))
    assert found == by_one_process(folder, table)
    assert ray.is_initialized(), "it is not ours to stop"


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings(WARNINGS_OF_RAY)
def test_a_dataset_in_other_blocks_has_the_predictions_of_one_process(ray, folder: Path, table: str) -> None:
    records = list(open_table(table).records)[:41]
    rows = [{"smiles": record.cells[1], "place": place} for place, record in enumerate(records)]
    dataset = ray.data.from_items(rows, override_num_blocks=7)
    found = predict_dataset(dataset, model=folder, workers=2, window=WINDOW).take_all()
    assert [row["place"] for row in found] == list(range(41))
    expected = [cells for _, _, cells in by_one_process(folder, table)][:41]
    assert [row["status"] for row in found] == [cells[-2] for cells in expected]
    numbers = [math.nan if row["y_pred"] is None else row["y_pred"] for row in found]
    np.testing.assert_array_equal(numbers[:40], [float(cells[-3] or "nan") for cells in expected[:40]])


@needs_ray
@pytest.mark.slow
def test_the_command_goes_on_from_parts_of_the_local_engine_and_says_nothing_of_ray(
    folder: Path, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File, last line and exit code are those of the local engine alone."""
    monkeypatch.chdir(tmp_path)
    options = ("--threads", "1", "--window", str(WINDOW))

    def run(*more: str) -> tuple[int, bytes, bytes]:
        words = ("predict", str(folder), table, "-o", "out.csv", *options, *more)
        done = subprocess.run(
            [sys.executable, "-m", "gia_science", *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr, Path("out.csv").read_bytes()

    expected = run()
    assert expected[0] == 1
    Path("out.csv").unlink()
    windows = [prediction.predict_examples] * 2

    def compute(*given: object, **named: object) -> object:
        if not windows:
            raise OSError(28, "No space left on device")
        return windows.pop()(*given, **named)

    with mock.patch.object(prediction, "predict_examples", compute), pytest.raises(SystemExit):
        main(["predict", str(folder), table, "-o", "out.csv", *options])
    assert len(list(Path(".out.csv.parts").glob("part-*"))) == 2
    assert run("--engine", "ray", "--workers", "2", "--resume") == expected
