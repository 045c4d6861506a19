"""Nearest neighbours: what the most similar training inputs were measured to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit.Chem import rdFingerprintGenerator
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics.pairwise import manhattan_distances

from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.targets import checked_targets
from gia_science.evaluation.metrics import ScoreKind
from gia_science.tokens.scaling import DescriptorScaling

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NEIGHBOURS = (1, 3, 5, 10)
"""Numbers of neighbours that are tried."""
MOST_TRIED = 2000
"""Training rows that the choice of a number looks at, drawn at random where there are more."""
CHUNK = 256
"""Rows whose similarities to all training rows are held at a time."""
FINGERPRINT_RADIUS, FINGERPRINT_BITS = 2, 2048
LONGEST_WORD = 3
WORD_BUCKETS = 1 << 18


@dataclass(frozen=True, eq=False)
class Nearest:
    """The mean of the nearest training rows that have a target, or the frequency of its classes among them.

    Parameters
    ----------
    kind : str
    space : Space
        The training inputs, and how near others are.
    targets : tuple of (rows, values, k)
        For each target its rows (m,), what they were measured to be (m, 1) or, one-hot, (m, C), and the number of
        neighbours.
    """

    kind: ScoreKind
    space: Space
    targets: tuple[tuple[IntArray, FloatArray, int], ...]

    def predict(self, inputs: Inputs) -> FloatArray:
        """See `Predictor`."""
        table = self.space.table(inputs)
        parts = [self._predict(near) for near in self.space.closeness(table)]
        width = self.targets[0][1].shape[1]
        values = np.concatenate(parts) if parts else np.zeros((0, len(self.targets), width))
        if self.kind == "multiclass":
            return values
        return values[:, :, -1]

    def _predict(self, near: FloatArray) -> FloatArray:
        means = [_mean_of_nearest(near[:, rows], values, (k,))[0] for rows, values, k in self.targets]
        return np.stack(means, axis=1)


def fit_nearest(
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Nearest:
    """Keep the training rows, and choose the number of neighbours (1, 3, 5 or 10) for each target.

    Molecules are near by the Tanimoto similarity of their Morgan bits (radius 2), proteins by that of their sets of
    words of one to three residues, compositions by the fraction of atoms they share, 1 - L1/2. The mean difference in
    the user's numeric columns, in standard deviations, is taken off.

    The number is that with the smallest square error (of classes: Brier score) when each training row is predicted
    from the others, those of the same input left out. Parameters as of `Fit`.
    """
    del jobs
    targets, count = checked_targets(kind, y, classes)
    space = Space.of(inputs)
    identities = np.unique([reading.identity for reading in inputs.readings], return_inverse=True)[1]
    chosen = []
    for target in targets.T:
        rows = np.flatnonzero(np.isfinite(target))
        values = target[rows, None] if kind == "regression" else np.eye(count)[target[rows].astype(np.int64)]
        tried = rows
        if len(rows) > MOST_TRIED:
            tried = np.sort(np.random.default_rng(seed).choice(rows, MOST_TRIED, replace=False))
        chosen.append((rows, values, _choose(space, identities, rows=rows, values=values, tried=tried)))
    return Nearest(kind, space, tuple(chosen))


def _choose(
    space: Space, identities: IntArray, *, rows: IntArray, values: FloatArray, tried: IntArray
) -> int:
    losses = np.zeros(len(NEIGHBOURS))
    place = np.searchsorted(rows, tried)
    for start, near in zip(range(0, len(tried), CHUNK), space.closeness(space.own[tried]), strict=True):
        own = tried[start : start + CHUNK]
        near = near[:, rows]
        near[identities[own][:, None] == identities[rows]] = -np.inf
        truth = values[place[start : start + CHUNK]]
        errors = [(mean - truth) ** 2 for mean in _mean_of_nearest(near, values, NEIGHBOURS)]
        losses += [np.nansum(error) for error in errors]
    return NEIGHBOURS[int(losses.argmin())]


def _mean_of_nearest(near: FloatArray, values: FloatArray, numbers: tuple[int, ...]) -> list[FloatArray]:
    """Mean value ``(m, W)`` of the nearest k rows for each k, of equally near ones the first; NaN without any."""
    order = np.argsort(-near, axis=1, kind="stable")[:, : max(numbers)]
    allowed = np.isfinite(np.take_along_axis(near, order, axis=1))
    means = []
    for k in numbers:
        weights = allowed[:, :k, None].astype(np.float64)
        total = weights.sum(axis=1)
        summed = (values[order[:, :k]] * weights).sum(axis=1)
        means.append(np.divide(summed, total, out=np.full_like(summed, np.nan), where=total > 0))
    return means


@dataclass(frozen=True, eq=False)
class _Table:
    """Some inputs in the space: a dense or sparse matrix with a row for each, and their scaled numbers ``(n, C)``."""

    matrix: Any
    numbers: FloatArray

    def __getitem__(self, rows: IntArray | slice) -> _Table:
        return _Table(self.matrix[rows], self.numbers[rows])

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Space:
    """Training inputs, and how near others are to them.

    Parameters
    ----------
    domain : str
    scaling : DescriptorScaling
        Of the numeric columns.
    own : _Table
        The training inputs.
    """

    domain: str
    scaling: DescriptorScaling
    own: _Table

    @classmethod
    def of(cls, inputs: Inputs) -> Space:
        """Space of training inputs."""
        scaling = DescriptorScaling.fit(inputs.numbers, list(map(str, range(inputs.numbers.shape[1]))))
        return cls(inputs.domain, scaling, _table(inputs, scaling))

    def table(self, inputs: Inputs) -> _Table:
        """Other inputs in this space."""
        return _table(inputs, self.scaling)

    def closeness(self, table: _Table) -> Iterator[FloatArray]:
        """Similarity less the difference of the numbers ``(m, n)``, in pieces of `CHUNK` rows."""
        for start in range(0, len(table), CHUNK):
            part = table[start : start + CHUNK]
            near = _SIMILARITY[self.domain](part.matrix, self.own.matrix)
            for column in range(part.numbers.shape[1]):
                apart = np.abs(part.numbers[:, column, None] - self.own.numbers[:, column])
                near = near - apart / part.numbers.shape[1]
            yield near


def _table(inputs: Inputs, scaling: DescriptorScaling) -> _Table:
    numbers = np.nan_to_num(scaling.transform(inputs.numbers).astype(np.float64))
    return _Table(_MATRIX[inputs.domain](inputs), numbers)


def _bits(inputs: Inputs) -> Any:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=FINGERPRINT_RADIUS, fpSize=FINGERPRINT_BITS)
    rows = [generator.GetFingerprintAsNumPy(reading.parsed) for reading in inputs.readings]
    return np.array(rows, dtype=np.float32).reshape(len(rows), FINGERPRINT_BITS)


def _words(inputs: Inputs) -> Any:
    hashing = HashingVectorizer(
        analyzer="char",
        ngram_range=(1, LONGEST_WORD),
        n_features=WORD_BUCKETS,
        lowercase=False,
        binary=True,
        norm=None,
        alternate_sign=False,
    )
    # Of no sequences at all the vectorizer would make an error.
    return hashing.transform(inputs.sequences) if len(inputs) else np.zeros((0, WORD_BUCKETS))


def tanimoto(a: Any, b: Any) -> FloatArray:
    """Tanimoto similarity ``(m, n)`` of sets given as rows of 0 and 1, ``(m, D)`` and ``(n, D)``, dense or sparse."""
    shared = np.asarray(a @ b.T if isinstance(b, np.ndarray) else _shared(a, b), dtype=np.float64)
    sizes = [np.asarray(x.sum(axis=1), dtype=np.float64).ravel() for x in (a, b)]
    either = sizes[0][:, None] + sizes[1] - shared
    similarity: FloatArray = np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
    return similarity


def _shared(a: Any, b: Any) -> FloatArray:
    """Number of members that sparse sets share ``(m, n)``.

    Variants of one protein share nearly all words: what most sets hold is counted by those that lack it, which are few.
    """
    usual = b.getnnz(axis=0) * 2 > b.shape[0]
    others = np.flatnonzero((b.getnnz(axis=0) > 0) & ~usual)
    shared = (a[:, others] @ b[:, others].T).toarray()
    lacking = [csr_array(1 - x[:, np.flatnonzero(usual)].toarray()) for x in (a, b)]
    lacked = [np.asarray(x.sum(axis=1)).ravel() for x in lacking]
    both = (lacking[0] @ lacking[1].T).toarray()
    counts: FloatArray = shared + usual.sum() - lacked[0][:, None] - lacked[1] + both
    return counts


def _shared_atoms(a: FloatArray, b: FloatArray) -> FloatArray:
    similarity: FloatArray = 1 - manhattan_distances(a, b) / 2
    return similarity


def _fractions(inputs: Inputs) -> Any:
    return inputs.fractions


_MATRIX: Mapping[str, Callable[[Inputs], Any]] = {
    "smiles": _bits,
    "protein": _words,
    "composition": _fractions,
}
_SIMILARITY: Mapping[str, Callable[[Any, Any], FloatArray]] = {
    "smiles": tanimoto,
    "protein": tanimoto,
    "composition": _shared_atoms,
}
