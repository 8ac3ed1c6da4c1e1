"""Trains an adapter (LoRA) of bloomz-7b1 on random tokens, as PEFT's example of February 2023 does.

Source: huggingface/peft, README.md, and examples/causal_language_modeling/peft_lora_clm_accelerate_ds_zero3_offload.py: a
batch of 8 texts of 64 tokens, weights of float32. The loss is that of Bloom then, which copies the logits but the last.
"""

import argparse

import peft
import torch
import torch.nn.functional as F
import transformers

BATCH, LENGTH = 8, 64

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=3)
args = parser.parse_args()

config = transformers.BloomConfig(vocab_size=250880, hidden_size=4096, n_layer=30, n_head=32)
config._attn_implementation = "eager"
model = transformers.BloomForCausalLM(config)
adapter = peft.LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=32, lora_dropout=0.1)
model = peft.get_peft_model(model, adapter).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, foreach=False)

model.train()
total = torch.tensor(0.0, device="cuda")
for _ in range(args.steps):
    tokens = torch.randint(100, 250000, (BATCH, LENGTH)).to("cuda")
    mask = torch.ones(BATCH, LENGTH, dtype=torch.long).to("cuda")
    logits = model(input_ids=tokens, attention_mask=mask).logits
    shifted = logits[..., :-1, :].contiguous()
    loss = F.cross_entropy(shifted.view(-1, shifted.size(-1)), tokens[..., 1:].reshape(-1))
    del shifted
    total += loss.detach()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
