"""Tries a wheel in fresh environments: `make wheels-smoke`.

    smoke.py [--wheel FILE] [--cache FOLDER] [--other-python PYTHON] [RELEASE...]

Four kinds of environment, each with nothing of the checkout's:

    no torch          what needs none answers, and what needs one says that it is missing
    another Python    the same, with a Python that is not the checkout's: --other-python, else the newest
                      one on PATH or of pyenv; else that of Debian 13 in a root (tests/systems), as root
    RELEASE...        libraries are found, a CUDA program runs and is proved, a network trains with the
                      losses of the CPU; without RELEASE: the oldest one, the checkout's and the newest

It is a part of what tests/releases/run.py, tests/systems/run.py and tests/build/test_builds.py test,
small enough for each change of the libraries. The environments are those of `make test-releases`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import environments
import run
from environments import ROOT

HERE = Path(__file__).parent
PYTHONS = ("3.15", "3.14", "3.13", "3.12", "3.10")
# Of commands.py.
TRIED = "sound or source_tool or cuda_program or training_has_the_losses"
Steps = list[tuple[list[str], int, str]]

# Words of the program, its status, and what its output has to have.
WITHOUT_TORCH: Steps = [
    (["check", "legacy.py"], 1, "TP101"),
    (["fix", "--diff", "legacy.py"], 0, ".to("),
    (["fix", "legacy.py"], 0, ""),
    (["explain", "TP101"], 0, "cuda"),
    (["rules"], 0, "TP101"),
    (["doctor", "--json"], 0, "{"),
    (["build-plan"], 1, "torch was not found"),
    (["verify", "net:make"], 2, "has no torch"),
    (["doctor", "--self"], 1, "has no torch"),
]


def own_release() -> str:
    text = (ROOT / "deps/torch.txt").read_text()
    found = re.search(r"^torch==([\d.]+)", text, re.MULTILINE)
    assert found is not None
    return found[1]


def default_releases() -> list[str]:
    """The oldest, the checkout's and the newest of those with libraries."""
    newest, *_, oldest = run.releases()
    return list(dict.fromkeys([oldest, own_release(), newest]))


def another_python() -> Path | None:
    """The newest Python on PATH, or among pyenv's, whose version is not the checkout's."""
    own = environments.minor_of(Path(sys.executable))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for minor in PYTHONS:
        if minor == own:
            continue
        on_path = shutil.which(f"python{minor}")
        found = [Path(on_path)] if on_path else []
        found += sorted(pyenv.glob(f"versions/{minor}.*/bin/python{minor}"))
        for python in found:
            # pyenv has a program of each name on PATH, which fails if the version is not chosen.
            answer = subprocess.run([python, "-c", ""], capture_output=True, check=False)
            if answer.returncode == 0:
                return python
    return None


def try_without_torch(python: Path, wheel: Path) -> list[str]:
    """What is wrong with the wheel in an environment of a Python that has nothing else."""
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([python, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        inside = folder / "venv/bin"
        environments.pip(f"--python={inside / 'python'}", "install", "--no-index", wheel)
        shutil.copytree(HERE / "programs", folder / "project")
        settings = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
        settings |= {
            "PATH": f"{inside}:/usr/bin:/bin",
            "TORCHPORT_CACHE_DIR": str(folder / "cache"),
        }
        for words, status, text in WITHOUT_TORCH:
            done = subprocess.run(
                [inside / "torchport", *words], cwd=folder / "project", env=settings,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            output = done.stdout + done.stderr
            if done.returncode != status or text not in output or "Traceback" in output:
                command = " ".join(words)
                wrong.append(
                    f"torchport {command}: {done.returncode} instead of {status}\n{output}"
                )
    return wrong


def try_in_root(wheel: Path) -> list[str]:
    """The same with the Python of Debian 13, in a root of it."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        return ["no other Python is here: name one by --other-python (OTHER_PYTHON of make), or "
                "install debootstrap (deps/install.sh apt systems) and be root"]  # fmt: skip
    command = [ROOT / "tests/systems/run.py", "--no-torch", "--wheel", wheel, "trixie"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, check=False)
    return ["the wheel does not work in a root of Debian 13"] if done.returncode else []


def try_beside(release: str, wheel: Path, cache: Path) -> list[str]:
    """What is wrong with the wheel beside a release of torch."""
    environment = environments.make(release, cache, Path(sys.executable))
    environments.install(environment, wheel)
    log = environment.folder.parent / "smoke.log"
    row = run.tested(environment, log, HERE / "commands.py", "-k", TRIED)
    print(f"torch {environment.build}: {row['passed']} pass", flush=True)
    return [f"torch {release}: {name}, see {log}" for name in row["failed"]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--cache", type=Path, default=ROOT / "build/releases")
    parser.add_argument("--other-python", type=Path)
    options = parser.parse_args()
    wheel = (options.wheel or run.default_wheel()).resolve()
    options.cache.mkdir(parents=True, exist_ok=True)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)

    wrong = [f"no torch: {line}" for line in try_without_torch(Path(sys.executable), wheel)]
    print(f"no torch: {len(WITHOUT_TORCH)} commands", flush=True)
    other = options.other_python or another_python()
    if other is None:
        wrong += try_in_root(wheel)
    else:
        minor = environments.minor_of(other)
        wrong += [f"Python {minor}: {line}" for line in try_without_torch(other, wheel)]
        print(f"Python {minor}: {len(WITHOUT_TORCH)} commands", flush=True)
    for release in options.releases or default_releases():
        wrong += try_beside(release, wheel, options.cache.resolve())
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
