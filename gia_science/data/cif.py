"""CIF: one row per data block, the composition of its structure as a formula."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from gia_science.data.compression import ByteSource
from gia_science.data.lines import MAX_LINE_BYTES, text_lines
from gia_science.data.objects import composition_formula
from gia_science.data.record import Record, Table, id_position
from gia_science.errors import TableError, Where

COLUMNS = ("name", "formula")
_BLOCK = re.compile(r"\s*data_(?P<name>\S*)(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_CELL = re.compile(rb"[\r\n]\s*_cell[_.]length_a\b", re.IGNORECASE)
_PARSER_PREFIX = re.compile(r"No structure parsed for section \d+ in CIF\.\s*")
_MISSING_ITEM = re.compile(r"'(_\S+)'")
_MAX_BLOCK_CHARACTERS = MAX_LINE_BYTES


def looks_like_cif(head: bytes) -> bool:
    """Whether the first line that is neither blank nor a comment begins a data block, and a cell is given."""
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines():
        text = line.strip()
        if text and not text.startswith(b"#"):
            return text.lower().startswith(b"data_") and _CELL.search(head) is not None
    return False


def read_cif(source: ByteSource, *, id_column: str | None = None) -> Table:
    """Table of a CIF file with the columns ``name`` (of the data block) and ``formula``.

    The formula is the content of the unit cell of the structure that pymatgen reads, occupancies included, to 12
    significant digits; atoms that are not in the list of sites are not in it. A block that pymatgen cannot read,
    or that holds no structure, comes back with the reason.

    Parameters
    ----------
    source : ByteSource
    id_column : str, optional
        Column of the identifiers; the name by default.

    Raises
    ------
    TableError
        While iterated, with the line, when other text stands before the first block, there is no block, one has no
        end in sight, or the text is not UTF-8.
    """
    position = id_position(COLUMNS, id_column, source=source.name)
    records = _CifRecords(source, 0 if position is None else position)
    return Table(COLUMNS, records, source.name, "cif", COLUMNS)


@dataclass(frozen=True, slots=True)
class _Block:
    line: int
    name: str
    text: str
    complete: bool


@dataclass(frozen=True, slots=True)
class _CifRecords:
    source: ByteSource
    id_position: int

    def __iter__(self) -> Iterator[Record]:
        name = self.source.name
        with self.source.open() as stream:
            for block in _blocks(text_lines(stream, source=name), name):
                formula, problem = _formula(block)
                cells = (block.name, formula)
                yield Record(name, block.line, cells[self.id_position] or None, cells, problem)


def _blocks(lines: Iterator[str], name: str) -> Iterator[_Block]:
    start, title, parts, size = 0, "", list[str](), 0
    in_text = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(";"):
            in_text = not in_text
        match = None if in_text else _BLOCK.fullmatch(line)
        if match is not None:
            if start:
                yield _Block(start, title, "".join(parts), complete=True)
            start, title, size = number, match["name"], 0
            # The keyword counts in upper and lower case, pymatgen knows it in lower case only.
            line = f"data_{title}{match['rest']}"
            parts = []
        elif not start and line.strip() and not line.lstrip().startswith("#"):
            text = line.strip()
            raise TableError(
                "not CIF: text before the first data block",
                got=repr(text if len(text) <= 40 else text[:40] + "..."),
                expected="a line that begins with data_",
                where=Where(file=name, line=number),
            )
        if not start:
            continue
        # pymatgen knows no line that ends in CR alone.
        parts.append(line.rstrip("\r\n") + "\n")
        size += len(line)
        if size > _MAX_BLOCK_CHARACTERS:
            raise TableError(
                "data block too long",
                got=f"more than {_MAX_BLOCK_CHARACTERS} characters",
                where=Where(file=name, line=start),
            )
    if not start:
        raise TableError("not CIF: no line begins with data_", where=Where(file=name))
    yield _Block(start, title, "".join(parts), complete=not in_text)


def _formula(block: _Block) -> tuple[str, str | None]:
    """Formula of a block, or an empty text and the reason why there is none."""
    # Imported here because it is slow, and every command opens tables.
    from pymatgen.io.cif import CifParser

    if not block.complete:
        return "", "a text that begins with ; has no end: the file may be cut off"
    try:
        # pymatgen warns of much that it can mend.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # check_cif compares with the formula that the file states, and only warns.
            parser = CifParser.from_str(block.text, check_cif=False)
            structures = parser.parse_structures(primitive=False, on_error="raise")
    # What pymatgen's parser stumbles over comes up as the error of the line that did.
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        RuntimeError,
    ) as error:
        return "", f"pymatgen cannot read the structure: {_reason(error)}"
    if len(structures) != 1:
        return "", f"{len(structures)} structures in one data block"
    return composition_formula(structures[0].composition), None


def _reason(error: Exception) -> str:
    text = " ".join(_PARSER_PREFIX.sub("", str(error)).split())
    missing = _MISSING_ITEM.fullmatch(text)
    if missing is not None:
        return f"no {missing[1]}"
    return text or type(error).__name__
