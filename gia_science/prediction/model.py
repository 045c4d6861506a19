"""A trained property predictor, as users hold it."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gia_science.data.record import Record, Table, cell_text
from gia_science.data.rows import BadRow, Columns, identity_hash, read_row, read_rows
from gia_science.data.source import resolve_input
from gia_science.data.table import open_table, table_from_frame, table_from_texts
from gia_science.data.targets import Targets
from gia_science.data.writer import output_columns
from gia_science.errors import EvaluationError, TableError, UnreadableInputError, Where
from gia_science.evaluation.report import Evaluation, evaluate_predictions
from gia_science.model.folder import SavedModel, load_model, save_model
from gia_science.prediction.columns import numeric_columns, prediction_cells, prediction_columns
from gia_science.prediction.forward import embed_examples, predict_examples
from gia_science.prediction.graph import TokenGraph, token_graph
from gia_science.prediction.outcomes import Outcome, outcomes

if TYPE_CHECKING:
    import pandas as pd

    Data: TypeAlias = str | Path | Iterable[str] | "pd.Series[Any]" | pd.DataFrame | Table

FloatArray = npt.NDArray[np.float64]
logger = logging.getLogger("gia_science")


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
    def load(cls, folder: str | Path) -> Model:
        """Read a model folder; raises `ModelFolderError` when anything in it is not as it should be."""
        return cls(load_model(folder))

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
    def width(self) -> int:
        """Number of dimensions of an embedding."""
        return self.saved.network.width

    def predict(self, data: Data, *, input: str | None = None, truncate: bool = False) -> pd.DataFrame:
        """Predict every row.

        Parameters
        ----------
        data : path, list of str, Series, DataFrame or Table
            Inputs; a table may hold any other columns.
        input : str, optional
            Input column; by default the one of the training data, or the one that names itself.
        truncate : bool, default False
            Use the first part of inputs that are longer than the model allows.

        Returns
        -------
        DataFrame
            All columns and rows of the input, in order, then ``<target>_pred``, probabilities of classes, ``status``
            (``"ok"`` or ``"error"``) and ``reason``. The input's columns are text. Predicted numbers are floats.
        """
        import pandas as pd

        table = as_table(data)
        names = output_columns(table.columns, prediction_columns(self.targets))
        cells = prediction_cells(self.targets)
        rows = [
            (*outcome.record.cells, *cells(outcome))
            for outcome in self.outcomes(table, input=input, truncate=truncate)
        ]
        frame = pd.DataFrame(rows, columns=list(names))
        for name, numeric in zip(names[len(table.columns) :], numeric_columns(self.targets), strict=True):
            if numeric:
                frame[name] = pd.to_numeric(frame[name]).astype(np.float64)
        if isinstance(data, pd.DataFrame | pd.Series):
            frame.index = data.index
        return frame

    def embed(
        self, data: Data, *, input: str | None = None, truncate: bool = False
    ) -> npt.NDArray[np.float32]:
        """Embedding of every row.

        Parameters
        ----------
        data, input, truncate
            As in `predict`.

        Returns
        -------
        (n, d) float32
            One vector per row, in order; NaN where the input cannot be read.
        """
        vectors = [
            np.full(self.width, np.nan) if outcome.output is None else outcome.output
            for outcome in self.embedding_outcomes(as_table(data), input=input, truncate=truncate)
        ]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), self.width)

    def graph(
        self, x: str | Mapping[str, object], *, input: str | None = None, truncate: bool = False
    ) -> TokenGraph:
        """Graph that the model sees in one input: adjacency by member, layer and head.

        Parameters
        ----------
        x : str or mapping
            A sequence, SMILES or formula; or a row, as column names to values, where the model reads more columns.
        input, truncate
            As in `predict`.

        Raises
        ------
        UnreadableInputError
            When the input cannot be read.
        TableError
            When a column that the model reads is missing.
        """
        row = {"input": x} if isinstance(x, str) else x
        record = Record("<row>", 1, None, tuple(map(cell_text, row.values())))
        table = Table(tuple(row), (record,), "<row>", "memory", tuple(row))
        featurizer = self.saved.featurizer
        found = read_row(
            record,
            columns=self._columns(table, input=input),
            read=lambda text: featurizer.read(text, truncate=truncate),
        )
        if isinstance(found, BadRow):
            raise UnreadableInputError(found.reason)
        example = featurizer.example(found.reading, numbers=found.numbers.tolist())
        return token_graph(self.saved.network, example, featurizer=featurizer, reading=found.reading)

    def evaluate(
        self, data: Data, *, input: str | None = None, baseline: bool = True, jobs: int = 1
    ) -> Evaluation:
        """Score the model on rows with measured targets.

        Parameters
        ----------
        data : path, DataFrame or Table
            A table with the input and target columns.
        input : str, optional
            As in `predict`.
        baseline : bool, default True
            Fit a random forest on the rows the model was trained on, and score it beside. That takes the training
            data, which is read again from where it was; the evaluation says so where it is not there any more.
        jobs : int, default 1
            Threads of the forest.

        Raises
        ------
        EvaluationError
            When no row can be used.
        """
        # scikit-learn, which prediction does not need, takes a second to import.
        from gia_science.prediction.reference import forest_beside

        table = as_table(data)
        saved = self.saved
        columns = self._columns(table, input=input, targets=self.targets.names)
        rows, bad = read_rows(
            table.records, columns=columns, read=saved.featurizer.read, targets=self.targets
        )
        if not rows:
            raise EvaluationError(
                "no row can be scored",
                got=str(bad[0]) if bad else "an empty table",
                where=Where(table.source),
            )
        for row in bad:
            logger.warning("not scored: %s", row)
        examples = [saved.featurizer.example(row.reading, numbers=row.numbers.tolist()) for row in rows]
        outputs = predict_examples(saved.network, examples, kind=self.targets.kind)
        notes = self._notes([row.reading.identity for row in rows], bad=len(bad))
        if self.targets.kind == "per_token":
            truth = np.concatenate(
                [
                    row.target[ex.stream.units[ex.stream.units >= 0]]
                    for row, ex in zip(rows, examples, strict=True)
                ]
            )
            return evaluate_predictions(
                self.targets,
                truth=truth[:, None],
                prediction=np.concatenate(outputs),
                baseline_name="none for labels of residues",
                notes=notes,
                left_out=len(bad),
            )
        theirs, name = forest_beside(saved, rows, jobs=jobs) if baseline else (None, "not asked for")
        return evaluate_predictions(
            self.targets,
            truth=np.stack([row.target for row in rows]),
            prediction=self.targets.decode(np.stack(outputs)),
            baseline=theirs,
            baseline_name=name,
            notes=notes,
            left_out=len(bad),
        )

    def outcomes(
        self, table: Table, *, input: str | None = None, truncate: bool = False, workers: int = 1
    ) -> Generator[Outcome, None, None]:
        """Outcome of every record of a table, read in windows: scaled values or probabilities."""
        saved = self.saved
        return outcomes(
            table.records,
            columns=self._columns(table, input=input),
            featurizer=saved.featurizer,
            compute=lambda examples: predict_examples(saved.network, examples, kind=self.targets.kind),
            truncate=truncate,
            workers=workers,
        )

    def embedding_outcomes(
        self, table: Table, *, input: str | None = None, truncate: bool = False, workers: int = 1
    ) -> Generator[Outcome, None, None]:
        """Outcome of every record of a table: its embedding ``(d,)``."""
        saved = self.saved
        return outcomes(
            table.records,
            columns=self._columns(table, input=input),
            featurizer=saved.featurizer,
            compute=lambda examples: embed_examples(saved.network, examples),
            truncate=truncate,
            workers=workers,
        )

    def _columns(self, table: Table, *, input: str | None, targets: tuple[str, ...] = ()) -> Columns:
        trained = self.saved.data.input
        wanted = trained if input is None and trained in table.columns else input
        column, _ = resolve_input(table, input=wanted, domain=self.domain)
        return Columns.find(
            table, input=column, numbers=self.saved.featurizer.source.columns, targets=targets
        )

    def _notes(self, identities: list[str], *, bad: int) -> list[str]:
        # Validation rows count as well: they chose the epoch, and the baseline is fitted on them.
        parts = self.saved.split.get("identities", {})
        trained = {*parts.get("train", ()), *parts.get("validation", ())}
        seen = sum(identity_hash(identity) in trained for identity in identities)
        notes = []
        if bad:
            left_out = "row cannot be read and is" if bad == 1 else "rows cannot be read and are"
            notes.append(f"{bad} {left_out} left out")
        if seen:
            notes.append(f"{seen} of {len(identities)} rows were in the training data: the scores flatter")
        return notes


def as_table(data: Data) -> Table:
    """A table from whatever a user holds.

    Raises
    ------
    TableError
        For a bare sequence, SMILES or formula where a file or a list is expected, or values that are no text.
    """
    if isinstance(data, Table):
        return data
    # `Path.exists` raises for a text that is too long for a name, as a sequence may be.
    if isinstance(data, str) and data != "-" and not os.path.exists(data):  # noqa: PTH110
        shown = data if len(data) <= 80 else data[:80] + "..."
        raise TableError("no such file", got=repr(shown), hint="a single input goes in a list, as in [text]")
    if isinstance(data, str | Path):
        return open_table(data)
    if hasattr(data, "columns"):
        return table_from_frame(cast("pd.DataFrame", data))
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise TableError(
            "cannot read inputs from this",
            got=type(data).__name__,
            expected="a path, a list of texts, a Series or a DataFrame",
        )
    return table_from_texts(data, column=str(getattr(data, "name", None) or "input"))
