"""Which kernels of attention refuse what, and their warnings."""

import torch
from recorder.registry import expressions
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def attend(backend, dtype=torch.half, shape=(1, 2, 8, 16), grad=False, **settings):
    with sdpa_kernel(backend):
        q = torch.ones(shape, device="cuda", dtype=dtype, requires_grad=grad)
        return F.scaled_dot_product_attention(q, q, q, **settings)


def names():
    m = torch.arange(9.0, device="cuda").reshape(3, 3)
    i4 = torch.ones(1, 1, 4, 4, device="cuda", requires_grad=True)
    return {
        "torch": torch, "F": F, "nn": nn, "m": m, "i4": i4, "ci": torch.arange(3, device="cuda"),
        "sdpa": attend, "B": SDPBackend,
    }  # fmt: skip


expressions(
    """
    sdpa(B.FLASH_ATTENTION)
    sdpa(B.FLASH_ATTENTION, torch.float32)
    sdpa(B.FLASH_ATTENTION, torch.double)
    sdpa(B.FLASH_ATTENTION, shape=(1, 2, 8, 300))
    sdpa(B.FLASH_ATTENTION, shape=(1, 2, 8, 7))
    sdpa(B.FLASH_ATTENTION, shape=(2, 8, 16))
    sdpa(B.FLASH_ATTENTION, shape=(1, 2, 0, 16))
    sdpa(B.FLASH_ATTENTION, attn_mask=torch.ones(8, 8, device='cuda', dtype=torch.bool))
    sdpa(B.FLASH_ATTENTION, shape=(1, 2, 8, 256), grad=True)
    sdpa(B.FLASH_ATTENTION, shape=(1, 2, 8, 224), grad=True, dropout_p=0.5)
    sdpa(B.EFFICIENT_ATTENTION)
    sdpa(B.EFFICIENT_ATTENTION, torch.float32)
    sdpa(B.EFFICIENT_ATTENTION, torch.double)
    sdpa(B.EFFICIENT_ATTENTION, shape=(1, 2, 8, 7))
    sdpa(B.EFFICIENT_ATTENTION, shape=(2, 8, 16))
    sdpa(B.EFFICIENT_ATTENTION, attn_mask=torch.ones(8, 8, device='cuda', dtype=torch.half).requires_grad_())
    sdpa(B.CUDNN_ATTENTION)
    sdpa(B.CUDNN_ATTENTION, torch.float32)
    sdpa(B.CUDNN_ATTENTION, shape=(1, 2, 8, 7))
    sdpa(B.CUDNN_ATTENTION, shape=(1, 2, 8, 200))
    sdpa(B.CUDNN_ATTENTION, shape=(1, 2, 8, 16), is_causal=True)
    sdpa(B.CUDNN_ATTENTION, attn_mask=torch.ones(8, 8, device='cuda', dtype=torch.bool))
    sdpa(B.MATH, torch.double)
    sdpa([], torch.half)
    sdpa([B.FLASH_ATTENTION, B.EFFICIENT_ATTENTION], torch.double)
    torch._fused_sdp_choice(m[None, None], m[None, None], m[None, None])
    torch._fused_sdp_choice(m[None, None].half(), m[None, None].half(), m[None, None].half())
    torch.ops.aten._flash_attention_forward(m, m, m, None, None, 3, 3, 0.0, False, False)
    torch.ops.aten._scaled_dot_product_flash_attention(m, m, m)
    torch.ops.aten._scaled_dot_product_flash_attention(i4, i4, i4)
    torch.ops.aten._scaled_dot_product_efficient_attention(i4, i4, i4, None, False)
    torch.ops.aten._scaled_dot_product_cudnn_attention(i4, i4, i4, None, False)
    """,
    names,
    warnings=True,
)
