"""Models of timm and transformers, weights random, as they are and with something broken in them."""

import sys

import torch
import torchport
from cases import CASES, case, run_all

D = "cuda"


def _timm(name, size):
    import timm

    return timm.create_model(name), torch.randn(2, 3, size, size)


if sys.argv[1] == "timm":

    @case
    def resnet50():
        return torchport.verify(*_timm("resnet50", 64), device=D, evaluate=True)

    @case
    def vit():
        model, images = _timm("vit_tiny_patch16_224", 224)
        return torchport.verify(model, images, device=D, evaluate=True)

    @case
    def convnext():
        model, images = _timm("convnext_atto", 64)
        return torchport.verify(model, images, device=D, evaluate=True)

    @case
    def vit_with_its_position_left():
        model, images = _timm("vit_tiny_patch16_224", 224)
        model.to(D)
        model.pos_embed = torch.nn.Parameter(model.pos_embed.cpu())
        return torchport.verify(model, images.to(D), evaluate=True)

    @case
    def resnet_trains():
        def step(model, images):
            model(images).sum().backward()

        model, images = _timm("resnet18", 64)
        return torchport.verify(model, images, device=D, call=step, training=True)

else:
    import transformers

    def _bert():
        return transformers.BertModel(
            transformers.BertConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=64,
                vocab_size=100,
            )
        )

    def _gpt2():
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

    def _tokens():
        return {
            "input_ids": torch.randint(3, 100, (2, 7)),
            "attention_mask": torch.ones(2, 7, dtype=torch.long),
        }

    @case
    def bert():
        return torchport.verify(_bert(), _tokens(), device=D, evaluate=True)

    @case
    def gpt2():
        return torchport.verify(_gpt2(), _tokens(), device=D, evaluate=True)

    @case
    def gpt2_generates():
        def generate(model, **given):
            return model.generate(**given, max_new_tokens=3, do_sample=False, pad_token_id=0)

        return torchport.verify(_gpt2(), _tokens(), device=D, call=generate, evaluate=True)

    @case
    def bert_with_its_types_left():
        tokens = {name: value.to(D) for name, value in _tokens().items()}
        tokens["token_type_ids"] = torch.zeros(2, 7, dtype=torch.long)
        return torchport.verify(_bert().to(D), tokens, evaluate=True)

    @case
    def gpt2_untied():
        model = _gpt2().to(D)
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().cpu())
        tokens = {name: value.to(D) for name, value in _tokens().items()}
        return torchport.verify(model, tokens, evaluate=True)


assert CASES
run_all()
