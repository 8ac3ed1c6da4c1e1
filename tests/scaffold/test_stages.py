"""The images that `torchport container` writes work: the commands of their stages, run one by one in a
clean tree."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

STAGES = Path(__file__).parent / "programs" / "run_stages.py"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def wheel_of(program: Path, folder: Path) -> Path:
    """A wheel with nothing but the program."""
    info = "torchport-0.1.0.dist-info"
    files = {
        "torchport-0.1.0.data/scripts/torchport": program.read_bytes(),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: torchport\nVersion: 0.1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
        for name, data in files.items()
    )
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = folder / "torchport-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            wheel.writestr(entry, data)
    return path


@pytest.fixture(scope="module")
def stages(write_project):
    """The stages of a CPU image of a small project, run; what came of it."""
    with tempfile.TemporaryDirectory(prefix="torchport-stages-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        project = folder / "project"
        write_project(project)
        program = Path(sys.executable).parent / "torchport"
        wheel_of(program, project)
        words = ["--torch", "2.13.0", "--python", PYTHON, "--entry", "run.py --epochs 2"]
        done = subprocess.run(
            [program, "container", project, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        done = subprocess.run(
            [
                *(sys.executable, STAGES, project / "Dockerfile", project, folder / "out"),
                "--without-index",
            ],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        yield json.loads(done.stdout)


@pytest.mark.long
def test_the_stages_make_a_program_that_runs(stages) -> None:
    entry = stages["entry"]
    assert entry["code"] == 0, entry["stderr"]
    assert entry["stdout"] == f"{stages_torch(stages)} cpp ['--epochs', '2']\n"
    # Of packages and users of the distribution alone nothing was run.
    assert [command.split()[0] for command in stages["left_out"]] == ["groupadd"]
    assert len(stages["ran"]) == 6
    assert stages["labels"]["org.opencontainers.image.title"] == "small-net"


def stages_torch(stages) -> str:
    label = stages["labels"]["torchport.torch"]
    assert label == "2.13.0+cpu"
    return label


@pytest.mark.long
def test_the_health_check_is_doctors(stages) -> None:
    check = stages["healthcheck"]
    assert check["code"] == 0, check["stdout"] + check["stderr"]
    assert "torch        2.13.0+cpu in " in check["stdout"]
    assert check["user"] == (10001 if os.geteuid() == 0 else os.geteuid())
    # The torch that it looked at is the image's own.
    assert f"{stages['root']}/opt/venv/lib" in check["stdout"]


@pytest.mark.long
def test_nothing_secret_and_nothing_of_the_host_is_copied(stages) -> None:
    there = {
        path.relative_to(stages["root"]).as_posix() for path in Path(stages["root"]).rglob("*")
    }
    app = {path for path in there if path.startswith("app/")}
    assert {"app/run.py", "app/setup.py"} <= app
    for name in (".env", ".git", "server.key", "small_net_native.so", "Dockerfile", "compose.yaml"):
        assert not any(path.endswith("/" + name) for path in app), name


@pytest.mark.long
def test_a_health_check_that_fails(stages, torchport) -> None:
    """An image for CUDA on a host without a GPU is not healthy, though its torch is whole."""
    environment = {"VIRTUAL_ENV": f"{stages['root']}/opt/venv"}
    assert torchport("doctor", "--require", "cpu", env=environment).returncode == 0
    run = torchport("doctor", "--require", "cuda", env=environment)
    assert run.returncode == 1 and "cannot compute on cuda here" in run.stderr


def test_the_runner_sees_what_is_broken(torchport, write_project) -> None:
    """The proof by run_stages.py is one: a line that fails ends it."""
    write_project(torchport.folder)
    assert torchport("container", "--torch", "2.13.0", "--torchport", "none").returncode == 0
    dockerfile = torchport.folder / "Dockerfile"
    text = dockerfile.read_text()
    dockerfile.write_text(text[: text.index("RUN ")] + "RUN false\n")
    out = torchport.folder.parent / "out"
    words = [sys.executable, STAGES, dockerfile, torchport.folder, out]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "'false'" in done.stderr
    shutil.rmtree(out)
