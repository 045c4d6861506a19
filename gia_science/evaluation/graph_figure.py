"""Pictures of the graph among residues, atoms or elements, each drawn as its field is used to see it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from rdkit import Chem
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from gia_science.evaluation.figure import BASELINE, DPI, GUIDE, OURS, png
from gia_science.evaluation.graph import are_known, strongest_pairs

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOLECULE_WIDTH = 1050
"""In pixels."""
MOST_TICKS = 40


def input_figure(
    domain: str, parsed: Any, labels: Sequence[str], weights: FloatArray, *, title: str
) -> bytes:
    """Draw the graph of an input as its domain does.

    Parameters
    ----------
    domain : str
    parsed
        The input as its domain read it (`Reading.parsed`).
    labels : sequence of U str
        Names of its units.
    weights : (U, U) float
        Adjacency among them: row i takes from column j.
    title : str
        What the weights are.

    Returns
    -------
    bytes
        The PNG.
    """
    return _FIGURES[domain](parsed, labels, weights, title)


def molecule_figure(mol: Chem.Mol, weights: FloatArray, *, title: str) -> bytes:
    """Draw the strongest pairs of atoms, as many as there are bonds, on the structure.

    Parameters
    ----------
    mol : rdkit.Chem.Mol
        A sanitised molecule of A atoms; it is not changed.
    weights : (U, U) float
        Adjacency among the first U atoms.
    title : str
        What the weights are.

    Returns
    -------
    bytes
        The PNG.
    """
    structure, places = _structure(mol)
    height, width = structure.shape[:2]
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
    known = np.array([pair for pair in bonds if max(pair) < len(weights)], dtype=np.int64).reshape(-1, 2)
    figure = Figure(figsize=(width / DPI, height / DPI + 0.6), dpi=DPI, layout="constrained")
    ax = figure.add_subplot()
    # The structure is transparent: lines lie beneath it, and its letters can be read.
    ax.imshow(structure, zorder=3)
    ax.set_axis_off()
    pairs, strength = strongest_pairs(weights, count=len(known))
    bonded = are_known(pairs, known=known, nodes=len(weights))
    bold = _boldness(len(pairs))
    for (i, j), share, is_bond in zip(pairs, _shares(strength), bonded, strict=True):
        if is_bond:
            # Broad at least as the drawn bond above it.
            _line(ax, places[i], places[j], color=OURS, share=share, width=3.5 + 3.5 * share * bold)
        else:
            width = bold * (0.8 + 4.2 * share)
            _line(ax, places[i], places[j], color=BASELINE, share=share, width=width, bend=0.2)
    ax.set_title(f"{title}\n{_found(len(known), int(bonded.sum()), 'bonds')}", fontsize=10, loc="left")
    if len(known):
        _legend(ax, known="bond", other="no bond")
    return png(figure)


def _structure(mol: Chem.Mol) -> tuple[npt.NDArray[np.float32], FloatArray]:
    """Image ``(height, width, 4)`` of a structure on no ground, and the places of its atoms ``(A, 2)`` in it."""
    mol = Chem.Mol(mol)
    rdDepictor.Compute2DCoords(mol)
    extent = np.ptp(mol.GetConformer().GetPositions()[:, :2], axis=0) + 3.0
    height = int(np.clip(MOLECULE_WIDTH * extent[1] / extent[0], 0.35 * MOLECULE_WIDTH, 0.8 * MOLECULE_WIDTH))
    drawer = rdMolDraw2D.MolDraw2DCairo(MOLECULE_WIDTH, height)
    # RDKit's stubs have the wrong types for the fields of this.
    options: Any = drawer.drawOptions()
    options.useBWAtomPalette()
    options.padding = 0.07
    options.fixedBondLength = 90
    options.clearBackground = False
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, mol)
    points = [drawer.GetDrawCoords(index) for index in range(mol.GetNumAtoms())]
    drawer.FinishDrawing()
    image = imread(io.BytesIO(drawer.GetDrawingText()), format="png")
    return image, np.array([(point.x, point.y) for point in points])


def sequence_figure(labels: Sequence[str], weights: FloatArray, *, title: str) -> bytes:
    """Draw the weights among residues as a matrix, and above it the strongest pairs as arcs.

    There are as many arcs as there are pairs of neighbours in the sequence, L - 1.

    Parameters
    ----------
    labels : sequence of L str
        Names of the residues.
    weights : (L, L) float
        Adjacency among them: row i takes from column j.
    title : str

    Returns
    -------
    bytes
        The PNG.
    """
    length = len(labels)
    figure = Figure(figsize=(6.6, 9.0), dpi=DPI, layout="constrained")
    arcs, matrix = figure.subplots(2, 1, height_ratios=(2, 5), sharex=True)
    pairs, strength = strongest_pairs(weights, count=length - 1)
    neighbours = np.abs(pairs[:, 0] - pairs[:, 1]) == 1
    angle = np.linspace(0, np.pi, 60)
    boldness = _boldness(len(pairs))
    for (i, j), share, near in zip(pairs, _shares(strength), neighbours, strict=True):
        middle, radius = (i + j) / 2, abs(i - j) / 2
        arcs.plot(
            middle + radius * np.cos(angle),
            radius * np.sin(angle),
            color=OURS if near else BASELINE,
            linewidth=(0.6 + 2.4 * share) * boldness,
            alpha=0.2 + 0.7 * share * boldness,
            solid_capstyle="round",
        )
    arcs.set_ylim(0, max(1.0, float(np.abs(pairs[:, 0] - pairs[:, 1]).max(initial=2)) / 2 * 1.1))
    arcs.spines[["top", "right", "left"]].set_visible(False)
    arcs.set_yticks([])
    arcs.tick_params(labelbottom=False, length=0)
    found = _found(length - 1, int(neighbours.sum()), "neighbours")
    arcs.set_title(f"{title}\n{found}", fontsize=10, loc="left")
    _legend(arcs, known="neighbours", other="further apart")

    image = matrix.imshow(weights, cmap="Blues", vmin=min(0.0, weights.min()), aspect="auto")
    step = -(-length // MOST_TICKS)
    small = 9 if length <= MOST_TICKS / 2 else 7
    matrix.set_xticks(range(0, length, step), labels[::step], fontsize=small, rotation=90)
    matrix.set_yticks(range(0, length, step), labels[::step], fontsize=small)
    matrix.set_xlabel("from residue", fontsize=10)
    matrix.set_ylabel("to residue", fontsize=10)
    bar = figure.colorbar(image, ax=matrix, orientation="horizontal", shrink=0.5, aspect=30)
    bar.set_label("weight", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return png(figure)


def composition_figure(
    symbols: Sequence[str], fractions: Sequence[float], weights: FloatArray, *, title: str
) -> bytes:
    """Draw a graph of the elements: discs by fraction, an arrow for each weight from one to another.

    Parameters
    ----------
    symbols, fractions : sequence of E
        The elements and their shares of the atoms.
    weights : (E, E) float
        Adjacency among them: row i takes from column j.
    title : str

    Returns
    -------
    bytes
        The PNG.
    """
    count = len(symbols)
    figure = Figure(figsize=(5.4, 5.9), dpi=DPI, layout="constrained")
    ax = figure.add_subplot()
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    ax.set_axis_off()
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / count
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (count > 1)
    # Points across; the area goes with the fraction.
    sizes = 34 + 36 * np.sqrt(np.asarray(fractions))
    between = np.where(np.eye(count, dtype=np.bool_), 0.0, np.maximum(weights, 0.0))
    largest = between.max(initial=0.0)
    for i, j in zip(*np.nonzero(between), strict=True):
        share = float(between[i, j] / largest)
        ends = (places[j], places[i])
        gaps = (sizes[j] / 2 + 3, sizes[i] / 2 + 3)
        width = 0.8 + 4.2 * share
        _line(ax, *ends, color=OURS, share=share, width=width, bend=0.16, style="-|>", gaps=gaps)
        if count <= 4:
            ax.annotate(
                f"{weights[i, j]:.2f}", _beside(*ends), ha="center", va="center", fontsize=8, color=OURS
            )
    for place, size, symbol, fraction in zip(places, sizes, symbols, fractions, strict=True):
        ax.plot(*place, marker="o", markersize=size, color="#dfe7ee", markeredgecolor=GUIDE, zorder=3)
        for text, shift, size_of_text in ((symbol, 5, 10), (f"{fraction:.2g}", -7, 8)):
            ax.annotate(
                text,
                place,
                xytext=(0, shift),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=size_of_text,
                zorder=4,
            )
    shown = f"widest arrow {largest:.3g}" if largest else "no weight between elements"
    ax.set_title(f"{title}\nfrom element to element, {shown}", fontsize=10, loc="left")
    return png(figure)


def _beside(start: FloatArray, end: FloatArray) -> tuple[float, float]:
    """Place for a number beside the middle of a curved arrow."""
    along = end - start
    x, y = (start + end) / 2 + 0.16 * np.array([along[1], -along[0]])
    return float(x), float(y)


def _line(
    ax: Axes,
    start: FloatArray,
    end: FloatArray,
    *,
    color: str,
    share: float,
    width: float,
    bend: float = 0.0,
    style: str = "-",
    gaps: tuple[float, float] = (0.0, 0.0),
) -> None:
    """A line as solid as its share of the largest weight says; `width`, and `gaps` at its ends, in points."""
    ax.add_patch(
        FancyArrowPatch(
            tuple(start),
            tuple(end),
            arrowstyle=style,
            mutation_scale=12,
            connectionstyle=f"arc3,rad={bend}",
            color=color,
            linewidth=width,
            alpha=0.3 + 0.45 * share,
            capstyle="round",
            shrinkA=gaps[0],
            shrinkB=gaps[1],
        )
    )


def _boldness(lines: int) -> float:
    """Factor on widths: hundreds of lines as bold as twenty would run into one another."""
    return min(1.0, sqrt(20 / max(lines, 1)))


def _shares(strength: FloatArray) -> FloatArray:
    shares: FloatArray = strength / strength.max(initial=1e-300)
    return shares


def _found(count: int, hits: int, noun: str) -> str:
    return (
        f"{noun} among the {count} strongest pairs: {hits}"
        if count
        else f"there are no {noun} to compare with"
    )


def _legend(ax: Axes, *, known: str, other: str) -> None:
    lines = [Line2D([], [], color=color, linewidth=3) for color in (OURS, BASELINE)]
    # Above the axes, beside the title: nothing is drawn there.
    ax.legend(
        lines,
        (known, other),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=9,
        handlelength=1.5,
    )


def _molecule(parsed: Any, labels: Sequence[str], weights: FloatArray, title: str) -> bytes:
    del labels  # the structure has the symbols of its atoms
    return molecule_figure(parsed, weights, title=title)


def _sequence(parsed: Any, labels: Sequence[str], weights: FloatArray, title: str) -> bytes:
    del parsed
    return sequence_figure(labels, weights, title=title)


def _composition(parsed: Any, labels: Sequence[str], weights: FloatArray, title: str) -> bytes:
    return composition_figure(labels, [parsed[symbol] for symbol in labels], weights, title=title)


_FIGURES: Mapping[str, Callable[[Any, Sequence[str], FloatArray, str], bytes]] = {
    "smiles": _molecule,
    "protein": _sequence,
    "composition": _composition,
}
