"""LoRA by peft, put into a model in place: the control that everybody knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from gia_science.adapters.attached import Attached
from gia_science.adapters.config import LoRAConfig
from gia_science.adapters.extra import import_hf
from gia_science.adapters.places import find_places
from gia_science.errors import AdapterError

_NAME = "default"
_PREFIX = "base_model.model."


@dataclass(frozen=True)
class Target:
    """A projection that gets an update.

    Parameters
    ----------
    name : str
        In the model.
    inputs, outputs : int
    transposed : bool
        Whether its weight is inputs x outputs, as that of transformers' ``Conv1D`` is.
    """

    name: str
    inputs: int
    outputs: int
    transposed: bool


def find_targets(model: nn.Module, config: LoRAConfig) -> tuple[Target, ...]:
    """Projections that LoRA is put on.

    Those that the settings name; else all linear maps in the attention of each layer; else, for families whose
    attention cannot be seen, those that peft has for the kind of model.

    Raises
    ------
    AdapterError
        When there are none.
    """
    suffixes = config.targets
    if suffixes is None:
        try:
            branches = {name for place in find_places(model) for name in _names_in(model, place.branch)}
        except AdapterError:
            suffixes = _known_to_peft(model)
        else:
            return tuple(_target(model, name) for name in sorted(branches))
    found = [
        name
        for name, module in model.named_modules()
        if _is_projection(module)
        and any(name == suffix or name.endswith(f".{suffix}") for suffix in suffixes)
    ]
    if not found:
        raise AdapterError("no projection of this model has the name of a target", got=", ".join(suffixes))
    return tuple(_target(model, name) for name in found)


class AttachedLoRA(Attached):
    """Low-rank updates in peft's modules, which stand where the projections did."""

    def __init__(self, model: nn.Module, config: LoRAConfig) -> None:
        peft = import_hf("peft")
        targets = find_targets(model, config)
        super().__init__(model, config)
        self.targets = targets
        self.alpha = 2.0 * config.rank if config.alpha is None else config.alpha
        self._replaced = {target.name: model.get_submodule(target.name) for target in targets}
        settings = peft.LoraConfig(
            r=config.rank,
            lora_alpha=self.alpha,
            lora_dropout=config.dropout,
            target_modules=[target.name for target in targets],
            fan_in_fan_out=any(target.transposed for target in targets),
        )
        model.requires_grad_(False)
        peft.inject_adapter_in_model(settings, model, adapter_name=_NAME)
        model.__dict__.pop("peft_config", None)
        self._layers = {name: model.get_submodule(name) for name in self._replaced}

    def trainable(self) -> list[tuple[str, nn.Parameter]]:
        """Updates by the names that peft's files have."""
        return [
            (f"{_PREFIX}{name}.{part}.weight", getattr(layer, part)[_NAME].weight)
            for name, layer in self._layers.items()
            for part in ("lora_A", "lora_B")
        ]

    def enable(self) -> None:
        self._switch(True)

    def disable(self) -> None:
        self._switch(False)

    def merge(self) -> nn.Module:
        """Add the updates to the projections' weights."""
        for layer in self._layers.values():
            _peft(layer).merge()
        return self.remove()

    def _switch(self, on: bool) -> None:
        for layer in self._layers.values():
            _peft(layer).enable_adapters(on)

    def _detach(self) -> None:
        for name, module in self._replaced.items():
            parent, _, child = name.rpartition(".")
            setattr(self.model.get_submodule(parent), child, module)


def _peft(layer: nn.Module) -> Any:
    """A module of peft, whose methods are not in `torch.nn.Module`."""
    return layer


def _known_to_peft(model: nn.Module) -> tuple[str, ...]:
    mapping = import_hf("peft.utils").TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
    kind = str(getattr(getattr(model, "config", None), "model_type", type(model).__name__))
    if kind not in mapping:
        raise AdapterError(
            "it is not known where LoRA goes in this kind of model",
            got=kind,
            hint="name the projections: `targets`",
        )
    return tuple(mapping[kind])


def _names_in(model: nn.Module, branch: nn.Module) -> list[str]:
    prefix = next(name for name, module in model.named_modules() if module is branch)
    return [
        f"{prefix}.{name}" if name else prefix
        for name, module in branch.named_modules()
        if _is_projection(module)
    ]


def _is_projection(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear) or _is_transposed(module)


def _is_transposed(module: nn.Module) -> bool:
    return type(module).__name__ == "Conv1D" and getattr(module, "weight", None) is not None


def _target(model: nn.Module, name: str) -> Target:
    module = model.get_submodule(name)
    transposed = _is_transposed(module)
    assert isinstance(module.weight, Tensor)
    rows, columns = module.weight.shape
    return Target(
        name,
        inputs=rows if transposed else columns,
        outputs=columns if transposed else rows,
        transposed=transposed,
    )
