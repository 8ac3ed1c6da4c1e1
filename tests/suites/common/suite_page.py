"""docs/suites.md: what the suites of other packages say with CUDA tests switched on."""

from __future__ import annotations

from suite_outcomes import CAUSES

START = "<!-- suites: written by make test-suites -->"
END = "<!-- end of suites -->"
HEADINGS = (
    "suite",
    "tests",
    "skipped without torchport",
    "of these run with it",
    "pass",
    "fail",
    "fail without torchport, pass with it",
    "pass without torchport, fail with it",
    "use the device",
)


def row(entry: dict) -> list:
    found = entry["found"]
    passed, failed = len(found["now_passed"]), len(found["now_failed"])
    name = f"{entry['name']} {entry['version']}"
    counts = (found["tests"], found["skipped"], passed + failed, passed, failed)
    return [name, *counts, len(found["mended"]), len(found["broken"]), found["on_device"]]


def table(entries: list[dict]) -> list[str]:
    """A row for each suite, and one for all."""
    return _with_sums(HEADINGS, [row(entry) for entry in entries])


def _with_sums(headings: tuple[str, ...], rows: list[list]) -> list[str]:
    sums = ["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])]
    lines = [headings, ["---", *(["---:"] * (len(headings) - 1))], *rows, sums]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def causes(entries: list[dict]) -> list[str]:
    """Why tests fail with torchport that do not fail without it."""
    lines = []
    for entry in entries:
        found = entry["found"]
        for reason, tests in sorted(found["explained"].items()):
            lines.append(f"- {entry['name']}, {len(tests)}: {reason}")
        if found["unexplained"]:
            lines.append(f"- {entry['name']}, {len(found['unexplained'])}: not explained yet")
    return lines


def parts(entries: list[dict]) -> list[str]:
    """What was run of each suite, on how many devices, and how long it took."""
    lines = []
    for entry in entries:
        seconds = entry["seconds"]
        lines.append(
            f"- {entry['name']}: {entry['part']}; {entry['devices']}; {seconds['without']:.0f} s "
            f"without torchport, {seconds['with']:.0f} s with it; {entry['found']['fail_in_both']} "
            f"tests fail in both runs, {entry['found']['still_skipped']} are skipped in both, "
            f"{len(entry['found']['lost'])} are skipped only with torchport"
        )
    return lines


def short(entries: list[dict]) -> list[str]:
    """The table of the README."""
    headings = (
        "suite",
        "skipped without CUDA, run by torchport",
        "pass",
        "pass and use a device, all tests",
        "fail only with torchport, all tests",
    )
    rows = []
    for entry in entries:
        found = entry["found"]
        passed, failed = len(found["now_passed"]), len(found["now_failed"])
        broken = failed + len(found["broken"])
        rows.append([entry["name"], passed + failed, passed, found["on_device"], broken])
    return _with_sums(headings, rows)


def page(entries: list[dict]) -> list[str]:
    by_cause = {cause: sum(e["found"]["causes"].get(cause, 0) for e in entries) for cause in CAUSES}
    return [
        *table(entries),
        "",
        "Failures that only the run with torchport has, by cause: "
        + "; ".join(f"{CAUSES[cause]}: {count}" for cause, count in by_cause.items())
        + f"; not explained: {sum(len(e['found']['unexplained']) for e in entries)}.",
        "",
        *causes(entries),
        "",
        "## What was run",
        "",
        *parts(entries),
    ]


def put_between_marks(text: str, lines: list[str], marks: tuple[str, str] = (START, END)) -> str:
    """The text with `lines` in place of what was between the marks."""
    start, end = marks
    before, found, rest = text.partition(start)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"no marks {start} and {end}")
    return "\n".join([before + start, "", *lines, "", end]) + after
