"""A trained property predictor, as users hold it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from gia_science.data.inputs import as_table
from gia_science.data.record import Table
from gia_science.data.targets import Targets
from gia_science.data.writer import output_columns
from gia_science.errors import RecipeError
from gia_science.evaluation.baselines import DEFAULT as DEFAULT_BASELINES
from gia_science.evaluation.report import Evaluation
from gia_science.model.folder import SavedModel, load_model, save_model
from gia_science.prediction.columns import numeric_columns, prediction_cells, prediction_columns
from gia_science.prediction.embedding import MODELS_OWN, EmbeddingChoice, Pooling, embed_examples
from gia_science.prediction.forward import predict_examples
from gia_science.prediction.graph import TokenGraph, token_graph
from gia_science.prediction.outcomes import Outcome
from gia_science.prediction.reading import read_one, table_outcomes
from gia_science.tokens.long import Long

if TYPE_CHECKING:
    import pandas as pd

    from gia_science.data.inputs import Data


class Model:
    """A trained property predictor.

    Parameters
    ----------
    saved : SavedModel
        Network, tokenizer, targets and records of the run. `Model.load` and `gia_science.train` make one.
    """

    def __init__(self, saved: SavedModel) -> None:
        self.saved = saved

    @classmethod
    def load(cls, folder: str | Path, *, base: str | Path | None = None) -> Model:
        """Read a model folder; raises as `gia_science.load` when anything in it is not as it should be."""
        return cls(load_model(folder, base=base))

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model folder; an existing one is replaced only with `overwrite`."""
        return save_model(self.saved, folder, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"Model({self.domain}: {', '.join(self.targets.names)}, {self.targets.kind})"

    @property
    def domain(self) -> str:
        """``"protein"``, ``"smiles"`` or ``"composition"``."""
        return self.saved.featurizer.tokenizer.domain

    @property
    def targets(self) -> Targets:
        """Names, kind, labels and scaling of what is predicted."""
        return self.saved.targets

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Figures of the run that made the model."""
        return self.saved.metrics

    @property
    def members(self) -> int:
        """Number of networks whose predictions are averaged."""
        return self.saved.network.config.members

    @property
    def width(self) -> int:
        """Number of dimensions of an embedding."""
        return self.saved.network.width

    def predict(self, data: Data, *, input: str | None = None, long: Long = "error") -> pd.DataFrame:
        """Predict every row.

        Parameters
        ----------
        data : path, list, Series, DataFrame or Table
            Inputs, as texts or as objects of RDKit, Biopython or pymatgen; a table may hold any other columns.
        input : str, optional
            Input column; by default the one of the training data, or the one that names itself.
        long : {"error", "truncate", "window"}, default "error"
            What becomes of inputs that are longer than the model allows: an error row; their first part is used; or,
            for proteins, overlapping windows are read, half a window apart. Values and probabilities are then the
            mean over the windows, weighted by the residues that no window before holds; a label of a residue is that
            of the window in which it lies most centrally. Descriptors are those of the part, or the window.

        Returns
        -------
        DataFrame
            All columns and rows of the input, in order, then ``<target>_pred``, quantiles of numbers where they were
            learnt or probabilities of classes, of several members the standard deviation of their predictions
            ``<target>_std`` (of classes, that of the probability of the positive class or of the label), ``status``
            (``"ok"`` or ``"error"``) and ``reason``; before these, unless `long` is ``"error"``, ``truncated``
            (``"yes"`` where a part of the input was not used). The input's columns are text. Predicted numbers are
            floats.

        Raises
        ------
        RecipeError
            For windows of other inputs than proteins.
        """
        import pandas as pd

        table = as_table(data)
        added = prediction_columns(self.targets, members=self.members, long=long)
        names = output_columns(table.columns, added)
        cells = prediction_cells(self.targets, members=self.members, long=long)
        rows = [
            (*outcome.record.cells, *cells(outcome))
            for outcome in self.outcomes(table, input=input, long=long)
        ]
        frame = pd.DataFrame(rows, columns=list(names))
        numbers = numeric_columns(self.targets, members=self.members, long=long)
        for name, numeric in zip(names[len(table.columns) :], numbers, strict=True):
            if numeric:
                frame[name] = pd.to_numeric(frame[name]).astype(np.float64)
        if isinstance(data, pd.DataFrame | pd.Series):
            frame.index = data.index
        return frame

    @overload
    def embed(
        self,
        data: Data,
        *,
        input: str | None = None,
        long: Long = "error",
        pooling: Pooling = "model",
        layer: int = -1,
        tokens: Literal[False] = False,
    ) -> npt.NDArray[np.float32]: ...

    @overload
    def embed(
        self,
        data: Data,
        *,
        input: str | None = None,
        long: Long = "error",
        pooling: Pooling = "model",
        layer: int = -1,
        tokens: Literal[True],
    ) -> list[npt.NDArray[np.float32]]: ...

    def embed(
        self,
        data: Data,
        *,
        input: str | None = None,
        long: Long = "error",
        pooling: Pooling = "model",
        layer: int = -1,
        tokens: bool = False,
    ) -> npt.NDArray[np.float32] | list[npt.NDArray[np.float32]]:
        """Embedding of every row.

        Parameters
        ----------
        data, input, long
            As in `predict`; vectors of windows are combined as its values, those of residues as its labels.
        pooling, layer, tokens
            As in `EmbeddingChoice`. By default the vector that the model predicts from.

        Returns
        -------
        (n, d) float32, or list of (L, d) float32
            One vector per row, in order; NaN where the input cannot be read. With `tokens` an array per row, with a
            vector for each residue as the sequence is written, each atom in the order of the SMILES as it is written
            (the index of RDKit's reading), or each element by atomic number; without rows where the input cannot be
            read. The vectors of an ensemble's members stand one after another: d is `width`.

        Raises
        ------
        RecipeError
            When the model does not have such an embedding, or for windows of other inputs than proteins.
        """
        choice = EmbeddingChoice(pooling=pooling, layer=layer, tokens=tokens)
        found = self.embedding_outcomes(as_table(data), input=input, long=long, choice=choice)
        if tokens:
            none = np.zeros((0, self.width), dtype=np.float32)
            return [
                none if outcome.output is None else outcome.output.astype(np.float32) for outcome in found
            ]
        missing = np.full(self.width, np.nan, dtype=np.float32)
        vectors = [missing if outcome.output is None else outcome.output for outcome in found]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), self.width)

    def graph(
        self,
        x: str | Mapping[str, object],
        *,
        input: str | None = None,
        long: Literal["error", "truncate"] = "error",
    ) -> TokenGraph:
        """Graph that the model sees in one input: adjacency by member, layer and head.

        Parameters
        ----------
        x : str or mapping
            A sequence, SMILES or formula; or a row, as column names to values, where the model reads more columns.
        input, long
            As in `predict`; a graph is that of one part.

        Raises
        ------
        UnreadableInputError
            When the input cannot be read.
        TableError
            When a column that the model reads is missing.
        RecipeError
            For a model that is built on one from elsewhere.
        """
        if self.saved.network.config.base is not None:
            raise RecipeError(
                "the graph of a pretrained model from elsewhere is not shown",
                hint="gia graph shows that of networks of this package",
            )
        example, reading = read_one(self.saved, x, input=input, long=long)
        return token_graph(self.saved.network, example, featurizer=self.saved.featurizer, reading=reading)

    def evaluate(
        self,
        data: Data,
        *,
        input: str | None = None,
        baselines: Sequence[str] = DEFAULT_BASELINES,
        by: Sequence[str] = (),
        jobs: int = 1,
    ) -> Evaluation:
        """Score the model on rows with measured targets.

        Parameters
        ----------
        data : path, DataFrame or Table
            A table with the input and target columns.
        input : str, optional
            As in `predict`.
        baselines : sequence of str, default ("constant", "random_forest")
            Plain methods to fit on the rows the model was trained on, and to score beside: `constant`, `linear`,
            `nearest`, `random_forest`, `extra_trees`. That takes the training data, which is read again from where it
            was; the evaluation says so where it is not there any more.
        by : sequence of str
            Groups of the rows to score besides: names of columns, or `scaffold` (molecules), `chemical_system`
            (compositions), `length` or `target_range` (numbers) where no column is called so. Groups of fewer than
            ten rows are one, `other`.
        jobs : int, default 1
            Threads of the baselines.

        Raises
        ------
        EvaluationError
            When no row can be used, there is no such baseline, or groups do not go with the domain or the targets.
        TableError
            When a column is missing.
        """
        # scikit-learn, which prediction does not need, takes a second to import.
        from gia_science.prediction.evaluate import evaluate

        return evaluate(self.saved, data, input=input, baselines=baselines, by=by, jobs=jobs)

    def outcomes(
        self,
        table: Table,
        *,
        input: str | None = None,
        long: Long = "error",
        window: int | None = None,
        workers: int = 1,
    ) -> Generator[Outcome, None, None]:
        """Outcome of every record of a table, read in windows: what `Targets.decode` reads, or labels' probabilities.

        `window` and `workers` are those of `gia_science.prediction.outcomes.outcomes`.
        """
        kind = self.targets.kind
        compute, units = partial(predict_examples, self.saved.network, kind=kind), kind == "per_token"
        return table_outcomes(
            self.saved, table, compute, units=units, input=input, long=long, window=window, workers=workers
        )

    def embedding_outcomes(
        self,
        table: Table,
        *,
        input: str | None = None,
        long: Long = "error",
        choice: EmbeddingChoice = MODELS_OWN,
        window: int | None = None,
        workers: int = 1,
    ) -> Generator[Outcome, None, None]:
        """Outcome of every record of a table: its embedding ``(d,)``, or those of its units ``(L, d)``."""
        choice.check(self.saved.network.config)
        compute, units = partial(embed_examples, self.saved.network, choice=choice), choice.tokens
        return table_outcomes(
            self.saved, table, compute, units=units, input=input, long=long, window=window, workers=workers
        )
