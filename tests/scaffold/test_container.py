"""`torchport container`: what is read of a project, what is written and what is asked for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEVICES = ("cpu", "cuda", "rocm", "xpu")
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension
setup(name="x", ext_modules=[CUDAExtension("x", ["x.cu"])])
"""


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_passes_the_linters(torchport, lint, write_project, device: str) -> None:
    write_project(torchport.folder)
    run = torchport("container", "--device", device, "--torch", "2.13.0", "--entry", "run.py -n 1")
    assert run.returncode == 0, run.stderr
    text = (torchport.folder / "Dockerfile").read_text()
    lint("hadolint", torchport.folder / "Dockerfile")
    lint(
        "check-jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        torchport.folder / "compose.yaml",
    )
    stages = [line for line in text.splitlines() if line.startswith("FROM")]
    assert all(":" in line and "latest" not in line for line in stages)
    assert "devel" not in stages[-1] and "complete" not in stages[-1]
    assert f'CMD ["torchport", "doctor", "--require", "{device}"]' in text
    assert text.index("USER 10001:10001") > text.index("COPY --chown")
    # What the project says of torch's builds does not reach pip.
    assert "cu101" not in text.replace("# of old", "")
    compose = (torchport.folder / "compose.yaml").read_text()
    expected = {
        "cpu": [],
        "cuda": ["driver: nvidia", "capabilities: [gpu]"],
        "rocm": ["/dev/kfd", "/dev/dri", "RENDER_GID"],
        "xpu": ["/dev/dri", "RENDER_GID"],
    }
    assert all(word in compose for word in expected[device])
    assert ("devices:" in compose) == (device != "cpu")


def test_the_build_is_the_targets(torchport, write_project) -> None:
    """Index, toolkit and architectures are of one build of torch, whatever this machine has."""
    write_project(torchport.folder)
    lines = {}
    for variant in ("cu130", "cu126"):
        shown = torchport(
            *("container", "--stdout", "--device", "cuda"),
            *("--torch", "2.13.0", "--variant", variant),
        )
        lines[variant] = shown.stdout
        assert f"whl/{variant}\n" in shown.stdout
    assert "nvidia/cuda:13.0.2-devel" in lines["cu130"] and "12.6.3-devel" in lines["cu126"]
    assert 'TORCH_CUDA_ARCH_LIST="7.5;8.0;8.6;9.0;10.0;12.0+PTX"' in lines["cu130"]
    assert 'TORCH_CUDA_ARCH_LIST="5.0;6.0;7.0;7.5;8.0;8.6;9.0+PTX"' in lines["cu126"]
    assert "/usr/local/cuda-12.6/ /usr/local/cuda/" in lines["cu126"]
    assert not (torchport.folder / "Dockerfile").exists()
    # doctor names the same index for a machine with such a GPU.
    snapshot = ROOT / "tests" / "host" / "snapshots" / "cpu-torch-on-gpu-host.json"
    verdict = json.loads(torchport("doctor", "--json", "--from", snapshot).stdout)
    index = next(word for word in verdict["install"][0].split() if word.startswith("https"))
    assert f"--index-url {index}\n" in lines["cu130"]


def test_what_a_person_says_is_taken(torchport, write_project) -> None:
    write_project(torchport.folder)
    shown = torchport(
        *("container", "--stdout", "--device", "cuda", "--torch", "2.13.0"),
        *("--arch-list", "9.0a,8.0 12.0+PTX", "--entry", 'run.py --name \'a "b"\' "c d"'),
    )
    assert shown.returncode == 0, shown.stderr
    assert 'TORCH_CUDA_ARCH_LIST="8.0;9.0a;12.0+PTX"' in shown.stdout
    entry = next(line for line in shown.stdout.splitlines() if line.startswith("ENTRYPOINT"))
    assert json.loads(entry[10:]) == ["python", "run.py", "--name", 'a "b"', "c d"]


def test_a_wheel_is_named_by_its_path_in_the_project(torchport, tmp_path: Path) -> None:
    """However the user names it: an absolute path of this machine is in no build context."""
    name = "wheels/torchport-0.1.0-py3-none-any.whl"
    wheel = torchport.write(name, "")
    for words in ([wheel], [name], [f"./{name}"], []):
        given = ["--torchport", *words] if words else []
        shown = torchport("container", "--stdout", *given)
        assert shown.returncode == 0, shown.stderr
        assert f"--mount=type=bind,source={name},target=/tmp/{wheel.name}" in shown.stdout
        assert f"\n!{name}\n" in shown.stdout and str(tmp_path) not in shown.stdout
    # The current folder is another one.
    words = ["container", "project", "--stdout", "--torchport", f"project/{name}"]
    shown = subprocess.run(
        [torchport.program, *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert f"source={name}," in shown.stdout
    elsewhere = tmp_path / wheel.name
    elsewhere.write_text("")
    done = torchport("container", "--torchport", elsewhere)
    assert done.returncode == 2 and "copy it there, e.g. into wheels/" in done.stderr
    torchport.write("two words/x.whl", "")
    done = torchport("container", "--torchport", "two words/x.whl")
    assert done.returncode == 2 and "must not contain blanks" in done.stderr


def test_of_several_wheels_the_one_of_this_version_is_taken(torchport) -> None:
    for version in ("0.0.9", "0.1.0", "9.0"):
        torchport.write(f"dist/torchport-{version}-py3-none-any.whl", "")
    assert "source=dist/torchport-0.1.0-py3" in torchport("container", "--stdout").stdout
    (torchport.folder / "dist/torchport-0.1.0-py3-none-any.whl").unlink()
    assert "source=dist/torchport-9.0-py3" in torchport("container", "--stdout").stdout


def test_nothing_is_written_over(torchport) -> None:
    torchport.write("Dockerfile", "FROM scratch\n")
    run = torchport("container", "--torch", "2.13.0")
    assert run.returncode == 2 and "Dockerfile is already there: --force" in run.stderr
    assert sorted(p.name for p in torchport.folder.iterdir()) == ["Dockerfile"]
    assert torchport("container", "--output", "docker/cpu").returncode == 0
    assert (torchport.folder / "docker" / "cpu" / "Dockerfile.dockerignore").exists()
    assert 'context: "../.."' in (torchport.folder / "docker/cpu/compose.yaml").read_text()
    run = torchport("container", "--force")
    assert run.returncode == 0 and run.stdout.startswith(
        "replaced Dockerfile\nwrote compose.yaml\n"
    )
    again = torchport("container")
    assert again.returncode == 0 and again.stdout.count("unchanged") == 3


def test_a_folder_that_cannot_be_written(torchport) -> None:
    if os.geteuid() == 0:
        torchport.write("docker", "a file in the way")
        run = torchport("container", "--output", "docker")
        assert run.returncode == 2 and "docker" in run.stderr
    else:
        torchport.folder.chmod(0o555)
        run = torchport("container")
        torchport.folder.chmod(0o755)
        assert run.returncode == 2 and "Permission denied" in run.stderr


@pytest.mark.parametrize(
    ("files", "words", "message"),
    [
        ({"requirements.txt": "torch<2.0\n"}, [], "requirements.txt:1 asks for torch <2.0"),
        ({"requirements.txt": "torch==1.13.1\n"}, [], "name one with --python, e.g. --python 3.9"),
        (
            {"requirements.txt": "\ntorch==1.13.1\n"},
            ["--python", "3.11", "--device", "cuda"],
            "name one with --variant",
        ),
        (
            {"setup.py": SETUP, "requirements.txt": "torch==1.13.1\n"},
            ["--python", "3.11", "--device", "cuda", "--variant", "cu126"],
            "setup.py:3 builds CUDA code",
        ),
        ({"pyproject.toml": "[project]\nrequires-python='<3.8'\n"}, [], "asks for Python <3.8"),
        (
            {"pyproject.toml": "[project]\nrequires-python='==3.9.*'\n"},
            ["--torch", "2.15.0"],
            "name both, e.g. --torch 2.8.0 --python 3.9",
        ),
        (
            {"setup.py": SETUP},
            ["--device", "cuda", "--torch", "2.15.0", "--variant", "cu131", "--arch-list", "9.0"],
            "compiler of CUDA 13.1, but no image with it is known: choose another build, e.g. "
            "--variant cu132",
        ),
        (
            {},
            ["--device", "cuda", "--torch", "2.8.0", "--variant", "cpu"],
            "is not a build for cuda: give one like cu128",
        ),
        ({".python-version": "3.7\n"}, [], "no wheels for Python 3.7 (.python-version)"),
        ({"pyproject.toml": "[project\n"}, [], "pyproject.toml:1:"),
        ({"setup.py": SETUP}, ["--device", "rocm", "--python", "3.11"], "give --python 3.12"),
        (
            {"setup.py": SETUP},
            ["--device", "rocm", "--variant", "rocm7.1"],
            "compiler of ROCm 7.1, but no image with it is known: choose another build, e.g. "
            "--torch 2.13.0 --variant rocm7.2",
        ),
        ({}, ["--variant", "cu130"], "--variant cu130 is not a build for cpu"),
        ({}, ["--torch", "2.13.0+cu130"], "--torch 2.13.0+cu130 is not a release"),
        ({}, ["--torch", "2.13.0\nRUN x"], "only letters, digits"),
        ({}, ["--python", "3"], "--python 3 is not a release"),
        ({}, ["--requirements", "absent.txt"], "absent.txt: is not a requirements file"),
        ({}, ["--entry", "train.py"], "--entry train.py: the project does not contain this file"),
        ({}, ["--entry", "python 'x"], "a quote is not closed"),
        (
            {"setup.py": SETUP},
            ["--device", "cuda", "--arch-list", "native"],
            "asks for the GPU of the machine that builds",
        ),
        ({"setup.py": SETUP}, ["--device", "cuda", "--arch-list", "5.0"], "5.0"),
        ({"setup.py": SETUP}, ["--device", "rocm", "--arch-list", "8.0"], '"8.0" is not an arch'),
        ({}, ["--output", ".."], "is outside of the project"),
        ({}, ["--torchport", "wheels/x.whl"], "is not a file in the project"),
        ({}, ["--device", "tpu"], "--device"),
        ({}, ["surplus", "words"], "words"),
        ({}, ["absent"], "absent: is not a folder"),
    ],
)
def test_what_cannot_be_told_is_asked_for(torchport, files, words, message: str) -> None:
    for name, text in files.items():
        torchport.write(name, text)
    run = torchport("container", *words)
    assert run.returncode == 2 and message in run.stderr, run.stderr
    assert not (torchport.folder / "Dockerfile").exists()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "pyproject.toml": '[project]\nname = "A.b"\nversion = "1"\nrequires-python = "~=3.11"\n'
                "dependencies = [\"torch >=2.1,<3 ; python_version > '3.8'\"]\n"
                '[project.scripts]\nabc = "a:main"\n'
            },
            ["python:3.13-slim", 'ENTRYPOINT ["abc"]', 'title="a-b"'],
        ),
        (
            {
                "pyproject.toml": '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\n'
                'python = "^3.11"\ntorch = {version = "^2.12", source = "x"}\n'
                '[build-system]\nrequires = ["poetry-core"]\n'
            },
            ["torch==2.15.0 ", "python:3.13-slim", "pip install .\n"],
        ),
        (
            {
                "setup.cfg": "[metadata]\nname = c\n[options]\ninstall_requires =\n    torch==2.12.1\n"
            },
            ["torch==2.12.1 ", 'title="c"'],
        ),
        (
            {
                "requirements.txt": "-r reqs/base.txt\ntorch==2.12.1\ntorchvision==0.27.1\n",
                "reqs/base.txt": "numpy\n",
            },
            ["torch==2.12.1 torchvision==0.27.1 --index-url", "COPY reqs/base.txt ./reqs/base.txt"],
        ),
        (
            {"CMakeLists.txt": "project(x LANGUAGES CXX)\nfind_package(Torch REQUIRED)\n"},
            ["FROM python:3.13-bookworm AS build", "FROM python:3.13-slim-bookworm AS runtime"],
        ),
        ({".python-version": "3.13.1\n"}, ["python:3.13-slim"]),
        # The newest release that is allowed, and has wheels for the Python.
        (
            {"requirements.txt": "torch<2.9\n"},
            ["torch==2.8.0 ", "note: requirements.txt:1 allows torch 2.8.0 (<2.9)"],
        ),
        (
            {".python-version": "3.10\n"},
            ["torch==2.14.1 ", "the newest, has wheels for Python 3.11, "],
        ),
        (
            {
                "setup.py": "from setuptools import setup\nfrom torchport.build import extension\n"
                "setup(name='g', ext_modules=[extension('g._C', ['g.cpp', 'g.cu'])])\n",
                "pyproject.toml": '[build-system]\nrequires = ["setuptools", "torch", "torchport"]\n',
                "wheels/torchport-0.1.0-py3-none-any.whl": "",
            },
            [
                "target=/tmp/torchport-0.1.0-py3-none-any.whl",
                "pip install ninja setuptools\n",
                "TORCHPORT_BUILD=cpu",
                "note: setup.py:3 builds CUDA code",
            ],
        ),
        (
            {"setup.py": "import torch.utils.cpp_extension as e\ne.CppExtension('a', [])\n"},
            ["FORCE_CUDA=0", "--no-build-isolation"],
        ),
    ],
)
def test_what_is_read_of_projects(torchport, files, expected) -> None:
    for name, text in files.items():
        torchport.write(name, text)
    run = torchport("container", "--stdout")
    assert run.returncode == 0, run.stderr
    for text in expected:
        assert text in run.stdout + run.stderr, run.stdout


@pytest.mark.parametrize(
    "text", ["", "\x00\xff", "setup(" * 5000, "'''" + "x" * 100_000, "import os; os.remove('x')\n"]
)
def test_odd_setup_files_are_read_and_not_run(torchport, text: str) -> None:
    torchport.write("x", "stays")
    torchport.write("setup.py", text.encode("latin-1"))
    torchport.write("setup.cfg", text.encode("latin-1"))
    torchport.write("requirements.txt", text.encode("latin-1"))
    run = torchport("container", "--stdout")
    assert run.returncode == 0 and (torchport.folder / "x").exists(), run.stderr


def test_requirements_that_name_each_other_and_lie_outside(torchport) -> None:
    torchport.write("requirements.txt", "-r b.txt\n-r ../up.txt\n-r 'a b.txt'\n-r absent.txt\n")
    torchport.write("b.txt", "-r requirements.txt\n")
    run = torchport("container", "--stdout")
    assert run.returncode == 0
    assert run.stdout.count("COPY ") == 4
    for name in ("../up.txt", "'a b.txt'", "absent.txt"):
        assert f"{name}" in run.stderr


def test_a_fifo_in_the_way(torchport) -> None:
    os.mkfifo(torchport.folder / "pyproject.toml")
    run = torchport("container", "--stdout")
    assert run.returncode == 0 and "pyproject.toml cannot be read" in run.stderr
