"""The hooks for pre-commit run: those of this repository, those of the repository that installs the
wheel, and those that `torchport ci` writes. pre-commit itself makes their environments, without an index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from workflow_steps import LINTERS, read_yaml

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "packaging" / "pre-commit"
HOOKS = ".pre-commit-hooks.yaml"
FOUND = "train.py:2:20: TP101"
VERSION = re.search(
    r"project\(torchport\s+VERSION\s+([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()
)


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "all")
    return folder


@pytest.fixture
def project(torchport) -> Path:
    torchport.write("train.py", "import torch\nx = torch.zeros(3).cuda()\n")
    return repository(torchport.folder)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory) -> dict[str, str]:
    """The variables for a pre-commit that finds nothing but the wheel and virtualenv's own setuptools,
    and keeps its environments for this module. No torchport is in its PATH."""
    setuptools = next(LINTERS.parent.rglob("virtualenv/seed/wheels/embed/setuptools-*.whl"))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PRE_COMMIT"))}
    path = [p for p in kept["PATH"].split(":") if not Path(p, "torchport").exists()]
    return kept | {
        "PATH": ":".join(path),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": f"{wheel.parent} {setuptools.parent}",
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")),
    }


def pre_commit(project: Path, environment: dict[str, str], *words: str):
    return subprocess.run(
        [LINTERS / "pre-commit", *words, "--all-files"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_both_repositories_have_the_same_hooks(lint) -> None:
    """They differ in where the program comes from."""
    lists = []
    for folder, language in ((ROOT, "system"), (PUBLISHED, "python")):
        lint("pre-commit", "validate-manifest", folder / HOOKS)
        hooks = read_yaml(folder / HOOKS)
        assert {hook.pop("language") for hook in hooks} == {language}
        lists.append(hooks)
    assert lists[0] == lists[1]


def test_the_published_repository_names_this_version() -> None:
    package = tomllib.loads((PUBLISHED / "pyproject.toml").read_text())["project"]
    assert package["version"] == VERSION[1]
    assert package["dependencies"] == [f"torchport=={VERSION[1]}"]
    for page in (PUBLISHED / "README.md", ROOT / "docs/ci.md"):
        assert f"rev: v{VERSION[1]}\n" in page.read_text()


@pytest.mark.long
def test_the_published_hooks_install_the_wheel(project, environment, tmp_path: Path) -> None:
    published = repository(shutil.copytree(PUBLISHED, tmp_path / "published"))
    words = ["try-repo", str(published), "torchport-check"]
    done = pre_commit(project, environment, *words)
    assert done.returncode == 1 and FOUND in done.stdout, done.stdout + done.stderr
    done = pre_commit(project, environment, *words[:2], "torchport-fix")
    assert done.returncode == 1 and "files were modified" in done.stdout, done.stdout
    assert ".cuda()" not in (project / "train.py").read_text()
    done = pre_commit(project, environment, *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hooks_that_ci_writes_install_the_wheel(torchport, project, environment) -> None:
    assert torchport("ci").returncode == 0
    git(project, "add", ".")
    done = pre_commit(project, environment, "run", "torchport-check")
    assert done.returncode == 1 and FOUND in done.stdout, done.stdout + done.stderr
    # They are the published ones, with the dependency in the list itself.
    written = read_yaml(project / ".pre-commit-config.yaml")["repos"][0]["hooks"][0]
    package = tomllib.loads((PUBLISHED / "pyproject.toml").read_text())["project"]
    assert written.pop("additional_dependencies") == package["dependencies"]
    published = read_yaml(PUBLISHED / HOOKS)[0]
    del published["description"]
    assert written == published


def test_without_the_wheel_the_installation_fails(project, environment, tmp_path: Path) -> None:
    """Nothing else on this machine stands in for it."""
    published = repository(shutil.copytree(PUBLISHED, tmp_path / "published"))
    setuptools = environment["PIP_FIND_LINKS"].split()[1]
    apart = {"PIP_FIND_LINKS": setuptools, "PRE_COMMIT_HOME": str(tmp_path / "apart")}
    done = pre_commit(project, environment | apart, "try-repo", str(published), "torchport-check")
    assert done.returncode != 0 and f"torchport=={VERSION[1]}" in done.stdout + done.stderr


def test_the_hooks_of_this_repository_use_the_environment(
    torchport, project, environment, tmp_path: Path
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(ROOT / HOOKS, hooks)
    active = environment | {"PATH": f"{torchport.program.parent}:{environment['PATH']}"}
    words = ["try-repo", str(repository(hooks)), "torchport-check"]
    done = pre_commit(project, active, *words)
    assert done.returncode == 1 and FOUND in done.stdout, done.stdout
    torchport.write("train.py", "import torch\nx = torch.zeros(3)\n")
    done = pre_commit(project, active, *words)
    assert done.returncode == 0, done.stdout + done.stderr
