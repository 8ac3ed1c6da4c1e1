"""Programs of CUDA C++ as questions: one is compiled by nvcc and run, and what it prints is the answer."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from recorder.asking import NotAnswered
from recorder.registry import Question, add

PROGRAMS = Path(__file__).resolve().parent / "programs"
# A folder with programs that are compiled already, for a machine that has no nvcc:
# PYTHONPATH=tests/fidelity python3 tests/fidelity/questions/cuda/_programs.py FOLDER sm_90
BUILT = "TORCHPORT_BUILT_CUDA_PROGRAMS"
SECONDS_OF_RUN = 60
LINE = re.compile(r"(.*?\S):(?: (.*))?")  # a name may have the " : " of an expression
FILES: dict[str, tuple[str, list[str]]] = {}  # of each executable: the program and nvcc's flags


def program(name: str, arguments: list[str] | None = None, flags: list[str] | None = None) -> None:
    """Adds the question that `programs/NAME.cu` answers; one for each argument if there are some.

    `flags` are for nvcc, and a part of the question's name.
    """
    file = "".join([name, *(flag.replace("=", "_") for flag in flags or [])])
    FILES[file] = name, flags or []
    for argument in arguments or [""]:
        title = " ".join(filter(None, [name, argument, *(flags or [])]))

        def ask(file: str = file, argument: str = argument) -> dict[str, Any]:
            return run(executable(file), argument)

        add(Question(title, ask, seconds=300, alone=True))


def executable(file: str) -> Path:
    """The compiled program, kept for the questions that follow.

    Raises:
        NotAnswered: There is no nvcc, or it has not what the program includes.
    """
    built = Path(os.environ.get(BUILT, os.devnull)).resolve() / file
    if built.is_file():
        return built
    name, flags = FILES[file]
    architecture = "sm_{}{}".format(*torch.cuda.get_device_capability())
    sources = [(PROGRAMS / path).read_bytes() for path in (f"{name}.cu", "told.h")]
    key = hashlib.sha256(b"".join([*sources, architecture.encode()])).hexdigest()[:16]
    kept = Path(tempfile.gettempdir()) / f"torchport-cuda-programs-{os.getuid()}"
    kept.mkdir(mode=0o700, exist_ok=True)
    path = kept / f"{file}-{key}"
    if not path.exists():
        new = path.with_suffix(f".{os.getpid()}")
        compile_program(name, flags, architecture, new)
        new.rename(path)
    return path


def compile_program(name: str, flags: list[str], architecture: str, output: Path) -> None:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=str(Path(home) / "bin"))
    if nvcc is None:
        raise NotAnswered("there is no nvcc")
    command = [nvcc, "-w", f"-arch={architecture}", "-std=c++17", *flags, *includes()]
    command += ["-o", str(output), str(PROGRAMS / f"{name}.cu")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    if done.returncode != 0:
        raise NotAnswered(f"nvcc refused it: {(done.stderr or done.stdout)[-800:]}")


def includes() -> list[str]:
    """Headers of packages beside torch, for what the toolkit of nvcc may lack."""
    found = []
    for library in ("nvidia", "nvidia.curand"):
        try:
            spec = importlib.util.find_spec(library)
        except ImportError:
            continue
        for folder in (spec.submodule_search_locations or []) if spec else []:
            for path in (*Path(folder).glob("cu1*/include"), Path(folder) / "include"):
                if (path / "curand_kernel.h").exists():
                    found += ["-idirafter", str(path)]
    return found


def run(path: Path, argument: str) -> dict[str, Any]:
    """Lines "name: value" as a dict. What else is printed, and how it ended, has names in <>."""
    # Errors are to belong to their calls, as by default.
    environment = {key: value for key, value in os.environ.items() if key != "CUDA_LAUNCH_BLOCKING"}
    done = subprocess.run(
        [str(path), *([argument] if argument else [])],
        capture_output=True,
        text=True,
        errors="backslashreplace",
        env=environment,
        timeout=SECONDS_OF_RUN,
        check=False,
    )
    found: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        told = LINE.fullmatch(line)
        name, value = (told[1], told[2] or "") if told else ("<line>", line)
        unique, again = name, 1
        while unique in found:
            again += 1
            unique = f"{name} ({again})"
        found[unique] = value
    if done.stderr:
        found["<error>"] = done.stderr
    if done.returncode:
        found["<status>"] = done.returncode
    return found


def build_all(folder: Path, architecture: str) -> None:
    import _programs  # the module that the groups fill, which this one is not
    from recorder import registry

    registry.load()
    folder.mkdir(parents=True, exist_ok=True)
    for file, (name, flags) in _programs.FILES.items():
        print(file, flush=True)
        own = ["-Xcompiler", "-static-libstdc++,-static-libgcc"]
        compile_program(name, [*flags, *own], architecture, folder / file)


if __name__ == "__main__":
    build_all(Path(sys.argv[1]), sys.argv[2])
