"""What must not change a prediction does not: padding, neighbours in a batch, spelling, order, missing numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from gia_science.attention import AttentionConfig
from gia_science.data.batching import collate
from gia_science.model.backbone import Block, Pool, masked_mean
from gia_science.model.folder import SavedModel
from gia_science.tokens.featurizer import Example

CLOSE = {"rtol": 0, "atol": 1e-5}
ATTENTION = ("gin", "pna", "plain")
POOLING = ("mean", "first", "attention")
MOLECULES = (
    "C[C@@H](N)C(=O)O",
    "CC(=O)Nc1ccc(O)cc1",
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "C/C=C/C(=O)[O-].[Na+]",
    "c1ccc2[nH]ccc2c1",
)


def examples(saved: SavedModel, texts: Sequence[str], numbers: Sequence[float] = ()) -> list[Example]:
    featurizer = saved.featurizer
    return [featurizer.example(featurizer.read(text), numbers=numbers) for text in texts]


@torch.inference_mode()
def outputs(saved: SavedModel, *rows: Example) -> torch.Tensor:
    return saved.network(collate(rows))


@torch.inference_mode()
def vectors(saved: SavedModel, *rows: Example) -> torch.Tensor:
    return saved.network.embed(collate(rows))


@pytest.fixture(scope="module")
def smiles(make_saved) -> SavedModel:
    return make_saved("smiles", providers=("rdkit2d", "morgan_counts"))


@pytest.mark.parametrize("pooling", POOLING)
@pytest.mark.parametrize("attention", ATTENTION)
def test_padding_changes_nothing(make_saved, attention: str, pooling: str) -> None:
    """Lengths 8, 98 and 3 in one batch, and each alone."""
    saved = make_saved("protein", attention={"kind": attention}, pooling=pooling)
    rows = examples(saved, ["MKTAYIAK", "ACDEFGHIKLMNPQRSTVWY" * 4 + "MKTAYIAKQRQISFVKSH", "GLW"])
    assert [len(row) - 2 for row in rows] == [8, 98, 3]
    for run in (outputs, vectors):
        together = run(saved, *rows)
        assert torch.isfinite(together).all()
        for row, values in zip(rows, together, strict=True):
            torch.testing.assert_close(run(saved, row)[0], values, **CLOSE)
    spread = outputs(saved, *rows).flatten()
    assert spread.max() - spread.min() > 1e-3, "the three are told apart"


def test_padding_changes_nothing_for_residues(make_saved) -> None:
    saved = make_saved("protein", kind="per_token", labels=("C", "E", "H"))
    rows = examples(saved, ["MKTAYIAK", "ACDEFGHIKLMNPQRSTVWY" * 4, "GLW"])
    together = outputs(saved, *rows)
    for index, row in enumerate(rows):
        torch.testing.assert_close(outputs(saved, row)[0], together[index, : len(row)], **CLOSE)


@pytest.mark.parametrize("attention", ATTENTION)
def test_rows_of_a_batch_do_not_see_each_other(make_saved, attention: str) -> None:
    saved = make_saved("composition", attention={"kind": attention})
    rows = examples(saved, ["Fe2O3", "NaCl", "Hg0.7Cd0.3Te", "H2O", "Ar"])
    order = [3, 0, 4, 2, 1]
    torch.testing.assert_close(
        outputs(saved, *[rows[index] for index in order]), outputs(saved, *rows)[order], **CLOSE
    )


@pytest.mark.parametrize("attention", ATTENTION)
@settings(max_examples=30)
@given(molecule=st.sampled_from(MOLECULES), seed=st.integers(0, 2**31 - 1))
def test_every_spelling_of_a_molecule_has_one_prediction(
    of_kind, attention: str, molecule: str, seed: int
) -> None:
    saved = of_kind("smiles", attention)
    other = Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(molecule), 1, randomSeed=seed)[0]
    first, second = examples(saved, [molecule, other])
    torch.testing.assert_close(outputs(saved, first), outputs(saved, second), **CLOSE)
    torch.testing.assert_close(vectors(saved, first), vectors(saved, second), **CLOSE)


@pytest.mark.parametrize("attention", ATTENTION)
@settings(max_examples=30)
@given(
    amounts=st.dictionaries(
        st.sampled_from(["Fe", "O", "H", "Na", "Cl", "Te", "Og"]), st.integers(1, 9), min_size=1, max_size=5
    ),
    times=st.integers(1, 5),
    data=st.data(),
)
def test_order_and_scale_of_a_formula_do_not_matter(
    of_kind, attention: str, amounts: dict[str, int], times: int, data: st.DataObject
) -> None:
    saved = of_kind("composition", attention)
    other = data.draw(st.permutations(list(amounts)))
    first = "".join(f"{element}{amount}" for element, amount in amounts.items())
    second = "".join(f"{element}{amounts[element] * times}" for element in other)
    one, two = examples(saved, [first, second])
    torch.testing.assert_close(outputs(saved, one), outputs(saved, two), **CLOSE)


@pytest.mark.parametrize("attention", ATTENTION)
def test_a_composition_is_a_set_to_the_network_itself(of_kind, attention: str) -> None:
    """Not only because the tokenizer sorts: tokens in another order give the same prediction."""
    saved = of_kind("composition", attention)
    (row,) = examples(saved, ["Hg0.7Cd0.3Te"])
    order = np.array([0, 3, 1, 2])
    stream = replace(
        row.stream,
        **{
            name: getattr(row.stream, name)[order]
            for name in ("ids", "values", "positions", "features", "contexts", "units")
        },
    )
    torch.testing.assert_close(outputs(saved, row), outputs(saved, replace(row, stream=stream)), **CLOSE)


def test_fractions_matter(make_saved) -> None:
    saved = make_saved("composition", providers=())
    rows = examples(saved, ["FeO", "Fe2O3", "Fe3O4"])
    assert len({round(value, 5) for value in outputs(saved, *rows).flatten().tolist()}) == 3


def test_order_of_residues_matters(make_saved) -> None:
    saved = make_saved("protein", providers=())
    first, second = outputs(saved, *examples(saved, ["MKTAYIAK", "KAIYATKM"])).flatten().tolist()
    assert abs(first - second) > 1e-4


@pytest.mark.parametrize("attention", ATTENTION)
@pytest.mark.parametrize("text", ["C", "[Na+]", "*", "[H][H]"])
def test_a_single_atom_has_a_finite_prediction(of_kind, attention: str, text: str) -> None:
    """A graph of one node, whose partial charges and many descriptors are not defined."""
    saved = of_kind("smiles", attention)
    rows = examples(saved, [text, "CC(=O)Nc1ccc(O)cc1"])
    assert torch.isfinite(outputs(saved, *rows)).all()
    torch.testing.assert_close(outputs(saved, rows[0])[0], outputs(saved, *rows)[0], **CLOSE)


def test_the_filler_of_a_missing_descriptor_does_not_matter(make_saved) -> None:
    """A missing number is a masked token: what its embedding holds is never seen."""
    saved = make_saved("smiles", providers=(), columns=("T", "pH"))
    (gap,) = examples(saved, ["CCO"], [float("nan"), 1.0])
    (known,) = examples(saved, ["CCO"], [10.0, 1.0])
    without = outputs(saved, gap)
    assert not torch.allclose(without, outputs(saved, known), atol=1e-4)
    module = saved.network.members[0].backbone.embedding.blocks[0]
    name = module.name.detach().clone()
    with torch.no_grad():
        module.name[0] = 1e3
    try:
        torch.testing.assert_close(outputs(saved, gap), without, rtol=0, atol=0)
    finally:
        with torch.no_grad():
            module.name.copy_(name)


def test_dropout_is_off_in_evaluation_and_on_in_training(smiles: SavedModel) -> None:
    rows = examples(smiles, ["CCO", "CC(=O)Nc1ccc(O)cc1"])
    assert torch.equal(outputs(smiles, *rows), outputs(smiles, *rows))
    smiles.network.train()
    try:
        assert not torch.equal(outputs(smiles, *rows), outputs(smiles, *rows))
    finally:
        smiles.network.eval()


def test_the_backbone_gives_a_state_for_each_token_and_descriptor(smiles: SavedModel) -> None:
    rows = examples(smiles, ["C", "CCO"])
    with torch.inference_mode():
        hidden, mask = smiles.network.members[0].backbone(collate(rows))
    assert hidden.shape == (2, 5 + 3 + 3, 16)
    assert mask.sum(dim=1).tolist() == [3 + 6, 5 + 6]


def test_masked_mean_is_over_the_tokens_alone() -> None:
    hidden = torch.tensor([[[1.0], [3.0], [100.0]], [[1.0], [2.0], [3.0]]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert masked_mean(hidden, mask).tolist() == [[2.0], [0.0]]


def test_each_pooling_is_what_its_name_says() -> None:
    torch.manual_seed(0)
    hidden, mask = torch.randn(2, 4, 6), torch.tensor([[True] * 4, [True, True, False, False]])
    torch.testing.assert_close(Pool(6, kind="mean")(hidden, mask)[1], hidden[1, :2].mean(dim=0))
    torch.testing.assert_close(Pool(6, kind="first")(hidden, mask), hidden[:, 0])
    pool = Pool(6, kind="attention")
    score = (hidden[1, :2] @ pool.score.weight[0]).exp()
    torch.testing.assert_close(
        pool(hidden, mask)[1], (score[:, None] * hidden[1, :2]).sum(dim=0) / score.sum()
    )


def test_bonds_matter_where_the_configuration_asks_for_them(make_saved) -> None:
    """Padding and other rows change nothing then either, nor do the descriptor tokens behind the atoms."""
    saved = make_saved("smiles", attention={"edge_kinds": 4})
    rows = examples(saved, ["CC(=O)Oc1ccccc1C(=O)O", "CCO"])
    together, alone = outputs(saved, *rows), outputs(saved, rows[1])
    torch.testing.assert_close(together[1:], alone, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        for block in saved.network.members[0].backbone.blocks:
            block.attention.edge_bias.add_(torch.tensor([3.0, 2.0, 1.0, 0.5]))
    assert (outputs(saved, *rows) - together).abs().max() > 1e-4
    unbiased = make_saved("smiles")
    assert not [name for name, _ in unbiased.network.named_parameters() if "edge" in name]


def test_atoms_two_bonds_apart_are_drawn_together_where_the_configuration_says_so(make_saved) -> None:
    """The distances are RDKit's; padding changes nothing."""
    saved = make_saved("smiles", attention={"edge_kinds": 7}, hops=3)
    smiles = ["CC(=O)Oc1ccccc1C(=O)O", "CCO"]
    rows = examples(saved, smiles)
    together, alone = outputs(saved, *rows), outputs(saved, rows[1])
    torch.testing.assert_close(together[1:], alone, rtol=1e-4, atol=1e-5)
    backbone = saved.network.members[0].backbone
    batch = collate(rows)
    told = backbone._nodes(batch)[1]["edges"]
    for row, text in enumerate(smiles):
        distances = torch.tensor(Chem.GetDistanceMatrix(Chem.MolFromSmiles(text)))
        atoms = torch.nonzero(batch.units[row] >= 0).flatten()
        atoms = atoms[torch.argsort(batch.units[row][atoms])]
        kinds = told[row][atoms][:, atoms]
        assert torch.equal(kinds == 6, distances == 2)
        assert torch.equal(kinds == 7, distances == 3)
        assert torch.equal((kinds > 0) & (kinds < 6), distances == 1)
    with torch.no_grad():
        for block in backbone.blocks:
            block.attention.edge_bias[:, 5] += 3.0
    assert (outputs(saved, *rows) - together).abs().max() > 1e-4


def test_a_block_adds_to_what_comes_in() -> None:
    """With the last maps of both branches at zero a block is the identity."""
    block = Block(16, attention=AttentionConfig(heads=2), expansion=2.0, dropout=0.0, depth=1)
    with torch.no_grad():
        block.attention._last_weight().zero_()
        block.feedforward.out.weight.zero_()
    x = torch.randn(2, 5, 16)
    positions, mask = torch.arange(5).expand(2, 5), torch.ones(2, 5, dtype=torch.bool)
    torch.testing.assert_close(block(x, positions=positions, mask=mask), x)


def test_states_of_a_layer_are_those_that_the_next_one_takes(of_kind) -> None:
    """And the last one's, after the norm, are the default."""
    backbone = of_kind("smiles", "gin").network.members[0].backbone
    batch = collate(examples(of_kind("smiles", "gin"), MOLECULES))
    with torch.inference_mode():
        states = [backbone(batch, layer=layer)[0] for layer in range(3)]
        x, positions, mask = backbone.embedding(batch)
        torch.testing.assert_close(states[0], x)
        torch.testing.assert_close(states[1], backbone.blocks[0](x, positions=positions, mask=mask))
        torch.testing.assert_close(states[2], backbone(batch)[0])
