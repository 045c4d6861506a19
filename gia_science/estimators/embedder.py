"""The transformer: from sequences, SMILES or formulas to vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gia_science.data.record import LoadedTable
from gia_science.data.rows import Columns, read_rows, training_reader
from gia_science.errors import RecipeError, TableError
from gia_science.estimators.encoder import Encoder
from gia_science.estimators.given import Given, as_records, bad_rows_error, choose_columns, take
from gia_science.estimators.options import check_choices, recipe_settings, recognise_domain, seed_of, threads
from gia_science.estimators.rows import NAN_HINT, compute_rows
from gia_science.estimators.stored import Saved, StoredInFiles, load_saved
from gia_science.model.pretrained import SavedPretrained
from gia_science.prediction.embedding import EmbeddingChoice, Pooling
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.long import Long
from gia_science.training.pretrain import pretrain
from gia_science.training.recipe import PretrainRecipe

FEWEST_ROWS = 3


class SequenceEmbedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StoredInFiles, BaseEstimator):
    """Vectors of protein sequences, SMILES or formulas, for any estimator that takes numbers.

    From a model's folder, which `fit` reads and does not train; or without one, from a language model that `fit` trains
    on the inputs alone, as `gia_science.pretrain` does.

    Parameters
    ----------
    model : path, optional
        Folder of a trained model or of a pretrained network. Without it a language model is trained.
    pooling : {"model", "mean", "first", "attention"}, default "model"
        How the tokens of a row become one vector; ``"model"`` is as the model was trained, of a language model the mean
        over all tokens.
    layer : int, default -1
        0 for the embedded tokens, 1 to L for the states after a layer; -1 for the last.
    long : {"error", "truncate", "window"}, default "error"
        What becomes of inputs that are longer than the model allows, as in `Model.embed`.
    domain, input, width, layers, epochs, min_steps, learning_rate, validation_fraction, settings
        As in `SequenceRegressor`, for the training of a language model (30 epochs); not used with `model`, which
        decides them, except that `input` is the column where X has several of text.
    on_error : {"raise", "nan"}, default "raise"
        What becomes of rows that cannot be used: one error that names them, or NaN. Training leaves them out with
        ``"nan"``.
    random_state, n_jobs, verbose
        As in `SequenceRegressor`.

    Notes
    -----
    Different inputs are encoded once, however often they stand in X. A model that reads numeric columns finds them by
    their names in a DataFrame; a language model reads the inputs alone.

    Examples
    --------
    >>> from gia_science.estimators import SequenceEmbedder
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> alcohols = ["C" * n + "O" for n in range(1, 11)]
    >>> boiling = [65, 78, 97, 118, 138, 157, 176, 195, 213, 231]  # degrees Celsius
    >>> embedder = SequenceEmbedder(domain="smiles", width=16, layers=1, epochs=2, min_steps=20, random_state=0)
    >>> make_pipeline(embedder, Ridge()).fit(alcohols, boiling).predict(["CCCO"]).shape
    (1,)
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        pooling: Pooling = "model",
        layer: int = -1,
        long: Long = "error",
        domain: str | None = None,
        input: str | None = None,
        width: int | None = None,
        layers: int | None = None,
        epochs: int | None = None,
        min_steps: int | None = None,
        learning_rate: float | None = None,
        validation_fraction: float = 0.1,
        settings: Mapping[str, Any] | None = None,
        on_error: str = "raise",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.layer = layer
        self.long = long
        self.domain = domain
        self.input = input
        self.width = width
        self.layers = layers
        self.epochs = epochs
        self.min_steps = min_steps
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.on_error = on_error
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = self.on_error == "nan"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read the model, or train a language model.

        Parameters
        ----------
        X : (n,) array-like or DataFrame
            Inputs; looked at only where a language model is trained.
        y : object
            Not used.

        Returns
        -------
        SequenceEmbedder
            Itself.

        Raises
        ------
        GiaError
            A `ValueError` that says in one line what is wrong.
        """
        del y
        check_choices(on_error=self.on_error, validation_fraction=self.validation_fraction)
        given = take(X)
        saved = self._trained(given) if self.model is None else load_saved(self.model)
        encoder = self._encoder(saved)
        encoder.check()
        self.saved_ = saved
        self._n_features_out = encoder.width
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Vector of every row.

        Parameters
        ----------
        X : (n,) array-like or DataFrame

        Returns
        -------
        (n, d) float32
            NaN for rows that cannot be used where `on_error` is ``"nan"``; a frame with the index of X after
            ``set_output(transform="pandas")``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        GiaError
            When rows cannot be used and `on_error` is ``"raise"``, or columns are missing.
        """
        check_is_fitted(self)
        check_choices(on_error=self.on_error, validation_fraction=self.validation_fraction)
        encoder = self._encoder(self.saved_)
        encoder.check()
        with threads(self.n_jobs):
            vectors = compute_rows(
                X,
                input=str(self.saved_.data.input),
                numbers=self.saved_.featurizer.source.columns,
                named=self.input,
                width=encoder.width,
                outcomes=lambda table: encoder.outcomes(table, long=self.long),
                on_error=self.on_error,
            )
        return vectors.astype(np.float32)

    def _encoder(self, saved: Saved) -> Encoder:
        return Encoder(saved, EmbeddingChoice(pooling=self.pooling, layer=self.layer))

    def _trained(self, given: Given) -> SavedPretrained:
        if len(given) < FEWEST_ROWS:
            raise TableError(f"too few rows to train on: n_samples = {len(given)}", expected="three or more")
        column, numbers = choose_columns(given, input=self.input, columns=None)
        if numbers and self.input is None:
            raise TableError(
                "an embedder that is trained in fit reads one column",
                got=", ".join(given.columns),
                hint="choose it as in X['smiles'], or in a ColumnTransformer",
            )
        table = as_records(given, input=column, numbers=(), names=(column,))
        recipe = PretrainRecipe.build(self._settings(recognise_domain(table, domain=self.domain), column))
        table = self._readable(recipe, table, given)
        with threads(self.n_jobs):
            return pretrain(recipe, table=table, progress=bool(self.verbose)).saved

    def _settings(self, domain: str, column: str) -> dict[str, Any]:
        if not self.validation_fraction:
            raise RecipeError(
                "validation_fraction is not valid",
                got="0",
                expected="a share of the inputs to score the language model on",
            )
        named = {
            "data.input": column,
            "data.domain": domain,
            "network.width": self.width,
            "network.layers": self.layers,
            "training.epochs": self.epochs,
            "training.min_steps": self.min_steps,
            "training.learning_rate": self.learning_rate,
            "split.fractions": (1 - self.validation_fraction, self.validation_fraction, 0.0),
        }
        return recipe_settings(named=named, settings=self.settings, seed=seed_of(self.random_state))

    def _readable(self, recipe: PretrainRecipe, table: LoadedTable, given: Given) -> LoadedTable:
        """The rows that can be used; one `UnreadableInputError` for the others unless they are to be NaN."""
        tokenizer = make_tokenizer(str(recipe.data.domain), options=recipe.tokens)
        reader = training_reader(tokenizer, max_length=recipe.network.max_length)
        columns = Columns.find(table, input=table.columns[0])
        _, bad = read_rows(table.records, columns=columns, read=reader)
        if bad and self.on_error == "raise":
            reasons = [(row.line, row.reason) for row in bad]
            raise bad_rows_error(given, reasons, input=table.columns[0], hint=NAN_HINT)
        left_out = {row.line for row in bad}
        return replace(table, records=tuple(row for row in table.records if row.line not in left_out))
