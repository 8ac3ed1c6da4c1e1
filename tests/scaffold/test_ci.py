"""`torchport ci`: the workflow and the hooks that it writes are valid, and their commands run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_steps import actionlint, read_yaml, shell_lines

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
WORKFLOW = ".github/workflows/torchport.yml"

# A test that says which leg of the matrix it ran in.
TESTS = """\
import os, torch

def test_devices():
    expected = int(os.environ["EXPECTED"])
    assert torch.cuda.device_count() == expected
    if expected:
        x = torch.ones(3, device="cuda:1")
        assert x.device.index == 1 and float(x.sum()) == 3.0
"""


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TORCHPORT", "PYTEST"))}
    return kept | {"PATH": f"{BIN}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"} | more


def run(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def legacy(torchport) -> Path:
    shutil.copytree(ROOT / "examples" / "legacy", torchport.folder, dirs_exist_ok=True)
    torchport.write("tests/test_devices.py", TESTS)
    return torchport.folder


@pytest.mark.parametrize(
    ("files", "job"),
    [
        ({}, False),
        ({"train.py": "", "testing.py": "", "tests/__init__.py": "", "tests/data.json": ""}, False),
        ({".venv/lib/test_x.py": "", "build/lib/test_x.py": "", "env/pyvenv.cfg": ""}, False),
        ({"env/pyvenv.cfg": "", "env/lib/x/test_x.py": ""}, False),
        ({"pkg/inner/model_test.py": ""}, True),
        ({"test_one.py": ""}, True),
        ({"pytest.ini": "[pytest]\npython_files = check_*.py\n"}, True),
        ({"setup.cfg": "[tool:pytest]\naddopts = --doctest-modules\n"}, True),
    ],
)
def test_no_job_runs_pytest_where_it_would_find_nothing(
    torchport, files: dict[str, str], job: bool
) -> None:
    for name, text in files.items():
        torchport.write(name, text)
    done = torchport("ci")
    assert done.returncode == 0, done.stderr
    jobs = read_yaml(torchport.folder / WORKFLOW)["jobs"]
    assert sorted(jobs) == (["check", "test"] if job else ["check"])
    assert ("pytest would find no test" in done.stdout) != job
    assert files or actionlint(torchport.folder / WORKFLOW) == []


def test_the_workflow_passes_the_linters(torchport, lint, legacy: Path) -> None:
    done = torchport("ci", "--torch", "2.13.0")
    assert done.returncode == 0, done.stderr
    lint("check-jsonschema", "--builtin-schema", "vendor.github-workflows", legacy / WORKFLOW)
    lint(
        "check-jsonschema",
        "--builtin-schema",
        "custom.github-workflows-require-timeout",
        legacy / WORKFLOW,
    )
    assert actionlint(legacy / WORKFLOW) == []
    lint("pre-commit", "validate-config", legacy / ".pre-commit-config.yaml")
    workflow = read_yaml(legacy / WORKFLOW)
    assert workflow["permissions"] == {"contents": "read"}
    legs = {
        leg["device"]: leg["run"]
        for leg in workflow["jobs"]["test"]["strategy"]["matrix"]["include"]
    }
    assert legs == {
        "cpu": "pytest",
        "virtual cuda:2": "torchport run --devices cuda:2 -- pytest",
        "hidden cuda": "torchport run --hide-cuda -- pytest",
    }
    names = [next(iter(step.values())) for step in workflow["jobs"]["test"]["steps"]]
    assert names[2:6] == [
        "Install torch",
        "Install the requirements",
        "Install torchport",
        "Build the project, without CUDA code",
    ]
    install = shell_lines(workflow["jobs"]["test"])["Install torch"]
    assert install == "pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"


def test_actionlint_sees_what_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "broken.yml"
    steps = "    steps:\n      - run: ${{ matrix.devise }}\n"
    matrix = "    strategy:\n      matrix:\n        device: [cpu]\n"
    path.write_text(f"on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n{matrix}{steps}")
    assert '"devise" is not defined' in actionlint(path)[0]["message"]


def test_the_check_job_finds_what_ties_the_project_to_cuda(torchport, legacy: Path) -> None:
    assert torchport("ci", "--torch", "2.13.0").returncode == 0
    job = read_yaml(legacy / WORKFLOW)["jobs"]["check"]
    done = run(shell_lines(job)["Check"], legacy)
    assert done.returncode == 1
    upload = next(step for step in job["steps"] if "upload-sarif" in step.get("uses", ""))
    sarif = json.loads((legacy / upload["with"]["sarif_file"]).read_text())
    assert sarif["version"] == "2.1.0" and len(sarif["runs"][0]["results"]) > 50
    assert job["permissions"]["security-events"] == "write"


def test_every_leg_of_the_matrix_runs(torchport) -> None:
    torchport.write("tests/test_devices.py", TESTS)
    assert torchport("ci").returncode == 0
    job = read_yaml(torchport.folder / WORKFLOW)["jobs"]["test"]
    # On the runner the command is the matrix's own.
    assert shell_lines(job)["Test"] == "${{ matrix.run }}"
    expected = {"cpu": "0", "virtual cuda:2": "2", "hidden cuda": "0"}
    for leg in job["strategy"]["matrix"]["include"]:
        done = run(leg["run"], torchport.folder, EXPECTED=expected[leg["device"]])
        assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_requirements_lose_their_torch(torchport) -> None:
    torchport.write("test_one.py", "")
    torchport.write("requirements.txt", "torch==2.13.0\nTorch-geometric\n# torch\npackaging\n")
    assert torchport("ci").returncode == 0
    job = read_yaml(torchport.folder / WORKFLOW)["jobs"]["test"]
    edit, install = shell_lines(job)["Install the requirements"].strip().splitlines()
    assert install == "pip install -r requirements.txt"
    assert run(edit, torchport.folder).returncode == 0
    left = (torchport.folder / "requirements.txt").read_text()
    assert left == "Torch-geometric\n# torch\npackaging\n"


def test_the_default_branch_is_read_from_git(torchport) -> None:
    torchport.write(".git/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/trunk\n")
    assert torchport("ci").returncode == 0
    workflow = read_yaml(torchport.folder / WORKFLOW)
    assert workflow["true"]["push"]["branches"] == ["trunk"]


def test_hooks_that_are_there_stay(torchport, lint) -> None:
    config = torchport.write(".pre-commit-config.yaml", "repos: []\n")
    done = torchport("ci")
    assert done.returncode == 0 and config.read_text() == "repos: []\n"
    snippet = done.stdout[done.stdout.index("  - repo: local") :]
    torchport.write("whole.yaml", "repos:\n" + snippet)
    lint("pre-commit", "validate-config", torchport.folder / "whole.yaml")
    # A second time nothing changes; what somebody changed is not written over.
    assert "unchanged" in torchport("ci").stdout
    torchport.write(WORKFLOW, "mine")
    done = torchport("ci")
    assert done.returncode == 2 and "--force" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--provider", "gitlab"], "--provider"),
        (["--torch", "2.5.1", "--python", "3.11"], "virtual devices do not support torch 2.5.1"),
        (["absent"], "absent: is not a folder"),
        (["--torchport", "x\ny"], "only letters"),
    ],
)
def test_wrong_use(torchport, words, message: str) -> None:
    done = torchport("ci", *words)
    assert done.returncode == 2 and message in done.stderr
    assert not (torchport.folder / ".github").exists()


def test_a_wheel_that_git_ignores_is_told(torchport) -> None:
    wheel = "dist/torchport-0.1.0-py3-none-any.whl"
    torchport.write(wheel, "")
    torchport.write(".gitignore", "dist/\n")
    git(torchport.folder, "init", "-q")
    done = torchport("ci")
    assert done.returncode == 0 and f"note: git ignores {wheel}" in done.stdout, done.stdout
    git(torchport.folder, "add", "--force", wheel)
    assert "git ignores" not in torchport("ci").stdout


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)
