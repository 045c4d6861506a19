"""Domains by name, and by what a column holds."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gia_science.data.source import dataset_table
from gia_science.errors import DefinitionError, TableError
from gia_science.tokens.domain import DOMAINS, guess_column, guess_domain, make_tokenizer, readable_share


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_domain_has_a_tokenizer_of_its_name(domain: str) -> None:
    tokenizer = make_tokenizer(domain)
    assert tokenizer.domain == domain
    again = make_tokenizer(domain, options=tokenizer.options, vocabulary=tokenizer.vocabulary)
    assert again.options == tokenizer.options
    assert again.vocabulary is tokenizer.vocabulary


def test_an_unknown_domain_and_an_unknown_option_are_refused_with_the_nearest() -> None:
    with pytest.raises(DefinitionError, match=r"unknown domain: got 'proteins' .did you mean 'protein'"):
        make_tokenizer("proteins")
    with pytest.raises(DefinitionError, match="there are: protein, smiles, composition"):
        make_tokenizer("x")
    with pytest.raises(DefinitionError, match=r"the protein options: got 'gap' .did you mean 'gaps'"):
        make_tokenizer("protein", options={"gap": "drop"})


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["id", " SMILES ", "y"], (" SMILES ", "smiles")),
        (["Protein Sequence"], ("Protein Sequence", "protein")),
        (["material", "formula"], ("formula", "composition")),
        (["smiles", "formula"], None),
        (["a", "b"], None),
        ([], None),
    ],
)
def test_a_column_names_its_domain_or_nothing(columns: list[str], found: tuple[str, str] | None) -> None:
    assert guess_column(columns) == found


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_name_of_a_domains_column_speaks_of_it_alone(domain: str) -> None:
    assert all(guess_column([name]) == (name, domain) for name in DOMAINS[domain].columns)


def test_a_domain_looks_for_its_own_columns_only() -> None:
    assert guess_column(["smiles", "formula"], domain="composition") == ("formula", "composition")
    assert guess_column(["smiles"], domain="protein") is None


@pytest.mark.parametrize(
    ("dataset", "column", "domain"),
    [
        ("amp", "sequence", "protein"),
        ("expt_gap", "formula", "composition"),
        ("nav17", "smiles", "smiles"),
    ],
)
def test_the_shipped_columns_are_recognised_by_content_alone(dataset: str, column: str, domain: str) -> None:
    assert guess_domain(dataset_table(dataset).column(column)) == domain


@pytest.mark.parametrize(
    "texts",
    [
        ["CC", "CCN", "CCO"],
        [],
        ["", " "],
        ["Hello world", "x = 3", "42"],
        ["Fe2O3", "c1ccccc1", "MKTAYIAKQR", "12"],
    ],
    ids=["ambiguous", "nothing", "blank", "neither", "mixed"],
)
def test_what_is_not_clear_is_the_users_choice(texts: list[str]) -> None:
    with pytest.raises(TableError, match=r"cannot tell.*protein reads \d+%.*--domain"):
        guess_domain(texts)


def test_a_few_bad_rows_do_not_hide_the_domain() -> None:
    assert guess_domain(["c1ccccc1", "C1CC", "", "CC(=O)O", "O=C=O"]) == "smiles"


@pytest.mark.parametrize(
    ("named", "texts", "domain"),
    [
        ("smiles", ["CC", "CCN", "CCO"], "smiles"),
        ("protein", ["CC", "CCN", "CCO"], "protein"),
        ("composition", [], "composition"),
        ("composition", ["c1ccccc1", "CC(=O)O"], "smiles"),
        ("smiles", ["C1CC", "c1cc", "(C"], "smiles"),
    ],
)
def test_a_name_holds_unless_the_content_contradicts_it(named: str, texts: list[str], domain: str) -> None:
    assert guess_domain(texts, named=named) == domain


def test_the_share_of_texts_that_can_be_read() -> None:
    assert readable_share("smiles", ["C", "C1CC", "N", ""]) == 0.5
    assert readable_share("smiles", []) == 0.0


def test_sequences_of_the_amp_dataset_hold_no_molecules() -> None:
    """The margin by which a guess is made is wide on real data."""
    with (Path(__file__).parents[2] / "datasets" / "amp.csv").open() as stream:
        texts = [row["sequence"] for row in csv.DictReader(stream)][:100]
    assert readable_share("protein", texts) == 1.0
    assert readable_share("smiles", texts) < 0.1
