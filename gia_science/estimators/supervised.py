"""The regressor and the classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from gia_science.data.cells import canonical_label, is_missing
from gia_science.data.target_spec import TaskKind
from gia_science.data.targets import Targets
from gia_science.errors import TrainingError
from gia_science.estimators.base import SequencePredictor
from gia_science.estimators.given import take, target_names

FloatArray = npt.NDArray[np.float64]


class SequenceRegressor(RegressorMixin, SequencePredictor):
    """Predict numbers from protein sequences, SMILES or formulas.

    Trains the networks of `gia_science.train` in `fit`, without its report: what a score is worth is asked by
    cross-validation. The fitted model is that of ``gia predict``: ``model_.save(folder)`` writes its folder.

    Parameters
    ----------
    init : path, optional
        Folder to start from: a trained model, which training goes on from, or a network that `gia_science.pretrain`
        wrote; by default random weights. It decides the domain and the size of the network, and a trained model its
        numeric columns.
    domain : {"protein", "smiles", "composition"}, optional
        What the inputs are; recognised where not given.
    input : str, optional
        Column of the inputs where X has several columns; by default the only one of text.
    columns : sequence of str, optional
        Numeric columns that go in beside the input, such as a temperature; by default all numeric columns of X.
    width, layers, members : int, optional
        Width of the network (128), number of its layers (2), and number of networks whose predictions are averaged (2).
    epochs, min_steps : int, optional
        Most epochs (10; 60 of formulas), unless `min_steps` (400; 1500) asks for more: small tables get more epochs.
    learning_rate : float, optional
        Of AdamW (0.001).
    validation_fraction : float, default 0.1
        Share of the different inputs that are held out in `fit` to choose the epoch; each of several networks holds out
        another such share, so that together they learn from all rows. None are held out where that is less than one
        input; the weights of the end, averaged, are then kept.
    settings : mapping, optional
        Other settings of a recipe's ``network``, ``training``, ``tokens`` and ``descriptors`` by their dotted names, as
        in ``{"network.attention.kind": "plain"}``. `gia_science.train` has the same names.
    on_error : {"raise", "nan"}, default "raise"
        What becomes, in prediction, of rows that cannot be used: one error that names them, or NaN. In `fit` they are
        an error.
    random_state : int, RandomState or None, default None
        Seed of the weights, the held-out share and the order of batches. On one CPU the same integer gives the same
        bits.
    n_jobs : int, optional
        Threads to compute with, -1 for all cores; by default as many as PyTorch uses.
    verbose : int, default 0
        Draw a progress bar on standard error when not 0.

    Attributes
    ----------
    model_ : Model
        The fitted model.

    Notes
    -----
    X is a list, tuple, array, Series or one-column frame of texts or of objects (RDKit molecules, Biopython sequences,
    pymatgen compositions); or a frame with numeric columns beside. There is no ``n_features_in_``: inputs are texts.

    Weights multiply the loss of a row. Rows that are the same become one with the sum of their weights: a weight of 2
    is exactly the row standing twice, and the order of rows changes nothing.

    Examples
    --------
    >>> from gia_science.estimators import SequenceRegressor
    >>> alcohols = ["C" * n + "O" for n in range(1, 11)]
    >>> boiling = [65, 78, 97, 118, 138, 157, 176, 195, 213, 231]  # degrees Celsius
    >>> model = SequenceRegressor(domain="smiles", width=16, layers=1, min_steps=20, random_state=0)
    >>> model.fit(alcohols, boiling).predict(["CCCO"]).shape
    (1,)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : (n,) array-like or DataFrame
            Inputs.
        y : (n,) or (n, T) array-like of float
            Measured values, in any unit.
        sample_weight : (n,) array-like of float, optional
            How much each row counts.
        groups : (n,) array-like, optional
            Rows of one group stand on one side of the inner split that chooses the epoch.

        Returns
        -------
        SequenceRegressor
            Itself.

        Raises
        ------
        GiaError
            A `ValueError` that says in one line what is wrong.
        """
        _require_target(y, self)
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        table = values[:, None] if values.ndim == 1 else values
        count = table.shape[1]
        given = take(X)
        names = target_names(y, count, taken=given.columns)
        targets = Targets(names=names, kind="regression", mean=(0.0,) * count, scale=(1.0,) * count)
        self._fit(given, table, targets, sample_weight=sample_weight, groups=groups)
        self._one_target = values.ndim == 1
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict, in the unit of y.

        Parameters
        ----------
        X : (n,) array-like or DataFrame

        Returns
        -------
        (n,) or (n, T) float64
            In the shape of y; NaN for rows that cannot be used where `on_error` is ``"nan"``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        GiaError
            When rows cannot be used and `on_error` is ``"raise"``, or columns are missing.
        """
        values = self._outputs(X)
        return values[:, 0] if self._one_target else values


class SequenceClassifier(ClassifierMixin, SequencePredictor):
    """Predict classes from protein sequences, SMILES or formulas.

    As `SequenceRegressor`, whose parameters it has, with one class for each row.

    Parameters
    ----------
    init, domain, input, columns, width, layers, members, epochs, min_steps, learning_rate
        As in `SequenceRegressor`.
    validation_fraction, settings, on_error, random_state, n_jobs, verbose
        As in `SequenceRegressor`. The held-out share has the classes in their shares.

    Attributes
    ----------
    classes_ : (C,) array
        The classes, sorted.
    model_ : Model
        The fitted model. Its labels are the classes as text.

    Examples
    --------
    >>> from gia_science.estimators import SequenceClassifier
    >>> peptides = ["GIGKFLHSAKKFGKAFVGEIMNS", "KWKLFKKIEKVGQNIRDGIIKAG", "DEDEEGSTDDESGDE", "SDEEGTDDESGEEDD"]
    >>> model = SequenceClassifier(domain="protein", width=16, layers=1, min_steps=20, random_state=0)
    >>> model.fit(peptides, ["active", "active", "inactive", "inactive"]).classes_.tolist()
    ['active', 'inactive']
    >>> model.predict_proba(peptides).shape
    (4, 2)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : (n,) array-like or DataFrame
            Inputs.
        y : (n,) array-like
            Class of each row: texts, integers or booleans.
        sample_weight, groups
            As in `SequenceRegressor.fit`.

        Returns
        -------
        SequenceClassifier
            Itself.

        Raises
        ------
        GiaError
            A `ValueError` that says in one line what is wrong.
        """
        _require_target(y, self)
        known = column_or_1d(y, warn=True)
        assert_all_finite(known, input_name="y")
        check_classification_targets(known)
        classes, indices = np.unique(known, return_inverse=True)
        weights = _check_sample_weight(sample_weight, known, dtype=np.float64, ensure_non_negative=True)
        _require_classes(classes, indices[weights > 0])
        kind: TaskKind = "binary" if len(classes) == 2 else "multiclass"
        given = take(X)
        names = target_names(y, 1, taken=given.columns)
        targets = Targets(names=names, kind=kind, labels=class_labels(classes))
        self._fit(given, indices[:, None].astype(np.float64), targets, sample_weight=weights, groups=groups)
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : (n,) array-like or DataFrame

        Returns
        -------
        (n, C) float64
            In the order of `classes_`; NaN for rows that cannot be used where `on_error` is ``"nan"``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        GiaError
            When rows cannot be used and `on_error` is ``"raise"``, or columns are missing.
        """
        shares = self._outputs(X)
        return np.hstack([1 - shares, shares]) if len(self.classes_) == 2 else shares

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class.

        Parameters
        ----------
        X : (n,) array-like or DataFrame

        Returns
        -------
        (n,) array
            Values of `classes_`; NaN for rows that cannot be used where `on_error` is ``"nan"``.

        Raises
        ------
        sklearn.exceptions.NotFittedError, GiaError
            As `predict_proba`.
        """
        shares = self.predict_proba(X)
        missing = np.isnan(shares).any(axis=1)
        found: npt.NDArray[Any] = self.classes_[np.where(missing, 0, shares.argmax(axis=1))]
        if missing.any():
            found = found.astype(np.float64 if found.dtype.kind in "iuf" else object)
            found[missing] = np.nan
        return found


def class_labels(classes: npt.NDArray[Any]) -> tuple[str, ...]:
    """The classes as labels of a model: as text where that tells them apart, else their numbers."""
    texts = tuple(str(value) for value in classes.tolist())
    plain = len({canonical_label(text) for text in texts}) == len(texts)
    if plain and not any(is_missing(text) for text in texts):
        return texts
    return tuple(map(str, range(len(texts))))


def _require_target(y: Any, estimator: object) -> None:
    if y is None:
        name = type(estimator).__name__
        raise TrainingError(f"{name} requires y to be passed, but the target y is None")


def _require_classes(classes: npt.NDArray[Any], counted: npt.NDArray[Any]) -> None:
    if len(classes) < 2:
        shown = ", ".join(repr(value) for value in classes.tolist())
        raise TrainingError("y has one class", got=shown, expected="two classes or more")
    if len(np.unique(counted)) < 2:
        raise TrainingError("all rows of weight above 0 have one class", expected="two classes or more")
