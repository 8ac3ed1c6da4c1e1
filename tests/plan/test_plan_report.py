"""What `torchport plan` tells of the memory over time: snapshots, the timeline, and the page."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
PROFILE = ("--profile", "h100-80g")

TRAINS = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    x = torch.randn(64, 2048).cuda()
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
peak = torch.cuda.memory_stats()
print("peaks", peak["requested_bytes.all.peak"], peak["allocated_bytes.all.peak"],
      peak["reserved_bytes.all.peak"], peak["reserved_bytes.all.current"])
"""


def plan(
    folder: Path, *words: object, profile: tuple[str, ...] = PROFILE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TORCHPORT), "plan", *profile, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def read(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads("{" + ("\n" + run.stdout).partition("\n{")[2])
    return told


def peaks(run: subprocess.CompletedProcess[str]) -> list[int]:
    (line,) = [one for one in run.stdout.splitlines() if one.startswith("peaks ")]
    return [int(word) for word in line.split()[1:]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "train.py").write_text(TRAINS)
    run = plan(folder, "--snapshot", "memory.pickle", "--format", "json", "train.py")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder, run


def live_sums(events: list[dict[str, Any]]) -> tuple[int, int]:
    """The largest sums of what was asked for and of segments."""
    live: dict[int, int] = {}
    segments = most = most_of_segments = 0
    for event in events:
        if event["action"] == "alloc":
            assert event["addr"] not in live
            live[event["addr"]] = event["size"]
        elif event["action"] == "free_completed":
            assert live.pop(event["addr"]) == event["size"]
        segments += {"segment_alloc": 1, "segment_free": -1}.get(event["action"], 0) * event["size"]
        most, most_of_segments = max(most, sum(live.values())), max(most_of_segments, segments)
    return most, most_of_segments


def test_a_snapshot_has_each_block_of_the_run(trained) -> None:
    folder, run = trained
    snapshot = pickle.loads((folder / "memory.pickle").read_bytes())
    requested, _, reserved, reserved_at_end = peaks(run)
    events = snapshot["device_traces"][0]
    assert live_sums(events) == (requested, reserved)
    assert sum(one["total_size"] for one in snapshot["segments"]) == reserved_at_end
    lines = {
        frame["line"]
        for event in events
        if event["action"] == "alloc"
        for frame in event["frames"]
        if frame["filename"] == str(folder / "train.py")
    }
    assert lines == {4, 7, 8, 9}
    (told,) = read(run)["snapshots"]
    assert told == {"file": "memory.pickle", "dropped_events": 0}


@pytest.mark.parametrize("view", ["trace_plot", "segment_plot", "trace", "stats"])
def test_the_tool_of_torch_opens_a_snapshot(trained, view: str) -> None:
    folder, _ = trained
    words = ["-o", "view.html"] if view.endswith("plot") else []
    run = subprocess.run(
        [sys.executable, "-m", "torch.cuda._memory_viz", view, "memory.pickle", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert (folder / "view.html").stat().st_size > 5000 if words else run.stdout.strip()


def test_each_process_has_a_snapshot(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(
        "import torch\n"
        "import torch.distributed as dist\n"
        "dist.init_process_group('nccl')\n"
        "torch.cuda.set_device(dist.get_rank())\n"
        "x = torch.zeros(1 << (20 + dist.get_rank()), device='cuda')\n"
        "dist.all_reduce(x)\n"
        "dist.destroy_process_group()\n"
    )
    run = plan(
        tmp_path,
        *("--devices", "cuda:2", "--snapshot", "memory.pickle", "--"),
        *(Path(sys.executable).parent / "torchrun", "--standalone", "--nproc-per-node", 2),
        "ranks.py",
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert sorted(one.name for one in tmp_path.glob("*.pickle")) == [
        "memory.rank0.pickle",
        "memory.rank1.pickle",
    ]
    for rank in (0, 1):
        file = f"memory.rank{rank}.pickle"
        assert f"{file}: open it at https://pytorch.org/memory_viz\n" in run.stdout
        traces = pickle.loads((tmp_path / file).read_bytes())["device_traces"]
        assert [live_sums(events)[0] for events in traces] == [
            4 << (20 + rank) if device == rank else 0 for device in (0, 1)
        ]


def test_a_snapshot_of_a_long_run_has_its_end(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(
        "import torch\nfor i in range(70_000):\n    torch.empty(8, device='cuda')\n"
    )
    run = plan(tmp_path, "--snapshot", "memory.pickle", "long.py")
    assert run.returncode == 0, run.stdout + run.stderr
    # A segment, and for each block that it was taken, that its end was asked for, and its end.
    assert "the first 10001 events are missing" in run.stdout
    events = pickle.loads((tmp_path / "memory.pickle").read_bytes())["device_traces"][0]
    assert len(events) == 200_000 and events[-1]["action"] == "free_completed"


def test_a_snapshot_says_when_the_program_ended_the_record(tmp_path: Path) -> None:
    (tmp_path / "stops.py").write_text(
        "import torch\nx = torch.zeros(8).cuda()\n"
        "torch.cuda.memory._record_memory_history(None)\ny = torch.zeros(8).cuda()\n"
    )
    run = plan(tmp_path, "--snapshot", "memory.pickle", "stops.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "the program ended the record itself" in run.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--snapshot", "missing/memory.pickle"], "name a file in a folder that exists"),
        (["--snapshot", "."], "name a file in a folder that exists"),
        (["--html", "missing/plan.html"], "name a file in a folder that exists"),
        (["--html", "a.html", "--search", "batch=1..2"], "is of one run"),
        (["--html", "a.html", "--what-if", "sgd"], "is of one run"),
        (["--snapshot", "a.pickle", "--devices", "xpu:1"], "the memory of CUDA devices only"),
        (["--snapshot", "a.pickle", "--search", "batch=1..2"], "is of one run"),
        (["--snapshot", "a.pickle", "--profile", "h100-80g,t4"], "is of one run"),
    ],
)
def test_files_that_cannot_be_written(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit('it ran')\n")
    run = plan(tmp_path, *words, "train.py", profile=())
    assert run.returncode == 2, run.stdout + run.stderr
    assert said in run.stderr and "it ran" not in run.stderr


def test_the_timeline_reaches_the_peaks(trained) -> None:
    _, run = trained
    _, allocated, reserved, _ = peaks(run)
    (device,) = read(run)["devices"]
    timeline = device["timeline"]
    assert (device["allocated"], device["reserved"]) == (allocated, reserved)
    assert max(timeline["allocated"]) == allocated == sum(row["bytes"] for row in device["rows"])
    assert max(timeline["reserved"]) == reserved
    assert timeline["allocated"][timeline["at"].index(timeline["peak"])] == allocated
    sums = [sum(bytes_) for bytes_ in zip(*timeline["held"].values(), strict=True)]
    assert sums == timeline["allocated"]
    # Parameters have their name from the first byte on, although the program made them before any
    # module ran.
    weights = (2048 * 2048 + 2048) * 4 * 2
    assert timeline["held"]["parameters"][3:] == [weights] * (len(sums) - 3)
    assert max(timeline["held"]["gradients"]) == weights


def test_a_program_that_resets_its_peak_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "resets.py").write_text(
        "import torch\nx = torch.zeros(100 << 18, device='cuda')\ndel x\n"
        "torch.cuda.empty_cache()\ntorch.cuda.reset_peak_memory_stats()\n"
    )
    run = plan(tmp_path, "--format", "json", "resets.py")
    told = json.loads(run.stdout)
    (device,) = told["devices"]
    assert device["allocated"] == device["reserved"] == 100 << 20


def test_the_timeline_of_a_long_run_is_short(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(
        "import torch\n"
        "for i in range(6000):\n"
        "    x = torch.empty(1 << (24 if i == 4321 else 18), device='cuda')\n"
        "    del x\n"
    )
    run = plan(tmp_path, "--format", "json", "long.py")
    (device,) = json.loads(run.stdout)["devices"]
    timeline = device["timeline"]
    assert timeline["events"] == 12_000 and timeline["peak"] == 2 * 4321 + 1
    assert 1000 <= len(timeline["at"]) <= 2000
    assert timeline["at"] == sorted(set(timeline["at"]))
    assert max(timeline["allocated"]) == 64 << 20


def test_what_was_held_when_it_ran_out(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS)
    run = plan(tmp_path, "--memory", "80MiB", "--format", "json", "train.py")
    assert run.returncode == 1, run.stdout + run.stderr
    (device,) = read(run)["devices"]
    held: dict[str, int] = {}
    for row in device["rows_when_it_ran_out"]:
        held[row["holds"]] = held.get(row["holds"], 0) + row["bytes"]
    timeline = device["timeline"]
    assert held["parameters"] == (2048 * 2048 + 2048) * 4 * 2
    assert sum(held.values()) == timeline["allocated"][timeline["at"].index(timeline["ran_out"])]


class Page(HTMLParser):
    """The elements and texts of a page. Fails if an end tag has no beginning."""

    VOID = frozenset({"meta", "br"})
    OPEN = frozenset({"td", "th", "tr"})  # their end may be left out

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID | self.OPEN:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.OPEN:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_of_a_program_with_hostile_names(tmp_path: Path) -> None:
    (tmp_path / "a<b>&.py").write_text(
        "import torch\n"
        "net = torch.nn.Module()\n"
        "net.add_module('</td><script>alert(1)</script>', torch.nn.Linear(4096, 4096))\n"
        "net.forward = lambda x: [m(x) for m in net.children()][0]\n"
        "net.cuda()(torch.zeros(8, 4096, device='cuda')).sum().item()\n"
    )
    run = plan(tmp_path, "--html", "plan.html", "a<b>&.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "plan.html: this report as a page" in run.stdout
    page = Page((tmp_path / "plan.html").read_text())
    names = [tag for tag, _ in page.tags]
    assert "script" not in names and names.count("svg") == 1
    assert "Module.</td><script>alert(1)</script>" in page.text
    assert "a<b>&.py:5" in page.text and "aten::_local_scalar_dense" in page.text
    assert not any(
        value and ("//" in value or name.startswith("on"))
        for _, attributes in page.tags
        for name, value in attributes.items()
    ), "nothing is fetched, and nothing runs"


def test_the_page_says_where_memory_ran_out(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS)
    run = plan(
        tmp_path, "--memory", "140MiB", "--html", "plan.html", "--format", "json", "train.py"
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert read(run)["verdict"] == "does not fit"
    page = Page((tmp_path / "plan.html").read_text())
    assert "No room for 16.00 MiB at train.py:9" in page.text
    assert "Who held it when there was no room" in page.text


@pytest.mark.parametrize(
    "way", [*(pytest.param(one, marks=pytest.mark.long) for one in ("ddp", "fsdp")), "fully_shard"]
)
def test_buffers_of_collectives_are_communication(tmp_path: Path, way: str) -> None:
    (tmp_path / "ranks.py").write_text(
        "import sys, torch, torch.distributed as dist, torch.distributed.fsdp\n"
        "dist.init_process_group('nccl')\n"
        "rank = dist.get_rank()\n"
        "torch.cuda.set_device(rank)\n"
        "net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()\n"
        "if sys.argv[1] == 'ddp':\n"
        "    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])\n"
        "elif sys.argv[1] == 'fsdp':\n"
        "    net = torch.distributed.fsdp.FullyShardedDataParallel(net, device_id=rank)\n"
        "else:\n"
        "    torch.distributed.fsdp.fully_shard(net)\n"
        "optimizer = torch.optim.AdamW(net.parameters())\n"
        "for _ in range(2):\n"
        "    net(torch.zeros(8, 1024, device='cuda')).sum().backward()\n"
        "    optimizer.step()\n"
        "    optimizer.zero_grad()\n"
    )
    run = plan(
        tmp_path,
        *("--devices", "cuda:2", "--format", "json", "--"),
        *(Path(sys.executable).parent / "torchrun", "--standalone", "--nproc-per-node", 2),
        *("ranks.py", way),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    weights = (1024 * 1024 + 1024) * 4 * 4
    for device in read(run)["devices"]:
        held = {name: max(bytes_) for name, bytes_ in device["timeline"]["held"].items()}
        part = 1 if way == "ddp" else 2
        assert held["parameters"] // part <= weights
        assert held["gradients"] == pytest.approx(weights / part, rel=0.01)
        # DDP's buckets, what FSDP gathers, and the gradients that it scatters.
        assert weights * 0.99 < held["communication"] < 3.1 * weights
