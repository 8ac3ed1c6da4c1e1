"""Installs the wheel in roots of Debian releases and uses it there: `make test-systems`, as root.

    run.py [--wheel FILE] [--torch-wheel FILE]... [--nvidia FOLDER] [--no-torch] [RELEASE...]

Each root is made once, by debootstrap, in build/systems. It has Python and no compiler. The program has
to answer there as it does on this machine, and then to run, verify, prove, export and infer with the
release of torch that the checkout was built for. Where Python is older than 3.10, the program of the
wheel is used without installing it. A release that the mirror does not have is named and left out.

What is not given is fetched into build/systems: torch for the Python of each root, which is 0.5 GB, and
for a build for CUDA its libraries, 3 GB.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import commands
import roots
import wheels
import with_torch
from roots import System

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("trixie", "testing", "bookworm", "bullseye")
BASE = "/torchport-test"
OLDEST = (3, 10)


def install_here(base: Path, wheel: Path) -> System:
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    venv.create(base / "venv", symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", base / "venv/bin/python", "install", "-q"]
    subprocess.run([*pip, "--no-index", wheel], check=True)
    return System("here", None, str(base))


def install(system: System, wheel: Path, python: tuple[int, int]) -> tuple[str, str]:
    """Puts the wheel into the system. Returns the Python and the program, as it names them."""
    shutil.rmtree(system.outside, ignore_errors=True)
    (system.outside / "wheels").mkdir(parents=True)
    if python < OLDEST:
        unpacked = system.outside / "unpacked"
        wheels.unpack(wheel, unpacked)
        (unpacked / "bin").mkdir()
        program = unpacked / "bin/torchport"
        next(unpacked.glob("*.data/scripts/torchport")).rename(program)
        program.chmod(0o755)
        return "/usr/bin/python3", f"{BASE}/unpacked/bin/torchport"
    shutil.copy(wheel, system.outside / "wheels")
    system.must(["python3", "-m", "venv", "venv"])
    inside = f"{BASE}/venv/bin"
    pip = [f"{inside}/python", "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    system.must([*pip, "--no-index", f"wheels/{wheel.name}"])
    return f"{inside}/python", f"{inside}/torchport"


def test_torch(system: System, python: str, program: str, torch: wheels.Torch) -> list[str]:
    shutil.copytree(torch.wheels, system.outside / "wheels", dirs_exist_ok=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-index"]
    files = [f"wheels/{path.name}" for path in sorted(torch.wheels.glob("*.whl"))]
    system.must([*pip, "--no-deps", *files])
    site = system.must([python, "-c", "import sysconfig as s; print(s.get_path('purelib'))"])
    with_it = System(system.name, system.root, system.base, torch.mounts(site.strip()))
    wrong = with_torch.run_all(with_it, python, program)
    about = with_it.must([python, "-W", "ignore", "-c", "import torch; print(torch.__version__)"])
    print(f"{system.name}: with torch {about.strip()}: {len(with_torch.STEPS) + 1} steps")
    return wrong


def test(system: System, here: System, options: argparse.Namespace) -> list[str]:
    """What is wrong on one system."""
    release = (system.root / "etc/debian_version").read_text().strip()
    number = system.must(["python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    number = number.strip()
    python = tuple(map(int, number.split(".")))
    glibc = system.must(["ldd", "--version"]).splitlines()[0].split()[-1]
    inside, program = install(system, options.wheel, python)
    if any((system.root / "usr/bin" / name).exists() for name in ("cc", "gcc", "clang")):
        return ["the root has a compiler"]
    for each in (here, system):
        commands.lay_out(each, options.checkpoints)
    wrong = commands.compare(here, system, f"{here.base}/venv/bin/torchport", program)
    wrong += commands.unit_tests(system, ROOT / "build/release/tests/portable_test")
    too_old = python < OLDEST
    wrong += commands.without_torch(system, program, too_old)
    if not too_old:
        wrong += commands.self_check(system, program, 1, "has no torch")
    print(
        f"{system.name}: Debian {release}, Python {number}, glibc {glibc}: "
        f"{len(commands.EQUAL)} commands answer as here"
        if not wrong
        else f"{system.name}: differs"
    )
    if not too_old and not options.no_torch:
        torch = wheels.fetch_torch(
            options.torch, number, options.cache, options.torch_wheel, options.nvidia
        )
        wrong += test_torch(system, inside, program, torch)
    return wrong


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("releases", nargs="*", default=RELEASES)
    parser.add_argument("--wheel", type=Path, help="the wheel; else build/release is packed")
    parser.add_argument("--torch", default=wheels.own_release(), help="the release of torch")
    parser.add_argument("--torch-wheel", type=Path, action="append", default=[])
    parser.add_argument("--nvidia", type=Path, help="the folder nvidia of CUDA's Python packages")
    parser.add_argument("--no-torch", action="store_true", help="only what needs no torch")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/systems")
    return parser.parse_args()


def main() -> int:
    options = read_options()
    if os.geteuid() != 0:
        sys.exit("run.py: roots can be made and entered only as root")
    options.cache = options.cache.resolve()
    options.wheel = options.wheel or wheels.pack(ROOT / "build/release", options.cache / "dist")
    options.checkpoints = options.cache / "checkpoints"
    shutil.rmtree(options.checkpoints, ignore_errors=True)
    options.checkpoints.mkdir(parents=True)
    maker = ROOT / "tests/cli/programs/make_checkpoints.py"
    subprocess.run([sys.executable, maker, options.checkpoints], check=True)
    here = install_here(options.cache / "here", options.wheel)
    wrong = []
    for release in options.releases:
        root = options.cache / release
        if not roots.make(release, root):
            print(f"{release}: the mirror does not have it")
            continue
        system = System(release, root, BASE)
        system.outside.mkdir(exist_ok=True)
        wrong += [f"{release}: {text}" for text in test(system, here, options)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
