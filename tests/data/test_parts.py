"""Parts survive whatever ends the process, are used only for the job that made them, and by one process at a time."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gia_science.data.parts import PartStore, file_digest, parts_folder
from gia_science.data.record import Record
from gia_science.data.writer import TableWriter
from gia_science.errors import TableError

JOB = {"model": {"a": "1"}, "threads": 1, "long": "error", "columns": ["a", "b"]}
CELL = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")) | st.text(
    alphabet='",\r\n\u2028\x85'
)


def rows(count: int, start: int = 0) -> list[Record]:
    return [
        Record("in.csv", place + 2, f"id{place}", (f"{place:03}", "x"))
        for place in range(start, start + count)
    ]


def interrupt(target: Path, parts: int, *, resume: bool = False, job: Mapping[str, object] = JOB) -> None:
    """Finish some parts of two rows, then end as Ctrl-C ends a process."""

    def work() -> None:
        with PartStore(target) as store:
            store.start(job, resume=resume)
            for _ in range(parts):
                store.add_rows(rows(2, 2 * store.count))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()


def test_the_folder_is_there_while_work_goes_on_and_gone_after_it(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with PartStore(target) as store:
        store.start(JOB, resume=False)
        store.add_rows(rows(2))
        assert store.folder == tmp_path / ".out.csv.parts" == parts_folder(target)
        assert json.loads((store.folder / "job.json").read_text()).items() >= JOB.items()
        assert store.count == len(store.paths()) == 1
    assert list(tmp_path.iterdir()) == []


def test_finished_parts_stay_after_an_error_and_work_goes_on_from_them(tmp_path: Path, caplog) -> None:
    target = tmp_path / "out.csv"
    interrupt(target, 2)
    assert "2 parts of" in caplog.text
    assert "--resume goes on" in caplog.text
    interrupt(target, 1, resume=True)
    with PartStore(target) as store:
        store.start(JOB, resume=True)
        assert store.count == 3
        assert [(row.line, row.id, row.cells) for row in store.rows()] == [
            (row.line, row.id, row.cells) for row in rows(6)
        ]


def test_without_a_finished_part_nothing_stays(tmp_path: Path) -> None:
    interrupt(tmp_path / "out.csv", 0)
    assert list(tmp_path.iterdir()) == []


def test_an_error_before_the_start_leaves_older_parts_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    interrupt(target, 1)
    with pytest.raises(TableError, match="begun otherwise"), PartStore(target) as store:
        store.start({**JOB, "long": "truncate"}, resume=True)
    assert len(list(parts_folder(target).glob("part-*"))) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": {"a": "2"}}, "got another model ("),
        ({"threads": 2}, "got threads 2, was 1 ("),
        ({"long": "truncate"}, "got long truncate, was error ("),
        ({"long": None, "columns": ["a"]}, "got long not given, was error; another columns ("),
    ],
)
def test_another_job_is_refused_and_what_changed_is_said(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    target = tmp_path / "out.csv"
    interrupt(target, 1)
    with pytest.raises(TableError) as error, PartStore(target) as store:
        store.start({**JOB, **change}, resume=True)
    assert told in str(error.value)


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"format of the parts": 99}'])
def test_a_job_file_that_is_damaged_or_of_another_release_is_refused(tmp_path: Path, content: str) -> None:
    target = tmp_path / "out.csv"
    interrupt(target, 1)
    (parts_folder(target) / "job.json").write_text(content)
    with pytest.raises(TableError, match="format of the parts 1, was"), PartStore(target) as store:
        store.start(JOB, resume=True)
    with PartStore(target) as store:
        store.start(JOB, resume=False)
        assert store.count == 0


def test_starting_anew_says_what_it_throws_away(tmp_path: Path, caplog) -> None:
    target = tmp_path / "out.csv"
    interrupt(target, 2)
    caplog.clear()
    with PartStore(target) as store:
        store.start(JOB, resume=False)
        assert store.paths() == []
    assert f"unfinished work of {target} found (2 parts)" in caplog.text
    assert "starting anew" in caplog.text


def test_nothing_to_resume(tmp_path: Path, caplog) -> None:
    """A script may say --resume from the first start on; but a file that is there is not taken for the result."""
    target = tmp_path / "out.csv"
    with caplog.at_level(logging.INFO), PartStore(target) as store:
        store.start(JOB, resume=True)
    assert "nothing to resume: starting with the first row" in caplog.text
    target.touch()
    with pytest.raises(TableError, match="nothing to resume"), PartStore(target) as store:
        store.start(JOB, resume=True)
    assert list(tmp_path.iterdir()) == [target]


def test_only_the_parts_before_a_gap_count(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    interrupt(target, 3)
    (parts_folder(target) / "part-00000001").unlink()
    with PartStore(target) as store:
        store.start(JOB, resume=True)
        assert store.count == 1
        store.add_rows(rows(2, 2))
        store.add_rows(rows(2, 4))
        assert [row.cells[0] for row in store.rows()] == [f"{place:03}" for place in range(6)]


def test_a_damaged_part_is_an_error(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    interrupt(target, 1)
    (parts_folder(target) / "part-00000000").write_text('[1, null, ["a"\n')
    with PartStore(target) as store:
        store.start(JOB, resume=True)
        with pytest.raises(TableError, match="part-00000000: a finished part is damaged"):
            list(store.rows())


def test_files_of_the_user_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    folder = parts_folder(target)
    folder.mkdir()
    (folder / "thesis.tex").touch()
    (folder / "part-1").touch()
    with PartStore(target) as store:
        store.start(JOB, resume=False)
    assert sorted(path.name for path in folder.iterdir()) == ["part-1", "thesis.tex"]


def test_a_second_process_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    target, link = tmp_path / "out.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    with PartStore(target) as store:
        store.start(JOB, resume=False)
        store.add_rows(rows(1))
        for name in (target, link):
            with pytest.raises(TableError, match="another process is writing this file"), PartStore(name):
                pass
        assert store.count == len(list(store.rows())) == 1


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    code = (
        "import os, signal, sys; from gia_science.data.parts import PartStore\n"
        "with PartStore(sys.argv[1]) as store:\n"
        f"    store.start({JOB!r}, resume=False); store.add(b'[2, null, [\"a\"]]\\n')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = os.pathsep.join(sys.path)
    killed = subprocess.run(
        [sys.executable, "-c", code, target], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    with PartStore(target) as store:
        store.start(JOB, resume=True)
        assert [row.cells for row in store.rows()] == [("a",)]
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".out.csv.parts").touch()
    with (
        pytest.raises(TableError, match="the file cannot be written: got File exists"),
        PartStore(tmp_path / "out.csv"),
    ):
        pass
    with pytest.raises(TableError, match="no such folder"):
        PartStore(tmp_path / "none" / "out.csv")


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1), st.none() | CELL, st.lists(CELL, max_size=3)), max_size=9),
    st.integers(1, 4),
)
def test_any_rows_come_back_equal(
    tmp_path_factory, given: list[tuple[int, str | None, list[str]]], size: int
) -> None:
    records = [Record("a", line, name, tuple(cells)) for line, name, cells in given]
    with PartStore(tmp_path_factory.mktemp("t") / "out.csv") as store:
        store.start(JOB, resume=False)
        found = list(store.through(records, size=size))
        assert store.count == -(-len(records) // size)
    assert [(row.line, row.id, row.cells) for row in found] == [
        (row.line, row.id, row.cells) for row in records
    ]


@pytest.mark.parametrize(("cell", "told"), [("\0", "NUL"), ("\ud800", "UTF-8")])
def test_what_the_output_cannot_hold_is_told_with_its_part(tmp_path: Path, cell: str, told: str) -> None:
    for name in ("out.csv", "out.parquet"):
        with PartStore(tmp_path / name) as store:
            store.start(JOB, resume=False)
            if (name, told) == ("out.parquet", "NUL"):
                store.add_rows([Record("a", 1, None, (cell,))])
                continue
            with pytest.raises(TableError, match=told):
                store.add_rows([Record("a", 1, None, (cell,))])
            assert store.count == 0


def test_an_output_written_into_the_folder_first_is_moved_out_or_removed(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with PartStore(target) as store:
        store.start(JOB, resume=False)
        with TableWriter(target, ["a"], staging=store.folder) as writer:
            writer.write_row(["1"])
            assert sorted(tmp_path.iterdir()) == [store.folder]
    assert target.read_text() == "a\n1\n"
    interrupt(target, 1)
    (parts_folder(target) / f".{'0' * 16}.part").touch()
    with PartStore(target) as store:
        store.start(JOB, resume=True)
        assert {path.name for path in store.folder.iterdir()} == {"job.json", "lock", "part-00000000"}


def test_size_and_hash_are_those_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_digest(tmp_path / "a") == {"bytes": 3, "sha256": digest}
