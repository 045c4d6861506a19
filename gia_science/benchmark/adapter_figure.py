"""Test score and generalisation gap of every arm, on the pretrained and on the random base."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gia_science.benchmark.adapters import AdapterTrial
from gia_science.benchmark.summary import Estimate
from gia_science.benchmark.trial import Trial
from gia_science.evaluation.figure import png

COLOURS = {"pretrained": "#0b5fa5", "random": "#c8641e"}
OFFSET = 0.17
"""Of the two bases from the middle of an arm's line."""


def adapter_figure(trials: Sequence[AdapterTrial]) -> bytes:
    """Draw a PNG with a row of panels per task: small dots are seeds, bars 95 % intervals of their mean.

    Parameters
    ----------
    trials : sequence of AdapterTrial
        Without those that chose a learning rate.
    """
    tasks = list(dict.fromkeys(one.task for one in trials))
    figure = Figure(figsize=(9.2, 2.9 * len(tasks) + 0.5), layout="constrained")
    axes = figure.subplots(len(tasks), 2, squeeze=False, sharey="row")
    for (left, right), task in zip(axes, tasks, strict=True):
        mine = [one for one in trials if one.task == task]
        metric = mine[0].trial.metric
        better = "higher" if mine[0].trial.greater_is_better else "lower"
        _panel(left, mine, lambda trial: trial.test_metric)
        _panel(right, mine, lambda trial: trial.gap_at_best)
        left.set_title(f"{task}: test {metric} ({better} is better)", fontsize=10)
        right.set_title(f"{task}: validation minus training loss", fontsize=10)
        right.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return png(figure)


def _panel(ax: Axes, trials: Sequence[AdapterTrial], value: Callable[[Trial], float]) -> None:
    arms = list(dict.fromkeys(one.trial.arm for one in trials))
    for (start, colour), side in zip(COLOURS.items(), (-1, 1), strict=True):
        for place, arm in enumerate(arms):
            found = [value(one.trial) for one in trials if one.start == start and one.trial.arm == arm]
            if not found:
                continue
            mean, y = Estimate.of(found), place + side * OFFSET
            ax.scatter(found, [y] * len(found), color=colour, s=9, alpha=0.45, linewidths=0)
            ax.errorbar(
                [mean.mean],
                [y],
                xerr=[mean.half],
                color=colour,
                fmt="o",
                markersize=5,
                elinewidth=1.4,
                label=f"{start} base" if place == 0 else None,
            )
    ax.set_yticks(range(len(arms)), arms, fontsize=9)
    ax.set_ylim(len(arms) - 0.5, -0.5)
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
