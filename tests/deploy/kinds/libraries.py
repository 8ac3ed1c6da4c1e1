"""Models of timm and transformers, made small by their settings, with random weights."""

from __future__ import annotations

import sys
from pathlib import Path

# What timm asks of torchvision, whose wheel does not fit the checkout's torch. transformers must not
# see it: it would use more of torchvision than that.
STANDINS = str(Path(__file__).parents[2] / "virtual" / "standins")
sys.path.insert(0, STANDINS)
import timm  # noqa: E402

sys.path.remove(STANDINS)
for _name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
    del sys.modules[_name]

import torch  # noqa: E402
import transformers  # noqa: E402
from kinds import kind  # noqa: E402

_SMALL = {
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}


def _image(name, size=64):
    def make():
        return timm.create_model(name, num_classes=10), torch.randn(2, 3, size, size)

    return make


for _name, _size in (
    ("resnet18", 64),
    ("convnext_atto", 64),
    ("vit_tiny_patch16_224", 224),
    ("swin_tiny_patch4_window7_224", 224),
    ("efficientnet_b0", 64),
    ("maxvit_nano_rw_256", 256),
):
    kind(f"timm {_name}")(_image(_name, _size))


def _ids():
    return torch.randint(3, 90, (2, 8))


@kind("transformers BERT classifier")
def bert():
    config = transformers.BertConfig(vocab_size=100, **_SMALL)
    return transformers.BertForSequenceClassification(config), {
        "input_ids": _ids(),
        "attention_mask": torch.ones(2, 8, dtype=torch.long),
    }


@kind("transformers GPT-2")
def gpt2():
    config = transformers.GPT2Config(
        vocab_size=100, n_layer=2, n_embd=32, n_head=4, use_cache=False
    )
    return transformers.GPT2LMHeadModel(config), {"input_ids": _ids()}


@kind("transformers Llama")
def llama():
    config = transformers.LlamaConfig(
        vocab_size=100, num_key_value_heads=2, use_cache=False, **_SMALL
    )
    return transformers.LlamaForCausalLM(config), {"input_ids": _ids()}


@kind("transformers T5")
def t5():
    config = transformers.T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False
    )
    return transformers.T5ForConditionalGeneration(config), {
        "input_ids": _ids(),
        "decoder_input_ids": torch.randint(3, 90, (2, 4)),
    }


@kind("transformers CLIP")
def clip():
    text = {"vocab_size": 100, "max_position_embeddings": 16, "eos_token_id": 2, **_SMALL}
    vision = {"image_size": 32, "patch_size": 8, **_SMALL}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    return transformers.CLIPModel(config), {
        "input_ids": _ids(),
        "pixel_values": torch.randn(2, 3, 32, 32),
        "attention_mask": torch.ones(2, 8, dtype=torch.long),
    }


@kind("transformers ViT")
def vit():
    config = transformers.ViTConfig(image_size=32, patch_size=8, **_SMALL)
    return transformers.ViTForImageClassification(config), {
        "pixel_values": torch.randn(2, 3, 32, 32)
    }


@kind("transformers Whisper")
def whisper():
    config = transformers.WhisperConfig(
        vocab_size=100, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_source_positions=20, max_target_positions=20, use_cache=False, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    return transformers.WhisperForConditionalGeneration(config), {
        "input_features": torch.randn(2, 8, 40),
        "decoder_input_ids": torch.randint(3, 90, (2, 4)),
    }
