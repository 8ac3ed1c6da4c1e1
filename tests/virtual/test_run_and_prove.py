"""`torchport run`, its reports, and `torchport prove`, as a user starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from torchport.virtual import _watching
from torchport.virtual._watching import as_html, as_text

TORCHPORT = Path(sys.executable).with_name("torchport")

TRAIN = """
import torch

def main():
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        x = torch.randn(4, 8).cuda()
        loss = net(x).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}")

main()
"""
CHOICE = (
    '"cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"'
)
PORTED = TRAIN.replace(".cuda()", ".to(DEVICE)").replace(
    "import torch\n",
    f"import torch\nDEVICE = torch.device({CHOICE})\n",
)


def torchport(*words: object, cwd: Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TORCHPORT, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=timeout
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("original", TRAIN), ("ported", PORTED)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(text)
    return tmp_path


def test_what_is_no_python_script_starts_by_itself(project: Path) -> None:
    code = "import torch; print(torch.cuda.device_count())"
    (project / "train.sh").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}'\n")
    (project / "train.sh").chmod(0o755)
    for words in ([sys.executable, "-c", code], ["train.sh"]):
        run = torchport("run", "-q", "--devices", "cuda:2", *words, cwd=project)
        assert (run.stdout, run.stderr, run.returncode) == ("2\n", "", 0)
    (project / "train.sh").chmod(0o644)
    assert "SyntaxError" in torchport("run", "-q", "train.sh", cwd=project).stderr


def test_a_program_runs_and_is_reported(project: Path) -> None:
    report = project / "report.json"
    run = torchport(
        "run", "--devices", "cuda:2", "--memory", "3GiB", "--profile", "t4",
        "--report", "json", "--report-file", report, "original/train.py", cwd=project,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("loss") == 3, "the program's output is its own"
    assert "2 virtual cuda devices, Tesla T4 of 3.00 GiB each" in run.stderr
    told = json.loads(report.read_text())
    assert [d["device"] for d in told["devices"]] == ["cuda:0", "cuda:1"]
    assert told["devices"][0]["peak_allocated"] > 0 == told["devices"][1]["peak_allocated"]
    assert told["operators"]["aten::linear"] == 6
    assert told["random"] == "device" and "random numbers as that device draws them" in run.stderr
    reads = {t["line"]: t["count"] for t in told["transfers"] if t["kind"] == "synchronising read"}
    assert [(line.rsplit(":", 1)[1], n) for line, n in reads.items()] == [("11", 3)]
    moved = [t for t in told["transfers"] if t["kind"] == "to device"]
    assert sum(t["bytes"] for t in moved) == 3 * 4 * 8 * 4 + (8 * 8 + 8 + 2 * 8 + 2) * 4


def test_the_page_of_a_run_names_its_lines(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    device = {"device": "cuda:0", "name": "Tesla T4", "memory": 2**34, "allocations": 1}
    transfer = {"kind": "to host", "count": 3, "bytes": 2048, "line": f"{tmp_path}/train.py:7"}
    told = {
        "devices": [device | {"peak_allocated": 2**20, "peak_reserved": 2**21}],
        "transfers": [transfer],
        "random": "device",
        "errors": [],
        "streams": ["cuda:0: stream 5 reads what stream 0 wrote at a.py:1"],
        "operators": {f"aten::op{n}": 1 for n in range(25)},
    }
    page = as_html(told)
    assert 'data-head="line">train.py:7</td>' in page and "2.0 KiB" in page
    assert "5 more operators" in page and page.count("aten::op") == 25
    assert "  train.py:7  2.0 KiB" in as_text(told)
    assert "Random numbers: those that the real device draws from the same seed." in page
    assert "stream 5 reads" in page and "not in order: cuda:0: stream 5 reads" in as_text(told)
    assert "random numbers: those that the CPU draws" in as_text(told | {"random": "cpu"})
    nothing = as_html(told | {"transfers": [], "operators": {}})
    assert "No operator ran." in nothing and "copied nothing" in nothing


def test_the_report_has_the_devices_that_the_program_sees(project: Path) -> None:
    (project / "late.py").write_text(
        "import os\n\nimport torch\n\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nprint(torch.ones(2).cuda().device)\n"
    )
    words = ["--devices", "cuda:2", "--report", "json", "--report-file", "r.json", "late.py"]
    run = torchport("run", "-q", *words, cwd=project)
    assert (run.returncode, run.stdout, run.stderr) == (0, "cuda:0\n", "")
    devices = json.loads((project / "r.json").read_text())["devices"]
    assert [device["device"] for device in devices] == ["cuda:0"]
    assert devices[0]["allocations"] == 1


def test_whose_random_numbers_are_drawn(project: Path) -> None:
    program = "import torch; torch.manual_seed(0); print(torch.rand(1, device='cuda').item())"
    (project / "draws.py").write_text(program)
    drawn = {
        whose: torchport("run", "--random", whose, "--report", "text", "draws.py", cwd=project)
        for whose in ("device", "cpu")
    }
    assert drawn["device"].stdout.startswith("0.39904")  # what NVIDIA's devices draw
    assert drawn["cpu"].stdout.startswith("0.49625")  # what torch's Mersenne Twister draws
    assert "random numbers as the CPU draws them" in drawn["cpu"].stderr
    assert "random numbers: those that the CPU draws from the same seed" in drawn["cpu"].stderr
    wrong = torchport("run", "--devices", "mps", "--random", "device", "draws.py", cwd=project)
    assert wrong.returncode == 2 and "kind mps draws the CPU's random numbers" in wrong.stderr


def test_exit_codes_and_arguments_are_the_programs(project: Path) -> None:
    (project / "ends.py").write_text("import sys; print(sys.argv[1:]); sys.exit(7)")
    run = torchport("run", "-q", "ends.py", "--lr", "3", "--", "x", cwd=project)
    assert (run.returncode, run.stdout, run.stderr) == (7, "['--lr', '3', '--', 'x']\n", "")
    run = torchport("run", "-q", "-m", "json.tool", "--help", cwd=project)
    assert run.returncode == 0 and "json.tool" in run.stdout
    code = "import os; print(os.environ['TORCHPORT_VIRTUAL'].split(',')[0])"
    run = torchport(
        "run", "-q", "--devices", "cuda:3", "--", sys.executable, "-c", code, cwd=project
    )
    assert run.stdout == "cuda:3\n"


def test_cuda_can_be_hidden(project: Path) -> None:
    run = torchport("run", "--hide-cuda", "original/train.py", cwd=project)
    assert run.returncode == 1
    assert run.stderr.rstrip().endswith("AssertionError: Torch not compiled with CUDA enabled")
    assert torchport("run", "--hide-cuda", "ported/train.py", cwd=project).returncode == 0


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "nothing to run"),
        (["nothing.py"], "no such file: nothing.py"),
        (["--device", "cuda:2", "train.py"], "unknown option --device"),
        (["--devices", "cuda:0", "x.py"], "1 to 64"),
        (["--devices", "tpu", "x.py"], "`tpu` is not a device kind"),
        (["--memory", "much", "x.py"], "`much` is not a size"),
        (["--profile", "a1", "x.py"], "`a1` is not a profile"),
        (["--report", "pdf", "x.py"], "pdf"),
        (["-m"], "-m needs"),
        (["--", "no-such-command"], "cannot start no-such-command"),
    ],
)
def test_wrong_use_is_refused_in_words(project: Path, words: list[str], said: str) -> None:
    run = torchport("run", *words, cwd=project)
    assert run.returncode == 2 and said in run.stderr, run.stderr


def test_every_format_of_a_report_is_written_and_others_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_the_program = Path(_watching.__file__).with_name("report_formats.txt").read_text().split()
    assert list(_watching.FORMATS) == of_the_program
    monkeypatch.setenv("TORCHPORT_REPORT", "pdf:report.pdf")
    with pytest.raises(ValueError, match="no format 'pdf'; use text, json, html"):
        _watching.start(ModuleType("torch"))


def test_the_port_is_the_same_program(project: Path) -> None:
    run = torchport("prove", "original/train.py", "ported/train.py", cwd=project)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "operators, equal bit by bit" in run.stdout
    assert "all runs drew the CPU's random numbers, from seed 0" in run.stdout
    assert run.stdout.rstrip().endswith("same program, same results elsewhere")
    assert sorted(p.name for p in (project / "original").iterdir()) == ["train.py"]


def test_a_program_that_prints_its_own_folder_is_the_same(project: Path) -> None:
    for name in ("original", "ported"):
        (project / name / "train.py").write_text(f"import os\nprint('in', os.getcwd())\n{PORTED}")
    words = ("--elsewhere", "none", "--lines", "^in ", "--files", "train.py", "--")
    run = torchport("prove", "original/train.py", "ported/train.py", *words, cwd=project)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "same program, same results elsewhere" in run.stdout


def test_a_port_that_computes_something_else_is_found(project: Path) -> None:
    ported = project / "ported" / "train.py"
    ported.write_text(PORTED.replace("square()", "abs()"))
    run = torchport("prove", "--elsewhere", "none", "original/train.py", ported, cwd=project)
    assert run.returncode == 1
    assert "original  aten::square  original/train.py:9" in run.stdout
    assert "aten::abs" in run.stdout and f"{ported}:10" in run.stdout
    assert "NOT the same program, NOT the same results elsewhere" in run.stdout


def test_a_port_that_dies_elsewhere_is_found(project: Path) -> None:
    ported = project / "ported" / "train.py"
    ported.write_text(PORTED.replace("for step", "torch.zeros(1).cuda()\n    for step"))
    run = torchport("prove", "--elsewhere", "none", "original/train.py", ported, cwd=project)
    assert run.returncode == 1
    assert "exit status 1 instead of 0" in run.stdout
    assert "Torch not compiled with CUDA enabled" in run.stdout


def test_programs_that_fail_before_they_compute_prove_nothing(project: Path) -> None:
    for name in ("original", "ported"):
        (project / name / "train.py").write_text(
            "import torch\nprint('kernel.cu:3:7: error: nothing was declared')\nraise SystemExit(1)\n"
        )
    run = torchport(
        "prove", "--elsewhere", "none", "original/train.py", "ported/train.py", cwd=project
    )
    assert run.returncode == 1
    assert "kernel.cu:3:7: error: nothing was declared" in run.stdout
    last = run.stdout.splitlines()[-1]
    assert last == "nothing is proved: both programs ended before their first operator"


def test_a_kind_of_device_that_torch_does_not_have_is_a_target(project: Path) -> None:
    ported = project / "ported" / "train.py"
    ported.write_text(
        ported.read_text().replace(
            CHOICE,
            'torch.accelerator.current_accelerator() or "cpu"',
        )
    )
    run = torchport("prove", "--elsewhere", "npu", "original/train.py", ported, cwd=project)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "on virtual npu" in run.stdout
    assert run.stdout.rstrip().endswith("same program, same results elsewhere")
