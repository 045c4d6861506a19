"""The curves of a comparison: training and validation loss of every arm, over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gia_science.benchmark.summary import Estimate
from gia_science.benchmark.trial import Trial
from gia_science.evaluation.figure import png

COLOURS = ("#444444", "#9a9a9a", "#0b5fa5", "#5aa3dc", "#1b9e77", "#c8641e", "#e6a817", "#7a3b8f")
PANEL_INCHES = (4.6, 3.9)


def curves_figure(trials: Sequence[Trial]) -> bytes:
    """Draw the curves as a PNG, one panel per task.

    Lines are means over seeds: validation loss solid, training loss dashed. Bars at the right of a panel are the
    95 % intervals of each arm's lowest validation loss.

    Parameters
    ----------
    trials : sequence of Trial
    """
    tasks, arms = (list(dict.fromkeys(getattr(trial, name) for trial in trials)) for name in ("task", "arm"))
    columns = min(2, len(tasks))
    rows = -(-len(tasks) // columns)
    figure = Figure(figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows + 0.7), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, task in zip(axes, tasks, strict=False):
        for place, arm in enumerate(arms):
            mine = [trial for trial in trials if (trial.task, trial.arm) == (task, arm)]
            _draw_arm(ax, mine, colour=COLOURS[place % len(COLOURS)], place=place, arms=len(arms))
        _label(ax, task)
    for ax in axes[len(tasks) :]:
        ax.set_axis_off()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return png(figure)


def _draw_arm(ax: Axes, trials: Sequence[Trial], *, colour: str, place: int, arms: int) -> None:
    validation = np.mean([trial.val_loss for trial in trials], axis=0)
    training = np.mean([trial.train_loss for trial in trials], axis=0)
    epochs = np.arange(1, len(validation) + 1)
    ax.plot(epochs, validation, color=colour, linewidth=1.6, label=trials[0].arm)
    ax.plot(epochs, training, color=colour, linewidth=1.0, linestyle=(0, (3, 2)))
    best = Estimate.of([trial.best_val_loss for trial in trials])
    at = len(validation) * (1.03 + 0.018 * (place - arms / 2)) + 0.05 * len(validation)
    ax.errorbar([at], [best.mean], yerr=[best.half], color=colour, fmt=".", markersize=4, elinewidth=1.2)


def _label(ax: Axes, task: str) -> None:
    ax.set_title(task, fontsize=11)
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss (validation solid, training dashed)", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
