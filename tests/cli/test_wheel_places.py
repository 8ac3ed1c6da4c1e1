"""The wheel works wherever people put it, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipapp
from pathlib import Path

import pytest

OUTSIDE = {
    k: v
    for k, v in os.environ.items()
    if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
}
OUTSIDE["PATH"] = os.pathsep.join(
    folder
    for folder in OUTSIDE["PATH"].split(os.pathsep)
    if Path(folder) != Path(sys.executable).parent
)
MINOR = f"python{sys.version_info.major}.{sys.version_info.minor}"
PROGRAM = """
import sys, torch
print(torch.cuda.get_device_name(), torch.ones(2).cuda().sum().item())
print(sys.prefix)
"""


def succeed(*command: object, **env: str) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, env=OUTSIDE | env
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def pip(python: Path, *words: object, **env: str) -> None:
    """pip of the tests' environment, for another one."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    succeed(*command, "--python", python, *words, **env)


def lend(site: Path, torch_folder: Path) -> None:
    """Gives a folder of packages torch, and what torch needs."""
    site.mkdir(parents=True, exist_ok=True)
    for package in torch_folder.parent.iterdir():
        taken = (site / package.name).exists()
        if not taken and "torchport" not in package.name and package.suffix != ".pth":
            (site / package.name).symlink_to(package)


@pytest.fixture
def environment(wheel, tmp_path, torch_folder):
    """environment(NAME): makes an environment with torch and the wheel."""

    def make(name: str) -> Path:
        home = tmp_path / name
        venv.create(home, with_pip=False, symlinks=True)
        lend(home / "lib" / MINOR / "site-packages", torch_folder)
        pip(home / "bin/python", "install", "--no-index", wheel)
        return home

    return make


@pytest.fixture
def program(tmp_path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def check(scripts: Path, program: Path, prefix: Path, **env: str) -> None:
    """The program runs on a virtual device in the environment `prefix`."""
    words = ["run", "-q", "--devices", "cuda:1"]
    output = succeed(scripts / "torchport", *words, program, **env)
    assert output == f"NVIDIA A100-SXM4-80GB 2.0\n{prefix}\n"


def files_of(folder: Path) -> dict[Path, tuple[int, int]]:
    return {
        path: (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts and (path.is_symlink() or path.is_file())
    }


def test_an_environment_that_was_moved(environment, program, tmp_path):
    moved = environment("old").rename(tmp_path / "another näme")
    check(moved / "bin", program, moved)
    assert "computes" in succeed(moved / "bin/torchport", "doctor", "--self")


def test_two_environments_side_by_side(environment, program):
    one, two = environment("one"), environment("two")
    # The active environment is another one: a program's own environment goes first.
    check(one / "bin", program, one, VIRTUAL_ENV=str(two))
    check(two / "bin", program, two, VIRTUAL_ENV=str(one))


def test_nothing_is_written_into_the_environment(environment, program, tmp_path):
    home = environment("home")
    before = files_of(home)
    cache = tmp_path / "cache"
    check(home / "bin", program, home, TORCHPORT_CACHE_DIR=str(cache))
    succeed(home / "bin/torchport", "check", program, "--exit-zero", TORCHPORT_CACHE_DIR=str(cache))
    succeed(home / "bin/torchport", "doctor", "--self", TORCHPORT_CACHE_DIR=str(cache))
    assert files_of(home) == before
    assert list(cache.glob("*.sqlite"))


def test_an_upgrade_and_an_uninstallation_leave_nothing(wheel, tmp_path):
    home = tmp_path / "home"
    venv.create(home, with_pip=False, symlinks=True)
    before = set(files_of(home))
    pip(home / "bin/python", "install", "--no-index", wheel)
    installed = set(files_of(home))
    pip(home / "bin/python", "install", "--no-index", "--force-reinstall", wheel)
    assert set(files_of(home)) == installed > before
    pip(home / "bin/python", "uninstall", "-y", "torchport")
    assert set(files_of(home)) == before
    assert not (home / "lib" / MINOR / "site-packages/torchport").exists()


def test_the_users_own_folder(wheel, program, tmp_path, torch_folder):
    """`pip install --user` beside a torch that was installed in the same way."""
    base = Path(sys.base_prefix)
    user = tmp_path / "user"
    env = {"PYTHONUSERBASE": str(user), "PATH": f"{base / 'bin'}:{OUTSIDE['PATH']}"}
    lend(user / "lib" / MINOR / "site-packages", torch_folder)
    words = ["install", "--user", "--no-index", "--break-system-packages", wheel]
    pip(base / "bin" / MINOR, *words, **env)
    check(user / "bin", program, base, **env)


def test_a_prefix_as_conda_makes_it(wheel, program, tmp_path, torch_folder):
    """A Python of its own in the prefix, and no pyvenv.cfg."""
    prefix = tmp_path / "envs/legacy"
    site = prefix / "lib" / MINOR / "site-packages"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "conda-meta").mkdir()
    lend(site, torch_folder)
    shutil.copy2(Path(sys.base_prefix, "bin", MINOR), prefix / "bin" / MINOR)
    (prefix / "bin/python").symlink_to(MINOR)
    for path in Path(sys.base_prefix, "lib", MINOR).iterdir():
        if path.name != "site-packages":
            (site.parent / path.name).symlink_to(path)
    for path in Path(sys.base_prefix, "lib").glob("libpython*"):
        (prefix / "lib" / path.name).symlink_to(path)
    pip(prefix / "bin/python", "install", "--no-index", wheel)
    check(prefix / "bin", program, prefix)
    check(prefix / "bin", program, prefix, CONDA_PREFIX=str(prefix))


def test_a_program_in_a_zipapp(environment, program, tmp_path):
    home = environment("home")
    source = tmp_path / "source"
    source.mkdir()
    program.rename(source / "__main__.py")
    zipapp.create_archive(source, tmp_path / "app.pyz")
    check(home / "bin", tmp_path / "app.pyz", home)


def test_a_project_that_is_installed_editable(environment, tmp_path):
    home = environment("home")
    project = tmp_path / "project"
    (project / "mine").mkdir(parents=True)
    (project / "mine/__init__.py").write_text("")
    (project / "mine/train.py").write_text(PROGRAM)
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "mine"\nversion = "1"\n'
        '[tool.setuptools]\npackages = ["mine"]\n'
    )
    words = ["install", "--no-index", "--no-deps", "--no-build-isolation", "--editable", project]
    pip(home / "bin/python", *words)
    output = succeed(home / "bin/torchport", "run", "-q", "-m", "mine.train")
    assert output == f"NVIDIA A100-SXM4-80GB 2.0\n{home}\n"


def test_another_torch_in_pythonpath(environment, program, tmp_path):
    """Python imports the first torch; torchport must not hook the second one's libraries into it."""
    home = environment("home")
    other = tmp_path / "other/torch"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("__version__ = '2.99.0'\n")
    (other / "version.py").write_text("__version__ = '2.99.0'\ngit_version = 'abc'\n")
    done = subprocess.run(
        [home / "bin/torchport", "run", "-q", program], capture_output=True, text=True, check=False,
        env=OUTSIDE | {"PYTHONPATH": str(other.parent)},
    )  # fmt: skip
    assert done.returncode != 0 and done.stdout == ""
    assert re.search(r"this is torch 2\.99\.0 in \S+other/torch", done.stderr), done.stderr
