"""What Triton says of the device, and how it chooses and measures."""

from __future__ import annotations

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language

pytestmark = pytest.mark.devices("cuda:2", profile="h100-80g")


@triton.jit
def scale_kernel(x_ptr, out_ptr, count, by, BLOCK: tl.constexpr, EVEN: tl.constexpr = False):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out_ptr + places, tl.load(x_ptr + places) * by)
    else:
        inside = places < count
        tl.store(out_ptr + places, tl.load(x_ptr + places, mask=inside) * by, mask=inside)


def scaled(kernel, x, **options):
    out = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta.get("BLOCK", 64)),)](
        x, out, x.numel(), 3.0, **options
    )
    return out


def test_the_driver_answers_for_the_profile():
    driver = triton.runtime.driver.active
    target = driver.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cuda", 90, 32)
    assert driver.get_active_torch_device() == torch.device("cuda", 0)
    assert driver.get_current_device() == 0
    facts = driver.utils.get_device_properties(0)
    assert facts["multiprocessor_count"] == 132
    assert facts["max_shared_mem"] == 232448  # 227 KiB, H100's opt-in limit
    assert facts["warpSize"] == 32
    assert driver.is_active()


def test_the_current_device_and_its_stream():
    driver = triton.runtime.driver.active
    with torch.cuda.device(1):
        assert driver.get_current_device() == 1
        assert driver.get_active_torch_device() == torch.device("cuda", 1)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            assert driver.get_current_stream(1) == stream.cuda_stream
        x = torch.arange(10.0, device="cuda")
        assert torch.equal(scaled(scale_kernel, x, BLOCK=16), x * 3)
    driver.set_current_device(1)
    assert torch.cuda.current_device() == 1
    driver.set_current_device(0)


def test_benchmarks_measure():
    x = torch.ones(100, device="cuda")
    calls = []

    def call():
        calls.append(scaled(scale_kernel, x, BLOCK=128))

    assert triton.testing.do_bench(call, warmup=2, rep=5) > 0
    low, high = triton.testing.do_bench(call, warmup=2, rep=5, quantiles=[0.1, 0.9])
    assert 0 < low <= high
    assert len(calls) > 10
    assert triton.runtime.driver.active.get_benchmarker() is triton.testing.do_bench


def test_the_first_configuration_that_runs_is_taken(capfd):
    seen = []

    @triton.autotune(
        configs=[
            triton.Config({"BLOCK": 8}),
            triton.Config({"BLOCK": 32}),
            triton.Config({"BLOCK": 64}),
        ],
        key=["count"],
    )
    @triton.heuristics({"EVEN": lambda args: args["count"] % args["BLOCK"] == 0})
    @triton.jit
    def kernel(x_ptr, out_ptr, count, by, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        tl.static_assert(BLOCK >= 32)
        scale_kernel(x_ptr, out_ptr, count, by, BLOCK, EVEN)

    for size in (64, 70):
        x = torch.arange(float(size), device="cuda")
        assert torch.equal(scaled(kernel, x), x * 3)
        seen.append(kernel.best_config.kwargs)
    assert seen == [{"BLOCK": 32}] * 2
    said = [line for line in capfd.readouterr().err.splitlines() if "autotune" in line]
    assert said == [
        "torchport: triton.autotune takes the first configuration that runs, because times on virtual "
        f"devices say nothing of a GPU: kernel got {kernel.best_config}"
    ]


def test_hooks_of_autotuning():
    """What is reset, restored and pruned; the kernel's effect happens once."""

    @triton.autotune(
        configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64})], key=["count"],
        reset_to_zero=["out_ptr"],
        prune_configs_by={"early_config_prune": lambda configs, args, **_: configs[1:]},
    )  # fmt: skip
    @triton.jit
    def kernel(x_ptr, out_ptr, count, by, BLOCK: tl.constexpr):
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(out_ptr + places, tl.load(x_ptr + places) * by)

    x, out = torch.ones(64, device="cuda"), torch.full((64,), 5.0, device="cuda")
    kernel[(1,)](x, out, 64, 2.0)
    assert kernel.best_config.kwargs == {"BLOCK": 64}
    assert (out == 2).all()
    kernel[(1,)](x, out, 64, 2.0)
    assert (out == 4).all()


def test_a_launch_knows_what_the_compiler_makes_of_the_kernel():
    """Triton's compiler needs no GPU; it compiles for the profile's."""
    x = torch.ones(64, device="cuda")
    launched = scale_kernel[(1,)](x, x.clone(), 64, 2.0, BLOCK=64, num_warps=8)
    assert ".target sm_90a" in launched.asm["ptx"]
    assert launched.metadata.num_warps == 8
    early = scale_kernel.warmup(torch.float32, torch.float32, 64, 2.0, BLOCK=64, grid=(1,))
    assert "tt.func" in early.asm["ttir"]
    with pytest.raises(NotImplementedError) as error:
        early[(1, 1, 1)](x, x, 64, 2.0)
    assert str(error.value) == (
        "torchport: virtual devices do not support triton's load_binary: there is no GPU that could run "
        "compiled code"
    )


def test_hooks_before_a_launch():
    seen = []

    @triton.jit
    def kernel(x_ptr):
        tl.store(x_ptr, tl.load(x_ptr) + 1)

    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append(args[0].item()))
    x = torch.zeros(1, device="cuda")
    kernel[(1,)](x)
    kernel.run(x, grid=(1,), warmup=False)
    assert seen == [0, 1] and x.item() == 2


def test_threads_launch_one_after_another():
    from concurrent.futures import ThreadPoolExecutor

    x = torch.arange(2048.0, device="cuda")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: scaled(scale_kernel, x, BLOCK=64), range(8)))
    assert all(torch.equal(one, x * 3) for one in results)
