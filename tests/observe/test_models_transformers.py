"""Models of transformers, weights random, as they are and with something broken in them.

Skipped if transformers is not installed: `make test-programs` has it.
"""

from __future__ import annotations

import os

import pytest
import torch
import torchport

pytestmark = pytest.mark.devices("cuda:1")

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
D = "cuda"


def bert() -> torch.nn.Module:
    return transformers.BertModel(
        transformers.BertConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            vocab_size=100,
        )
    )


def gpt2() -> torch.nn.Module:
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            n_embd=32,
            n_layer=2,
            n_head=2,
            vocab_size=100,
            n_positions=32,
            bos_token_id=1,
            eos_token_id=2,
        )
    )


def tokens() -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.randint(3, 100, (2, 7)),
        "attention_mask": torch.ones(2, 7, dtype=torch.long),
    }


def check(result: torchport.Verification) -> None:
    assert result.mixed is None
    assert not [f for f in result.findings if f.code == "misplaced-tensor"]


def test_bert() -> None:
    result = torchport.verify(bert(), tokens(), device=D, evaluate=True)
    check(result)
    assert {t.op for t in result.transfers} <= {"aten::is_nonzero", "aten::item"}


def test_gpt2() -> None:
    check(torchport.verify(gpt2(), tokens(), device=D, evaluate=True))


def test_gpt2_generates() -> None:
    def generate(model, **given):
        return model.generate(**given, max_new_tokens=3, do_sample=False, pad_token_id=0)

    result = torchport.verify(gpt2(), tokens(), device=D, call=generate, evaluate=True)
    check(result)
    kinds = [t.kind for t in result.transfers]
    assert "read" in kinds, "generate() asks after each token whether it is done"


def test_types_that_are_left_on_the_host() -> None:
    given = {name: value.to(D) for name, value in tokens().items()}
    given["token_type_ids"] = torch.zeros(2, 7, dtype=torch.long)
    mixed = torchport.verify(bert().to(D), given, evaluate=True).mixed
    assert mixed.culprit.name == "token_type_ids" and mixed.pattern == "model/input"
    assert mixed.module == "embeddings.token_type_embeddings"


def test_a_head_that_is_untied_on_the_host() -> None:
    model = gpt2().to(D)
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().cpu())
    given = {name: value.to(D) for name, value in tokens().items()}
    mixed = torchport.verify(model, given, evaluate=True).mixed
    assert mixed.culprit.name == "lm_head.weight" and mixed.module == "lm_head"
