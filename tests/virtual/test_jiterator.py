"""torch.cuda.jiterator: elementwise functions in C++ text."""

from __future__ import annotations

import math
import threading

import pytest
import torch
from torch.cuda.jiterator import _create_jit_fn, _create_multi_output_jit_fn
from torchport.virtual.kernels import host_library

pytestmark = [pytest.mark.devices("cuda:2", memory="1GiB"), pytest.mark.usefixtures("seeded")]

fused = _create_jit_fn(
    "template <typename T> T fused(T x, T y, T alpha) { return alpha * x + y; }", alpha=1
)
quotient = _create_jit_fn("template <typename T> T quotient(T x, T y) {\n  return x / y;\n}")
sum_and_difference = _create_multi_output_jit_fn(
    "template <typename T> void both(T x, T y, T& sum, T& difference) {"
    " sum = x + y; difference = x - y; }",
    2,
)


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    """A folder of its own for what is compiled, so that each run compiles."""
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(folder))
        yield folder


@pytest.mark.parametrize(
    "dtypes",
    [
        (torch.float32, torch.float32),
        (torch.float16, torch.float16),
        (torch.bfloat16, torch.int64),
        (torch.float16, torch.bfloat16),  # in float32
        (torch.uint8, torch.bool),
        (torch.bool, torch.bool),
        (torch.int8, torch.float64),
        (torch.complex64, torch.float64),  # in complex128
    ],
    ids=str,
)
def test_types_are_promoted_and_numbers_take_the_type_that_is_computed_in(dtypes) -> None:
    x, y = (torch.randint(0, 7, (3, 5), device="cuda").to(dtype) for dtype in dtypes)
    result = fused(x, y, alpha=2)
    common = torch.promote_types(*dtypes)
    # 2 is true in bool. In the other small types nothing is rounded.
    expected = (x.to(common) | y) if common is torch.bool else 2 * x.to(common) + y.to(common)
    assert result.dtype == common
    assert torch.equal(result, expected)


def test_half_precision_is_computed_in_float() -> None:
    x = torch.full((4,), 60000.0, device="cuda", dtype=torch.float16)
    # The product is beyond what float16 has.
    assert fused(x, -x, alpha=2.0).tolist() == [60000.0] * 4
    # An integer is rounded to the common type before: 2049 is no float16.
    whole = torch.tensor([2049], device="cuda")
    assert fused(whole, x[:1] * 0, alpha=1.0).tolist() == [2048.0]
    half = torch.ones(2, device="cuda", dtype=torch.complex32)
    assert fused(half, half).dtype == torch.complex32
    assert fused(half, half).to(torch.complex64).tolist() == [2, 2]


def test_a_number_beside_a_tensor_does_not_widen_it() -> None:
    x = torch.arange(3, device="cuda", dtype=torch.float32)
    zero_dim = torch.tensor(0.5, device="cuda", dtype=torch.float64)
    assert fused(x, zero_dim).dtype == torch.float32
    assert fused(x, zero_dim, alpha=torch.tensor(2.0)).tolist() == [0.5, 2.5, 4.5]


def test_any_layout_is_read_and_the_result_has_the_layout_of_the_inputs() -> None:
    x = torch.randn(4, 6, 5, device="cuda")
    row, column = torch.randn(5, device="cuda"), torch.randn(6, 1, device="cuda")
    assert torch.equal(fused(x, row), x + row)
    flipped = x.transpose(1, 2)
    assert torch.equal(fused(flipped, column.mT), flipped + column.mT)
    steps = x[:, ::2, 1::2]
    assert torch.equal(fused(steps, steps.clone()), steps + steps)
    permuted = x.permute(2, 0, 1)
    assert fused(permuted, permuted).stride() == permuted.stride()
    image = torch.randn(2, 3, 4, 5, device="cuda").to(memory_format=torch.channels_last)
    assert fused(image, image).is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(fused(x.half()[:, ::2], row.int()), x.half()[:, ::2] + row.int())
    assert fused(x[:0], x[:0]).shape == (0, 6, 5)


def test_many_elements_are_computed_in_parts_and_by_all_threads() -> None:
    x = torch.randn(300_000, device="cuda", dtype=torch.float64)
    y = torch.randint(0, 9, (300_000,), device="cuda", dtype=torch.int16)
    assert torch.equal(fused(x, y, alpha=3), 3 * x + y)


def test_results_by_reference() -> None:
    x, y = torch.randn(2, 3, 4, device="cuda", dtype=torch.bfloat16).unbind()
    total, difference = sum_and_difference(x, y[0])
    assert torch.equal(total, x + y[0]) and torch.equal(difference, x - y[0])


def test_what_cuda_has_beyond_cpp() -> None:
    code = """
    template <typename T> __device__ __forceinline__ T sigma(T x) { return 1 / (1 + __expf(-x)); }
    template <typename T> T fn(T x, T y) { return ::max(x, y) + ::min(x, 0.5f) * sinpi(y); }
    template <typename T> T rest(T x, T y) {
      int bits = __float_as_int(::abs(x));
      return fn(x, y) + sigma(x) + rsqrt(::fabs(y) + 1) + erfinv(::tanh(x) * T(0.9)) + normcdf(y) +
             std::log1p(::exp(x)) + cyl_bessel_i0(x) + __int_as_float(bits) + (bits < 0 ? NAN : 0);
    }
    """
    x, y = torch.randn(2, 100, device="cuda", dtype=torch.float32).unbind()
    a, b = x.cpu().double(), y.cpu().double()
    expected = (
        torch.maximum(a, b) + a.clamp(max=0.5) * torch.sin(math.pi * b) + a.sigmoid()
        + (b.abs() + 1).rsqrt() + torch.special.erfinv(a.tanh() * 0.9) + torch.special.ndtr(b)
        + torch.log1p(a.exp()) + torch.special.i0(a) + a.abs()
    )  # fmt: skip
    result = _create_jit_fn(code)(x, y).cpu().double()
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


def test_complex_numbers_as_code_for_a_device_has_them() -> None:
    code = """
    template <typename T> T functions(T x, T y) {
      T sum = std::exp(x) * std::sqrt(y) / (x + T(2)) + sin(y) + std::pow(x, y) + std::log(x) + atan(x);
      if (x && !y) sum = T(0);  // a complex number is a condition
      return sum + std::abs(x) * std::conj(y) + T(std::real(x), std::arg(y));
    }
    """
    x, y = torch.randn(2, 50, device="cuda", dtype=torch.complex128).unbind()
    result = _create_jit_fn(code)(x, y).cpu()
    x, y = x.cpu(), y.cpu()
    expected = x.exp() * y.sqrt() / (x + 2) + y.sin() + x**y + x.log() + x.atan()
    expected += x.abs() * y.conj() + torch.complex(x.real, y.angle())
    torch.testing.assert_close(result, expected)


def test_the_bits_of_conjugation_are_not_looked_at() -> None:
    x = torch.randn(3, device="cuda", dtype=torch.complex64)
    assert torch.equal(fused(x.conj(), torch.zeros_like(x)), x)


def test_other_devices_and_memory() -> None:
    x = torch.ones(1000, device="cuda:1")
    before = torch.cuda.memory_allocated(1)
    torch.cuda.reset_peak_memory_stats(1)
    result = fused(x, x.double())  # a conversion takes no memory
    assert result.device == x.device
    peak = torch.cuda.max_memory_allocated(1)
    assert torch.cuda.memory_allocated(1) == before + 8192 and peak <= before + 2 * 8192
    too_large = torch.ones(1, device="cuda:1").expand(2**28)
    with pytest.raises(torch.OutOfMemoryError, match="GPU 1 has a total capacity of"):
        fused(too_large, too_large)


def test_refusals() -> None:
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cuda:1!"):
        fused(x, x.to("cuda:1"))
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
        fused(x, torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="non-CUDA DeviceType: cpu"):
        fused(x.cpu(), x.cpu())
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        fused(x, torch.ones(4, device="cuda"))
    with pytest.raises(AssertionError, match="up to 8 tensor inputs"):
        fused(*[x] * 9)
    with pytest.raises(RuntimeError, match="Unrecognized ScalarType: UInt16"):
        fused(x.to(torch.uint16), x.to(torch.uint16))
    with pytest.raises(RuntimeError, match="1 of input tensors tuple is not a Tensor"):
        fused(x, 1.0)
    with pytest.raises(KeyError, match="beta is not declared"):
        fused(x, x, beta=2)
    with pytest.raises(TypeError, match="must be real number, not str"):
        fused(x, x, alpha="2")
    with pytest.raises(RuntimeError, match=r"a complex number is given to .* computes in float"):
        fused(x, x, alpha=2j)
    with torch._subclasses.fake_tensor.FakeTensorMode():
        fake = torch.empty(3, device="cuda")
    with pytest.raises(RuntimeError, match="has no memory, such as a FakeTensor"):
        fused(fake, fake)
    with pytest.raises(RuntimeError):
        torch.vmap(fused)(x, x)


def test_code_that_does_not_compile_is_refused_with_its_lines() -> None:
    bad = _create_jit_fn("template <typename T> T bad(T x) {\n  T y = x;\n  return nothing(y);\n}")
    with pytest.raises(
        RuntimeError, match=r"return nothing\(y\)[\s\S]*bad:3:\d+: error: 'nothing'"
    ):
        bad(torch.ones(3, device="cuda"))
    too_few = _create_jit_fn("template <typename T> T two(T x, T y) { return x; }")
    with pytest.raises(RuntimeError, match=r"call of two:.*no matching function"):
        too_few(torch.ones(3, device="cuda"))


def test_a_division_of_integers_by_zero_is_an_error_of_the_program() -> None:
    x = torch.arange(6, device="cuda")
    assert quotient(x, torch.full_like(x, 2)).tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(RuntimeError, match="quotient:2: an integer is divided by zero"):
        quotient(x, torch.zeros_like(x))
    assert quotient(x.double(), torch.zeros(6, device="cuda")).tolist()[1:] == [math.inf] * 5


def test_it_takes_the_place_of_an_operator() -> None:
    half = _create_jit_fn("template <typename T> T half_of(T x) { return x * T(0.5); }")
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("aten::trunc", half, "CUDA", allow_override=True)
        assert torch.ones(2, device="cuda").trunc().tolist() == [0.5, 0.5]
    finally:
        library._destroy()
    assert torch.ones(2, device="cuda").trunc().tolist() == [1.0, 1.0]


def test_a_graph_records_it() -> None:
    x = torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = fused(x, x, alpha=2) * 2
    x.fill_(5)
    graph.replay()
    assert result.tolist() == [30.0] * 3


def test_threads_compile_once(kernels) -> None:
    function = _create_jit_fn("template <typename T> T by_threads(T x) { return x + 1; }")
    x, results = torch.ones(5, device="cuda"), []
    threads = [threading.Thread(target=lambda: results.append(function(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r.tolist() for r in results] == [[2.0] * 5] * 4
    assert len(list(kernels.glob("by_threads_on_host_*.so"))) == 1


def test_what_was_compiled_is_kept(kernels, monkeypatch) -> None:
    text = 'extern "C" __attribute__((visibility("default"))) int kept() { return 7; }'
    assert host_library.library(text, "kept", "a test").kept() == 7
    (file,) = kernels.glob("kept_on_host_*.so")
    with monkeypatch.context() as patch:
        patch.setattr(host_library, "_compile", None)
        assert host_library.library(text, "kept", "a test").kept() == 7
    other = text.replace("7", "9")
    with monkeypatch.context() as patch:
        patch.setattr(
            host_library, "_compile", lambda _, __, target: target.write_bytes(b"cut off")
        )
        with pytest.raises(OSError, match="file too short"):
            host_library.library(other, "other", "a test")
    assert host_library.library(other, "other", "a test").kept() == 9
    monkeypatch.setenv("USE_PYTORCH_KERNEL_CACHE", "0")
    assert host_library.library(text.replace("7", "8"), "kept", "a test").kept() == 8
    monkeypatch.delenv("USE_PYTORCH_KERNEL_CACHE")
    monkeypatch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(kernels / "missing"))
    with pytest.warns(UserWarning, match=r"could not be created! This disables kernel caching"):
        host_library.library(text, "kept", "a test")
    assert list(kernels.glob("kept_*")) == [file]


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch) -> None:
    never = _create_jit_fn("template <typename T> T never(T x) { return x; }")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        RuntimeError, match=r"no-such-compiler \(from CXX\) .*apt-get install g\+\+"
    ):
        never(torch.ones(1, device="cuda"))
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match=r"a C\+\+ compiler was not found; install g\+\+"):
        never(torch.ones(1, device="cuda"))
