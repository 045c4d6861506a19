"""What is wrong with a file, before any training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, get_args

from gia_science.catalog import suggestion
from gia_science.data.inference import infer_targets
from gia_science.data.inputs import as_table
from gia_science.data.record import LoadedTable, Record, Table, id_position
from gia_science.data.rows import MAX_LENGTH, Columns
from gia_science.data.source import only_column, refuse_two_uses, resolve_input
from gia_science.data.splits.recipe import SplitRecipe, read_split
from gia_science.data.table import load_table
from gia_science.data.target_spec import TaskKind
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError
from gia_science.evaluation.columns import ColumnSummary, summarise
from gia_science.evaluation.findings import FEWEST_INPUTS, DomainGuess, Lengths, ValidationReport
from gia_science.evaluation.next_step import next_step
from gia_science.evaluation.scan import BRIEF_ROWS, Scan
from gia_science.settings import validate as check
from gia_science.tokens.domain import DOMAINS, guess_column, make_tokenizer, readable_share
from gia_science.tokens.tokenizer import DomainTokenizer

if TYPE_CHECKING:
    from gia_science.data.inputs import Data
    from gia_science.model.folder import SavedModel

__all__ = ["ValidationReport", "validate"]

SAMPLE_ROWS = 200
"""First rows by which the domain is recognised."""


@dataclass(frozen=True)
class Request:
    """What the user says of the table."""

    file: str | None
    target: tuple[str, ...]
    input: str | None
    domain: str | None
    kind: TaskKind | None
    columns: tuple[str, ...]
    model: str | None
    max_length: int
    header: bool
    split: str | None = None


def validate(
    data: Data,
    *,
    target: str | Sequence[str] | None = None,
    input: str | None = None,
    domain: str | None = None,
    kind: str | None = None,
    columns: Sequence[str] = (),
    model: str | Path | None = None,
    max_length: int | None = None,
    header: bool = True,
    format: str | None = None,
    split: str | Mapping[str, Any] | None = None,
) -> ValidationReport:
    """Find what in a table would lose rows or flatter scores.

    The table is read once. What is kept of a row is its identity, its targets and its place.

    Parameters
    ----------
    data : path, list of str, DataFrame or Table
        Any file that training or prediction reads; ``"-"`` for standard input.
    target : str or sequence of str, optional
        Target columns. Without them, the other columns are summarised from the first 10,000 rows.
    input, domain, kind
        Input column, ``"protein"``, ``"smiles"`` or ``"composition"``, and kind of task; recognised where not given.
    columns : sequence of str
        Numeric columns that go in beside the input: the same input with other numbers is another thing.
    model : path, optional
        Folder of a model: the table is held against how it reads inputs, its longest input, its targets and the rows it
        was trained on.
    max_length : int, optional
        Longest input, in residues, atoms or elements; 1,024 where nothing says otherwise.
    header : bool, default True
        Whether the first row of a file names the columns.
    format : str, optional
        Format of a file; recognised by default.
    split : str or mapping, optional
        A split as ``gia train --split`` takes it, or the settings of one as a recipe has them: the rows are split, and
        the report says what comes through from training to test. All rows are held in memory for it.

    Returns
    -------
    ValidationReport
        ``print`` it, or take `to_json`.

    Raises
    ------
    GiaError
        When the table as a whole cannot be read, or a column or domain is not clear.
    """
    table = as_table(data, header=header, format=format)
    saved = _load(model)
    request = Request(
        file=str(data) if isinstance(data, str | Path) else None,
        target=(target,) if isinstance(target, str) else tuple(target or ()),
        input=input,
        domain=domain,
        kind=_checked(kind),
        columns=tuple(columns),
        model=None if model is None else str(model),
        max_length=max_length or (MAX_LENGTH if saved is None else saved.featurizer.max_length),
        header=header,
        split=split if isinstance(split, str) else None,
    )
    settings = read_split(split) if isinstance(split, str) else split
    how = None if settings is None else check(SplitRecipe, settings, error=RecipeError, what="the split")
    if how is not None:
        table = load_table(table)
        if how.column is not None:
            table.position(how.column)
    request = _with_model(request, table, saved)
    report, tokenizer = _validate(table, request, saved, how)
    if how is None or not isinstance(table, LoadedTable) or report.distinct < FEWEST_INPUTS:
        return report
    # scikit-learn and RDKit's fingerprints, which only this needs, take a second to import.
    from gia_science.evaluation.split_check import check_split

    names = () if report.task is None else request.target
    found = Columns.find(table, input=report.input.column, numbers=request.columns, targets=names)
    limit, task = request.max_length, report.task
    leaks = check_split(how, table, columns=found, tokenizer=tokenizer, max_length=limit, targets=task)
    return replace(report, leakage=leaks)


def _load(model: str | Path | None) -> SavedModel | None:
    if model is None:
        return None
    # PyTorch, which only a model needs, takes a second to import.
    from gia_science.model.folder import load_model

    return load_model(model)


def _checked(kind: str | None) -> TaskKind | None:
    kinds: tuple[TaskKind, ...] = get_args(TaskKind)
    if kind is None or kind in kinds:
        return next((known for known in kinds if known == kind), None)
    raise RecipeError(
        "no such kind of task",
        got=repr(kind),
        expected=f"one of {', '.join(kinds)}",
        hint=suggestion(kind, kinds),
    )


def _with_model(request: Request, table: Table, saved: SavedModel | None) -> Request:
    """The request with what a model says: it knows its columns and its domain."""
    if saved is None:
        return request
    known = saved.data.input if saved.data.input in table.columns else None
    theirs = saved.targets.names
    return replace(
        request,
        input=request.input or known,
        domain=saved.featurizer.tokenizer.domain,
        target=request.target or (theirs if set(theirs) <= set(table.columns) else ()),
        columns=saved.featurizer.source.columns,
    )


def _validate(
    table: Table, request: Request, saved: SavedModel | None, how: SplitRecipe | None
) -> tuple[ValidationReport, DomainTokenizer[Any]]:
    records = iter(table.records)
    head = list(islice(records, SAMPLE_ROWS))
    guess = _guess(table, head, request, {*_split_column(how)})
    used = {guess.column, *request.target, *request.columns, *_split_column(how)}
    tokenizer = make_tokenizer(guess.domain) if saved is None else saved.featurizer.tokenizer
    scan = _scan(tokenizer, table, guess.column, request, saved)
    for record in chain(head, records):
        scan.see(record)
    targets, problem = _targets(scan, request, guess.domain, saved)
    unmeasured = scan.judge(targets)
    lines = scan.repeats.lines()
    others = _others(scan, table, used) if not request.target else []
    report = ValidationReport(
        source=table.source,
        format=table.format,
        rows=scan.rows,
        input=guess,
        unreadable=tuple(scan.bad),
        unmeasured=tuple(unmeasured),
        lengths=_lengths(scan, request.max_length),
        targets=tuple(_summaries(scan, request, targets, problem)),
        columns=tuple(others),
        task=targets,
        duplicates=scan.repeats.found(),
        distinct=len(lines),
        near_duplicates=tuple(scan.near_duplicates(lines)),
        repeated_ids={name: tuple(of_one) for name, of_one in scan.ids.repeated.items()},
        unknown_tokens=dict(scan.unknown.most_common()),
        special_residues=dict(scan.special.most_common()),
        notes=tuple(scan.notes.counts()),
        remarks=(*table.notes, *_beyond(scan, others)),
        seen=scan.seen,
    )
    step = next_step(
        report,
        file=request.file,
        model=request.model,
        input=request.input,
        domain=request.domain,
        kind=request.kind,
        columns=request.columns,
        max_length=request.max_length,
        header=request.header,
        split=request.split,
    )
    return replace(report, next_step=step), tokenizer


def _split_column(how: SplitRecipe | None) -> tuple[str, ...]:
    return () if how is None or how.column is None else (how.column,)


def _guess(table: Table, head: Sequence[Record], request: Request, split: set[str]) -> DomainGuess:
    used = {*request.target, *request.columns}
    for name in used:
        table.position(name)
    texts = [cell for record in head for cell in record.cells]
    wanted = request.input or only_column(table, used | split)
    column, domain = resolve_input(table, input=wanted, domain=request.domain, texts=texts)
    refuse_two_uses(column, used)
    place = table.position(column)
    sample = [record.cells[place] for record in head if record.cells[place].strip()]
    named = guess_column([column])
    if request.domain is not None:
        by = "as the model reads" if request.model else "as asked for"
    elif table.format == "fasta":
        by = "a FASTA file"
    elif named is not None and named[1] == domain:
        by = "by the name of the column"
    else:
        by = "by its content"
    shares = {name: readable_share(name, sample) for name in DOMAINS} if sample else {}
    return DomainGuess(column, domain, by, shares, len(sample))


def _scan(
    tokenizer: DomainTokenizer[Any], table: Table, column: str, request: Request, saved: SavedModel | None
) -> Scan:
    used = {column, *request.target, *request.columns}
    brief = {} if request.target else {c: i for i, c in enumerate(table.columns) if c not in used}
    parts: Mapping[str, Any] = {} if saved is None else saved.split.get("identities", {})
    return Scan(
        tokenizer,
        columns=Columns.find(table, input=column, numbers=request.columns, targets=request.target),
        brief=brief,
        max_length=request.max_length,
        trained=frozenset([*parts.get("train", ()), *parts.get("validation", ())]),
    )


def _targets(
    scan: Scan, request: Request, domain: str, saved: SavedModel | None
) -> tuple[Targets | None, str | None]:
    """What would be learnt, or why nothing can be."""
    if not request.target or not scan.rows:
        return None, None
    if saved is not None and saved.targets.names == request.target:
        return saved.targets, None
    try:
        targets = infer_targets(
            request.target,
            scan.target_cells,
            domain=domain,
            lengths=scan.text_lengths,
            kind=request.kind,
        )
    except RecipeError as error:
        return None, str(error)
    return targets, None


def _summaries(
    scan: Scan, request: Request, targets: Targets | None, problem: str | None
) -> list[ColumnSummary]:
    kind = None if targets is None else targets.kind
    return [
        summarise(name, cells, kind=kind, problem=problem)
        for name, cells in zip(request.target, scan.target_cells, strict=True)
    ]


def _others(scan: Scan, table: Table, used: set[str]) -> list[ColumnSummary]:
    """Columns that nobody asked about, without identifiers."""
    place = id_position(table.columns, None, source=table.source)
    skipped = {*used, *([table.columns[place]] if place is not None else []), *_fasta_columns(table)}
    return [summarise(name, cells) for name, cells in scan.cells.items() if name not in skipped and cells]


def _fasta_columns(table: Table) -> tuple[str, ...]:
    return table.columns if table.format == "fasta" else ()


def _beyond(scan: Scan, others: Sequence[ColumnSummary]) -> list[str]:
    if scan.rows <= BRIEF_ROWS or not others:
        return []
    return [f"columns are summarised from the first {BRIEF_ROWS} rows"]


def _lengths(scan: Scan, limit: int) -> Lengths | None:
    found = scan.lengths
    if not found:
        return None
    over = sum(length > limit for length in found)
    return Lengths(min(found), float(median(found)), max(found), limit, over)
