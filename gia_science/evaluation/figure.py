"""One figure per task: what was predicted against what was measured."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.metrics import confusion_matrix, roc_curve

from gia_science.evaluation.metrics import Score, ScoreKind, find_metric

FloatArray = npt.NDArray[np.float64]

OURS, BASELINE, GUIDE = "#0b5fa5", "#c8641e", "#9a9a9a"
DPI = 150
PANEL_INCHES = 4.2
CALIBRATION_BINS = 10
MOST_CELL_TEXTS = 12
LONGEST_NAME = 28


def report_figure(
    kind: ScoreKind,
    truth: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    target: str,
    unit: str | None = None,
    scores: Sequence[Score] = (),
    baseline: npt.ArrayLike | None = None,
    baseline_scores: Sequence[Score] = (),
    baseline_name: str = "random forest",
    labels: Sequence[str] = (),
) -> bytes:
    """Draw predictions against measurements as a PNG.

    A regression shows predicted against measured values, a binary task ROC curve and calibration, a
    multi-class task the confusion matrix. Rows without a target or a prediction are left out; what cannot be
    drawn says why.

    Parameters
    ----------
    kind, truth, prediction
        As of `gia_science.evaluation.metrics.score_task`.
    target : str
        Name of the target.
    unit : str, optional
        Its unit.
    scores : sequence of Score
        Scores of the prediction; the first stands in the title.
    baseline, baseline_scores, baseline_name
        Predictions of a plain method on the same rows, in the form of `prediction`, their scores, its name.
    labels : sequence of str, optional
        Names of the classes of a binary or multi-class task, in the order of their indices.

    Returns
    -------
    bytes
        The PNG, 150 dots per inch.
    """
    measured = np.asarray(truth, dtype=np.float64)
    series = [("model", OURS, np.asarray(prediction, dtype=np.float64), scores)]
    if baseline is not None:
        series.append((baseline_name, BASELINE, np.asarray(baseline, dtype=np.float64), baseline_scores))
    panels = 2 if kind == "binary" else len(series)
    figure = Figure(figsize=(PANEL_INCHES * panels + 0.4, PANEL_INCHES + 0.8), dpi=DPI, layout="constrained")
    axes: list[Axes] = list(figure.subplots(1, panels, squeeze=False)[0])
    name = _plain(target) + (f" ({_plain(unit)})" if unit else "")
    drawn = [
        _Series(label, color, *_both(measured, values), scored) for label, color, values, scored in series
    ]
    for ax in axes:
        _clean(ax)
    if kind == "regression":
        _draw_regression(axes, drawn, name, kind)
    elif kind == "binary":
        _draw_roc(axes[0], drawn, kind)
        _draw_calibration(axes[1], drawn, f"{name} = {_plain(labels[1]) if labels else '1'}")
    else:
        _draw_confusion(axes, drawn, name, kind, labels)
    return png(figure)


@dataclass(frozen=True)
class _Series:
    """The rows of one method that can be drawn: truth (n,), prediction (n,) or (n, C)."""

    label: str
    color: str
    truth: FloatArray
    prediction: FloatArray
    scores: Sequence[Score]

    def title(self, kind: ScoreKind, *, separator: str = "\n") -> str:
        """Name of the method and its first score."""
        if not self.scores:
            return self.label
        score = self.scores[0]
        value = str(score) if score.value is not None else "undefined"
        return f"{self.label}{separator}{find_metric(kind, score.metric).title} {value}"


def _both(truth: FloatArray, prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
    finite = np.isfinite(prediction) if prediction.ndim == 1 else np.isfinite(prediction).all(axis=1)
    both = np.isfinite(truth) & finite
    return truth[both], prediction[both]


def _plain(text: str) -> str:
    """Text that matplotlib prints as it is, and that fits a label."""
    short = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    return " ".join(short.split()).replace("$", r"\$")


def _clean(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)
    ax.set_box_aspect(1)


def _label(ax: Axes, *, title: str, x: str, y: str) -> None:
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_xlabel(x, fontsize=10)
    ax.set_ylabel(y, fontsize=10)


def _say(ax: Axes, text: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.9}
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", fontsize=10, bbox=box)


def _draw_regression(axes: Sequence[Axes], drawn: Sequence[_Series], name: str, kind: ScoreKind) -> None:
    values = np.concatenate([part for series in drawn for part in (series.truth, series.prediction)])
    low, high = _limits(values)
    for ax, series in zip(axes, drawn, strict=True):
        ax.plot([low, high], [low, high], color=GUIDE, linewidth=1, zorder=1)
        ax.scatter(
            series.truth,
            series.prediction,
            s=14,
            color=series.color,
            alpha=_alpha(len(series.truth)),
            linewidths=0,
            zorder=2,
        )
        ax.set(xlim=(low, high), ylim=(low, high))
        if not len(series.truth):
            _say(ax, "no row has both\na target and a prediction")
        _label(ax, title=series.title(kind), x=f"measured {name}", y=f"predicted {name}")


def _limits(values: FloatArray) -> tuple[float, float]:
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) or max(abs(low), 1.0) * 0.5
    return low - margin, high + margin


def _alpha(n: int) -> float:
    """Opacity that keeps the shape of a dense cloud: solid for tens of rows, faint for thousands."""
    return float(np.clip(8 / np.sqrt(max(n, 1)), 0.08, 0.8))


def _draw_roc(ax: Axes, drawn: Sequence[_Series], kind: ScoreKind) -> None:
    ax.plot([0, 1], [0, 1], color=GUIDE, linewidth=1, linestyle=(0, (4, 3)))
    for series in drawn:
        if len(np.unique(series.truth)) < 2:
            continue
        false_rate, true_rate, _ = roc_curve(series.truth, series.prediction)
        ax.plot(false_rate, true_rate, color=series.color, linewidth=1.8, label=series.label)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", frameon=False, fontsize=9)
    else:
        _say(ax, "no ROC curve:\nthe targets hold fewer than two classes")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    titles = "\n".join(series.title(kind, separator=": ") for series in drawn)
    _label(ax, title=titles, x="false positive rate", y="true positive rate")


def _draw_calibration(ax: Axes, drawn: Sequence[_Series], event: str) -> None:
    ax.plot([0, 1], [0, 1], color=GUIDE, linewidth=1, linestyle=(0, (4, 3)))
    for series in drawn:
        if len(series.truth):
            predicted, observed = _calibration(series.truth, series.prediction)
            ax.plot(
                predicted,
                observed,
                color=series.color,
                linewidth=1.2,
                marker="o",
                markersize=5,
                label=series.label,
            )
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", frameon=False, fontsize=9)
    else:
        _say(ax, "no row has both\na target and a prediction")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    title = f"calibration, {len(drawn[0].truth)} rows in up to {CALIBRATION_BINS} equal bins"
    _label(ax, title=title, x=f"predicted probability of {event}", y="observed share")


def _calibration(truth: FloatArray, probability: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean probability and share of class 1 in bins of equal numbers of rows, in order of probability."""
    order = np.argsort(probability, kind="stable")
    bins = np.array_split(order, min(CALIBRATION_BINS, len(order)))
    return np.array([probability[rows].mean() for rows in bins]), np.array(
        [truth[rows].mean() for rows in bins]
    )


def _draw_confusion(
    axes: Sequence[Axes], drawn: Sequence[_Series], name: str, kind: ScoreKind, labels: Sequence[str]
) -> None:
    for ax, series in zip(axes, drawn, strict=True):
        count = series.prediction.shape[1]
        names = [_plain(text) for text in labels] if labels else [str(i) for i in range(count)]
        assert len(names) == count, "one name per class"
        if len(series.truth):
            _draw_matrix(
                ax, confusion_matrix(series.truth, series.prediction.argmax(axis=1), labels=range(count))
            )
        else:
            _say(ax, "no row has both\na target and a prediction")
        step = max(1, count // 25)
        ax.set_xticks(range(0, count, step), names[::step])
        if max(map(len, names)) > 3:
            for text in ax.get_xticklabels():
                text.set(rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(0, count, step), names[::step])
        _label(ax, title=series.title(kind), x=f"predicted {name}", y=f"measured {name}")


def _draw_matrix(ax: Axes, matrix: npt.NDArray[np.int64]) -> None:
    """Counts as text, shades by the share of each true class (row)."""
    totals = matrix.sum(axis=1, keepdims=True)
    shares = matrix / np.maximum(totals, 1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if len(matrix) > MOST_CELL_TEXTS:
        return
    for (row, column), number in np.ndenumerate(matrix):
        color = "white" if shares[row, column] > 0.6 else "#222222"
        ax.text(column, row, str(number), ha="center", va="center", fontsize=9, color=color)


def png(figure: Figure) -> bytes:
    """The figure as a PNG of `DPI` dots per inch."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # A column may be named in a script that the font lacks; boxes in a label are no reason to warn.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        FigureCanvasAgg(figure).figure.savefig(buffer, format="png", bbox_inches="tight", pad_inches=0.12)
    return buffer.getvalue()
