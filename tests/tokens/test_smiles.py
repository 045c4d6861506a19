"""Every spelling of a molecule is one stream, and what RDKit refuses is refused with its reason."""

from __future__ import annotations

import concurrent.futures
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from rdkit import Chem, RDConfig, rdBase
from rdkit.Chem import Descriptors, rdFingerprintGenerator
from tokenizers import Tokenizer

from gia_science import catalog
from gia_science.errors import UnreadableInputError
from gia_science.tokens.atoms import CONTEXT_BUCKETS, FEATURE_NAMES, atom_contexts
from gia_science.tokens.smiles import MAX_CHARACTERS, SmilesOptions, SmilesTokenizer
from gia_science.tokens.stream import TokenStream
from gia_science.tokens.tokenizer import DomainTokenizer

TOKENIZER = SmilesTokenizer()
NAV = Path(RDConfig.RDContribDir) / "FreeWilson" / "data" / "CHEMBL2321810.smi"
# Stereo centres, double bonds, charges, salts, macrocycles, cages, metals, hydrogens that must stay.
AWKWARD = (
    *("C[C@@H](N)C(=O)O", "F/C=C/F", "C/C=C\\C", "[H]/N=C/C", "[H][H]", "[H+]", "[Na+].[Cl-]", "CCN.Cl"),
    *("C1CC2CCC1C2", "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O", "C1=CC=CC=C1.c1cc[nH]c1"),
    *("CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C[N+](C)(C)CC([O-])=O", "O=C1C=CC(=O)C=C1", "[Fe+2].[O-]C=O.[O-]C=O"),
    *("CC->[Fe]", "C[S@](=O)c1ccccc1", "N#CC#N", "[O-][n+]1ccccc1", "C[C@@H](O)[C@H](O)[C@@H](C)O", "*CC*"),
    *(
        "C12C3C4C1C5C2C3C45",
        "CC(C)(C)[Si](C)(C)O",
        "[B-](F)(F)(F)F.[Li+]",
        "c1ccc2c(c1)[se]cn2",
        "C1CCCCCCCCCCC1",
    ),
)


@cache
def nav_smiles() -> tuple[str, ...]:
    return tuple(line.split()[0] for line in NAV.read_text(encoding="utf-8").splitlines())


def encode(text: str, tokenizer: SmilesTokenizer = TOKENIZER) -> TokenStream:
    return tokenizer.encode(tokenizer.read(text))


def assert_equal_streams(left: TokenStream, right: TokenStream) -> None:
    for name in TokenStream.__slots__:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


def feature(stream: TokenStream, name: str) -> list[float]:
    column: list[float] = stream.features[stream.units >= 0, FEATURE_NAMES.index(name)].tolist()
    return column


MOLECULES = st.sampled_from(AWKWARD) | st.integers(0, 1016).map(lambda index: nav_smiles()[index])


def test_satisfies_the_contract_of_a_domain() -> None:
    tokenizer: DomainTokenizer[Chem.Mol] = TOKENIZER
    assert tokenizer.domain == "smiles"
    assert tokenizer.options == {"isotopes": "fold", "fragments": "keep", "stereo": "keep"}
    assert SmilesOptions(**tokenizer.options) == SmilesOptions()  # type: ignore[arg-type] # plain JSON types


@settings(max_examples=60, deadline=None)
@given(MOLECULES, st.integers(1, 2**31 - 1))
def test_every_spelling_is_one_stream(smiles: str, seed: int) -> None:
    (other,) = Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(smiles), 1, randomSeed=seed)
    left, right = TOKENIZER.read(smiles), TOKENIZER.read(other)
    assert left.identity == right.identity
    assert_equal_streams(TOKENIZER.encode(left), TOKENIZER.encode(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("C[C@@H](N)C(=O)O", "N[C@H](C)C(=O)O"),
        ("[H]C([H])([H])O", "CO"),
        ("C1=CC=CC=C1", "c1ccccc1"),
        ("[2H]C([2H])([2H])O", "CO"),
        ("[13CH3]CO", "CCO"),
        ("C[C@H]([2H])O", "CCO"),
        ("C[C@H]([13CH3])O", "CC(C)O"),
        ("[CH3:1][OH:2]", "CO"),
        ("  CO\t", "CO"),
        ("C1.C1", "CC"),
    ],
)
def test_texts_that_mean_one_molecule(left: str, right: str) -> None:
    assert TOKENIZER.read(left).identity == TOKENIZER.read(right).identity
    assert_equal_streams(encode(left), encode(right))


@pytest.mark.parametrize("smiles", AWKWARD)
def test_identity_reads_as_itself_and_orders_the_atoms(smiles: str) -> None:
    reading = TOKENIZER.read(smiles)
    assert TOKENIZER.read(reading.identity).identity == reading.identity
    assert reading.length == reading.parsed.GetNumAtoms()
    pieces = TOKENIZER.vocabulary.split(reading.identity)
    units = TOKENIZER.encode(reading).units[1:-1]
    written = [piece.strip("[]").lstrip("*") for piece, unit in zip(pieces, units, strict=True) if unit >= 0]
    symbols = [atom.GetSymbol() for atom in reading.parsed.GetAtoms()]
    assert units[units >= 0].tolist() == list(range(reading.length))
    assert all(a.lower().startswith(b.lower().strip("*")) for a, b in zip(written, symbols, strict=True))


@settings(max_examples=60, deadline=None)
@given(MOLECULES, st.integers(0, 2**32 - 1))
def test_respelling_is_the_same_molecule_with_the_same_atoms(smiles: str, seed: int) -> None:
    reading = TOKENIZER.read(smiles)
    plain = TOKENIZER.encode(reading)
    other = TOKENIZER.respell(reading, np.random.default_rng(seed))
    assert_equal_streams(other, TOKENIZER.respell(reading, np.random.default_rng(seed)))
    assert TOKENIZER.vocabulary.unk_id not in other.ids
    spelling = "".join(TOKENIZER.vocabulary.tokens[token] for token in other.ids[1:-1])
    assert TOKENIZER.read(spelling).identity == reading.identity
    here, there = (np.argsort(stream.units)[-reading.length :] for stream in (plain, other))
    np.testing.assert_array_equal(plain.units[here], other.units[there])
    np.testing.assert_array_equal(plain.features[here], other.features[there])
    np.testing.assert_array_equal(plain.contexts[here], other.contexts[there])
    np.testing.assert_array_equal(plain.units[plain.edges], other.units[other.edges])
    np.testing.assert_array_equal(plain.edge_kinds, other.edge_kinds)


def test_respellings_differ() -> None:
    reading, rng = TOKENIZER.read(nav_smiles()[0]), np.random.default_rng(0)
    spellings = {tuple(TOKENIZER.respell(reading, rng).ids.tolist()) for _ in range(20)}
    assert len(spellings) > 10


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CC1=CC=C[NH+2]([O-])C1", "Explicit valence for atom # 5 N, 4, is greater than permitted"),
        ("C1CC", "unclosed ring"),
        ("c1cc", "unclosed ring"),
        ("C(", "syntax error; check for mistakes around position 2"),
        ("c1ccnc1", "Can't kekulize mol. Unkekulized atoms: 0 1 2 3 4"),
        ("cC", "non-ring atom 0 marked aromatic"),
    ],
)
def test_refusals_carry_rdkits_own_reason(text: str, reason: str) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        TOKENIZER.read(text)
    assert caught.value.reason == f"RDKit cannot read the SMILES: {reason}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty SMILES"),
        (" \n", "empty SMILES"),
        ("CCO ethanol", "blank inside the SMILES"),
        ("CCO |$_AV:1$| ethanol", "blank inside the SMILES"),
        ("CCO |$_AV:1$", "blank inside the SMILES"),
        ("CCO |rubbish|", "RDKit cannot read the extension of the SMILES"),
        ("not a molecule", "blank inside the SMILES"),
        ("Cé", "unknown character 'é' at position 2"),
        ("C\udc80", "unknown character .* at position 2"),
        ("C\x00C", "unknown character .* at position 2"),
        ("C" * (MAX_CHARACTERS + 1), "SMILES too long"),
    ],
)
def test_other_refusals_say_why(text: str, reason: str) -> None:
    with pytest.raises(UnreadableInputError, match=reason):
        TOKENIZER.read(text)


def test_rdkit_stays_silent_and_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    before = rdBase.LogStatus()
    for text in ("[H+]", "[H][H]", "*C", "CC->[Fe]"):
        encode(text)
    for text in ("C1CC", "CC1=CC=C[NH+2]([O-])C1"):
        with pytest.raises(UnreadableInputError):
            TOKENIZER.read(text)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""
    assert rdBase.LogStatus() == before
    assert Chem.MolFromSmiles("C1CC") is None
    assert "unclosed ring" in capfd.readouterr().err


def test_threads_get_their_own_reasons() -> None:
    def reason(text: str) -> str:
        with pytest.raises(UnreadableInputError) as caught:
            TOKENIZER.read(text)
        return caught.value.reason

    texts = ["C1CC", "C(", "cC"] * 40
    alone = [reason(text) for text in texts]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(reason, texts)) == alone


def test_notes_say_what_was_changed_or_assumed() -> None:
    assert TOKENIZER.read("CCO").notes == ()
    assert TOKENIZER.read("[13CH3]CO").notes == ("isotopes read as their elements",)
    assert TOKENIZER.read("[CH3:1]O").notes == ("atom map numbers left out",)
    assert TOKENIZER.read("*CC").notes == ("holds a wildcard atom (*)",)


def test_isotopes_make_different_molecules_on_request() -> None:
    tokenizer = SmilesTokenizer(SmilesOptions(isotopes="keep"))
    reading = tokenizer.read("[2H]C([2H])([2H])O")
    assert reading.identity == "[2H]C([2H])([2H])O"
    assert reading.notes == ()
    light, heavy = (feature(encode(text, tokenizer), "mass")[0] for text in ("CCO", "[13CH3]CO"))
    assert heavy > light


def test_fragments_are_kept_or_the_largest_chosen() -> None:
    largest = SmilesTokenizer(SmilesOptions(fragments="largest"))
    assert TOKENIZER.read("CCN.Cl").identity == "CCN.Cl"
    assert TOKENIZER.read("CCN.Cl").notes == ()
    for text in ("CCN.Cl", "Cl.CCN"):
        reading = largest.read(text)
        assert reading.identity == "CCN"
        assert reading.notes == ("largest of 2 fragments kept, Cl left out",)
    assert largest.read("CCN").notes == ()
    assert largest.read("CCO.CCN").identity == largest.read("CCN.CCO").identity == "CCO"
    assert largest.read("CCCO.CCC=O").identity == largest.read("CCC=O.CCCO").identity


def test_stereoisomers_are_one_molecule_on_request() -> None:
    tokenizer = SmilesTokenizer(SmilesOptions(stereo="ignore"))
    assert TOKENIZER.read("C[C@@H](N)C(=O)O").identity != TOKENIZER.read("C[C@H](N)C(=O)O").identity
    for left, right in (("C[C@@H](N)C(=O)O", "CC(N)C(=O)O"), ("F/C=C/F", "FC=CF")):
        assert tokenizer.read(left).identity == tokenizer.read(right).identity
        assert tokenizer.read(left).notes == ("stereochemistry left out",)
        assert tokenizer.read(right).notes == ()
        assert_equal_streams(encode(left, tokenizer), encode(right, tokenizer))


@pytest.mark.parametrize("text", ["C", "[Na+]", "[H+]"])
def test_a_single_atom_is_one_node_without_edges_or_environments(text: str) -> None:
    stream = encode(text)
    assert len(stream) == 3
    assert stream.units.tolist() == [-1, 0, -1]
    assert stream.edges.shape == (0, 2)
    assert stream.edge_kinds.dtype == np.int64
    assert not stream.contexts.any()
    assert np.isfinite(stream.features).all()


def test_long_chains_are_not_cropped() -> None:
    stream = encode("C" * 300)
    assert len(stream) == 302
    assert len(stream.edges) == 299


def test_the_longest_text_allowed_is_read() -> None:
    assert TOKENIZER.read("C" * MAX_CHARACTERS).length == MAX_CHARACTERS


def test_stream_of_a_small_molecule() -> None:
    stream = encode("O=C(C#N)c1ccccc1")
    tokens = [TOKENIZER.vocabulary.tokens[token] for token in stream.ids]
    assert "".join(tokens) == "<cls>N#CC(=O)c1ccccc1<eos>"
    assert stream.positions.tolist() == list(range(len(tokens)))
    assert not stream.values.any()
    assert stream.units.tolist() == [-1, 0, -1, 1, 2, -1, -1, 3, -1, 4, -1, 5, 6, 7, 8, 9, -1, -1]
    syntax = stream.units < 0
    assert not stream.features[syntax].any()
    assert not stream.contexts[syntax].any()
    kinds = {
        tuple(sorted(pair)): TOKENIZER.edge_kind_names[kind]
        for pair, kind in zip(stream.edges.tolist(), stream.edge_kinds, strict=True)
    }
    assert kinds[(1, 3)] == "triple"
    assert kinds[(3, 4)] == "single"
    assert kinds[(4, 7)] == "double"
    assert kinds[(9, 11)] == kinds[(9, 15)] == "aromatic"
    assert len(kinds) == 10


def test_features_say_what_an_atom_is() -> None:
    stream = encode("C[C@H](N)C(=O)O")
    assert feature(stream, "element_C") == [1, 1, 0, 1, 0, 0]
    assert feature(stream, "hydrogens_3") == [1, 0, 0, 0, 0, 0]
    assert feature(stream, "hybridisation_sp2") == [0, 0, 0, 1, 1, 1]
    assert feature(stream, "hydrogen_donor") == [0, 0, 1, 0, 0, 1]
    assert feature(stream, "degree_3") == [0, 1, 0, 1, 0, 0]
    stereo = [feature(encode(text), "chirality_R") for text in ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O")]
    assert sorted(stereo) == [[0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]
    assert feature(encode("C1CC1"), "ring_of_3") == [1, 1, 1]
    assert feature(encode("c1ccccc1"), "aromatic") == [1] * 6
    assert feature(encode("[Fe+2]"), "element_other") == [1]
    assert feature(encode("[Fe+2]"), "formal_charge") == [2]


@pytest.mark.parametrize(
    ("name", "scale", "oracle"),
    [
        ("polar_area_contribution", 20, Descriptors.TPSA),
        ("mass", 100, lambda mol: sum(atom.GetMass() for atom in mol.GetAtoms())),
        ("formal_charge", 1, Chem.GetFormalCharge),
    ],
)
def test_contributions_add_up_to_rdkits_value_of_the_molecule(name, scale, oracle) -> None:  # type: ignore[no-untyped-def] # RDKit's functions have no types
    for smiles in nav_smiles()[:20]:
        mol = Chem.MolFromSmiles(smiles)
        assert sum(feature(encode(smiles), name)) * scale == pytest.approx(oracle(mol), rel=1e-4, abs=1e-4)


def test_contexts_are_rdkits_morgan_environments() -> None:
    """Oracle: the environments that RDKit lists by atom and radius."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=3, includeRedundantEnvironments=True)
    for smiles in (*AWKWARD, *nav_smiles()[:50]):
        mol = TOKENIZER.read(smiles).parsed
        output = rdFingerprintGenerator.AdditionalOutput()
        output.AllocateBitInfoMap()
        generator.GetSparseFingerprint(mol, additionalOutput=output)
        expected = np.zeros((mol.GetNumAtoms(), 3), dtype=np.int64)
        for environment, places in output.GetBitInfoMap().items():
            for atom, radius in places:
                if radius > 0:
                    expected[atom, radius - 1] = 1 + environment % (CONTEXT_BUCKETS[radius - 1] - 1)
        np.testing.assert_array_equal(atom_contexts(mol), expected, err_msg=smiles)


def test_context_ids_never_change() -> None:
    """A saved model looks its contexts up by these numbers, in any process and any version."""
    stream = encode("CC(=O)O")
    expected = [[391, 994, 3464], [692, 3214, 3441], [415, 180, 3827], [145, 3265, 3286]]
    assert stream.contexts[stream.units >= 0].tolist() == expected


def test_nav17_streams_are_valid_and_known_to_the_vocabulary() -> None:
    for smiles in nav_smiles():
        stream = encode(smiles)
        assert TOKENIZER.vocabulary.unk_id not in stream.ids
        assert np.isfinite(stream.features).all()
        assert np.abs(stream.features).max() < 5
        atoms = stream.units >= 0
        assert (stream.contexts[atoms] >= 1).all()
        assert (stream.contexts < np.array(TOKENIZER.context_buckets)).all()
        assert atoms[stream.edges].all()
        assert (stream.edge_kinds < len(TOKENIZER.edge_kind_names)).all()


def test_ids_equal_those_of_hugging_face_on_nav17() -> None:
    reference = Tokenizer.from_file(str(catalog.find("tokenizers", "smiles")))
    identities = [TOKENIZER.read(smiles).identity for smiles in nav_smiles()[::10]]
    for smiles, encoding in zip(identities, reference.encode_batch(identities), strict=True):
        assert encode(smiles).ids.tolist() == encoding.ids
    as_given = list(nav_smiles())
    for smiles, encoding in zip(as_given, reference.encode_batch(as_given), strict=True):
        assert TOKENIZER.vocabulary.encode(smiles).tolist() == encoding.ids[1:-1]


def test_a_bracket_atom_outside_the_vocabulary_is_unknown_but_described() -> None:
    stream = encode("[Fe+6]")
    assert stream.ids[1] == TOKENIZER.vocabulary.unk_id
    assert feature(stream, "formal_charge") == [6]


def test_a_reading_survives_the_way_to_a_worker_process() -> None:
    reading = TOKENIZER.read("C[C@@H](N)C(=O)Oc1ccccc1")
    assert_equal_streams(TOKENIZER.encode(pickle.loads(pickle.dumps(reading))), TOKENIZER.encode(reading))


def test_encoding_leaves_the_molecule_as_it_was() -> None:
    reading = TOKENIZER.read("C[C@@H](N)C(=O)O")
    before = [sorted(atom.GetPropNames()) for atom in reading.parsed.GetAtoms()]
    TOKENIZER.encode(reading)
    assert [sorted(atom.GetPropNames()) for atom in reading.parsed.GetAtoms()] == before


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValidationError):
        SmilesOptions(isotope="keep")  # type: ignore[call-arg] # the mistake under test


def test_of_an_extension_what_a_smiles_can_say_is_kept_and_the_rest_left_out_with_a_note():
    tokenizer = SmilesTokenizer()
    labelled = tokenizer.read("CCO |$first atom;_AV:1;$|")
    assert labelled.identity == "CCO"
    assert any("extension" in note for note in labelled.notes)
    assert tokenizer.read("CCO |^1:0|").identity == tokenizer.read("[CH2]CO").identity


@pytest.mark.parametrize("options", [SmilesOptions(), SmilesOptions(stereo="ignore", fragments="largest")])
def test_atoms_are_found_again_in_the_text(options: SmilesOptions) -> None:
    """Each atom of the reading is the atom of RDKit's own reading of the text that it is said to be."""
    tokenizer = SmilesTokenizer(options)
    rng = np.random.default_rng(0)
    for smiles in (*AWKWARD, *nav_smiles()[:20], "[CH3:7][OH:1]", "[2H]C(F)O"):
        with rdBase.BlockLogs():
            mol = Chem.MolFromSmiles(smiles)
            shuffled = Chem.RenumberAtoms(mol, rng.permutation(mol.GetNumAtoms()).tolist())
            text = Chem.MolToSmiles(shuffled, canonical=False)
            given = Chem.MolFromSmiles(text)
        reading = tokenizer.read(text)
        places = tokenizer.places(reading, text).tolist()
        assert len(set(places)) == reading.length
        bonded = {frozenset((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())) for bond in given.GetBonds()}
        for name, atom, place in zip(
            tokenizer.names(reading, text), reading.parsed.GetAtoms(), places, strict=True
        ):
            assert name == given.GetAtomWithIdx(place).GetSymbol() == atom.GetSymbol()
        for bond in reading.parsed.GetBonds():
            ends = frozenset(places[end] for end in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
            assert ends in bonded, text


def test_places_are_those_of_the_spelling() -> None:
    for text, expected in (("CCO", [0, 1, 2]), ("OCC", [2, 1, 0]), ("C(O)C", [2, 0, 1])):
        assert TOKENIZER.places(TOKENIZER.read(text), text).tolist() == expected
