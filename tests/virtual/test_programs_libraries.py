"""Programs of other people's libraries. Those that are not installed are skipped: see
deps/programs.txt and `make test-programs`, which has an environment with all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

STANDINS = str(Path(__file__).parent / "standins")


def needs(package: str) -> pytest.MarkDecorator:
    from importlib.util import find_spec

    return pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")


def figures(output: str) -> dict[str, list[float]]:
    """Lines of a name and numbers."""
    return {
        name: [float.fromhex(value) for value in values]
        for name, *values in (line.split() for line in output.splitlines())
    }


@needs("timm")
def test_timm_models_train(run_virtual):
    program, path = Path("with_timm.py"), {"PYTHONPATH": STANDINS}
    cpu = figures(run_virtual(program, devices=None, args=["cpu"], **path).stdout)
    cuda = figures(run_virtual(program, args=["cuda"], **path).stdout)
    assert len(cpu) == 5 and cpu.keys() == cuda.keys()
    for name, values in cpu.items():
        # Attention on a GPU is another operator than on the CPU: sums in another order.
        exact = not name.startswith("vit")
        assert cuda[name] == (values if exact else pytest.approx(values, rel=1e-3)), name


@needs("transformers")
@needs("accelerate")
def test_transformers_models_train_and_spread_over_devices(run_virtual):
    program, options = Path("with_transformers.py"), {"HF_HUB_OFFLINE": "1", "timeout": 300}
    cpu = run_virtual(program, devices=None, args=["cpu"], **options).stdout.splitlines()
    cuda = run_virtual(program, args=["cuda"], **options).stdout.splitlines()
    assert len(cpu) == 8
    for want, got in zip(cpu, cuda, strict=False):
        name, verb, *values = want.split()
        assert got.split()[:2] == [name, verb]
        if verb == "loss":
            assert float(got.split()[2]) == pytest.approx(float(values[0]), rel=1e-4), name
        else:
            assert got.split()[2:] == values, name
    assert [line for line in cuda if line.startswith(("spread", "trained"))] == [
        "spread over 0 1",
        "spread over 0 1 cpu",
        "trained",
    ]


@needs("accelerate")
def test_accelerate_in_one_process_and_in_two(run_virtual):
    one = run_virtual(Path("with_accelerate.py"), devices="cuda:2")
    assert "processes 1 NO" in one.stdout
    assert "places 0 1 cpu" in one.stdout
    launcher = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    two = run_virtual(
        Path("with_accelerate.py"), python_args=launcher, PYTHONPATH=STANDINS, timeout=200
    )
    assert "processes 2 MULTI_GPU" in two.stdout


@needs("lightning")
@pytest.mark.parametrize(
    "devices, strategy", [(1, "SingleDeviceStrategy"), (2, "DDPStrategy")], ids=["one", "two"]
)
def test_lightning_trains(run_virtual, devices, strategy):
    done = run_virtual(Path("with_lightning.py"), args=[devices], timeout=200)
    assert f"devices {devices} {strategy}" in done.stdout
