"""What programs do with operators beyond calling them: torch.func, hooks, checkpoints, scripts,
graphs. Values and errors are the CPU's, devices of results the virtual ones."""

from __future__ import annotations

from pathlib import Path


def test_functional_transforms(run_virtual) -> None:
    run_virtual(Path("functional.py"))


def test_autograd(run_virtual) -> None:
    run_virtual(Path("autograd.py"))


def test_scripts(run_virtual) -> None:
    run_virtual(Path("scripted.py"))


def test_graphs(run_virtual) -> None:
    run_virtual(Path("graphs_of_ops.py"), timeout=240)


def test_inductor(run_virtual, tmp_path: Path) -> None:
    run_virtual(Path("inductor.py"), timeout=400, TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
