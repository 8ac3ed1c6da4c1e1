"""Where nothing says which torch a project supports, fixes are written for the one of the active environment."""

from __future__ import annotations

import importlib.metadata

import pytest

PROGRAM = "import torch\n\nx = torch.ones(2).cuda()\n"
VERSION = "torch/version.py"


@pytest.fixture
def environment(torchport):
    """environment(version): the variables of an environment that has this torch."""

    def make(version: str, variable: str = "VIRTUAL_ENV") -> dict[str, str]:
        place = f"../env/lib/python3.11/site-packages/{VERSION}"
        torchport.write(place, f"__version__ = '{version}'\ncuda = None\n")
        return {variable: str(torchport.folder.parent / "env")}

    torchport.write("main.py", PROGRAM)
    return make


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("2.13.0+cpu", "torch.accelerator.current_accelerator()"),
        ("2.6.0", "torch.accelerator.current_accelerator()"),
        ("2.5.1", "torch.backends.mps.is_available()"),
        ("2.1.2+cu121", "torch.backends.mps.is_available()"),
        ("1.10.0", '"cuda" if torch.cuda.is_available() else "cpu"'),
    ],
)
def test_the_installed_torch_decides(torchport, environment, version, written, variable) -> None:
    env = environment(version, variable)
    said = torchport("check", env=env).stdout
    assert f"(torch {version} is installed in " in said, said
    torchport("fix", "-q", env=env)
    text = (torchport.folder / "main.py").read_text()
    assert written in text


def test_what_the_project_says_comes_first(torchport, environment) -> None:
    env = environment("2.13.0+cpu")
    torchport.write("requirements.txt", "torch>=2.1\n")
    said = torchport("check", env=env).stdout
    assert "torch 2.1 and newer (requirements.txt:1)" in said
    said = torchport("check", "--min-torch", "1.12", env=env).stdout
    assert "torch 1.12 and newer (--min-torch)" in said


def test_without_an_active_environment_it_is_that_of_torchport(torchport, environment) -> None:
    environment("2.5.1")  # which is not active
    version = importlib.metadata.version("torch")
    assert f"(torch {version} is installed in " in torchport("check").stdout
    empty = {"VIRTUAL_ENV": str(torchport.folder)}
    assert "torch 1.12 and newer (the default" in torchport("check", env=empty).stdout


@pytest.mark.parametrize("text", ["", "__version__ = 'unknown'\n", "__version__ = '2.", "\0" * 100])
def test_a_version_that_says_nothing_leaves_the_default(torchport, environment, text) -> None:
    env = environment("2.13.0")
    torchport.write(f"../env/lib/python3.11/site-packages/{VERSION}", text)
    assert "torch 1.12 and newer (the default" in torchport("check", env=env).stdout
