"""Featurising in other processes changes the time and nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from gia_science.data.record import Record
from gia_science.data.rows import BadRow, Columns
from gia_science.prediction import featurize as module
from gia_science.prediction.featurize import FeaturePool, Featurized, Read, featurize
from gia_science.tokens.featurizer import Featurizer

COLUMNS = Columns(input=0, numbers=(1,), number_names=("T",))
TEXTS = ("CCO", "C1CC", "OCC", "c1ccccc1C(=O)O", "[13CH4]", "C[C@@H](N)C(=O)O", "", "[Na+].[Cl-]", "[H][H]")


@pytest.fixture(scope="module")
def featurizer(make_saved) -> Featurizer:
    return make_saved("smiles", columns=("T",), providers=("rdkit2d", "morgan_counts"), layers=1).featurizer


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 4)
    monkeypatch.setattr(module, "START_ROWS", 1)


def windows(count: int = 4) -> Iterator[list[Record]]:
    rows = [(text, str(number)) for number in range(count) for text in TEXTS]
    for number in range(count):
        part = rows[number * len(TEXTS) : (number + 1) * len(TEXTS)]
        yield [Record("a.csv", line, None, cells) for line, cells in enumerate([*part, part[0]], start=2)]


def contents(rows: Sequence[Read]) -> list[bytes]:
    return [pickle.dumps(row) for row in rows]


def test_processes_give_what_one_gives_bit_for_bit(featurizer: Featurizer) -> None:
    with FeaturePool(featurizer, columns=COLUMNS) as pool:
        serial = [(window, contents(rows)) for window, rows in pool.windows(windows())]
    with FeaturePool(featurizer, columns=COLUMNS, workers=2) as pool:
        parallel = [(window, contents(rows)) for window, rows in pool.windows(windows())]
    assert parallel == serial
    assert [window for window, _ in serial] == list(windows())


def test_a_window_is_read_ahead_and_no_more(featurizer: Featurizer) -> None:
    read = 0

    def counted() -> Iterator[list[Record]]:
        nonlocal read
        for window in windows(6):
            read += 1
            yield window

    with FeaturePool(featurizer, columns=COLUMNS, workers=2) as pool:
        ahead = []
        for place, _ in enumerate(pool.windows(counted()), start=1):
            ahead.append(read - place)
    assert ahead == [1, 1, 1, 1, 1, 0]


def test_few_rows_start_no_process(featurizer: Featurizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_ROWS", 1000)

    def refuse(workers: int) -> None:
        raise AssertionError(f"{workers} processes started")

    monkeypatch.setattr(module, "_start", refuse)
    with FeaturePool(featurizer, columns=COLUMNS, workers=2) as pool:
        assert len(list(pool.windows(windows()))) == 4


def test_an_error_in_a_process_arrives_and_ends_the_others(featurizer: Featurizer) -> None:
    broken = Record("a.csv", 2, None, ("CCO", None))  # type: ignore[arg-type] # a mistake of ours that only reading meets
    with FeaturePool(featurizer, columns=COLUMNS, workers=2) as pool, pytest.raises(AttributeError):
        list(pool.windows([*windows(1), [broken], *windows(2)]))
    assert pool._executor is None


def test_leaving_early_ends_the_processes(featurizer: Featurizer) -> None:
    with FeaturePool(featurizer, columns=COLUMNS, workers=2) as pool:
        results = pool.windows(windows(50))
        for _ in range(3):
            next(results)
        executor = pool._executor
    assert executor is not None
    with pytest.raises(RuntimeError, match="shutdown"):
        executor.submit(len, ())


def test_one_thing_written_in_two_ways_has_one_key_and_one_set_of_descriptors(featurizer: Featurizer) -> None:
    records = [Record("a.csv", line, None, (text, "1")) for line, text in enumerate(("CCO", "OCC", "x"))]
    one, other, bad = featurize(records, columns=COLUMNS, featurizer=featurizer, long="error")
    assert isinstance(one, Featurized)
    assert isinstance(other, Featurized)
    assert isinstance(bad, BadRow)
    assert one.key == other.key
    np.testing.assert_array_equal(one.examples[0].descriptors, other.examples[0].descriptors)
