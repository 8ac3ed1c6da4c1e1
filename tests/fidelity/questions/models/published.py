"""Memory of published models at the sizes that people train and serve, from their configurations alone.

The models come from torchvision and transformers, where they are installed; their versions are part of
the answer. The steps are those of a training loop: forward, backward, optimizer, twice.
"""

import torch
from recorder.registry import Question, add
from recorder.steps import without_initial_values
from recorder.training import FLOATS, LLAMA_1B, Account, library, lines
from torch.nn import functional as F

HEAVY = True
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-4),
    "adamw fused": lambda p: torch.optim.AdamW(p, lr=1e-4, fused=True),
    "adamw single": lambda p: torch.optim.AdamW(p, lr=1e-4, foreach=False),
}


def loss_of(model, batch):
    found = model(**batch) if isinstance(batch, dict) else model(batch[0])
    if hasattr(found, "loss") and found.loss is not None:
        return found.loss
    if isinstance(found, dict):
        found = found["out"]
    if hasattr(found, "logits"):
        found = found.logits
    return F.cross_entropy(found, batch[1])


def train(make, batch, library_name, optimizer, mode):
    version = library(library_name)
    torch.cuda.init()
    account = Account()
    with without_initial_values():
        model = make().train()
    if "checkpointing" in mode:
        model.gradient_checkpointing_enable()
    model.to("cuda", torch.bfloat16 if mode.startswith("bf16") else None)
    if "channels_last" in mode:
        model.to(memory_format=torch.channels_last)
    account.mark("model")
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    batch = moved(batch(), torch.bfloat16 if mode.startswith("bf16") else None)
    account.mark("batch")
    for step in (1, 2):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=mode.startswith("amp")):
            loss = loss_of(model, batch)
        account.mark(f"forward {step}")
        loss.backward()
        account.mark(f"backward {step}")
        optimizer.step()
        account.mark(f"step {step}")
        optimizer.zero_grad()
        account.mark(f"zero_grad {step}")
        del loss
    return account.end() | {library_name: version}


def serve(make, batch, library_name, dtype):
    version = library(library_name)
    torch.cuda.init()
    account = Account()
    with without_initial_values():
        model = make().eval()
    model.to("cuda", dtype)
    account.mark("model")
    batch = moved(batch(), dtype)
    with torch.inference_mode():
        for step in (1, 2):
            found = model(**batch) if isinstance(batch, dict) else model(batch[0])
            account.mark(f"forward {step}")
            del found
            account.mark(f"result {step}")
    return account.end() | {library_name: version}


def moved(batch, dtype):
    def one(x):
        x = x.cuda()
        return x.to(dtype) if dtype is not None and x.is_floating_point() else x

    return {k: one(v) for k, v in batch.items()} if isinstance(batch, dict) else [*map(one, batch)]


def vision(name, size, **settings):
    def make():
        library("torchvision")
        import torchvision

        return torchvision.models.get_model(name, weights=None, **settings)

    return make, lambda n: lambda: [torch.rand(n, 3, size, size), torch.arange(n)]


def segmentation(name, size):
    def make():
        library("torchvision")
        import torchvision

        return torchvision.models.get_model(name, weights=None, weights_backbone=None)

    def batch(n):
        return lambda: [torch.rand(n, 3, size, size), torch.zeros(n, size, size, dtype=torch.int64)]

    return make, batch


def language(config, head, length, vocabulary=None, **settings):
    """A model of transformers with a language head, and token batches."""

    def make():
        library("transformers")
        import transformers

        made = getattr(transformers, config)(**settings)
        made.use_cache = False
        return getattr(transformers, head)(made)

    def batch(n):
        def tokens():
            ids = torch.randint(vocabulary or 30000, (n, length))
            return {"input_ids": ids, "labels": ids.clone()}

        return tokens

    return make, batch


QWEN = {"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
        "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True}  # fmt: skip
QWEN3 = {"vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
         "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
         "tie_word_embeddings": True}  # fmt: skip
T5 = {"decoder_start_token_id": 0, "pad_token_id": 0}
OPT = {"hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072, "num_attention_heads": 12}
PYTHIA = {"vocab_size": 50304, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
          "intermediate_size": 3072}  # fmt: skip
MEDIUM = {"n_embd": 1024, "n_layer": 24, "n_head": 16}
LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
         "intermediate_size": 4096}  # fmt: skip
MODELS = {
    "resnet18": ("torchvision", *vision("resnet18", 224)),
    "resnet50": ("torchvision", *vision("resnet50", 224)),
    "vgg16": ("torchvision", *vision("vgg16", 224)),
    "mobilenet_v3_large": ("torchvision", *vision("mobilenet_v3_large", 224)),
    "efficientnet_b0": ("torchvision", *vision("efficientnet_b0", 224)),
    "densenet121": ("torchvision", *vision("densenet121", 224)),
    "convnext_tiny": ("torchvision", *vision("convnext_tiny", 224)),
    "vit_b_16": ("torchvision", *vision("vit_b_16", 224)),
    "swin_t": ("torchvision", *vision("swin_t", 224)),
    "regnet_y_8gf": ("torchvision", *vision("regnet_y_8gf", 224)),
    "shufflenet_v2_x1_0": ("torchvision", *vision("shufflenet_v2_x1_0", 224)),
    "deeplabv3_resnet50": ("torchvision", *segmentation("deeplabv3_resnet50", 256)),
    "fcn_resnet50": ("torchvision", *segmentation("fcn_resnet50", 256)),
    "gpt2": ("transformers", *language("GPT2Config", "GPT2LMHeadModel", 1024)),
    "gpt2-medium": ("transformers", *language("GPT2Config", "GPT2LMHeadModel", 512, **MEDIUM)),
    "bert-base": ("transformers", *language("BertConfig", "BertForMaskedLM", 128)),
    "bert-large": ("transformers", *language("BertConfig", "BertForMaskedLM", 384, **LARGE)),
    "distilbert": ("transformers", *language("DistilBertConfig", "DistilBertForMaskedLM", 256)),
    "roberta-base": ("transformers", *language("RobertaConfig", "RobertaForMaskedLM", 256)),
    "t5-small": ("transformers", *language("T5Config", "T5ForConditionalGeneration", 256, **T5)),
    "opt-125m": ("transformers", *language("OPTConfig", "OPTForCausalLM", 512, **OPT)),
    "pythia-160m": ("transformers", *language("GPTNeoXConfig", "GPTNeoXForCausalLM", 512, **PYTHIA)),
    "llama-1b": ("transformers", *language("LlamaConfig", "LlamaForCausalLM", 512, **LLAMA_1B)),
    "qwen2-0.5b": ("transformers", *language("Qwen2Config", "Qwen2ForCausalLM", 512, **QWEN)),
    "qwen3-0.6b": ("transformers", *language("Qwen3Config", "Qwen3ForCausalLM", 512, **QWEN3)),
}  # fmt: skip
TRAINED = """
    resnet18 64 sgd fp32 | resnet50 32 sgd fp32 | resnet50 8 sgd fp32 | resnet50 32 adamw amp
    resnet50 32 sgd amp channels_last | vgg16 16 sgd fp32 | mobilenet_v3_large 32 sgd fp32
    efficientnet_b0 32 sgd fp32 | densenet121 16 sgd fp32 | convnext_tiny 16 adamw fp32
    vit_b_16 16 adamw fp32 | vit_b_16 32 adamw amp | swin_t 16 adamw fp32 | regnet_y_8gf 16 sgd fp32
    shufflenet_v2_x1_0 64 sgd fp32 | deeplabv3_resnet50 4 sgd fp32 | fcn_resnet50 4 adamw amp
    gpt2 4 adamw fp32 | gpt2 4 adamw amp | gpt2 4 adamw bf16 checkpointing | gpt2 2 adamw+fused amp
    gpt2 2 adamw+single fp32 | gpt2-medium 4 adamw fp32 | bert-base 32 adamw fp32 | bert-base 32 adamw amp
    bert-large 4 adamw amp | distilbert 16 adamw fp32 | roberta-base 8 adamw amp | t5-small 8 adamw fp32
    opt-125m 8 adamw fp32 | pythia-160m 8 adamw amp | llama-1b 2 adamw bf16 | llama-1b 2 sgd bf16
    llama-1b 4 adamw bf16 checkpointing | qwen2-0.5b 4 adamw bf16 | qwen2-0.5b 2 adamw amp
    qwen3-0.6b 4 adamw bf16 | qwen3-0.6b 8 adamw bf16 checkpointing
"""
SERVED = """
    resnet50 64 fp32 | resnet50 64 fp16 | vit_b_16 64 fp16 | convnext_tiny 64 fp32 | gpt2 8 fp16
    bert-base 64 fp16 | llama-1b 8 bf16 | qwen2-0.5b 8 fp16 | deeplabv3_resnet50 8 fp32 | t5-small 16 fp32
"""

for name, count, optimizer, *mode in lines(TRAINED):
    source, make, batch = MODELS[name]
    given = (make, batch(int(count)), source, optimizer.replace("+", " "), " ".join(mode))
    title = f"{name} batch {count} {optimizer} {' '.join(mode)}"
    add(Question(title, lambda given=given: train(*given), alone=True, seconds=600))
for name, count, kind in lines(SERVED):
    source, make, batch = MODELS[name]
    given = (make, batch(int(count)), source, FLOATS[kind])
    title = f"{name} batch {count} served {kind}"
    add(Question(title, lambda given=given: serve(*given), alone=True, seconds=600))
