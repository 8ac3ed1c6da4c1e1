"""Prints the release of torch whose libraries it is the turn of: `make runtime-in-turn`.

    release_in_turn.py [RELEASE]

To compile for every release takes too long for each change, and what is compiled only now and then breaks
unseen. So each state of the sources has one release beside the checkout's own: the number of its commits,
divided by how many releases there are, leaves a rest that counts from the oldest. The same commit always
has the same release, and as many commits in a row as there are releases have all of them. Without the
whole history, as in a shallow clone, the day counts. RELEASE chooses one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time

import fetch_torch
from fetch_torch import ROOT


def own_release() -> str:
    """The release that the checkout itself is compiled for."""
    found = re.search(r"^torch==([\d.]+)", (ROOT / "deps/torch.txt").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def git(*words: str) -> str:
    """What git says; empty if it cannot."""
    command = ["git", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def count() -> tuple[int, str]:
    """What the turn is counted by, and what it is."""
    if git("rev-parse", "--is-shallow-repository") == "false":
        commits = git("rev-list", "--count", "HEAD")
        return int(commits), f"{commits} commits"
    days = int(time.time()) // 86400
    return days, f"day {days}, because git has not the whole history here"


def in_turn(releases: list[str], number: int) -> str:
    return releases[number % len(releases)]


def main() -> int:
    releases = [one for one in fetch_torch.releases() if one != own_release()]
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    if chosen:
        if chosen not in fetch_torch.releases():
            print(
                f"release_in_turn.py: {chosen} is not among {', '.join(fetch_torch.releases())}",
                file=sys.stderr,
            )
            return 1
        print(f"== torch {chosen}, as chosen", file=sys.stderr)
        print(chosen)
        return 0
    number, reason = count()
    release = in_turn(releases, number)
    print(f"== torch {release}: {number % len(releases)} is the rest of {reason} by {len(releases)}; "
          "TURN=RELEASE chooses another", file=sys.stderr)  # fmt: skip
    print(release)
    return 0


if __name__ == "__main__":
    sys.exit(main())
