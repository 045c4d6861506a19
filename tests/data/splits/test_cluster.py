"""Clusters: related sequences together, unrelated ones apart, by k-mers or MMseqs2."""

from __future__ import annotations

import stat
import sys

import numpy as np
import pytest

from gia_science.data.splits import mmseqs
from gia_science.data.splits.cluster import cluster_by_kmers, cluster_compositions, cluster_sequences
from gia_science.data.splits.kmers import K, estimated_identity, kmer_codes
from gia_science.errors import RecipeError

AMINO = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
FAKE = """#!{python}
import sys
if sys.argv[1] == "version":
    print("15-6f452")
elif "{mode}" == "fail":
    sys.exit("no space left")
else:
    names = [line[1:].strip() for line in open(sys.argv[2]) if line[0] == ">"]
    assert sys.argv[5:7] == ["--min-seq-id", "0.5"]
    with open(sys.argv[3] + "_cluster.tsv", "w") as out:
        for name in names if "{mode}" == "whole" else names[1:]:
            out.write(names[0] + "\\t" + name + "\\n")
"""


def mutated(sequence: str, share: float, rng: np.random.Generator) -> str:
    letters = np.array(list(sequence))
    places = rng.random(len(letters)) < share
    letters[places] = rng.choice(AMINO, size=int(places.sum()))
    return "".join(letters)


def test_relatives_are_clustered_and_strangers_are_not() -> None:
    rng = np.random.default_rng(0)
    parents = ["".join(rng.choice(AMINO, size=120)) for _ in range(20)]
    sequences = [mutated(parent, 0.15, rng) for parent in parents for _ in range(5)]
    clusters, how = cluster_sequences(sequences, similarity=0.5, tool="kmers")
    assert how == "sequence identity 0.5 by k-mers"
    assert len(set(clusters)) == 20
    assert all(len(set(clusters[start : start + 5])) == 1 for start in range(0, 100, 5))


def test_every_member_is_as_near_to_its_representative_as_asked() -> None:
    rng = np.random.default_rng(1)
    parent = "".join(rng.choice(AMINO, size=80))
    sequences = [mutated(parent, share, rng) for share in np.linspace(0, 0.9, 40)]
    codes = [set(kmer_codes(sequence).tolist()) for sequence in sequences]
    for place, chosen in enumerate(cluster_by_kmers(sequences, similarity=0.7)):
        shared = len(codes[place] & codes[chosen])
        smaller = min(len(codes[place]), len(codes[chosen]))
        assert chosen == place or estimated_identity(shared, smaller) >= 0.7


def test_equal_and_tiny_sequences() -> None:
    clusters, _ = cluster_sequences(["A", "A", "AC", "W"], tool="kmers")
    assert len(set(clusters)) == 3
    assert len(kmer_codes("A" * K)) == 1
    assert len(kmer_codes("ACDEF")) == 2


def test_the_estimate_follows_the_identity_of_related_sequences() -> None:
    rng = np.random.default_rng(2)
    parent = "".join(rng.choice(AMINO, size=2000))
    for share in (0.1, 0.3):
        other = mutated(parent, share, rng)
        identity = np.mean([a == b for a, b in zip(parent, other, strict=True)])
        one, two = set(kmer_codes(parent).tolist()), set(kmer_codes(other).tolist())
        assert estimated_identity(len(one & two), min(len(one), len(two))) == pytest.approx(
            identity, abs=0.05
        )


def test_compositions_near_a_representative_join_it() -> None:
    steels = [
        {"Fe": 0.7, "Ni": 0.3},
        {"Fe": 0.72, "Ni": 0.28},
        {"Fe": 0.5, "Ni": 0.5},
        {"Na": 0.5, "Cl": 0.5},
    ]
    assert cluster_compositions(steels, similarity=0.95) == [0, 0, 2, 3]
    assert cluster_compositions(steels, similarity=1) == [0, 1, 2, 3]
    assert cluster_compositions([steels[0]] * 2, similarity=1) == [0, 0]


@pytest.fixture
def program(tmp_path, monkeypatch):
    def write(mode: str) -> None:
        path = tmp_path / "mmseqs"
        path.write_text(FAKE.format(python=sys.executable, mode=mode))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))

    return write


def test_mmseqs_on_the_path_is_used_and_said(program) -> None:
    program("whole")
    assert cluster_sequences(["ACD", "WWW"]) == (["ACD", "ACD"], "sequence identity 0.5 by MMseqs2 15-6f452")
    assert cluster_sequences(["ACD", "WWW"], tool="kmers")[0] == ["ACD", "WWW"]


def test_what_goes_wrong_with_mmseqs_is_told_in_one_line(program, tmp_path, monkeypatch) -> None:
    program("fail")
    with pytest.raises(RecipeError, match=r"MMseqs2 failed: got no space left \(split.clusters=kmers"):
        cluster_sequences(["ACD", "WWW"])
    program("part")
    with pytest.raises(RecipeError, match="left sequences out: got 1 of 2"):
        cluster_sequences(["ACD", "WWW"])
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert mmseqs.find() is None
    with pytest.raises(RecipeError, match="MMseqs2 is not installed"):
        cluster_sequences(["ACD"], tool="mmseqs")
