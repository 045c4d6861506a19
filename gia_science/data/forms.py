"""Form of a numeric target: what the network learns of it, chosen by the training rows and undone in the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, FiniteFloat, model_validator

from gia_science.errors import RecipeError
from gia_science.settings import Strict

FloatArray = npt.NDArray[np.float64]
FormName = Literal["plain", "zero_inflated", "log", "box_cox"]
FormChoice = Literal["auto", "plain", "zero_inflated", "log", "box_cox"]

ZERO_SHARE = 0.2
"""Share of training values that are exactly 0 from which on zeros get a gate of their own."""
FEWEST = 10
"""Fewest different values other than 0 that a form is chosen by."""
SKEWED = 2.0
"""Skewness from which on a positive target may be transformed.

Below it a transform is no gain where the error is judged in the target's own units: band gaps of non-metals, with a
skewness of 1.7, had a larger validation error with Box-Cox than without (one seed).
"""
STRAIGHT = 0.5
"""Skewness, of either sign, that a transformed target may keep."""
SUPPORT = 1.92
"""Log-likelihood that an exponent must gain: the 95 % interval of a likelihood ratio with one degree of freedom."""
MARGIN = 0.5
"""How far beyond the training values a transformed prediction may lie, as a share of their range."""
EXPONENTS = np.linspace(0.0, 1.0, 101)
"""Exponents of Box and Cox that are tried. A negative one has a pole: a large prediction would be infinite."""


class TargetForm(Strict):
    """Form of one target.

    Parameters
    ----------
    name : FormName
        ``zero_inflated``: whether it is exactly 0, and the value where it is not. ``log`` and ``box_cox``: a
        transformed value, ``log(y + shift)`` or ``((y + shift)^power - 1) / power`` (Box and Cox 1964).
    power : float, default 1
        Exponent from 0, which is the logarithm, to 1, which is no transform.
    shift : float, default 0
        In the target's units; above 0 where a transformed target holds zeros.
    low, high : float
        Smallest and largest transformed training value; predictions are held near them. 0 for other forms.
    """

    name: FormName = "plain"
    power: Annotated[FiniteFloat, Field(ge=0, le=1)] = 1.0
    shift: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    low: FiniteFloat = 0.0
    high: FiniteFloat = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.low > self.high:
            raise ValueError("low lies above high")
        return self

    @property
    def transformed(self) -> bool:
        """Whether values pass through a power or a logarithm."""
        return self.name in ("log", "box_cox")

    @property
    def gated(self) -> bool:
        """Whether zeros are told from the rest by an output of their own."""
        return self.name == "zero_inflated"

    def transform(self, values: FloatArray) -> FloatArray:
        """Values in the target's units to those that are scaled; NaN stays, and so does what no transform can take.

        A value that the transform is not made for, below 0, counts as the smallest training value.
        """
        if not self.transformed:
            return values
        moved = values + self.shift
        possible = moved > 0
        bent = np.where(possible, _bent(np.where(possible, moved, 1.0), self.power), self.low)
        return np.where(np.isnan(values), np.nan, bent)

    def restore(self, values: FloatArray) -> FloatArray:
        """Inverse of `transform`, finite for whatever the network says.

        A transformed prediction is the median of the target, not its mean: a median stays one under any rising
        function, and it is what an absolute error asks for.
        """
        if not self.transformed:
            return values
        room = MARGIN * (self.high - self.low)
        held = np.clip(values, self.low - room, self.high + room)
        return np.maximum(_unbent(held, self.power) - self.shift, 0.0)


PLAIN = TargetForm()


@dataclass(frozen=True)
class Choice:
    """A form, and why it was taken, in words."""

    form: TargetForm
    reason: str


def choose_form(values: FloatArray, *, choice: FormChoice = "auto", gate: bool = True) -> Choice:
    """Form of a target from its training values.

    Zeros get a gate where they are at least `ZERO_SHARE` of the values and all others are positive. Values that are
    all positive and skewed by more than `SKEWED` are transformed by the exponent of Box and Cox that is likeliest, or
    the logarithm where that is about as likely, if that leaves less than `STRAIGHT`.

    Parameters
    ----------
    values : (n,) float64
        In the target's units; NaN where missing.
    choice : FormChoice, default "auto"
        The form that is asked for.
    gate : bool, default True
        Whether ``auto`` may take a gate.

    Raises
    ------
    RecipeError
        When the values do not go with the form that is asked for.
    """
    known = values[~np.isnan(values)]
    if choice == "plain" or (choice == "auto" and not _may_be_chosen(known)):
        return Choice(PLAIN, "")
    zeros = float(np.mean(known == 0)) if len(known) else 0.0
    if choice == "auto":
        if zeros >= ZERO_SHARE:
            return Choice(TargetForm(name="zero_inflated"), _zeros(zeros)) if gate else Choice(PLAIN, "")
        return Choice(PLAIN, "") if zeros else _straightened(known)
    if len(known) == 0 or known.min() < 0 or known.max() <= 0:
        got = f"{known.min():g} to {known.max():g}" if len(known) else "no value"
        raise RecipeError(f"target.form: {choice} needs values of 0 or more", got=got)
    if known.min() == known.max():
        return Choice(PLAIN, "")
    if choice == "zero_inflated":
        if not zeros:
            raise RecipeError("target.form: zero_inflated needs values of exactly 0", got="none in training")
        return Choice(TargetForm(name="zero_inflated"), _zeros(zeros))
    # In units of the target's own, so that the transform does not depend on them.
    shift = float(np.median(known[known > 0])) if zeros else 0.0
    power = 0.0 if choice == "log" else _likeliest(known + shift)[0]
    return Choice(_fitted(known, power=power, shift=shift), "as asked for")


def _may_be_chosen(known: FloatArray) -> bool:
    return bool(len(known)) and known.min() >= 0 and len(np.unique(known[known > 0])) >= FEWEST


def _zeros(share: float) -> str:
    return f"{share:.0%} of the training values are exactly 0"


def _straightened(known: FloatArray) -> Choice:
    skewness = _skewness(known)
    if skewness <= SKEWED:
        return Choice(PLAIN, "")
    power, gain = _likeliest(known)
    form = _fitted(known, power=power, shift=0.0)
    left = _skewness(form.transform(known))
    if gain <= SUPPORT or abs(left) >= STRAIGHT:
        return Choice(PLAIN, "")
    return Choice(
        form, f"all training values are positive, with a skewness of {skewness:.2g}; {left:.2g} then"
    )


def _likeliest(positive: FloatArray) -> tuple[float, float]:
    """Likeliest exponent, and the log-likelihood that it gains over no transform; 0 where that is as good."""
    relative = positive / np.median(positive)
    likelihood = np.array([_likelihood(relative, power) for power in EXPONENTS.tolist()])
    best = int(likelihood.argmax())
    if likelihood[best] - likelihood[0] <= SUPPORT:
        best = 0
    return float(EXPONENTS[best]), float(likelihood[best] - likelihood[-1])


def _bent(positive: FloatArray, power: float) -> FloatArray:
    bent: FloatArray = np.log(positive) if power == 0 else (positive**power - 1) / power
    return bent


def _unbent(bent: FloatArray, power: float) -> FloatArray:
    positive: FloatArray = np.exp(bent) if power == 0 else np.maximum(power * bent + 1, 0.0) ** (1 / power)
    return positive


def _likelihood(positive: FloatArray, power: float) -> float:
    """Profile log-likelihood of an exponent (Box and Cox 1964, equation 8)."""
    spread = np.log(np.var(_bent(positive, power)))
    return float((power - 1) * np.log(positive).sum() - len(positive) / 2 * spread)


def _skewness(values: FloatArray) -> float:
    # In units of the largest magnitude, so that cubes of huge values do not overflow.
    relative = values / max(float(np.abs(values).max()), 1e-300)
    away = relative - relative.mean()
    return float(np.mean(away**3) / np.mean(away**2) ** 1.5)


def _fitted(known: FloatArray, *, power: float, shift: float) -> TargetForm:
    form = TargetForm(name="log" if power == 0 else "box_cox", power=power, shift=shift)
    bent = form.transform(known)
    return form.model_copy(update={"low": float(bent.min()), "high": float(bent.max())})


def describe_form(form: TargetForm) -> str:
    """A form in words, for the log and the model card."""
    if form.gated:
        return (
            "zero-inflated: whether it is 0 is learnt by itself, and the value from the rows where it is not"
        )
    if not form.transformed:
        return "as it is"
    moved = f"value + {form.shift:.3g}" if form.shift else "value"
    told = f"log({moved})" if form.power == 0 else f"({moved})^{form.power:.2g} (Box-Cox)"
    return f"learnt as {told}; predictions are medians"
