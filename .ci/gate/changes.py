"""Which files differ from what passed the gate before."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gate import passed


@dataclass
class Changes:
    """The paths that differ, or the reason why this is not known."""

    paths: list[str] = field(default_factory=list)
    unknown: str = ""


def git(root: Path, *words: str) -> str | None:
    """What git prints; None where it fails."""
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def base_of(environment: Mapping[str, str]) -> str:
    """The commit that passed before, as the person or the service that runs the gate names it, or the gate
    itself when it passed on this machine. A branch that lies about is not believed: nobody knows whether it
    passed."""
    if base := environment.get("TORCHPORT_GATE_BASE"):
        return base
    if base := environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"):  # GitLab
        return base
    if branch := environment.get("GITHUB_BASE_REF"):  # GitHub, for a pull request
        return f"origin/{branch}"
    return passed.last(environment)


def changes(root: Path, environment: Mapping[str, str]) -> Changes:
    """The files that differ between the base and the folder, new files that git does not know included.

    Trees are compared, not histories: whatever differs from what passed can be broken.
    """
    if environment.get("TORCHPORT_GATE") == "all":
        return Changes(unknown="TORCHPORT_GATE=all")
    base = base_of(environment)
    if not base:
        return Changes(
            unknown="nothing says which commit passed before (TORCHPORT_GATE_BASE=COMMIT)"
        )
    commit = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    if commit is None:
        return Changes(unknown=f"the commit {base}, which passed before, is not in this clone")
    # Without renames a moved file is one that has gone and one that is new; both count.
    differ = git(root, "diff", "--name-only", "--no-renames", "-z", commit.strip())
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    if differ is None or new is None:
        return Changes(unknown=f"git cannot compare this folder with {base}")
    return Changes(sorted({path for path in (differ + new).split("\0") if path}))


def note_pass(root: Path, environment: Mapping[str, str]) -> str:
    """Keeps that the folder's commit has passed, unless the folder differs from it. Says what it did."""
    commit = git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    differ = git(root, "status", "--porcelain")
    if commit is None or differ is None or differ.strip():
        return "the folder is no commit, so that nothing is kept of this pass"
    try:
        passed.note(environment, commit.strip())
    except OSError as error:
        return f"nothing is kept of this pass: {error}"
    return f"the next run here compares with {commit.strip()[:8]}; all runs with TORCHPORT_GATE=all"
