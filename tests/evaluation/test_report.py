"""An evaluation says what it is over, and a mean is over the targets where a metric is defined."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gia_science.data.targets import Targets
from gia_science.errors import EvaluationError
from gia_science.evaluation.groups import Grouping
from gia_science.evaluation.metrics import METRICS
from gia_science.evaluation.report import (
    BaselinePrediction,
    Evaluation,
    evaluate_predictions,
    score_kind,
)

NAN = np.nan
NUMBERS = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))
TWO = Targets(names=("a", "b"), kind="multilabel", labels=("0", "1"))
CLASSES = Targets(names=("y",), kind="multiclass", labels=("x", "y", "z"))


def numbers(**options: object) -> Evaluation:
    truth = np.array([[1.0], [2.0], [4.0], [NAN]])
    prediction = np.array([[2.0], [1.0], [5.0], [0.0]])
    return evaluate_predictions(NUMBERS, truth=truth, prediction=prediction, **options)


def two(*, second: list[float], baseline: bool = False) -> Evaluation:
    truth = np.column_stack([[0.0, 1.0, 0.0, 1.0], second])
    prediction = np.column_stack([[0.1, 0.9, 0.2, 0.8], [0.9, 0.2, 0.8, 0.1]])
    return evaluate_predictions(
        TWO,
        truth=truth,
        prediction=prediction,
        baselines=[BaselinePrediction("linear", "ridge", 1 - prediction)] if baseline else (),
    )


@pytest.mark.parametrize(
    ("targets", "kind"),
    [
        (NUMBERS, "regression"),
        (TWO, "binary"),
        (Targets(names=("y",), kind="binary", labels=("0", "1")), "binary"),
        (CLASSES, "multiclass"),
        (Targets(names=("y",), kind="per_token", labels=("C", "E")), "multiclass"),
    ],
)
def test_each_kind_of_task_has_its_metrics(targets: Targets, kind: str) -> None:
    assert score_kind(targets) == kind


def test_a_score_is_the_primary_one_or_the_one_asked_for() -> None:
    evaluation = numbers()
    assert evaluation.score().metric == "rmse"
    assert evaluation.score().value == 1.0
    assert evaluation.score("mae").n == 3
    assert evaluation.rows == 4
    with pytest.raises(EvaluationError, match="no such metric for a regression task: got 'rmsd'"):
        evaluation.score("rmsd")


def test_a_score_of_a_baseline_that_is_not_there_is_refused_with_the_reason() -> None:
    evaluation = numbers(no_baselines="the file is gone")
    assert not evaluation.baselines
    with pytest.raises(EvaluationError, match="there are: none: the file is gone"):
        evaluation.score(baseline="constant")


def test_a_baseline_is_scored_on_the_same_rows() -> None:
    evaluation = numbers(baselines=[BaselinePrediction("constant", "the mean", np.full((4, 1), 2.0))])
    assert evaluation.baselines == {"constant": "the mean"}
    assert evaluation.score("mae", baseline="constant").value == pytest.approx(1.0)
    assert evaluation.score("mae", baseline="constant").n == evaluation.score("mae").n == 3
    with pytest.raises(EvaluationError, match="did you mean 'constant'"):
        evaluation.score(baseline="constants")


def test_a_mean_is_over_the_targets_where_the_metric_is_defined() -> None:
    evaluation = two(second=[0.0, 0.0, NAN, 0.0])
    mean = evaluation.score("roc_auc")
    assert mean.value == 1.0
    assert mean.reason == "mean over 1 of 2 tasks"
    assert mean.n == 4
    undefined = evaluation.targets[1].model[0]
    assert undefined.value is None
    assert undefined.reason == "only one class among the targets"
    assert evaluation.score("accuracy").value == pytest.approx((1.0 + 2 / 3) / 2)


def test_a_mean_over_nothing_is_undefined() -> None:
    truth = np.zeros((3, 2))
    evaluation = evaluate_predictions(TWO, truth=truth, prediction=truth + 0.5)
    assert evaluation.score().value is None
    assert "undefined: mean over 0 of 2 tasks" in {row[2] for row in evaluation.table()}


def test_classes_take_all_columns_of_the_prediction() -> None:
    truth = np.array([[0.0], [2.0], [1.0]])
    prediction = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])
    evaluation = evaluate_predictions(
        CLASSES,
        truth=truth,
        prediction=prediction,
        baselines=[BaselinePrediction("nearest", "", prediction[:, None, ::-1])],
    )
    assert evaluation.score("accuracy").value == pytest.approx(2 / 3)
    assert evaluation.score("accuracy", baseline="nearest").value == 0.0


def test_a_table_of_one_target_has_a_row_for_each_metric() -> None:
    rows = numbers().table()
    assert [row[1] for row in rows] == [metric.title for metric in METRICS["regression"]]
    assert {row[0] for row in rows} == {"y"}
    assert rows[0][2].startswith("1.00 [")
    assert {len(row) for row in rows} == {3} == {len(numbers().head)}


def test_a_table_of_several_targets_ends_in_means_with_the_baseline_beside() -> None:
    rows = two(second=[1.0, 0.0, 1.0, 0.0], baseline=True).table()
    per_target = len(METRICS["binary"])
    assert [row[0] for row in rows] == ["a"] * per_target + ["b"] * per_target + [
        "mean over 2 of 2 tasks"
    ] * per_target
    roc_auc = [row for row in rows if row[1] == "ROC-AUC"]
    assert [row[2][:4] for row in roc_auc] == ["1.00"] * 3
    assert [row[3][:1] for row in roc_auc] == ["0"] * 3


def test_the_plain_types_can_be_written_as_strict_json() -> None:
    evaluation = two(second=[0.0, 0.0, 0.0, NAN], baseline=True)
    read = json.loads(json.dumps(evaluation.to_json(), allow_nan=False))
    assert read["kind"] == "binary"
    assert read["rows"] == 4
    assert [target["target"] for target in read["targets"]] == ["a", "b"]
    assert read["targets"][1]["model"][0]["value"] is None
    assert read["targets"][1]["model"][0]["reason"] == "only one class among the targets"
    assert read["baselines"] == {"linear": "ridge"}
    assert read["no_baselines"] is None
    assert len(read["targets"][0]["baselines"]["linear"]) == len(METRICS["binary"])
    assert numbers().to_json()["no_baselines"] == "not asked for"


def test_the_plain_types_give_the_evaluation_back_without_its_rows() -> None:
    evaluation = two(second=[0.0, 0.0, 0.0, NAN], baseline=True)
    again = Evaluation.from_json(json.loads(json.dumps(evaluation.to_json())))
    assert again == evaluation
    assert again.scored is None
    assert again.table() == evaluation.table()


def test_notes_and_rows_left_out_are_kept() -> None:
    evaluation = numbers(notes=["one", "two"], left_out=3)
    assert evaluation.notes == ("one", "two")
    assert evaluation.left_out == 3
    assert evaluation.to_json()["left_out"] == 3


def test_equal_seeds_give_equal_intervals() -> None:
    assert numbers(seed=1).to_json() == numbers(seed=1).to_json()


def test_a_mean_of_a_baseline_over_fewer_targets_says_so() -> None:
    """Predictions that are all the same have no correlation."""
    targets = NUMBERS.model_copy(update={"names": ("a", "b"), "mean": (0.0, 0.0), "scale": (1.0, 1.0)})
    truth = np.array([[1.0, 1.0], [2, 3], [3, 2]])
    beside = BaselinePrediction("nearest", "", np.array([[1.0, 5], [2, 5], [4, 5]]))
    evaluation = evaluate_predictions(targets, truth=truth, prediction=truth, baselines=[beside])
    (mean,) = (row for row in evaluation.table()[-5:] if row[1] == "Pearson r")
    assert mean[0] == "mean over 2 of 2 tasks"
    assert mean[3].endswith("(mean over 1 of 2 tasks)")


def test_groups_are_scored_as_if_they_were_all_there_is() -> None:
    rng = np.random.default_rng(0)
    truth, prediction = rng.normal(size=(30, 1)), rng.normal(size=(30, 1))
    beside = BaselinePrediction("constant", "", np.zeros((30, 1)))
    labels = ("one",) * 12 + ("two",) * 11 + ("few",) * 7
    evaluation = evaluate_predictions(
        NUMBERS,
        truth=truth,
        prediction=prediction,
        baselines=[beside],
        groupings=[Grouping("batch", (labels,))],
    )
    assert [(item.by, item.group) for item in evaluation.groups] == [
        ("batch", name) for name in ("one", "two", "other")
    ]
    alone = evaluate_predictions(NUMBERS, truth=truth[:12], prediction=prediction[:12])
    assert evaluation.groups[0].scores.model == alone.targets[0].model
    head, rows = evaluation.group_head, evaluation.group_table()
    assert head == ("by", "group", "target", "rows", "RMSE of the model", "constant")
    assert rows[0][:4] == ("batch", "one", "y", "12")
    assert rows[0][4] == str(alone.score())
    assert {len(row) for row in rows} == {len(head)}
    assert Evaluation.from_json(evaluation.to_json()) == evaluation


def test_labels_of_baselines_are_chosen_as_those_of_the_model() -> None:
    """Or a model would be ahead by the choice alone; a constant has its most frequent class in any case."""
    truth = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
    prediction = np.array([[0.1], [0.1], [0.1], [0.3], [0.4]])
    share = np.full((5, 1), 0.2)
    beside = [BaselinePrediction("random_forest", "", prediction), BaselinePrediction("constant", "", share)]
    likeliest = Targets(names=("y",), kind="binary", labels=("0", "1"))
    for targets, found in ((likeliest, 0.5), (likeliest.model_copy(update={"priors": (0.2,)}), 0.875)):
        evaluation = evaluate_predictions(targets, truth=truth, prediction=prediction, baselines=beside)
        for baseline in (None, "random_forest"):
            assert evaluation.score("balanced_accuracy", baseline=baseline).value == found
        assert evaluation.score("accuracy", baseline="constant").value == 0.8
