"""Any Python may start with torchport's start-up files: none may fail because of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torchport
from torchport import __main__ as start_program

TORCHPORT = Path(sys.executable).with_name("torchport")
START = Path(torchport.__file__).parent / "_start"
ALL = sorted(
    Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin/python")
)
OTHERS = [path for path in ALL if sys.executable not in (str(path), str(path.resolve()))]
NEWEST = max(
    OTHERS, key=lambda path: [int(n) for n in path.parents[1].name.split(".")], default=None
)
PYTHONS = [Path(sys.executable), *OTHERS]


def start(python: Path, code: str, **env: str) -> subprocess.CompletedProcess:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TORCHPORT", "PYTHON"))}
    return subprocess.run(
        [python, "-c", code], env=kept | env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parents[1].name)
def test_a_python_of_any_version_starts(python: Path) -> None:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    plain = start(python, code).stdout
    done = start(python, code, PYTHONPATH=str(START), TORCHPORT_VIRTUAL="cuda:1")
    assert (done.stdout, done.stderr) == (plain, "")


@pytest.mark.parametrize("python", OTHERS, ids=lambda path: path.parents[1].name)
def test_the_package_is_found_in_another_environment(python: Path) -> None:
    code = "import torchport, sys; sys.stdout.write(torchport.__version__)"
    done = start(python, code, PYTHONPATH=str(START))
    if tuple(map(int, python.parents[1].name.split(".")[:2])) < (3, 10):
        assert "needs Python 3.10" in done.stderr or python.parents[1].name.startswith("2.")
        assert done.returncode == 1
    else:
        assert (done.stdout, done.stderr) == (torchport.__version__, "")


OLD = [path for path in OTHERS if path.parents[1].name.startswith(("3.6", "3.8", "3.9"))]


@pytest.mark.skipif(not OLD, reason="there is no Python before 3.10")
def test_an_old_python_is_refused_and_not_left_without_devices(tmp_path: Path) -> None:
    """A program would run without the devices that were announced."""
    (tmp_path / "torch.py").write_text("print('torch without virtual devices')\n")
    (tmp_path / "program.py").write_text("import torch\n")
    for python in OLD:
        done = subprocess.run(
            [TORCHPORT, "run", "-q", "--", python, "program.py"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (1, ""), python
        last = done.stderr.splitlines()[-1]
        assert last.startswith("ImportError: torchport: this needs Python 3.10 or newer; "), python
        command = [python, "-m", "torchport.observe.command"]
        environment = os.environ | {"PYTHONPATH": str(START)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("torchport: this needs Python 3.10"), python


def test_the_users_own_sitecustomize_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    path = os.pathsep.join([str(START), str(tmp_path)])
    done = start(
        Path(sys.executable), "import sitecustomize as s; print(s.__file__)", PYTHONPATH=path
    )
    assert done.stdout.splitlines() == ["mine", str(tmp_path / "sitecustomize.py")]


def test_a_fault_of_ours_is_one_line(tmp_path: Path) -> None:
    """A damaged installation: the package is there and cannot be imported."""
    package = tmp_path / "torchport"
    (package / "_start").mkdir(parents=True)
    (package / "_start/sitecustomize.py").write_bytes((START / "sitecustomize.py").read_bytes())
    (package / "__init__.py").write_text("import what_is_not_there\n")
    python = NEWEST or Path(sys.executable)
    path = str(package / "_start")
    done = start(python, "print(1)", PYTHONPATH=path, TORCHPORT_VIRTUAL="cuda:1")
    assert done.stdout == "1\n"
    assert not OTHERS or done.stderr.startswith("torchport: no virtual devices in this process: ")
    assert done.stderr.count("\n") <= 1


def test_the_program_is_looked_for_from_a_folder_near_the_root(monkeypatch) -> None:
    """`pip install --target /tp`: there is no environment three folders above the package."""
    monkeypatch.setattr(start_program, "__file__", "/tp/torchport/__main__.py")
    assert Path("/tp/bin") in list(start_program.places())
