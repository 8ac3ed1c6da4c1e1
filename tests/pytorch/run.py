#!/usr/bin/env python3
"""Runs PyTorch's own device tests on the CPU and on virtual CUDA devices, and compares test by test.

    run.py CHECKOUT [--only FILE...] [--part K] [--jobs N] [--compare] [--page]

CHECKOUT is a folder with PyTorch's sources, of which the folder test/ is used. files.toml says which files
are run, and which part of each; --part K takes another part of the same size. The outcomes on the CPU are
kept and used again. What is left in build/pytorch-tests: FILE.PART.cpu.xml and .cuda.xml with the outcomes,
.log with the output, .json with the comparison. Ends with 1 if a test fails only on virtual devices and
known.toml does not say why.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [
    str(HERE / "common"),
    str(ROOT / "tests/suites/common"),
    str(ROOT / "tests/plugins"),
]

import pytorch_outcomes  # noqa: E402
import pytorch_page  # noqa: E402
import suite_outcomes  # noqa: E402
from bounded_run import run_bounded  # noqa: E402

ENVIRONMENT = ROOT / "build" / "suites"  # the suites' packages are those that PyTorch's tests need
RESULTS = ROOT / "build" / "pytorch-tests"
GIT_VERSION = "import torch; print(torch.__version__, torch.version.git_version)"


class RunError(Exception):
    """Something a person has to look at; the message says what."""


@dataclass(frozen=True)
class File:
    """One file of files.toml."""

    name: str
    parts: int  # 1/parts of its tests are run
    devices: str = "cuda:1"
    memory: str = "4GiB"
    deselected: dict[str, str] = field(default_factory=dict)  # test: reason
    seconds: int = 1200  # of one run
    seconds_of_test: int = 100

    def results(self, part: int, kind: str) -> Path:
        stem = self.name.removesuffix(".py").replace("/", ".")
        return RESULTS / f"{stem}.{part % self.parts}of{self.parts}.{kind}"


def load(path: Path = HERE / "files.toml") -> list[File]:
    return [File(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["file"]]


def pytest_words(file: File, side: str, part: int, jobs: int) -> list[str]:
    settings = RESULTS / "pytest.ini"
    settings.write_text("[pytest]\n")
    junit = file.results(part, f"{side}.xml")
    words = ["-m", "pytest", "-q", "-c", str(settings), "--rootdir", ".", "--noconftest"]
    words += ["-p", "no:cacheprovider", "-p", "sample_of_tests", "-p", "suite_device_use"]
    # pytest's record of log lines fails at tensors that PyTorch's tests log.
    words += ["-p", "names_of_older_tests", "-p", "no:logging"]
    # A worker that ends takes its test with it and no other.
    words += ["-n", str(jobs), f"--timeout={file.seconds_of_test}", f"--junitxml={junit}"]
    for test in file.deselected:
        words += ["--deselect", f"{file.name}::{test}"]
    return [*words, file.name]


def run_side(file: File, side: str, tests: Path, part: int, jobs: int) -> float:
    """Leaves a JUnit file, and returns how long the run took."""
    binaries = ENVIRONMENT / "bin"
    paths = (HERE / "plugin", HERE / "common", ROOT / "tests/suites/plugin")
    env = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTORCH_TESTING_DEVICE_ONLY_FOR": side,
        "TORCHPORT_SAMPLE": f"{part % file.parts}/{file.parts}",
    }
    start = [str(binaries / "python")]
    if side == "cuda":
        start = [str(binaries / "torchport"), "run", "-q", "--devices", file.devices]
        start += ["--memory", file.memory]
    junit = file.results(part, f"{side}.xml")
    junit.unlink(missing_ok=True)
    words = [*start, *pytest_words(file, side, part, jobs)]
    seconds = run_bounded(words, tests, env, file.results(part, f"{side}.log"), file.seconds)
    if not junit.exists():
        raise RunError(f"{file.name}: no results; see {file.results(part, f'{side}.log')}")
    if seconds > file.seconds:
        print(f"{file.name}: not all tests of {side} ran in {file.seconds} s", file=sys.stderr)
    return seconds


def examine(file: File, tests: Path | None, options: argparse.Namespace) -> dict:
    """Runs a file's tests, or takes those of the last run, and leaves what was found."""
    kept = file.results(options.part, "json")
    seconds = json.loads(kept.read_text())["seconds"] if kept.exists() else {}
    sides = [file.results(options.part, f"{side}.xml") for side in ("cpu", "cuda")]
    if tests is not None:
        if not sides[0].exists() or options.again:
            seconds["cpu"] = run_side(file, "cpu", tests, options.part, options.jobs)
        seconds["cuda"] = run_side(file, "cuda", tests, options.part, options.jobs)
    elif not all(side.exists() for side in sides):
        raise RunError(f"{file.name}: there is no last run of part {options.part}")
    known = suite_outcomes.load_known(HERE / "known.toml")
    outcomes = [suite_outcomes.read_junit(side) for side in sides]
    found = pytorch_outcomes.compare(file.name, *outcomes, known)
    facts = {"name": file.name, "part": options.part % file.parts, "parts": file.parts}
    entry = facts | {"seconds": seconds, "found": asdict(found)}
    kept.write_text(json.dumps(entry, indent=1))
    return entry


def tell(entry: dict) -> None:
    found = entry["found"]
    words = []
    for name, key in (("pass on the CPU", "on_cpu"), ("only CUDA has", "only_cuda")):
        group = found[key]
        counts = ", ".join(
            f"{len(group[kind])} {kind}" for kind in ("failed", "known", "refused") if group[kind]
        )
        words.append(
            f"{name}: {group['passed']} passed, {group['skipped']} skipped"
            f"{', ' if counts else ''}{counts}"
        )
    fail, mended = len(found["fail_on_both"]), len(found["mended"])
    print(f"{entry['name']}: {'; '.join(words)}; {fail} fail on both, {mended} on the CPU only")
    failures = found["on_cpu"]["failed"] | found["only_cuda"]["failed"]
    for cause, tests in pytorch_outcomes.by_cause(failures):
        print(f"  {len(tests):4} {cause[:170]}\n       {tests[0]}")
    sys.stdout.flush()


def folder_of_tests(checkout: Path) -> Path:
    tests = checkout / "test"
    if not (tests / "test_torch.py").is_file():
        raise RunError(
            f"{checkout} holds no test/test_torch.py. Give a folder with PyTorch's sources "
            "(docs/pytorch-tests.md says how to get those of the installed release)."
        )
    return tests


def say_releases(checkout: Path) -> None:
    """Tells if the tests are not those of the installed torch: some then ask for what it lacks."""
    command = [str(ENVIRONMENT / "bin/python"), "-c", GIT_VERSION]
    installed, commit = subprocess.check_output(command, text=True).split()
    version = (checkout / "version.txt").read_text().strip()
    same = re.match(r"\d+\.\d+", version)[0] == re.match(r"\d+\.\d+", installed)[0]
    if not same:
        print(
            f"run.py: tests of {version}, torch {installed} (its commit: {commit})", file=sys.stderr
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, nargs="?", help="a folder with PyTorch's sources")
    parser.add_argument("--only", nargs="+", metavar="FILE", help="such as test_torch.py")
    parser.add_argument("--part", type=int, default=0, help="another part of the same size")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="run the tests of the CPU again, too")
    parser.add_argument("--compare", action="store_true", help="only compare the last runs")
    parser.add_argument("--page", action="store_true", help="write docs/pytorch-tests.md's tables")
    options = parser.parse_args(arguments)
    files = load()
    unknown = set(options.only or ()) - {file.name for file in files}
    if unknown:
        parser.error(f"files.toml has no {', '.join(sorted(unknown))}")
    if not options.compare and options.checkout is None:
        parser.error("give a folder with PyTorch's sources, or --compare")
    RESULTS.mkdir(parents=True, exist_ok=True)
    bad, entries = False, []
    try:
        tests = None if options.compare else folder_of_tests(options.checkout)
        if tests is not None:
            say_releases(options.checkout)
    except RunError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    for file in files:
        if options.only and file.name not in options.only:
            continue
        try:
            entries.append(examine(file, tests, options))
        except RunError as error:
            print(f"run.py: {error}", file=sys.stderr)
            bad = True
            continue
        tell(entries[-1])
        found = entries[-1]["found"]
        bad = bad or bool(found["on_cpu"]["failed"] or found["only_cuda"]["failed"])
    for line in pytorch_page.sums(entries):
        print(line)
    if options.page:
        pytorch_page.write(ROOT / "docs" / "pytorch-tests.md", entries)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
