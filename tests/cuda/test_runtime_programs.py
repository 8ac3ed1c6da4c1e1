"""CUDA's runtime by programs of its own: kernels that never end, full memory, faults, graphs, NVRTC."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recorded import TORCHPORT

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("built")


def build(folder: Path, name: str, *flags: str) -> Path:
    path = folder / Path(name).stem
    if not path.exists():
        command = [TORCHPORT, "nvcc", *flags, PROGRAMS / name, "-o", path]
        subprocess.run(command, check=True, timeout=100)
    return path


def run(
    path: Path, *words: str, devices: str = "cuda:1", **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TORCHPORT_VIRTUAL": devices, "TORCHPORT_PROGRAM": str(TORCHPORT)}
    return subprocess.run(
        [path, *words],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("how", ["spins", "waits", "clocks"])
def test_time_limit_names_the_kernel(how: str, folder: Path) -> None:
    done = run(build(folder, "forever.cu"), how, TORCHPORT_KERNEL_SECONDS="0.3")
    assert done.stdout == "begins\ncudaErrorLaunchTimeout\n"
    line = f"torchport: kernel {how}: runs longer than TORCHPORT_KERNEL_SECONDS=0.3 seconds\n"
    assert done.stderr == line


@pytest.mark.parametrize("threads", ["1", "3"])
def test_blocks_may_wait_for_later_blocks(threads: str, folder: Path) -> None:
    done = run(build(folder, "later_blocks.cu"), OMP_NUM_THREADS=threads)
    assert done.stdout == "3\n3\n20000\n", done.stderr


@pytest.mark.parametrize("how", ["spins", "waits", "clocks"])
def test_interrupt_ends_a_program(how: str, folder: Path) -> None:
    program = build(folder, "forever.cu")
    with subprocess.Popen([program, how], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT


def test_interrupt_is_raised_by_python_and_the_device_goes_on(folder: Path) -> None:
    library = folder / "forever.so"
    command = [TORCHPORT, "nvcc", "-shared", "-Xcompiler", "-fPIC", PROGRAMS / "forever.cu"]
    subprocess.run([*command, "-o", library], check=True, timeout=100)
    code = f"""
import ctypes, _thread, signal, threading, os
start = ctypes.CDLL({str(library)!r}).start
threading.Timer(0.6, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    print(start(b"spins"), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.environ["TORCHPORT_KERNEL_SECONDS"] = "0"
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "begins\ninterrupted\n", done.stderr
    assert "kernel spins: abandoned, because the program was interrupted" in done.stderr


def test_memory_runs_out_as_on_the_device(folder: Path) -> None:
    done = run(build(folder, "memory.cu"), devices="cuda:2,memory=4GiB")
    assert done.stdout.splitlines() == [
        "blocks 4, then out of memory",
        "left 0 MiB",
        "written: cudaSuccess",
        "after: 4096 MiB of 4096 MiB",
        "device 1: cudaSuccess",
    ]


def test_two_processes_have_devices_of_their_own(folder: Path) -> None:
    program = build(folder, "memory.cu")
    environment = os.environ | {"TORCHPORT_VIRTUAL": "cuda:1,memory=2GiB"}
    both = [
        subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        out, _ = process.communicate(timeout=60)
        assert out.splitlines()[0] == "blocks 2, then out of memory"


def test_no_device(folder: Path) -> None:
    done = run(build(folder, "memory.cu"), devices="none")
    assert "blocks 0, then no CUDA-capable device is detected" in done.stdout


def test_fault_names_thread_and_memory(folder: Path) -> None:
    program = build(folder, "neighbours.cu")
    behind = run(program, "behind")
    assert behind.stdout == "cudaErrorIllegalAddress\n"
    assert "kernel reads: block (0, 0, 0), thread (5, 0, 0): reads from address 0x" in behind.stderr
    assert "0 bytes behind the end of memory of 8388608 bytes" in behind.stderr
    freed = run(program, "freed")
    assert freed.stdout == "cudaErrorIllegalAddress\n"
    assert "byte 0 of memory of 8388608 bytes" in freed.stderr
    assert "that was freed" in freed.stderr


def test_compiles_at_run_time(folder: Path) -> None:
    program = build(folder, "run_time_compiler.cpp", "-lnvrtc", "-lcuda")
    cache = str(folder / "cache")
    for _ in range(2):  # the second time from the cache
        done = run(program, XDG_CACHE_HOME=cache)
        assert done.stdout.splitlines() == [
            "compiled: NVRTC_SUCCESS []",
            "lowered: _Z6scaledIfEvPT_iS0_",
            "loaded: 0 0 0",
            "launched: 0",
            "values: 17 17",
            "global: 0 4",
            "packed: 0",
            "values: 5.25 5.25",
            "bad: NVRTC_ERROR_COMPILATION, line named: 1",
        ]


def test_the_driver_of_newer_releases(folder: Path) -> None:
    done = run(build(folder, "newer_driver.cu"))
    assert done.stdout == "right\n", done.stderr


def test_graphs_made_by_hand(folder: Path) -> None:
    done = run(build(folder, "graphs.cu"))
    assert done.stdout.splitlines() == [
        "made by hand: 103",
        "updated: 105",
        "with a child: 1103",
        "a circle: cudaErrorInvalidValue",
    ]
