"""Models of transformers and timm, spread over processes: outputs are those of one process."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
import torchport
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 50,
}
# How many layers are sharded on their own, and how many groups of linear layers are split.
EXPECTED = {
    "bert": (2, 14),
    "llama": (2, 5),
    "resnet18": (8, 1),
    "vit_tiny_patch16_224": (2, 7),
    "convnext_atto": (6, 1),
}


def language_models() -> Iterator[tuple[str, nn.Module, torch.Tensor]]:
    tokens = torch.randint(0, 50, (2, 6))
    yield "bert", BertForSequenceClassification(BertConfig(**SMALL)), tokens
    yield "llama", LlamaForCausalLM(LlamaConfig(**SMALL, num_key_value_heads=2)), tokens


def vision_models() -> Iterator[tuple[str, nn.Module, torch.Tensor]]:
    # transformers, imported before, would take timm's stand-in of torchvision for the real one.
    sys.path.insert(0, os.environ["STANDINS"])
    import timm

    for name in ("resnet18", "vit_tiny_patch16_224", "convnext_atto"):
        options = {"depth": 2} if name.startswith("vit") else {}
        model = timm.create_model(name, num_classes=4, **options)
        yield name, model.double(), torch.randn(2, 3, 224, 224, dtype=torch.float64)


def output(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        got = model(x)
    return getattr(got, "logits", got)


def spread(models: Iterator[tuple[str, nn.Module, torch.Tensor]]) -> None:
    for name, model, x in models:
        model.eval()
        assert not torchport.adopt(model), name
        assert torchport.check_module(model) == [], name
        want = output(model, x)
        found = []
        for strategy in ("fsdp", "tensor"):
            net = torchport.parallelize(copy.deepcopy(model), strategy)
            torch.testing.assert_close(output(net, x), want, rtol=1e-4, atol=1e-5)
            state = torchport.full_state_dict(net)
            assert list(state) == list(model.state_dict())
            plan = torchport.plan_parallel(net)
            found.append(len(plan.units) if strategy == "fsdp" else len(plan.groups))
        assert tuple(found) == EXPECTED[name], (name, found)


def transformers_models() -> None:
    torch.manual_seed(0)
    spread(language_models())


def timm_models() -> None:
    torch.manual_seed(0)
    spread(vision_models())


def layers_of_other_kinds_are_not_split() -> None:
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=50))
    assert torchport.shared_parameters(model).groups == (
        ("transformer.wte.weight", "lm_head.weight"),
    )
    with pytest.raises(RuntimeError, match="there are no linear layers to split"):
        torchport.parallelize(model, "tensor")  # its layers are Conv1D, its head is tied


for check in (transformers_models, timm_models, layers_of_other_kinds_are_not_split):
    check()
    print(f"passed: {check.__name__}\n", end="", flush=True)
if dist.is_initialized():
    dist.destroy_process_group()
