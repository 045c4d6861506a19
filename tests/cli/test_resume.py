"""Work that was interrupted goes on, and its result is that of an undisturbed run, byte for byte."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import pytest

from gia_science.prediction import model as prediction

WINDOW = 20
OPTIONS = ("--window", WINDOW)


def molecules_csv(count: int) -> str:
    """A table with bad rows, ids that repeat and cells that have to be quoted."""
    lines = [
        f"{place % (count - 3)},C{'C' * (place % 37)}{'NO'[place % 2]}c1ccccc1{'C' * (place % 11)},"
        f'"note, {place}\n"'
        for place in range(count)
    ]
    lines[7] = "x,C1CC,bad"
    lines[count - 2] = "y,CC"
    return "id,smiles,note\n" + "\n".join(lines) + "\n"


def stop_after(windows: int, error: BaseException | None = None) -> mock._patch[mock.Mock]:
    """The forward pass of the window behind some others fails, as on a full disk."""
    results = [prediction.predict_examples] * windows

    def compute(*given: object, **options: object) -> object:
        if not results:
            raise error or OSError(28, "No space left on device")
        return results.pop()(*given, **options)

    return mock.patch.object(prediction, "predict_examples", compute)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet"])
def test_an_interrupted_run_goes_on(gia, write, molecules, tmp_path, out) -> None:
    write(molecules_csv(95))
    whole = gia("predict", molecules, "in.csv", "-o", out, *OPTIONS)
    assert whole.told[0].startswith("ids that occur more than once, all rows kept: 0 (lines 2, ")
    assert whole.told[-1].startswith("2 of 95 rows not predicted: line 16: ")
    expected = (tmp_path / out).read_bytes()
    (tmp_path / out).unlink()
    with stop_after(2):
        stopped = gia("predict", molecules, "in.csv", "-o", out, *OPTIONS)
    assert stopped.error == "No space left on device"
    assert stopped.told[0] == f"2 parts of {out} finished and kept: --resume goes on from there"
    assert names(tmp_path) == {"in.csv", f".{out}.parts"}
    with stop_after(1):
        gia("predict", molecules, "in.csv", "-o", out, *OPTIONS, "--resume")
    with stop_after(2):  # the last two windows and no more
        done = gia("predict", molecules, "in.csv", "-o", out, *OPTIONS, "--resume")
    assert (done.code, done.told) == (1, whole.told)
    assert (tmp_path / out).read_bytes() == expected
    assert names(tmp_path) == {"in.csv", out}


def test_parts_change_nothing(gia, write, molecules, tmp_path) -> None:
    """A pipe has no parts; its output is the same."""
    content = molecules_csv(50)
    gia("predict", molecules, write(content), "-o", "out.csv", *OPTIONS)
    through = gia("predict", molecules, "-", *OPTIONS, stdin=content.encode())
    assert through.out == (tmp_path / "out.csv").read_text()


def test_ctrl_c_says_how_to_go_on(gia, write, molecules) -> None:
    from gia_science.cli.main import _Interrupted

    write(molecules_csv(50))
    with stop_after(1, _Interrupted()):
        stopped = gia("predict", molecules, "in.csv", "-o", "out.csv", *OPTIONS)
    assert stopped.code == 130
    assert stopped.told == [
        "1 part of out.csv finished and kept: --resume goes on from there",
        "error: interrupted",
    ]
    assert gia("predict", molecules, "in.csv", "-o", "out.csv", *OPTIONS, "--resume").code == 1


@pytest.fixture
def stopped(gia, write, molecules, tmp_path) -> Callable[..., object]:
    """A run that was stopped after its first part, with a model folder of its own; resumes it: ``stopped(options)``."""
    shutil.copytree(molecules, tmp_path / "model")
    write(molecules_csv(50))
    with stop_after(1):
        gia("predict", "model", "in.csv", "-o", "out.csv", *OPTIONS)
    return lambda *options, model="model", data="in.csv": gia(
        "predict", model, data, "-o", "out.csv", "--resume", *options
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--long", "truncate"), "got another columns; long truncate, was error ("),
        (("--input", "smiles"), "got input column smiles, was not given ("),
        (("--threads", "2"), "got threads 2, was 1 ("),
        (("--window", "10"), "got rows of a part 10, was 20 ("),
    ],
)
def test_other_options_are_refused(stopped, tmp_path, options, told) -> None:
    refused = stopped(*OPTIONS, *options)
    assert "out.csv: the unfinished work was begun otherwise" in refused.error
    assert told in refused.error
    assert len(refused.told) == 1
    assert stopped(*OPTIONS).code == 1, "the parts are still there"


def test_another_input_or_model_is_refused(stopped, write, proteins, molecules, tmp_path) -> None:
    assert "got another input file (" in stopped(*OPTIONS, data=write(molecules_csv(51), "new.csv")).error
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps({**config, "made_with": {}}))
    assert "got another model (" in stopped(*OPTIONS).error
    shutil.copy(molecules / "config.json", tmp_path / "model" / "config.json")
    (tmp_path / "in.csv").rename(tmp_path / "moved.csv")
    assert stopped(*OPTIONS, data="moved.csv").code == 1, "the same bytes under another name"


def test_threads_are_those_of_the_start(stopped, monkeypatch) -> None:
    """The last bits depend on the number of threads; all cores of another machine may be another number."""
    import gia_science.cli.output as output

    used: list[int | None] = []
    monkeypatch.setattr(output, "use_threads", lambda threads: used.append(threads) or threads)
    done = stopped(*OPTIONS)
    assert done.code == 1
    assert used == [1]


def test_starting_anew_is_said(gia, stopped, tmp_path) -> None:
    done = gia("predict", "model", "in.csv", "-o", "out.csv")
    told = "unfinished work of out.csv found (1 part): --resume would have gone on with it; starting anew"
    assert done.told[0] == told
    assert names(tmp_path) == {"in.csv", "model", "out.csv"}


def test_nothing_to_resume(gia, write, molecules, tmp_path) -> None:
    write("smiles\nCC\n")
    first = gia("predict", molecules, "in.csv", "-o", "out.csv", "--resume")
    assert (first.code, first.told[0]) == (0, "nothing to resume: starting with the first row")
    before = (tmp_path / "out.csv").stat()
    again = gia("predict", molecules, "in.csv", "-o", "out.csv", "--resume")
    assert "out.csv: nothing to resume: got a file that is there, and no unfinished work" in again.error
    assert (tmp_path / "out.csv").stat().st_mtime_ns == before.st_mtime_ns
    assert names(tmp_path) == {"in.csv", "out.csv"}


def test_what_cannot_be_resumed_is_refused(gia, write, molecules) -> None:
    write("smiles\nCC\n")
    piped = gia("predict", molecules, "-", "-o", "out.csv", "--resume", stdin=b"smiles\nCC\n")
    assert "--resume is not possible: got an input that can be read only once" in piped.error
    Path("null.csv").symlink_to(os.devnull)
    for out in ("-", "null.csv"):
        bad = gia("predict", molecules, "in.csv", "-o", out, "--resume")
        assert "got an output that is no file (write to a file with -o)" in bad.error


def test_a_second_process_on_the_same_output_is_refused(gia, write, molecules) -> None:
    from gia_science.data.parts import PartStore

    write("smiles\nCC\n")
    with PartStore("out.csv"):
        bad = gia("predict", molecules, "in.csv", "-o", "out.csv")
    assert bad.error.startswith("out.csv: another process is writing this file")
    assert gia("predict", molecules, "in.csv", "-o", "out.csv").code == 0


def test_a_shard_goes_on(gia, write, molecules, tmp_path) -> None:
    shard = ("predict", molecules, write(molecules_csv(95)), "-o", "out.csv", "--shard", "2/2", *OPTIONS)
    gia(*shard)
    expected = (tmp_path / "out.2-of-2.csv").read_bytes()
    (tmp_path / "out.2-of-2.csv").unlink()
    with stop_after(1):
        gia(*shard)
    assert "shard 1/2, was 2/2" not in gia(*shard[:-4], "1/2", *OPTIONS).err
    assert gia(*shard, "--resume").code == 1
    assert (tmp_path / "out.2-of-2.csv").read_bytes() == expected


def start(folder: Path, model: Path, *options: object) -> subprocess.Popen[bytes]:
    """``gia predict`` as a process of its own, with one thread as the runs it is held against."""
    words = ("predict", model, "in.csv", "-o", "out.csv", "--threads", 1, *OPTIONS, *options)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "gia_science", *map(str, words)]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL)


def kill_after(process: subprocess.Popen[bytes], folder: Path, parts: int, *, delay: float = 0) -> None:
    """SIGKILL when so many parts are finished, and a moment later."""
    last = folder / ".out.csv.parts" / f"part-{parts - 1:08}"
    while not last.exists() and process.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()


def whole_run(gia, model: Path, folder: Path, rows: int) -> tuple[bytes, Sequence[str]]:
    (folder / "in.csv").write_text(molecules_csv(rows))
    told = gia("predict", model, "in.csv", "-o", "whole.csv", *OPTIONS).told
    return (folder / "whole.csv").read_bytes(), [line.replace("whole.csv", "out.csv") for line in told]


def test_two_kills(gia, molecules, tmp_path) -> None:
    expected, told = whole_run(gia, molecules, tmp_path, 800)
    for parts, options in ((3, ()), (9, ("--resume",))):
        process = start(tmp_path, molecules, *options)
        kill_after(process, tmp_path, parts)
        assert process.returncode == -signal.SIGKILL
        assert not (tmp_path / "out.csv").exists()
    done = gia("predict", molecules, "in.csv", "-o", "out.csv", *OPTIONS, "--resume")
    assert done.told == told
    assert (tmp_path / "out.csv").read_bytes() == expected
    assert names(tmp_path) == {"in.csv", "whole.csv", "out.csv"}


@pytest.mark.slow
def test_ten_kills_at_random_moments(gia, molecules, tmp_path) -> None:
    """Some thousands of rows; from before the first part to the moments after the last one, when all is assembled."""
    rows = 3000
    expected, told = whole_run(gia, molecules, tmp_path, rows)
    draw = random.Random()
    moments = [0, rows // WINDOW, *(draw.randrange(rows // WINDOW) for _ in range(8))]
    for parts in moments:
        (tmp_path / "out.csv").unlink(missing_ok=True)
        delay = draw.uniform(0, 0.1)
        kill_after(start(tmp_path, molecules), tmp_path, parts, delay=delay)
        if (tmp_path / "out.csv").exists() and not (tmp_path / ".out.csv.parts").exists():
            # Killed too late.
            assert (tmp_path / "out.csv").read_bytes() == expected, (parts, delay)
            continue
        done = gia("predict", molecules, "in.csv", "-o", "out.csv", *OPTIONS, "--resume")
        assert done.told[-len(told) :] == told, (parts, delay)
        assert (tmp_path / "out.csv").read_bytes() == expected, (parts, delay)
        assert names(tmp_path) == {"in.csv", "whole.csv", "out.csv"}
