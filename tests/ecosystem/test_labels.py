"""How many findings and fixes are right, and how many ties are missed, on real code read by hand.

labels.jsonl holds one judgement a line, of kind `finding` or `fix` (a seeded sample over all rules)
or `missed` or `rightly-silent` (a sample of what grep finds and torchport does not report). This
test runs torchport again and recomputes the figures of docs/precision.md from the labels that
still apply: a wrong finding that is gone was mended, a right one that is gone is lost recall.

The small set is part of `make test`; TORCHPORT_ECOSYSTEM=all takes every label, and
TORCHPORT_ECOSYSTEM=draws those of draws/: samples of packages that no rule had been written from when
they were read. `pytest -s` prints the figures.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
WHOLE = os.environ.get("TORCHPORT_ECOSYSTEM") == "all"
DRAWN = os.environ.get("TORCHPORT_ECOSYSTEM") == "draws"
OWN = "research" if WHOLE else "small"  # the set of labels.jsonl
PRECISION = 0.95
LOST = 0.02
RECALL = 0.95
DRAWS = ("unread", "later", "last", "fourth", "kept", "fifth", "sealed", "sixth", "closed")
# What was read last: its errors are the next to be mended.
UNMENDED = {"kept", "fifth", "sealed", "sixth", "closed"}
MENDED = 0.8
LOST_OF_DRAWS = 0.05
# How many labels must still apply: findings, fixes.
ENOUGH = (200, 100) if WHOLE else (15, 10)
GREPS = {
    "cuda-call": re.compile(r"\.cuda\("),
    "cuda-literal": re.compile(r"""["']cuda(:\d+|:\{\w*\}|:)?["']"""),
}


@functools.cache
def packages(chosen: str = OWN) -> dict[str, Path]:
    words = [sys.executable, HERE / "fetch.py", "--set", chosen, "--paths"]
    listing = subprocess.run(words, check=True, capture_output=True, text=True)
    return {Path(line).name: Path(line) for line in listing.stdout.splitlines() if line}


@functools.cache
def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


@functools.cache
def findings(chosen: str = OWN) -> dict[str, list[dict]]:
    words = [TORCHPORT, "check", "--no-cache", "--no-gitignore"]
    if chosen == OWN:
        # These labels judge findings one by one, so those of kernels are listed too.
        words += ["--extend-select", "hygiene", "--ignore", "TP803"]
    words += ["--format", "json", "."]
    found = {}
    for name, folder in packages(chosen).items():
        run = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert run.returncode in (0, 1), run.stderr
        found[name] = json.loads(run.stdout)["findings"]
        for finding in found[name]:
            source = lines_of(folder / finding["path"])
            finding["snippet"] = source[finding["line"] - 1].strip()
    return found


@functools.cache
def labels(chosen: str = OWN) -> list[dict]:
    file = HERE / "labels.jsonl" if chosen == OWN else HERE / "draws" / f"{chosen}.jsonl"
    known = packages(chosen)
    lines = file.read_text(encoding="utf-8").splitlines()
    return [label for label in map(json.loads, lines) if label["package"] in known]


def applying(kind: str, chosen: str = OWN) -> tuple[list[dict], list[dict]]:
    """The labels of a kind that match what is reported, and those that do not.

    Lines move; what matches is the package, the path, the rule and the text of the line (and for
    fixes the tier), each finding once, the one on the label's own line before others.
    """
    pool = defaultdict(list)
    for name, found in findings(chosen).items():
        for finding in found:
            tier = (finding["fix"] or {}).get("applicability") if kind == "fix" else None
            key = (name, finding["path"], finding["code"], finding["snippet"], tier)
            pool[key].append(finding["line"])
    here, gone = [], []
    for label in labels(chosen):
        if label["kind"] != kind:
            continue
        key = tuple(label[part] for part in ("package", "path", "code", "snippet"))
        lines = pool[(*key, label.get("applicability"))]
        if not lines:
            gone.append(label)
            continue
        lines.remove(min(lines, key=lambda line: abs(line - label["line"])))
        here.append(label)
    return here, gone


def table(here: list[dict]) -> str:
    right = Counter(label["code"] for label in here if label["verdict"] == "right")
    rows = (
        f"  {code}  {right[code]:3} of {count:3}"
        for code, count in Counter(x["code"] for x in here).items()
    )
    return "\n".join(sorted(rows))


@pytest.mark.parametrize(("kind", "enough"), [("finding", ENOUGH[0]), ("fix", ENOUGH[1])])
def test_what_is_reported_is_right(kind: str, enough: int) -> None:
    here, gone = applying(kind)
    right = sum(label["verdict"] == "right" for label in here)
    lost = [label for label in gone if label["verdict"] == "right"]
    share = right / max(len(here), 1)
    print(f"\n{kind}: {right} of {len(here)} right ({share:.1%})")
    print(
        f"  {len(gone) - len(lost)} wrong ones mended, {len(lost)} right ones lost\n{table(here)}"
    )
    assert len(here) >= enough
    assert right / len(here) >= PRECISION, [x for x in here if x["verdict"] == "wrong"]
    assert len(lost) <= LOST * (right + len(lost)), lost


@pytest.mark.skipif(not DRAWN, reason="make test-draws")
@pytest.mark.parametrize("chosen", DRAWS)
def test_what_a_draw_showed_wrong_is_mended(chosen: str) -> None:
    for kind in ("finding", "fix"):
        here, gone = applying(kind, chosen)
        sample = here + gone
        if not sample:
            continue
        first = sum(label["verdict"] == "right" for label in sample)
        right = sum(label["verdict"] == "right" for label in here)
        lost = [label for label in gone if label["verdict"] == "right"]
        print(f"\n{chosen}: {kind}: when read {first} of {len(sample)} right; today {right} of "
              f"{len(here)}, {len(lost)} right ones lost")  # fmt: skip
        if chosen not in UNMENDED:
            assert right / len(here) >= MENDED, [x for x in here if x["verdict"] == "wrong"]
        assert len(lost) <= LOST_OF_DRAWS * first, lost


def reported_lines() -> set[tuple[str, str, int]]:
    return {
        (name, finding["path"], line)
        for name, found in findings().items()
        for finding in found
        for line in range(finding["line"], finding["end_line"] + 1)
    }


def hits(pattern: re.Pattern) -> list[tuple[str, str, int]]:
    found = []
    for name, folder in packages().items():
        for path in sorted(folder.rglob("*.py")):
            if path.is_file():
                where = str(path.relative_to(folder))
                source = enumerate(lines_of(path), 1)
                found += [(name, where, n) for n, line in source if pattern.search(line)]
    return found


@pytest.mark.skipif(not WHOLE, reason="the samples of what is left silent are over all packages")
@pytest.mark.parametrize("grep", GREPS)
def test_what_grep_finds_is_reported_or_rightly_left(grep: str) -> None:
    reported = reported_lines()
    found = hits(GREPS[grep])
    silent = sum(hit not in reported for hit in found)
    texts = {
        (name, path, lines_of(packages()[name] / path)[n - 1].strip()) for name, path, n in reported
    }
    sample = [label for label in labels() if label.get("grep") == grep]
    still = [x for x in sample if (x["package"], x["path"], x["snippet"]) not in texts]
    missed = sum(x["kind"] == "missed" for x in still)
    ours = len(found) - silent
    # What is reported counts as right at the least precision that the other test lets pass.
    recall = PRECISION * ours / (PRECISION * ours + silent * missed / len(still))
    print(f"\n{grep}: grep finds {len(found)}, {ours} are reported; of {len(still)} of the others "
          f"{missed} should be: recall {recall:.1%}")  # fmt: skip
    assert len(still) >= 50
    assert recall >= RECALL, [x for x in still if x["kind"] == "missed"]
