#!/usr/bin/env python3
"""clang-tidy over every translation unit of this project that has changed since it last passed.

A unit has changed if it, a header of this project that it includes, or .clang-tidy has. The
dependency log of build/release says which headers those are. So a first run is slow, and others are
not, in other clones, too: what passed is kept in TORCHPORT_TIDY_CACHE (~/.cache/torchport/clang-tidy).

Most of the time goes into reading headers. Therefore the units are those of a build that joins the
sources of a layer, and is only configured. Its precompiled headers are left out: they are of another
compiler.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gate import caches

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = tuple(f"{ROOT / name}/" for name in ("src", "tests", "bench", "fuzz"))
BUILT = ROOT / "build" / "release"
# What is not of this project, and is read: the tool and torch.
PINNED = (ROOT / "deps" / "linters.lock", ROOT / "deps" / "torch.txt")
KEPT_DAYS = 30
CLANG_TIDY = ROOT / "build" / "linters" / "bin" / "clang-tidy"
# The commands may be those of g++, whose warnings clang does not all know.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]
# The analyzer gives a function up after so many states. Its default, 225,000, takes three times as
# long over the whole project.
for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=20000"):
    EXTRA.append(f"--extra-arg={word}")

# A joined unit includes sources, which is what it is for.
JOINED = ["--checks=-bugprone-suspicious-include"]


def headers_of_sources() -> dict[Path, list[Path]]:
    """The headers of each source, or of the unit that it is joined to, less those of others."""
    log = subprocess.run(
        ["ninja", "-C", BUILT, "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    by_object: dict[str, list[Path]] = {}
    headers: list[Path] = []
    for line in log.splitlines():
        if line.startswith("    "):
            path = (BUILT / line.strip()).resolve()
            if path.is_relative_to(ROOT) and "node_modules" not in path.parts:
                headers.append(path)
        elif line and not line.startswith("ninja:"):
            headers = by_object.setdefault(line.partition(": ")[0], [])
    found: dict[Path, list[Path]] = {}
    for unit in json.loads((BUILT / "compile_commands.json").read_text()):
        output = unit["command"].split(" -o ")[1].split()[0]
        for source in sources_of(Path(unit["file"])):
            found.setdefault(source, []).extend(by_object.get(output, []))
    return found


def generate(build: Path) -> None:
    """Takes the files that sources include, and the sources that a build generates, from build/release.

    To let this build make them would compile every library that stands before them."""
    listed = subprocess.run(
        ["ninja", "-C", build, "-t", "targets", "rule", "CUSTOM_COMMAND"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for made in map(Path, listed.split()):
        if made.suffix in (".inc", ".cpp"):
            target = build / made
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(BUILT / target.relative_to(build), target)


def is_joined(unit: Path) -> bool:
    return unit.name.startswith("unity_")


def sources_of(unit: Path) -> list[Path]:
    """The source itself, or those that a joined unit includes."""
    if is_joined(unit):
        return [Path(path) for path in re.findall(r'^#include "(.*)"', unit.read_text(), re.M)]
    return [unit]


def named_in(listed: Path) -> set[Path]:
    return {ROOT / line for line in listed.read_text().splitlines()}


def settings_of(source: Path) -> Path:
    """The nearest .clang-tidy above the source."""
    return next(path for folder in source.parents if (path := folder / ".clang-tidy").is_file())


def take_settings(unit: Path, sources: list[Path]) -> None:
    """Gives a joined unit the settings of its sources' folder; clang-tidy looks above the unit.

    Compiler options are of single files, which are not joined for this reason."""
    found = {settings_of(source) for source in sources}
    beside = unit.parent / ".clang-tidy"
    beside.unlink(missing_ok=True)
    if len(found) == 1 and "ExtraArgs" not in (text := found.pop().read_text()):
        beside.write_text(text)


def fingerprint(sources: list[Path], command: str, headers: list[Path]) -> str:
    own = " ".join([*EXTRA, *JOINED, command.replace(str(ROOT), ".")])
    digest = hashlib.sha256(own.encode())
    settings = {ROOT / ".clang-tidy", *map(settings_of, sources)}
    for path in [*PINNED, *sorted(settings), *sources, *sorted(set(headers))]:
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def kept_marks() -> Path:
    """The folder with a mark for each unit that has passed, less those that nobody asked for lately."""
    folder = caches.folder(os.environ, "TORCHPORT_TIDY_CACHE", "clang-tidy")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written
        folder = ROOT / "build" / ".stamps" / "clang-tidy"
        folder.mkdir(parents=True, exist_ok=True)
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for mark in folder.iterdir():
        if mark.stat().st_mtime < oldest:
            mark.unlink(missing_ok=True)
    return folder


def without_options_of_gcc(units: list[dict[str, str]], folder: Path) -> None:
    """Writes the commands into the folder, less what only g++ knows, which compiles where there is no clang."""
    for unit in units:
        unit["command"] = re.sub(r"-fpch-preprocess|-fvect-cost-model=\w+", "", unit["command"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(units))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument(
        "--only", type=Path, metavar="FILE", help="names a source to check in each line"
    )
    options = parser.parse_args()
    only = None if options.only is None else named_in(options.only)

    subprocess.run(
        ["cmake", "--preset", "clang-tidy"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True
    )
    build = ROOT / "build" / "clang-tidy"
    generate(build)
    headers = headers_of_sources()
    passed = kept_marks()
    units = json.loads((build / "compile_commands.json").read_text())
    commands = build / "commands"
    without_options_of_gcc(units, commands)
    pending = []
    for unit in units:
        sources = sources_of(Path(unit["file"]))
        if only is not None and not only.intersection(sources):
            continue
        if all(str(source).startswith(FOLDERS) for source in sources):
            if is_joined(Path(unit["file"])):
                take_settings(Path(unit["file"]), sources)
            included = [header for source in sources for header in headers.get(source, [])]
            mark = passed / fingerprint(sources, unit["command"], included)
            if mark.exists():
                mark.touch()
            else:
                pending.append((Path(unit["file"]), mark))
    # The largest first, so that the last one does not run alone.
    pending.sort(key=lambda unit: -len(sources_of(unit[0])))

    took: dict[Path, float] = {}

    def check(source: Path, mark: Path) -> bool:
        started = time.monotonic()
        joined = JOINED if is_joined(source) else []
        done = subprocess.run(
            [CLANG_TIDY, "--quiet", "-p", commands, *EXTRA, *joined, source],
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
