"""What is known of the amino-acid residues: letters, reduced alphabet, physical chemistry."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
from Bio.Data.IUPACData import protein_weights
from Bio.SeqUtils.IsoelectricPoint import negative_pKs, positive_pKs
from Bio.SeqUtils.ProtParamData import Flex, hw, kd

from gia_science.tokens.stream import FloatArray

STANDARD: Final = "ACDEFGHIKLMNPQRSTVWY"
AMBIGUOUS: Final[Mapping[str, str]] = {"B": "DN", "Z": "EQ", "J": "IL", "X": STANDARD}
"""Letters that leave open which residue is meant, and those it may be."""

MAPPED: Final[Mapping[str, str]] = {"U": "C", "O": "K"}
"""Selenocysteine and pyrrolysine, and the standard residues nearest to them."""

LETTERS: Final = STANDARD + "".join(AMBIGUOUS)

CLASSES: Final = ("AVLIMCJ", "FWYH", "STNQ", "KR", "DE", "GP", "BZX")
"""Six classes of residues (Mirny & Shakhnovich, J. Mol. Biol. 291:177-196, 1999) and "cannot say"."""

FEATURE_NAMES: Final = (
    *("hydropathy", "hydrophilicity", "flexibility", "mass", "charge"),
    *("volume", "polarity", "isoelectric_point", "helix", "sheet", "turn"),
    *("hydrogen_donor", "hydrogen_acceptor", "aromatic"),
)

# Volume in cubic angstrom: Zamyatnin, Prog. Biophys. Mol. Biol. 24:107-123 (1972).
# Polarity: Grantham, Science 185:862-864 (1974).
# Isoelectric point of the free amino acid: Zimmerman et al., J. Theor. Biol. 21:170-201 (1968).
# Propensities for helix, sheet and turn: Chou & Fasman, Adv. Enzymol. 47:45-148 (1978).
_SCALES: Final[Mapping[str, tuple[float, ...]]] = {
    "A": (88.6, 8.1, 6.00, 1.42, 0.83, 0.66),
    "C": (108.5, 5.5, 5.05, 0.70, 1.19, 1.19),
    "D": (111.1, 13.0, 2.77, 1.01, 0.54, 1.46),
    "E": (138.4, 12.3, 3.22, 1.51, 0.37, 0.74),
    "F": (189.9, 5.2, 5.48, 1.13, 1.38, 0.60),
    "G": (60.1, 9.0, 5.97, 0.57, 0.75, 1.56),
    "H": (153.2, 10.4, 7.59, 1.00, 0.87, 0.95),
    "I": (166.7, 5.2, 6.02, 1.08, 1.60, 0.47),
    "K": (168.6, 11.3, 9.74, 1.16, 0.74, 1.01),
    "L": (166.7, 4.9, 5.98, 1.21, 1.30, 0.59),
    "M": (162.9, 5.7, 5.74, 1.45, 1.05, 0.60),
    "N": (114.1, 11.6, 5.41, 0.67, 0.89, 1.56),
    "P": (112.7, 8.0, 6.30, 0.57, 0.55, 1.52),
    "Q": (143.8, 10.5, 5.65, 1.11, 1.10, 0.98),
    "R": (173.4, 10.5, 10.76, 0.98, 0.93, 0.95),
    "S": (89.0, 9.2, 5.68, 0.77, 0.75, 1.43),
    "T": (116.1, 8.6, 5.66, 0.83, 1.19, 0.96),
    "V": (140.0, 5.9, 5.96, 1.06, 1.70, 0.50),
    "W": (227.8, 5.4, 5.89, 1.08, 1.37, 0.96),
    "Y": (193.6, 6.2, 5.66, 0.69, 1.47, 1.14),
}
# Side chains that give or take a hydrogen bond: Pommié et al., J. Mol. Recognit. 17:17-32 (2004).
_DONORS: Final = "RKWNQHSTY"
_ACCEPTORS: Final = "DENQHSTY"
_AROMATIC: Final = "FWY"


@lru_cache(maxsize=1)
def feature_table() -> FloatArray:
    """Features of the residues.

    Hydropathy is Kyte & Doolittle's, hydrophilicity Hopp & Woods', flexibility Vihinen's (from Biopython);
    the sources of the others stand beside their tables.

    Returns
    -------
    (24, F) float32
        Rows in the order of `LETTERS`, columns of `FEATURE_NAMES`, each with mean 0 and deviation 1 over the
        20 standard residues; an ambiguous letter has the mean of the residues it may stand for. Read-only.
    """
    raw = np.array([_raw_features(residue) for residue in STANDARD])
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    means = [scaled[[STANDARD.index(one) for one in meant]].mean(axis=0) for meant in AMBIGUOUS.values()]
    table = np.vstack([scaled, *means]).astype(np.float32)
    table.setflags(write=False)
    return table


def _raw_features(residue: str) -> list[float]:
    return [
        *(scale[residue] for scale in (kd, hw, Flex, protein_weights)),
        _charge_at_neutral(residue),
        *_SCALES[residue],
        *(float(residue in members) for members in (_DONORS, _ACCEPTORS, _AROMATIC)),
    ]


def _charge_at_neutral(residue: str) -> float:
    """Mean charge of the side chain at pH 7, by Henderson-Hasselbalch with Bjellqvist's pK (1993)."""
    if residue in positive_pKs:
        return float(1 / (1 + 10 ** (7 - positive_pKs[residue])))
    if residue in negative_pKs:
        return float(-1 / (1 + 10 ** (negative_pKs[residue] - 7)))
    return 0.0
