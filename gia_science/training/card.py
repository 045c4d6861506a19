"""The model card: what a reader of the folder must know, in Markdown."""

from __future__ import annotations

from gia_science.data.targets import Targets
from gia_science.evaluation.report import Evaluation
from gia_science.training.prepare import Prepared


def model_card(prepared: Prepared, *, targets: Targets, evaluation: Evaluation, parameters: int) -> str:
    """Markdown text of ``README.md`` in a model folder."""
    recipe = prepared.recipe
    sections = [
        f"# {recipe.title or recipe.name}",
        _what(prepared, targets),
        "## How good it is",
        *(f"- {note}" for note in evaluation.notes),
        "",
        evaluation_table(evaluation),
        "",
        "![Measured against predicted](report.png)",
        "## Data",
        _data(prepared),
        "## How inputs are read",
        _options(prepared),
        "## Network",
        f"{recipe.network.layers} layers of {recipe.network.attention.kind} attention, width {recipe.network.width}, "
        f"{parameters:,} parameters, seed {recipe.seed}. `recipe.yaml` reproduces the run.",
        "## Limits",
        "Predictions are interpolations of the training rows. The scores hold for rows like the test rows: inputs that "
        "resemble nothing in the training data can be far off, and the output does not show it.",
    ]
    return "\n".join(_spaced(sections)) + "\n"


def evaluation_table(evaluation: Evaluation) -> str:
    """Markdown table of an evaluation; intervals are 95 % bootstrap intervals over rows."""
    beside = evaluation.baseline_name if evaluation.has_baseline else ""
    head = ["target", "metric", "model [95 % interval]"] + ([beside] if beside else [])
    rows = [row if beside else row[:3] for row in evaluation.table()]
    lines = [head, ["---"] * len(head), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _what(prepared: Prepared, targets: Targets) -> str:
    names = ", ".join(
        f"{name} ({unit})" if unit else name
        for name, unit in zip(targets.names, targets.units or [""] * len(targets.names), strict=True)
    )
    labels = f", labels {', '.join(targets.labels)}" if targets.labels else ""
    return f"Predicts {names} ({targets.kind}{labels}) from {prepared.recipe.data.domain} input. Made by gia-science."


def _data(prepared: Prepared) -> str:
    recipe, split = prepared.recipe, prepared.split
    source = recipe.data.dataset or recipe.data.file or "rows in memory"
    repeats = prepared.duplicates
    parts = f"{len(split.train)} training, {len(split.validation)} validation, {len(split.test)} test rows"
    lines = [
        f"- source: {source}, input column `{recipe.data.input}`",
        f"- rows: {len(prepared.rows)} used, {len(prepared.left_out)} left out",
        f"- repeated inputs: {repeats.rows} rows, {len(repeats.conflicts)} inputs with different targets",
        f"- split: {split.describe}; {parts}",
    ]
    if recipe.data.columns:
        lines.append(f"- numeric columns: {', '.join(recipe.data.columns)}")
    return "\n".join(lines)


def _options(prepared: Prepared) -> str:
    options = prepared.tokenizer.options
    described = [f"- {name}: `{value}`" for name, value in options.items()]
    described.append(f"- longest input: {prepared.recipe.network.max_length} residues, atoms or elements")
    described.append(f"- descriptors: {', '.join(prepared.recipe.descriptors or ()) or 'none'}")
    return "\n".join(described)


def _spaced(sections: list[str]) -> list[str]:
    """A blank line around every heading."""
    spaced: list[str] = []
    for section in sections:
        if section.startswith("#") and spaced:
            spaced.append("")
        spaced.append(section)
        if section.startswith("#"):
            spaced.append("")
    return spaced
