"""Models of transformers from tiny random configurations, and device_map="auto" over two devices."""

from __future__ import annotations

import sys
import tempfile

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    GPT2Config,
    LlamaConfig,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
)

LLAMA = LlamaConfig(
    vocab_size=100,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)


def models() -> dict[str, torch.nn.Module]:
    gpt2 = GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    gpt2.resid_pdrop = gpt2.embd_pdrop = gpt2.attn_pdrop = 0.0
    bert = BertConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    t5 = T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0
    )
    t5.decoder_start_token_id = 0
    vit = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
    )
    return {
        "gpt2": AutoModelForCausalLM.from_config(gpt2),
        "llama": AutoModelForCausalLM.from_config(LLAMA),
        "bert": AutoModelForMaskedLM.from_config(bert),
        "t5": T5ForConditionalGeneration(t5),
        "vit": ViTForImageClassification(vit),
    }


def batch(name: str, chance: torch.Generator) -> dict[str, torch.Tensor]:
    if name == "vit":
        pictures = torch.randn(4, 3, 32, 32, generator=chance)
        return {"pixel_values": pictures, "labels": torch.randint(0, 2, (4,), generator=chance)}
    words = torch.randint(0, 100, (4, 12), generator=chance)
    return {"input_ids": words, "labels": words}


def train(name: str, model: torch.nn.Module, device: str) -> float:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    chance = torch.Generator().manual_seed(1)
    for _ in range(3):
        given = {key: value.to(device) for key, value in batch(name, chance).items()}
        loss = model(**given).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def says(model: torch.nn.Module, device: str) -> list[int]:
    start = torch.arange(1, 5, device=device)[None]
    out = model.eval().generate(start, max_new_tokens=8, do_sample=False, pad_token_id=0)
    return out[0].tolist()


def every_model(device: str) -> None:
    torch.manual_seed(0)
    for name, model in models().items():
        model.to(device)
        print(name, "loss", train(name, model, device))
        if name in ("gpt2", "llama", "t5"):
            print(name, "says", *says(model, device))


def device_map() -> None:
    """The layers spread over two devices by their limits; the rest stays on the host."""
    torch.manual_seed(2)
    model = AutoModelForCausalLM.from_config(LLAMA).eval()
    words = torch.arange(1, 9)[None]
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        want = model(words).logits
        model.save_pretrained(folder)
        for limits in ({0: "300KB", 1: "10MB"}, {0: "300KB", 1: "300KB", "cpu": "1GB"}):
            spread = AutoModelForCausalLM.from_pretrained(
                folder, device_map="auto", max_memory=limits
            )
            used = sorted({str(place) for place in spread.hf_device_map.values()})
            assert torch.cuda.memory_allocated(0) and torch.cuda.memory_allocated(1)
            got = spread(words.to("cuda:0")).logits.cpu()
            torch.testing.assert_close(got, want)
            print("spread over", *used)


class Lines(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        line = (torch.arange(12) * 7 + i) % 100
        return {"input_ids": line, "labels": line}


def trainer() -> None:
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder,
            num_train_epochs=3,
            per_device_train_batch_size=8,
            learning_rate=1e-2,
            report_to="none",
            disable_tqdm=True,
            bf16=True,
            save_strategy="epoch",
        )
        model = AutoModelForCausalLM.from_config(LLAMA)
        run = Trainer(model, options, train_dataset=Lines())
        assert options.device.type == "cuda" and options.n_gpu == torch.cuda.device_count()
        before = run.evaluate(Lines())["eval_loss"]
        run.train()
        after = run.evaluate(Lines())["eval_loss"]
        assert model.device.type == "cuda" and after < before, (before, after)
    print("trained")


if __name__ == "__main__":
    every_model(sys.argv[1])
    if sys.argv[1] != "cpu":
        device_map()
        trainer()
