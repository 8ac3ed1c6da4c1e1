"""What a suite's tests did in two runs, without torchport and with it, and what that says."""

from __future__ import annotations

import fnmatch
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

# The worst comes last: a test with several entries (a call and its teardown) counts as the worst of them.
ORDER = ("skipped", "passed", "failed")
# Whose fault a failure is that appears only with torchport.
CAUSES = {
    "torchport": "torchport differs from a real device",
    "device": "a real device would give the same",
    "host": "something that the machine lacks: a compiler, a network, a library",
}


@dataclass(frozen=True)
class Outcome:
    """What became of one test in one run."""

    state: str
    message: str = ""
    on_device: bool = False


@dataclass(frozen=True)
class Known:
    """Failures whose cause is known: those of a suite whose names match, and whose message has the words."""

    suite: str
    tests: str
    cause: str
    reason: str
    message: str = ""

    def fits(self, suite: str, test: str, message: str) -> bool:
        named = suite == self.suite and fnmatch.fnmatchcase(test, self.tests)
        return named and self.message in message


@dataclass
class Comparison:
    """The tests of a suite by what the two runs say of them."""

    tests: int = 0
    on_device: int = 0
    skipped: int = 0  # without torchport: skipped, or not even collected
    now_passed: list[str] = field(default_factory=list)
    now_failed: list[str] = field(default_factory=list)
    still_skipped: int = 0
    mended: list[str] = field(default_factory=list)  # fail without torchport, pass with it
    broken: list[str] = field(default_factory=list)  # pass without torchport, fail with it
    lost: list[str] = field(default_factory=list)  # pass without torchport, do not run with it
    fail_in_both: int = 0
    explained: dict[str, list[str]] = field(default_factory=dict)  # reason: tests
    causes: dict[str, int] = field(default_factory=dict)
    unexplained: dict[str, str] = field(default_factory=dict)  # test: message


def read_junit(path: Path) -> dict[str, Outcome]:
    """The outcome of each test of a JUnit file, by its class and its name."""
    found: dict[str, Outcome] = {}
    for case in ElementTree.parse(path).iter("testcase"):
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        outcome = _outcome(case)
        before = found.get(name)
        if before is None or ORDER.index(outcome.state) > ORDER.index(before.state):
            found[name] = outcome
    return found


def _outcome(case: ElementTree.Element) -> Outcome:
    on_device = any(
        (entry.get("name"), entry.get("value")) == ("device", "cuda")
        for entry in case.iter("property")
    )
    for kind in ("failure", "error"):
        problem = case.find(kind)
        if problem is not None:
            message = f"{problem.get('message') or ''}\n{problem.text or ''}"
            return Outcome("failed", message, on_device)
    skipped = case.find("skipped")
    # A test that is expected to fail and does so was run.
    if skipped is not None and skipped.get("type") != "pytest.xfail":
        return Outcome("skipped", skipped.get("message") or "", on_device)
    return Outcome("passed", on_device=on_device)


def load_known(path: Path) -> list[Known]:
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("failure", [])
    known = [Known(**entry) for entry in entries]
    for entry in known:
        if entry.cause not in CAUSES:
            raise ValueError(f"{path.name}: no such cause: {entry.cause!r}")
    return known


def compare(
    suite: str, without: dict[str, Outcome], with_it: dict[str, Outcome], known: list[Known]
) -> Comparison:
    """Compares the two runs of a suite, test by test."""
    result = Comparison(tests=len(without.keys() | with_it.keys()))
    result.on_device = sum(x.on_device and x.state == "passed" for x in with_it.values())
    causes: Counter[str] = Counter()
    for test in sorted(without.keys() | with_it.keys()):
        before = without.get(test, Outcome("skipped")).state
        after = with_it.get(test, Outcome("skipped")).state
        result.skipped += before == "skipped"
        match before, after:
            case "skipped", "passed":
                result.now_passed.append(test)
            case "skipped", "skipped":
                result.still_skipped += 1
            case "failed", "passed":
                result.mended.append(test)
            case "passed", "skipped":
                result.lost.append(test)
            case "failed", "failed":
                result.fail_in_both += 1
            case (("skipped" | "passed"), "failed"):
                kept = result.now_failed if before == "skipped" else result.broken
                kept.append(test)
                message = with_it[test].message
                entry = next((k for k in known if k.fits(suite, test, message)), None)
                if entry is None:
                    result.unexplained[test] = message
                else:
                    causes[entry.cause] += 1
                    result.explained.setdefault(entry.reason, []).append(test)
    result.causes = dict(causes)
    return result
