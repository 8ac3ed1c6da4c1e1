"""CUDA extensions of PyPI, built unmodified for virtual devices and compared with plain PyTorch.

`make test-extensions` runs them; a build takes minutes. What a package is built from is pinned by its hash
(deps/extensions.txt), and what was built is kept in build/extensions. Each runs once more under the checker of
kernels, for which it is built anew; what the checker is known to find is in findings.toml.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"  # one for each package: prints "right", or fails
BUILT = ROOT / "build" / "extensions"
PACKAGES = BUILT / "packages"
TORCHPORT = Path(sys.executable).parent / "torchport"
PINNED = {
    line.split("==")[0]: line
    for line in (ROOT / "deps" / "extensions.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
# What the packages themselves offer to choose what is built; -g0 makes the builds of their host code shorter.
OPTIONS = {
    "CFLAGS": "-g0",
    "CXXFLAGS": "-g0",
    "FORCE_CUDA": "1",
    "FORCE_ONLY_CUDA": "1",
    "NVCC_PREPEND_FLAGS": f"-I{PACKAGES / 'nvidia/cuda_cccl/include'}",
    "TLA_BUILD_LEGACY_CUDA": "1",
    "TORCH_CUDA_ARCH_LIST": "9.0",
}
# What the host's <cmath> has since C++20 is defined in nerfacc, too, so that nvcc refuses it there.
OWN_OPTIONS = {
    "deepspeed": {"DS_BUILD_FUSED_ADAM": "1", "DS_BUILD_FUSED_LION": "1", "DS_ENABLE_NINJA": "1"},
    "nerfacc": {"NVCC_FLAGS": "-std=c++17"},
}
# Packages that import others of them.
NEEDS = {"torch-sparse": ("torch-scatter",)}
TABLE = tomllib.loads((Path(__file__).parent / "findings.toml").read_text())
KINDS = (
    "out of bounds", "use after free", "misaligned", "uninitialised shared memory", "race",
    "barrier in divergent code", "warp function", "leak", "out of range",
)  # fmt: skip
FINDING = re.compile(rf"^torchport: ({'|'.join(KINDS)}): (.*)$", re.M)
LINE = re.compile(r"(?:^| at )([^ ;]+:\d+)\b")
pytestmark = pytest.mark.skipif(
    "TORCHPORT_EXTENSIONS" not in os.environ, reason="builds for minutes: make test-extensions"
)


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    """What the packages import beside torch."""
    wanted = ROOT / "deps" / "extensions-python.txt"
    have = PACKAGES / "wanted.txt"
    if not have.is_file() or have.read_text() != wanted.read_text():
        words = ["-q", "--no-deps", "--upgrade", "--target", PACKAGES, "-r", wanted]
        subprocess.run([sys.executable, "-m", "pip", "install", *words], check=True)
        have.write_text(wanted.read_text())


def ended(
    *command: object,
    folder: Path,
    paths: tuple[Path, ...] = (),
    options: dict[str, str] | None = None,
    checked: bool = False,
) -> subprocess.CompletedProcess[str]:
    check = ["--check-kernels"] if checked else []
    return subprocess.run(
        [TORCHPORT, "run", "-q", *check, "--profile", "h100-80g", "--", *command],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (*paths, PACKAGES))),
            **OPTIONS,
            **(options or {}),
        },
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )


def on_virtual_device(*command: object, folder: Path, **how: Any) -> str:
    done = ended(*command, folder=folder, **how)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def toolkit(folder: Path) -> str:
    """A number of the toolkit: what another one has built does not run with it."""
    source = folder / "empty.cu"
    source.write_text("")
    # The number of the program is in what it expands, beside its headers.
    done = subprocess.run(
        [TORCHPORT, "nvcc", "-E", source.name], cwd=folder, capture_output=True, check=True
    )
    return hashlib.sha256(done.stdout).hexdigest()


def built(name: str, checked: bool = False) -> Path:
    """The folder of a package, whose modules were built in place; those for the checker beside the others."""
    folder = BUILT / name
    folder.mkdir(parents=True, exist_ok=True)
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pin = folder / "pin.txt"
        pin.write_text(PINNED[name] + "\n")
        # To know its dependencies pip runs setup.py, which looks for CUDA.
        words = ["-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        on_virtual_device(
            sys.executable, "-m", "pip", "download", *words, "--require-hashes", "-r", pin,
            "-d", folder, folder=folder,
        )  # fmt: skip
        archives = list(folder.glob("*.tar.gz"))
    with tarfile.open(archives[0]) as archive:
        top = folder / archive.getnames()[0].split("/")[0]
        if not top.exists():
            archive.extractall(folder, filter="data")
    stamp, number = folder / "toolkit.txt", toolkit(folder)
    if not stamp.is_file() or stamp.read_text() != number:
        for kept in (top / "build", folder / "run"):
            shutil.rmtree(kept, ignore_errors=True)
        stamp.write_text(number)
    if (top / "setup.py").is_file():  # else it builds what it needs as it runs
        words = ("setup.py", "build_ext", "--inplace")
        options = OWN_OPTIONS.get(name)
        on_virtual_device(sys.executable, *words, folder=top, options=options, checked=checked)
    return top


def import_paths(folder: Path, checked: bool) -> tuple[Path, ...]:
    """The folders from which what was built in place is imported; setuptools keeps each at its package in build/lib*."""
    paths = [] if (folder / "setup.py").is_file() else [folder / "src"]
    mark = "torchport_checked" if checked else "torchport"
    for module in folder.glob(f"build/lib*/**/*.{mark}.*so"):
        inside = module.relative_to(folder).parts[2:]
        for copy in folder.rglob(module.name):
            if "build" not in copy.relative_to(folder).parts:
                paths.append(copy.parents[len(inside) - 1])
    return tuple(dict.fromkeys(paths))


def compared(name: str, checked: bool = False) -> subprocess.CompletedProcess[str]:
    """The end of the program that compares a package with plain PyTorch."""
    folder = built(name, checked)
    paths = import_paths(folder, checked)
    assert paths, "no module was built for virtual devices"
    for other in NEEDS.get(name, ()):
        paths += import_paths(built(other, checked), checked)
    return ended(
        sys.executable,
        PROGRAMS / f"check_{name.replace('-', '_')}.py",
        folder=folder,
        paths=paths,
        options={"TORCH_EXTENSIONS_DIR": str(BUILT / name / "run")},
        checked=checked,
    )


@pytest.mark.parametrize("name", sorted(PINNED))
def test_an_extension_computes_as_plain_pytorch(name: str) -> None:
    done = compared(name)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert done.stdout.splitlines()[-1] == "right"


def lines_of(text: str) -> set[str]:
    """The lines that a finding names, from the package's folder; a build may have begun in a folder below."""
    return {os.path.normpath(one).replace("../", "") for one in LINE.findall(text)}


@pytest.mark.parametrize("name", sorted(PINNED))
def test_the_checker_tells_of_an_extension_what_is_known(name: str) -> None:
    known = [one for one in TABLE["finding"] if one["package"] == name]
    done = compared(name, checked=True)
    said = done.stdout + done.stderr
    assert "is not checked" not in said
    assert "torchport: kernels were checked in " in said, said[-4000:]
    told: dict[str, set[str]] = {}
    for kind, text in FINDING.findall(said):
        lines = lines_of(text)
        rows = [one for one in known if one["kind"] == kind and lines <= set(one["at"])]
        assert lines, text
        assert rows, f"not in findings.toml: {kind}: {text}"
        told.setdefault(kind, set()).update(lines)
    for one in known:
        assert set(one["at"]) <= told.get(one["kind"], set()), one
    assert done.returncode == (1 if told else 0)
    if not any(one.get("ends") for one in known):
        assert done.stdout.splitlines()[-1:] == ["right"], said[-4000:]
