"""CIF: the composition of every data block, partial occupancies included."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymatgen.core import Lattice, Structure
from pymatgen.io.cif import CifWriter

from gia_science.data.record import LoadedTable
from gia_science.data.table import read_table
from gia_science.errors import TableError
from gia_science.tokens.formula import read_formula

SALT = """data_{name}
_cell_length_a 5.6
_cell_length_b 5.6
_cell_length_c 5.6
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'I m m m'
_symmetry_Int_Tables_number 71
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
Na1 Na1+ 0 0 0 0.9
K1 K1+ 0 0 0 0.1
Cl1 Cl1- 0.5 0.5 0 {occupancy}
"""
WHOLE = SALT.format(name="salt", occupancy=1)


def read(text: str, *, format: str | None = "cif") -> LoadedTable:
    return read_table("-", stdin=io.BytesIO(text.encode()), format=format)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_each_block_is_a_row_with_fractional_amounts(end: str, mark: str) -> None:
    text = "#\\#CIF_1.1\n\n" + WHOLE + "\n# next\n" + WHOLE.replace("data_salt", "DATA_Second")
    table = read(mark + text.replace("\n", end), format=None)
    assert (table.format, table.columns) == ("cif", ("name", "formula"))
    assert [record.cells for record in table.records] == [
        ("salt", "Na1.8K0.2Cl2"),
        ("Second", "Na1.8K0.2Cl2"),
    ]
    assert [(record.line, record.id) for record in table.records] == [
        (3, "salt"),
        (5 + WHOLE.count("\n"), "Second"),
    ]


def test_formulas_are_read_as_the_compositions_of_the_structures() -> None:
    structures = [
        Structure.from_spacegroup(
            "Pm-3m", Lattice.cubic(4), ["Ba", "Ti", "O"], [[0, 0, 0], [0.5] * 3, [0.5, 0.5, 0]]
        ),
        Structure(Lattice.cubic(3), [{"Fe": 1 / 3, "Ni": 2 / 3}], [[0, 0, 0]]),
        Structure(Lattice.cubic(3), ["H", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]),
    ]
    table = read("".join(str(CifWriter(structure)) for structure in structures))
    assert not any(record.problem for record in table.records)
    for structure, formula in zip(structures, table.column("formula"), strict=True):
        fractions = dict(read_formula(formula).fractions)
        assert fractions == pytest.approx(
            structure.composition.fractional_composition.get_el_amt_dict(), abs=1e-6
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SALT.format(name="x", occupancy=1.5), "Occupancy 1.5 exceeded tolerance"),
        ("data_global\n_journal_name ?\n", "pymatgen cannot read the structure: "),
        ("data_x\n_cell_length_a 4\n", "pymatgen cannot read the structure: no _atom_site_label"),
        (WHOLE.replace("length_a 5.6", "length_a 0"), "pymatgen cannot read the structure: "),
        (WHOLE[:-10], "pymatgen cannot read the structure: "),
        (WHOLE + "_note\n;open\n" + WHOLE, "a text that begins with ; has no end"),
    ],
)
def test_a_block_that_cannot_be_read_is_an_error_row(text: str, reason: str) -> None:
    first, last = read(WHOLE + "\n" + text).records
    assert (first.cells, first.problem) == (("salt", "Na1.8K0.2Cl2"), None)
    assert last.cells[1] == ""
    assert last.problem is not None
    assert last.problem.startswith(reason) or reason in last.problem


def test_a_line_of_a_text_is_no_block() -> None:
    text = WHOLE + "_publ_section_comment\n;\nsee\n data_availability\n;\n"
    assert [record.id for record in read(text).records] == ["salt"]


def test_unknown_elements_reach_the_reader_of_formulas() -> None:
    (record,) = read(WHOLE.replace("Cl1-", "Qq").replace("Cl1 ", "Qq1 ")).records
    assert record.problem is not None or "Qq" in record.cells[1]


def test_other_text_is_not_cif() -> None:
    with pytest.raises(TableError, match=r"line 2: not CIF: text before the first data block: got 'x'"):
        read("# note\nx\n" + WHOLE)
    with pytest.raises(TableError, match="no line begins with data_"):
        read("# only a note\n")


LINES = st.sampled_from(
    [*WHOLE.splitlines(), ";", "loop_", "'open", "data_", "Na 1 2", "_symmetry_equiv_pos_as_xyz", "x,y", "?"]
)


@settings(deadline=None, max_examples=25)
@given(st.lists(LINES | st.text(max_size=20), max_size=25))
def test_any_lines_give_rows_or_a_table_error(lines: list[str]) -> None:
    try:
        table = read("data_a\n" + "\n".join(lines))
    except TableError:
        return
    assert table.records[0].id == "a"
    assert all(record.cells[1] or record.problem for record in table.records)
