"""Training commands on two devices, here two processes on the CPU, and the mistakes that one can make with them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from gia_science.cli.main import _fail
from gia_science.training.processes import end_with_parent, torchrun_size

ROOT = Path(__file__).parents[2]
SMILES = [f"{'C' * n}{end}" for n in range(1, 9) for end in ("O", "N", "C(=O)O")]
TABLE = "smiles,y,z\n" + "".join(
    f"{text},{math.sin(len(text)) + row / 50},{'' if row % 3 else row}\n" for row, text in enumerate(SMILES)
)
CERTAIN = [
    f"--set=network.{name}=0"
    for name in ("dropout", "token_dropout", "context_dropout", "descriptor_dropout")
]
"""Nothing is hidden at random, which processes would do each in its own way."""
MORE = ["--set=training.epochs=3", "--set=training.batch_rows=5", "--threads=1"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m"]


def start(folder: Path, *words: object, by: Sequence[str] = (sys.executable, "-m")) -> tuple[int, str, str]:
    """Exit code, output and standard error of a command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*by, "gia_science", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=folder, check=False, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def numbers(folder: Path) -> dict[str, float]:
    """All numbers of metrics.json by their place in it."""

    def walk(value: object, place: str) -> dict[str, float]:
        if isinstance(value, dict | list):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            return {k: v for key, item in items for k, v in walk(item, f"{place}/{key}").items()}
        return {place: value} if isinstance(value, int | float) else {}

    return walk(json.loads((folder / "metrics.json").read_text()), "")


def test_training_on_two_devices_gives_the_model_and_the_words_of_one(gia, write, tiny, tmp_path) -> None:
    """Two networks one after the other, two targets of which one is often missing; told once."""
    words = ["train", write(TABLE), "-t", "y", "-t", "z", "--no-baseline", *tiny, *CERTAIN, *MORE]
    words += ["--device=cpu", "--set=network.members=2"]
    alone = gia(*words, "-o", "one")
    code, out, err = start(tmp_path, *words, "-o", "two", "--devices", 2)
    assert code == alone.code == 0, err
    assert err == alone.err
    assert len(out.splitlines()) == len(alone.out.splitlines())
    assert numbers(tmp_path / "two") == pytest.approx(numbers(tmp_path / "one"), rel=1e-3, abs=1e-4)
    assert (tmp_path / "two" / "recipe.yaml").read_text() == (tmp_path / "one" / "recipe.yaml").read_text()


def test_pretraining_under_torchrun_gives_the_network_of_one_process(gia, write, tiny, tmp_path) -> None:
    words = ["pretrain", write(TABLE), "--objective=causal", "--device=cpu", *tiny[:-2], *CERTAIN[:1], *MORE]
    alone = gia(*words, "-o", "one")
    code, out, err = start(tmp_path, *words, "-o", "two", by=TORCHRUN)
    assert code == alone.code == 0, err
    assert len(out.splitlines()) == len(alone.out.splitlines())
    # torchrun has words of its own.
    assert [line for line in err.splitlines() if line in alone.told] == alone.told
    assert numbers(tmp_path / "two") == pytest.approx(numbers(tmp_path / "one"), rel=1e-3, abs=1e-4)


def test_a_loss_that_is_not_finite_ends_both_processes_with_one_line(write, tiny, tmp_path) -> None:
    words = [
        "train",
        write(TABLE),
        "-t",
        "y",
        "--no-baseline",
        *tiny,
        *MORE,
        "--set=training.learning_rate=1e30",
    ]
    code, out, err = start(tmp_path, *words, "-o", "two", "--devices=2", "--device=cpu")
    assert (code, out) == (2, "")
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert errors == err.splitlines()[-1:]
    assert "no longer finite" in errors[0]
    assert not (tmp_path / "two").exists()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own process looks like one that can be started again."""
    monkeypatch.setattr(sys, "argv", [__file__])


@pytest.mark.usefixtures("command")
class TestMistakes:
    """Each is one line, before anything is started."""

    @pytest.mark.parametrize("words", [["train", "-", "-t", "y"], ["pretrain", "-"]])
    def test_standard_input_cannot_be_read_twice(self, gia, words) -> None:
        bad = gia(*words, "--devices", 2, "--device", "cpu")
        assert "cannot read standard input" in bad.error
        assert "file first" in bad.error

    def test_neither_can_a_pipe(self, gia, tmp_path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert "or a pipe" in gia("train", "pipe", "-t", "y", "--devices", 2).error

    def test_a_missing_file_is_told_as_ever(self, gia) -> None:
        assert gia("train", "none.csv", "-t", "y", "--devices", 2).error == "none.csv: no such file"

    def test_machines_have_to_know_of_each_other(self, gia, write) -> None:
        bad = gia("train", write(TABLE), "-t", "y", "--nodes", 2)
        assert "torchrun" in bad.error
        assert "MASTER_ADDR" in bad.error

    def test_more_gpus_than_there_are(self, gia, write, monkeypatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        bad = gia("train", write(TABLE), "-t", "y", "--device", "gpu", "--devices", 4)
        assert "4 asked for, expected at most 2" in bad.error

    def test_other_devices_than_torchrun_started(self, gia, write, monkeypatch) -> None:
        started = {"LOCAL_WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "1", "WORLD_SIZE": "2"}
        for name, value in {**started, "TORCHELASTIC_RUN_ID": "test"}.items():
            monkeypatch.setenv(name, value)
        bad = gia("train", write(TABLE), "-t", "y", "--devices", 3)
        assert "got 3 devices on 1 machine, expected 2 devices on 1 machine" in bad.error
        assert torchrun_size() == (2, 1)

    def test_a_second_training_on_several_devices(self, gia, write, monkeypatch) -> None:
        monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
        assert "once" in gia("train", write(TABLE), "-t", "y", "--devices", 2).error

    @pytest.mark.parametrize("argv", ["", "-c"])
    def test_a_session_that_no_process_can_repeat(self, gia, write, monkeypatch, argv) -> None:
        monkeypatch.setattr(sys, "argv", [argv])
        assert "a command or a script" in gia("train", write(TABLE), "-t", "y", "--devices", 2).error


def test_of_equal_mistakes_under_torchrun_one_is_told(monkeypatch, capsys) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "test")
    for rank in ("0", "1"):
        monkeypatch.setenv("LOCAL_RANK", rank)
        with pytest.raises(SystemExit, match="2"):
            _fail("no such file")
    assert capsys.readouterr().err == "error: no such file\n"


def test_a_process_does_not_outlive_the_one_that_started_it(tmp_path) -> None:
    """The parent is gone already: the process, which would sleep for a minute, ends at once."""
    code = f"import time; from {end_with_parent.__module__} import *; end_with_parent(); time.sleep(60)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GIA_SCIENCE_PARENT": "-1"}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True, timeout=50)
