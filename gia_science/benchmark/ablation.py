"""What each ingredient of the default recipe is worth: one setting changed at a time, the same splits and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gia_science.benchmark.accuracy import TaskTrial, measure
from gia_science.benchmark.protocol import protocol_of
from gia_science.data.target_spec import has_forest
from gia_science.tokens.descriptors import DOMAIN_DEFAULTS
from gia_science.training.optimizer_recipe import LENGTHS
from gia_science.training.run import NETWORKS_ALONE

START: Mapping[str, Any] = {"network.members": 1, "network.blend": False}
"""What every change starts from: one network alone, so that nothing averages away what an ingredient does."""
FIVE: Mapping[str, Any] = {"network.members": 5, "network.blend": True}


@dataclass(frozen=True)
class Change:
    """One change of the recipe.

    Parameters
    ----------
    name : str
        Short, for tables.
    slug : str
        Name of the folder of its trials.
    settings : mapping
        Settings under dotted keys, on top of `START`.
    domains : tuple of str, optional
        Domains in which it changes anything; empty for all.
    part : str, optional
        What is scored of these trials where it is not the model, by its name among the baselines.
    """

    name: str
    slug: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    domains: tuple[str, ...] = ()
    part: str | None = None


CHANGES: tuple[Change, ...] = (
    Change("one network", "start"),
    Change("without features of tokens", "no-features", {"network.features": False}),
    Change("without contexts", "no-contexts", {"network.contexts": False}, domains=("protein", "smiles")),
    Change("without descriptors", "no-descriptors", {"descriptors": []}),
    Change(
        "with all descriptors read by networks",
        "descriptors",
        {"network.descriptors": DOMAIN_DEFAULTS["composition"]},
        domains=("composition",),
    ),
    Change(
        "as short as of molecules",
        "short",
        {f"training.{name}": value for name, value in LENGTHS["smiles"].items()},
        domains=("composition",),
    ),
    Change("without averaged weights", "no-ema", {"training.ema": 0.0}),
    Change(
        "nothing hidden in training",
        "nothing-hidden",
        {"network.token_dropout": 0.0, "network.context_dropout": 0.0, "network.descriptor_dropout": 0.0},
    ),
    Change("without dropout", "no-dropout", {"network.dropout": 0.0}),
    Change("with known edges", "known-edges", {"network.known_edges": True}, domains=("protein", "smiles")),
    Change(
        "with known edges, up to three steps",
        "hops",
        {"network.known_edges": True, "network.hops": 3},
        domains=("protein", "smiles"),
    ),
    # As many parameters as with GIN: what an attention has more of, its feed-forward has less.
    Change(
        "with plain attention", "plain", {"network.attention.kind": "plain", "network.expansion": 1.3828125}
    ),
    Change("with PNA", "pna", {"network.attention.kind": "pna", "network.expansion": 1.2265625}),
    Change("with random spellings", "respelt", {"training.respell": 0.5}, domains=("smiles",)),
    Change("with mixup", "mixup", {"network.mixup": 0.2}),
    Change("with attention pooling", "attention-pooling", {"network.pooling": "attention"}),
    # Trained once: trees beside networks leave them as they are.
    Change("five networks", "five", FIVE, part=NETWORKS_ALONE),
    Change("five networks and trees", "five", FIVE),
)
"""The first is what all others are compared with. The last two put back what `START` takes away."""


@dataclass(frozen=True)
class ChangedTrials:
    """All trials of one change.

    Parameters
    ----------
    change : Change
    trials : tuple of TaskTrial
    """

    change: Change
    trials: tuple[TaskTrial, ...]

    def score(self, trial: TaskTrial) -> float:
        """What one of them scores by the metric that its task is judged by."""
        scores, part = trial.scores, self.change.part
        # Without a share of trees the networks are the model.
        part = part if part in scores.baselines else None
        value = scores.score(protocol_of(trial.task).metric.name, baseline=part).value
        assert value is not None, "the metric of a shipped task is defined on its test rows"
        return value


def ablate(
    folder: Path,
    *,
    tasks: Sequence[str],
    seeds: int,
    changes: Sequence[Change] = CHANGES,
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
) -> list[ChangedTrials]:
    """Train every change on every task with every seed, on the first split of the task.

    Parameters
    ----------
    folder : Path
        Gets a folder of trials for each change; what is there already is not trained again.
    tasks : sequence of str
        Shipped tasks whose data are there.
    seeds : int
        Number of seeds, from 0. They draw weights and which rows stop a training, never the test rows.
    changes : sequence of Change
        The first is what the others are compared with.
    settings : mapping, optional
        Further settings of all of them, under dotted keys.
    jobs : int, default 1
        Processes, each on one core.

    Raises
    ------
    RecipeError
        When the folder holds trials of other settings, recipes or versions.
    """
    done = []
    for change in changes:
        chosen = [task for task in tasks if _applies(change, task)]
        if chosen:
            trials = measure(
                folder / change.slug,
                tasks=chosen,
                seeds=seeds,
                settings={**START, **(settings or {}), **change.settings},
                baselines=(),
                folds=(0,),
                jobs=jobs,
            )
            done.append(ChangedTrials(change, tuple(trial for trial in trials if trial.seed < seeds)))
    return done


def _applies(change: Change, task: str) -> bool:
    recipe = protocol_of(task).recipe
    kind = recipe.target.kind
    assert kind is not None
    if change.settings.get("network.blend") and not has_forest(kind, targets=len(recipe.target.names)):
        return False
    return not change.domains or recipe.data.domain in change.domains
