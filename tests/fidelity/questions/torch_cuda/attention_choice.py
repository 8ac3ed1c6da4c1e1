"""Which kernel scaled_dot_product_attention takes, and why it refuses the others."""

import itertools

import torch
from recorder.registry import Question, add
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HEADS = [8, 32, 40, 64, 72, 128, 192, 256, 264]
TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def made(dtype, head, length=64, keys=64, heads=4, key_heads=4, batch=2, **settings):
    q = torch.ones(batch, heads, length, head, device="cuda", dtype=dtype, **settings)
    k = torch.ones(batch, key_heads, keys, head, device="cuda", dtype=dtype, **settings)
    return q, k, k.clone().detach().requires_grad_(k.requires_grad)


def choices(dtype):
    """The chosen kernel for head sizes, lengths, masks and options."""
    told = {}
    for head, grad in itertools.product(HEADS, (False, True)):
        q, k, v = made(dtype, head, requires_grad=grad)
        mask = torch.zeros(64, 64, device="cuda", dtype=dtype)
        cases = {
            "plain": {},
            "causal": {"is_causal": True},
            "dropout": {"dropout_p": 0.1},
            "mask": {"attn_mask": mask},
            "bool mask": {"attn_mask": mask == 0},
            "mask with gradient": {"attn_mask": mask.clone().requires_grad_(True)},
            "scale": {"scale": 0.3},
        }
        for name, settings in cases.items():
            told[f"{head} {grad} {name}"] = choice(q, k, v, **settings)
    for lengths in ((1, 64), (64, 1), (7, 13), (64, 2048), (2048, 2048), (0, 5)):
        q, k, v = made(dtype, 64, *lengths)
        told[f"lengths {lengths}"] = choice(q, k, v)
        told[f"lengths {lengths} causal"] = choice(q, k, v, is_causal=True)
    for heads in ((8, 2), (8, 1), (6, 4)):
        q, k, v = made(dtype, 64, heads=heads[0], key_heads=heads[1])
        told[f"heads {heads}"] = choice(q, k, v, enable_gqa=True)
    q, k, v = made(dtype, 64)
    told["transposed"] = choice(
        *(t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v))
    )
    told["last dimension strided"] = choice(
        *(torch.ones(2, 4, 64, 128, device="cuda", dtype=dtype)[..., ::2] for _ in range(3))
    )
    told["odd storage"] = choice(
        *(torch.ones(2 * 4 * 64 * 64 + 1, device="cuda", dtype=dtype)[1:].view(2, 4, 64, 64)
          for _ in range(3))
    )  # fmt: skip
    told["three dimensions"] = choice(q[0], k[0], v[0])
    told["values of another size"] = choice(
        q, k, torch.ones(2, 4, 64, 32, device="cuda", dtype=dtype)
    )
    told["batch broadcast"] = choice(q, k[:1].expand(2, -1, -1, -1), v)
    return told


def choice(q, k, v, **settings):
    try:
        return SDPBackend(torch._fused_sdp_choice(q, k, v, **settings)).name
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def refusals(backend, dtype):
    """What is warned of and raised when only one kernel is allowed."""
    import warnings

    told = {}
    for head, name in itertools.product((32, 40, 256, 264), ("plain", "mask", "causal", "dropout")):
        q, k, v = made(dtype, head, requires_grad=True)
        mask = torch.zeros(64, 64, device="cuda", dtype=dtype)
        settings = {
            "plain": {},
            "mask": {"attn_mask": mask},
            "causal": {"is_causal": True},
            "dropout": {"dropout_p": 0.2},
        }[name]
        with warnings.catch_warnings(record=True) as caught, sdpa_kernel(backend):
            warnings.simplefilter("always")
            try:
                out = F.scaled_dot_product_attention(q, k, v, **settings)
                out.sum().backward()
                torch.cuda.synchronize()
                end = f"{tuple(out.stride())} {type(out.grad_fn).__name__}"
            except Exception as error:
                end = f"{type(error).__name__}: {error}"
            texts = [
                str(one.message).partition("(Triggered internally")[0].strip() for one in caught
            ]
            told[f"{head} {name}"] = [end, *texts]
    return told


for dtype in TYPES:
    kind = str(dtype).removeprefix("torch.")
    add(Question(f"choices {kind}", lambda dtype=dtype: choices(dtype), seconds=200))
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
                    SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH):  # fmt: skip
        add(
            Question(
                f"{backend.name} {kind}",
                lambda backend=backend, dtype=dtype: refusals(backend, dtype),
                seconds=200,
            )
        )
