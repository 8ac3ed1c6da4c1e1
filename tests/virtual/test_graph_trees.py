"""CUDA graph trees: torch.compile(mode="reduce-overhead") captures, replays and branches.

The functions here need no kernel that has to be compiled; test_inductor.py has those.
"""

import warnings
from collections.abc import Iterator

import pytest
import torch
from torch._inductor import config, cudagraph_trees

pytestmark = [pytest.mark.devices("cuda:1", timeout=400), pytest.mark.usefixtures("seeded")]


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    """Each step checks that the blocks in use are exactly those of live tensors."""
    torch._dynamo.reset()
    with config.patch({"triton.slow_path_cudagraph_asserts": True}), warnings.catch_warnings():
        warnings.filterwarnings("error", message="Unable to hit fast path of CUDAGraphs")
        yield
    torch._dynamo.reset()


def manager() -> cudagraph_trees.CUDAGraphTreeManager:
    return cudagraph_trees.get_container(0).tree_manager


def numbers(*size: int) -> torch.Tensor:
    return torch.randn(*size, device="cuda")


# Compiled functions of their own for each test: a function that was compiled keeps its graphs.


def compiled_product():
    return torch.compile(lambda x: x @ x, mode="reduce-overhead")


def compiled_product_and_rows_in_order():
    return torch.compile(lambda x: (x @ x, x.sort().values), mode="reduce-overhead")


def test_replays_give_what_the_program_gives() -> None:
    @torch.compile(mode="reduce-overhead")
    def f(x, y):
        z = x @ y
        return z @ z, z.sort().values

    for i in range(5):
        x, y = numbers(8, 8), numbers(8, 8)
        got = [t.clone() for t in f(x, y)]
        torch.testing.assert_close(got, [(x @ y) @ (x @ y), (x @ y).sort().values])
        assert i < 2 or manager().path_state == cudagraph_trees.ExecutionState.EXECUTION
    assert len(manager().roots) == 1


def test_what_a_later_run_overwrote_must_not_be_used() -> None:
    f = compiled_product()
    x = torch.eye(4, device="cuda")
    f(x)
    recorded = f(x)
    assert recorded.sum().item() == 4
    later = f(x * 2)
    for use in (lambda: recorded + 1, recorded.tolist, recorded.data_ptr):
        with pytest.raises(RuntimeError, match="has been overwritten by a subsequent run"):
            use()
    assert later.sum().item() == 16


def test_a_training_step() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16, bias=False), torch.nn.Linear(16, 4, bias=False)
    ).cuda()
    eager = torch.nn.Sequential(*list(model))
    compiled = torch.compile(model, mode="reduce-overhead")
    for _ in range(4):
        x = numbers(5, 8)
        model.zero_grad()
        compiled(x).square().sum().backward()
        got = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        eager(x).square().sum().backward()
        torch.testing.assert_close(got, [p.grad for p in eager.parameters()])
    (top,) = manager().roots.values()
    assert [len(nodes) for nodes in top[0].children.values()] == [1]  # the backward pass


def test_branches_return_to_their_root() -> None:
    root, left = compiled_product_and_rows_in_order(), compiled_product()

    @torch.compile(mode="reduce-overhead")
    def right(x):
        y = x @ x
        return y, y.sort().values

    def run(x: torch.Tensor, to_left: bool) -> None:
        torch.compiler.cudagraph_mark_step_begin()
        a, b = root(x)
        got = [left(a), b] if to_left else [a, *right(b)]
        want_a, want_b = x @ x, x.sort().values
        square = want_b @ want_b
        want = [want_a @ want_a, want_b] if to_left else [want_a, square, square.sort().values]
        torch.testing.assert_close(got, want)

    x = torch.randint(-3, 4, (30, 30), device="cuda").float()
    for to_left in (True, True, True, False, False, False, True, False, True):
        run(x, to_left)
        x.add_(1)
    (top,) = manager().roots.values()
    assert sorted(len(nodes) for nodes in top[0].children.values()) == [1, 1]
    assert manager().debug_checkpointing_counter > 0


def test_a_result_that_lives_on_is_a_branch_of_its_own() -> None:
    f, g = compiled_product_and_rows_in_order(), compiled_product()
    x = torch.eye(20, device="cuda") * 2
    for keep in (True, True, True, False, False, True):
        torch.compiler.cudagraph_mark_step_begin()
        y, z = f(x)
        if not keep:
            del z
        assert g(y)[0, 0].item() == 16
        if keep:
            assert z[0, -1].item() == 2
            del z
        del y


def test_memory_is_that_of_the_pool() -> None:
    f = torch.compile(lambda x: (x @ x) @ x, mode="reduce-overhead")
    x = numbers(1024, 1024)
    for _ in range(3):
        f(x)
    pools = {tuple(s["segment_pool_id"]) for s in torch.cuda.memory_snapshot()}
    assert len(pools - {(0, 0)}) >= 1
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        f(x)
    # A replay has the memory of its capture.
    assert (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()) == before
    assert torch.cuda.max_memory_reserved() == before[1]


def test_a_leak_is_told_with_its_address() -> None:
    held = []

    @torch.library.custom_op("torchport_tests::keeps", mutates_args=())
    def keeps(x: torch.Tensor) -> torch.Tensor:
        held.append(x @ x)
        return x.clone()

    keeps.register_fake(torch.empty_like)
    f = torch.compile(lambda x: torch.ops.torchport_tests.keeps(x @ x), mode="reduce-overhead")
    with pytest.raises(RuntimeError, match="in the cudagraph pool not tracked as outputs"):
        for _ in range(3):
            f(torch.eye(4, device="cuda"))
    held.clear()


def test_what_cannot_be_captured_is_left_out() -> None:
    f = torch.compile(lambda x: x.cpu() @ x.cpu(), mode="reduce-overhead")
    for _ in range(3):
        assert f(torch.eye(3, device="cuda")).sum().item() == 3
    assert manager() is None
