"""Small programs of sparse, quantized and nested tensors: prints for each its result and the most bytes that it took."""

import gc
import json
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

N = 1000
PROGRAMS: dict[str, Callable[[], object]] = {}


def program(function: Callable[[], object]) -> Callable[[], object]:
    PROGRAMS[function.__name__] = function
    return function


def dense() -> torch.Tensor:
    return torch.randn(N, N, device="cuda")


def coo() -> torch.Tensor:
    places = torch.randperm(N * N)[:50_000]
    where = torch.stack([places // N, places % N])
    return torch.sparse_coo_tensor(where, torch.randn(50_000), (N, N)).cuda()


def csr() -> torch.Tensor:
    return coo().cpu().to_sparse_csr().cuda()


def jagged(*shape: int) -> torch.Tensor:
    rows = [torch.randn(n, *shape) for n in (100, 200, 300)]
    return torch.nested.nested_tensor(rows, layout=torch.jagged).cuda()


@program
def coo_coalesce() -> object:
    return coo().coalesce()._nnz()


@program
def coo_product_trained() -> object:
    weight = dense().requires_grad_()
    torch.sparse.mm(coo().coalesce(), weight).sum().backward()
    return weight.grad.shape


@program
def coo_to_dense() -> object:
    return coo().to_dense().shape, (coo() * 2).shape


@program
def dense_to_coo() -> object:
    return dense().to_sparse()._nnz()


@program
def csr_product_trained() -> object:
    weight = dense().requires_grad_()
    (csr() @ weight).sum().backward()
    return weight.grad.shape


@program
def dense_to_csr() -> object:
    return dense().to_sparse_csr().values().shape


@program
def dense_to_bsr() -> object:
    return dense().to_sparse_bsr((10, 10)).values().shape


@program
def quantized_per_tensor() -> object:
    quantized = torch.quantize_per_tensor(dense(), 0.1, 0, torch.qint8)
    return quantized.dequantize().shape, quantized.int_repr().dtype, quantized[:10].shape


@program
def quantized_per_channel() -> object:
    ones = torch.ones(N, device="cuda")
    return torch.quantize_per_channel(dense(), ones, 0 * ones, 0, torch.qint8).dequantize().shape


@program
def quantization_aware_training() -> object:
    from torch.ao import quantization

    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU()).train()
    model.qconfig = quantization.get_default_qat_qconfig("x86")
    model = quantization.prepare_qat(model).cuda()
    model(torch.randn(4096, 512, device="cuda")).sum().backward()
    x = dense().requires_grad_()
    torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127).sum().backward()
    return x.grad.shape


@program
def observed() -> object:
    from torch.ao import quantization

    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU()).eval()
    model.qconfig = quantization.get_default_qconfig("x86")
    return quantization.prepare(model).cuda()(torch.randn(4096, 512, device="cuda")).shape


class Int8(torch.Tensor):
    """A weight of int8 with a scale for each row."""

    @staticmethod
    def __new__(cls, weight, scale):
        return torch.Tensor._make_wrapper_subclass(
            cls, weight.shape, dtype=scale.dtype, device=weight.device
        )

    def __init__(self, weight: torch.Tensor, scale: torch.Tensor) -> None:
        self.weight, self.scale = weight, scale

    def __tensor_flatten__(self):
        return ["weight", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["weight"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        aten, kwargs = torch.ops.aten, kwargs or {}
        if function is aten._to_copy.default:
            where = {"device": kwargs["device"]}
            return cls(args[0].weight.to(**where), args[0].scale.to(**where))
        if function is aten.detach.default:
            return cls(args[0].weight, args[0].scale)
        whole = (one.weight * one.scale if isinstance(one, cls) else one for one in args)
        return function(*whole, **kwargs)


@program
def weights_of_int8() -> object:
    layer = nn.Linear(1024, 1024, bias=False)
    weight = Int8(torch.zeros(1024, 1024, dtype=torch.int8), torch.ones(1024, 1))
    layer.weight = nn.Parameter(weight, requires_grad=False)
    return layer.cuda()(torch.randn(64, 1024, device="cuda")).shape


@program
def jagged_layers_trained() -> object:
    layer, norm = nn.Linear(256, 512).cuda(), nn.LayerNorm(512).cuda()
    F.gelu(norm(layer(jagged(256)))).values().sum().backward()
    return layer.weight.grad.shape


@program
def jagged_attention_trained() -> object:
    x = jagged(4, 64).half().requires_grad_()
    heads = x.transpose(1, 2)
    F.scaled_dot_product_attention(heads, heads, heads).values().sum().backward()
    return x.grad.values().shape


@program
def jagged_padded() -> object:
    return jagged(256).to_padded_tensor(0.0).shape, [one.shape for one in jagged(256).unbind()]


@program
def nested_padded() -> object:
    rows = [torch.randn(n, 256, device="cuda") for n in (100, 200, 300)]
    return nn.Linear(256, 512).cuda()(torch.nested.nested_tensor(rows)).to_padded_tensor(0.0).shape


torch.zeros(1, device="cuda")
for name in sys.argv[1:] or PROGRAMS:
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = str(PROGRAMS[name]())
    print(json.dumps([name, result, torch.cuda.max_memory_allocated() - before]))
