"""Dataset cards hold what they say, and a wrong card or file is named plainly."""

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError
from rdkit import Chem, rdBase

from gia_science import catalog
from gia_science.data.cards import CardFile, RemoteSource, load_card, load_rows, whereabouts
from gia_science.errors import DefinitionError, TableError
from gia_science.evaluation.metrics import METRICS

CARDS = catalog.names("datasets")
BUNDLED = [name for name in CARDS if not isinstance(load_card(name).source, RemoteSource)]
REMOTE = [name for name in CARDS if name not in BUNDLED]


def card_and_rows(name):
    """A card and its rows, where no network is needed for them."""
    card = load_card(name)
    if whereabouts(card) not in ("bundled", "mirror"):
        pytest.skip(f"{name} is not bundled: name a folder that has it with GIA_DATA_MIRROR")
    return card, load_rows(card)


def column(name, *columns):
    """Cells of one column, or tuples of the cells of several."""
    card, table = card_and_rows(name)
    places = [card.columns.index(one) for one in columns]
    found = [tuple(cells[place] for place in places) for _, cells in table.rows]
    return [cells[0] for cells in found] if len(columns) == 1 else found


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


def test_the_shipped_datasets_are_there():
    assert {"amp", "expt_gap", "nav17"} == set(BUNDLED)
    assert {"esol", "bace", "matbench_steels", "gb1", "gfp", "secondary_structure"} <= set(REMOTE)


@pytest.mark.parametrize("name", CARDS)
def test_every_card_parses_and_says_what_there_is_to_know(name):
    card = load_card(name)
    assert all((card.title, card.origin, card.citation, card.licence, card.licence_id, card.known_problems))
    assert card.evaluation.metric in {metric.name for kind in METRICS.values() for metric in kind}


@pytest.mark.parametrize("name", REMOTE)
def test_addresses_are_pinned_to_a_commit(name):
    for file in load_card(name).source.files:
        assert re.match(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/", file.url)


@pytest.mark.parametrize("name", CARDS)
def test_rows_columns_and_checksums_of_every_card_hold(name):
    card, table = card_and_rows(name)
    assert len(table.rows) == card.rows
    assert table.columns == card.columns
    assert all(len(cells) == len(card.columns) for _, cells in table.rows)
    assert all(cell == cell.strip() for _, cells in table.rows for cell in cells)
    inputs = [cells[card.columns.index(card.input)] for _, cells in table.rows]
    assert all(inputs)
    assert len({line for line, _ in table.rows}) == card.rows
    if card.id is not None:
        assert len({cells[card.columns.index(card.id)] for _, cells in table.rows}) == card.rows


@pytest.mark.parametrize("name", CARDS)
def test_targets_are_what_the_card_says(name):
    card, table = card_and_rows(name)
    for target in card.targets:
        values = {cells[card.columns.index(target.column)] for _, cells in table.rows}
        assert len(values) > 1
        if target.kind == "binary":
            assert {float(value) for value in values - {""}} == {0.0, 1.0}
            assert ("" in values) == (name == "tox21")
        elif target.kind == "regression":
            assert len({float(value) for value in values}) > 100
        elif target.kind == "per_token":
            pairs = column(name, card.input, target.column)
            assert all(len(sequence) == len(labels) for sequence, labels in pairs)


@pytest.mark.parametrize("name", BUNDLED)
def test_inputs_of_bundled_data_are_distinct(name):
    card = load_card(name)
    assert len(set(column(name, card.input))) == card.rows


@pytest.mark.parametrize("name", BUNDLED)
def test_line_numbers_lead_to_the_row_in_the_source(name):
    card = load_card(name)
    table = load_rows(card)
    lines = table.source.read_text(encoding="utf-8").splitlines()
    column = card.columns.index(card.input)
    assert all(cells[column] in lines[line - 1] for line, cells in table.rows[:: len(table.rows) // 7])


@pytest.mark.parametrize("name", [name for name in REMOTE if name.startswith("matbench")])
def test_folds_are_the_official_ones_row_by_row(name):
    fold = column(name, "fold")
    path = next(Path(os.environ["GIA_DATA_MIRROR"]).glob("**/matbench_folds.json"), None)
    if path is None:
        pytest.skip("the mirror does not hold the official folds, matbench_folds.json")
    official = json.loads(path.read_text())["tasks"][name.replace("is_metal", "expt_is_metal")]["test_fold"]
    assert [int(number) for number in fold] == official


@pytest.mark.parametrize(("name", "unread"), [("bbbp", 11), ("clintox", 4), ("tox21", 8), ("esol", 0)])
def test_the_number_of_unreadable_smiles_is_that_on_the_card(name, unread):
    with rdBase.BlockLogs():
        assert sum(Chem.MolFromSmiles(smiles) is None for smiles in column(name, "smiles")) == unread


@pytest.mark.parametrize(
    ("name", "split", "train", "validation", "test"),
    [
        ("gb1", "sampled", 6289, 699, 1745),
        ("gb1", "low_vs_high", 4580, 509, 3644),
        ("gb1", "one_vs_rest", 25, 3, 8705),
        ("gb1", "two_vs_rest", 381, 43, 8309),
        ("gb1", "three_vs_rest", 2691, 299, 5743),
        ("gfp", "split", 26808, 0, 27217),
        ("secondary_structure", "split", 9712, 1080, 364),
        ("disorder", "split", 1050, 118, 117),
        ("deeploc", "split", 1678, 0, 490),
    ],
)
def test_parts_of_published_splits_have_their_sizes(name, split, train, validation, test):
    expected = Counter({"train": train, "validation": validation, "test": test})
    assert Counter(column(name, split)) == +expected


def test_gfp_sequences_are_variants_of_the_wild_type_or_end_at_a_stop_codon():
    rows = column("gfp", "mutations", "sequence")
    wild = next(sequence for mutations, sequence in rows if not mutations)
    stopped = sum("*" in mutations for mutations, _ in rows)
    assert (len(wild), stopped) == (237, 2310)
    assert sum(len(sequence) < 237 for _, sequence in rows) == stopped
    for mutations, sequence in rows[:2000]:
        if "*" not in mutations:
            differ = sum(one != other for one, other in zip(wild, sequence, strict=True))
            assert differ == len([text for text in mutations.split(":") if text])


def test_residues_that_are_not_known_are_as_many_as_on_the_cards():
    assert sum(labels.count("-") for labels in column("secondary_structure", "structure")) == 186876
    disorder = "".join(column("disorder", "disorder"))
    assert Counter(disorder) == {"-": 6862, "D": 45309, "O": 99473}


def test_freesolv_is_in_kcal_per_mol():
    values = [float(value) for value in column("freesolv", "hydration_free_energy")]
    assert (min(values), max(values)) == (-25.47, 3.43)


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
        (lambda c: c.update(input="sequnce"), "does not list or make.*'sequnce'"),
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
