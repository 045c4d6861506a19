"""The graph of an input: what the layers aggregate over, under the names of what the tokens stand for."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from matplotlib.image import imread
from rdkit import Chem

from gia_science.attention import edge_matrix
from gia_science.data.batching import collate
from gia_science.errors import RecipeError, TableError, UnreadableInputError
from gia_science.prediction import graph as module
from gia_science.prediction.graph import FILES
from gia_science.prediction.model import Model

PARACETAMOL = "CC(=O)Nc1ccc(O)cc1"


@pytest.fixture(scope="module")
def elements(make_model) -> Model:
    return make_model("composition", layers=2, members=2)


@pytest.fixture(scope="module")
def described(make_model) -> Model:
    """A column of the user's as a token of its own, and packed descriptors."""
    return make_model("smiles", providers=("rdkit2d",), columns=("dose",))


def rows(path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("kind", ["plain", "gin", "pna"])
def test_it_is_what_each_layer_gives_when_asked_by_hand(make_model, kind) -> None:
    """Also with the known graph as a prior, whose biases are read by the layers."""
    model = make_model("smiles", layers=2, members=2, attention={"kind": kind, "edge_kinds": 5})
    graph = model.graph(PARACETAMOL)
    featurizer = model.saved.featurizer
    batch = collate([featurizer.example(featurizer.read(PARACETAMOL))])
    N = len(graph)
    assert graph.adjacency.shape == (2, 2, 2, N, N)
    edges = edge_matrix(batch.edges, batch.edge_kinds, nodes=N)
    with torch.no_grad():
        for m, member in enumerate(model.saved.network.members):
            x, positions, mask = member.backbone.embedding(batch)
            for layer, block in enumerate(member.backbone.blocks):
                given = {"positions": positions, "mask": mask, "edges": edges}
                by_hand = block.attention.adjacency(block.attention_norm(x), **given)
                np.testing.assert_allclose(graph.adjacency[m, layer], by_hand[0].numpy(), atol=1e-6)
                x = block(x, **given)
    assert not np.allclose(graph.adjacency[0], graph.adjacency[1])


def test_rows_of_softmax_sum_to_one(molecules: Model) -> None:
    np.testing.assert_allclose(molecules.graph(PARACETAMOL).adjacency.sum(axis=-1), 1.0, atol=1e-5)


def test_atoms_are_those_of_the_canonical_smiles_however_it_is_written(molecules: Model) -> None:
    graph, other = molecules.graph(PARACETAMOL), molecules.graph("c1(O)ccc(cc1)NC(C)=O")
    mol = Chem.MolFromSmiles(graph.reading.identity)
    for label, kind, unit in zip(graph.labels, graph.kinds, graph.units, strict=True):
        assert (kind == "atom") == (unit >= 0)
        if unit >= 0:
            assert label == f"{mol.GetAtomWithIdx(int(unit)).GetSymbol()}{unit + 1}"
    bonds = {frozenset(graph.units[list(pair)].tolist()) for pair in graph.known}
    assert bonds == {frozenset((b.GetBeginAtomIdx(), b.GetEndAtomIdx())) for b in mol.GetBonds()}
    assert (graph.labels[0], graph.kinds[0]) == ("<cls>", "special")
    assert {"(", ")", "=", "1"} == {
        t for t, kind in zip(graph.labels, graph.kinds, strict=True) if kind == "syntax"
    }
    assert other.labels == graph.labels
    np.testing.assert_array_equal(other.adjacency, graph.adjacency)


def test_an_atom_outside_the_vocabulary_has_its_symbol(molecules: Model) -> None:
    assert molecules.graph("[Og+4]").labels == ("<cls>", "Og1", "<eos>")


def test_residues_are_counted_in_the_text_as_given(residues: Model) -> None:
    graph = residues.graph("MK TAY")
    assert graph.labels == ("<cls>", "M1", "K2", "T4", "A5", "Y6", "<eos>")
    assert graph.kinds[1:-1] == ("residue",) * 5
    assert graph.known.tolist() == [[1, 2], [2, 3], [3, 4], [4, 5]]


def test_descriptors_have_nodes_and_a_missing_one_has_none(described: Model) -> None:
    graph = described.graph({"smiles": "CCO", "dose": 3})
    assert graph.labels == ("<cls>", "C1", "C2", "O3", "<eos>", "rdkit2d 1", "rdkit2d 2", "rdkit2d 3", "dose")
    assert graph.kinds[5:] == ("descriptor",) * 4
    without = described.graph({"smiles": "CCO", "dose": ""})
    assert without.labels == graph.labels[:-1]
    assert without.adjacency.shape[-2:] == (8, 8)
    np.testing.assert_allclose(without.adjacency.sum(axis=-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("spelling", ["O3Fe2", "(Fe2O3)2"])
def test_a_composition_is_a_set(elements: Model, spelling: str) -> None:
    graph, other = elements.graph("Fe2O3"), elements.graph(spelling)
    assert graph.labels == other.labels == ("<cls>", "O", "Fe")
    assert graph.known.shape == (0, 2)
    np.testing.assert_array_equal(other.adjacency, graph.adjacency)


def test_elements_in_another_order_give_the_same_graph(elements: Model) -> None:
    """Below the tokenizer, which sorts them: the network itself gives the graph with its nodes renamed."""
    featurizer = elements.saved.featurizer
    batch = collate([featurizer.example(featurizer.read("Hg0.7Cd0.3Te"))])
    order = torch.tensor([0, 3, 1, 2])
    names = ("ids", "values", "features", "contexts", "units")
    shuffled = type(batch)(**{**vars(batch), **{name: getattr(batch, name)[:, order] for name in names}})
    with torch.no_grad():
        found = elements.saved.network.adjacencies(batch)[0]
        other = elements.saved.network.adjacencies(shuffled)[0]
    torch.testing.assert_close(other, found[..., order, :][..., order], atol=1e-6, rtol=0)
    assert not torch.allclose(other, found, atol=1e-4)


def test_statistics_are_of_each_graph(elements: Model) -> None:
    graph = elements.graph("Hg0.7Cd0.3Te")
    found = graph.statistics(threshold=0.0)
    assert list(found) == [(m, layer, h) for m in range(2) for layer in range(2) for h in range(2)]
    for place, one in found.items():
        shares = graph.adjacency[place].astype(float)
        assert one.edges == 16
        assert one.algebraic_connectivity == pytest.approx(4.0)
        assert one.entropy == pytest.approx(-(shares * np.log(shares)).sum() / 4, abs=1e-5)
        assert np.isnan(one.precision)
    assert list(graph.statistics(layer=1, head=0)) == [(0, 1, 0), (1, 1, 0)]


def test_networkx_has_the_edges_over_the_threshold_from_the_read_to_the_reader(molecules: Model) -> None:
    graph = molecules.graph("CCO")
    one = graph.to_networkx(layer=0, head=1, threshold=0.2)
    weights = graph.adjacency[0, 0, 1]
    assert set(nx.DiGraph(one).edges) == {(j, i) for i, j in np.argwhere(weights > 0.2).tolist()}
    for start, end, data in one.edges(data=True):
        assert data == {"weight": weights[end, start], "member": 0, "layer": 0, "head": 1}
    assert one.nodes[1] == {"label": "C1", "kind": "atom", "unit": 0}
    assert graph.to_networkx(threshold=0.0).number_of_edges() == 2 * 25
    default = graph.to_networkx(head=0)
    assert default.number_of_edges() == (graph.adjacency[0, 0, 0] > 1 / 5).sum()


@pytest.mark.parametrize("threshold", [None, 0.2, 1e-3])
def test_a_weight_at_the_threshold_is_no_edge_anywhere(molecules: Model, threshold) -> None:
    """Weights are single-precision, 0.2 is not."""
    graph = molecules.graph("CCO")
    value = np.float32(threshold or 1 / len(graph))
    equal = replace(graph, adjacency=np.full_like(graph.adjacency, value))
    assert {one.edges for one in equal.statistics(threshold=threshold).values()} == {0}
    assert equal.to_networkx(threshold=threshold).number_of_edges() == 0
    slightly = float(np.nextafter(value, np.float32(0)))
    assert equal.to_networkx(threshold=slightly).number_of_edges() == equal.adjacency.size


def test_files_read_back_as_the_graph(molecules: Model, tmp_path) -> None:
    graph = molecules.graph(PARACETAMOL)
    written = graph.write(tmp_path / "a" / "b", threshold=0.05)
    folder = tmp_path / "a" / "b"
    assert {path.name for path in folder.iterdir()} == set(FILES) == {path.name for path in written}
    again = nx.read_graphml(folder / "graph.graphml", node_type=int, force_multigraph=True)
    made = graph.to_networkx(threshold=0.05)
    assert dict(again.nodes(data=True)) == dict(made.nodes(data=True))

    def edges(found):
        return sorted(
            (s, e, d["layer"], d["head"], pytest.approx(d["weight"])) for s, e, d in found.edges(data=True)
        )

    assert sorted(map(str, edges(again))) == sorted(map(str, edges(made)))
    listed = rows(folder / "edges.csv")
    assert len(listed) == made.number_of_edges()
    for row in listed:
        assert graph.labels[int(row["from"])] == row["from_label"]
        assert graph.labels[int(row["to"])] == row["to_label"]
        place = tuple(int(row[name]) for name in ("member", "layer", "head", "to", "from"))
        assert float(row["weight"]) == pytest.approx(graph.adjacency[place], rel=1e-5)
    statistics = rows(folder / "statistics.csv")
    assert sum(int(row["edges"]) for row in statistics) == len(listed)
    degrees = rows(folder / "degrees.csv")
    for row in statistics:
        mine = [d for d in degrees if d["head"] == row["head"]]
        for way in ("in", "out"):
            assert sum(int(d[f"tokens_with_{way}_degree"]) for d in mine) == len(graph)
            total = sum(int(d["degree"]) * int(d[f"tokens_with_{way}_degree"]) for d in mine)
            assert total == int(row["edges"])


def test_what_is_there_is_not_replaced_unless_asked_for(molecules: Model, tmp_path) -> None:
    graph = molecules.graph("CCO")
    (tmp_path / "notes.txt").write_text("mine")
    graph.write(tmp_path)
    before = (tmp_path / "edges.csv").read_text()
    with pytest.raises(TableError, match=r"holds a graph already.*--overwrite"):
        graph.write(tmp_path, head=0)
    assert (tmp_path / "edges.csv").read_text() == before
    graph.write(tmp_path, head=0, overwrite=True)
    assert (tmp_path / "edges.csv").read_text() != before
    assert (tmp_path / "notes.txt").read_text() == "mine"
    with pytest.raises(TableError, match="a file, not a folder"):
        graph.write(tmp_path / "notes.txt")


def test_graphml_beyond_what_memory_holds_is_left_out(molecules: Model, tmp_path, monkeypatch) -> None:
    graph = molecules.graph("CCO")
    graph.write(tmp_path)
    monkeypatch.setattr(module, "MOST_GRAPHML_EDGES", 3)
    written = graph.write(tmp_path, overwrite=True)
    assert (
        {path.name for path in written}
        == {path.name for path in tmp_path.iterdir()}
        == {*FILES} - {"graph.graphml"}
    )


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("molecules", PARACETAMOL),
        ("molecules", "[Na+].[Cl-]"),
        ("molecules", "C"),
        ("residues", "MKTAYIAKQRQISFVKSHFSRQ" * 3),
        ("residues", "M"),
        ("elements", "Hg0.7Cd0.3Te"),
        ("elements", "Fe"),
    ],
)
def test_everything_has_a_picture(model, text, request, tmp_path) -> None:
    graph = request.getfixturevalue(model).graph(text)
    image = imread(io.BytesIO(graph.picture()))
    assert min(image.shape[:2]) > 500
    assert image[..., :3].std() > 0.01
    assert np.array_equal(image, imread(io.BytesIO(graph.picture())))
    graph.write(tmp_path)


def test_heads_have_pictures_of_their_own(molecules: Model) -> None:
    graph = molecules.graph(PARACETAMOL)
    assert graph.picture(head=0) != graph.picture(head=1)


def test_a_cut_input_is_drawn_with_the_part_that_was_read(make_model) -> None:
    model = make_model("smiles")
    text = "C" * 210
    with pytest.raises(UnreadableInputError, match="longer than the model allows"):
        model.graph(text)
    graph = model.graph(text, long="truncate")
    assert (graph.units >= 0).sum() == 200
    assert graph.picture(head=0)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"layer": 1}, "no such layer in the model: got 1, expected 0, the only one"),
        ({"head": 2}, "no such head in the model: got 2, expected 0 to 1"),
        ({"member": -1}, "no such member in the model: got -1"),
        ({"threshold": -0.1}, "the threshold is not valid: got -0.1"),
        ({"threshold": float("nan")}, "the threshold is not valid: got nan"),
    ],
)
def test_a_choice_that_is_not_there_is_refused(molecules: Model, choice, message, tmp_path) -> None:
    graph = molecules.graph("CCO")
    for ask in (graph.statistics, graph.to_networkx, lambda **kw: graph.write(tmp_path / "new", **kw)):
        with pytest.raises(RecipeError, match=message):
            ask(**choice)
    assert not (tmp_path / "new").exists()


def test_a_name_that_xml_cannot_hold_is_written_all_the_same(make_model, tmp_path) -> None:
    model = make_model("smiles", columns=("do\x01se",))
    graph = model.graph({"smiles": "C", "do\x01se": 1})
    assert graph.labels[-1] == "do?se"
    graph.write(tmp_path)
    assert nx.read_graphml(tmp_path / "graph.graphml").number_of_nodes() == 4
