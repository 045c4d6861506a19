"""The saved adapter: a folder of peft's layout, strictly read."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import safetensors.torch
from pydantic import Field
from safetensors import SafetensorError
from torch import nn

from gia_science.adapters.attach import attach
from gia_science.adapters.attached import Attached
from gia_science.adapters.config import AdapterConfig, LoRAConfig
from gia_science.adapters.lora import AttachedLoRA
from gia_science.adapters.reference import BaseReference, weights_sha256
from gia_science.data.folders import whole_folder
from gia_science.errors import AdapterError, Where
from gia_science.settings import Strict, validate

FORMAT = 1
"""Version of the layout. A folder with a higher one was made by a newer release and is refused."""
CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
_MADE_WITH = ("gia-science", "torch", "transformers", "peft")


class StoredAdapter(Strict):
    """Contents of ``adapter_config.json``."""

    format_version: int = Field(ge=1)
    peft_type: str
    base_model_name_or_path: str
    base_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    adapter: AdapterConfig
    made_with: dict[str, str]
    # What peft itself must know of a LoRA adapter to load it.
    r: int | None = None
    lora_alpha: float | None = None
    lora_dropout: float | None = None
    target_modules: tuple[str, ...] | None = None
    fan_in_fan_out: bool | None = None


def save_adapter(
    attached: Attached, folder: str | Path, *, base: BaseReference, overwrite: bool = False
) -> Path:
    """Write an adapter's folder. It appears under its name only when it is whole.

    Parameters
    ----------
    attached : Attached
    folder : path
    base : BaseReference
        The base as it was before training, which full fine-tuning changes.
    overwrite : bool, default False
        Replace an existing folder of an adapter. Anything else that exists is never replaced.

    Raises
    ------
    AdapterError
        When the folder exists and may not be replaced, or cannot be written.
    """
    _check_free(Path(folder), overwrite=overwrite)
    try:
        with whole_folder(folder) as unfinished:
            stored = _stored(attached, base).model_dump(mode="json", exclude_none=True)
            text = json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False)
            (unfinished / CONFIG).write_text(text + "\n", encoding="utf-8")
            state = {name: tensor.contiguous() for name, tensor in attached.state().items()}
            # peft, and others after it, ask for the name of the framework.
            safetensors.torch.save_file(state, unfinished / WEIGHTS, metadata={"format": "pt"})
    except OSError as error:
        raise AdapterError(
            "the adapter cannot be written", got=error.strerror or str(error), where=Where(str(folder))
        ) from error
    return Path(folder)


def load_adapter(model: nn.Module, folder: str | Path) -> Attached:
    """Put a saved adapter on its base.

    Parameters
    ----------
    model : torch.nn.Module
        The base, with the very weights that the adapter was trained on.
    folder : path

    Raises
    ------
    AdapterError
        When a file is missing or damaged, a key or tensor is unknown or missing, the folder was made by a newer
        release, or the base is another. The model is then as it was.
    """
    stored = read_adapter(folder)
    path = Path(folder) / WEIGHTS
    where = Where(str(path))
    found = weights_sha256(model)
    if found != stored.base_sha256:
        raise AdapterError(
            "the adapter was trained on another base",
            got=f"weights {found[:12]}",
            expected=f"{stored.base_sha256[:12]}, those of {stored.base_model_name_or_path}",
            where=Where(str(folder)),
        )
    try:
        state = safetensors.torch.load_file(path)
    except FileNotFoundError as error:
        raise AdapterError("the folder is incomplete", got=f"no {WEIGHTS}", where=where) from error
    except (SafetensorError, OSError) as error:
        raise AdapterError("damaged weights", got=str(error), where=where) from error
    attached = attach(model, stored.adapter, seed=0)
    try:
        attached.load_state(state, where=where)
    except AdapterError:
        attached.remove()
        raise
    return attached


def read_adapter(folder: str | Path) -> StoredAdapter:
    """Read ``adapter_config.json`` of a folder strictly."""
    path = Path(folder) / CONFIG
    where = Where(str(path))
    data = _read_json(path)
    made = data.get("format_version", FORMAT)
    if isinstance(made, int) and made > FORMAT:
        raise AdapterError(
            "the adapter was saved by a newer release",
            got=f"format {made}",
            expected=f"{FORMAT}",
            where=where,
        )
    stored = validate(StoredAdapter, data, error=AdapterError, what=CONFIG, where=where)
    if stored.peft_type != _peft_type(stored.adapter):
        raise AdapterError(
            "the kinds in the file differ",
            got=f"peft_type {stored.peft_type!r}, adapter {stored.adapter.kind!r}",
            where=where,
        )
    return stored


def _stored(attached: Attached, base: BaseReference) -> StoredAdapter:
    return StoredAdapter(
        format_version=FORMAT,
        peft_type=_peft_type(attached.config),
        base_model_name_or_path=base.name_or_path,
        base_sha256=base.sha256,
        adapter=attached.config,
        made_with={name: found for name in _MADE_WITH if (found := _version(name))},
        **_for_peft(attached),
    )


def _for_peft(attached: Attached) -> dict[str, Any]:
    """Keys by which peft itself loads a LoRA adapter."""
    if not isinstance(attached, AttachedLoRA):
        return {}
    assert isinstance(attached.config, LoRAConfig)
    return {
        "r": attached.config.rank,
        "lora_alpha": attached.alpha,
        "lora_dropout": attached.config.dropout,
        "target_modules": tuple(target.name for target in attached.targets),
        "fan_in_fan_out": any(target.transposed for target in attached.targets),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _peft_type(config: AdapterConfig) -> str:
    return config.kind.upper().replace("-", "_")


def _read_json(path: Path) -> dict[str, Any]:
    where = Where(str(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise AdapterError(
            "this is no folder of an adapter, or it is incomplete", got=f"no {path.name}", where=where
        ) from error
    except OSError as error:
        raise AdapterError("cannot be read", got=error.strerror or str(error), where=where) from error
    except (ValueError, RecursionError) as error:
        raise AdapterError("damaged: not JSON", got=str(error), where=where) from error
    if not isinstance(data, dict):
        raise AdapterError("damaged", expected="a JSON object", where=where)
    return data


def _check_free(folder: Path, *, overwrite: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    foreign = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if CONFIG not in foreign or set(foreign) - {CONFIG, WEIGHTS}:
        raise AdapterError("the output exists and is not, or not only, an adapter", got=str(folder))
    if not overwrite:
        raise AdapterError("the adapter exists", got=str(folder), hint="--overwrite replaces it")
