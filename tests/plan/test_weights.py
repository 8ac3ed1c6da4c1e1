"""Weights of a device without data are not read from their files: they need no memory of the host."""

from __future__ import annotations

from pathlib import Path

import pytest
import sparse_files
from planning_programs import torchport

GIB = 1 << 30
WEIGHTS = 20  # of 1 GiB
NAMES = [f"layers.{i}.weight" for i in range(WEIGHTS)]

# Prints what a step of the program costs: MiB of the host at most, MiB read, GiB of the device.
COSTS = """
import resource, sys, torch
from torch import nn
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
def read():
    numbers = dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())
    return max(int(numbers["rchar"]), int(numbers["read_bytes"])) >> 20
class Model(nn.Module):
    def __init__(self, device="cpu"):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16384, 16384, False, device) for _ in range({layers}))
torch.zeros(1, device="cuda")
before = peak(), read()
path = sys.argv[1]
{program}
if not callable(getattr(loaded, "values", None)):
    loaded = dict(loaded.named_parameters())
assert len(loaded) == {layers} and all(one.is_cuda for one in loaded.values()), loaded.keys()
print(peak() - before[0], read() - before[1], torch.cuda.memory_allocated() >> 30)
"""


def costs(folder: Path, program: str, file: Path) -> tuple[int, int, int]:
    script = folder / "program.py"
    script.write_text(COSTS.format(program=program, layers=WEIGHTS))
    run = torchport("run", "-q", "--profile", "h100-80g", "--no-data", script, file)
    assert run.returncode == 0, run.stderr
    host, read, device = map(int, run.stdout.split())
    return host, read, device


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = sparse_files.checkpoint(tmp_path_factory.mktemp("weights") / "model.pt", NAMES)
    assert path.stat().st_size > WEIGHTS * GIB
    assert path.stat().st_blocks * 512 < 50 << 20
    return path


@pytest.mark.parametrize(
    "program",
    [
        "loaded = torch.load(path, map_location='cuda')",
        "loaded = torch.load(path, map_location='cuda', weights_only=False)",
        "loaded = torch.load(path, map_location='cuda', mmap=False)",
        "loaded = torch.load(path, map_location=torch.device('cuda', 0), mmap=True)",
        "loaded = torch.load(path, map_location={'cpu': 'cuda:0'})",
        "loaded = torch.load(path, map_location=lambda storage, location: storage.cuda())",
        "loaded = torch.load(open(path, 'rb'), 'cuda')",
        "loaded = {name: one.cuda() for name, one in torch.load(path).items()}",
        "loaded = Model('cuda'); loaded.load_state_dict(torch.load(path))",
        "loaded = Model(); loaded.load_state_dict(torch.load(path)); loaded.cuda()",
        "loaded = Model('meta'); loaded.load_state_dict(torch.load(path, 'cuda'), assign=True)",
        "loaded = Model('meta').to_empty(device='cuda'); loaded.load_state_dict(torch.load(path))",
    ],
)
def test_a_checkpoint_is_not_read(tmp_path: Path, checkpoint: Path, program: str) -> None:
    host, read, device = costs(tmp_path, program, checkpoint)
    assert device == WEIGHTS
    assert host < 300, "MiB of the host"
    assert read < 20, "MiB"


@pytest.fixture(scope="module")
def tensors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "model.safetensors"
    return sparse_files.safetensors(path, "F32", dict.fromkeys(NAMES, (16384, 16384)))


OPEN = "import safetensors; opened = safetensors.safe_open(path, framework='pt', device='cuda:0'); "
FILE = "import safetensors.torch as files; "


@pytest.mark.parametrize(
    "program",
    [
        FILE + "loaded = files.load_file(path, device='cuda')",
        FILE + "loaded = files.load_file(path, device=0, backend='pread')",
        FILE + "loaded = {name: one.cuda() for name, one in files.load_file(path).items()}",
        FILE + "loaded = Model(); files.load_model(loaded, path); loaded.cuda()",
        FILE + "loaded = Model('cuda'); files.load_model(loaded, path, device='cuda')",
        OPEN + "loaded = {name: opened.get_tensor(name) for name in opened.keys()}",
        OPEN + "loaded = {name: opened.get_slice(name)[:] for name in opened.keys()}",
        "loaded = torch.load(path, 'cuda')",
    ],
)
def test_a_safetensors_file_is_not_read(tmp_path: Path, tensors: Path, program: str) -> None:
    host, read, device = costs(tmp_path, program, tensors)
    assert device == WEIGHTS
    assert host < 300, "MiB of the host"
    assert read < 20, "MiB"


def run_python(tmp_path: Path, text: str, *words: object) -> str:
    (tmp_path / "small.py").write_text(text)
    run = torchport("run", "-q", "--no-data", tmp_path / "small.py", *words, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_values_of_the_host_are_those_of_the_file(tmp_path: Path) -> None:
    """Also after the file is written anew, and a program may write to what it has loaded."""
    out = run_python(
        tmp_path,
        """
import torch, zipfile
from torch import nn
large = torch.arange(100_000.0)
torch.save({"large": large, "small": torch.arange(10.0), "view": large[5:9]}, "model.pt")
a = torch.load("model.pt", mmap=False)
b = torch.load("model.pt")
a["large"].mul_(2)
model = nn.Module(); model.large = nn.Parameter(torch.zeros(100_000))
kept = model.large
model.load_state_dict({"large": b["large"]})
assert kept is model.large
with torch.no_grad(): model.large.mul_(3)
c = torch.load("model.pt", map_location="cuda")
torch.save({"other": torch.zeros(3)}, "model.pt")
print(a["large"].double().sum().item(), a["view"].tolist(), a["small"].sum().item())
print(b["large"].double().sum().item(), b["view"].tolist(), model.large.double().sum().item())
print(c["small"].sum().item(), c["large"].shape[0], list(torch.load("model.pt")))
with zipfile.ZipFile("model.pt") as old, zipfile.ZipFile("small.pt", "w", zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist(): new.writestr(name, old.read(name))
torch.save({"x": large}, "old.pt", _use_new_zipfile_serialization=False)
print(torch.load("old.pt", "cuda")["x"].shape, torch.load("small.pt"))
""",
    )
    total = 99_999 * 50_000
    assert out.splitlines() == [
        f"{2.0 * total} [10.0, 12.0, 14.0, 16.0] 45.0",
        f"{1.0 * total} [5.0, 6.0, 7.0, 8.0] {3.0 * total}",
        "45.0 100000 ['other']",
        "torch.Size([100000]) {'other': tensor([0., 0., 0.])}",
    ]


def test_files_that_are_none_are_refused_as_torch_does(tmp_path: Path) -> None:
    out = run_python(
        tmp_path,
        """
import io, torch
open("text.pt", "w").write("no weights at all")
for file in ("missing.pt", "text.pt", io.BytesIO(b"PK")):
    try: torch.load(file)
    except Exception as error: print(type(error).__name__)
""",
    )
    assert out.split() == ["FileNotFoundError", "UnpicklingError", "UnpicklingError"]


def test_a_safetensors_file_has_its_small_values(tmp_path: Path) -> None:
    out = run_python(
        tmp_path,
        """
import safetensors, torch
from safetensors.torch import save_file
save_file({"a": torch.arange(8.0).view(2, 4), "b": torch.zeros(3, 100_000)}, "f.safetensors", {"format": "pt"})
with safetensors.safe_open("f.safetensors", framework="pt", device="cuda") as f:
    print(f.get_tensor("a").tolist(), f.get_slice("a")[:, 1:3].tolist(), f.metadata())
    print(sorted(f.keys()), f.get_slice("b").get_shape(), tuple(f.get_slice("b")[1:].shape))
    assert f.get_tensor("b").is_cuda and f.get_slice("b")[1:].is_cuda
with safetensors.safe_open("f.safetensors", framework="np") as f:
    print(f.get_tensor("a").sum())
""",
    )
    assert out.splitlines() == [
        "[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]] [[1.0, 2.0], [5.0, 6.0]] {'format': 'pt'}",
        "['a', 'b'] [3, 100000] (2, 100000)",
        "28.0",
    ]


# Saves on the host, loads into tensors of the device: plain ones, and those of a sharded model.
SAVES_PARTS = """
import torch, torch.distributed.checkpoint as checkpoint
names = [f"{i}.weight" for i in range(4)]
state = {name: torch.full((4096, 4096), 3.0) for name in names}
checkpoint.save(state | {"small": torch.arange(5.0), "step": 7}, checkpoint_id="parts")
"""
LOADS_PARTS = """
import os, resource, torch, torch.distributed as dist, torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.fsdp import fully_shard
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
def read():
    numbers = dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())
    return max(int(numbers["rchar"]), int(numbers["read_bytes"])) >> 20
dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
names = [f"{i}.weight" for i in range(4)]
state = {name: torch.empty(4096, 4096, device="cuda") for name in names}
state |= {"small": torch.zeros(5, device="cuda"), "step": 0}
model = nn.Sequential(*(nn.Linear(4096, 4096, bias=False, device="cuda") for _ in names))
fully_shard(model)
before = peak(), read()
checkpoint.load(state, checkpoint_id="parts")
sharded = model.state_dict()
checkpoint.load(sharded, checkpoint_id="parts")
print(peak() - before[0], read() - before[1])
print(state["small"].tolist(), state["step"], type(sharded["0.weight"]).__name__)
host = {"0.weight": torch.zeros(4096, 4096), "small": torch.zeros(5)}
checkpoint.load(host, checkpoint_id="parts")
print(host["0.weight"].double().mean().item(), host["small"].tolist())
dist.destroy_process_group()
"""


def test_a_checkpoint_of_parts_is_not_read(tmp_path: Path) -> None:
    run_python(tmp_path, SAVES_PARTS)
    (tmp_path / "loads.py").write_text(LOADS_PARTS)
    done = torchport(
        "run", "-q", "--no-data", "--ranks", 2, "--profile", "h100-80g", "loads.py", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    costs, loaded, on_host = done.stdout.splitlines()
    host, read = map(int, costs.split())
    assert host < 60, "MiB of the host"
    assert read < 10, "MiB"
    assert loaded == "[0.0, 1.0, 2.0, 3.0, 4.0] 7 DTensor"
    assert on_host == "3.0 [0.0, 1.0, 2.0, 3.0, 4.0]"
