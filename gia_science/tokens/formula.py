"""Chemical formulas: from text to fractions of elements, in exact arithmetic.

Formulas that mean one composition must come out equal to the last bit, and what is not a formula with fixed
amounts must be refused with a reason. pymatgen's parser, otherwise the natural choice, reads ``CuSO4.5H2O``
as O5.5, takes ``XO2`` for a dummy species and stumbles over exponents, so the grammar is our own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from gia_science.errors import UnreadableInputError
from gia_science.tokens.elements import INDEX

Hydrates = Literal["read", "refuse"]
Isotopes = Literal["fold", "refuse"]

MAX_TEXT = 1000
"""Longest formula that is read, in characters."""

# Exact arithmetic on a crafted exponent would not end.
_MAX_EXPONENT = 30
_ISOTOPES = {"D": "H", "T": "H"}
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_NUMBER = r"[0-9]+(?:\.(?:[0-9]+|\Z))?(?:[eE][+-]?[0-9]+)?"
_PIECE = re.compile(
    rf"(?P<symbol>[A-Z][a-z]*)|(?P<amount>{_NUMBER})|(?P<open>[(\[{{])|(?P<close>[)\]}}])"
    r"|(?P<sign>[-+^\u2212\u2013\u207a\u207b\u00b9\u00b2\u00b3\u2070-\u2079]+)"
    r"|(?P<letters>[^\WA-Z0-9_]+)|(?P<space>\s+)|(?P<other>.)"
)
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_VARIABLES = frozenset("mnwxyz")
_VARIABLE = re.compile("[mnwxyzdδεₓₙ]+")
# A plain dot is a decimal point after an amount of 0 (Fe0.5H2O) and before a zero and a digit (FeO2.05H2O).
_HYDRATE = re.compile(
    r"(?P<rest>.+?)\s*(?:[·•∙⋅・*]|(?<![A-Za-z)\]}]0)\.(?!0[0-9]))\s*"
    rf"(?P<count>{_NUMBER})?\s*(?P<water>[HD]2O|\([HD]2O\))"
)
# Nobody means nihonium by nh4, so suggestions end with californium.
_USUAL_ELEMENTS = INDEX["Cf"] + 1
_MISSING_WORDS = frozenset({"na", "nan", "none", "null"})


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that was understood.

    Parameters
    ----------
    identity : str
        Elements in order of atomic number, each with its fraction to six significant digits.
    fractions : tuple of (str, float)
        The same as numbers that sum to 1. Made from the rounded ones: equal identities have equal fractions.
    notes : tuple of str
        What was changed or assumed on the way.
    """

    identity: str
    fractions: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: str
    text: str
    position: int


@lru_cache(maxsize=65536)
def read_formula(text: str, *, hydrates: Hydrates = "read", isotopes: Isotopes = "fold") -> Formula:
    """Read a formula such as ``{Fe(CN)6}2Zn3``, ``Nb1O1.9S1e-1`` or ``CuSO4·5H2O``.

    Parameters
    ----------
    text : str
        Element symbols with amounts (1 where left out), nested in brackets of three kinds.
    hydrates : {"read", "refuse"}
        What to do with a number of waters after a dot at the end.
    isotopes : {"fold", "refuse"}
        What to do with D and T: read them as hydrogen, or refuse them.

    Raises
    ------
    UnreadableInputError
        When it is not a formula with fixed amounts.
    """
    formula = text.strip()
    if not formula:
        raise UnreadableInputError("empty formula")
    if len(formula) > MAX_TEXT:
        raise UnreadableInputError(
            "formula is too long", got=f"{len(formula)} characters", expected=f"at most {MAX_TEXT}"
        )
    notes: list[str] = []
    plain = formula.translate(_SUBSCRIPTS)
    if plain != formula:
        notes.append("subscript digits read as amounts")
    amounts = _hydrated(plain, hydrates=hydrates, notes=notes)
    heavy = [symbol for symbol in amounts if symbol in _ISOTOPES]
    if heavy and isotopes == "refuse":
        raise UnreadableInputError("isotopes are refused by an option", got=", ".join(heavy), hint="write H")
    if heavy:
        notes.append(f"read as hydrogen: {', '.join(heavy)}")
    elements = _sum((_ISOTOPES.get(symbol, symbol), amount) for symbol, amount in amounts.items())
    if not any(elements.values()):
        raise UnreadableInputError("all amounts are 0", got=repr(formula))
    return _canonical(elements, notes=notes)


def _canonical(elements: Mapping[str, Fraction], *, notes: list[str]) -> Formula:
    total = sum(elements.values())
    rounded = {s: float(f"{float(elements[s] / total):.6g}") for s in sorted(elements, key=INDEX.__getitem__)}
    absent = [symbol for symbol, fraction in rounded.items() if not fraction]
    if absent:
        notes.append(f"left out because the amount is 0: {', '.join(absent)}")
    present = {symbol: fraction for symbol, fraction in rounded.items() if fraction}
    whole = sum(present.values())
    return Formula(
        identity="".join(f"{symbol}{fraction:.6g}" for symbol, fraction in present.items()),
        fractions=tuple((symbol, fraction / whole) for symbol, fraction in present.items()),
        notes=tuple(notes),
    )


def _hydrated(formula: str, *, hydrates: Hydrates, notes: list[str]) -> Mapping[str, Fraction]:
    match = _HYDRATE.fullmatch(formula)
    if match is None:
        return _amounts(formula)
    rest, count, water = match["rest"], match["count"] or "1", match["water"].strip("()")
    if hydrates == "refuse":
        raise UnreadableInputError(
            "hydrates are refused by an option",
            got=repr(formula),
            hint=f"write {rest}({water}){count} where it is one",
        )
    notes.append(f"read as a hydrate: {rest} with {count} {water}")
    waters = _number(_Piece("amount", count, match.start("count") + 1))
    return _sum([*_amounts(rest).items(), *((s, n * waters) for s, n in _amounts(water).items())])


def _amounts(formula: str) -> dict[str, Fraction]:
    """Amount of each symbol, D and T among them."""
    pieces = [
        _Piece(match.lastgroup or "", match.group(), match.start() + 1)
        for match in _PIECE.finditer(formula)
        if match.lastgroup != "space"
    ]
    _check(formula, pieces)
    groups: list[list[tuple[str, Fraction]]] = [[]]
    opened: list[_Piece] = []
    pending: list[tuple[str, Fraction]] = []  # what an amount, if one comes next, multiplies
    for piece in pieces:
        if piece.kind == "amount":
            if not pending:
                raise _misplaced("an amount stands without an element", piece)
            factor = _number(piece)
            groups[-1] += [(symbol, amount * factor) for symbol, amount in pending]
            pending = []
            continue
        groups[-1] += pending
        pending = []
        if piece.kind == "symbol":
            pending = [(piece.text, Fraction(1))]
        elif piece.kind == "open":
            opened.append(piece)
            groups.append([])
        else:
            if not opened or _BRACKETS[opened.pop().text] != piece.text:
                raise _misplaced("a bracket is closed that was not opened", piece)
            pending = list(_sum(groups.pop()).items())
            if not pending:
                raise _misplaced("a bracket is empty", piece)
    if opened:
        raise _misplaced("a bracket is not closed", opened[-1])
    return _sum([*groups[0], *pending])


def _sum(amounts: Iterable[tuple[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for symbol, amount in amounts:
        total[symbol] = total.get(symbol, Fraction(0)) + amount
    return total


def _number(piece: _Piece) -> Fraction:
    _, _, exponent = piece.text.lower().partition("e")
    if abs(int(exponent or 0)) > _MAX_EXPONENT:
        raise UnreadableInputError(
            "amount is out of range", got=repr(piece.text), expected=f"an exponent of at most {_MAX_EXPONENT}"
        )
    return Fraction(piece.text)


def _misplaced(what: str, piece: _Piece, *, hint: str | None = None) -> UnreadableInputError:
    return UnreadableInputError(what, got=f"{piece.text!r} at position {piece.position}", hint=hint)


def _check(formula: str, pieces: list[_Piece]) -> None:
    """Refuse what the grammar cannot take, the most telling reason first."""
    kinds = Counter(piece.kind for piece in pieces)
    words = [piece.text for piece in pieces if piece.kind == "symbol"]
    unknown = list(dict.fromkeys(word for word in words if word not in INDEX and word not in _ISOTOPES))
    respelled = _respelled(formula) if unknown or kinds["letters"] else None
    if respelled:
        raise UnreadableInputError("not a formula as it is spelled", got=repr(formula), hint=f"{respelled}?")
    variable = [word for word in unknown if word[:-1] in INDEX and word[-1] in _VARIABLES]
    variable += [p.text for p in pieces if p.kind == "letters" and _VARIABLE.fullmatch(p.text)]
    if variable:
        raise UnreadableInputError(
            "variable amount", got=repr(variable[0]), expected="a number", hint="put the value in its place"
        )
    if unknown:
        raise UnreadableInputError("unknown element symbols", got=", ".join(map(repr, unknown)))
    for piece in pieces:
        if piece.kind == "sign":
            raise _misplaced("charges are not part of a composition, nor are negative amounts", piece)
        if piece.kind == "letters":
            raise _misplaced("not an element symbol", piece)
        if piece.kind == "other":
            raise _misplaced("not part of a formula", piece, hint=_hint(piece.text))


def _hint(character: str) -> str | None:
    if character == ",":
        return "the decimal sign is a point"
    if character in ".·•∙⋅・*":
        return "write 0.5 in full, and joined formulas in brackets: (CaO)2(SiO2)"
    return None


def _respelled(formula: str) -> str | None:
    """The formula with capitals where symbols need them, when it has only capitals or none and this helps."""
    if not (formula.isupper() or formula.islower()) or formula.lower() in _MISSING_WORDS:
        return None
    runs = {run: _symbols(run.lower()) for run in re.findall("[A-Za-z]+", formula)}
    if not all(runs.values()):
        return None
    respelled = re.sub("[A-Za-z]+", lambda match: runs[match.group()] or "", formula)
    return respelled if respelled != formula else None


def _symbols(run: str) -> str | None:
    """Lower-case letters as the fewest element symbols that spell them."""
    best: list[list[str] | None] = [[]]
    for end in range(1, len(run) + 1):
        options = [
            [*before, symbol]
            for size in (2, 1)
            if end >= size
            and (before := best[end - size]) is not None
            and INDEX.get(symbol := run[end - size : end].capitalize(), len(INDEX)) < _USUAL_ELEMENTS
        ]
        best.append(min(options, key=len, default=None))
    spelled = best[-1]
    return None if spelled is None else "".join(spelled)
