"""The recorded hosts of `hosts/*.toml`: how each differs from its base, and the outcome argued for it."""

from __future__ import annotations

import copy
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "hosts"


@dataclass(frozen=True)
class Host:
    name: str
    facts: dict[str, Any]
    expected: dict[str, Any]

    def faults(self, verdict: dict[str, Any]) -> list[str]:
        """What of this verdict is not as argued; empty if it is right."""
        found = []
        if verdict["state"] != self.expected["state"]:
            found.append(f"state {verdict['state']!r}, not {self.expected['state']!r}")
        said = verdict["findings"]
        causes = self.expected["causes"]
        if len(said) != len(causes):
            codes = [finding["code"] for finding in said]
            found.append(f"{len(said)} causes {codes}, not {len(causes)}")
        for cause, finding in zip(causes, said, strict=False):
            for member in ("code", "what", "remedy"):
                if not re.search(cause.get(member, ""), finding[member], re.IGNORECASE | re.DOTALL):
                    found.append(f"{member} {finding[member]!r} lacks {cause[member]!r}")
        words = " ".join([f"{each['what']} {each['remedy']}" for each in said] + verdict["install"])
        never = self.expected.get("never")
        if never and (match := re.search(never, words, re.IGNORECASE)):
            found.append(f"says {match.group()!r}")
        install = self.expected.get("install")
        line = " ".join(verdict["install"])
        if install is not None and not re.search(install or r"\A\Z", line):
            found.append(f"installs {line!r}, not {install!r}")
        return found


def hosts() -> list[Host]:
    bases = tomllib.loads((FOLDER / "bases.toml").read_text())
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        for record in tomllib.loads(path.read_text()).get("host", []):
            base = bases[record["base"]] if record["base"] else {}
            facts = overlaid(base, record.get("facts", {}))
            facts["nodes"] = [node(each) for each in facts.get("nodes", [])]
            found.append(Host(record["name"], facts, record))
    return found


def overlaid(base: Any, change: Any) -> Any:
    """A copy of base with these changes; a table of numbers changes entries of a list."""
    if isinstance(base, list) and isinstance(change, dict):
        changed = copy.deepcopy(base)
        for number, value in change.items():
            changed[int(number)] = overlaid(changed[int(number)], value)
        return changed
    if isinstance(base, dict) and isinstance(change, dict):
        return copy.deepcopy(base) | {
            name: overlaid(base.get(name), value) for name, value in change.items()
        }
    return copy.deepcopy(change)


def node(short: str | dict[str, Any]) -> dict[str, Any]:
    """A device node: "/dev/kfd" may be opened, "!/dev/kfd" may not."""
    if isinstance(short, dict):
        return short
    group = "render" if "/dri/" in short or "kfd" in short else "root"
    return {"path": short.lstrip("!"), "readable": not short.startswith("!"), "group": group}
