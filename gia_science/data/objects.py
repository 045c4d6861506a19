"""Objects of RDKit, Biopython and pymatgen as the texts that the domains read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gia_science.errors import UnreadableInputError

READABLE = (
    "a text, or an object of RDKit (Mol), Biopython (Seq, SeqRecord) or pymatgen (Composition, Structure)"
)
_UNKNOWN = frozenset({"<unknown id>", "<unknown name>", "<unknown description>"})
_FORMULA_DIGITS = 12


@dataclass(frozen=True, slots=True)
class ObjectText:
    """An object as text.

    Parameters
    ----------
    text : str
        SMILES, sequence or formula; empty where there is a problem.
    id, description : str
        Those of a sequence record; empty without.
    is_record : bool
        Whether it is a sequence record.
    problem : str or None
        Why the object has no text.
    """

    text: str
    id: str = ""
    description: str = ""
    is_record: bool = False
    problem: str | None = None


def object_text(value: object) -> ObjectText | None:
    """Text of an object of a chemical, biological or materials library; None for any other value.

    A molecule is written as canonical SMILES, a sequence as its letters, and a composition or a structure as a
    formula of elements, whatever their oxidation states.
    """
    for module, name, read in _READERS:
        # No object is of a class whose module is not imported, and importing it to ask would take seconds.
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            try:
                return read(value)
            except UnreadableInputError as error:
                return ObjectText("", problem=error.reason)
    return None


def composition_formula(composition: Any) -> str:
    """Formula of a pymatgen composition, such as ``Fe0.5Ni0.5O``, amounts to 12 significant digits."""
    amounts: Mapping[str, float] = composition.get_el_amt_dict()
    return "".join(
        symbol if amount == 1 else f"{symbol}{amount:.{_FORMULA_DIGITS}g}"
        for symbol, amount in amounts.items()
    )


def _molecule(value: Any) -> ObjectText:
    from gia_science.data.molecules import mol_smiles

    return ObjectText(mol_smiles(value))


def _sequence(value: Any) -> ObjectText:
    try:
        return ObjectText(str(value))
    # A sequence of which only the length is known.
    except ValueError as error:
        raise UnreadableInputError("sequence without letters", got=str(error) or None) from error


def _sequence_record(value: Any) -> ObjectText:
    name = "" if value.id is None or value.id in _UNKNOWN else str(value.id)
    description = "" if value.description in _UNKNOWN else str(value.description)
    text, problem = "", None
    if value.seq is not None:
        try:
            text = _sequence(value.seq).text
        except UnreadableInputError as error:
            problem = error.reason
    # Biopython repeats the identifier at the start of the description.
    words = description.removeprefix(name).strip()
    return ObjectText(text, name, words, is_record=True, problem=problem)


def _composition(value: Any) -> ObjectText:
    return ObjectText(composition_formula(value))


def _structure(value: Any) -> ObjectText:
    return ObjectText(composition_formula(value.composition))


_READERS: tuple[tuple[str, str, Callable[[Any], ObjectText]], ...] = (
    ("rdkit.Chem", "Mol", _molecule),
    ("Bio.SeqRecord", "SeqRecord", _sequence_record),
    ("Bio.Seq", "Seq", _sequence),
    ("Bio.Seq", "MutableSeq", _sequence),
    ("pymatgen.core.composition", "Composition", _composition),
    ("pymatgen.core.structure", "SiteCollection", _structure),
)
