"""What a plan says of memory beside PyTorch's allocator: intervals, and what others measured."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from planning_programs import torchport
from torchport.virtual.outside import context, cudnn, nccl

HERE = Path(__file__).parent
PROFILES = HERE.parents[1] / "src/devices/profiles/cuda"
MIB = 1 << 20
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
POINTS = tomllib.loads((HERE / "outside.toml").read_text())["nccl"]


def machine(card: str, devices: int) -> nccl.Machine:
    profile = tomllib.loads((PROFILES / f"{card}.toml").read_text())
    major, minor = map(int, profile["capability"].split("."))
    link = profile.get("bandwidth", {}).get("nvlink", 0)
    soldered = link >= 900 or "SXM" in profile["device-name"]
    return nccl.Machine((major, minor), link, soldered, devices)


def interval(point: dict[str, Any], environment: dict[str, str] | None = None) -> tuple[int, int]:
    """MiB that the rules give for a point of outside.toml."""
    settings = nccl.Settings(point.get("environment", environment or {}), tuple(point["version"]))
    communicators = [
        nccl.Communicator(one["ranks"], one["did"] == "all to all", one["did"] == "collectives")
        for one in point["communicators"]
    ]
    place = machine(point["card"], point["devices"])
    least, most = nccl.total(communicators, place, point["devices"], settings)
    if point.get("without_kernels"):
        least, most = least - nccl.KERNELS[0], most - nccl.KERNELS[1]
    return least // MIB, most // MIB


@pytest.mark.parametrize("point", POINTS, ids=lambda one: one["source"].partition("//")[2])
def test_what_others_measured_of_nccl_is_in_the_interval(point: dict[str, Any]) -> None:
    least, most = interval(point)
    assert any(least <= one <= most for one in point["measured"]), (least, most)


ONE_RANK = POINTS[0]
EIGHT = {**ONE_RANK, "devices": 8, "communicators": [{"ranks": 8, "did": "collectives"}]}


@pytest.mark.parametrize(
    ("point", "environment", "expected"),
    [
        # 64 channels with three tables of 2 MiB, two tables, and the kernels.
        (ONE_RANK, {}, (64 * 6 + 4 + 52, 64 * 6 + 4 + 156)),
        (ONE_RANK, {"NCCL_MAX_NCHANNELS": "8"}, (8 * 6 + 4 + 52, 8 * 6 + 4 + 156)),
        (ONE_RANK, {"NCCL_CUMEM_ENABLE": "0"}, (512 + 4 + 52, 512 + 4 + 156)),
        # The most: 32 channels, of ring and tree 12 MiB each, and NVLS of 16 channels for 8 devices.
        (EIGHT, {}, (344, 32 * 6 + 4 + 2 * 32 * 12 + 17 * 2 + 256 + 156)),
        (EIGHT, {"NCCL_NVLS_ENABLE": "0"}, (344, 32 * 6 + 4 + 2 * 32 * 12 + 156)),
        # 1 MiB instead of 4: 6.2 MiB and so 8 instead of 10.
        (
            EIGHT,
            {"NCCL_BUFFSIZE": "1048576", "NCCL_NVLS_ENABLE": "0"},
            (16 * 6 + 4 + 16 * 10 + 52, 32 * 6 + 4 + 2 * 32 * 10 + 156),
        ),
        (
            EIGHT,
            {"NCCL_P2P_DISABLE": "1", "NCCL_NVLS_ENABLE": "0"},
            (16 * 6 + 4 + 52, 32 * 6 + 4 + 156),
        ),
    ],
)
def test_settings_of_nccl_change_the_interval(
    point: dict[str, Any], environment: dict[str, str], expected: tuple[int, int]
) -> None:
    assert interval(point, environment) == expected


def test_a_group_over_machines_may_have_no_buffers_of_the_device() -> None:
    settings = nccl.Settings({}, (2, 28, 9))
    one = nccl.Communicator(64, False, True)
    least, most = nccl.interval(one, machine("h100-80g", 8), 64, settings)
    assert least == (2 * 6 + 4) * MIB
    inside = nccl.interval(nccl.Communicator(8, False, True), machine("h100-80g", 8), 8, settings)
    assert most > inside[1]


def test_the_context_is_that_of_the_device() -> None:
    assert context.interval((9, 0), (13, 0))[:2] == (622 * MIB, 838 * MIB)
    least, most, why = context.interval((8, 6), (12, 8))
    # The context of 256 MiB, and what kernels had on an H100 beside 518 MiB.
    assert (least, most) == ((256 + 622 - 518) * MIB, (256 + 838 - 518) * MIB)
    assert "RTX 3090" in why
    wider = context.interval((8, 6), (13, 0))
    assert wider[0] < least and wider[1] > most and "20 % wider for CUDA 13.0" in wider[2]
    nothing = context.interval((7, 5), (13, 0))
    assert (nothing[0] // MIB, nothing[1] // MIB) == (360 * 8 // 10, int(838 * 1.2))
    assert "7.5" in nothing[2]
    assert context.interval((8, 0), (13, 0), loads_all=True)[1] > 1687 * MIB


def test_each_figure_of_the_context_has_its_source() -> None:
    file = Path(context.__file__).with_name("context.json")
    rows = json.loads(file.read_text())["rows"]
    seen = [(row["capability"], row["cuda"], row["loading"]) for row in rows]
    assert len(seen) == len(set(seen))
    for row in rows:
        assert row["source"] and row["about"] and row["cards"]
        assert row["loading"] in {"lazy", "eager", None}
        assert any(row[key] for key in ("context", "least", "most"))


def planned(folder: Path, *words: object) -> dict[str, Any]:
    run = torchport("plan", "--profile", "h100-80g", "--format", "json", *words, folder=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    told: dict[str, Any] = json.loads("{" + ("\n" + run.stdout).partition("\n{")[2])
    return told


def parts(device: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {one["name"]: (one["least"], one["most"]) for one in device["parts"]}


BEGINS = """
import torch, torch.distributed as dist
dist.init_process_group("nccl", **{eager})
rank = dist.get_rank()
torch.cuda.set_device(rank)
x = torch.zeros(1 << 20, device="cuda")
"""


@pytest.mark.parametrize(
    ("eager", "does", "expected"),
    [
        ("{}", "", None),
        ("{}", "dist.all_reduce(x)", "a communicator of 2 ranks"),
        ("{}", "dist.all_reduce(x); dist.all_gather([x, x], x)", "a communicator of 2 ranks"),
        ("{}", "dist.new_group([0, 1]); dist.all_reduce(x)", "a communicator of 2 ranks"),
        (
            "{}",
            "dist.all_reduce(x); dist.all_reduce(x, group=dist.new_group([0, 1]))",
            "2 communicators of 2 ranks",
        ),
        # A send alone has a communicator for the pair.
        (
            "{}",
            "dist.all_reduce(x); dist.send(x, 1) if rank == 0 else dist.recv(x, 0)",
            "2 communicators of 2 ranks",
        ),
        (
            "{}",
            "other = 1 - rank; [w.wait() for w in dist.batch_isend_irecv(["
            "dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, x.clone(), other)])]",
            "a communicator of 2 ranks",
        ),
        ("{'device_id': torch.device('cuda:0')}", "", "a communicator of 1 rank"),
    ],
)
def test_communicators_are_those_that_were_made(
    tmp_path: Path, eager: str, does: str, expected: str | None
) -> None:
    (tmp_path / "ranks.py").write_text(BEGINS.replace("{eager}", eager) + does + "\n")
    many = "all_gather" in does  # one of the cases as processes
    ranks = 1 if "device_id" in eager else 2
    words = ("--devices", "cuda:2", "--", *TORCHRUN) if many else ("--ranks", ranks)
    for device in planned(tmp_path, *words, "ranks.py")["devices"]:
        own = parts(device)
        context_of_it = own.pop("the CUDA context and its kernels")
        assert context_of_it[1] > context_of_it[0] > 0
        names = [f"NCCL's buffers and kernels for {expected}"] if expected else []
        assert list(own) == names
        least, most = device["process"]
        assert least == device["reserved"] + context_of_it[0] + sum(a for a, _ in own.values())
        assert most == device["reserved"] + context_of_it[1] + sum(b for _, b in own.values())


DATA_PARALLEL = """
import torch
net = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, bias=False) for _ in range(4))).cuda()
net = torch.nn.DataParallel(net, device_ids=[0, 1])
net(torch.zeros(64, 1024)).sum().backward()
print(torch.cuda.max_memory_reserved(0) >> 20)
"""


def test_devices_of_one_process_communicate_too(tmp_path: Path) -> None:
    (tmp_path / "parallel.py").write_text(DATA_PARALLEL)
    first, second = planned(tmp_path, "--devices", "cuda:2", "parallel.py")["devices"]
    for device in (first, second):
        assert "NCCL's buffers and kernels for a communicator of 2 ranks" in parts(device)
    held = {row["holds"]: row["bytes"] for row in second["rows"]}
    assert held["communication"] >= 16 * MIB  # the copy of the model
    computed = torchport(
        *("run", "--devices", "cuda:2", "--profile", "h100-80g", "parallel.py"), folder=tmp_path
    )
    assert int(computed.stdout.split()[-1]) == first["reserved"] // MIB


def test_groups_of_gloo_take_nothing_of_the_device(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "dist.all_reduce(torch.zeros(8, device='cuda'))\n"
    )
    (device,) = planned(tmp_path, "--ranks", 4, "ranks.py")["devices"]
    assert list(parts(device)) == ["the CUDA context and its kernels"]


def test_the_verdict_knows_nccl(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('nccl')\n"
        "x = torch.zeros(1 << 28, device='cuda')\n"
        "dist.all_reduce(x)\n"
    )
    # A GiB and the context of up to 838 MiB fit, and NCCL's buffers may not.
    run = torchport(
        *("plan", "--profile", "h100-80g", "--memory", "2200MiB", "--ranks", 8, "ranks.py"),
        folder=tmp_path,
    )
    assert run.returncode == 1
    assert "torchport: may not fit: needs " in run.stdout
    assert "NCCL's buffers and kernels for a communicator of 8 ranks: from the source" in run.stdout


CONVOLVES = """
import sys, torch
torch.backends.cudnn.benchmark = "benchmark" in sys.argv
torch.backends.cudnn.enabled = "disabled" not in sys.argv
net = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False).cuda()
x = torch.zeros(8, 3, 64, 64, device="cuda")
y = net(x)
if "forward" not in sys.argv:
    y.sum().backward()
"""
CUDNN = "more for cuDNN's workspaces"
POINTS_OF_LAYER = 8 * 64 * 64
# Four channels of float32 for the three of the input.
COPIES = 4 * (POINTS_OF_LAYER * (4 + 64) + 3 * 64 * 9)


@pytest.mark.parametrize(
    ("words", "most"),
    [
        # Forward, and the gradient of the weight.
        ("", 2 * COPIES),
        ("forward", COPIES),
        # Fourier transforms of 128 x 128, the half of which is kept, of 67 channels and the weights.
        ("benchmark forward", 8 * 128 * 65 * (8 * 67 + 3 * 64)),
        ("disabled", None),
    ],
)
def test_what_cudnn_may_take_follows_from_the_layer(
    tmp_path: Path, words: str, most: int | None
) -> None:
    (tmp_path / "layer.py").write_text(CONVOLVES)
    (device,) = planned(tmp_path, "layer.py", *words.split())["devices"]
    assert parts(device).get(CUDNN) == (None if most is None else (0, most))
    # The program also runs without it: no reason not to fit.
    assert device["process_with_room"] == device["process"][1] + (most or 0)


def test_a_limit_of_cudnn_is_the_most() -> None:
    one = {"copies": 100 * MIB, "tried": 300 * MIB, "passes": 2}
    assert cudnn.most([one], {}) == 600 * MIB
    assert cudnn.most([one], {"CUDNN_CONV_WSCAP_DBG": "64"}) == 128 * MIB
    assert cudnn.most([], {}) == 0


def test_depthwise_convolutions_have_kernels_of_pytorch(tmp_path: Path) -> None:
    (tmp_path / "layer.py").write_text(
        "import sys, torch\n"
        "size = int(sys.argv[1])\n"
        "net = torch.nn.Conv2d(32, 32, size, groups=32).cuda()\n"
        "net(torch.zeros(4, 32, 32, 32, device='cuda'))\n"
    )
    small, large = (
        parts(planned(tmp_path, "layer.py", size)["devices"][0]).get(CUDNN) for size in (3, 7)
    )
    assert small is None
    # Each channel alone is padded to four.
    assert large == (0, 4 * (4 * 4 * 32 * (32 * 32 + 26 * 26) + 32 * 49))
