"""Which operators have a kernel for CUDA, and which need a capability."""

import torch
from recorder.registry import question


@question()
def operators_with_a_kernel():
    """Every operator of aten that the build registers for CUDA, by its key."""
    told = {}
    for key in ("CUDA", "AutocastCUDA", "SparseCUDA", "SparseCsrCUDA", "NestedTensorCUDA"):
        names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
        told[key] = sorted(n for n in names if n.startswith("aten::"))
    return told


@question()
def autocast():
    """What each operation returns under autocast."""
    x = torch.ones(4, 4, device="cuda")
    calls = {
        "mm": lambda: x @ x,
        "linear": lambda: torch.nn.functional.linear(x, x),
        "conv2d": lambda: torch.nn.functional.conv2d(x[None, None], x[None, None]),
        "softmax": lambda: x.half().softmax(-1),
        "sum": lambda: x.half().sum(),
        "exp": lambda: x.half().exp(),
        "layer_norm": lambda: torch.nn.functional.layer_norm(x.half(), (4,)),
        "mse_loss": lambda: torch.nn.functional.mse_loss(x.half(), x.half()),
        "add": lambda: x + x.half(),
        "cat": lambda: torch.cat([x, x.half()]),
        "addcmul": lambda: torch.addcmul(x, x.half(), x),
        "dot": lambda: torch.dot(x[0], x[0].half()),
        "prod": lambda: x.half().prod(),
        "gru": lambda: torch.nn.GRU(4, 4, device="cuda")(x)[0],
        "attention": lambda: torch.nn.functional.scaled_dot_product_attention(
            x[None], x[None], x[None]
        ),
        "bce": lambda: torch.nn.functional.binary_cross_entropy(x.half(), x.half()),
    }
    told = {}
    for dtype in (torch.float16, torch.bfloat16):
        with torch.autocast("cuda", dtype=dtype):
            for name, call in calls.items():
                try:
                    told[f"{name} {dtype}"] = call().dtype
                except Exception as error:
                    told[f"{name} {dtype}"] = [type(error).__name__, str(error)]
    return told
