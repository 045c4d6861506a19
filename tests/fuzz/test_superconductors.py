"""A large table of formulas as they were typed: `gia predict` reports the unreadable ones and predicts all others."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest
from pymatgen.core import Composition, Element

from gia_science.cli.main import main

# Stanev et al., npj Comput. Mater. 2018, 4, 29: Supercon_data.csv of github.com/vstanev1/Supercon, not bundled.
NAME = Path("materials") / "supercon_stanev.csv"
ROWS, UNREADABLE = 16_414, 8
SYMBOLS = {element.symbol for element in Element} | {"D", "T"}
_PART = re.compile(r"([A-Z][a-z]?)(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)?")


def is_plain(formula: str) -> bool:
    """Whether a formula is symbols with amounts, and nothing else."""
    parts = _PART.findall(formula)
    whole = "".join(symbol + amount for symbol, amount in parts) == formula
    return whole and all(symbol in SYMBOLS for symbol, _ in parts) and any(float(n or 1) for _, n in parts)


def pymatgen_reads(formula: str) -> bool:
    try:
        composition = Composition(formula)
    except ValueError:
        return False
    return composition.num_atoms > 0 and all(element.symbol in SYMBOLS for element in composition)


@pytest.mark.skipif("GIA_DATA_MIRROR" not in os.environ, reason="needs the data files of GIA_DATA_MIRROR")
def test_exactly_the_unreadable_formulas_are_reported(rows_back, tmp_path) -> None:
    source = Path(os.environ["GIA_DATA_MIRROR"]) / NAME
    rows_back.model_of("composition").save(tmp_path / "model")
    out = tmp_path / "out.csv"
    with pytest.raises(SystemExit) as end:
        main(
            [
                "predict",
                str(tmp_path / "model"),
                str(source),
                "-o",
                str(out),
                "--input",
                "name",
                "--threads",
                "1",
            ]
        )
    assert end.value.code == 1
    given, found = rows(source), rows(out)
    assert len(given) == len(found) == ROWS
    assert [(row["name"], row["Tc"]) for row in found] == [(row["name"], row["Tc"]) for row in given]
    reported = [row["name"] for row in found if row["status"] == "error"]
    assert len(reported) == UNREADABLE
    assert reported == [row["name"] for row in given if not is_plain(row["name"])]
    assert reported == [row["name"] for row in given if not pymatgen_reads(row["name"])]
    for row in found:
        assert (row["status"] == "ok") == bool(row["y_pred"]) != (row["name"] in reported)
        assert row["reason"] or row["status"] == "ok"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
