"""Memory of models for images, sound and several of them together, and of generating text with a cache."""

import torch
from recorder.registry import Question, add
from recorder.training import Account, library, lines, made, serve, train

HEAVY = True


def ask(title, function, *arguments, **settings):
    add(Question(title, lambda: function(*arguments, **settings), alone=True, seconds=300))


def of_transformers(head, config, **settings):
    """`settings` may hold configurations: pairs of a name and settings."""

    def configured(name, given):
        import transformers

        parts = {
            key: configured(*one) if isinstance(one, tuple) else one for key, one in given.items()
        }
        return getattr(transformers, name)(**parts)

    def make():
        import transformers

        return getattr(transformers, head)(configured(config, settings))

    return make


def own_loss(model, batch):
    return model(**batch).loss


def forward(model, batch):
    return model(**batch)


def ids(count, length):
    return torch.randint(3, 30000, (count, length))


def pictures(size, **more):
    def batch(count):
        return lambda model: (
            {"pixel_values": torch.rand(count, 3, size, size)}
            | {key: one(count) for key, one in more.items()}
        )

    return batch


def classes(count):
    return torch.arange(count) % 2


def boxes(count):
    return [{"class_labels": torch.ones(5, dtype=torch.int64), "boxes": torch.full((5, 4), 0.4)}
            for _ in range(count)]  # fmt: skip


def speech(name, *shape, words=32):
    return lambda count: (
        lambda model: {name: torch.rand(count, *shape), "labels": ids(count, words) % 30 + 1}
    )


def clip_batch(count):
    return lambda model: {"pixel_values": torch.rand(count, 3, 224, 224), "input_ids": ids(count, 77),
                          "return_loss": True}  # fmt: skip


def llava_batch(count):
    """256 places of each text are the picture's."""

    def batch(model):
        text = ids(count, 384)
        text[:, 8:264] = model.config.image_token_id
        return {
            "input_ids": text,
            "labels": text.clone(),
            "pixel_values": torch.rand(count, 3, 224, 224),
        }

    return batch


def series(count):
    return lambda model: {
        "past_values": torch.rand(count, 512, 7),
        "future_values": torch.rand(count, 96, 7),
    }


QUIET = {"mask_time_prob": 0.0}  # masks are drawn by numpy, on the host
VISION = {"image_size": 224, "patch_size": 14, "hidden_size": 512, "intermediate_size": 2048,
          "num_hidden_layers": 8, "num_attention_heads": 8}  # fmt: skip
TEXT = {"hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 8, "num_attention_heads": 12,
        "vocab_size": 32064, "use_cache": False}  # fmt: skip
RESNET = ("ResNetConfig", {"out_features": ["stage4"]})
MODELS = {
    "whisper-base": (of_transformers(
        "WhisperForConditionalGeneration", "WhisperConfig", d_model=512, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
        use_cache=False), speech("input_features", 80, 3000, words=64)),
    "wav2vec2-base": (of_transformers("Wav2Vec2ForCTC", "Wav2Vec2Config", ctc_zero_infinity=True, **QUIET),
                      speech("input_values", 64000)),
    "hubert-base": (of_transformers("HubertForCTC", "HubertConfig", ctc_zero_infinity=True, **QUIET),
                    speech("input_values", 64000)),
    "clip-vit-base": (of_transformers("CLIPModel", "CLIPConfig"), clip_batch),
    "vit-base": (of_transformers("ViTForImageClassification", "ViTConfig"), pictures(224, labels=classes)),
    "dinov2-base": (of_transformers("Dinov2ForImageClassification", "Dinov2Config", image_size=224),
                    pictures(224, labels=classes)),
    "vit-mae-base": (of_transformers("ViTMAEForPreTraining", "ViTMAEConfig"), pictures(224)),
    "swinv2-tiny": (of_transformers("Swinv2ForImageClassification", "Swinv2Config", image_size=256,
                                    window_size=8), pictures(256, labels=classes)),
    "detr-resnet": (of_transformers("DetrForObjectDetection", "DetrConfig", backbone_config=RESNET,
                                    use_timm_backbone=False, num_labels=91), pictures(512, labels=boxes)),
    "segformer-b0": (of_transformers("SegformerForSemanticSegmentation", "SegformerConfig", num_labels=19),
                     pictures(512, labels=lambda n: torch.zeros(n, 512, 512, dtype=torch.int64))),
    "llava-small": (of_transformers(
        "LlavaForConditionalGeneration", "LlavaConfig", vision_config=("CLIPVisionConfig", VISION),
        text_config=("LlamaConfig", TEXT)), llava_batch),
    "patchtst": (of_transformers("PatchTSTForPrediction", "PatchTSTConfig", context_length=512,
                                 prediction_length=96, num_input_channels=7, patch_length=16, patch_stride=8),
                 series),
}  # fmt: skip
TRAINED = """
    whisper-base 8 adamw amp | whisper-base 8 adamw fp16 clip | wav2vec2-base 8 adamw fp32
    hubert-base 8 adamw amp checkpointing | clip-vit-base 32 adamw amp | vit-base 32 adamw fp16
    dinov2-base 16 adamw bf16 checkpointing | vit-mae-base 32 adamw amp | swinv2-tiny 16 adamw amp
    detr-resnet 4 adamw fp32 clip | segformer-b0 8 adamw amp | llava-small 4 adamw bf16
    llava-small 2 adamw amp micro8 | patchtst 32 adamw fp32
"""
SERVED = """
    clip-vit-base 64 fp16 | dinov2-base 64 bf16 | segformer-b0 8 fp32
"""
DRAWN = ("detr-resnet", "vit-mae-base")  # costs and orders come from values
for name, count, optimizer, *mode in lines(TRAINED):
    make, batch = MODELS[name]
    mode = " ".join(mode)
    ask(f"transformers.{name} batch {count} {optimizer} {mode}", train, make, batch(int(count)), own_loss,
        package="transformers", optimizer=optimizer, mode=mode, drawn=name in DRAWN)  # fmt: skip
for name, count, mode in lines(SERVED):
    make, batch = MODELS[name]
    ask(f"transformers.{name} batch {count} served {mode}", serve, make, batch(int(count)), forward,
        package="transformers", mode=mode, drawn=name in DRAWN)  # fmt: skip

# Generating: 64 tokens after 128.
LLAMA = {"vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 12,
         "num_attention_heads": 16, "num_key_value_heads": 4}  # fmt: skip
EXPERTS = LLAMA | {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
                   "moe_intermediate_size": 384, "num_experts": 16, "num_experts_per_tok": 4}  # fmt: skip
WRITERS = {
    "llama-0.2b": of_transformers("LlamaForCausalLM", "LlamaConfig", **LLAMA),
    "mistral window": of_transformers("MistralForCausalLM", "MistralConfig", **LLAMA, sliding_window=64),
    "gpt2": of_transformers("GPT2LMHeadModel", "GPT2Config"),
    "qwen3-moe": of_transformers("Qwen3MoeForCausalLM", "Qwen3MoeConfig", **EXPERTS),
    "bart-base": of_transformers(
        "BartForConditionalGeneration", "BartConfig", d_model=768, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072),
}  # fmt: skip
GENERATED = """
    llama-0.2b | 8 | bf16 | | dynamic ; llama-0.2b | 8 | fp16 | | static ; llama-0.2b | 8 | bf16 | beams | dynamic
    llama-0.2b | 32 | bf16 | sampled | dynamic ; mistral window | 8 | bf16 | | dynamic
    gpt2 | 16 | fp32 | | dynamic ; qwen3-moe | 8 | bf16 | | dynamic ; bart-base | 8 | fp16 | | dynamic
"""


def generate(make, count, dtype, way, cache):
    version = library("transformers")
    torch.cuda.init()
    account = Account()
    model = made(make, drawn=True).eval()
    model.to("cuda", dtype)
    account.mark("model")
    prompt = ids(count, 128).cuda()
    account.mark("batch")
    given = {
        "max_new_tokens": 64,
        "min_new_tokens": 64,
        "cache_implementation": cache,
        "pad_token_id": 0,
    }
    given |= {"num_beams": 4} if way == "beams" else {"do_sample": way == "sampled"}
    for time in (1, 2):
        found = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), disable_compile=True, **given
        )
        account.mark(f"generated {time}")
        del found
        account.mark(f"result {time}")
    return account.end() | {"transformers": version}


for line in GENERATED.strip().replace(";", "\n").splitlines():
    name, count, mode, way, cache = (word.strip() for word in line.split("|"))
    title = " ".join(
        f"transformers.{name} generates batch {count} {mode} {way} {cache} cache".split()
    )
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[mode]
    ask(
        title,
        generate,
        WRITERS[name],
        int(count),
        dtype,
        way,
        None if cache == "dynamic" else cache,
    )
