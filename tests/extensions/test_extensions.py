"""CUDA extensions of PyPI, built unmodified for virtual devices and compared with plain PyTorch.

`make test-extensions` runs them; a build takes minutes. What a package is built from is pinned by its hash
(deps/extensions.txt), and what was built is kept in build/extensions.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "extensions"
TORCHPORT = Path(sys.executable).parent / "torchport"
PINNED = {
    line.split("==")[0]: line
    for line in (ROOT / "deps" / "extensions.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
pytestmark = pytest.mark.skipif(
    "TORCHPORT_EXTENSIONS" not in os.environ, reason="builds for minutes: make test-extensions"
)


def on_virtual_device(*command: object, folder: Path, timeout: float = 3600) -> str:
    done = subprocess.run(
        [TORCHPORT, "run", "-q", "--profile", "h100-80g", "--", *command],
        cwd=folder,
        env=dict(os.environ, FORCE_CUDA="1", TORCH_CUDA_ARCH_LIST="9.0"),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def built(name: str) -> Path:
    """The folder of a package, whose modules were built in place."""
    folder = BUILT / name
    folder.mkdir(parents=True, exist_ok=True)
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pin = folder / "pin.txt"
        pin.write_text(PINNED[name] + "\n")
        # To know its dependencies pip runs setup.py, which looks for CUDA.
        words = ["-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        on_virtual_device(
            sys.executable, "-m", "pip", "download", *words, "--require-hashes", "-r", pin,
            "-d", folder, folder=folder,
        )  # fmt: skip
        archives = list(folder.glob("*.tar.gz"))
    with tarfile.open(archives[0]) as archive:
        top = folder / archive.getnames()[0].split("/")[0]
        if not top.exists():
            archive.extractall(folder, filter="data")
    on_virtual_device(sys.executable, "setup.py", "build_ext", "--inplace", folder=top)
    return top


DISCOUNTED = """
import torch
from torch_discounted_cumsum import discounted_cumsum_left, discounted_cumsum_right
torch.manual_seed(0)
gamma = torch.rand(13, device="cuda") * 0.9 + 0.05

def expected(x):
    sums = [x[:, 0]]
    for column in x.unbind(1)[1:]:
        sums.append(column + gamma * sums[-1])
    return torch.stack(sums, 1)

x = torch.randn(13, 1000, device="cuda", requires_grad=True)
for ours, plain in (
    (discounted_cumsum_left(x, gamma), expected(x)),
    (discounted_cumsum_right(x, gamma), expected(x.flip(1)).flip(1)),
):
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-4)
    one, = torch.autograd.grad(ours.square().sum(), x)
    two, = torch.autograd.grad(plain.square().sum(), x)
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-3)
print("right")
"""

SCATTER = """
import torch, torch_scatter
torch.manual_seed(0)
for dtype in (torch.float, torch.double, torch.half, torch.long):
    source = (torch.randn(1000, 7) * 10).to(dtype).cuda()
    index = torch.sort(torch.randint(0, 50, (1000,)))[0].cuda()
    wide = index.view(-1, 1).expand(-1, 7)
    plain = torch.zeros(50, 7, dtype=dtype, device="cuda").index_add_(0, index, source)
    tolerance = {"rtol": 1e-2, "atol": 0.5} if dtype is torch.half else {"rtol": 1e-5, "atol": 1e-3}
    torch.testing.assert_close(torch_scatter.scatter_sum(source, index, 0), plain, **tolerance)
    torch.testing.assert_close(torch_scatter.segment_sum_coo(source, index), plain, **tolerance)
    pointers = torch.cat([index.new_zeros(1), torch.bincount(index, minlength=50).cumsum(0)])
    torch.testing.assert_close(torch_scatter.segment_sum_csr(source, pointers), plain, **tolerance)
    most, where = torch_scatter.scatter_max(source, index, 0, dim_size=50)
    reference = plain.new_full((50, 7), -1000).scatter_reduce_(0, wide, source, "amax")
    assert torch.equal(most, reference)
    assert torch.equal(source.gather(0, where), most)
print("right")
"""


CHAMFER = """
import torch
from chamferdist.chamfer import knn_points
torch.manual_seed(0)
one = torch.randn(2, 300, 3, device="cuda", requires_grad=True)
two = torch.randn(2, 200, 3, device="cuda", requires_grad=True)
found = knn_points(one, two, K=3)
distances = (one[:, :, None] - two[:, None]).square().sum(-1)
plain, places = distances.topk(3, 2, largest=False)
torch.testing.assert_close(found.dists, plain)
assert torch.equal(found.idx, places)
ours = torch.autograd.grad(found.dists.sum(), (one, two))
torch.testing.assert_close(ours, torch.autograd.grad(plain.sum(), (one, two)))
print("right")
"""


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("torch-discounted-cumsum", DISCOUNTED),
        ("chamferdist", CHAMFER),
        ("torch-scatter", SCATTER),
    ],
)
def test_an_extension_computes_as_plain_pytorch(name: str, program: str, tmp_path: Path) -> None:
    folder = built(name)
    marked = list(folder.rglob("*.torchport*.so"))
    assert marked, "no module was built for virtual devices"
    script = tmp_path / "program.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(folder)!r})\n{program}")
    assert on_virtual_device(sys.executable, script, folder=tmp_path) == "right\n"
