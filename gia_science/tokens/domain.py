"""The domains: their tokenizers by name, and which one a column of text most likely belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gia_science.catalog import suggestion
from gia_science.errors import DefinitionError, TableError, UnreadableInputError
from gia_science.settings import validate
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.tokens.base_vocabulary import BaseVocabulary
from gia_science.tokens.composition import CompositionOptions, CompositionTokenizer
from gia_science.tokens.protein import ProteinOptions, ProteinTokenizer
from gia_science.tokens.smiles import SmilesOptions, SmilesTokenizer
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class Domain:
    """One domain, and what the rest of the package has to know of it.

    Parameters
    ----------
    options : type of BaseModel
        Options of its tokenizer.
    tokenizer : callable
        Makes its tokenizer.
    columns : tuple of str
        Names of columns by which users call its text, in lower case.
    noun : str
        What the length of an input is counted in.
    ordered : bool
        Whether its units follow one another in the text of an identity. Those of a set do not: its `Reading.parsed` is
        a mapping from them, and none is the next of another.
    """

    options: type[BaseModel]
    tokenizer: Callable[..., DomainTokenizer[Any]]
    columns: tuple[str, ...]
    noun: str
    ordered: bool


DOMAINS: Mapping[str, Domain] = {
    "protein": Domain(
        ProteinOptions,
        ProteinTokenizer,
        ("sequence", "protein", "peptide", "seq", "protein_sequence"),
        "residues",
        ordered=True,
    ),
    "smiles": Domain(
        SmilesOptions,
        SmilesTokenizer,
        ("smiles", "canonical_smiles", "smile", "molecule", "mol"),
        "atoms",
        ordered=True,
    ),
    "composition": Domain(
        CompositionOptions,
        CompositionTokenizer,
        ("formula", "composition", "compound", "material"),
        "elements",
        ordered=False,
    ),
}


def require_domain(domain: str) -> None:
    """Raise `DefinitionError`, with the nearest name, unless there is such a domain."""
    if domain not in DOMAINS:
        known = suggestion(domain, DOMAINS) or f"there are: {', '.join(DOMAINS)}"
        raise DefinitionError("unknown domain", got=repr(domain), hint=known)


def make_tokenizer(
    domain: str, *, options: Mapping[str, object] | None = None, vocabulary: Vocabulary | None = None
) -> DomainTokenizer[Any]:
    """Tokenizer of a domain.

    Parameters
    ----------
    domain : str
        ``"protein"``, ``"smiles"`` or ``"composition"``.
    options : mapping, optional
        Options of the domain's tokenizer; unknown ones raise `DefinitionError`.
    vocabulary : Vocabulary, optional
        A stored vocabulary; by default the one that ships with the package. That of a pretrained model makes a
        `BaseTokenizer`.
    """
    require_domain(domain)
    entry = DOMAINS[domain]
    checked = validate(entry.options, options or {}, error=DefinitionError, what=f"the {domain} options")
    if isinstance(vocabulary, BaseVocabulary):
        return BaseTokenizer(entry.tokenizer(checked), vocabulary=vocabulary)
    return entry.tokenizer(checked, vocabulary=vocabulary)


def guess_column(columns: Sequence[str], *, domain: str | None = None) -> tuple[str, str] | None:
    """Input column and its domain from the columns' names; None where no name, or more than one domain, fits.

    Parameters
    ----------
    columns : sequence of str
    domain : str, optional
        Look for a column of this domain only.
    """
    found = [
        (column, name)
        for name, entry in DOMAINS.items()
        if domain in (None, name)
        for wanted in entry.columns
        for column in columns
        if column.strip().lower().replace(" ", "_") == wanted
    ]
    return found[0] if len({name for _, name in found}) == 1 else None


def readable_share(domain: str, texts: Sequence[str]) -> float:
    """Share of texts that a domain can read; 0 where there are none."""
    tokenizer = make_tokenizer(domain)
    readable = 0
    for text in texts:
        try:
            tokenizer.read(text)
        except UnreadableInputError:
            continue
        readable += 1
    return readable / len(texts) if texts else 0.0


def guess_domain(texts: Sequence[str], *, named: str | None = None) -> str:
    """Domain of a column from its content.

    The domain that reads the largest share of the texts is taken when it reads at least half of them. Short texts
    of capital letters can be read in several ways (``CCN`` is a peptide and a molecule): where two domains read
    nearly as much, the choice is the user's.

    Parameters
    ----------
    texts : sequence of str
        Cells of the column.
    named : str, optional
        Domain that the column's name speaks of. It holds unless it reads less than half of the texts and another
        domain clearly reads them: ``compound`` may head formulas or SMILES.

    Raises
    ------
    TableError
        When no domain, or more than one, fits.
    """
    sample = [text for text in texts if text.strip()][:200]
    if named is not None and (not sample or readable_share(named, sample) >= 0.5):
        return named
    shares = {name: readable_share(name, sample) for name in DOMAINS}
    ranked = sorted(shares, key=lambda name: -shares[name])
    best, second = ranked[0], ranked[1]
    told = ", ".join(f"{name} reads {shares[name]:.0%}" for name in ranked)
    if shares[best] < 0.5 or shares[best] - shares[second] < 0.1:
        if named is not None:
            return named
        raise TableError("cannot tell what the input column holds", got=told, hint="say it with --domain")
    return best
