"""A process ends well, whatever its threads are at."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.own_process]

BACKWARD = """
import time, torch
{before}
torch.autograd.set_multithreading_enabled(True)  # as on CUDA: a thread for each device
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(1)  # Python is about to go: the threads that still want its lock are ended

late = Late()
torch.randn(20, 20, device="{device}", requires_grad=True).sum().backward()
print("done")
"""


@pytest.fixture(scope="module")
def slow_threads(tmp_path_factory) -> str:
    """A library to preload (slow_threads.c)."""
    if shutil.which("cc") is None or not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        pytest.skip("needs a C compiler, and a Python with a shared library")
    library = tmp_path_factory.mktemp("slow") / "slow_threads.so"
    source = Path(__file__).with_name("slow_threads.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return str(library)


@pytest.mark.parametrize(
    ("devices", "device"), [("cuda:2", "cuda:0"), ("mps", "mps"), ("xpu:2", "xpu:0")]
)
def test_autograds_threads_are_at_rest_when_python_goes(run_virtual, slow_threads, devices, device):
    code = BACKWARD.format(before="", device=device)
    done = run_virtual(code, devices=devices, LD_PRELOAD=slow_threads)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_forked_child_ends_well(run_virtual, slow_threads):
    # The parent has not used autograd on a device; the child does.
    before = "import os, sys\nif pid := os.fork():\n    sys.exit(os.waitpid(pid, 0)[1] != 0)"
    code = BACKWARD.format(before=before, device="cuda:0")
    done = run_virtual(code, LD_PRELOAD=slow_threads)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_child_of_a_process_that_used_autograd_ends_well(run_virtual):
    # It may not use autograd on a device itself, and does not.
    code = (
        BACKWARD.format(before="", device="cuda:0")
        + """
import os
if pid := os.fork():
    assert os.waitpid(pid, 0)[1] == 0
"""
    )
    assert run_virtual(code).stderr == ""


def test_modes_that_were_left_on_do_not_matter(run_virtual):
    code = (
        BACKWARD.format(before="", device="cuda:0")
        + """
from torch.utils._python_dispatch import TorchDispatchMode

class Loud(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise AssertionError(func)

torch.autograd.grad_mode._enter_inference_mode(True)
Loud().__enter__()
"""
    )
    done = run_virtual(code)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_ctrl_c_ends_a_program_as_ever_and_the_report_is_written(tmp_path):
    (tmp_path / "endless.py").write_text(
        "import torch\nx = torch.ones(3, device='cuda')\nx.sum()\nprint('on its way', flush=True)\n"
        "while True: x.sum().item()\n"
    )
    command = [Path(sys.executable).with_name("torchport"), "run", "--report", "json"]
    with subprocess.Popen(
        [*command, "--report-file", "report.json", "endless.py"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout.readline() == "on its way\n"
        program.send_signal(signal.SIGINT)
        said = program.communicate(timeout=60)[1]
    assert program.returncode == -signal.SIGINT, "which a shell shows as 130"
    assert said.count("Traceback") == 1 and said.rstrip().endswith("KeyboardInterrupt")
    assert "_watching" not in said
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["operators"]["aten::sum"] >= 1
    assert not any(name.startswith("torchport::") for name in told["operators"])


def test_exceptions_of_signal_handlers_reach_a_watched_program(run_virtual):
    code = """
import signal, time, torch

class Alarm(Exception): pass

def ring(*_):
    raise Alarm

signal.signal(signal.SIGALRM, ring)
x = torch.ones(3, device="cuda")
heard = 0
for _ in range(50):
    end = time.monotonic() + 2
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        while time.monotonic() < end:
            x[0].item()
    except Alarm:
        heard += 1
print(heard)
"""
    done = run_virtual(code, TORCHPORT_REPORT="json:/dev/null")
    assert (done.stdout, done.stderr) == ("50\n", "")


GRAPHS = """
import torch
x = torch.ones(8, device="cuda")
graph, pool = torch.cuda.CUDAGraph(), torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    y = torch.ones(8, device="cuda")
with torch.cuda.graph(graph):
    z = x * 2
state = torch._C._cuda_getCheckpointState(0, graph.pool())
graph.replay()
{keep}
print("done")
"""


@pytest.mark.parametrize(
    "keep",
    ["", "torch.kept = graph, pool, state", "import builtins; builtins.kept = graph, pool, state"],
    ids=["names", "module", "builtins"],
)
def test_graphs_and_pools_end_with_python_without_a_word(run_virtual, keep):
    done = run_virtual(GRAPHS.format(keep=keep))
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_compiled_graphs_end_with_python_without_a_word(run_virtual):
    code = """
        import torch
        @torch.compile(mode="reduce-overhead")
        def f(x): return x @ x
        x = torch.randn(10, 10, device="cuda")
        for _ in range(3):
            torch.compiler.cudagraph_mark_step_begin(); f(x)
        print("done")
    """
    done = run_virtual(textwrap.dedent(code))
    assert done.stdout == "done\n"
    assert "ignored" not in done.stderr
