"""Poisson, binomial, gamma and Dirichlet numbers: those that an NVIDIA H200 drew with torch 2.11."""

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")


def drawn(function):
    torch.cuda.manual_seed(1234)
    return function().flatten()[:5].tolist(), torch.cuda.default_generators[0].get_offset()


def full(value, *shape, dtype=torch.float32):
    return torch.full(shape, value, device="cuda", dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_counts(dtype):
    poisson, offset = drawn(lambda: torch.poisson(full(3.5, 1000, dtype=dtype)))
    assert poisson == [2, 3, 4, 4, 7] and offset == 20
    if dtype.itemsize < 4:
        return  # the recording has none: 0.3 is another probability there
    binomial, offset = drawn(
        lambda: torch.binomial(full(20.0, 1000, dtype=dtype), full(0.3, 1000, dtype=dtype))
    )
    assert binomial == [3, 4, 3, 11, 6] and offset == 44


def test_gamma_and_dirichlet():
    gamma, offset = drawn(lambda: torch._standard_gamma(full(2.5, 5, dtype=torch.float64)))
    wanted = [0.5519889431245, 3.1157457380074, 1.4990703733851, 1.0830128990343, 0.8720441400648]
    assert gamma == pytest.approx(wanted, rel=1e-6) and offset == 12
    shares, offset = drawn(lambda: torch._sample_dirichlet(full(2.5, 5, 3)))
    wanted = [0.10683368146, 0.6030313968, 0.2901349067, 0.28458431363, 0.22914783656]
    assert shares == pytest.approx(wanted, rel=1e-5) and offset == 12


def test_a_thread_draws_several_binomials():
    """Elements 128 apart come from one subsequence; so do not the first of two blocks."""
    torch.cuda.manual_seed(1234)
    found = torch.binomial(full(20.0, 3_000_001), full(0.3, 3_000_001))
    places = [8 + (3_000_001 - 9) * i // 7 for i in range(8)]
    assert found[places].tolist() == [6, 9, 5, 5, 4, 9, 6, 7]


@pytest.mark.parametrize("rate", [0.0, 63.9, 64.0, 500.0, 5000.0, 1e6])
def test_rates_of_each_method(rate):
    torch.cuda.manual_seed(3)
    found = torch.poisson(full(rate, 200_000, dtype=torch.float64))
    assert found.mean().item() == pytest.approx(rate, rel=0.01, abs=0.01)
    assert found.var().item() == pytest.approx(rate, rel=0.05, abs=0.01)


def test_empty_and_strided():
    assert torch.poisson(full(1.0, 0)).shape == (0,)
    assert torch.binomial(full(1.0, 0), full(1.0, 0)).shape == (0,)
    rates = torch.arange(12.0, device="cuda").reshape(3, 4).t()
    torch.cuda.manual_seed(3)
    one = torch.poisson(rates)
    torch.cuda.manual_seed(3)
    assert torch.equal(one, torch.poisson(rates.contiguous()))
    assert one.is_contiguous()


def test_refusals():
    with pytest.raises((RuntimeError, torch.AcceleratorError)):
        torch.poisson(full(-1.0, 3)).cpu()
    with pytest.raises(NotImplementedError, match='"poisson_cuda" not implemented for'):
        torch.poisson(torch.ones(3, device="cuda", dtype=torch.int64))
