#!/usr/bin/env python3
"""clang-tidy over every translation unit of this project that has changed since it last passed.

A unit has changed when it, a header of this project that it includes, or .clang-tidy has; the
build's own dependency log says which headers those are. So a first run is slow, and others are not.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = tuple(f"{ROOT / name}/" for name in ("src", "tests", "bench", "fuzz"))
CLANG_TIDY = ROOT / "build" / "linters" / "bin" / "clang-tidy"
# The commands are those of g++, whose warnings clang does not all know.
EXTRA = ("--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error")


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path, help="a built folder with compile_commands.json")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()

    build = options.build.resolve()
    headers = headers_by_object(build)
    passed = ROOT / "build" / ".stamps" / "clang-tidy"
    passed.mkdir(parents=True, exist_ok=True)
    pending = []
    for unit in json.loads((build / "compile_commands.json").read_text()):
        if unit["file"].startswith(FOLDERS):
            source = Path(unit["file"])
            mark = passed / fingerprint(source, unit["command"], headers.get(unit["output"], []))
            if not mark.exists():
                pending.append((source, mark))

    def check(source: Path, mark: Path) -> bool:
        done = subprocess.run(
            [CLANG_TIDY, "--quiet", "-p", build, *EXTRA, source],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if done.returncode == 0:
            mark.touch()
        else:
            print(f"{source.relative_to(ROOT)}\n{done.stdout}", flush=True)
        return done.returncode == 0

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda unit: check(*unit), pending))
    print(f"clang-tidy: {len(pending)} units checked, {results.count(False)} with findings")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
