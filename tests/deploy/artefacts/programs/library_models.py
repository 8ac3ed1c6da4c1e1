"""Models of timm and transformers with random weights, for exports. NAME FOLDER: exports one to ONNX
and TorchScript, and writes data for it and what eager gives.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch
import torchport
from safetensors.torch import save_file
from torch import nn


class Logits(nn.Module):
    """A language model without its cache, which is no tensor."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, use_cache=False
        ).logits


def _timm(name: str, size: int, **options):
    def make():
        import timm

        model = timm.create_model(name, pretrained=False, num_classes=10, **options)
        return model, (torch.randn(3, 3, size, size),), ["batch"]

    return make


def _tokens(model: nn.Module):
    ids = torch.randint(0, 99, (2, 12))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    axes = ["batch", "input_ids:1=tokens", "attention_mask:1=tokens"]
    return model, {"input_ids": ids, "attention_mask": mask}, axes


def _bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=37, max_position_embeddings=64,
    )  # fmt: skip
    return _tokens(BertForSequenceClassification(config))


def _gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return _tokens(Logits(GPT2LMHeadModel(config)))


MODELS = {
    "resnet50": _timm("resnet50", 64),
    "vit": _timm("vit_tiny_patch16_224", 32, img_size=32, patch_size=8, depth=2),
    "convnext": _timm("convnext_atto", 64),
    "bert": _bert,
    "gpt2": _gpt2,
}


def main(name: str, folder: Path) -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    trained, inputs, axes = MODELS[name]()
    torch.manual_seed(1)
    fresh, _, _ = MODELS[name]()
    torch.save({"state_dict": nn.DataParallel(trained).state_dict()}, folder / "trained.pth")
    for to, path in (("onnx", "model.onnx"), ("torchscript", "model.pt")):
        done = torchport.export(
            fresh, inputs, to=to, path=folder / path, dynamic=axes, weights=folder / "trained.pth"
        )
        print(to, done.parity.relative, done.parity.top1, *done.contract["axes"])
        assert len(done.parity.batches) >= 4
    named = inputs if isinstance(inputs, dict) else {"x": inputs[0]}
    save_file(named, folder / "inputs.safetensors")
    with torch.no_grad():
        wanted = trained.eval()(**inputs) if isinstance(inputs, dict) else trained.eval()(*inputs)
    wanted = wanted if torch.is_tensor(wanted) else wanted.logits
    save_file({"wanted": wanted.contiguous()}, folder / "wanted.safetensors")


main(sys.argv[1], Path(sys.argv[2]))
