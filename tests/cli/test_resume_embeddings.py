"""``gia embed`` that was interrupted goes on, and its file is that of an undisturbed run, byte for byte."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from gia_science.prediction import model as prediction

WINDOW = 20


def molecules_csv(count: int) -> str:
    """A table with a bad row and cells that have to be quoted."""
    lines = [
        f'{place},C{"C" * (place % 37)}{"NO"[place % 2]}c1ccccc1{"C" * (place % 11)},"note, {place}\n"'
        for place in range(count)
    ]
    lines[7] = "x,C1CC,bad"
    return "id,smiles,note\n" + "\n".join(lines) + "\n"


def stop_after(windows: int) -> mock._patch[mock.Mock]:
    """The forward pass of the window behind some others fails, as on a full disk."""
    results = [prediction.embed_examples] * windows

    def compute(*given: object, **options: object) -> object:
        if not results:
            raise OSError(28, "No space left on device")
        return results.pop()(*given, **options)

    return mock.patch.object(prediction, "embed_examples", compute)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("options", [(), ("--tokens",)], ids=["rows", "tokens"])
@pytest.mark.parametrize("out", ["out.csv.gz", "out.parquet", "out.npz"])
def test_an_interrupted_run_goes_on(gia, write, molecules, tmp_path, out, options) -> None:
    write(molecules_csv(95))
    command = ("embed", molecules, "in.csv", "-o", out, "--window", WINDOW, *options)
    whole = gia(*command)
    assert whole.told[-1].startswith("1 of 95 rows not embedded: line 16: ")
    expected = (tmp_path / out).read_bytes()
    (tmp_path / out).unlink()
    with stop_after(2):
        stopped = gia(*command)
    assert stopped.error == "No space left on device"
    assert stopped.told[0] == f"2 parts of {out} finished and kept: --resume goes on from there"
    assert names(tmp_path) == {"in.csv", f".{out}.parts"}
    with stop_after(3):  # the last three windows and no more
        done = gia(*command, "--resume")
    assert (done.code, done.told) == (1, whole.told)
    assert (tmp_path / out).read_bytes() == expected
    assert names(tmp_path) == {"in.csv", out}


def test_parts_change_nothing(gia, write, molecules, tmp_path) -> None:
    """A pipe has no parts; its output is the same."""
    content = molecules_csv(50)
    gia("embed", molecules, write(content), "-o", "out.csv", "--window", WINDOW)
    through = gia("embed", molecules, "-", "--window", WINDOW, stdin=content.encode())
    assert through.out == (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--layer", "0"), "got layer 0, was -1 ("),
        (("--pooling", "mean"), "got pooling mean, was model ("),
        (("--tokens",), "vectors of tokens True, was False"),
    ],
)
def test_other_options_are_refused(gia, write, molecules, options, told) -> None:
    write(molecules_csv(50))
    command = ("embed", molecules, "in.csv", "-o", "out.csv", "--window", WINDOW)
    with stop_after(1):
        gia(*command)
    refused = gia(*command, "--resume", *options)
    assert "the unfinished work was begun otherwise" in refused.error
    assert told in refused.error
    assert gia(*command, "--resume").code == 1, "the parts are still there"


def test_a_shard_goes_on(gia, write, molecules, tmp_path) -> None:
    write(molecules_csv(95))
    shard = ("embed", molecules, "in.csv", "-o", "out.parquet", "--shard", "2/2", "--window", WINDOW)
    gia(*shard)
    expected = (tmp_path / "out.2-of-2.parquet").read_bytes()
    (tmp_path / "out.2-of-2.parquet").unlink()
    with stop_after(1):
        gia(*shard)
    gia(*shard, "--resume")
    assert (tmp_path / "out.2-of-2.parquet").read_bytes() == expected


@pytest.mark.slow
@pytest.mark.parametrize(("out", "options"), [("out.npz", ()), ("out.parquet", ("--tokens",))])
def test_kills_at_random_moments(gia, molecules, tmp_path, out, options) -> None:
    """From before the first part to the moments after the last one, when all is assembled."""
    rows = 600
    (tmp_path / "in.csv").write_text(molecules_csv(rows))
    command = ("embed", molecules, "in.csv", "-o", out, "--window", WINDOW, *options)
    told = gia(*command).told
    expected = (tmp_path / out).read_bytes()
    draw = random.Random()
    for parts in (1, rows // WINDOW, draw.randrange(rows // WINDOW)):
        (tmp_path / out).unlink(missing_ok=True)
        delay = draw.uniform(0, 0.1)
        kill_after(command, tmp_path, parts, delay=delay)
        if (tmp_path / out).exists() and not (tmp_path / f".{out}.parts").exists():
            assert (tmp_path / out).read_bytes() == expected, "killed too late"
            continue
        done = gia(*command, "--resume")
        assert done.told[-len(told) :] == told, (parts, delay)
        assert (tmp_path / out).read_bytes() == expected, (parts, delay)
        assert names(tmp_path) == {"in.csv", out}


def kill_after(command: tuple[object, ...], folder: Path, parts: int, *, delay: float) -> None:
    """SIGKILL when a process of its own has finished so many parts, and a moment later."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gia_science", *map(str, command), "--threads", "1"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
    )
    last = folder / f".{command[4]}.parts" / f"part-{parts - 1:08}"
    while not last.exists() and process.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
