"""Makes an image with FLUX.1-dev, from its configuration, as Hugging Face's page on quantization does without it.

Source: huggingface/blog, diffusers-quantization.md: bfloat16, 1024 x 1024, 50 steps, 512 tokens for T5. Without tokenizers, the
text encoders are called with as many tokens as the pipeline's own call would give them.
"""

import argparse

import diffusers
import torch
import transformers

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=50, help="0 only loads the pipeline")
args = parser.parse_args()

torch.set_default_dtype(torch.bfloat16)
clip = transformers.CLIPTextConfig(
    vocab_size=49408,
    hidden_size=768,
    intermediate_size=3072,
    num_hidden_layers=12,
    num_attention_heads=12,
    projection_dim=768,
)
t5 = transformers.T5Config(
    vocab_size=32128,
    d_model=4096,
    d_kv=64,
    d_ff=10240,
    num_layers=24,
    num_heads=64,
    feed_forward_proj="gated-gelu",
)
vae = diffusers.AutoencoderKL(
    down_block_types=("DownEncoderBlock2D",) * 4,
    up_block_types=("UpDecoderBlock2D",) * 4,
    block_out_channels=(128, 256, 512, 512),
    layers_per_block=2,
    latent_channels=16,
    sample_size=1024,
    scaling_factor=0.3611,
    shift_factor=0.1159,
    use_quant_conv=False,
    use_post_quant_conv=False,
)
pipe = diffusers.FluxPipeline(
    scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True),
    vae=vae,
    text_encoder=transformers.CLIPTextModel(clip),
    tokenizer=None,
    text_encoder_2=transformers.T5EncoderModel(t5),
    tokenizer_2=None,
    transformer=diffusers.FluxTransformer2DModel(guidance_embeds=True),
)
for one in (pipe.text_encoder, pipe.text_encoder_2, pipe.vae, pipe.transformer):
    one.eval()
pipe.to("cuda")
if args.steps:
    with torch.no_grad():
        words = torch.randint(0, 49000, (1, 77)).to("cuda")
        pooled = pipe.text_encoder(words, output_hidden_states=False).pooler_output
        words = torch.randint(0, 32000, (1, 512)).to("cuda")
        embedded = pipe.text_encoder_2(words, output_hidden_states=False)[0]
    pipe(
        prompt_embeds=embedded,
        pooled_prompt_embeds=pooled,
        height=1024,
        width=1024,
        guidance_scale=3.5,
        num_inference_steps=args.steps,
        max_sequence_length=512,
    )
torch.cuda.synchronize()
