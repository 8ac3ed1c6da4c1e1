"""CUDA graph trees: torch.compile(mode="reduce-overhead") captures, replays and branches."""

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
        warnings.filterwarnings("error", message=".*[Cc]uda ?graph.*")
        yield
    torch._dynamo.reset()


def manager() -> cudagraph_trees.CUDAGraphTreeManager:
    return cudagraph_trees.get_container(0).tree_manager


def graphs() -> int:
    return manager().new_graph_id().id


def test_replays_give_what_the_program_gives() -> None:
    @torch.compile(mode="reduce-overhead")
    def f(x, y):
        return (x @ y).relu() + x.sum(0), x.sin()

    for i in range(5):
        x, y = torch.randn(8, 8, device="cuda"), torch.randn(8, 8, device="cuda")
        got = [t.clone() for t in f(x, y)]
        torch.testing.assert_close(got, [(x @ y).relu() + x.sum(0), x.sin()])
        assert i < 2 or manager().path_state == cudagraph_trees.ExecutionState.EXECUTION
    assert len(manager().roots) == 1


def test_what_a_later_run_overwrote_must_not_be_used() -> None:
    f = torch.compile(lambda x: x * 2 + 1, mode="reduce-overhead")
    x = torch.ones(4, device="cuda")
    for _ in range(3):
        first = f(x)
    second = f(x + 1)
    with pytest.raises(RuntimeError, match="has been overwritten by a subsequent run"):
        first + 1
    assert second.tolist() == [5.0] * 4


def test_a_training_step() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.0), torch.nn.Linear(16, 4)
    ).cuda()
    eager = torch.nn.Sequential(*list(model))
    compiled = torch.compile(model, mode="reduce-overhead")
    for _ in range(4):
        x = torch.randn(5, 8, device="cuda")
        model.zero_grad()
        compiled(x).square().sum().backward()
        got = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        eager(x).square().sum().backward()
        torch.testing.assert_close(got, [p.grad for p in eager.parameters()])


def test_branches_return_to_their_root() -> None:
    @torch.compile(mode="reduce-overhead")
    def root(x):
        return x * 2, x + 1

    @torch.compile(mode="reduce-overhead")
    def left(x):
        return x.relu() * 3

    @torch.compile(mode="reduce-overhead")
    def right(x):
        return (x - 1).cos(), x.exp()

    def run(x, to_left):
        torch.compiler.cudagraph_mark_step_begin()
        a, b = root(x)
        if to_left:
            result = left(a), b
            assert torch.equal(result[0], (x * 2).relu() * 3)
        else:
            result = right(b)
            torch.testing.assert_close(list(result), [x.cos(), (x + 1).exp()])
        return [t.clone() for t in result]

    x = torch.randn(1000, device="cuda")
    for to_left in (True, True, True, False, False, False, True, False, True):
        run(x, to_left)
        x.add_(0.5)
    (top,) = manager().roots.values()
    assert sorted(len(n) for n in top[0].children.values()) == [1, 1]
    assert manager().debug_checkpointing_counter > 0


def test_a_result_that_lives_on_is_a_branch_of_its_own() -> None:
    @torch.compile(mode="reduce-overhead")
    def f(x):
        return x + 1, x * 3

    @torch.compile(mode="reduce-overhead")
    def g(y):
        return y * y

    x = torch.ones(600, device="cuda")
    for keep in (True, True, True, False, False, True):
        torch.compiler.cudagraph_mark_step_begin()
        y, z = f(x)
        if not keep:
            del z
        assert g(y)[0].item() == 4
        if keep:
            assert z[0].item() == 3
            del z
        del y


def test_memory_is_that_of_the_pool() -> None:
    f = torch.compile(lambda x: (x.sin().cos() @ x).sum(0), mode="reduce-overhead")
    x = torch.randn(1024, 1024, device="cuda")
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


def test_what_cannot_be_captured_is_left_out() -> None:
    torch._dynamo.utils.counters.clear()
    f = torch.compile(lambda x: x.cpu() + 1, mode="reduce-overhead")
    for _ in range(3):
        assert f(torch.ones(3, device="cuda")).tolist() == [2.0] * 3
    assert torch._dynamo.utils.counters["inductor"]["cudagraph_skips"] > 0
