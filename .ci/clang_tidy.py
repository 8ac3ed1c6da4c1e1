#!/usr/bin/env python3
"""clang-tidy over every translation unit of this project that has changed since it last passed.

A unit has changed if it, a header of this project that it includes, or .clang-tidy has; the build's
own dependency log says which headers those are. So a first run is slow, and others are not.

Units are read without the precompiled headers. This takes less time, and finds a file that does not
include what it uses.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = tuple(f"{ROOT / name}/" for name in ("src", "tests", "bench", "fuzz"))
CLANG_TIDY = ROOT / "build" / "linters" / "bin" / "clang-tidy"
# The commands are those of g++, whose warnings clang does not all know.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]
# The analyzer gives a function up after so many states. Its default, 225,000, takes three times as
# long over the whole project.
for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=20000"):
    EXTRA.append(f"--extra-arg={word}")


def headers_by_object(build: Path) -> dict[str, list[Path]]:
    """What ninja recorded for each object file, less what does not belong to this project."""
    log = subprocess.run(
        ["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, list[Path]] = {}
    headers: list[Path] = []
    for line in log.splitlines():
        if line.startswith("    "):
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT) and "node_modules" not in path.parts:
                headers.append(path)
        elif line and not line.startswith("ninja:"):
            headers = found.setdefault(line.partition(": ")[0], [])
    return found


def fingerprint(source: Path, command: str, headers: list[Path]) -> str:
    digest = hashlib.sha256(command.encode())
    for path in [ROOT / ".clang-tidy", source, *sorted(set(headers))]:
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def without_precompiled(units: list[dict[str, str]], folder: Path) -> None:
    """Writes the commands, less what includes precompiled headers, into the folder."""
    for unit in units:
        unit["command"] = re.sub(r"-Winvalid-pch|-include \S*cmake_pch\.hxx", "", unit["command"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(units))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path, help="a built folder with compile_commands.json")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()

    build = options.build.resolve()
    headers = headers_by_object(build)
    passed = ROOT / "build" / ".stamps" / "clang-tidy"
    passed.mkdir(parents=True, exist_ok=True)
    units = json.loads((build / "compile_commands.json").read_text())
    commands = build / "clang-tidy"
    without_precompiled(units, commands)
    pending = []
    for unit in units:
        if unit["file"].startswith(FOLDERS):
            source = Path(unit["file"])
            output = unit["command"].split(" -o ")[1].split()[0]
            mark = passed / fingerprint(source, unit["command"], headers.get(output, []))
            if not mark.exists():
                pending.append((source, mark))

    took: dict[Path, float] = {}

    def check(source: Path, mark: Path) -> bool:
        started = time.monotonic()
        done = subprocess.run(
            [CLANG_TIDY, "--quiet", "-p", commands, *EXTRA, source],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if done.returncode == 0:
            mark.touch()
        else:
            print(f"{source.relative_to(ROOT)}\n{done.stdout}", flush=True)
        took[source] = time.monotonic() - started
        return done.returncode == 0

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda unit: check(*unit), pending))
    print(f"clang-tidy: {len(pending)} units checked, {results.count(False)} with findings")
    for source, seconds in sorted(took.items(), key=lambda item: -item[1])[:5]:
        print(f"  {seconds:6.1f} s  {source.relative_to(ROOT)}")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
