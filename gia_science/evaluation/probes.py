"""Shortcut probes: how far a rule comes that sees next to nothing of an input.

A task that the length or the first residue alone solves says little of what a model has learnt of the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import RidgeCV
from sklearn.tree import DecisionTreeRegressor

from gia_science.data.rows import Row
from gia_science.data.targets import Targets
from gia_science.evaluation.metrics import Score, ScoreKind, primary_metric, score_task
from gia_science.evaluation.report import score_kind
from gia_science.tokens.domain import DOMAINS
from gia_science.tokens.stream import Reading
from gia_science.tokens.tokenizer import DomainTokenizer

FloatArray = npt.NDArray[np.float64]
Tokens = Sequence[str]

MOST_ROWS = 20_000
"""Training rows beyond which a probe is trained on a sample."""
MOST_TARGETS = 12
"""Targets that are probed; of more, the first."""
FEWEST = 10
"""Fewest training rows with a target."""
RARE = 5
"""Fewest training rows of a token that has a column of its own."""
TELLING = 0.25
"""Share of the way from the constant to a perfect score from which on a rule is a shortcut."""
TELLING_COUNTS = 0.75
"""The same for what is no accident, such as the counts of all tokens, but may be all that a task needs."""
LENGTH, FIRST, LAST, COUNTS = "length", "first token", "last token", "composition"
ACCIDENTAL = (LENGTH, FIRST, LAST)
"""What a model should not have to go by: how long a text is, and how it begins and ends."""
_OF_ELEMENTS = {
    LENGTH: "number of elements",
    FIRST: "lightest element",
    LAST: "heaviest element",
    COUNTS: "set of elements",
}
"""A composition has no beginning and no end: there the same rules are chemistry."""
_RESAMPLES = 200
_ALPHAS = tuple(10.0**power for power in range(-2, 5))


@dataclass(frozen=True)
class Probe:
    """What a rule reaches that sees one thing of an input.

    Parameters
    ----------
    name : str
        What it sees: ``"length"``, ``"first token"``, ``"last token"`` or ``"composition"`` (counts of all tokens); of
        a composition ``"number of elements"``, ``"lightest element"``, ``"heaviest element"`` or ``"set of elements"``.
    target : str
    score, constant : Score
        Primary metric of the rule, and of the mean or the most frequent class.
    accuracy, constant_accuracy : float or None
        Of a binary target.
    telling : str
        The token that says most, in words; empty where there is none.
    """

    name: str
    target: str
    score: Score
    constant: Score
    accuracy: float | None = None
    constant_accuracy: float | None = None
    telling: str = ""

    @property
    def solved(self) -> float:
        """Share of the way from the constant to a perfect score, 0 where nothing is gained beyond chance."""
        value, low, high, base = self.score.value, self.score.low, self.score.high, self.constant.value
        if value is None or low is None or high is None or base is None:
            return 0.0
        if self.score.metric == "rmse":
            return (base - value) / base if high < base else 0.0
        gained = (value - base) / (1 - base) if low > base else 0.0
        if self.accuracy is None or self.constant_accuracy in (None, 1.0) or not gained:
            return gained
        majority = float(self.constant_accuracy or 0.0)
        return max(gained, (self.accuracy - majority) / (1 - majority))

    @property
    def flagged(self) -> bool:
        """Whether the rule does much better than the constant."""
        return self.solved >= (TELLING if self.accidental else TELLING_COUNTS)

    @property
    def accidental(self) -> bool:
        """Whether the rule sees what has little to do with a property as such."""
        return self.name in ACCIDENTAL

    def __str__(self) -> str:
        accuracy = ""
        if self.accuracy is not None and self.constant_accuracy is not None:
            accuracy = f", accuracy {self.accuracy:.2f} ({self.constant_accuracy:.2f})"
        return f"{self.score.metric} {_number(self.score)} ({_number(self.constant)}){accuracy}"

    def warning(self, *, rows: str) -> str:
        """The finding in words; `rows` are those it was scored on."""
        seen = (
            "the counts of the tokens alone predict"
            if self.name == COUNTS
            else f"the {self.name} alone predicts"
        )
        told = f"; {self.telling}" if self.telling else ""
        return f"{seen} {self.target}: {self} on the {rows} rows, a constant in brackets{told}"

    def to_json(self) -> dict[str, Any]:
        """Everything as plain types."""
        return {
            "probe": self.name,
            "target": self.target,
            "metric": self.score.metric,
            "score": self.score.value,
            "constant": self.constant.value,
            "accuracy": self.accuracy,
            "constant_accuracy": self.constant_accuracy,
            "solved": round(self.solved, 4),
            "flagged": self.flagged,
            "telling": self.telling,
        }


def probe(
    train: Sequence[Row],
    test: Sequence[Row],
    *,
    targets: Targets,
    tokenizer: DomainTokenizer[Any],
    seed: int = 0,
) -> tuple[Probe, ...]:
    """Train every probe on training rows and score it on test rows.

    A number is read by a decision stump, tokens by a ridge regression whose penalty leave-one-out cross-validation
    chooses; classes are regressed on as 0 and 1.

    Parameters
    ----------
    train, test : sequence of Row
    targets : Targets
        Labels of residues are not probed.
    tokenizer : DomainTokenizer
    seed : int
        Draws the training rows where they are too many, and the resamples of the intervals.
    """
    if targets.kind == "per_token" or not train or not test:
        return ()
    if len(train) > MOST_ROWS:
        chosen = np.random.default_rng(seed).choice(len(train), size=MOST_ROWS, replace=False)
        train = [train[index] for index in np.sort(chosen)]
    sides = [[_tokens(row.reading, tokenizer) for row in rows] for rows in (train, test)]
    found = []
    for index, name in enumerate(targets.names[:MOST_TARGETS]):
        y = [np.array([row.target[index] for row in rows]) for rows in (train, test)]
        known = [np.flatnonzero(~np.isnan(values)) for values in y]
        if len(known[0]) < FEWEST or len(np.unique(y[0][known[0]])) < 2 or not len(known[1]):
            continue
        tokens = [[side[row] for row in rows] for side, rows in zip(sides, known, strict=True)]
        values = [side[rows] for side, rows in zip(y, known, strict=True)]
        found += _probe_target(name, tokens, values, targets=targets, domain=tokenizer.domain, seed=seed)
    return tuple(found)


def _probe_target(
    name: str,
    tokens: Sequence[Sequence[Tokens]],
    values: Sequence[FloatArray],
    *,
    targets: Targets,
    domain: str,
    seed: int,
) -> list[Probe]:
    """Probes of one target, given tokens and values of the training and of the test rows that have it."""
    kind = score_kind(targets)
    train, test = values
    answers = np.eye(len(targets.labels))[train.astype(np.int64)] if kind == "multiclass" else train
    mean = np.broadcast_to(answers.mean(axis=0), (len(test), *answers.shape[1:]))
    base = _scores(kind, test, mean, seed)
    primary = primary_metric(kind).name
    found = []
    for what, (features, model) in _RULES.items():
        x, x_test = features(tokens[0], tokens[1])
        prediction = model().fit(x, answers).predict(x_test).reshape(mean.shape)
        scores = _scores(kind, test, prediction if kind == "regression" else prediction.clip(0, 1), seed)
        binary = kind == "binary"
        found.append(
            Probe(
                name=what if DOMAINS[domain].ordered else _OF_ELEMENTS[what],
                target=name,
                score=scores[primary],
                constant=base[primary],
                accuracy=scores["accuracy"].value if binary else None,
                constant_accuracy=base["accuracy"].value if binary else None,
                telling=_telling(tokens[0], train, what, targets) if what in _PLACES else "",
            )
        )
    return found


def _scores(kind: ScoreKind, truth: FloatArray, prediction: FloatArray, seed: int) -> dict[str, Score]:
    scores = score_task(kind, truth, prediction, resamples=_RESAMPLES, seed=seed)
    return {score.metric: score for score in scores}


def _tokens(reading: Reading[Any], tokenizer: DomainTokenizer[Any]) -> Tokens:
    """Residues, tokens of the canonical SMILES, or elements in order of atomic number."""
    if tokenizer.domain == "protein":
        return str(reading.parsed.residues)
    if not DOMAINS[tokenizer.domain].ordered:
        return list(reading.parsed)
    return tokenizer.vocabulary.split(reading.identity)


def _lengths(train: Sequence[Tokens], test: Sequence[Tokens]) -> tuple[FloatArray, FloatArray]:
    first, second = (np.array([[float(len(tokens))] for tokens in side]) for side in (train, test))
    return first, second


def _counts(train: Sequence[Tokens], test: Sequence[Tokens]) -> tuple[FloatArray, FloatArray]:
    """How often each token that is not rare stands in each row, standardised on the training rows."""
    held = Counter(token for tokens in train for token in set(tokens))
    column = {token: index for index, token in enumerate(sorted(t for t, n in held.items() if n >= RARE))}
    sides = []
    for side in (train, test):
        x = np.zeros((len(side), max(1, len(column))))
        for row, tokens in enumerate(side):
            for token, count in Counter(tokens).items():
                if token in column:
                    x[row, column[token]] = count
        sides.append(x)
    mean, spread = sides[0].mean(axis=0), sides[0].std(axis=0)
    first, second = ((x - mean) / np.where(spread > 0, spread, 1.0) for x in sides)
    return first, second


def _one_token(place: int, train: Sequence[Tokens], test: Sequence[Tokens]) -> tuple[FloatArray, FloatArray]:
    return _counts([[tokens[place]] for tokens in train], [[tokens[place]] for tokens in test])


def _telling(tokens: Sequence[Tokens], values: FloatArray, what: str, targets: Targets) -> str:
    """The token at one place whose rows lie furthest from all others, counted by rows."""
    rows: dict[str, list[float]] = {}
    for of_one, value in zip(tokens, values.tolist(), strict=True):
        rows.setdefault(of_one[_PLACES[what]], []).append(value)
    often = {token: np.array(found) for token, found in rows.items() if len(found) >= RARE}
    if not often:
        return ""
    labels = range(len(targets.labels))
    shares = np.array([np.mean(values == label) for label in labels])

    def weight(token: str) -> float:
        found = often[token]
        if not targets.labels:
            return len(found) * abs(float(found.mean() - values.mean()))
        return len(found) * max(float(np.mean(found == label) - shares[label]) for label in labels)

    token = max(often, key=weight)
    found, told = often[token], f"{len(often[token])} training rows have {token!r} there"
    if not targets.labels:
        return f"{told}, with the mean {found.mean():.3g} where all have {values.mean():.3g}"
    label = max(labels, key=lambda label: float(np.mean(found == label) - shares[label]))
    named = f"class {targets.labels[label]}"
    return f"{told}, {np.mean(found == label):.0%} of them {named} where {shares[label]:.0%} of all are"


def _stump() -> DecisionTreeRegressor:
    # Without a seed of its own it would draw from the process's random numbers.
    return DecisionTreeRegressor(max_depth=1, min_samples_leaf=RARE, random_state=0)


def _ridge() -> RidgeCV:
    return RidgeCV(alphas=_ALPHAS)


_PLACES: Mapping[str, int] = {FIRST: 0, LAST: -1}
_RULES: Mapping[str, tuple[Callable[..., tuple[FloatArray, FloatArray]], Callable[[], Any]]] = {
    LENGTH: (_lengths, _stump),
    **{what: (partial(_one_token, place), _ridge) for what, place in _PLACES.items()},
    COUNTS: (_counts, _ridge),
}


def _number(score: Score) -> str:
    return "undefined" if score.value is None else f"{score.value:.3g}"
