from __future__ import annotations

from pathlib import Path

import pytest


def losses(output: str) -> dict[str, list[float]]:
    return {
        name: [float.fromhex(x) for x in values]
        for name, *values in (line.split() for line in output.splitlines())
    }


@pytest.fixture
def both(run_virtual):
    """The losses on the CPU, with no virtual devices about, and on virtual CUDA."""
    cpu = run_virtual(Path("models.py"), devices=None, args=["cpu"])
    cuda = run_virtual(Path("models.py"), args=["cuda:1"])
    return losses(cpu.stdout), losses(cuda.stdout)


def test_models_train_to_the_same_bits_as_on_the_cpu(both):
    cpu, cuda = both
    assert set(cpu) == set(cuda) == {"resnet", "transformer", "lstm", "dlrm"}
    for name in cpu:
        assert sum(cpu[name][-4:-1]) < sum(cpu[name][:3]), name
        # A GPU's attention and LSTM are other operators than the CPU's: sums in another order.
        exact = name in ("resnet", "dlrm")
        assert cuda[name] == (cpu[name] if exact else pytest.approx(cpu[name], rel=1e-4)), name
