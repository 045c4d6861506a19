"""What the options of the tokenizers mean, in words for a model card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ANY: Final = object()
"""Stands for every value that has no words of its own."""
_LONGEST_SHOWN: Final = 60
_WORDS: Final[Mapping[str, Mapping[str, tuple[str, Mapping[object, str]]]]] = {
    "smiles": {
        "isotopes": (
            "isotopes",
            {
                "fold": "each is read as its element, deuterium as any other hydrogen",
                "keep": "they make different molecules",
            },
        ),
        "fragments": (
            "salts and mixtures",
            {
                "keep": "as given: a salt and its base are two molecules",
                "largest": "the fragment of most heavy atoms alone",
            },
        ),
        "stereo": (
            "stereochemistry",
            {
                "keep": "as given: stereoisomers are different molecules",
                "ignore": "stereoisomers are one molecule",
            },
        ),
    },
    "protein": {
        "unknown": (
            "letters J, U, O, B, Z, X",
            {
                "map": "U is read as C and O as K; B, Z, J and X have tokens of their own with the mean properties of "
                "the residues they may stand for; each is told with its position",
                "error": "the sequence is refused",
            },
        ),
        "gaps": (
            "alignment gaps - and .",
            {
                "refuse": "the sequence is refused",
                "drop": "left out; labels and vectors of residues keep the places of the text",
            },
        ),
        "strip_leading_met": (
            "first M",
            {False: "read as any other residue", True: "left out where more residues follow"},
        ),
        "sites": (
            "places",
            {0: "only the order of residues counts", _ANY: "the first {} are told apart, as in an alignment"},
        ),
        "template": (
            "aligned sequences",
            {
                "": "not asked for, every residue is read",
                _ANY: "only the residues at ? of the template are read; one that differs elsewhere is told, one of "
                "another length is an error of that row",
            },
        ),
        "reference": (
            "variants",
            {
                "": "not asked for, every residue is read",
                _ANY: "only the residues that differ from the reference are read; a shorter sequence is told, a longer "
                "one is an error of that row",
            },
        ),
    },
    "composition": {
        "hydrates": (
            "hydrates such as CuSO4.5H2O",
            {"read": "the water is part of the composition", "refuse": "the formula is refused"},
        ),
        "isotopes": ("D and T", {"fold": "read as hydrogen", "refuse": "the formula is refused"}),
    },
}
_ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "smiles": (
        "spelling: every SMILES of a molecule is one input; atom map numbers are left out, explicit hydrogens do not "
        "count",
    ),
    "protein": (
        "lower case is read as upper case and one final * (stop) is left out; a * inside, and any other character, is "
        "an error of that row",
    ),
    "composition": (
        "spelling: order, brackets and scale do not count, only the fractions of the elements",
        "charges, variable amounts and unknown symbols are errors of that row",
    ),
}


def describe_options(domain: str, options: Mapping[str, object]) -> list[str]:
    """How inputs are read: one line for each option with its value, and for what cannot be chosen.

    Parameters
    ----------
    domain : str
        ``"protein"``, ``"smiles"`` or ``"composition"``.
    options : mapping
        The options in force, as a tokenizer has them.
    """
    words = _WORDS[domain]
    chosen = [
        f"{words[name][0]}: {_meaning(words[name][1], value)} (`{name}: {_shown(value)}`)"
        for name, value in options.items()
    ]
    return [*chosen, *_ALWAYS[domain]]


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


def _meaning(meanings: Mapping[object, str], value: object) -> str:
    return meanings[value] if value in meanings else meanings[_ANY].format(value)
