"""What the network sees of a row is the same at training, after saving and at prediction."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np
import pytest

from gia_science.errors import DefinitionError
from gia_science.tokens.domain import DOMAINS, make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Example, Featurizer
from gia_science.tokens.stream import TokenStream

TEXTS = {
    "smiles": ["CCO", "c1ccccc1C(=O)O", "C[C@@H](N)C(=O)O", "[Na+].[Cl-]"],
    "protein": ["MKTAYIAKQR", "GLWSKIKEVG", "MKXLLU", "AAAA"],
    "composition": ["Fe2O3", "NaCl", "Hg0.7Cd0.3Te", "H2O"],
}
PROVIDERS = {"smiles": "rdkit2d", "protein": "protparam", "composition": "element_stats"}
FIELDS = tuple(TokenStream.__dataclass_fields__)


def fit(
    domain: str, *, providers: tuple[str, ...] = (), columns: tuple[str, ...] = (), max_length: int = 50
) -> Featurizer:
    tokenizer = make_tokenizer(domain)
    source = DescriptorSource(providers=providers, columns=columns)
    raw = [
        source.compute(tokenizer.read(text), [10.0 * row + place for place in range(len(columns))])
        for row, text in enumerate(TEXTS[domain])
    ]
    return Featurizer.fit(tokenizer, source=source, raw=raw, max_length=max_length)


def assert_equal(first: Example, second: Example) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(first.stream, name), getattr(second.stream, name), err_msg=name)
    np.testing.assert_array_equal(first.descriptors, second.descriptors)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_featurizer_that_went_through_json_gives_the_same_examples(domain: str) -> None:
    made = fit(domain, providers=(PROVIDERS[domain],), columns=("T", "pH"))
    text = json.dumps(made.to_json(), allow_nan=False)
    read = Featurizer.from_json(json.loads(text), vocabulary=made.tokenizer.vocabulary)
    assert read.to_json() == made.to_json()
    assert [block.name for block in read.blocks] == [PROVIDERS[domain], "columns"]
    for sample in TEXTS[domain]:
        assert_equal(
            read.example(read.read(sample), numbers=[3.0, float("nan")]),
            made.example(made.read(sample), numbers=[3.0, float("nan")]),
        )


def test_missing_numbers_stay_missing_and_others_are_standardised() -> None:
    featurizer = fit("smiles", columns=("T", "pH"))
    example = featurizer.example(featurizer.read("C"), numbers=[float("nan"), 16.0])
    assert np.isnan(example.descriptors[0])
    assert example.descriptors[1] == pytest.approx(0.0)
    assert example.descriptors.dtype == np.float32
    assert len(example) == len(example.stream) == 3


def test_a_constant_column_is_left_out() -> None:
    tokenizer = make_tokenizer("smiles")
    source = DescriptorSource(providers=(), columns=("T", "pH"))
    raw = [source.compute(tokenizer.read("C"), [1.0, row]) for row in (1.0, 2.0, 3.0)]
    featurizer = Featurizer.fit(tokenizer, source=source, raw=raw, max_length=9)
    assert featurizer.blocks[0].scaling.names == ("pH",)
    assert featurizer.blocks[0].size == 1
    assert featurizer.example(tokenizer.read("C"), numbers=[5.0, 2.0]).descriptors.tolist() == [0.0]


def test_without_descriptors_there_are_none() -> None:
    featurizer = fit("protein")
    assert featurizer.blocks == ()
    assert featurizer.example(featurizer.read("MKT")).descriptors.shape == (0,)


def test_raw_descriptors_given_are_not_computed_again() -> None:
    featurizer = fit("smiles", providers=("rdkit2d",))
    reading = featurizer.read("CCO")
    raw = featurizer.source.compute(reading, ())
    assert_equal(featurizer.example(reading, raw=raw), featurizer.example(reading))


def tokens_of_units(stream: TokenStream) -> np.ndarray:
    """Token of each unit, in the order of units."""
    tokens = np.flatnonzero(stream.units >= 0)
    return tokens[np.argsort(stream.units[tokens])]


def test_another_spelling_keeps_what_is_known_of_the_atoms() -> None:
    featurizer = fit("smiles")
    reading = featurizer.read("CC(=O)Nc1ccc(O)cc1")
    plain = featurizer.example(reading)
    spelt = [featurizer.example(reading, respell=np.random.default_rng(seed)) for seed in range(4)]
    assert any(other.stream.ids.tolist() != plain.stream.ids.tolist() for other in spelt)
    for other in spelt:
        atoms, theirs = tokens_of_units(plain.stream), tokens_of_units(other.stream)
        np.testing.assert_array_equal(plain.stream.features[atoms], other.stream.features[theirs])
        np.testing.assert_array_equal(plain.stream.contexts[atoms], other.stream.contexts[theirs])


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return fit("smiles", providers=("rdkit2d",), columns=("T",)).to_json()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.pop("columns"), "the featurizer lacks a key: expected 'columns'"),
        (lambda d: d.update(more=1), "unknown key in the featurizer: got 'more'"),
        (lambda d: d["blocks"][0].update(size=3), "unknown key in the featurizer: got 'blocks.size'"),
        (lambda d: d["blocks"][0].pop("scaling"), "lacks a key: expected 'blocks.scaling'"),
        (lambda d: d["blocks"][0].update(scaling=[1, 2]), "blocks.scaling of the featurizer is not valid"),
        (lambda d: d["blocks"][0]["scaling"].pop("mean"), "descriptor scaling has wrong keys"),
        (lambda d: d["blocks"][0]["scaling"].update(mean=["a"]), "mean is not a list of numbers"),
        (lambda d: d["blocks"][0]["scaling"]["mean"].pop(), "do not fit the names"),
        (lambda d: d["blocks"][0]["scaling"]["columns"].pop(), "216 (the library that computes them may"),
        (lambda d: d["blocks"][0]["scaling"].update(columns=["a"]), "not among all"),
        (lambda d: d["blocks"][1]["scaling"].update(columns=["pH"], names=["pH"]), "differ from those of"),
        (lambda d: d["blocks"][0].update(name="rdkit3d"), "unknown descriptors: got 'rdkit3d'"),
        (lambda d: d["blocks"][0].update(name="protparam"), "descriptors protparam are of another domain"),
        (
            lambda d: d["blocks"].pop(),
            "blocks do not fit the columns: got rdkit2d, expected rdkit2d, columns",
        ),
        (lambda d: d["blocks"].reverse(), "blocks do not fit the columns"),
        (lambda d: d.update(columns=[]), "blocks do not fit the columns"),
        (lambda d: d.update(columns="T"), "columns of the featurizer is not valid"),
        (lambda d: d.update(blocks=3), "blocks of the featurizer is not valid"),
        (lambda d: d.update(max_length=0), "max_length of the featurizer is not valid"),
        (lambda d: d.update(max_length="long"), "max_length of the featurizer is not valid"),
        (lambda d: d.update(domain="smile"), "unknown domain: got 'smile'"),
        (lambda d: d.update(domain=["smiles"]), "domain of the featurizer is not valid"),
        (lambda d: d.update(options=["stereo"]), "options of the featurizer is not valid"),
        (lambda d: d.update(options={"stereo": "some"}), "stereo of the smiles options is not valid"),
    ],
)
def test_a_description_that_was_not_written_so_is_refused(stored, damage, message: str) -> None:
    data = copy.deepcopy(stored)
    damage(data)
    with pytest.raises(DefinitionError, match=re.escape(message)):
        Featurizer.from_json(data, vocabulary=make_tokenizer("smiles").vocabulary)


def test_descriptors_of_another_version_of_a_library_are_refused() -> None:
    made = fit("smiles", providers=("rdkit2d",)).to_json()
    scaling = made["blocks"][0]["scaling"]
    scaling["columns"] = [*scaling["columns"], "NewInRDKit2030"]
    with pytest.raises(DefinitionError, match=r"descriptors differ.*1 gone; NewInRDKit2030.*another version"):
        Featurizer.from_json(made, vocabulary=make_tokenizer("smiles").vocabulary)
