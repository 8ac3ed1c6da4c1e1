"""Root folders of Debian releases, made by debootstrap from the mirror that apt uses."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# The environment of each command, here and in a root, so that both can give the same answer.
ENVIRONMENT = ["PATH=/usr/bin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"]

# In a mount namespace of its own, so that no mount is left behind, even if this is killed.
ENTER = """
set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
  mkdir -p "$root/$2"; mount --bind "$1" "$root/$2"; shift 2
done
shift
exec chroot "$root" "$@"
"""


@dataclass(frozen=True)
class System:
    """A place where commands run: this machine, or a root.

    Attributes:
        name: The release, or "here".
        root: The root folder; None for this machine.
        base: The folder of the test, as the system's own programs see it.
        mounts: What a root shows of this machine: pairs of a folder here and a folder in the root.
    """

    name: str
    root: Path | None
    base: str
    mounts: tuple[tuple[Path, str], ...] = ()

    @property
    def outside(self) -> Path:
        """The folder of the test as this machine sees it."""
        return Path(self.base) if self.root is None else self.root / self.base.lstrip("/")

    def run(self, words: list[str], folder: str = "") -> tuple[int, str, str]:
        """Runs a command in `folder` below the test's own: its exit code, output and errors."""
        inside = ["env", "-i", "-C", f"{self.base}/{folder}", *ENVIRONMENT]
        inside += [f"TORCHPORT_CACHE_DIR={self.base}/cache", *words]
        command = inside
        if self.root is not None:
            shown = [str(word) for pair in self.mounts for word in pair]
            command = ["unshare", "--mount", "sh", "-c", ENTER, "sh", str(self.root)]
            command += [*shown, "--", *inside]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def must(self, words: list[str], folder: str = "") -> str:
        """Runs a command that prepares something; its output."""
        code, output, errors = self.run(words, folder)
        if code != 0:
            sys.exit(f"{self.name}: {' '.join(words)} ended with {code}\n{output}{errors}")
        return output


def mirror() -> str:
    command = ["apt-get", "indextargets", "--format", "$(SITE)"]
    command += ["Created-By: Packages", "Origin: Debian"]
    sites = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if not sites:
        sys.exit("apt knows no mirror of Debian: apt-get update")
    return sites[0]


# No compiler: what is installed must not need one.
PACKAGES = ("python3", "python3-venv")


def make(release: str, folder: Path, packages: tuple[str, ...] = PACKAGES) -> bool:
    """Makes the root once, with `packages` beside the smallest system. Returns whether the mirror has
    this release."""
    done = folder / "root-is-complete"
    if done.exists():
        return True
    site = mirror()
    index = ["curl", "-sfI", "-m", "30", f"{site}/dists/{release}/Release"]
    if subprocess.run(index, capture_output=True, check=False).returncode != 0:
        return False
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}"]
    command += [release, str(folder), site]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(f"debootstrap {release}: {made.stdout[-2000:]}{made.stderr[-2000:]}")
    done.touch()
    return True
