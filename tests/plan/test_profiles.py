"""Profiles of devices: the list of `torchport devices`, files of one's own, and the smallest card."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
CARD = """\
kind = "cuda"
name = "my-card"
device-name = "NVIDIA My Card"
capability = "8.6"
memory = "{memory} MiB"
multiprocessors = 30
clock-mhz = 1500
"""
# 128 MiB of weights: five times that and the workspaces of cuBLAS at the optimizer's step.
TRAINS = """
import torch
model = torch.nn.Linear(4096, 8192).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(64, 4096).cuda()).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def torchport(*words: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(TORCHPORT), *map(str, words)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def test_profiles_are_listed_with_their_sources() -> None:
    run = torchport("devices", "--profiles", "--format", "json")
    assert run.returncode == 0, run.stderr
    profiles = {one["name"]: one for one in json.loads(run.stdout)}
    assert len([one for one in profiles.values() if one["kind"] == "cuda"]) >= 60
    assert all(one["sources"]["device"] for one in profiles.values())
    card = profiles["rtx-4090"]
    assert (card["memory"], card["capability"]) == (24082 << 20, "8.9")
    assert card["peak_tflops"]["fp16"] == 165.2
    assert card["peak_tflops"]["fp4"] is None
    text = torchport("devices", "--profiles", "--kind", "cuda").stdout
    assert "rtx-4090" in text and "apple-m2" not in text
    (row,) = (line for line in text.splitlines() if line.startswith("p40 "))
    assert "22.50 GiB*" in row and "nvidia-smi" in row
    kinds = torchport("devices").stdout.splitlines()
    assert [line.split()[0] for line in kinds] == ["cuda", "mps", "xpu", "npu"]
    assert torchport("devices", "--kind", "tpu").returncode == 2


def test_a_profile_of_ones_own_reaches_processes_in_other_folders(tmp_path: Path) -> None:
    folder = tmp_path / "a, b 100%"
    folder.mkdir()
    (folder / "card.toml").write_text(CARD.format(memory=2000))
    (folder / "ask.py").write_text(
        "import os, subprocess, sys\n"
        "import torch\n"
        "p = torch.cuda.get_device_properties(0)\n"
        "print(p.name, p.total_memory >> 20, p.multi_processor_count, flush=True)\n"
        "if len(sys.argv) < 2:\n"
        "    subprocess.run([sys.executable, os.path.abspath(__file__), 'child'], cwd='/')\n"
    )
    run = torchport("run", "-q", "--profile", "card.toml", "ask.py", folder=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["NVIDIA My Card 2000 30"] * 2
    run = torchport(
        "run", "-q", "--profile", "./card.toml", "--memory", "1GiB", "ask.py", folder=folder
    )
    assert run.stdout.splitlines() == ["NVIDIA My Card 1024 30"] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CARD.replace("capability", "capabilty"), 'card.toml:4: unknown key "capabilty"'),
        (CARD.replace("multiprocessors = 30\n", ""), '"multiprocessors" is missing'),
        (CARD.replace("30", '"many"'), 'card.toml:6: "multiprocessors" must be a whole number'),
        (CARD.replace('kind = "cuda"', 'kind = "xpu"'), "is of kind xpu; write `--devices xpu:1`"),
        ("[[[a]]]", "card.toml:1:"),
        ("\0" * 100_000, "too large"),
        (None, "card.toml"),
    ],
)
def test_a_wrong_profile_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "card.toml").write_text(text.replace("{memory}", "2000"))
    (tmp_path / "x.py").write_text("")
    for command in ("run", "plan"):
        run = torchport(command, "--profile", "./card.toml", "x.py", folder=tmp_path)
        assert run.returncode == 2, run.stderr
        assert said in run.stderr


def test_a_name_that_is_none_is_near_another() -> None:
    run = torchport("run", "--profile", "rtx4090", "--", "true")
    assert run.returncode == 2
    assert 'did you mean "rtx-4090"?' in run.stderr and "torchport devices" in run.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAINS)
    for memory in range(800, 2400, 100):
        (tmp_path / f"{memory}.toml").write_text(CARD.format(memory=memory))
    return tmp_path


@pytest.mark.long
def test_the_smallest_card_that_fits(folder: Path) -> None:
    cards = [f"./{memory}.toml" for memory in range(2300, 700, -100)]
    words = ["--smallest", "--profile", ",".join(cards), "train.py"]
    run = torchport("plan", "--format", "json", *words, folder=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(run.stdout)
    smallest, too_small = (
        int(Path(found[key]["profile"]).stem) for key in ("smallest", "too_small")
    )
    assert too_small == smallest - 100
    assert found["smallest"]["memory"] == smallest << 20
    assert len(found["runs"]) <= 6
    for memory, fits in ((smallest, True), (too_small, False)):
        one = torchport("plan", "--profile", f"./{memory}.toml", "train.py", folder=folder)
        assert (one.returncode == 0) == fits, one.stdout
    words = ["--smallest", "--profile", f"./{smallest}.toml,./{too_small}.toml", "train.py"]
    text = torchport("plan", *words, folder=folder).stdout.splitlines()
    assert text[-2].startswith(f"the smallest card that fits: ./{smallest}.toml, with ")
    assert text[-1].startswith(f"too small: ./{too_small}.toml, with ")


def test_all_profiles_are_tried_with_few_runs(folder: Path) -> None:
    run = torchport("plan", "--smallest", "--format", "json", "train.py", folder=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(run.stdout)
    # The smallest profile of all has room for it.
    assert (found["smallest"]["profile"], found["too_small"]) == ("gtx-1650", None)
    assert len(found["runs"]) <= 3


def test_no_card_fits_and_wrong_words(folder: Path) -> None:
    run = torchport(
        "plan", "--smallest", "--profile", "./800.toml,./900.toml", "train.py", folder=folder
    )
    assert run.returncode == 1
    assert "the program fits on no card; the largest is ./900.toml" in run.stdout
    for words, said in (
        (["--memory", "8GiB"], "leave --memory out"),
        (["--search", "batch=1..8"], "exclude each other"),
        (["--devices", "none"], "needs devices"),
    ):
        run = torchport("plan", "--smallest", *words, "train.py", folder=folder)
        assert run.returncode == 2, run.stdout
        assert said in run.stderr
    (folder / "broken.py").write_text("import torch\ntorch.ones(8).cuda()\nraise SystemExit(7)\n")
    run = torchport("plan", "--smallest", "broken.py", folder=folder)
    assert run.returncode == 3
    assert "not for want of memory" in run.stderr
