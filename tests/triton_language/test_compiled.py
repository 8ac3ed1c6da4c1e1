"""Triton's kernels beside torch.compile and in CUDA graphs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language

pytestmark = pytest.mark.devices("cuda:1")


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    total = tl.load(x_ptr + places, mask=inside) + tl.load(y_ptr + places, mask=inside)
    tl.store(out_ptr + places, total, mask=inside)


tuned_kernel = triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=["count"]
)(add_kernel)


def program(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x.sin(), y, out, x.numel(), BLOCK=64)
    return out.cos() * 2


def tuned_program(x, y):
    out = torch.empty_like(x)
    tuned_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x.sin(), y, out, x.numel())
    return out.cos() * 2


@torch.library.triton_op("torchport_tests::add", mutates_args={})
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 64),)](
        x, y, out, x.numel(), BLOCK=64
    )
    return out


def program_with_operator(x, y):
    return add(x.sin(), y).cos() * 2


@pytest.mark.parametrize("function", [program, tuned_program, program_with_operator])
@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_kernels_in_compiled_functions(function, backend):
    torch._dynamo.reset()
    x, y = torch.randn(100, device="cuda"), torch.randn(100, device="cuda")
    compiled = torch.compile(function, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(x, y), (x.sin() + y).cos() * 2)


def test_inductor_goes_on_writing_cpp():
    from torch.utils._triton import has_triton

    x = torch.randn(8, 50, device="cuda")
    compiled = torch.compile(lambda x: torch.softmax(x * 2, -1))
    torch.testing.assert_close(compiled(x), torch.softmax(x * 2, -1))
    assert not has_triton()


def test_graphs_record_launches():
    x, y, out = (torch.full((100,), value, device="cuda") for value in (1.0, 2.0, 7.0))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        twice = x * 2  # at another address in each replay
        add_kernel[(2,)](twice, y, out, 100, BLOCK=64)
        result = out + 1
    assert (out == 7).all()
    for value in (1, 5):
        x.fill_(value)
        graph.replay()
        assert (out == 2 * value + 2).all() and (result == 2 * value + 3).all()
