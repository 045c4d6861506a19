"""The model card: what a reader of the folder must know, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gia_science.data.duplicates import describe_spread
from gia_science.data.forms import PLAIN, describe_form
from gia_science.data.splits.base import Split
from gia_science.data.targets import Targets
from gia_science.errors import counted
from gia_science.evaluation.baselines import plain_name
from gia_science.evaluation.leakage import LeakageReport
from gia_science.evaluation.report import Evaluation
from gia_science.tokens.domain import DOMAINS
from gia_science.tokens.policies import describe_options
from gia_science.training.network_recipe import BackboneRecipe
from gia_science.training.notices import what_is_used
from gia_science.training.prepare import Prepared
from gia_science.training.recipe import PretrainRecipe, Recipe


def model_card(
    prepared: Prepared,
    *,
    targets: Targets,
    evaluation: Evaluation,
    parameters: int,
    leaks: LeakageReport,
    trained: int | None = None,
) -> str:
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
        *(f"- {plain_name(name)}: {title}" for name, title in evaluation.baselines.items()),
        "",
        "![Measured against predicted](report.png)",
        "## Data",
        _data(prepared),
        *(f"- leaks: {line}" for line in leaks.short()),
        "## How inputs are read",
        _options(prepared),
        "## Network",
        _network(recipe.network, parameters, recipe.seed)
        if prepared.base is None
        else _base(prepared, parameters),
        *_learnt(targets, recipe),
        *_blend(targets),
        _start(prepared) + _adapter(prepared, trained),
        "## Limits",
        "Predictions are interpolations of the training rows. The scores hold for rows like the test rows: inputs that "
        "resemble nothing in the training data can be far off, and the output does not show it.",
    ]
    return "\n".join(_spaced(sections)) + "\n"


def unscored_card(prepared: Prepared, *, targets: Targets, parameters: int) -> str:
    """Card of a model that was fitted to rows in memory and not scored, as scikit-learn's estimators are."""
    recipe = prepared.recipe
    network = recipe.network
    sections = [
        f"# {recipe.title or recipe.name}",
        _what(prepared, targets),
        "## How good it is",
        "Not known from this folder: no rows were held out to score it. Whoever fitted it can tell by "
        "cross-validation, and `gia evaluate` on new measurements.",
        "## Data",
        _data(prepared),
        "## How inputs are read",
        _options(prepared),
        "## Network",
        f"{network.layers} layers of {network.attention.kind} attention, width {network.width}, "
        f"{parameters:,} parameters, seed {recipe.seed}.",
        *_blend(targets),
        _start(prepared),
        "## Limits",
        "Predictions are interpolations of the training rows: inputs that resemble nothing in the training data can be "
        "far off, and the output does not show it.",
    ]
    return "\n".join(_spaced(sections)) + "\n"


def pretrained_card(
    recipe: PretrainRecipe,
    *,
    options: Mapping[str, object],
    rows: str,
    split: Split,
    parameters: int,
    scores: Sequence[tuple[str, str]],
    scored: str,
) -> str:
    """Markdown text of ``README.md`` in the folder of a pretrained network."""
    asked = f"hidden tokens, {recipe.mask_share:.0%} of a row at a time"
    if recipe.objective == "causal":
        asked = "each next token"
    source = recipe.data.dataset or recipe.data.file or "rows in memory"
    sections = [
        f"# {recipe.title or recipe.name}",
        f"Language model of {recipe.data.domain} input ({recipe.objective}: it predicts {asked}). "
        "It predicts no property: `gia train --from` starts from it. Made by gia-science.",
        "## How good it is",
        f"On {scored}, each predicted once. The unigram model knows how common each token is, and no more.",
        "",
        "\n".join(
            [
                "| | perplexity [95 % interval over rows] |",
                "| --- | --- |",
                *(f"| {a} | {b} |" for a, b in scores),
            ]
        ),
        "## Data",
        f"- source: {source}, input column `{recipe.data.input}`",
        f"- rows: {rows}",
        f"- split: {split.describe}; {len(split.train)} training, {len(split.validation)} validation, "
        f"{len(split.test)} test rows",
        "## How inputs are read",
        *(f"- {line}" for line in describe_options(str(recipe.data.domain), options)),
        "- shown to the network: tokens, their numbers and places; no features, contexts or known edges, which would "
        "give hidden tokens away",
        "## Network",
        _network(recipe.network, parameters, recipe.seed),
        "## Limits",
        "The split keeps equal inputs together, not related ones: families that stand on both sides of it flatter the "
        "perplexity. A lower perplexity is no promise of better predictions of a property: compare with training from "
        "random weights on the same split.",
    ]
    return "\n".join(_spaced(sections)) + "\n"


def evaluation_table(evaluation: Evaluation) -> str:
    """Markdown table of an evaluation; intervals are 95 % bootstrap intervals over rows."""
    head = evaluation.head
    lines = [head, ("---",) * len(head), *evaluation.table()]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _what(prepared: Prepared, targets: Targets) -> str:
    names = ", ".join(
        f"{name} ({unit})" if unit else name
        for name, unit in zip(targets.names, targets.units or [""] * len(targets.names), strict=True)
    )
    labels = f", labels {', '.join(targets.labels)}" if targets.labels else ""
    return f"Predicts {names} ({targets.kind}{labels}) from {prepared.recipe.data.domain} input. Made by gia-science."


def _blend(targets: Targets) -> list[str]:
    return [f"- blended with a forest: {targets.blended_with}"] if targets.blend else []


def _data(prepared: Prepared) -> str:
    recipe, split = prepared.recipe, prepared.split
    source = recipe.data.dataset or recipe.data.file or "rows in memory"
    parts = f"{len(split.train)} training, {len(split.validation)} validation, {len(split.test)} test rows"
    lines = [
        f"- source: {source}, input column `{recipe.data.input}`",
        f"- rows: {len(prepared.rows)} used, {len(prepared.left_out)} left out",
        f"- rows of one input: {_duplicates(prepared)}",
        f"- split: {split.describe}; {parts}",
    ]
    if prepared.rotated:
        lines.append(
            f"- the {recipe.network.members} networks share the training and validation rows: each is stopped by "
            "another part of them, and learns from the others"
        )
    if recipe.data.columns:
        lines.append(f"- numeric columns: {', '.join(recipe.data.columns)}")
    return "\n".join(lines)


def _duplicates(prepared: Prepared) -> str:
    found, policy, targets = prepared.duplicates, prepared.recipe.data.duplicates, prepared.targets
    spread = describe_spread(found.conflicts, targets)
    differing = counted(len(found.conflicts), "input") + " with different targets"
    facts = f"{counted(found.rows)} repeat an input, {differing}{f' ({spread})' if spread else ''}"
    merged = f", {prepared.merged} rows went into others" if prepared.merged else ""
    together = "never on both sides of the split"
    return f"{facts}; {what_is_used(policy, targets)}, {together} (`data.duplicates: {policy}`){merged}"


def _network(network: BackboneRecipe, parameters: int, seed: int) -> str:
    return (
        f"{network.layers} layers of {network.attention.kind} attention, width {network.width}, "
        f"{parameters:,} parameters, seed {seed}. `recipe.yaml` reproduces the run."
    )


def _learnt(targets: Targets, recipe: Recipe) -> list[str]:
    """What is learnt of each target and how labels are chosen, where that is not the plain way."""
    lines = [
        f"- {name}: {describe_form(form)} (`target.form`)"
        for name, form in zip(targets.names, targets.forms, strict=False)
        if form != PLAIN
    ]
    if targets.gates and targets.zeros == "median":
        lines.append("- what is 0 with a probability above a half is predicted as 0")
    elif targets.gates:
        lines.append(
            "- predicted is the value times the probability that it is not 0; `target.loss: absolute` gives zeros"
        )
    if targets.kind == "regression" and recipe.target.loss != "smooth":
        levels = f" ({', '.join(f'{level:g}' for level in targets.quantiles)})" if targets.quantiles else ""
        lines.append(f"- loss: {recipe.target.loss}{levels} (`target.loss`)")
    if targets.priors:
        shares = ", ".join(f"{share:.3g}" for share in targets.priors)
        lines.append(
            f"- labels are chosen for balanced accuracy, by the shares of the classes in training: {shares} "
            "(`target.decision: balanced`); probabilities are as they are"
        )
    return lines


def _start(prepared: Prepared) -> str:
    start, saved = prepared.recipe.pretrained, prepared.pretrained
    if start is None or saved is None:
        return ""
    return (
        f"\nTraining started from the network pretrained in `{start.folder}` (objective "
        f"{saved.network.config.objective}, weights sha256 `{start.sha256}`). If rows that are held out here were "
        "pretrained on, the network has seen their inputs, though never their targets."
    )


def _base(prepared: Prepared, parameters: int) -> str:
    recipe, base = prepared.recipe, prepared.base
    assert base is not None
    assert recipe.backbone is not None
    kept = recipe.backbone.keep_base or recipe.backbone.adapter.kind == "full"
    where = (
        "All weights lie in this folder."
        if kept
        else "Its weights are not in this folder: they are read from there, and have to be the same. Where they have "
        "moved, write the new place as `network.base.source` into `config.json`."
    )
    return (
        f"Built on the pretrained model `{base.files.source}` (family {base.files.architecture['model_type']}, "
        f"{base.layers} layers, width {base.width}, weights sha256 `{base.sha256}`); {parameters:,} parameters, seed "
        f"{recipe.seed}. {where} `recipe.yaml` reproduces the run. What the model was pretrained on is for its authors "
        "to say: if rows that are held out here were among it, the network has seen their inputs."
    )


def _adapter(prepared: Prepared, trained: int | None) -> str:
    source = prepared.recipe.backbone
    if source is None:
        return ""
    settings = source.adapter.model_dump(mode="json", exclude={"kind"}, exclude_defaults=True)
    given = ", ".join(f"{name} {value}" for name, value in settings.items())
    count = "all parameters are trained" if trained is None else f"{trained:,} parameters are trained"
    return f"\nAdapter: {source.adapter.kind}{f' ({given})' if given else ''}; {count}, the head among them."


def _options(prepared: Prepared) -> str:
    recipe, tokenizer = prepared.recipe, prepared.tokenizer
    noun = DOMAINS[tokenizer.domain].noun
    described = [f"- {line}" for line in describe_options(tokenizer.domain, tokenizer.options)]
    described.append(
        f"- longer than {recipe.network.max_length} {noun}: not used in training, an error of that row in prediction "
        "unless `--long` says otherwise (`network.max_length`)"
    )
    described.append(f"- descriptors: {', '.join(recipe.descriptors or ()) or 'none'}")
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
