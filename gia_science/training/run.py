"""A whole run: prepared rows in, a model with its report out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.record import LoadedTable
from gia_science.data.splits.stored import split_record
from gia_science.data.targets import Targets
from gia_science.evaluation.leakage import LeakageReport, leakage
from gia_science.evaluation.report import (
    NOT_ASKED,
    BaselinePrediction,
    Evaluation,
    evaluate_predictions,
)
from gia_science.model.folder import SavedModel
from gia_science.model.heads import PropertyNetwork
from gia_science.prediction.forward import all_computed, predict_examples
from gia_science.prediction.model import Model
from gia_science.prediction.reference import NO_RESIDUES, baseline_predictions, measured_rows
from gia_science.training.blend import blended
from gia_science.training.budget import within_time
from gia_science.training.card import model_card
from gia_science.training.devices import ONE_DEVICE, Devices, enter, first_goes_on
from gia_science.training.encode import encode
from gia_science.training.fit import Fitted
from gia_science.training.members import fit_members
from gia_science.training.prepare import Prepared, prepare
from gia_science.training.recipe import Recipe
from gia_science.training.report import leakage_file, prediction_table, report_picture

logger = logging.getLogger("gia_science")
FloatArray = npt.NDArray[np.float64]
NETWORKS_ALONE = "networks_alone"


@dataclass(frozen=True)
class Result:
    """What a run produced.

    Parameters
    ----------
    model : Model
    evaluation : Evaluation
        On the test rows, the baselines beside; on the validation rows where the split has no test rows.
    prepared : Prepared
    """

    model: Model
    evaluation: Evaluation
    prepared: Prepared


def run(
    recipe: Recipe,
    *,
    table: LoadedTable | None = None,
    devices: Devices = ONE_DEVICE,
    progress: bool | None = None,
    jobs: int = 1,
) -> Result:
    """Carry out a recipe: read, split, train, evaluate beside the baselines.

    Parameters
    ----------
    recipe : Recipe
    table : LoadedTable, optional
        Rows in memory, instead of the recipe's file or dataset.
    devices : Devices
        Of several processes, the first goes on when the networks are trained, and the others end.
    progress : bool, optional
        Draw a progress bar; by default on a terminal.
    jobs : int, default 1
        Networks that are trained at a time, on as many cores, and threads of the baselines.

    Raises
    ------
    GiaError
        See `prepare` and `fit_network`.
    """
    enter(devices)
    prepared = prepare(recipe, table=table)
    rows, split = prepared.rows, prepared.split
    leaks = _leaks(prepared)
    encoded = encode(prepared)
    prepared = within_time(prepared, encoded, devices=devices, jobs=jobs)
    examples = encoded.examples
    members = fit_members(prepared, encoded, devices=devices, progress=progress, jobs=jobs)
    first_goes_on(devices)
    network, targets = blended(prepared, encoded, members, jobs=jobs)
    part, chosen = ("test", split.test) if len(split.test) else ("validation", split.validation)
    evaluated = [rows[i] for i in chosen]
    shown = [examples[i] for i in chosen]
    outputs = all_computed(predict_examples(network, shown, kind=targets.kind))
    truth, keys = measured_rows(evaluated, shown, per_token=targets.kind == "per_token")
    prediction, alone = _decoded(targets, outputs)
    baselines = (*alone, *_baselines(prepared, targets, chosen, jobs=jobs))
    evaluation = evaluate_predictions(
        targets,
        truth=truth,
        prediction=prediction,
        keys=keys,
        baselines=baselines,
        no_baselines=NO_RESIDUES if targets.kind == "per_token" else NOT_ASKED,
        notes=_notes(part, prepared),
        seed=prepared.recipe.seed,
    )
    attachments = {
        "report.png": report_picture(
            targets, evaluation, truth=truth, prediction=prediction, baselines=baselines
        ),
        "leakage.json": leakage_file(leaks),
    }
    if targets.kind != "per_token":
        attachments["predictions.csv"] = prediction_table(targets, evaluated, prediction=prediction)
    metrics = {part: evaluation.to_json(), **_training_record(members)}
    card = model_card(
        prepared,
        targets=targets,
        evaluation=evaluation,
        parameters=metrics["parameters"],
        trained=metrics.get("trained_parameters"),
        leaks=leaks,
    )
    saved = SavedModel(
        network=network,
        targets=targets,
        featurizer=encoded.featurizer,
        data=prepared.recipe.data,
        recipe=prepared.recipe.to_yaml(),
        split=split_record(rows, split, data_sha256=prepared.recipe.data.sha256),
        metrics=metrics,
        card=card,
        attachments=attachments,
    )
    return Result(Model(saved), evaluation, prepared)


def _decoded(
    targets: Targets, outputs: Sequence[npt.NDArray[np.floating[Any]]]
) -> tuple[FloatArray, tuple[BaselinePrediction, ...]]:
    """Predictions, of per-token tasks one line per residue; and of a blend those of the networks without the forest."""
    if targets.kind == "per_token":
        return np.concatenate(outputs).astype(np.float64), ()
    found = np.stack(outputs).astype(np.float64)
    if not targets.blend:
        return targets.decode(found), ()
    networks = targets.decode(found, forest=False)
    values = networks[:, None, :] if targets.kind == "multiclass" else networks
    title = "the networks of this model, without the forest that they are blended with"
    return targets.decode(found), (BaselinePrediction(NETWORKS_ALONE, title, values),)


def _baselines(
    prepared: Prepared, targets: Targets, chosen: npt.NDArray[np.int64], *, jobs: int
) -> tuple[BaselinePrediction, ...]:
    if targets.kind == "per_token":
        return ()
    # Baselines have no use for validation rows of their own: they get them, so that they are not held back.
    fitted_on = np.setdiff1d(np.concatenate([prepared.split.train, prepared.split.validation]), chosen)
    return baseline_predictions(
        str(prepared.recipe.data.domain),
        targets,
        names=prepared.recipe.baselines,
        train=[prepared.rows[index] for index in fitted_on],
        test=[prepared.rows[index] for index in chosen],
        seed=prepared.recipe.seed,
        jobs=jobs,
    )


def _leaks(prepared: Prepared) -> LeakageReport:
    leaks = leakage(
        prepared.rows,
        prepared.split,
        tokenizer=prepared.tokenizer,
        targets=prepared.targets,
        seed=prepared.recipe.seed,
    )
    for problem in leaks.problems():
        logger.warning("split: %s", problem)
    return leaks


def _notes(part: str, prepared: Prepared) -> list[str]:
    notes = [f"scored on the {part} rows; {prepared.split.describe}"]
    if part == "validation":
        notes.append("the split has no test rows: these rows also chose the best epoch, the scores flatter")
    if prepared.targets.kind == "per_token":
        notes.append("intervals are over residues, which are not independent: they are too narrow")
    return notes


def _training_record(members: Sequence[Fitted[PropertyNetwork]]) -> dict[str, Any]:
    """Size and training curves of the members, as plain types."""
    parameters, trained = (
        sum(getattr(member, name) for member in members) for name in ("parameters", "trained")
    )
    return {
        "parameters": parameters,
        **({"trained_parameters": trained} if trained != parameters else {}),
        "members": [member.to_json() for member in members],
    }
