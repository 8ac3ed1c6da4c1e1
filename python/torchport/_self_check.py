"""``torchport doctor --self``: what this installation of torchport consists of, and whether it works.

It is the first thing to ask for in a bug report. It imports torch only in a child process, with one
virtual device, so that a crash there is a result.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import site
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from torchport import __version__, _libraries, _runtimes
from torchport.__main__ import places
from torchport.virtual import _rivals

STARTUP = "torchport_virtual.pth"
VARIABLES = (
    "TORCHPORT_LIBRARY",
    "TORCHPORT_VIRTUAL",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
)
TRY = """
import torch
assert torch.ones(2, device="cuda").add(1).tolist() == [2.0, 2.0]
print(torch.cuda.get_device_name())
"""


@dataclass(frozen=True)
class Check:
    """One line of the answer.

    Attributes:
        name: What was looked at.
        answer: What was found, and what to do if it is wrong.
        ok: Whether torchport can work with it.
    """

    name: str
    answer: str
    ok: bool = True


def _programs() -> Check:
    found = [folder / "torchport" for folder in places() if (folder / "torchport").is_file()]
    if not found:
        return Check("program", "missing; install torchport again", False)
    done = subprocess.run([found[0], "--version"], capture_output=True, text=True, check=False)
    version = done.stdout.strip().rpartition(" ")[2]
    if version != __version__:
        return Check(
            "program",
            f"{found[0]} is version {version or 'unknown'}, the package is {__version__}; install "
            "torchport again",
            False,
        )
    return Check("program", str(found[0]))


def _startup() -> Check:
    folders = [Path(folder) for folder in [*site.getsitepackages(), site.getusersitepackages()]]
    for folder in folders:
        if (folder / STARTUP).is_file():
            return Check("start-up file", str(folder / STARTUP))
    return Check(
        "start-up file",
        f"{STARTUP} is in no folder of packages of this Python; only `torchport run` sets virtual "
        "devices up, the variable TORCHPORT_VIRTUAL does not",
    )


def _torch() -> Iterator[Check]:
    try:
        torch = _runtimes.installed()
    except _runtimes.UnsupportedTorch as error:
        yield Check("torch", str(error).removeprefix("torchport: "), False)
        return
    kind = "a build with CUDA" if torch.has_cuda else "a build without CUDA"
    yield Check("torch", f"{torch.version}, {kind}, {torch.root}")
    others = [
        Path(folder, "torch")
        for folder in sys.path
        if Path(folder, "torch", "version.py").is_file() and Path(folder, "torch") != torch.root
    ]
    for other in others:
        yield Check("another torch", f"{other}, which is behind the first on Python's path")
    yield from _runtime(torch)


def _runtime(torch: _runtimes.Torch) -> Iterator[Check]:
    try:
        folder = _runtimes.find(torch)
    except _runtimes.UnsupportedTorch as error:
        yield Check("runtime", str(error).removeprefix("torchport: "), False)
        return
    names = ", ".join(sorted(path.name for path in folder.iterdir()))
    revision = torch.git_version[:12]
    yield Check(
        "runtime", f"{folder}, because torch/version.py says {torch.release} ({revision}): {names}"
    )
    environment = os.environ | {"TORCHPORT_VIRTUAL": "cuda:1"}
    from torchport import _startup

    start = "import sys\nif sys.path[:1] == ['']: del sys.path[0]\n"  # the current folder
    start += f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
    start += f"import {_startup.__name__}\n"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", start + TRY],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    if done.returncode == 0:
        yield Check("virtual device", f"computes, as {done.stdout.strip()}")
    else:
        # What Python prints of an exception begins with the name of its class.
        yield Check("virtual device", last.rpartition("torchport: ")[2], False)


def _surroundings() -> Iterator[Check]:
    from importlib.util import find_spec

    for name in _rivals.NAMES:
        if find_spec(name) is not None:
            yield Check(
                "other backend",
                f"{name} is installed; a program with virtual devices cannot import it",
            )
    for name in VARIABLES:
        if value := os.environ.get(name):
            yield Check("variable", f"{name}={value}")


def checks() -> list[Check]:
    """All checks, in the order in which torchport depends on them."""
    return [
        Check("torchport", f"{__version__}, {Path(__file__).parent}"),
        Check("libraries", str(_libraries.folder()), _libraries.folder().is_dir()),
        _programs(),
        Check("Python", f"{platform.python_version()}, {sys.executable}"),
        Check("system", f"{platform.platform()}, {' '.join(platform.libc_ver())}"),
        _startup(),
        *_torch(),
        *_surroundings(),
    ]


def main(words: list[str] | None = None) -> int:
    """Returns the exit code: 0 if torchport works here, 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        prog="torchport doctor --self",
        description="Say what this installation of torchport consists of, and whether it works.",
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    options = parser.parse_args(words)
    found = checks()
    if options.json:
        print(json.dumps([asdict(check) for check in found], indent=1))
    else:
        for check in found:
            print(f"{'ok' if check.ok else '!!'}  {check.name:<15} {check.answer}")
    return 0 if all(check.ok for check in found) else 1


if __name__ == "__main__":
    sys.exit(main())
