"""Memory of models of timm, torchvision, transformers and peft that published.py does not ask for.

They come from configurations alone. No figure of theirs has set a constant of a plan: these are the
points that a plan is tried on.
"""

import torch
from recorder.registry import Question, add
from recorder.training import lines, serve, train
from torch.nn import functional as F

HEAVY = True
IMAGES, CLASSES = 224, 1000


def ask(title, function, *arguments, **settings):
    add(Question(title, lambda: function(*arguments, **settings), alone=True, seconds=300))


# timm: NAME BATCH OPTIMIZER MODE.
TIMM = """
    resnext50_32x4d 32 nesterov fp32 channels_last | seresnet50 32 timm+rmsprop amp
    mixer_b16_224 32 adamw amp | beit_base_patch16_224 16 adamw amp clip
    deit3_small_patch16_224 64 timm+lamb bf16 | maxvit_tiny_tf_224 16 adamw amp
    coatnet_0_rw_224 16 adamw fp32 | convnextv2_tiny 16 adamw amp | hrnet_w18 16 sgd fp32
    levit_256 64 adamw fp16 | mobilevit_s 32 radam fp16 | dm_nfnet_f0 16 nesterov amp clip
    tf_efficientnetv2_s 32 rmsprop amp channels_last | repvgg_b0 64 sgd fp16 channels_last
    ghostnet_100 64 sgd fp32 | ese_vovnet39b 32 sgd amp ema | res2net50_26w_4s 32 sgd fp32
    eva02_small_patch14_224 32 timm+lion amp checkpointing | swinv2_tiny_window8_256 16 adamw fp16 clip
    xcit_small_12_p16_224 16 timm+adafactor fp32 | caformer_s18 16 adamw+fused amp ema
    resnest50d 16 timm+lion fp16 channels_last | vit_small_patch16_224 64 adafactor amp checkpointing
    vit_tiny_patch16_224 64 adamw amp compiled
"""
TIMM_SERVED = """
    vit_large_patch16_224 64 fp16 | efficientnet_b4 32 fp32 channels_last | convnext_large 32 bf16
"""


def of_timm(name):
    def make():
        import timm

        return timm.create_model(name, pretrained=False)

    return make


def images(count, kinds=CLASSES):
    def batch(model):
        size = (
            model.pretrained_cfg["input_size"]
            if hasattr(model, "pretrained_cfg")
            else (3, IMAGES, IMAGES)
        )
        return [torch.rand(count, *size), torch.arange(count) % kinds]

    return batch


def smoothed(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1], label_smoothing=0.1)


def first(model, batch):
    return model(batch[0])


for name, count, optimizer, *mode in lines(TIMM):
    mode = " ".join(mode)
    ask(f"timm.{name} batch {count} {optimizer} {mode}", train, of_timm(name), images(int(count)),
        smoothed, package="timm", optimizer=optimizer, mode=mode)  # fmt: skip
for name, count, *mode in lines(TIMM_SERVED):
    mode = " ".join(mode)
    ask(f"timm.{name} batch {count} served {mode}", serve, of_timm(name), images(int(count)), first,
        package="timm", mode=mode)  # fmt: skip

# torchvision: NAME BATCH OPTIMIZER MODE, or "served".
VISION = """
    fasterrcnn_resnet50_fpn 2 sgd fp32 | maskrcnn_resnet50_fpn 2 sgd amp | retinanet_resnet50_fpn 2 sgd fp32
    ssd300_vgg16 8 sgd fp32 | keypointrcnn_resnet50_fpn 2 sgd fp32
    fasterrcnn_mobilenet_v3_large_320_fpn 4 served fp32 | maskrcnn_resnet50_fpn 2 served fp32
    ssdlite320_mobilenet_v3_large 16 served fp32
    r3d_18 8 sgd amp | mvit_v2_s 2 adamw amp | swin3d_t 2 served fp16 | raft_small 2 adamw fp32
    raft_large 1 served fp32 | lraspp_mobilenet_v3_large 8 sgd fp32
"""


def of_vision(name):
    settings = {"weights_backbone": None} if "rcnn" in name or "retinanet" in name else {}
    settings |= {"weights_backbone": None} if "ssd" in name or "lraspp" in name else {}

    def make():
        import torchvision

        return torchvision.models.get_model(name, weights=None, **settings)

    return make


def scenes(name, count):
    size = 320 if "320" in name else 300 if "300" in name else 480

    def target(points):
        corners = torch.rand(6, 2) * size / 2
        found = {"boxes": torch.cat([corners, corners + 20 + torch.rand(6, 2) * size / 3], 1)}
        found["labels"] = torch.ones(6, dtype=torch.int64)
        if "mask" in name:
            found["masks"] = (torch.rand(6, size, size) > 0.5).to(torch.uint8)
        return found | ({"keypoints": points} if "keypoint" in name else {})

    def batch(model):
        pictures = [torch.rand(3, size, size) for _ in range(count)]
        points = torch.cat([torch.rand(6, 17, 2) * size / 2 + 10, torch.ones(6, 17, 1)], 2)
        return [pictures, [target(points) for _ in range(count)]]

    return batch


def all_losses(model, batch):
    return sum(model(*batch).values())


def films(count, size):
    return lambda model: [torch.rand(count, 3, 16, size, size), torch.arange(count)]


def flows(count):
    return lambda model: (
        [torch.rand(count, 3, 256, 384) for _ in "ab"] + [torch.rand(count, 2, 256, 384)]
    )


def of_flow(model, batch):
    return sum(
        (one - batch[2]).abs().mean() for one in model(batch[0], batch[1], num_flow_updates=6)
    )


def segments(count):
    return lambda model: [
        torch.rand(count, 3, 520, 520),
        torch.zeros(count, 520, 520, dtype=torch.int64),
    ]


def of_segments(model, batch):
    return F.cross_entropy(model(batch[0])["out"], batch[1])


for name, count, optimizer, *mode in lines(VISION):
    mode = " ".join(mode)
    number, loss, drawn = int(count), smoothed, False
    if name.startswith(("r3d", "mvit", "swin3d")):
        batch = films(number, 112 if name == "r3d_18" else 224)
    elif "raft" in name:
        batch, loss = flows(number), of_flow
    elif "lraspp" in name:
        batch, loss = segments(number), of_segments
    else:
        batch, loss, drawn = scenes(name, number), all_losses, True
    given = {"package": "torchvision", "mode": mode, "drawn": drawn}
    title = f"torchvision.{name} batch {count} {optimizer} {mode}"
    if optimizer == "served":
        ask(title, serve, of_vision(name), batch, of_flow if "raft" in name else first, **given)
    else:
        ask(title, train, of_vision(name), batch, loss, optimizer=optimizer, **given)

# transformers: configuration, model, length, settings.
SMALL = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
}
GROUPED = SMALL | {"num_key_value_heads": 4}
EXPERTS = {
    "hidden_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
}
LANGUAGE = {
    "llama-0.3b": ("LlamaConfig", "LlamaForCausalLM", 512, GROUPED | {"num_hidden_layers": 16}),
    "mistral": ("MistralConfig", "MistralForCausalLM", 1024, GROUPED | {"sliding_window": 256}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", 512, GROUPED | {"head_dim": 64, "vocab_size": 64000}),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", 512, GROUPED | {"head_dim": 64, "vocab_size": 64000}),
    "phi": ("PhiConfig", "PhiForCausalLM", 512, SMALL),
    "falcon": ("FalconConfig", "FalconForCausalLM", 512,
               {"hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 16, "vocab_size": 65024}),
    "bloom-560m": ("BloomConfig", "BloomForCausalLM", 256,
                   {"hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880}),
    "mamba": ("MambaConfig", "MambaForCausalLM", 128, {"hidden_size": 768, "num_hidden_layers": 6}),
    "mamba2": ("Mamba2Config", "Mamba2ForCausalLM", 512,
               {"hidden_size": 768, "num_hidden_layers": 6, "num_heads": 24, "head_dim": 64, "expand": 2,
                "n_groups": 1}),
    "rwkv": ("RwkvConfig", "RwkvForCausalLM", 64, {"hidden_size": 768, "num_hidden_layers": 6}),
    "deberta-v3": ("DebertaV2Config", "DebertaV2ForMaskedLM", 256,
                   {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12,
                    "intermediate_size": 3072, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                    "position_buckets": 256, "max_relative_positions": -1}),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", 256, {}),
    "albert-base": ("AlbertConfig", "AlbertForMaskedLM", 256,
                    {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
    "modernbert": ("ModernBertConfig", "ModernBertForMaskedLM", 512, {"num_hidden_layers": 12}),
    "bart-base": ("BartConfig", "BartForConditionalGeneration", 256,
                  {"d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12,
                   "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}),
    "t5-base": ("T5Config", "T5ForConditionalGeneration", 256,
                {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12,
                 "decoder_start_token_id": 0, "pad_token_id": 0}),
    "longformer": ("LongformerConfig", "LongformerForMaskedLM", 2048,
                   {"num_hidden_layers": 6, "attention_window": 256, "max_position_embeddings": 2052}),
    "bigbird": ("BigBirdConfig", "BigBirdForMaskedLM", 1024, {"num_hidden_layers": 6}),
    "xlnet": ("XLNetConfig", "XLNetLMHeadModel", 256, {"d_model": 768, "n_layer": 6, "n_head": 12, "d_inner": 3072}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", 512, EXPERTS | {"intermediate_size": 1536}),
    "qwen3-moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", 512,
                  EXPERTS | {"moe_intermediate_size": 384, "num_experts": 16, "num_experts_per_tok": 4,
                             "head_dim": 64}),
    "gpt-oss": ("GptOssConfig", "GptOssForCausalLM", 512,
                EXPERTS | {"intermediate_size": 512, "num_local_experts": 8, "head_dim": 64,
                           "vocab_size": 64000}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", 512, {"n_layer": 4}),
}  # fmt: skip
TRAINED = """
    mistral 4 adamw bf16 sdpa | mistral 4 adamw bf16 eager | gemma2 4 adamw bf16 eager
    gemma3 4 adamw amp sdpa clip | phi 4 adamw amp sdpa | falcon 4 adamw bf16 sdpa | bloom-560m 2 adamw bf16
    mamba 4 adamw fp32 | mamba2 4 adamw amp | rwkv 8 adamw fp32 | deberta-v3 8 adamw fp16 clip
    electra 32 adamw amp sdpa | albert-base 16 timm+lamb amp sdpa | modernbert 8 adamw bf16 sdpa
    bart-base 8 adamw fp16 sdpa clip | bart-base 8 adamw fp32 eager | t5-base 4 t5+adafactor bf16
    longformer 2 adamw amp | bigbird 2 adamw fp32 | xlnet 8 adamw fp32 | mixtral 4 adamw bf16 sdpa
    qwen3-moe 4 adamw bf16 sdpa | gpt-oss 4 adamw bf16 eager | llama-0.3b 2 adamw amp sdpa micro8
    llama-0.3b 4 adamw bf16 eager checkpointing clip | llama-0.3b 4 adamw fp32 sdpa | gpt2 4 adamw amp compiled
    llama-0.3b 4 adafactor bf16 sdpa micro2 | llama-0.3b 2 amsgrad bf16 sdpa ema
"""
DRAWN = ("mixtral", "qwen3-moe", "gpt-oss")  # the router's values decide which expert gets how much
ATTENTION = ("eager", "sdpa")


def of_language(name, attention=None, lora=0):
    config, head, _, settings = LANGUAGE[name]

    def make():
        import transformers

        made = getattr(transformers, config)(**settings)
        made.use_cache = False
        if attention:
            made._attn_implementation = attention
        model = getattr(transformers, head)(made)
        if not lora:
            return model
        import peft

        return peft.get_peft_model(
            model, peft.LoraConfig(r=lora, lora_alpha=2 * lora, target_modules="all-linear")
        )

    return make


def tokens(name, count):
    length = LANGUAGE[name][2]

    def batch(model):
        ids = torch.randint(3, 30000, (count, length))
        return {"input_ids": ids, "labels": ids.clone()}

    return batch


def own_loss(model, batch):
    return model(**batch).loss


for name, count, optimizer, *mode in lines(TRAINED):
    attention = next((word for word in mode if word in ATTENTION), None)
    ask(f"transformers.{name} batch {count} {optimizer} {' '.join(mode)}", train,
        of_language(name, attention), tokens(name, int(count)), own_loss, package="transformers",
        optimizer=optimizer, mode=" ".join(mode), drawn=name in DRAWN)  # fmt: skip
for rank, count, optimizer, *mode in lines(
    "8 4 adamw bf16 | 64 4 adamw amp | 16 4 adamw bf16 checkpointing"
):
    mode = " ".join(mode)
    ask(f"peft.llama-0.3b lora {rank} batch {count} {optimizer} {mode}", train,
        of_language("llama-0.3b", lora=int(rank)), tokens("llama-0.3b", int(count)), own_loss,
        package="peft", optimizer=optimizer, mode=mode)  # fmt: skip
