"""Every public name of torch.cuda is there, and every binding that torch's Python sources name."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")


# Names of torch._C that are not there, and why.
ABSENT = {
    "_FastCudaLauncher": "launches Triton's kernels; there is no GPU that could run them",
    "_StaticCudaLauncher": "launches Triton's kernels; there is no GPU that could run them",
    "_cusparselt": "torch.backends.cusparselt says that it is not available",
    "_cuda_getHipblasltVersion": "ROCm's",
}
# What a call without arguments may raise. NVML's say what they say where pynvml is missing.
REFUSALS = (NotImplementedError, ModuleNotFoundError)
OF_CUDA = re.compile(
    r"_cuda_\w+|_cudart|_cudnn\w*|_cusparselt|_nvtx|_nccl_\w+|_gds_\w+|\w*Cuda\w+|_CUDA[A-Z]\w+"
    r"|_broadcast\w*|_scatter\w*|_gather\w*|_MemPool|_host_emptyCache|_graph_pool_handle"
)


def modules() -> Iterator[ModuleType]:
    yield torch.cuda
    for found in pkgutil.walk_packages(torch.cuda.__path__, "torch.cuda."):
        if not found.name.rsplit(".", 1)[1].startswith("_"):
            yield importlib.import_module(found.name)


def named_bindings(source: str) -> Iterator[str]:
    """The names of torch._C in a source: torch._C.name, _C.name, from torch._C import name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "torch._C":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            match node.value:
                case ast.Name("_C") | ast.Attribute(ast.Name("torch"), "_C"):
                    yield node.attr


def without_arguments(function: object) -> bool:
    return inspect.isfunction(function) and all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        for p in inspect.signature(function).parameters.values()
    )


public = [(m, name) for m in modules() for name in getattr(m, "__all__", ())]


def test_every_public_name_is_there() -> None:
    missing = [f"{m.__name__}.{name}" for m, name in public if not hasattr(m, name)]
    assert not missing, missing
    assert len(public) > 200


def test_every_function_answers_or_names_itself() -> None:
    called = 0
    for module, name in public:
        function = getattr(module, name)
        if without_arguments(function):
            called += 1
            try:
                function()
            except REFUSALS as refusal:
                known = name in str(refusal) or re.search("nvidia-ml-py|pynvml", str(refusal))
                assert known, f"{module.__name__}.{name} does not name itself: {refusal}"
    assert called > 60, called


def test_every_binding_that_torch_names_is_there() -> None:
    seen = set()
    for path in Path(torch.__file__).parent.rglob("*.py"):
        text = path.read_text(errors="replace")
        if "_C" in text and OF_CUDA.search(text):
            seen |= {name for name in named_bindings(text) if OF_CUDA.fullmatch(name)}
    absent = {name for name in seen if not hasattr(torch._C, name)}
    assert absent - set(ABSENT) == set(), sorted(absent - set(ABSENT))
    assert {name for name in ABSENT if hasattr(torch._C, name)} == set(), "no longer absent"
    assert len(seen) > 100, len(seen)
