"""Programs of the breadth of the CUDA SDK's samples, which check themselves, on two virtual devices.

They are CUDA C++ as nvcc 13.0 compiles it; nothing in them knows of torchport. Comments at their beginning
have nvcc's flags, and the package whose headers they need.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
from recorded import TORCHPORT

SAMPLES = Path(__file__).parent / "samples"
HAS_CCCL = find_spec("nvidia") is not None and find_spec("nvidia.cuda_cccl") is not None
# Thrust's headers are half a minute's work.
LONG = {"thrust_algorithms"}


def said(path: Path, what: str) -> list[str]:
    """The words behind `// flags:` or `// needs:` in a program."""
    text = path.read_text()
    found = re.search(rf"^// {what}: (.*)$", text, re.MULTILINE)
    assert found or f" {what}: " not in text, f"{path.name}: `{what}:` begins no line"
    return found[1].split() if found else []


def marked(path: Path) -> object:
    marks: list[pytest.MarkDecorator] = []
    if said(path, "needs"):
        marks.append(pytest.mark.skipif(not HAS_CCCL, reason=f"needs {said(path, 'needs')[0]}"))
    if path.stem in LONG:
        marks.append(pytest.mark.long)
    return pytest.param(path.stem, marks=marks)


def build(path: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [TORCHPORT, "nvcc", "-std=c++17", "-arch=sm_90", *said(path, "flags"), *options, path]
    command += ["-o", folder / path.stem]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def run(path: Path, cache: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **variables,
        "TORCHPORT_VIRTUAL": "cuda:2,profile=h100-80g",
        "TORCHPORT_PROGRAM": str(TORCHPORT),
        "XDG_CACHE_HOME": str(cache),
    }
    return subprocess.run(
        [path],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def builds(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, Future[subprocess.CompletedProcess[str]]]]]:
    """What is built of the samples that this run has chosen, two at a time; one, where other tests run
    in other processes."""
    folder = tmp_path_factory.mktemp("samples")
    chosen = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.originalname == "test_sample_is_right"
        and not any(mark.args[0] for mark in item.iter_markers("skipif"))
    ]
    with ThreadPoolExecutor(1 if "PYTEST_XDIST_WORKER" in os.environ else 2) as pool:
        yield folder, {n: pool.submit(build, SAMPLES / f"{n}.cu", folder) for n in chosen}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", [marked(path) for path in sorted(SAMPLES.glob("*.cu"))])
def test_sample_is_right(
    name: str, builds: tuple[Path, dict[str, Future[subprocess.CompletedProcess[str]]]]
) -> None:
    folder, built = builds
    compiled = built[name].result()
    assert compiled.returncode == 0, compiled.stderr[-4000:]
    done = run(folder / name, folder / "cache")
    assert (done.returncode, done.stdout) == (0, f"{name}: right\n"), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", [marked(path) for path in sorted(SAMPLES.glob("*.cu"))])
def test_the_checker_finds_nothing_in_a_sample(name: str, tmp_path: Path) -> None:
    compiled = build(SAMPLES / f"{name}.cu", tmp_path, "--check-kernels")
    assert compiled.returncode == 0, compiled.stderr[-4000:]
    done = run(tmp_path / name, tmp_path / "cache", TORCHPORT_CHECK_KERNELS="1")
    assert (done.returncode, done.stdout) == (0, f"{name}: right\n"), done.stderr
    assert "nothing was found" in done.stderr


def test_kernels_that_start_kernels_are_refused(tmp_path: Path) -> None:
    source = SAMPLES / "refused" / "kernels_that_start_kernels.cu"
    compiled = build(source, tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    done = run(tmp_path / source.stem, tmp_path)
    assert done.returncode == 1
    assert "kernel quicksort: a kernel starts a kernel" in done.stderr
    assert "virtual devices have no dynamic parallelism" in done.stderr
