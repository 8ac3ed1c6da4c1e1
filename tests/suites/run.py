#!/usr/bin/env python3
"""Runs the test suites of real packages twice: on the CPU, and on virtual CUDA devices.

    run.py [--only NAME...] [--jobs N] [--page] [--compare]

The suites and what is run of them are in suites.toml, the failures whose cause is known in known.toml. The
results are left in build/suites/results, one file for each suite. --page writes the tables of
docs/suites.md and of the README from all of them. --compare runs nothing and compares the last runs again.
Ends with 1 if a test fails only with torchport and known.toml does not say why.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE / "common"), str(ROOT / "tests" / "ecosystem")]

import fetch  # noqa: E402
import suite_outcomes  # noqa: E402
import suite_page  # noqa: E402
from bounded_run import run_bounded  # noqa: E402

ENVIRONMENT = ROOT / "build" / "suites"
SOURCES = ENVIRONMENT / "sources"
RESULTS = ENVIRONMENT / "results"
# What pytest reads its settings from, with the words that show that it does.
SETTINGS = {
    "pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}


@dataclass(frozen=True)
class Suite:
    """One package of suites.toml."""

    name: str
    version: str
    file: str
    sha256: str
    part: str  # what is run, in words
    tests: list[str]
    folder: str = "."  # where it is run, below the unpacked files
    devices: str = "cuda:1"
    memory: str = "4GiB"  # of a device: some tests take all of it, and it is host memory
    env: dict[str, str] = field(default_factory=dict)
    alone: bool = False  # its tests share a port or a folder
    standins: str = ""  # a folder of the checkout with modules that no CPU-only build has
    options: list[str] = field(default_factory=list)  # further words for pytest
    deselected: dict[str, str] = field(default_factory=dict)  # test: reason
    seconds: int = 900  # of one run
    seconds_of_test: int = 120

    @property
    def package(self) -> fetch.Package:
        return fetch.Package(self.name, self.version, self.file, self.sha256, ())


def load(path: Path = HERE / "suites.toml") -> list[Suite]:
    return [Suite(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["suite"]]


def settings_file(folder: Path) -> Path:
    """The suite's own settings for pytest, or an empty file: else pytest takes those of the checkout."""
    for name, words in SETTINGS.items():
        with contextlib.suppress(OSError):
            if words in (folder / name).read_text(encoding="utf-8"):
                return folder / name
    empty = folder / "pytest.ini"
    empty.write_text("[pytest]\n")
    return empty


def pytest_words(suite: Suite, folder: Path, junit: Path, jobs: int) -> list[str]:
    words = ["-m", "pytest", "-q", "-c", str(settings_file(folder)), "--rootdir", str(folder)]
    words += ["-p", "no:cacheprovider", "-p", "suite_device_use", "-o", "addopts="]
    # A worker that ends takes its test with it and no other.
    words += [
        "-n",
        "1" if suite.alone else str(jobs),
        f"--timeout={suite.seconds_of_test}",
        f"--junitxml={junit}",
    ]
    for test in suite.deselected:
        words += ["--deselect", test]
    return words + suite.options + suite.tests


def run_both(suite: Suite, jobs: int) -> dict[str, float]:
    """Leaves a JUnit file of each run, and returns how long each took."""
    folder = SOURCES / suite.package.folder / suite.file.removesuffix(".tar.gz") / suite.folder
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    # No suite may depend on a network: what asks for one fails at once, and in both runs.
    paths = [HERE / "plugin", *([ROOT / suite.standins] if suite.standins else [])]
    binaries = ENVIRONMENT / "bin"
    env |= {"HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(map(str, paths))} | suite.env
    env["PATH"] = f"{binaries}{os.pathsep}{env['PATH']}"  # a test may start "python"
    starts = {
        "without": [str(binaries / "python")],
        "with": [str(binaries / "torchport"), "run", "-q", "--devices", suite.devices],
    }
    starts["with"] += ["--memory", suite.memory]
    RESULTS.mkdir(parents=True, exist_ok=True)
    seconds = {}
    for side, start in starts.items():
        junit, log = (RESULTS / f"{suite.name}.{side}.{kind}" for kind in ("xml", "log"))
        junit.unlink(missing_ok=True)
        words = [*start, *pytest_words(suite, folder, junit, jobs)]
        seconds[side] = run_bounded(words, folder, env, log, suite.seconds)
        if not junit.exists():
            raise fetch.FetchError(f"{suite.name}: the run {side} torchport left no results: {log}")
        if seconds[side] > suite.seconds:
            raise fetch.FetchError(f"{suite.name}: the run {side} torchport took too long: {log}")
        print(f"{suite.name} {side} torchport: {seconds[side]:.0f} s", flush=True)
    return seconds


def result(suite: Suite, seconds: dict[str, float]) -> dict:
    """What is known of a suite after its runs."""
    sides = [
        suite_outcomes.read_junit(RESULTS / f"{suite.name}.{s}.xml") for s in ("without", "with")
    ]
    known = suite_outcomes.load_known(HERE / "known.toml")
    found = suite_outcomes.compare(suite.name, *sides, known)
    facts = {key: getattr(suite, key) for key in ("name", "version", "part", "devices")}
    return facts | {"seconds": seconds, "found": asdict(found)}


def write_pages(suites: list[Suite]) -> None:
    files = [RESULTS / f"{suite.name}.json" for suite in suites]
    entries = [json.loads(file.read_text()) for file in files if file.exists()]
    for name, lines in (
        ("docs/suites.md", suite_page.page(entries)),
        ("README.md", suite_page.short(entries)),
    ):
        page = ROOT / name
        page.write_text(suite_page.put_between_marks(page.read_text(encoding="utf-8"), lines))


def tell(entry: dict) -> None:
    found = entry["found"]
    print(
        f"{entry['name']}: {found['skipped']} skipped without torchport, of which "
        f"{len(found['now_passed'])} pass and {len(found['now_failed'])} fail with it; "
        f"{len(found['mended'])} fail without torchport and pass with it, "
        f"{len(found['broken'])} the other way; {found['fail_in_both']} fail in both"
    )
    for test, message in found["unexplained"].items():
        first = re.sub(r"\s+", " ", message)[:200]
        print(f"  not explained: {test}: {first}")


def examine(suite: Suite, options: argparse.Namespace) -> dict:
    """Runs a suite, or takes its last runs, and leaves what was found."""
    file = RESULTS / f"{suite.name}.json"
    if not options.compare:
        fetch.fetch([suite.package], SOURCES, wanted=lambda path: True)
        seconds = run_both(suite, options.jobs)
    elif file.exists():
        seconds = json.loads(file.read_text())["seconds"]
    else:
        raise fetch.FetchError(f"{suite.name}: there are no last runs")
    entry = result(suite, seconds)
    file.write_text(json.dumps(entry, indent=1))
    return entry


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--page",
        action="store_true",
        default=bool(os.environ.get("TORCHPORT_UPDATE")),
        help="write the tables of the pages, as TORCHPORT_UPDATE=1 does",
    )
    parser.add_argument("--compare", action="store_true", help="only compare the last runs")
    options = parser.parse_args(arguments)
    suites = load()
    chosen = [s for s in suites if not options.only or s.name in options.only]
    bad = False
    for suite in chosen:
        try:
            entry = examine(suite, options)
        except fetch.FetchError as error:
            print(f"run.py: {error}", file=sys.stderr)
            bad = True
            continue
        tell(entry)
        bad = bad or bool(entry["found"]["unexplained"])
    if options.page:
        write_pages(suites)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
