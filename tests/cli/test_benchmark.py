"""``gia benchmark accuracy``: what is left out, and a whole run."""

from __future__ import annotations

import csv

import pytest

from gia_science.evaluation.baselines import NAMES


def test_a_task_without_its_data_is_left_out(gia, tiny, tmp_path, monkeypatch) -> None:
    """It is named, the exit code tells, and there is no table of nothing."""
    monkeypatch.setenv("GIA_DATA_MIRROR", str(tmp_path / "none"))
    done = gia("benchmark", "accuracy", "esol", "-o", "out", *tiny, "--jobs", "1")
    assert (done.code, done.out) == (1, "")
    assert len(done.told) == 1
    assert done.told[0].startswith("esol: left out, its data cannot be had: GIA_DATA_MIRROR names no folder")
    assert not (tmp_path / "out").exists()


def test_a_comparison_of_adapters_needs_a_base_that_is_there(gia, tmp_path) -> None:
    assert gia("benchmark", "adapters", "amp").code == 2
    done = gia("benchmark", "adapters", "amp", "--base", str(tmp_path / "none"), "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert "no such folder of a pretrained model" in done.told[-1]


@pytest.mark.slow
def test_a_task_runs_over_all_folds_in_processes(gia, tiny, tmp_path) -> None:
    done = gia("benchmark", "accuracy", "nav17", "-o", "out", *tiny, "--jobs", "2")
    assert done.code == 0
    assert "5 of 5 folds, 1 seed: mean ± standard deviation of 5 runs" in done.out
    assert done.out.splitlines()[-1] == "tables: out/table.md, out/results.csv"
    assert len(list((tmp_path / "out" / "trials").iterdir())) == 5
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    assert {row["model"] for row in rows} == {"gia", *NAMES}
