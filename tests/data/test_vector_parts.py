"""Rows of embeddings come back from their parts bit by bit, and memory holds one of them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gia_science.data.parts import PartStore
from gia_science.data.record import Record
from gia_science.data.vector_parts import VectorRow, keep_vectors
from gia_science.errors import TableError

CELL = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")) | st.text(
    alphabet='",\r\n\u2028\x85[]'
)
NUMBERS = st.floats(width=32, allow_nan=True, allow_infinity=True)
NONE = np.zeros(0, dtype=np.int64)


@st.composite
def vector_rows(draw: st.DrawFn) -> VectorRow:
    record = Record(
        "in", draw(st.integers(1)), draw(st.none() | CELL), tuple(draw(st.lists(CELL, max_size=2)))
    )
    shape = draw(st.none() | st.tuples(st.just(3)) | st.tuples(st.integers(0, 3), st.just(2)))
    vectors = None if shape is None else draw(hnp.arrays(np.float32, shape, elements=NUMBERS))
    if shape is None or len(shape) == 1:
        return VectorRow(record, vectors, NONE)
    tokens = tuple(draw(st.lists(CELL, min_size=shape[0], max_size=shape[0])))
    return VectorRow(record, vectors, np.arange(1, shape[0] + 1), tokens)


def content(row: VectorRow) -> tuple[object, ...]:
    numbers = None if row.vectors is None else (row.vectors.shape, row.vectors.tobytes())
    return row.record.line, row.record.id, row.record.cells, numbers, row.units.tolist(), row.tokens


def make(count: int, width: int = 3) -> list[VectorRow]:
    vector = np.ones(width, dtype=np.float32)
    return [VectorRow(Record("in", line, None, ("a",)), line * vector, NONE) for line in range(count)]


@settings(deadline=None)
@given(st.lists(vector_rows(), max_size=7), st.integers(1, 4))
def test_any_rows_come_back_equal(tmp_path_factory, rows: list[VectorRow], size: int) -> None:
    target = tmp_path_factory.mktemp("t") / "out.npz"
    with PartStore(target) as store:
        store.start({}, resume=False)
        found = list(keep_vectors(store, rows, size=size, target=target))
        assert store.count == -(-len(rows) // size)
    assert list(map(content, found)) == list(map(content, rows))


def test_a_part_that_is_not_finished_does_not_count(tmp_path: Path) -> None:
    target = tmp_path / "out.npz"

    def rows():
        yield from make(5)
        raise KeyboardInterrupt

    def work() -> None:
        with PartStore(target) as store:
            store.start({}, resume=False)
            list(keep_vectors(store, rows(), size=2, target=target))

    with pytest.raises(KeyboardInterrupt):
        work()
    with PartStore(target) as store:
        store.start({}, resume=True)
        assert store.count == 2
        assert len(list(keep_vectors(store, make(5)[4:], size=2, target=target))) == 5


@pytest.mark.parametrize("cut", [1, 13])
def test_a_damaged_part_is_an_error(tmp_path: Path, cut: int) -> None:
    target = tmp_path / "out.npz"
    with PartStore(target) as store:
        store.start({}, resume=False)
        list(keep_vectors(store, make(2), size=2, target=target))
        (path,) = store.paths()
        path.write_bytes(path.read_bytes()[:-cut])
        with pytest.raises(TableError, match="part-00000000: a finished part is damaged"):
            list(keep_vectors(store, [], size=2, target=target))


@pytest.mark.parametrize(("cell", "told"), [("\0", "NUL"), ("\ud800", "UTF-8")])
def test_what_the_output_cannot_hold_is_told_with_its_part(tmp_path: Path, cell: str, told: str) -> None:
    target = tmp_path / "out.csv"
    row = VectorRow(Record("a", 1, None, (cell,)), None, NONE)
    with PartStore(target) as store:
        store.start({}, resume=False)
        with pytest.raises(TableError, match=told):
            list(keep_vectors(store, [row], size=2, target=target))
        assert store.count == 0


def test_memory_holds_one_row_at_a_time(tmp_path: Path) -> None:
    target = tmp_path / "out.npz"
    width = 2**16
    rows = (row for line in range(100) for row in make(1, width))
    with PartStore(target) as store:
        store.start({}, resume=False)
        tracemalloc.start()
        try:
            assert sum(1 for _ in keep_vectors(store, rows, size=50, target=target)) == 100
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 10 * 4 * width, "26 MB in all"
