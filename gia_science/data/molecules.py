"""Molecules between RDKit, SMILES and molfiles."""

from __future__ import annotations

from rdkit import Chem, rdBase

from gia_science.errors import UnreadableInputError
from gia_science.tokens.rdkit_log import error_log
from gia_science.tokens.smiles import MAX_CHARACTERS


def mol_smiles(mol: Chem.Mol) -> str:
    """Canonical SMILES of a molecule, with stereochemistry and isotopes.

    Raises
    ------
    UnreadableInputError
        When it has no atoms, more than a SMILES may have characters, or RDKit cannot write it.
    """
    atoms = mol.GetNumAtoms()
    if atoms == 0:
        raise UnreadableInputError("molecule without atoms")
    # RDKit writes SMILES recursively, and a long chain would end the process.
    if atoms > MAX_CHARACTERS:
        raise UnreadableInputError(
            "molecule too large", got=f"{atoms} atoms", expected=f"at most {MAX_CHARACTERS}"
        )
    try:
        with rdBase.BlockLogs():
            return str(Chem.MolToSmiles(mol))
    except (RuntimeError, ValueError) as error:
        told = str(error).strip().splitlines()
        reason = told[0] if told else type(error).__name__
        raise UnreadableInputError(f"RDKit cannot write the molecule as SMILES: {reason}") from error


def molfile_smiles(text: str) -> str:
    """Canonical SMILES of a molfile (V2000 or V3000).

    Raises
    ------
    UnreadableInputError
        When RDKit cannot read it, with RDKit's reason.
    """
    supplier = Chem.SDMolSupplier()
    mol, failure = None, ""
    with error_log() as log:
        # The reader of SDF logs as errors what the reader of single molfiles logs as warnings.
        supplier.SetData(text)
        try:
            mol = next(supplier)
        except StopIteration:
            failure = "no counts line"
        except (RuntimeError, ValueError) as error:
            failure = str(error).strip().splitlines()[0]
    if mol is None:
        raise UnreadableInputError(f"RDKit cannot read the molecule: {failure or log.reason}")
    return mol_smiles(mol)
