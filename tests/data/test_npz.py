"""Archives that grow row by row are those that NumPy writes at once, and read without pickle."""

from __future__ import annotations

import io
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gia_science.data import npz
from gia_science.data.npz import NpzWriter


@settings(max_examples=30)
@given(st.lists(st.text(max_size=8), max_size=20), st.integers(0, 3))
def test_what_goes_in_comes_out(texts: list[str], width: int) -> None:
    stream = io.BytesIO()
    vectors = np.arange(len(texts) * width, dtype=np.float32).reshape(len(texts), width)
    with NpzWriter(stream) as writer:
        kept, counts, rows = (
            writer.texts("texts"),
            writer.numbers("counts", dtype=np.int64),
            writer.numbers("rows", dtype=np.float32, width=width),
        )
        for index, text in enumerate(texts):
            kept.append(text)
            counts.append([index])
            rows.append(vectors[index : index + 1])
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as arrays:
        assert sorted(arrays) == ["counts", "rows", "texts"]
        # NumPy drops zeros at the end of a text.
        assert arrays["texts"].tolist() == [text.rstrip("\0") for text in texts]
        assert arrays["counts"].tolist() == list(range(len(texts)))
        assert arrays["rows"].dtype == np.float32
        np.testing.assert_array_equal(arrays["rows"], vectors)


def test_blocks_of_a_file_are_put_together_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "_BLOCK", 50)
    stream = io.BytesIO()
    with NpzWriter(stream) as writer:
        texts, numbers = writer.texts("texts"), writer.numbers("numbers", dtype=np.float64)
        for index in range(100):
            texts.append("x" * (index % 30))
            numbers.append(np.full(index % 3, index))
    with np.load(io.BytesIO(stream.getvalue()), allow_pickle=False) as arrays:
        assert arrays["texts"].tolist() == ["x" * (index % 30) for index in range(100)]
        assert arrays["numbers"].tolist() == [i for i in range(100) for _ in range(i % 3)]


def test_equal_arrays_give_equal_bytes_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def written() -> bytes:
        stream = io.BytesIO()
        with NpzWriter(stream) as writer:
            writer.texts("a").append("x")
        return stream.getvalue()

    first = written()
    later = time.time() + 1e8
    monkeypatch.setattr(time, "time", lambda: later)
    assert written() == first
    (entry,) = zipfile.ZipFile(io.BytesIO(first)).infolist()
    assert entry.date_time == (1980, 1, 1, 0, 0, 0)
    assert entry.compress_type == zipfile.ZIP_DEFLATED


def test_nothing_is_written_after_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with pytest.raises(ValueError), NpzWriter(stream, folder=tmp_path) as writer:
        writer.numbers("a", dtype=np.int64).append(["x"])
    assert stream.getvalue() == b""
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Forty megabytes go through; a few blocks are held."""
    vector = np.zeros((10, 1000), dtype=np.float32)
    with (tmp_path / "a.npz").open("wb") as stream:
        tracemalloc.start()
        with NpzWriter(stream, folder=tmp_path) as writer:
            rows, texts = writer.numbers("rows", dtype=np.float32, width=1000), writer.texts("texts")
            for _ in range(1000):
                rows.append(vector)
                texts.append("M" * 100)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 5_000_000
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["rows"].shape == (10_000, 1000)
