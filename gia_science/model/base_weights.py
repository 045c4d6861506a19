"""A pretrained transformers model in memory: built from its architecture, its weights read without running any code."""

from __future__ import annotations

import inspect
import logging
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn

from gia_science.adapters import weights_sha256
from gia_science.errors import BaseModelError, Where
from gia_science.model.base_files import BaseFiles, needs_transformers

_MOST_LAYERS = 1000
_ALTERNATIVES = "BERT, RoBERTa, ESM, GPT-2, Llama and other families that transformers knows"


def build_base(architecture: Mapping[str, Any], *, masked: bool = False) -> nn.Module:
    """The network of an architecture with random weights.

    Parameters
    ----------
    architecture : mapping
        As `read_architecture` has it.
    masked : bool, default False
        With the head that predicts hidden tokens; otherwise without heads.

    Raises
    ------
    BaseModelError
        When transformers does not know the family, or the architecture is not valid.
    """
    with quiet_transformers():
        config, model = _classes(architecture, masked=masked)
        try:
            built: nn.Module = model(config, **_headless(model))
        except (ValueError, TypeError, KeyError, AttributeError, ImportError, RuntimeError) as error:
            raise _not_valid(error) from error
    return built.eval()


def load_base(files: BaseFiles, *, sha256: str | None = None, masked: bool = False) -> nn.Module:
    """A pretrained model in float32.

    Weights come from safetensors, or from pytorch_model.bin read with ``weights_only``: pickled code is refused. Code
    that comes with a model is never run.

    Parameters
    ----------
    files : BaseFiles
    sha256 : str, optional
        Hash that the weights must have.
    masked : bool, default False
        With the head that predicts hidden tokens, which the weights must have; otherwise without heads.

    Raises
    ------
    BaseModelError
        When a weight is missing, of another shape, or cannot be read; or the hash is another one.
    """
    where = Where(file=files.source)
    _check_size(files, where)
    with quiet_transformers():
        config, model = _classes(files.architecture, masked=masked)
        try:
            loaded, report = model.from_pretrained(
                files.folder,
                config=config,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                weights_only=True,
                # Refused below, with the name of the weight.
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                **_headless(model),
            )
        except (pickle.UnpicklingError, SafetensorError) as error:
            raise BaseModelError(
                "the weights cannot be read: damaged, or pickled code, which is never run",
                hint="a safetensors file is read without risk",
                where=where,
            ) from error
        except (OSError, ValueError, RuntimeError, TypeError, KeyError, EOFError, ImportError) as error:
            raise BaseModelError(
                "the pretrained model cannot be read", got=_first_line(error), where=where
            ) from error
    problems = [f"{name} is missing" for name in sorted(report["missing_keys"])]
    problems += [f"{entry[0]} has another shape" for entry in sorted(report["mismatched_keys"])]
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise BaseModelError("the weights do not fit config.json", got=problems[0] + more, where=where)
    _check_hash(loaded, sha256, where)
    base: nn.Module = loaded.eval()
    return base


def most_tokens(model: nn.Module) -> int | None:
    """Longest input in tokens by the model's table or range of positions; None where it names none."""
    longest: int | None = getattr(model.config, "max_position_embeddings", None)
    if longest is None:
        return None
    # RoBERTa and ESM count positions from behind the one of padding.
    offsets = [
        getattr(part, "padding_idx", None) for name, part in model.named_children() if name == "embeddings"
    ]
    return longest - sum(offset + 1 for offset in offsets if isinstance(offset, int))


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the progress bars and reports of transformers: what matters of them is told in other words."""
    try:
        from transformers.utils import logging as reports
    except ImportError as error:
        raise needs_transformers() from error
    level, drawn = reports.get_verbosity(), reports.is_progress_bar_enabled()
    reports.set_verbosity(logging.CRITICAL)
    reports.disable_progress_bar()
    try:
        yield
    finally:
        reports.set_verbosity(level)
        if drawn:
            reports.enable_progress_bar()


def _classes(architecture: Mapping[str, Any], *, masked: bool) -> tuple[Any, Any]:
    """Configuration of an architecture, and the class of its network."""
    from transformers import MODEL_FOR_MASKED_LM_MAPPING, MODEL_MAPPING, AutoConfig

    rest = dict(architecture)
    family = rest.pop("model_type", None)
    try:
        config = AutoConfig.for_model(str(family), **rest)
        model = (MODEL_FOR_MASKED_LM_MAPPING if masked else MODEL_MAPPING)[type(config)]
    except (ValueError, KeyError) as error:
        raise BaseModelError(
            "the family of the pretrained model is not known to transformers, or predicts no hidden tokens"
            if masked
            else "the family of the pretrained model is not known to transformers",
            got=str(family),
            expected=_ALTERNATIVES,
        ) from error
    except (TypeError, AttributeError, RuntimeError) as error:
        raise _not_valid(error) from error
    if getattr(config, "is_encoder_decoder", False):
        raise BaseModelError(
            "models of encoder and decoder cannot be fine-tuned here", got=str(family), expected=_ALTERNATIVES
        )
    if not 0 < int(getattr(config, "num_hidden_layers", 0)) <= _MOST_LAYERS:
        raise BaseModelError(
            "the architecture of the pretrained model is not valid", got="its number of layers"
        )
    return config, model[0] if isinstance(model, tuple) else model


def _headless(model: Any) -> dict[str, Any]:
    """Options that leave out what only other tasks use."""
    known = inspect.signature(model.__init__).parameters
    return {"add_pooling_layer": False} if "add_pooling_layer" in known else {}


def _check_size(files: BaseFiles, where: Where) -> None:
    with torch.device("meta"):
        weights = sum(parameter.numel() for parameter in build_base(files.architecture).parameters())
    if weights > files.bytes:
        raise BaseModelError(
            "the weights do not fit config.json", got="sizes far beyond the files", where=where
        )


def _check_hash(model: nn.Module, wanted: str | None, where: Where) -> None:
    if wanted is None:
        return
    found = weights_sha256(model)
    if found != wanted:
        raise BaseModelError(
            "the pretrained model is not the one that was fine-tuned",
            got=f"weights with sha256 {found[:12]}...",
            expected=f"{wanted[:12]}...",
            where=where,
        )


def _not_valid(error: Exception) -> BaseModelError:
    return BaseModelError("the architecture of the pretrained model is not valid", got=_first_line(error))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
