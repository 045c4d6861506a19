"""One output from those of the overlapping windows of a long input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gia_science.prediction.forward import FloatArray


def combine(outputs: Sequence[FloatArray], spans: Sequence[range]) -> FloatArray:
    """Combine the outputs of windows.

    Outputs of whole windows become their mean, each weighted by the number of its units that no window before it
    holds: every unit counts once. Of outputs per unit, each is that of the window in which its unit lies most
    centrally, of two equally central windows that of the first.

    Parameters
    ----------
    outputs : sequence of (d,) or (L_w, d) arrays
        One per window; values, probabilities or vectors.
    spans : sequence of range
        Units of each window, in order; together they hold all units from 0 on.

    Returns
    -------
    (d,) or (L, d) array
        As exact as the outputs.
    """
    if len(outputs) == 1:
        return outputs[0]
    if outputs[0].ndim == 1:
        ends = [0, *(span.stop for span in spans)]
        weights = np.diff(ends) / ends[-1]
        mean: FloatArray = np.average(np.stack(outputs).astype(np.float64), axis=0, weights=weights)
        return mean.astype(outputs[0].dtype)
    parts = []
    for index, (output, span) in enumerate(zip(outputs, spans, strict=True)):
        first = 0 if index == 0 else _border(spans[index - 1], span)
        stop = span.stop if index == len(spans) - 1 else _border(span, spans[index + 1])
        parts.append(output[first - span.start : stop - span.start])
    return np.concatenate(parts)


def _border(left: range, right: range) -> int:
    """First unit that lies more centrally in the right one of two overlapping windows of one length."""
    # A unit u is nearer to the centre of the right one when u - right.start > left.stop - 1 - u.
    return (left.stop - 1 + right.start) // 2 + 1
