"""The lines of doctor that install a distribution's packages: apt of this distribution knows them all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from recorded_hosts import FOLDER, overlaid, tomllib

BASES = tomllib.loads((FOLDER / "bases.toml").read_text())
# What a torch may lack that is a package of the system.
LACKING = ["libgomp.so.1", "libnuma.so.1", "libstdc++.so.6", "libgcc_s.so.1", "libze_loader.so.1"]


def this_release() -> str:
    text = Path("/etc/os-release").read_text()
    return re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.MULTILINE)[1]


def remedies(torchport, base: str, change: dict) -> str:
    facts = overlaid(BASES[base], change)
    facts["nodes"] = [
        {"path": path, "readable": True, "group": "root"} for path in facts.get("nodes", [])
    ]
    torchport.write("host.json", json.dumps({"facts": facts}))
    verdict = json.loads(torchport("doctor", "--json", "--from", "host.json").stdout)
    assert verdict["findings"]
    return " ".join(finding["remedy"] for finding in verdict["findings"])


def packages_of_apt(text: str) -> list[str]:
    found = []
    for line in re.findall(r"\bapt(?:-get)? install (?:-y )?([^;:(,]+)", text):
        found += re.findall(r"[a-z0-9][a-z0-9.+-]+", line)
    return found


@pytest.mark.skipif(
    not shutil.which("apt-get") or "Debian" not in this_release(), reason="not Debian"
)
@pytest.mark.parametrize("what", [*LACKING, "no level zero"])
def test_apt_has_what_a_line_for_this_debian_names(torchport, what: str) -> None:
    if what == "no level zero":
        text = remedies(torchport, "intel", {"release": this_release(), "level_zero": ""})
        # Debian before 13 has the loader without a driver: no line, and where the packages are.
        assert "libze-intel-gpu1" in text or "compute-runtime/releases" in text
    else:
        change = {"release": this_release(), "torches": {"0": {"lacks": [what]}}}
        text = remedies(torchport, "bare", change)
        assert packages_of_apt(text)
    for name in packages_of_apt(text):
        run = subprocess.run(["apt-cache", "policy", name], capture_output=True, text=True)
        assert "Candidate:" in run.stdout, f"apt does not know {name}"
        assert "Candidate: (none)" not in run.stdout, f"apt cannot install {name}"


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("Ubuntu 24.04.2 LTS", "sudo apt install libze1 libze-intel-gpu1 (if apt does not find"),
        ("Debian GNU/Linux 13 (trixie)", "sudo apt install libze1 libze-intel-gpu1"),
        ("Debian GNU/Linux 12 (bookworm)", "github.com/intel/compute-runtime/releases"),
        ("Fedora Linux 42 (Workstation)", "sudo dnf install oneapi-level-zero intel-level-zero"),
        ("Arch Linux", "sudo pacman -S level-zero-loader intel-compute-runtime"),
        ("openSUSE Tumbleweed", "dgpu-docs.intel.com"),
    ],
)
def test_level_zero_is_installed_as_the_distribution_has_it(torchport, release, words) -> None:
    assert words in remedies(torchport, "intel", {"release": release, "level_zero": ""})
