"""Training of bert-large as a classifier on random tokens, as Hugging Face's guide to training on one GPU describes it.

Source: huggingface/transformers, docs/source/en/perf_train_gpu_one.mdx. A step is that of its Trainer of January 2022:
attention as products and softmax, gradients that are clipped and then set to zero, AdamW one parameter after the other,
checkpointing of the reentrant kind, and autocast with scaled gradients for float16. The configuration is bert-large-uncased's.
"""

import argparse

import torch
import transformers

LENGTH = 512

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--checkpointing", action="store_true")
parser.add_argument("--half", action="store_true")
parser.add_argument("--adafactor", action="store_true")
parser.add_argument("--keep-scores", action="store_true", help="as softmax before torch 1.11")
parser.add_argument("--steps", type=int, default=3, help="0 only loads the model")
args = parser.parse_args()


class SoftmaxThatKeepsScores(torch.autograd.Function):
    """Keeps its argument for the backward pass, too (github.com/pytorch/pytorch/pull/66018 ended that)."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, scores, dim):
        result = torch.softmax(scores, dim)
        ctx.save_for_backward(scores, result)
        ctx.dim = dim
        return result

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        scores, result = ctx.saved_tensors
        return torch._softmax_backward_data(gradient, result, ctx.dim, scores.dtype), None


if args.keep_scores:
    torch.nn.functional.softmax = lambda scores, dim: SoftmaxThatKeepsScores.apply(scores, dim)

config = transformers.BertConfig(
    hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
)
config._attn_implementation = "eager"
model = transformers.BertForSequenceClassification(config).to("cuda")
if args.checkpointing:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})

bare = [one for name, one in model.named_parameters() if "bias" in name or "LayerNorm" in name]
known = {id(one) for one in bare}
decayed = [one for one in model.parameters() if id(one) not in known]
groups = [{"params": decayed, "weight_decay": 0.0}, {"params": bare, "weight_decay": 0.0}]
if args.adafactor:
    from transformers.optimization import Adafactor

    optimizer = Adafactor(groups, lr=5e-5, scale_parameter=False, relative_step=False)
else:
    optimizer = torch.optim.AdamW(groups, lr=5e-5, foreach=False)
scaler = torch.amp.GradScaler("cuda", enabled=args.half)

model.train()
total = torch.tensor(0.0, device="cuda")
for _ in range(args.steps):
    for _ in range(args.accumulate):
        tokens = torch.randint(100, 30000, (args.batch, LENGTH)).to("cuda")
        labels = torch.zeros(args.batch, dtype=torch.long).to("cuda")
        with torch.autocast("cuda", torch.float16, enabled=args.half):
            loss = model(input_ids=tokens, labels=labels).loss
        loss = loss / args.accumulate
        scaler.scale(loss).backward()
        total += loss.detach()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
    scaler.step(optimizer)
    scaler.update()
    model.zero_grad(set_to_none=False)
torch.cuda.synchronize()
