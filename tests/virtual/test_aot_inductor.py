"""AOTInductor on virtual devices: a package is compiled, loaded, and computes what the model does."""

import ctypes
import gc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim

pytestmark = pytest.mark.devices("cuda:2", timeout=400)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


class Net(nn.Module):
    """Has operators of generated code, of libraries, with lists, optional arguments and several
    results, and constants of the device and of the CPU."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.words = nn.Embedding(10, 64)
        self.heads = nn.MultiheadAttention(64, 4, batch_first=True)
        self.out = nn.Linear(64, 5)
        self.register_buffer("steps", torch.arange(4.0))

    def forward(self, x: torch.Tensor, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        image = self.conv(x).relu().flatten(2)
        text = self.words(words)
        both = torch.cat([image, text], 1)
        mixed, _ = self.heads(both, both, both, need_weights=False)
        values, places = mixed.sum(-1).sort(-1, descending=True)
        return self.out(mixed).softmax(-1) + self.steps.sum(), values * places


def inputs(batch: int, device: str = "cuda") -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(batch)
    return torch.randn(batch, 1, 8, 8).to(device), torch.randint(10, (batch, 3)).to(device)


def compile_package(
    model: nn.Module, given: tuple[torch.Tensor, ...], path: Path, **shapes: object
):
    with torch.no_grad():
        program = torch.export.export(model, given, **shapes)  # type: ignore[arg-type]
        return torch._inductor.aoti_compile_and_package(program, package_path=str(path))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    sizes = {"x": {0: Dim("batch", min=2, max=64)}, "words": {0: Dim("batch", min=2, max=64)}}
    path = tmp_path_factory.mktemp("package") / "net.pt2"
    return compile_package(Net().cuda().eval(), inputs(4), path, dynamic_shapes=sizes)


@pytest.mark.parametrize("batch", [4, 7])
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_a_package_computes_what_the_model_does(package: str, batch: int, device: str) -> None:
    model = Net().to(device).eval()
    compiled = torch._inductor.aoti_load_package(package, device_index=int(device[-1]))
    given = inputs(batch, device)
    with torch.no_grad():
        for found, wanted in zip(compiled(*given), model(*given), strict=True):
            assert found.device == torch.device(device)
            torch.testing.assert_close(found, wanted)


def test_the_current_device_is_taken_if_none_is_named(package: str) -> None:
    with torch.cuda.device(1):
        compiled = torch._inductor.aoti_load_package(package)
        found, _ = compiled(*inputs(4, "cuda:1"))
    assert found.device == torch.device("cuda:1")
    assert torch.cuda.current_device() == 0


def test_an_input_that_is_not_aligned_any_more_is_copied(package: str, capfd) -> None:
    compiled = torch._inductor.aoti_load_package(package)
    image, words = inputs(4)
    wanted = compiled(image, words)
    assert "aligned" not in capfd.readouterr().err
    off = torch.empty(image.numel() + 1, device="cuda")[1:].view_as(image).copy_(image)
    assert all(torch.equal(a, b) for a, b in zip(compiled(off, words), wanted, strict=True))
    assert "Input 0 was compiled as 16-bytes aligned" in capfd.readouterr().err


def test_an_input_whose_memory_was_freed_is_refused(package: str) -> None:
    compiled = torch._inductor.aoti_load_package(package)
    image, words = inputs(4)
    words.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="data is not allocated yet"):
        compiled(image, words)


def test_results_are_in_the_account(package: str) -> None:
    compiled = torch._inductor.aoti_load_package(package)
    given = inputs(64)
    compiled(*given)  # cuBLAS takes its workspace
    before = torch.cuda.memory_allocated()
    results = compiled(*given)
    after = torch.cuda.memory_allocated()
    blocks = [-(-each.numel() * each.element_size() // 512) * 512 for each in results]
    assert after - before == sum(blocks)


def test_constants_take_memory_of_the_device(package: str) -> None:
    before, allocated = torch.cuda.mem_get_info(1)[0], torch.cuda.memory_allocated(1)
    compiled = torch._inductor.aoti_load_package(package, device_index=1)
    weights = sum(4 * each.numel() for each in Net().parameters())
    assert 0.9 * weights < before - torch.cuda.mem_get_info(1)[0] < 1.3 * weights
    assert torch.cuda.memory_allocated(1) == allocated
    del compiled
    gc.collect()
    assert torch.cuda.mem_get_info(1)[0] == before


def test_weights_are_named_and_can_be_replaced(package: str) -> None:
    other = Net().cuda(1).eval()
    with torch.no_grad():
        other.words.weight.mul_(0.5)
    compiled = torch._inductor.aoti_load_package(package, device_index=1)
    assert {"conv.weight", "words.weight"} <= set(compiled.get_constant_fqns())
    compiled.load_constants({"words.weight": other.words.weight.detach()}, check_full_update=False)
    given = inputs(4, "cuda:1")
    with torch.no_grad():
        torch.testing.assert_close(compiled(*given)[0], other(*given)[0])


LATE = """
import sys, torch
compiled = torch._inductor.aoti_load_package(sys.argv[1])
found, _ = compiled(torch.ones(4, 1, 8, 8, device="cuda"), torch.full((4, 3), 10, device="cuda"))
torch.cuda.synchronize()
"""


def test_an_index_out_of_range_is_a_device_side_assert(package: str, run_virtual) -> None:
    done = run_virtual(LATE, args=(package,), check=False, TORCHPORT_ERRORS="device")
    assert "index out of bounds: 0 <= " in done.stderr
    assert "CUDA error: device-side assert triggered" in done.stderr


def test_what_was_compiled_needs_torchport(package: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".so"))
        library = Path(archive.extract(name, tmp_path))
    assert b"torchport_aoti_call" in library.read_bytes()
    assert hasattr(ctypes.CDLL(None), "torchport_aoti_call")  # here it is


def test_code_for_a_real_device_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    with zipfile.ZipFile(path, "w") as package:
        folder = "model/data/aotinductor/model"
        package.writestr(f"{folder}/a.wrapper.so", b"")
        package.writestr(f"{folder}/a.wrapper_metadata.json", '{"AOTI_DEVICE_KEY": "cuda"}')
    with pytest.raises(NotImplementedError, match="compile the model again under torchport"):
        torch._inductor.aoti_load_package(str(path))


class Rows(nn.Module):
    def forward(self, table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return table[rows].sin() * 2


def test_a_library_without_a_package_and_cpp_wrapper() -> None:
    given = torch.randn(5, 3, device="cuda"), torch.tensor([0, 4, 2], device="cuda")
    wanted = Rows()(*given)
    program = torch.export.export(Rows(), given)
    path = torch._inductor.aot_compile(program.module(), given)
    runner = torch._C._aoti.AOTIModelContainerRunnerCuda(path, 1, "cuda")
    torch.testing.assert_close(runner.run(list(given))[0], wanted)
    assert len(runner.get_call_spec()) == 2
    compiled = torch.compile(Rows(), options={"cpp_wrapper": True})
    torch.testing.assert_close(compiled(*given), wanted)
