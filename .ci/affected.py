#!/usr/bin/env python3
"""Says which steps of the gate and which tests a change needs, and why.

    .ci/affected.py                    a table for people, with a reason for each step and each test module
    .ci/affected.py --steps FOLDER     the commands that `.ci/run` runs, one a line; what they are limited to
                                       is written into FOLDER, one name a line: unit-tests, thread-tests,
                                       modules, sources
    .ci/affected.py --paths PATH...    the same for these changed paths, without asking git
    .ci/affected.py --passed           keeps that this commit passed here: `.ci/run` says so at its end

The change is what differs from the commit that passed before: TORCHPORT_GATE_BASE names it, or what GitHub
and GitLab say about a pull request, or it is the last one that passed on this machine in the last 7 days
(TORCHPORT_GATE_CACHE, ~/.cache/torchport/gate). Without any, with TORCHPORT_GATE=all, and wherever this script
does not know what a file affects, everything runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from gate.changes import Changes, changes, note_pass
from gate.selection import Selection, Tree, select
from gate.steps import lists, steps

ROOT = Path(__file__).resolve().parent.parent


def files_of(root: Path) -> list[str]:
    """What git tracks or would track, as far as it exists."""
    words = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return sorted({path for path in done.stdout.split("\0") if path and (root / path).is_file()})


def table(tree: Tree, found: Selection) -> str:
    """For people."""
    rows = []
    if found.everything:
        rows.append(f"everything runs: {found.everything}")
    else:
        rows.append(f"{len(found.paths)} files differ from what passed before")
    for step in steps(tree, found, ""):
        rows.append(f"  {'runs' if step.runs else 'not ':5} {step.command:26} {step.why}")
    for path, why in found.modules.items():
        rows.append(f"    {path}: {why}")
    return "\n".join(rows)


def write_lists(tree: Tree, found: Selection, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in lists(tree, found).items():
        (folder / name).write_text("".join(f"{word}\n" for word in words))


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=Path, metavar="FOLDER", help="print commands, write lists")
    parser.add_argument("--paths", nargs="*", metavar="PATH", help="the changed paths")
    parser.add_argument("--passed", action="store_true", help="keep that this commit passed here")
    options = parser.parse_args(words)
    if options.passed:
        print(note_pass(ROOT, os.environ))
        return 0
    changed = changes(ROOT, os.environ) if options.paths is None else Changes(options.paths)
    tree = Tree(ROOT, files_of(ROOT))
    found = select(tree, changed)
    if options.steps is None:
        print(table(tree, found))
        return 0
    write_lists(tree, found, options.steps)
    print(table(tree, found), file=sys.stderr)
    for step in steps(tree, found, str(options.steps)):
        if step.runs:
            print(step.command)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
