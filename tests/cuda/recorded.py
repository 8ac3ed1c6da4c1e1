"""Programs of CUDA C++ whose output on a real GPU is recorded, on virtual devices.

By hand: python tests/cuda/recorded.py NAME... prints what differs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "fidelity" / "questions" / "cuda" / "programs"
RECORDING = ROOT / "tests" / "fidelity" / "nvidia-h100-80gb-hbm3-2.11.0.json"
TORCHPORT = Path(sys.executable).parent / "torchport"
LINE = re.compile(r"(.*?\S):(?: (.*))?")


def answers() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Of each recorded program: its group, its name with its argument and flags, what it printed."""
    recorded = json.loads(RECORDING.read_text())["answers"]["cuda"]
    for group, questions in recorded.items():
        for title, answer in questions.items():
            yield f"cuda/{group}", title, answer["value"]


def build(name: str, flags: list[str], folder: Path) -> Path:
    path = folder / "".join([name, *(flag.replace("=", "_") for flag in flags)])
    if not path.exists():
        command = [TORCHPORT, "nvcc", "-w", "-arch=sm_90", "-std=c++17", *flags]
        command += [PROGRAMS / f"{name}.cu", "-o", path]
        subprocess.run(command, check=True, timeout=300)
    return path


def run(path: Path, argument: str) -> dict[str, Any]:
    """Lines "name: value" as a dict, as tests/fidelity/questions/cuda/_programs.py has them."""
    environment = dict(os.environ, TORCHPORT_VIRTUAL="cuda:1,profile=h100-80g")
    done = subprocess.run(
        [path, *([argument] if argument else [])],
        capture_output=True,
        text=True,
        errors="backslashreplace",
        env=environment,
        timeout=120,
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
    # What a virtual device says besides is no difference.
    said = "".join(
        line for line in done.stderr.splitlines(keepends=True) if not line.startswith("torchport: ")
    )
    if said:
        found["<error>"] = said.replace(str(PROGRAMS), "PATH")
    if done.returncode:
        found["<status>"] = done.returncode
    return found


def differences(title: str, answer: dict[str, Any], folder: Path) -> list[tuple[str, Any, Any]]:
    """Of each line that differs: its name, what the GPU printed, what the virtual device did."""
    name, *words = title.split(" ")
    flags = [word for word in words if word.startswith("-")]
    argument = " ".join(word for word in words if not word.startswith("-"))
    found = run(build(name, flags, folder), argument)
    names = list(dict.fromkeys([*answer, *found]))
    return [(n, answer.get(n), found.get(n)) for n in names if answer.get(n) != found.get(n)]


def main() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for _, title, answer in answers():
            if sys.argv[1:] and title.split(" ")[0] not in sys.argv[1:]:
                continue
            try:
                different = differences(title, answer, Path(folder))
            except subprocess.SubprocessError as error:
                print(f"{title}: {type(error).__name__}", flush=True)
                continue
            print(f"{title}: {len(answer) - len(different)} of {len(answer)} lines alike")
            for name, real, ours in different[:40]:
                print(f"    {name}\n        GPU     {real}\n        virtual {ours}")


if __name__ == "__main__":
    main()
