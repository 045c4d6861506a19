"""A trained property predictor, as users hold it."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from gia_science.data.inputs import as_table
from gia_science.data.record import Record, Table, cell_text
from gia_science.data.rows import BadRow, Columns, identity_hash, read_row, read_rows
from gia_science.data.source import resolve_input
from gia_science.data.table import load_table
from gia_science.data.targets import Targets
from gia_science.data.writer import output_columns
from gia_science.errors import EvaluationError, RecipeError, UnreadableInputError, Where
from gia_science.evaluation.baselines import DEFAULT as DEFAULT_BASELINES
from gia_science.evaluation.baselines import check_names
from gia_science.evaluation.report import Evaluation, evaluate_predictions
from gia_science.model.folder import SavedModel, load_model, save_model
from gia_science.prediction.columns import numeric_columns, prediction_cells, prediction_columns
from gia_science.prediction.embedding import MODELS_OWN, EmbeddingChoice, Pooling, embed_examples
from gia_science.prediction.forward import all_computed, predict_examples
from gia_science.prediction.graph import TokenGraph, token_graph
from gia_science.prediction.outcomes import Compute, Outcome, outcomes
from gia_science.tokens.long import Long, check_long

if TYPE_CHECKING:
    import pandas as pd

    from gia_science.data.inputs import Data

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
        names = output_columns(
            table.columns, prediction_columns(self.targets, members=self.members, long=long)
        )
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
        row = {"input": x} if isinstance(x, str) else x
        record = Record("<row>", 1, None, tuple(map(cell_text, row.values())))
        table = Table(tuple(row), (record,), "<row>", "memory", tuple(row))
        featurizer = self.saved.featurizer
        found = read_row(
            record,
            columns=self._columns(table, input=input),
            read=lambda text: featurizer.read(text, long=long),
        )
        if isinstance(found, BadRow):
            raise UnreadableInputError(found.reason)
        example = featurizer.example(found.reading, numbers=found.numbers.tolist())
        return token_graph(self.saved.network, example, featurizer=featurizer, reading=found.reading)

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
        from gia_science.prediction.grouping import groupings
        from gia_science.prediction.reference import NO_RESIDUES, baselines_beside, measured_rows

        names = check_names(baselines)
        table = as_table(data)
        if by:
            # The cells of the groups are looked up behind the predictions.
            table = load_table(table)
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
        outputs = all_computed(predict_examples(saved.network, examples, kind=self.targets.kind))
        notes = self._notes([row.reading.identity for row in rows], bad=len(bad))
        per_token = self.targets.kind == "per_token"
        truth, keys = measured_rows(rows, examples, per_token=per_token)
        beside, reason = (
            ((), NO_RESIDUES) if per_token else baselines_beside(saved, rows, names=names, jobs=jobs)
        )
        return evaluate_predictions(
            self.targets,
            truth=truth,
            prediction=np.concatenate(outputs) if per_token else self.targets.decode(np.stack(outputs)),
            keys=keys,
            baselines=beside,
            no_baselines=reason,
            groupings=groupings(by, table=table, rows=rows, keys=keys, truth=truth, saved=saved),
            notes=notes,
            left_out=len(bad),
        )

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
        network, kind = self.saved.network, self.targets.kind
        return self._outcomes(
            table,
            lambda examples: predict_examples(network, examples, kind=kind),
            units=kind == "per_token",
            input=input,
            long=long,
            window=window,
            workers=workers,
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
        network = self.saved.network
        choice.check(network.config)
        return self._outcomes(
            table,
            lambda examples: embed_examples(network, examples, choice=choice),
            units=choice.tokens,
            input=input,
            long=long,
            window=window,
            workers=workers,
        )

    def _outcomes(
        self,
        table: Table,
        compute: Compute,
        *,
        units: bool,
        input: str | None,
        long: Long,
        window: int | None,
        workers: int,
    ) -> Generator[Outcome, None, None]:
        check_long(long, domain=self.domain)
        return outcomes(
            table.records,
            columns=self._columns(table, input=input),
            featurizer=self.saved.featurizer,
            compute=compute,
            long=long,
            units=units,
            window=window,
            workers=workers,
        )

    def _columns(self, table: Table, *, input: str | None, targets: tuple[str, ...] = ()) -> Columns:
        trained = self.saved.data.input
        # An SDF file may hold a field of that name; its molecules are the input all the same.
        molecules = table.format == "sdf" and self.domain == "smiles"
        named = trained in table.columns and not molecules
        wanted = trained if input is None and named else input
        column, _ = resolve_input(table, input=wanted, domain=self.domain)
        return Columns.find(
            table, input=column, numbers=self.saved.featurizer.source.columns, targets=targets
        )

    def _notes(self, identities: list[str], *, bad: int) -> list[str]:
        # Validation rows count as well: they chose the epoch, and the baselines are fitted on them.
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
