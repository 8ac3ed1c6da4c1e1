"""One step of fine-tuning Qwen3.5 on random tokens, as FakeGPU's published measurements describe it: alone, or on some
ranks with FSDP (`--shard fsdp`) or fully_shard (`--shard fsdp2`).

Source: FanBB2333/FakeGPU, docs/llm-sft-memory-estimation.md. Sizes of the models are those with which the published
counts of parameters come out (752,393,024 and 1,881,825,088; with LoRA 5,411,328 and 8,409,600 of them are trained).
"""

import argparse

import torch
import transformers

SIZES = {
    "0.8b": {"hidden_size": 1024, "intermediate_size": 3584},
    "2b": {"hidden_size": 2048, "intermediate_size": 6144},
}

parser = argparse.ArgumentParser()
parser.add_argument("--size", default="0.8b", choices=SIZES)
parser.add_argument("--length", type=int, default=16)
parser.add_argument(
    "--rank", type=int, default=0, help="of LoRA on all linear layers; 0 trains all parameters"
)
parser.add_argument("--checkpointing", action="store_true")
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--shard", default="none", choices=["none", "fsdp", "fsdp2"])
args = parser.parse_args()

torch.manual_seed(0)
config = transformers.Qwen3_5TextConfig(
    vocab_size=248320,
    num_hidden_layers=24,
    num_attention_heads=8,
    num_key_value_heads=2,
    linear_num_key_heads=16,
    linear_num_value_heads=16,
    tie_word_embeddings=True,
    use_cache=False,
    **SIZES[args.size],
)
config._attn_implementation = "sdpa"
model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
if args.rank:
    import peft

    model = peft.get_peft_model(
        model,
        peft.LoraConfig(
            r=args.rank,
            lora_alpha=16,
            bias="none",
            task_type="CAUSAL_LM",
            target_modules="all-linear",
        ),
    )
if args.checkpointing:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if args.rank:
        model.enable_input_require_grads()
model.train()
layers = [one for one in model.modules() if type(one).__name__ == "Qwen3_5DecoderLayer"]
if args.shard != "none":
    import torch.distributed as dist
    from torch.distributed import fsdp

    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
if args.shard == "fsdp":
    model = fsdp.FullyShardedDataParallel(
        model,
        auto_wrap_policy=fsdp.wrap.ModuleWrapPolicy({type(layers[0])}),
        device_id=torch.device("cuda:0"),
        sharding_strategy=fsdp.ShardingStrategy.FULL_SHARD,
        backward_prefetch=None,
        forward_prefetch=False,
        limit_all_gathers=True,
        use_orig_params=False,
    )
else:
    model.to("cuda:0")
if args.shard == "fsdp2":
    mesh = dist.device_mesh.init_device_mesh(
        "cuda", (dist.get_world_size(),), mesh_dim_names=("dp",)
    )
    for layer in layers:
        fsdp.fully_shard(layer, mesh=mesh, reshard_after_forward=True)
    fsdp.fully_shard(model, mesh=mesh, reshard_after_forward=True)
torch.cuda.reset_peak_memory_stats()

batches = []
for _ in range(args.accumulate):
    tokens = torch.randint(100, config.vocab_size, (1, args.length))
    labels = tokens.clone()
    labels[:, : args.length // 2] = -100
    places = torch.arange(args.length).view(1, 1, -1).expand(3, 1, args.length).clone()
    batches.append({"input_ids": tokens, "labels": labels, "position_ids": places})
batches = [{name: one.to("cuda:0") for name, one in batch.items()} for batch in batches]
wanted = [one for one in model.parameters() if one.requires_grad]
optimizer = torch.optim.AdamW(wanted, lr=1e-5, foreach=False)
for number, batch in enumerate(batches, 1):
    outputs = model(**batch, use_cache=False)
    loss = outputs.loss / args.accumulate
    loss.backward()
    if number < args.accumulate:
        del outputs, loss
optimizer.step()
torch.cuda.synchronize()
