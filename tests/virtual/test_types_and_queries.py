"""torch.cuda.FloatTensor and its like, what torch.backends answers, views that only set a bit."""

import pytest
import torch
from sides import same

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


NAMES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


def test_types_of_tensors() -> None:
    for name, dtype in NAMES.items():
        kind = getattr(torch.cuda, name)
        made = kind([1, 0])
        assert made.is_cuda and made.dtype == dtype and made.tolist() == [1, 0]
        assert made.type() == f"torch.cuda.{name}" and isinstance(made, kind)
        assert not isinstance(made, getattr(torch, name)) and not isinstance(made.cpu(), kind)
        assert made.cpu().type(kind).is_cuda and made.type(f"torch.{name}").is_cpu
        assert kind(2, 3).shape == (2, 3) and kind().numel() == 0 and kind.is_cuda
        assert torch.tensor([1], device="cuda").type_as(made).dtype == dtype
    with torch.cuda.device(1):
        assert torch.cuda.FloatTensor(2).device.index == 1
    with pytest.raises(TypeError):
        torch.cuda.FloatTensor(torch.ones(2))


def test_default_types_and_devices() -> None:
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    assert torch.ones(2).is_cuda and torch.tensor([1.0]).is_cuda and torch.Tensor([1]).is_cuda
    torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.ones(2).is_cpu
    with torch.device("cuda:1"):
        assert torch.ones(2).device.index == 1 and torch.nn.Linear(2, 2).weight.device.index == 1
    torch.set_default_device("cuda")
    assert torch.zeros(1).is_cuda and torch.get_default_device() == torch.device("cuda", 0)
    torch.set_default_device(None)


backends = torch.backends


def test_backends() -> None:
    assert backends.cuda.is_built() and backends.cudnn.is_available() and backends.cudnn.enabled
    assert backends.cudnn.version() > 80000
    assert backends.cudnn.is_acceptable(torch.ones(1, device="cuda"))
    for flag in ("flash", "mem_efficient", "math", "cudnn"):
        asked = getattr(backends.cuda, f"{flag}_sdp_enabled")
        switch = getattr(backends.cuda, f"enable_{flag}_sdp")
        assert asked()
        switch(False)
        assert not asked()
        switch(True)


q = torch.randn(1, 2, 8, 16, device="cuda", dtype=torch.float16)


def test_backends_of_attention() -> None:
    wanted = backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False)
    assert backends.cuda.is_flash_attention_available()
    assert isinstance(backends.cuda.can_use_flash_attention(wanted), bool)
    assert isinstance(backends.cuda.can_use_efficient_attention(wanted), bool)
    assert isinstance(backends.cuda.can_use_cudnn_attention(wanted), bool)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        out = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    torch.testing.assert_close(out, torch.softmax(q @ q.mT / 4, -1) @ q, rtol=1e-2, atol=1e-2)


def test_precision_of_products() -> None:
    matmul = backends.cuda.matmul
    assert not matmul.allow_tf32 and matmul.allow_fp16_reduced_precision_reduction
    torch.set_float32_matmul_precision("high")
    assert matmul.allow_tf32
    torch.set_float32_matmul_precision("highest")


def test_flags_of_cudnn() -> None:
    backends.cudnn.allow_tf32 = False
    assert not backends.cudnn.allow_tf32
    with backends.cudnn.flags(enabled=False, benchmark=True, deterministic=True, allow_tf32=True):
        assert not backends.cudnn.enabled and backends.cudnn.benchmark
    assert backends.cudnn.enabled and not backends.cudnn.benchmark


def test_caches_and_libraries() -> None:
    cache = backends.cuda.cufft_plan_cache
    with pytest.raises((RuntimeError, NotImplementedError)):
        _ = cache[9].size
    assert (
        backends.cuda.preferred_linalg_library("cusolver")
        and backends.cuda.preferred_blas_library()
    )


def bits(x: torch.Tensor) -> object:
    """Conjugates and negatives that were not computed yet."""
    y = x.conj()
    z = y.imag
    assert y.is_conj() and z.is_neg() and not y.resolve_conj().is_conj()
    w = x.clone()
    w.conj().mul_(2)
    w.conj().imag.add_(1)
    packed = torch.view_as_real(x) * 2
    return (
        (y.resolve_conj(), z.resolve_neg(), y @ x, y + 1, z * 2, w, y.sum(0), z.cumsum(0)),
        (torch.view_as_complex(packed), x.conj().T @ x, torch.fft.fft(x), x.angle(), x.H.clone()),
        (torch.stack([y.resolve_conj(), x]), y.to(torch.complex128), torch._neg_view(x).abs()),
    )


def test_bits_of_views() -> None:
    same(bits, torch.randn(4, 4, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on"):
        torch.view_as_real(q.cfloat().conj())


def conjugates_trained(x: torch.Tensor) -> object:
    (x.conj() * x).real.sum().backward()
    return x.grad


def test_training_through_conjugates() -> None:
    same(conjugates_trained, torch.randn(4, dtype=torch.complex64, requires_grad=True))
