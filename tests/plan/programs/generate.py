"""Generates tokens with a causal model of the transformers package, made from its configuration."""

import argparse

import torch
import transformers

MODELS = {
    "gpt2-xl": ("GPT2Config", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "llama-2-7b": ("LlamaConfig", {}),
    # bigcode/starcoder's, of which bigcode/octocoder is a fine-tuned one
    "octocoder": (
        "GPTBigCodeConfig",
        {
            "vocab_size": 49152,
            "n_positions": 8192,
            "n_embd": 6144,
            "n_layer": 40,
            "n_head": 48,
            "n_inner": 24576,
            "activation_function": "gelu",
        },
    ),
    "mistral-7b": (
        "MistralConfig",
        {
            "vocab_size": 32000,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "sliding_window": None,
        },
    ),
    "qwen2-1.5b": (
        "Qwen2Config",
        {
            "vocab_size": 151936,
            "hidden_size": 1536,
            "intermediate_size": 8960,
            "num_hidden_layers": 28,
            "num_attention_heads": 12,
            "num_key_value_heads": 2,
            "tie_word_embeddings": True,
        },
    ),
}

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="gpt2-xl", choices=MODELS)
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--prompt", type=int, default=512)
parser.add_argument("--new", type=int, default=16)
parser.add_argument("--type", default="float16")
parser.add_argument("--attention", default="sdpa")
parser.add_argument("--from-host", action="store_true", help="the model is made there, then moved")
parser.add_argument("--static", action="store_true", help="a cache of fixed size")
args = parser.parse_args()

torch.manual_seed(0)
kind, words = MODELS[args.model]
config = getattr(transformers, kind)(**words)
config._attn_implementation = args.attention
with torch.device("cpu" if args.from_host else "cuda"):
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, args.type))
model.to("cuda").eval()
prompt = torch.randint(0, 30000, (args.batch, args.prompt), device="cuda")
more = {"cache_implementation": "static", "disable_compile": True} if args.static else {}
with torch.inference_mode():
    model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=args.new,
        min_new_tokens=args.new,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
        **more,
    )
torch.cuda.synchronize()
