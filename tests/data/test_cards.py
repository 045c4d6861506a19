"""Dataset cards hold what they say, and a wrong card or file is named plainly."""

import hashlib
import shutil

import pytest
import yaml
from pydantic import ValidationError

from gia_science import catalog
from gia_science.data.cards import CardFile, load_card, load_rows
from gia_science.errors import DefinitionError, TableError

CARDS = catalog.names("datasets")


@pytest.fixture
def own(tmp_path):
    """Folder with a user's own copy of the card `amp`, and a function that changes its content."""
    for suffix in (".yaml", ".csv"):
        shutil.copy(catalog.folder("datasets") / f"amp{suffix}", tmp_path / f"amp{suffix}")

    def change(edit):
        path = tmp_path / "amp.yaml"
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        edit(content)
        path.write_text(yaml.safe_dump(content), encoding="utf-8")

    return tmp_path, change


def test_the_three_shipped_datasets_are_there():
    assert {"amp", "expt_gap", "nav17"} <= set(CARDS)


@pytest.mark.parametrize("name", CARDS)
def test_rows_columns_and_checksums_of_every_card_hold(name):
    card = load_card(name)
    table = load_rows(card)
    assert len(table.rows) == card.rows
    assert table.columns == card.columns
    assert all(len(cells) == len(card.columns) for _, cells in table.rows)
    assert all(all(cells) for _, cells in table.rows)


@pytest.mark.parametrize("name", CARDS)
def test_inputs_are_distinct_and_targets_are_numbers(name):
    card = load_card(name)
    table = load_rows(card)
    inputs = [cells[card.columns.index(card.input)] for _, cells in table.rows]
    assert len(set(inputs)) == card.rows
    for target in card.targets:
        values = {float(cells[card.columns.index(target.column)]) for _, cells in table.rows}
        assert len(values) > 1
        if target.kind == "binary":
            assert values == {0.0, 1.0}


@pytest.mark.parametrize("name", CARDS)
def test_line_numbers_lead_to_the_row_in_the_source(name):
    card = load_card(name)
    table = load_rows(card)
    lines = table.source.read_text(encoding="utf-8").splitlines()
    column = card.columns.index(card.input)
    assert all(cells[column] in lines[line - 1] for line, cells in table.rows[:: len(table.rows) // 7])


def test_amp_figures_on_the_card_hold():
    rows = [cells for _, cells in load_rows(load_card("amp")).rows]
    starts = [sum(s.startswith("M") for s, label in rows if label == wanted) for wanted in "01"]
    counts = [sum(label == wanted for _, label in rows) for wanted in "01"]
    assert (starts, counts) == ([1169, 45], [2080, 2540])
    assert len({s.removeprefix("M") for s, _ in rows}) == 4620


def test_nav17_joins_values_to_structures_by_name():
    table = load_rows(load_card("nav17"))
    by_id = {name: (smiles, value) for _, (name, smiles, value) in table.rows}
    assert by_id["1520012"] == ("O=S(=O)(Nc1cccs1)c2ccc(Oc3ccccc3c4ccccc4)c(c2)C#N", "5.48")
    assert len(by_id) == 1017


def test_unknown_dataset_suggests_the_nearest():
    with pytest.raises(DefinitionError, match="did you mean 'nav17'"):
        load_card("nav7")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.update(licnce="MIT"), "did you mean 'licence'"),
        (lambda c: c["targets"][0].update(units="eV"), "unknown key.*'targets.units'"),
        (lambda c: c["source"].update(flie="x"), "did you mean 'file'"),
        (lambda c: c.pop("citation"), "lacks a key.*'citation'"),
        (lambda c: c.update(rows=0), "rows of the dataset card is not valid"),
        (lambda c: c["source"].update(kind="download"), "source of the dataset card is not valid"),
        (lambda c: c.update(input="sequnce"), "does not list.*'sequnce'"),
        (lambda c: c.update(name="other"), "another name"),
    ],
)
def test_a_wrong_card_is_refused_with_its_key(own, edit, message):
    folder, change = own
    change(edit)
    with pytest.raises(DefinitionError, match=message):
        load_card("amp", extra=folder)


@pytest.mark.parametrize(
    ("text", "message"), [("name: [", "not a YAML file"), ("- amp", "mapping"), ("", "mapping")]
)
def test_a_card_that_is_no_yaml_mapping_is_refused(own, text, message):
    folder, _ = own
    (folder / "amp.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DefinitionError, match=message):
        load_card("amp", extra=folder)


def test_a_changed_file_is_named_with_both_checksums(own):
    folder, _ = own
    card = load_card("amp", extra=folder)
    path = folder / "amp.csv"
    path.write_bytes(path.read_bytes() + b"GG,1\n")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(TableError, match=f"amp.csv.*{found}.*{card.source.file.sha256}"):
        load_rows(card, extra=folder)


def test_a_missing_file_is_named(own):
    folder, _ = own
    (folder / "amp.csv").unlink()
    with pytest.raises(TableError, match=r"amp\.csv.*missing"):
        load_rows(load_card("amp", extra=folder), extra=folder)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.update(rows=7), "number of rows.*4620.*7"),
        (lambda c: c.update(columns=["sequence", "label", "charge"]), "columns differ"),
    ],
)
def test_a_table_that_differs_from_its_card_is_refused(own, edit, message):
    folder, change = own
    change(edit)
    with pytest.raises(TableError, match=message):
        load_rows(load_card("amp", extra=folder), extra=folder)


@pytest.mark.parametrize("path", ["../amp.csv", "/etc/passwd", "a/../../b", "C:\\x", ""])
def test_a_file_cannot_lie_outside_its_folder(path):
    with pytest.raises(ValidationError):
        CardFile(path=path, sha256="0" * 64)
