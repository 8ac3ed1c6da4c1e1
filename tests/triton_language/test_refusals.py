"""What is wrong in a kernel or its launch is said as the device says it, with the line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language

pytestmark = pytest.mark.devices("cuda:1", profile="h100-80g")


def line_of(text: str) -> str:
    """FILE:LINE of the only line of this file that ends with a comment."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}")]
    return f"{__file__}:{found}"


@triton.jit
def assembly_kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    y = tl.inline_asm_elementwise(  # assembly
        "{ .reg .b32 t; bar.sync 0; mov.b32 $0, $1; }",
        "=r,r",
        [x],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(x_ptr + tl.arange(0, 4), y)


def test_assembly_is_refused_with_its_line():
    with pytest.raises(NotImplementedError) as error:
        assembly_kernel[(1,)](torch.zeros(4, dtype=torch.int32, device="cuda"))
    assert str(error.value) == (
        f"torchport: {line_of('assembly')}: inline assembly for the GPU (`bar.sync 0`) cannot run on "
        "virtual devices: it is code for NVIDIA's processors. Give the kernel's callers a branch that "
        "uses plain PyTorch, or write it with `tl` functions."
    )


@triton.jit
def library_kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(
        x_ptr,
        tl.core.extern_elementwise(  # library
            "nvshmem",
            "",
            [x],
            {(tl.dtype("int32"),): ("nvshmem_my_pe", tl.dtype("int32"))},
            is_pure=False,
        ),
    )


def test_functions_of_other_libraries_are_refused():
    with pytest.raises(NotImplementedError) as error:
        library_kernel[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
    assert str(error.value) == (
        f"torchport: {line_of('library')}: `nvshmem_my_pe` of a library for the GPU cannot run on "
        "virtual devices: there is no plain function in its place. Give the kernel's callers a branch "
        "that uses plain PyTorch."
    )


@triton.jit
def store_kernel(out_ptr, count, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(out_ptr + places, places + tl.load(out_ptr + places) * 0)  # past the end


def test_a_store_past_the_end_is_left_out_and_told_once(capfd):
    out = torch.zeros(100, dtype=torch.int32, device="cuda")
    for _ in range(2):
        store_kernel[(1,)](out, 100, BLOCK=128)
    assert out.tolist() == list(range(100))
    said = [line for line in capfd.readouterr().err.splitlines() if "past the end" in line]
    assert said == [
        f"torchport: {line_of('past the end')}: a kernel stores 112 bytes past the end of a tensor of "
        "400 bytes. A GPU may overwrite another tensor there; on virtual devices nothing is stored."
    ]


@triton.jit
def wild_kernel(x_ptr, far):
    tl.store(x_ptr, tl.load(x_ptr + far))  # wild


def test_a_wild_address_is_an_illegal_access():
    x = torch.zeros(4, device="cuda")
    with pytest.raises(torch.AcceleratorError) as error:
        wild_kernel[(1,)](x, 1 << 40)
    said = str(error.value)
    assert said.startswith("CUDA error: an illegal memory access was encountered\n")
    assert (
        f"torchport: it happened at {line_of('wild')}, in program (0, 0, 0) of the Triton" in said
    )
    assert re.search(
        r"kernel wild_kernel: it loads 4 bytes at 0x[0-9a-f]+, which is in no ten", said
    )


def test_tensors_of_the_host_cannot_be_accessed():
    with pytest.raises(
        ValueError, match=r"^Pointer argument \(at 0\) cannot be accessed from Triton"
    ):
        wild_kernel[(1,)](torch.zeros(4), 0)
    wild_kernel[(1,)](torch.zeros(4).pin_memory(), 0)


def test_unknown_options_are_refused():
    with pytest.raises(KeyError, match="waves_per_eu was specified but unrecognised"):
        wild_kernel[(1,)](torch.zeros(4, device="cuda"), 0, waves_per_eu=2)
    with pytest.raises(TypeError, match="far"):
        wild_kernel[(1,)](torch.zeros(4, device="cuda"))


def test_grids_that_the_driver_refuses():
    x = torch.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match=r"Triton Error \[CUDA\]: invalid argument"):
        wild_kernel[(1, 65536)](x, 0)
    wild_kernel[(0,)](x, 1 << 40)  # no program runs


@triton.jit
def wrong_types_kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(x_ptr + tl.arange(0, 8), x)


def test_what_does_not_compile_says_what_the_compiler_says():
    with pytest.raises(triton.CompilationError, match="at 3:"):
        wrong_types_kernel[(1,)](torch.zeros(8, device="cuda"))


@triton.jit
def static_kernel(x_ptr, N: tl.constexpr):
    tl.static_assert(N > 4, "N has to be larger than 4")
    tl.store(x_ptr, 1.0)


def test_static_asserts():
    errors = pytest.importorskip("triton.compiler.errors")
    x = torch.zeros(1, device="cuda")
    with pytest.raises(errors.CompileTimeAssertionFailure, match="N has to be larger than 4"):
        static_kernel[(1,)](x, N=3)
    static_kernel[(1,)](x, N=5)
    assert x.item() == 1


@triton.jit
def assert_kernel(x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.device_assert(x < 3, "x is below 3")  # device assert


def test_device_asserts_count_with_debug_only():
    x = torch.arange(4, device="cuda")
    assert_kernel[(1,)](x, N=4)
    with pytest.raises(torch.AcceleratorError) as error:
        assert_kernel[(1,)](x, N=4, debug=True)
    assert str(error.value) == (
        f"CUDA error: device-side assert triggered\ntorchport: it happened at "
        f"{line_of('device assert')}, in the Triton kernel assert_kernel: x is below 3"
    )


def test_a_kernel_is_not_called_as_a_function():
    with pytest.raises(
        RuntimeError, match=r"Cannot call @triton\.jit'd outside of the scope of a kernel"
    ):
        static_kernel(1, 2)


@triton.jit
def mistaken_kernel(x_ptr):
    tl.store(x_ptr, nowhere)  # noqa: F821  # mistaken


def test_mistakes_in_python():
    with pytest.raises((triton.CompilationError, NameError), match="nowhere"):
        mistaken_kernel[(1,)](torch.zeros(1, device="cuda"))
