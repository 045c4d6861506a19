"""Published figures can be read, and can stand beside those of the tasks they name."""

from __future__ import annotations

from gia_science.benchmark.protocol import protocol_of
from gia_science.benchmark.published import published_figures


def test_published_figures_are_of_known_tasks_and_metrics() -> None:
    figures = published_figures()
    assert figures
    for one in figures:
        assert one.metric == protocol_of(one.task).metric.name
        assert one.source
        assert one.protocol
        assert not any("|" in text for text in (*one.values, one.source, one.protocol))
    seen = [(one.task, one.source, model) for one in figures for model in one.values]
    assert len(set(seen)) == len(seen)


def test_the_convention_of_matbench_is_told() -> None:
    hard = [one for one in published_figures() if one.task in ("matbench_is_metal", "matbench_glass")]
    assert len(hard) == 2
    assert all("rocauc" in one.note and one.metric == "balanced_accuracy" for one in hard)
