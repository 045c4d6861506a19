"""A figure is written for every kind of task and for degenerate input, without warnings."""

import io

import matplotlib
import numpy as np
import pytest
from matplotlib import image

from gia_science.evaluation.figure import report_figure
from gia_science.evaluation.metrics import score_task

PNG = b"\x89PNG"


def task(kind, n):
    rng = np.random.default_rng(0)
    if kind == "regression":
        truth = rng.normal(size=n)
        return truth, truth + rng.normal(size=n)
    if kind == "binary":
        return rng.integers(0, 2, n).astype(float), rng.random(n)
    return rng.integers(0, 3, n).astype(float), rng.dirichlet(np.ones(3), n)


def draw(kind, truth, prediction, **options):
    scores = score_task(kind, truth, prediction, resamples=20)
    return image.imread(
        io.BytesIO(report_figure(kind, truth, prediction, target="pIC50", scores=scores, **options))
    )


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_figure_is_a_readable_png_with_something_drawn(kind, baseline):
    truth, prediction = task(kind, 50)
    extra = {
        "baseline": prediction[::-1],
        "baseline_scores": score_task(kind, truth, prediction[::-1], resamples=0),
    }
    pixels = draw(kind, truth, prediction, unit="-log10 M", **(extra if baseline else {}))
    height, width = pixels.shape[:2]
    assert 600 <= height <= 800
    assert width > 1200 if baseline or kind == "binary" else width < 800
    assert pixels[..., :3].std() > 0.05


def test_predictions_change_the_figure():
    truth, prediction = task("regression", 30)
    first = draw("regression", truth, prediction)
    again = draw("regression", truth, prediction)
    other = draw("regression", truth, -prediction)
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or (first != other).any()


@pytest.mark.parametrize(
    ("kind", "truth", "prediction"),
    [
        ("regression", [3.0], [3.0]),
        ("regression", [0.0] * 4, [0.0] * 4),
        ("regression", [np.nan] * 2, [1.0, 2.0]),
        ("regression", [1.0, np.nan, 2.0], [1.0, 2.0, np.nan]),
        ("regression", [], []),
        ("binary", [1.0, 1.0, np.nan], [0.2, 0.4, 0.5]),
        ("binary", [1.0], [0.2]),
        ("binary", [np.nan], [0.2]),
        ("multiclass", [1.0], [[0.2, 0.8]]),
        ("multiclass", [np.nan], [[0.2, 0.8]]),
    ],
)
def test_degenerate_input_is_drawn_without_a_warning(kind, truth, prediction):
    assert draw(kind, truth, prediction, baseline=prediction).size


@pytest.mark.parametrize("target", ["price $ per $kg_x^", "带隙", "x" * 300, "a\nb"])
def test_any_name_of_a_target_can_be_drawn(target):
    assert report_figure("regression", [1, 2], [1, 2], target=target, unit="$").startswith(PNG)


def test_many_classes_are_drawn():
    probability = np.random.default_rng(0).dirichlet(np.ones(40), 200)
    names = [f"class number {i}" for i in range(40)]
    png = report_figure("multiclass", np.arange(200) % 40, probability, target="fold", labels=names)
    assert png.startswith(PNG)


def test_no_global_state_of_matplotlib_is_touched():
    before = dict(matplotlib.rcParams)
    draw("regression", [1, 2], [1, 2])
    assert dict(matplotlib.rcParams) == before
