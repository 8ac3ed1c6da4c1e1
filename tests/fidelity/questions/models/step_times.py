"""How long a step of published models takes: milliseconds of forward, backward and optimizer, by events,
and of a whole step by the clock of the host. Medians of some steps; no other process uses the device.
"""

import statistics
import time

import torch
from recorder.registry import Question, add
from recorder.steps import without_initial_values
from recorder.training import LLAMA_1B, library, lines
from torch.nn import functional as F

EXCLUSIVE = True
HEAVY = True
STEPS = 8


def vision(name):
    library("torchvision")
    import torchvision

    return torchvision.models.get_model(name, weights=None)


def language(config, head, **settings):
    library("transformers")
    import transformers

    made = getattr(transformers, config)(**settings)
    made.use_cache = False
    return getattr(transformers, head)(made)


MODELS = {
    "resnet50": lambda: vision("resnet50"),
    "vit_b_16": lambda: vision("vit_b_16"),
    "convnext_tiny": lambda: vision("convnext_tiny"),
    "mobilenet_v3_large": lambda: vision("mobilenet_v3_large"),
    "gpt2": lambda: language("GPT2Config", "GPT2LMHeadModel"),
    "bert-base": lambda: language("BertConfig", "BertForMaskedLM"),
    "llama-1b": lambda: language("LlamaConfig", "LlamaForCausalLM", **LLAMA_1B),
}
ROWS = """
    resnet50 64 224 fp32 | resnet50 64 224 tf32 | resnet50 64 224 amp | resnet50 64 224 amp-last
    vit_b_16 64 224 fp32 | vit_b_16 64 224 amp | convnext_tiny 32 224 amp | mobilenet_v3_large 64 224 fp32
    gpt2 8 1024 fp32 | gpt2 8 1024 amp | gpt2 1 128 amp | bert-base 32 128 fp32 | bert-base 32 128 amp
    llama-1b 4 512 bf16 | llama-1b 1 2048 bf16
"""


def ask(name, count, size, mode):
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
    with without_initial_values():
        model = MODELS[name]().train()
    model.to("cuda", torch.bfloat16 if mode == "bf16" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if size == 224:
        x, y = torch.rand(count, 3, size, size, device="cuda"), torch.arange(count, device="cuda")
        if mode == "amp-last":
            model, x = (t.to(memory_format=torch.channels_last) for t in (model, x))
    else:
        x = torch.randint(20000, (count, size), device="cuda")
    times = {"forward": [], "backward": [], "optimizer": [], "host": []}
    for _ in range(STEPS):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        torch.cuda.synchronize()
        began = time.perf_counter()
        marks[0].record()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=mode.startswith("amp")):
            loss = (
                F.cross_entropy(model(x), y) if size == 224 else model(input_ids=x, labels=x).loss
            )
        marks[1].record()
        loss.backward()
        marks[2].record()
        optimizer.step()
        optimizer.zero_grad()
        marks[3].record()
        torch.cuda.synchronize()
        times["host"].append((time.perf_counter() - began) * 1000)
        for index, part in enumerate(("forward", "backward", "optimizer")):
            times[part].append(marks[index].elapsed_time(marks[index + 1]))
    return {part: round(statistics.median(found[3:]), 3) for part, found in times.items()}


for row in lines(ROWS):
    name, count, size, mode = row
    given = (name, int(count), int(size), mode)
    add(Question(" ".join(row), lambda given=given: ask(*given), seconds=100))
