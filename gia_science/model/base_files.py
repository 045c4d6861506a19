"""Where a pretrained model from elsewhere lies: a folder, or an id on the Hugging Face hub and its cache."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gia_science.errors import BaseModelError, Where
from gia_science.tokens.base_files import FILES as VOCABULARY_FILES

CONFIG = "config.json"
_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_DROPPED = frozenset(
    {
        # Code, kernels and number formats of the file: none of them describes the network.
        *("auto_map", "attn_implementation", "_attn_implementation", "_name_or_path", "dtype", "torch_dtype"),
        *("transformers_version", "architectures", "use_cache"),
    }
)


@dataclass(frozen=True)
class BaseFiles:
    """A pretrained model on this machine.

    Parameters
    ----------
    source : str
        The folder with its whole path, or the id on the hub.
    folder : Path
        Where the files are.
    architecture : dict
        Its ``config.json`` without what is not of the network.
    """

    source: str
    folder: Path
    architecture: dict[str, Any]

    @property
    def bytes(self) -> int:
        """Size of the files of weights."""
        return sum(
            path.stat().st_size for path in self.folder.glob("*") if path.suffix in (".safetensors", ".bin")
        )


def find_base(source: str) -> BaseFiles:
    """Find a pretrained model; one in a folder needs no network.

    Parameters
    ----------
    source : str
        A folder with config.json, weights (safetensors, or pytorch_model.bin without code in it) and vocabulary; or an
        id on the Hugging Face hub, of which only files of these kinds are fetched, into the hub's cache. With
        ``HF_HUB_OFFLINE=1`` the cache alone is looked into.

    Raises
    ------
    BaseModelError
        When there is no such folder or id, no network, or the model cannot be used.
    """
    place = Path(source).expanduser()
    local = place.is_dir()
    if not local and (place.exists() or not _HUB_ID.fullmatch(source)):
        raise BaseModelError("no such folder of a pretrained model", got=source)
    folder = place.resolve() if local else _from_hub(source)
    named = str(folder) if local else source
    if (folder / "adapter_config.json").is_file():
        raise BaseModelError(
            "the folder holds an adapter, not a pretrained model", hint="name its base", where=Where(named)
        )
    if not any((folder / name).is_file() for name in (*_SAFE, *_PICKLED)):
        raise BaseModelError(
            "the pretrained model has no weights that can be read",
            expected=f"{_SAFE[0]} or {_PICKLED[0]}",
            where=Where(named),
        )
    return BaseFiles(named, folder, read_architecture(folder / CONFIG))


def read_architecture(path: Path) -> dict[str, Any]:
    """Contents of the config.json of a pretrained model, as far as they describe its network."""
    where = Where(file=str(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaseModelError("not a pretrained model", got=f"no {path.name}", where=where) from error
    except (ValueError, RecursionError) as error:
        raise BaseModelError("damaged: not JSON", got=str(error), where=where) from error
    if not isinstance(data, dict) or not isinstance(data.get("model_type"), str):
        raise BaseModelError(
            "not a pretrained model of transformers", expected="config.json with model_type", where=where
        )
    if "quantization_config" in data:
        raise BaseModelError("quantised models cannot be fine-tuned here", where=where)
    return {name: value for name, value in data.items() if name not in _DROPPED}


def _from_hub(source: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError as error:
        raise needs_transformers() from error
    files = [CONFIG, "adapter_config.json", *VOCABULARY_FILES]
    try:
        folder = Path(snapshot_download(source, allow_patterns=[*files, "model*.safetensors", _SAFE[1]]))
        if not any((folder / name).is_file() for name in _SAFE):
            folder = Path(
                snapshot_download(source, allow_patterns=[*files, "pytorch_model*.bin", _PICKLED[1]])
            )
    except RepositoryNotFoundError as error:
        raise BaseModelError(
            "no such folder, and no such model on the Hugging Face hub (or it is not public)", got=source
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise BaseModelError(
            "no such folder, and the Hugging Face hub cannot be reached (no network, or HF_HUB_OFFLINE is set) while "
            "the model is not in its cache",
            got=source,
            hint="fetch the model where there is a network, and name its folder",
        ) from error
    return folder


def needs_transformers() -> BaseModelError:
    """The error where the package transformers is missing."""
    return BaseModelError(
        "pretrained models need the package transformers", hint='pip install "gia-science[hf]"'
    )
