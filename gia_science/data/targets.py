"""Targets between the user's units and the network's numbers: scaled for training, and restored from its outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.forms import PLAIN, TargetForm
from gia_science.data.target_spec import TargetSpec

FloatArray = npt.NDArray[np.float64]
ROUNDING = 1e-12
"""Spread, as a share of the largest magnitude, below which a target counts as constant."""


class Targets(TargetSpec):
    """What is predicted, with the way to the network's numbers and back; parameters as of `TargetSpec`."""

    @property
    def scaled_zeros(self) -> tuple[float, ...]:
        """Where 0 lies among the scaled values of each target that has a gate."""
        return tuple(-self.mean[place] / (self.scale[place] or 1.0) for place in self.gates)

    def encode(self, values: FloatArray) -> FloatArray:
        """Values in the user's units ``(n, T)`` or ``(T,)`` to network targets; class indices pass unchanged.

        A zero that has a gate becomes minus infinity.
        """
        if self.kind != "regression":
            return values
        scale = np.array(self.scale)
        bent = self._each(values, TargetForm.transform)
        scaled: FloatArray = (bent - np.array(self.mean)) / np.where(scale > 0, scale, 1.0)
        gated = np.isin(np.arange(len(self.names)), self.gates)
        return np.where(gated & (values == 0), -np.inf, scaled) if self.gates else scaled

    def decode(self, outputs: FloatArray, *, forest: bool = True) -> FloatArray:
        """Activated outputs to the user's units; probabilities pass unchanged.

        Parameters
        ----------
        outputs : (..., M * channels) or (..., M * channels + outputs) float64
            Of the M members of an ensemble, one after another; then, of a blend, of its forest. What is averaged are
            probabilities, and scaled values before a transform is undone: an average of medians of logarithms, say,
            and not of the values themselves.
        forest : bool, default True
            Without it, what the networks of a blend say alone.

        Returns
        -------
        (..., outputs) float64
        """
        restored = self._restored(self._mean(self._networks(outputs)))
        if not self.blend or not forest:
            return restored
        blended: FloatArray = (1 - self.blend) * restored + self.blend * outputs[..., -self.outputs :]
        return blended

    def interval(self, outputs: FloatArray) -> FloatArray:
        """Quantiles ``(..., T, Q)`` in the user's units, rising, of outputs as for `decode`."""
        count = len(self.names)
        mean = self._mean(self._networks(outputs))
        levels = mean.reshape(*mean.shape[:-1], count, len(self.quantiles))
        # Quantiles that are learnt apart from each other may cross.
        rising = np.sort(levels, axis=-1)
        restored = [self._in_units(rising[..., place]) for place in range(len(self.quantiles))]
        return np.stack(restored, axis=-1)

    def spread(self, outputs: FloatArray) -> FloatArray:
        """Standard deviation of the members' predictions, n - 1 in the denominator.

        Parameters
        ----------
        outputs : (..., M * channels [+ outputs]) float64
            As for `decode`; M is at least 2. A forest has no part in the spread.

        Returns
        -------
        (..., T) float64
            In the user's units; of the probability of the positive class, or of the label of several classes.
        """
        members = self._members(self._networks(outputs))
        if self.kind == "multiclass":
            label = self.label(self.decode(outputs))[..., None]
            members = np.take_along_axis(members, label[..., None, :], axis=-1)
        elif self.kind == "regression":
            members = self._restored(members)
        deviation: FloatArray = members.std(axis=-2, ddof=1)
        return deviation

    def label(self, probabilities: FloatArray) -> npt.NDArray[np.int64]:
        """Indices of the labels of decoded probabilities: ``(..., C)`` to ``(...)``, or of each target ``(..., T)``.

        The likeliest class, of two the positive one from 0.5 on. With `priors`, the class whose probability is the
        largest multiple of its share in training: of calibrated probabilities that choice has the best balanced
        accuracy, as it asks which class makes the input likeliest.
        """
        if self.kind in ("multiclass", "per_token"):
            odds = probabilities / np.array(self.priors) if self.priors else probabilities
            return np.asarray(odds.argmax(axis=-1), dtype=np.int64)
        return (probabilities >= (np.array(self.priors) if self.priors else 0.5)).astype(np.int64)

    def _networks(self, outputs: FloatArray) -> FloatArray:
        """Outputs without those of the forest."""
        return outputs[..., : -self.outputs] if self.blend else outputs

    def _members(self, outputs: FloatArray) -> FloatArray:
        return outputs.reshape(*outputs.shape[:-1], -1, self.channels)

    def _mean(self, outputs: FloatArray) -> FloatArray:
        if outputs.shape[-1] == self.channels:
            return outputs
        mean: FloatArray = self._members(outputs).mean(axis=-2)
        return mean

    def _restored(self, channels: FloatArray) -> FloatArray:
        """Channels ``(..., channels)`` of one network, or their mean, to the user's units."""
        if self.kind != "regression":
            return channels
        count, levels = len(self.names), max(1, len(self.quantiles))
        centre = self.quantiles.index(0.5) if self.quantiles else 0
        values = self._in_units(channels[..., centre : count * levels : levels])
        if not self.gates:
            return values
        chance = np.ones_like(values)
        chance[..., list(self.gates)] = channels[..., count * levels :]
        # What is not 0 is positive.
        positive = np.where(np.isin(np.arange(count), self.gates), np.maximum(values, 0.0), values)
        return chance * positive if self.zeros == "mean" else np.where(chance >= 0.5, positive, 0.0)

    def _in_units(self, scaled: FloatArray) -> FloatArray:
        return self._each(scaled * np.array(self.scale) + np.array(self.mean), TargetForm.restore)

    def _each(self, values: FloatArray, change: Callable[[TargetForm, FloatArray], FloatArray]) -> FloatArray:
        """Values ``(..., T)``, those of each target changed as its form has it."""
        if all(form == PLAIN or form.gated for form in self.forms):
            return values
        changed = [change(form, values[..., place]) for place, form in enumerate(self.forms)]
        return np.stack(changed, axis=-1)


def every_class(shares: npt.NDArray[Any], *, seen: npt.NDArray[Any], classes: int) -> npt.NDArray[Any]:
    """Shares ``(n, classes)`` of all classes, from those ``(n, S)`` of the S that an estimator has seen.

    Classes are numbered from 0; one that was not seen has no share.
    """
    every = np.zeros((len(shares), classes), dtype=shares.dtype)
    every[:, seen.astype(np.int64)] = shares
    return every


def fit_scaling(values: npt.NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each target ``(n, T)`` over the rows that have it; (0, 0) where none has.

    A spread that is mere rounding is 0: the mean of equal numbers need not equal them to the last bit.
    """
    fitted = [_mean_and_spread(column[~np.isnan(column)]) for column in values.T]
    return tuple(mean for mean, _ in fitted), tuple(spread for _, spread in fitted)


def _mean_and_spread(known: npt.NDArray[np.float64]) -> tuple[float, float]:
    unit = float(np.abs(known).max(initial=0.0))
    if unit == 0:
        return 0.0, 0.0
    # In units of the largest magnitude, so that squares of huge values do not overflow.
    mean, spread = float(np.mean(known / unit)), float(np.std(known / unit))
    return mean * unit, spread * unit if spread > ROUNDING else 0.0
