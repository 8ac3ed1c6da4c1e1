"""Trains a language model of the transformers package, made from its configuration, on random tokens."""

import argparse

import torch
import torch.distributed.fsdp
import transformers

MODELS = {
    "gpt2": ("GPT2Config", {}),
    "gpt2-medium": ("GPT2Config", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "bert-base": ("BertConfig", {}),
    "bert-large": (
        "BertConfig",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    ),
    "roberta-base": ("RobertaConfig", {"vocab_size": 50265}),
    "distilbert": ("DistilBertConfig", {}),
    "opt-125m": ("OPTConfig", {}),
    "opt-1.3b": (
        "OPTConfig",
        {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "ffn_dim": 8192},
    ),
    "pythia-410m": (
        "GPTNeoXConfig",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    ),
    "tiny-llama": (
        "LlamaConfig",
        {
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "num_hidden_layers": 22,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
        },
    ),
    "llama-3.2-1b": (
        "LlamaConfig",
        {
            "vocab_size": 128256,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "tie_word_embeddings": True,
        },
    ),
    "llama-2-7b": ("LlamaConfig", {}),
    "llama-2-70b": (
        "LlamaConfig",
        {
            "hidden_size": 8192,
            "intermediate_size": 28672,
            "num_hidden_layers": 80,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
        },
    ),
    "qwen3-0.6b": (
        "Qwen3Config",
        {
            "vocab_size": 151936,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "tie_word_embeddings": True,
        },
    ),
    "gemma-2b": ("GemmaConfig", {"num_hidden_layers": 18, "hidden_size": 2048, "intermediate_size": 16384,
                                 "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256}),
    "phi-2": ("PhiConfig", {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
                            "num_attention_heads": 32}),
    "t5-base": (
        "T5Config",
        {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "decoder_start_token_id": 0},
    ),
    "mamba-130m": ("MambaConfig", {"hidden_size": 768, "num_hidden_layers": 24}),
}  # fmt: skip


class LowRank(torch.nn.Module):
    """A linear layer that is kept, and a trained product of two thin matrices beside it."""

    def __init__(self, kept: torch.nn.Linear, rank: int) -> None:
        super().__init__()
        self.kept = kept
        how = {"device": kept.weight.device, "dtype": torch.float32}
        self.down = torch.nn.Linear(kept.in_features, rank, bias=False, **how)
        self.up = torch.nn.Linear(rank, kept.out_features, bias=False, **how)
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.kept(x) + self.up(self.down(x.to(self.down.weight.dtype))).to(x.dtype)


parser = argparse.ArgumentParser()
parser.add_argument("--model", default="gpt2", choices=MODELS)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--type", default="float32")
parser.add_argument("--autocast", default="none", choices=["none", "float16", "bfloat16"])
parser.add_argument(
    "--optimizer",
    default="adamw",
    choices=["adamw", "adamw-fused", "adamw-loop", "sgd", "adafactor"],
)
parser.add_argument("--attention", default="sdpa", choices=["sdpa", "eager"])
parser.add_argument("--checkpointing", action="store_true")
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--clip", action="store_true")
parser.add_argument("--low-rank", type=int, default=0)
parser.add_argument("--shard", action="store_true", help="over all ranks, by fully_shard")
parser.add_argument("--dropout", action="store_true", help="keep the configuration's dropout")
args = parser.parse_args()

torch.manual_seed(0)
kind, words = MODELS[args.model]
config = getattr(transformers, kind)(**words)
config._attn_implementation = args.attention
config.use_cache = False
is_encoder = kind in {"BertConfig", "RobertaConfig", "DistilBertConfig"}
make = {True: transformers.AutoModelForMaskedLM, False: transformers.AutoModelForCausalLM}[
    is_encoder
]
if kind == "T5Config":
    make = transformers.AutoModelForSeq2SeqLM
with torch.device("meta" if args.shard else "cuda"):
    model = make.from_config(config, dtype=getattr(torch, args.type))
model.train()
if args.low_rank:
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear) and name in {
                "q_proj",
                "k_proj",
                "v_proj",
                "o_proj",
            }:
                setattr(module, name, LowRank(child, args.low_rank))
    if args.checkpointing:
        model.enable_input_require_grads()
if args.checkpointing:
    model.gradient_checkpointing_enable({"use_reentrant": False})

if args.shard:
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl")
    for layer in model.model.layers:
        torch.distributed.fsdp.fully_shard(layer)
    torch.distributed.fsdp.fully_shard(model)
    model.to_empty(device="cuda")

wanted = [one for one in model.parameters() if one.requires_grad]
optimizer = {
    "adamw": lambda: torch.optim.AdamW(wanted, lr=1e-4),
    "adamw-fused": lambda: torch.optim.AdamW(wanted, lr=1e-4, fused=True),
    "adamw-loop": lambda: torch.optim.AdamW(wanted, lr=1e-4, foreach=False),
    "sgd": lambda: torch.optim.SGD(wanted, lr=1e-2),
    "adafactor": lambda: torch.optim.Adafactor(wanted, lr=1e-3),
}[args.optimizer]()
scaler = torch.amp.GradScaler("cuda", enabled=args.autocast == "float16")
amp = torch.autocast(
    "cuda", getattr(torch, args.autocast, torch.float32), enabled=args.autocast != "none"
)

for _ in range(args.steps):
    for _ in range(args.accumulate):
        tokens = torch.randint(0, 30000, (args.batch, args.length)).to("cuda")
        with amp:
            loss = model(input_ids=tokens, labels=tokens).loss / args.accumulate
        scaler.scale(loss).backward()
    if args.clip:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(wanted, 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
torch.cuda.synchronize()
