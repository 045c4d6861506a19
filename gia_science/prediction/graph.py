"""The graph that a model sees in one input: every layer, head and member, with names for its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from itertools import product
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from gia_science.data.batching import collate
from gia_science.data.writer import TableWriter, atomic_file
from gia_science.errors import RecipeError, TableError, UnreadableInputError, Where
from gia_science.evaluation.graph import GraphStatistics, degree_counts, graph_statistics
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.tokens.featurizer import Example, Featurizer
from gia_science.tokens.stream import IntArray, Reading
from gia_science.tokens.vocabulary import SPECIAL_TOKENS

if TYPE_CHECKING:
    import networkx as nx

TokenKind = Literal["special", "syntax", "atom", "residue", "element", "descriptor"]
Place = tuple[int, int, int]
"""Member, layer and head, each counted from 0."""

FILES = ("statistics.csv", "degrees.csv", "edges.csv", "graph.graphml", "graph.png")
MOST_GRAPHML_EDGES = 200_000
"""GraphML is built in memory, at some kilobytes per edge."""
_UNIT_KINDS: dict[str, TokenKind] = {"smiles": "atom", "protein": "residue", "composition": "element"}


@dataclass(frozen=True)
class TokenGraph:
    """Adjacency of all layers, heads and members of a model for one input of N tokens.

    Parameters
    ----------
    domain : str
        ``"protein"``, ``"smiles"`` or ``"composition"``.
    reading : Reading
        The input as it was read; atoms have the order of its canonical SMILES.
    labels : tuple of N str
        ``C3`` is the third atom of the canonical SMILES, ``K3`` the third residue of the text as given; other tokens
        are called as they are written, descriptors by their name, packed ones by their block.
    kinds : tuple of N str
        What each token stands for: ``atom``, ``residue``, ``element``, ``descriptor``, ``special`` (``<cls>``) or
        ``syntax`` (bonds, rings and brackets of a SMILES).
    units : (N,) int64
        Index, from 0, of the atom, residue or element; -1 for other tokens.
    adjacency : (M, L, H, N, N) float32
        Weight of the edge from token j to token i in row i, by member, layer and head. Descriptors that this input
        lacks have no node.
    known : (E, 2) int64
        Bonds, or neighbours in the sequence, as pairs of tokens, each once.
    """

    domain: str
    reading: Reading[Any]
    labels: tuple[str, ...]
    kinds: tuple[TokenKind, ...]
    units: IntArray
    adjacency: npt.NDArray[np.float32]
    known: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        members, layers, heads = self.adjacency.shape[:3]
        sizes = f"{len(self)} tokens, {members} members, {layers} layers, {heads} heads"
        return f"TokenGraph({self.reading.identity!r:.60}: {sizes})"

    def places(
        self, *, member: int | None = None, layer: int | None = None, head: int | None = None
    ) -> list[Place]:
        """Members, layers and heads that a choice leaves; None means all.

        Raises
        ------
        RecipeError
            When there is no such member, layer or head.
        """
        axes = zip(("member", "layer", "head"), (member, layer, head), self.adjacency.shape[:3], strict=True)
        ranges = [_chosen(name, index, count) for name, index, count in axes]
        return [(m, ll, h) for m, ll, h in product(*ranges)]

    def threshold(self, threshold: float | None = None) -> float:
        """A threshold as given, or 1 / N: what each edge has where attention tells no token from another.

        Raises
        ------
        RecipeError
            When it is negative or no number.
        """
        if threshold is None:
            threshold = 1 / len(self)
        if not 0 <= threshold < float("inf"):
            raise RecipeError("the threshold is not valid", got=str(threshold), expected="a number from 0 up")
        # As exact as the weights: a weight of 0.2 is not over a threshold of 0.2, in whatever precision they meet.
        return float(np.float32(threshold))

    def statistics(
        self,
        *,
        member: int | None = None,
        layer: int | None = None,
        head: int | None = None,
        threshold: float | None = None,
    ) -> dict[Place, GraphStatistics]:
        """Statistics of each graph, by member, layer and head.

        Parameters
        ----------
        member, layer, head : int, optional
            Counted from 0; all by default.
        threshold : float, optional
            An edge is a weight above it; 1 / N by default.

        Returns
        -------
        dict of (member, layer, head) to GraphStatistics
        """
        over = self.threshold(threshold)
        units = np.flatnonzero(self.units >= 0)
        return {
            place: graph_statistics(self.adjacency[place], threshold=over, units=units, known=self.known)
            for place in self.places(member=member, layer=layer, head=head)
        }

    def to_networkx(
        self,
        *,
        member: int | None = None,
        layer: int | None = None,
        head: int | None = None,
        threshold: float | None = None,
    ) -> nx.MultiDiGraph:
        """Edges over the threshold as a NetworkX graph.

        Parameters
        ----------
        member, layer, head, threshold
            As of `statistics`. Of one member, layer and head, `networkx.DiGraph` makes the result a simple graph.

        Returns
        -------
        networkx.MultiDiGraph
            Nodes 0 to N - 1 have ``label``, ``kind`` and ``unit``; edges run from the token that is read to the token
            that reads it, and have ``weight``, ``member``, ``layer`` and ``head``.
        """
        import networkx as nx

        over = self.threshold(threshold)
        graph = nx.MultiDiGraph(input=self.reading.identity, domain=self.domain, threshold=over)
        for token, (label, kind, unit) in enumerate(zip(self.labels, self.kinds, self.units, strict=True)):
            graph.add_node(token, label=label, kind=kind, unit=int(unit))
        for m, ll, h in self.places(member=member, layer=layer, head=head):
            for start, end, weight in self._edges((m, ll, h), over):
                graph.add_edge(start, end, weight=weight, member=m, layer=ll, head=h)
        return graph

    def picture(
        self, *, member: int | None = None, layer: int | None = None, head: int | None = None
    ) -> bytes:
        """Picture of the mean graph of the chosen members, layers and heads, as a PNG.

        Only atoms, residues or elements are drawn. A molecule has its strongest pairs, as many as it has bonds, on
        its structure; a sequence the matrix, and above it arcs for its strongest pairs; a composition arrows.
        """
        # matplotlib, which prediction does not need, takes half a second to import.
        from gia_science.evaluation.graph_figure import input_figure

        chosen = self.places(member=member, layer=layer, head=head)
        tokens = np.flatnonzero(self.units >= 0)
        tokens = tokens[np.argsort(self.units[tokens], kind="stable")]
        total = sum(self.adjacency[place].astype(np.float64) for place in chosen)
        weights = (total / len(chosen))[np.ix_(tokens, tokens)]
        labels = [self.labels[token] for token in tokens]
        return input_figure(self.domain, self.reading.parsed, labels, weights, title=_title(chosen))

    def write(
        self,
        folder: str | Path,
        *,
        member: int | None = None,
        layer: int | None = None,
        head: int | None = None,
        threshold: float | None = None,
        overwrite: bool = False,
    ) -> list[Path]:
        """Write statistics, degrees, edges, GraphML and the picture into a folder, under the names of `FILES`.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        member, layer, head, threshold
            As of `statistics`.
        overwrite : bool, default False
            Replace files of these names.

        Returns
        -------
        list of Path
            What was written: GraphML is left out beyond `MOST_GRAPHML_EDGES` edges.

        Raises
        ------
        TableError
            When a file is there already, or cannot be written.
        """
        folder = Path(folder)
        check_free(folder, overwrite=overwrite)
        choice: dict[str, int | None] = {"member": member, "layer": layer, "head": head}
        over = self.threshold(threshold)
        places = self.places(**choice)
        statistics = self.statistics(**choice, threshold=over)
        picture = self.picture(**choice)
        folder.mkdir(parents=True, exist_ok=True)
        statistics_file, degrees_file, edges_file, graphml_file, picture_file = (folder / n for n in FILES)
        _write_statistics(statistics_file, statistics, tokens=len(self), threshold=over)
        self._write_degrees(degrees_file, places, over)
        self._write_edges(edges_file, places, over)
        with atomic_file(picture_file) as stream:
            stream.write(picture)
        written = [statistics_file, degrees_file, edges_file, picture_file]
        if sum(one.edges for one in statistics.values()) > MOST_GRAPHML_EDGES:
            # One from another run would not belong to the files beside it.
            graphml_file.unlink(missing_ok=True)
            return written
        import networkx as nx

        with atomic_file(graphml_file) as stream:
            nx.write_graphml(self.to_networkx(**choice, threshold=over), stream)
        return [*written, graphml_file]

    def _edges(self, place: Place, threshold: float) -> Iterator[tuple[int, int, float]]:
        """Start, end and weight of the edges over a threshold, by end and then by start."""
        weights = self.adjacency[place]
        for end, start in np.argwhere(weights > threshold).tolist():
            yield start, end, float(weights[end, start])

    def _write_edges(self, path: Path, places: list[Place], threshold: float) -> None:
        columns = ("member", "layer", "head", "from", "to", "from_label", "to_label", "weight")
        with TableWriter(path, columns) as writer:
            for place in places:
                head = tuple(map(str, place))
                for start, end, weight in self._edges(place, threshold):
                    names = (self.labels[start], self.labels[end])
                    writer.write_row((*head, str(start), str(end), *names, f"{weight:.6g}"))

    def _write_degrees(self, path: Path, places: list[Place], threshold: float) -> None:
        columns = ("member", "layer", "head", "degree", "tokens_with_in_degree", "tokens_with_out_degree")
        with TableWriter(path, columns) as writer:
            for place in places:
                counts = degree_counts(self.adjacency[place].astype(np.float64), threshold=threshold)
                for degree in np.flatnonzero(counts.any(axis=1)):
                    writer.write_row([str(value) for value in (*place, degree, *counts[degree])])


@torch.inference_mode()
def token_graph(
    network: PropertyEnsemble, example: Example, *, featurizer: Featurizer, reading: Reading[Any]
) -> TokenGraph:
    """Graph of one example.

    Parameters
    ----------
    network : PropertyEnsemble
    example : Example
        What `featurizer` made of `reading`.
    featurizer : Featurizer
    reading : Reading

    Raises
    ------
    UnreadableInputError
        When no token stands for a part of the input: a variant that is the reference has none.
    """
    if not (example.stream.units >= 0).any():
        raise UnreadableInputError(
            "no graph: no token stands for a part of the input",
            hint="of variants only the residues that differ from the reference have tokens",
        )
    found, mask = network.adjacencies(collate([example]))
    present = mask[0].numpy()
    adjacency = found[0].float().numpy()[..., present, :][..., present]
    stream = example.stream
    names, kinds = _names(featurizer, example, reading)
    described = _descriptor_names(network, featurizer)
    labels = np.array([*names, *described], dtype=object)[present]
    own = int(present.sum()) - len(stream)
    of_descriptors: list[TokenKind] = ["descriptor"] * own
    return TokenGraph(
        domain=featurizer.tokenizer.domain,
        reading=reading,
        labels=tuple(labels),
        kinds=(*kinds, *of_descriptors),
        units=np.concatenate([stream.units, np.full(own, -1, dtype=np.int64)]),
        adjacency=np.ascontiguousarray(adjacency),
        known=stream.edges,
    )


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise `TableError` when a folder cannot take the files of a graph, or has some of them already."""
    if folder.exists() and not folder.is_dir():
        raise TableError("a file, not a folder", where=Where(file=str(folder)))
    there = [name for name in FILES if (folder / name).exists()]
    if there and not overwrite:
        raise TableError(
            "the folder holds a graph already",
            got=", ".join(there),
            hint="--overwrite replaces it",
            where=Where(file=str(folder)),
        )


def _names(
    featurizer: Featurizer, example: Example, reading: Reading[Any]
) -> tuple[list[str], list[TokenKind]]:
    """Labels and kinds of the tokens of the stream."""
    domain, vocabulary = featurizer.tokenizer.domain, featurizer.tokenizer.vocabulary
    elements = list(reading.parsed) if domain == "composition" else []
    labels: list[str] = []
    kinds: list[TokenKind] = []
    for index, unit in zip(example.stream.ids, example.stream.units, strict=True):
        token = vocabulary.tokens[index]
        if unit < 0:
            labels.append(token)
            kinds.append("special" if token in SPECIAL_TOKENS else "syntax")
            continue
        kinds.append(_UNIT_KINDS[domain])
        if domain == "smiles":
            # The token may be <unk>, or say more than the element.
            token = reading.parsed.GetAtomWithIdx(int(unit)).GetSymbol()
        labels.append(elements[unit] if domain == "composition" else f"{token}{unit + 1}")
    return labels, kinds


def _descriptor_names(network: PropertyEnsemble, featurizer: Featurizer) -> list[str]:
    names: list[str] = []
    for shape, block in zip(network.config.blocks, featurizer.blocks, strict=True):
        if shape.tokens == shape.size:
            names += block.scaling.names
        else:
            names += [f"{block.name} {number}" for number in range(1, shape.tokens + 1)]
    # Names of a user's columns may hold what XML cannot.
    return ["".join(letter if letter.isprintable() else "?" for letter in name) for name in names]


def _chosen(name: str, index: int | None, count: int) -> range:
    if index is None:
        return range(count)
    if not 0 <= index < count:
        there = f"0 to {count - 1}" if count > 1 else "0, the only one"
        raise RecipeError(f"no such {name} in the model", got=str(index), expected=there)
    return range(index, index + 1)


def _title(places: list[Place]) -> str:
    """What a mean is over, in words."""
    parts = []
    for name, axis in zip(("member", "layer", "head"), zip(*places, strict=True), strict=True):
        distinct = sorted(set(axis))
        parts.append(f"{name} {distinct[0]}" if len(distinct) == 1 else f"mean of {len(distinct)} {name}s")
    return "attention weights: " + ", ".join(parts)


def _write_statistics(
    path: Path, statistics: dict[Place, GraphStatistics], *, tokens: int, threshold: float
) -> None:
    names = [field.name for field in fields(GraphStatistics)]
    with TableWriter(path, ("member", "layer", "head", "tokens", "threshold", *names)) as writer:
        for place, one in statistics.items():
            values = ["" if isnan(value) else f"{value:.6g}" for value in astuple(one)]
            writer.write_row((*map(str, place), str(tokens), f"{threshold:.6g}", *values))
