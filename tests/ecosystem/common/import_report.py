"""What became of a package's modules, as a row of figures, and the sums of all rows."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import import_trees
from import_compare import Comparison
from import_plan import Plan

# What is counted over the files that a fix changed.
AFTER = (
    "imported before",
    "imported after",
    "imported only after",
    "scripted before",
    "scripted after",
    "users scripted before",
    "users scripted after",
)


def reasons(plan: Plan, changed: set[str]) -> dict[str, str]:
    return {file: answer["error"] for file, answer in plan.failed.items() if file in changed}


def row_of(name: str, plan: Plan, comparisons: dict[str, Comparison], files: int) -> dict[str, Any]:
    variants = {}
    for variant, result in comparisons.items():
        existing = {file for file in result.changed if file in plan.imported or file in plan.failed}
        variants[variant] = {
            "changed": len(existing),
            "imported before": len(existing & plan.imported),
            "imported after": len(existing & result.imported),
            "imported only after": len(result.mended),
            "scripted before": result.scripted_before,
            "scripted after": result.scripted,
            "users scripted before": result.users_before,
            "users scripted after": result.users,
            "dropped imports": result.dropped_imports,
            "breaks": [vars(broken) for broken in result.breaks],
        }
    changed = set().union(*(result.changed for result in comparisons.values()))
    return {
        "package": name,
        "modules": files,
        "imported": len(plan.imported),
        "stubs": len(plan.stubs),
        "variants": variants,
        "not imported": reasons(plan, changed),
    }


def print_row(row: dict[str, Any], seconds: float) -> None:
    parts = [
        f"{name}: {v['imported after']}/{v['imported before']} of {v['changed']} changed, "
        f"{v['scripted after']}/{v['scripted before']} scripted, {len(v['breaks'])} broken"
        for name, v in row["variants"].items()
    ]
    head = f"{row['package']}: {row['imported']} of {row['modules']} modules"
    print(f"{head} ({seconds:.0f} s); {'; '.join(parts)}", flush=True)


def print_breaks(rows: list[dict[str, Any]]) -> int:
    count = 0
    for row in rows:
        for name, variant in row["variants"].items():
            for broken in variant["breaks"]:
                count += 1
                print(f"\n{row['package']}/{broken['file']} ({name} fixes): {broken['what']}")
                print(*filter(None, (broken["place"], broken["hunks"])), sep="\n")
    return count


def total(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The sums of all rows, by variant, and how often a changed file failed before, by error."""
    sums = {"all": {key: sum(row[key] for row in rows) for key in ("modules", "imported")}}
    for name in import_trees.VARIANTS:
        counts = [row["variants"][name] for row in rows]
        sums[name] = {
            key: sum(count[key] for count in counts)
            for key in ("changed", *AFTER, "dropped imports")
        }
        sums[name]["broken"] = sum(len(count["breaks"]) for count in counts)
    errors = [error for row in rows for error in row["not imported"].values()]
    kinds = Counter(re.split(r"[:(]", error)[0] for error in errors)
    return sums | {"changed but not imported before": dict(kinds.most_common())}


def print_total(rows: list[dict[str, Any]]) -> None:
    print(f"\n{len(rows)} packages")
    for name, counts in total(rows).items():
        print(f"{name}: " + ", ".join(f"{count} {key}" for key, count in counts.items()))
