"""What every kind of adapter keeps to, on every family of base model."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gia_science.adapters import (
    AdapterConfig,
    Attached,
    BaseReference,
    BottleneckConfig,
    FrozenConfig,
    FullConfig,
    LoRAConfig,
    SparseGINConfig,
    attach,
    inject,
    load_adapter,
    save_adapter,
    weights_sha256,
)
from gia_science.errors import AdapterError

CLOSE = {"rtol": 0, "atol": 1e-5}


def stir(attached: Attached) -> None:
    """Move what trains away from where it starts, far enough to be seen."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _, parameter in attached.trainable():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))


def differ(found: list[Tensor], wanted: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(found, wanted, strict=True))


@torch.no_grad()
def run(base, model: nn.Module, rows, **options) -> list[Tensor]:
    return base(model, rows, **options)


def train(base, attached: Attached, rows, *, steps: int) -> list[float]:
    """Losses of fitting one number per row."""
    target = torch.tensor([1.0, -1.0, 0.5])
    optimizer = torch.optim.Adam([parameter for _, parameter in attached.trainable()], lr=0.03)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        found = torch.stack([states[:, :2].mean() for states in base(attached.model, rows)])
        loss = (found - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Contract:
    """What holds for all kinds; subclasses name their settings."""

    config: AdapterConfig
    trains = True

    def test_starts_as_the_base_to_the_bit(self, base, rows) -> None:
        model = base.build()
        before = run(base, model, rows)
        attach(model, self.config, seed=0)
        assert all(torch.equal(a, b) for a, b in zip(run(base, model, rows), before, strict=True))

    def test_what_trains_changes_the_output(self, base, rows) -> None:
        model = base.build()
        before = run(base, model, rows)
        attached = attach(model, self.config, seed=0)
        stir(attached)
        assert (differ(run(base, model, rows), before) > 1e-3) == self.trains
        assert attached.parameters_count() == sum(value.numel() for value in attached.state().values())

    @pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
    def test_padding_leaks_nothing(self, base, rows, left) -> None:
        """Neither a row's neighbours in the batch nor what stands in its padding changes it."""
        model = base.build()
        stir(attach(model, self.config, seed=0))
        together = run(base, model, rows, left=left)
        assert differ(together, run(base, model, rows, left=left, fill=17)) <= CLOSE["atol"]
        alone = [run(base, model, [row])[0] for row in rows]
        assert differ(together, alone) <= CLOSE["atol"]

    def test_the_future_leaks_nothing(self, base, rows) -> None:
        model = base.build()
        stir(attach(model, self.config, seed=0))
        (first,), (second,) = run(base, model, [rows[1]]), run(base, model, [(*rows[1][:5], 4, 5, 6, 7)])
        same = float((first[:5] - second[:5]).abs().max()) <= CLOSE["atol"]
        assert same == base.causal

    def test_saved_and_loaded_it_is_the_same(self, base, rows, tmp_path: Path) -> None:
        model = base.build()
        reference = BaseReference(name_or_path=base.name, sha256=weights_sha256(model))
        attached = attach(model, self.config, seed=0)
        stir(attached)
        save_adapter(attached, tmp_path / "adapter", base=reference)
        again = base.build()
        loaded = load_adapter(again, tmp_path / "adapter")
        assert loaded.config == self.config
        assert all(
            torch.equal(a, b) for a, b in zip(run(base, again, rows), run(base, model, rows), strict=True)
        )

    def test_off_it_is_the_base_and_on_again_itself(self, base, rows) -> None:
        model = base.build()
        before = run(base, model, rows)
        attached = attach(model, self.config, seed=0)
        stir(attached)
        adapted = run(base, model, rows)
        with attached.disabled():
            assert all(torch.equal(a, b) for a, b in zip(run(base, model, rows), before, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(run(base, model, rows), adapted, strict=True))

    def test_training_leaves_the_base_and_removal_restores_it(self, base, rows) -> None:
        model = base.build()
        modules = {name: type(module) for name, module in model.named_modules()}
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        digest = weights_sha256(model)
        attached = attach(model, self.config, seed=0)
        if self.trains:
            train(base, attached, rows, steps=2)
        if self.config.kind != "full":
            assert weights_sha256(model) == digest
        assert attached.remove() is model
        after = model.state_dict()
        assert list(after) == list(weights)
        assert all(torch.equal(after[name], value) for name, value in weights.items())
        assert {name: type(module) for name, module in model.named_modules()} == modules
        assert all(parameter.requires_grad for parameter in model.parameters())
        attach(model, self.config)

    def test_it_overfits_a_few_rows(self, base, rows) -> None:
        attached = attach(base.build(), self.config, seed=0)
        if not self.trains:
            assert not any(parameter.requires_grad for parameter in attached.model.parameters())
            return
        losses = train(base, attached, rows, steps=25)
        assert losses[-1] < 0.3 * losses[0]
        names = {name for name, parameter in attached.model.named_parameters() if parameter.requires_grad}
        assert len(names) == len(attached.trainable())

    def test_a_seed_makes_the_same_adapter(self, bert) -> None:
        first, second = (attach(bert.build(), self.config, seed=5).state() for _ in range(2))
        assert all(torch.equal(first[name], second[name]) for name in first)

    def test_a_second_adapter_is_refused(self, bert) -> None:
        model = bert.build()
        attach(model, self.config)
        with pytest.raises(AdapterError, match="has an adapter already"):
            attach(model, self.config)

    def test_a_copy_of_the_model_has_an_adapter_of_its_own(self, bert, rows) -> None:
        model = bert.build()
        attached = attach(model, self.config, seed=0)
        stir(attached)
        adapted = run(bert, model, rows)
        twin = copy.deepcopy(model)
        with torch.no_grad():
            for _, parameter in attached.trainable():
                parameter.zero_()
        assert differ(run(bert, twin, rows), adapted) == 0

    def test_weights_that_do_not_fit_are_refused_and_change_nothing(self, bert) -> None:
        attached = attach(bert.build(), self.config, seed=0)
        state = {name: value.clone() for name, value in attached.state().items()}
        with pytest.raises(AdapterError, match="stranger is not known"):
            attached.load_state({**state, "stranger": torch.zeros(1)}, where=None)
        if not self.trains:
            return
        first = next(iter(state))
        with pytest.raises(AdapterError, match="is missing"):
            attached.load_state(
                {name: value + 1 for name, value in state.items() if name != first}, where=None
            )
        with pytest.raises(AdapterError, match="not float32"):
            attached.load_state({**state, first: state[first].double()}, where=None)
        assert all(torch.equal(value, state[name]) for name, value in attached.state().items())


class TestSparseGIN(Contract):
    config = SparseGINConfig(rank=8)


class TestTopK(Contract):
    config = SparseGINConfig(rank=8, edges="topk", k=2, heads="mean", self_edges=False)


class TestPerHead(Contract):
    config = SparseGINConfig(rank=8, edges="soft", heads="per_head")


class TestIdentity(Contract):
    config = SparseGINConfig(rank=8, adjacency="identity")


class TestBottleneck(Contract):
    config = BottleneckConfig(rank=8)


class TestLoRA(Contract):
    config = LoRAConfig(rank=4)


class TestFrozen(Contract):
    config = FrozenConfig()
    trains = False


class TestFull(Contract):
    config = FullConfig()


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_either_attention_of_a_model_may_be_adapted(hf_base, rows, implementation: str) -> None:
    """Eager attention has masks of another kind; the graph is the same."""
    graphs = []
    for used in ("sdpa", implementation):
        model = hf_base.build()
        model.set_attn_implementation(used)
        before = run(hf_base, model, rows)
        attached = inject(model, SparseGINConfig(rank=4), seed=0)
        with attached.recording() as recorded:
            after = run(hf_base, model, rows)
        assert differ(after, before) == 0
        graphs.append(torch.stack(recorded))
        attached.remove()
        assert model.config._attn_implementation == used
    torch.testing.assert_close(graphs[0], graphs[1], **CLOSE)


def test_the_ramp_rises_over_depth(bert) -> None:
    state = attach(bert.build(), SparseGINConfig(rank=4, ramp=0.5)).state()
    assert [float(state[f"layers.{layer}.scale"]) for layer in range(3)] == [0.0, 0.25, 0.5]


def test_only_chosen_layers_get_an_adapter(bert) -> None:
    attached = attach(bert.build(), SparseGINConfig(rank=4, layers=(2, 0)))
    assert {name.split(".")[1] for name, _ in attached.trainable()} == {"0", "2"}
    for wrong in ((3,), (1, 1)):
        with pytest.raises(AdapterError, match="layers that are not there, or twice"):
            attach(bert.build(), BottleneckConfig(layers=wrong))


def test_heads_must_divide_the_rank(bert) -> None:
    model = bert.build()
    with pytest.raises(AdapterError, match="a multiple of 4"):
        attach(model, SparseGINConfig(rank=6, heads="per_head"))
    attach(model, FrozenConfig())  # the refusal left nothing behind


def test_only_changes_of_weights_are_merged(bert, rows) -> None:
    for config, reason in (
        (SparseGINConfig(), "graph that changes"),
        (BottleneckConfig(), "step of its own"),
    ):
        with pytest.raises(AdapterError, match=reason):
            attach(bert.build(), config).merge()
    model = bert.build()
    attached = attach(model, LoRAConfig(rank=4), seed=0)
    stir(attached)
    adapted = run(bert, model, rows)
    attached.merge()
    assert differ(run(bert, model, rows), adapted) < 1e-4
    assert not [name for name in model.state_dict() if "lora" in name]


# The argument's name changes between the versions of transformers that are supported.
@pytest.mark.filterwarnings("ignore:.past_key_values. is deprecated:FutureWarning")
def test_a_key_value_cache_is_refused(hf_base) -> None:
    """One token at a time has no neighbours; silence would be another model."""
    if not hf_base.causal:
        pytest.skip("encoders have no cache")
    model = hf_base.build()
    inject(model, SparseGINConfig(rank=4))
    ids = torch.tensor([[5, 6, 7]])
    cache = model(input_ids=ids, use_cache=True).past_key_values
    with pytest.raises(AdapterError, match="use_cache=False"):
        model(input_ids=ids[:, :1], past_key_values=cache, use_cache=True)
