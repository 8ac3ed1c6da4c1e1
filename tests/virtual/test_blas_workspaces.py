"""The workspaces of cuBLAS in the account of memory; the figures are an NVIDIA H200's (tests/fidelity)."""

import gc
import threading

import pytest
import torch
from torch.nn import functional as F

pytestmark = pytest.mark.devices("cuda:1")

MIB = 1 << 20
HOPPER = torch.cuda.get_device_capability() >= (9, 0)
WORKSPACE = 32 * MIB if HOPPER else (4096 * 2 + 16 * 8) * 1024


@pytest.fixture(autouse=True)
def cleared():
    torch._C._cuda_clearCublasWorkspaces()
    yield
    torch._C._cuda_clearCublasWorkspaces()


def taken(function):
    """The bytes that a call leaves allocated when its result is gone."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    function()
    return torch.cuda.memory_allocated() - before


def test_the_first_product_of_a_stream_takes_one():
    x = torch.ones(300, 300, device="cuda")
    assert taken(lambda: x @ x) == WORKSPACE
    assert taken(lambda: x @ x) == 0
    assert taken(lambda: torch.bmm(x[None], x[None])) == 0
    with torch.cuda.stream(torch.cuda.Stream()):
        assert taken(lambda: x @ x) == WORKSPACE
    torch.cuda.empty_cache()
    assert taken(torch._C._cuda_clearCublasWorkspaces) == -2 * WORKSPACE


def test_backward_passes_and_threads_have_their_own():
    x = torch.ones(30, 30, device="cuda", requires_grad=True)
    y = x @ x
    assert taken(lambda: y.sum().backward()) == WORKSPACE + 30 * 30 * 4 // 512 * 512 + 512
    with torch.no_grad():
        thread = threading.Thread(target=lambda: x @ x)
        assert taken(lambda: (thread.start(), thread.join())) == WORKSPACE
        # A thread that has ended leaves its handle to the next one.
        thread = threading.Thread(target=lambda: x @ x)
        assert taken(lambda: (thread.start(), thread.join())) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.outer(x[0], x[0]),
        lambda x: torch.linalg.cholesky(torch.eye(4, device="cuda")),
        lambda x: F.conv1d(x[None], x[:, :, None]),
        lambda x: torch.linalg.lu_factor(torch.eye(4, device="cuda")),
        lambda x: x.to_sparse() @ x,
        lambda x: torch.empty(0, 4, device="cuda") @ x,
    ],
)
def test_calls_without(call):
    assert taken(lambda: call(torch.ones(4, 4, device="cuda"))) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x @ x[0],
        lambda x: torch.dot(x[0], x[0]),
        lambda x: torch.linalg.inv(x + 9 * torch.eye(4, device="cuda")),
        lambda x: torch.linalg.lu_factor((x + 9 * torch.eye(4, device="cuda")).expand(2, 4, 4)),
        lambda x: torch.linalg.matrix_exp(x),
        lambda x: torch.einsum("ij,jk->ik", x, x),
        lambda x: F.linear(x, x),
    ],
)
def test_calls_with_one(call):
    x = torch.arange(16.0, device="cuda").reshape(4, 4)
    assert taken(lambda: call(x)) == WORKSPACE


def test_linear_with_a_bias():
    """cuBLASLt had a workspace of its own until torch 2.11."""
    x = torch.ones(4, 4, device="cuda")
    release = tuple(map(int, torch.__version__.split(".")[:2]))
    own = MIB if release < (2, 12) else 0
    assert taken(lambda: F.linear(x, x, x[0])) == WORKSPACE + own


def test_sizes_that_a_program_sets():
    if not hasattr(torch._C, "_cuda_setCublasWorkspaceSize"):
        pytest.skip("this release cannot set them")
    x = torch.ones(4, 4, device="cuda")
    torch._C._cuda_setCublasWorkspaceSize(3 * MIB)
    try:
        assert torch._C._cuda_getCublasWorkspaceSize() == 3 * MIB
        assert taken(lambda: x @ x) == 3 * MIB
    finally:
        torch._C._cuda_resetCublasWorkspaceSize()
    # It is too small now.
    assert taken(lambda: x @ x) == WORKSPACE - 3 * MIB
    with pytest.raises(RuntimeError, match="must be non-negative"):
        torch._C._cuda_setCublasWorkspaceSize(-1)


def test_the_size_in_the_environment(monkeypatch):
    """It is read for each workspace, but once since there are functions that set it."""
    x = torch.ones(4, 4, device="cuda")
    assert taken(lambda: x @ x) == WORKSPACE
    torch._C._cuda_clearCublasWorkspaces()
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":128:8:64:16:32:32")
    once = hasattr(torch._C, "_cuda_setCublasWorkspaceSize")
    assert taken(lambda: x @ x) == (WORKSPACE if once else 3 * MIB)


def test_a_graph_keeps_what_it_draws_from():
    """Two blocks for the generator, which go with the last graph."""
    x = torch.ones(1 << 20, device="cuda")
    graph = torch.cuda.CUDAGraph()
    gc.collect()  # of what a test before has left
    before = torch.cuda.memory_allocated()
    with torch.cuda.graph(graph):
        y = x * 2
    assert torch.cuda.memory_allocated() - before == 4 * MIB + 1024
    second = torch.cuda.CUDAGraph()
    with torch.cuda.graph(second, pool=graph.pool()):
        z = y * 3
    assert torch.cuda.memory_allocated() - before == 8 * MIB + 1024
    del graph, second
    assert torch.cuda.memory_allocated() - before == 8 * MIB
    del y, z
