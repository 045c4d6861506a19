"""``gia graph``: one input in, a folder out."""

from __future__ import annotations

import csv

import networkx as nx
import pytest

from gia_science.prediction.graph import FILES
from gia_science.prediction.model import Model


@pytest.mark.parametrize(
    ("model", "text"), [("molecules", "CCO"), ("proteins", "GLWSKIKEVG"), ("materials", "Fe2O3")]
)
def test_a_text_gives_a_folder(gia, model, text, request, tmp_path) -> None:
    folder = request.getfixturevalue(model)
    done = gia("graph", folder, text, "-o", "out")
    assert (done.code, done.out) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    graph = Model.load(folder).graph(text)
    members = graph.adjacency.shape[0]
    assert done.told == [f"{len(graph)} tokens; members: {members}, layers: 1, heads: 2 -> out"]
    read = nx.read_graphml(tmp_path / "out" / "graph.graphml", force_multigraph=True)
    assert [label for _, label in read.nodes(data="label")] == list(graph.labels)


def test_a_row_of_a_file_is_found_by_its_line(gia, molecules, write, tmp_path) -> None:
    write('name,smiles\n"of two\nlines",CCO\nb,c1ccccc1\n')
    assert gia("graph", molecules, "--file", "in.csv", "--line", "4", "-o", "a").code == 0
    assert gia("graph", molecules, "c1ccccc1", "-o", "b").code == 0
    for name in ("edges.csv", "graph.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    bad = gia("graph", molecules, "--file", "in.csv", "--line", "3", "-o", "c")
    assert bad.error == "in.csv, line 3: no row starts on this line"


def test_a_record_of_fasta_too(gia, proteins, write, tmp_path) -> None:
    write(">a first\nGLWSK\nIKEVG\n>b\nMKTAY\n", "in.fasta")
    done = gia("graph", proteins, "--file", "in.fasta", "--line", "4", "-o", "out")
    assert done.code == 0
    read = nx.read_graphml(tmp_path / "out" / "graph.graphml")
    assert read.graph["input"] == "MKTAY"


def test_one_layer_and_head_over_a_threshold(gia, molecules, tmp_path) -> None:
    options = ["--member", "0", "--layer", "0", "--head", "1", "--threshold", "0.2"]
    assert gia("graph", molecules, "CCO", "-o", "out", *options).code == 0
    with (tmp_path / "out" / "edges.csv").open(newline="") as stream:
        edges = list(csv.DictReader(stream))
    weights = Model.load(molecules).graph("CCO").adjacency[0, 0, 1]
    assert len(edges) == (weights > 0.2).sum()
    assert {(row["layer"], row["head"]) for row in edges} <= {("0", "1")}
    with (tmp_path / "out" / "statistics.csv").open(newline="") as stream:
        assert [row["head"] for row in csv.DictReader(stream)] == ["1"]


def test_what_was_assumed_is_told(gia, molecules) -> None:
    done = gia("graph", molecules, "[CH3:1]O", "-o", "out")
    assert done.told[0] == "atom map numbers left out"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name one input: expected a text, or a table with --file"),
        (["CCO", "--file", "in.csv", "--line", "2"], "name one input"),
        (["--file", "in.csv"], "name one input"),
        (["CCO", "--line", "2"], "name one input"),
        (["C1CC"], "RDKit cannot read the SMILES"),
        (["in.csv"], "(a row of a file is read with --file and --line)"),
        (["C" * 300_000], "SMILES too long"),
        (["--file", "none.csv", "--line", "2"], "none.csv"),
        (["--file", "in.csv", "--line", "9"], "in.csv, line 9: no row starts on this line"),
        (["--file", "in.csv", "--line", "3"], "in.csv, line 3: RDKit cannot read the SMILES"),
        (["--file", "in.csv", "--line", "4"], "in.csv, line 4: "),
        (["--file", "in.csv", "--line", "2", "--input", "smile"], "did you mean 'smiles'?"),
        (["CCO", "--layer", "5"], "no such layer in the model: got 5, expected 0, the only one"),
        (["CCO", "--head", "-1"], "invalid value for '--head'"),
        (["CCO", "--threshold", "-1"], "the threshold is not valid: got -1.0"),
        (["CCO", "--threshold", "nan"], "the threshold is not valid: got nan"),
        (["CCO", "--long", "cut"], "--long is not valid"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(gia, molecules, write, words, message, tmp_path) -> None:
    write("smiles,y\nCCO,1\nC1CC,2\nCC,1,2,3\n")
    bad = gia("graph", molecules, *words, "-o", "new")
    assert message in bad.error
    assert len(bad.told) == 1
    assert not (tmp_path / "new").exists()


def test_an_older_graph_is_replaced_only_when_asked_for(gia, molecules, tmp_path) -> None:
    assert gia("graph", molecules, "CCO", "-o", "out").code == 0
    before = (tmp_path / "out" / "edges.csv").read_bytes()
    assert "--overwrite replaces it" in gia("graph", molecules, "CCN", "-o", "out").error
    assert (tmp_path / "out" / "edges.csv").read_bytes() == before
    assert gia("graph", molecules, "CCN", "-o", "out", "--overwrite").code == 0
    assert (tmp_path / "out" / "edges.csv").read_bytes() != before
