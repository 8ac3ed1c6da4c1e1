"""The types that CUDA's kernels take, where the CPU's take others: what PyTorch's own database says of
each operator (`dtypesIfCUDA`) against what virtual devices do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from database import operators

pytestmark = pytest.mark.devices("cuda:1", timeout=600)

WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.complex32: torch.complex64,
    torch.bool: torch.uint8,
}
# Random numbers cannot be compared; the CPU has no sum of complex numbers without NaN, and no kernels
# of attention by these names.
NOT_COMPARED = {
    "nn.functional.rrelu",
    "nansum",
    "nanmean",
    "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward",
}
# CUDA's kernel is said to refuse complex32, but nobody has seen its words.
COMPUTED = {("norm", "complex32"), ("norm.inf", "complex32")}
# Their backward passes call cumprod, which neither side has for complex32.
NO_GRADIENT = {("prod", "complex32")}


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def only_cuda(more: str, fewer: str, *, backward: bool = False) -> Iterator[tuple[str, Any, Any]]:
    for name, op in operators().items():
        types = op.supported_backward_dtypes if backward else op.supported_dtypes
        for dtype in sorted(types(more) - types(fewer), key=str):
            yield name, op, dtype


def samples(op: Any, dtype: torch.dtype, *, grad: bool = False) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(op.sample_inputs("cuda", dtype, requires_grad=grad))


def call(op: Any, sample: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return op(sample.input, *sample.args, **sample.kwargs)


def wide(value: Any) -> Any:
    """The same argument on the CPU, in the wider type."""
    return torch.utils._pytree.tree_map(
        lambda leaf: (
            leaf.cpu().to(WIDER.get(leaf.dtype, leaf.dtype))
            if isinstance(leaf, torch.Tensor)
            else WIDER.get(leaf, leaf)
            if isinstance(leaf, torch.dtype)
            else leaf
        ),
        value,
    )


def leaves(value: Any) -> list[torch.Tensor]:
    return [x for x in torch.utils._pytree.tree_leaves(value) if isinstance(x, torch.Tensor)]


def is_close(narrow: torch.Tensor, reference: torch.Tensor) -> bool:
    """Whether a result is that of the wider type, rounded. Several roundings may come together."""
    a, b = narrow.cpu(), reference
    if a.dtype.is_complex:
        a, b = (torch.view_as_real(x.resolve_conj().to(torch.complex64)) for x in (a, b))
    a, b = a.double(), b.double()
    # float16 ends at 65504, and what is below 6e-8 is zero there.
    inside = ~(b.abs() > 60000)
    a, b = a[inside], b[inside]
    scale = b[b.isfinite()].abs().max().item() if b.isfinite().any() else 0.0
    return torch.allclose(a, b, rtol=0.02, atol=max(0.01 * scale, 6e-8), equal_nan=True)


NARROW = {
    torch.float16: {torch.float32: torch.float16, torch.complex64: torch.complex32},
    torch.bfloat16: {torch.float32: torch.bfloat16},
    torch.complex32: {torch.float32: torch.float16, torch.complex64: torch.complex32},
    torch.bool: {torch.uint8: torch.bool},
}


def difference(op: Any, sample: Any, dtype: torch.dtype, compare: bool) -> str:
    """What is wrong with a call that only CUDA computes; "" if nothing is. `compare`: with the same
    call in the wider type on the CPU."""
    try:
        mine = leaves(call(op, sample))
    except Exception as error:
        return str(error)
    sample.input, sample.args, sample.kwargs = wide((sample.input, sample.args, sample.kwargs))
    if not compare or dtype not in WIDER:
        return ""
    for result, reference in zip(mine, leaves(call(op, sample)), strict=True):
        expected = NARROW[dtype].get(reference.dtype, reference.dtype)
        if result.dtype != expected or not is_close(result, reference):
            return f"{result} for {reference}"
    return ""


def test_what_only_cuda_computes_is_computed_and_rounded() -> None:
    pairs, wrong = 0, []
    for name, op, dtype in only_cuda("cuda", "cpu"):
        pairs += 1
        comparable = name not in NOT_COMPARED
        for number, sample in enumerate(samples(op, dtype)):
            if text := difference(op, sample, dtype, comparable and number < 8):
                wrong.append(f"{name} {short(dtype)} {number}: {text}")
    assert not wrong, "\n".join(wrong)
    assert pairs > 90, pairs


def test_gradients_that_only_cuda_computes() -> None:
    pairs, wrong = 0, []
    for name, op, dtype in only_cuda("cuda", "cpu", backward=True):
        if not op.supports_autograd or (name, short(dtype)) in NO_GRADIENT:
            continue
        pairs += 1
        for sample in samples(op, dtype, grad=True):
            try:
                out = call(op, sample)
                if sample.output_process_fn_grad:
                    out = sample.output_process_fn_grad(out)
                outputs = [x for x in leaves(out) if x.requires_grad]
                if outputs:
                    torch.autograd.backward(outputs, [torch.ones_like(x) for x in outputs])
            except Exception as error:
                wrong.append(f"{name} {short(dtype)}: {error}")
                break
            grads = [x.grad for x in leaves([sample.input, sample.args]) if x.grad is not None]
            wrong += [f"{name}: a gradient of {g.dtype}" for g in grads if g.dtype != dtype]
    assert not wrong, "\n".join(wrong)
    assert pairs > 80, pairs


def test_what_cuda_refuses_is_refused_in_its_words() -> None:
    pairs, wrong, words = 0, [], set()
    for name, op, dtype in only_cuda("cpu", "cuda"):
        if (name, short(dtype)) in COMPUTED:
            continue
        pairs += 1
        try:
            for sample in samples(op, dtype):
                call(op, sample)
            wrong.append(f"{name} {short(dtype)}")
        except (NotImplementedError, RuntimeError) as error:
            words.add(str(error).split(" not implemented")[0])
    assert not wrong, wrong
    assert pairs > 120, pairs
    assert {'"addmm_cuda"', '"baddbmm_cuda"', '"histc"'} <= words
    assert not [text for text in words if "cpu" in text.lower()]


def test_half_transforms_have_sizes_that_are_powers_of_two() -> None:
    spectrum = torch.fft.rfft(torch.ones(3, 8, dtype=torch.float16, device="cuda"))
    assert spectrum.dtype == torch.complex32 and spectrum[0, 0].item() == 8
    with pytest.raises(RuntimeError, match=r"powers of two .* signal size of\[7\]"):
        torch.fft.rfft(torch.ones(3, 7, dtype=torch.float16, device="cuda"))
    with pytest.raises(RuntimeError, match=r"powers of two .* signal size of\[6\]"):
        torch.fft.irfft(torch.ones(4, dtype=torch.complex32, device="cuda"))
    assert torch.fft.irfft(spectrum).eq(1).all()


def test_in_place_and_out_variants_write_the_narrow_tensor() -> None:
    x = torch.tensor([0.25 + 0.5j, 1 - 1j], dtype=torch.complex32, device="cuda")
    expected = x.to(torch.complex64).sin().to(torch.complex32)
    out = torch.empty(0, dtype=torch.complex32, device="cuda")
    assert torch.sin(x, out=out) is out and out.tolist() == expected.tolist()
    view = x[1:]
    assert x.sin_() is x and x.tolist() == expected.tolist() and view.tolist() == x[1:].tolist()
    assert torch.tensor([True, False], device="cuda").abs().tolist() == [True, False]


def test_histograms_of_integers_count_in_integers() -> None:
    values = torch.tensor([0, 1, 2, 3, 9, 10, 11], device="cuda")
    counts = torch.histc(values, bins=10, min=0, max=10)
    assert counts.dtype == torch.int64 and counts.tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 0, 2]
    assert torch.histc(values.to(torch.int8), bins=2).tolist() == [4, 3]
    with pytest.raises(RuntimeError, match="max must be larger than min"):
        torch.histc(values, bins=2, min=3, max=1)
    assert torch.nansum(torch.tensor([1 + 1j, complex("nan")], device="cuda")).item() == 1 + 1j
