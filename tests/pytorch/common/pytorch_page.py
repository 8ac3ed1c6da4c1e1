"""docs/pytorch-tests.md: what PyTorch's own tests say of virtual CUDA devices."""

from __future__ import annotations

from pathlib import Path

from suite_page import put_between_marks

MARKS = ("<!-- written by make test-pytorch -->", "<!-- end of what make test-pytorch writes -->")
KINDS = ("passed", "failed", "known", "refused", "skipped")


def counts(group: dict) -> dict[str, int]:
    return {k: group[k] if isinstance(group[k], int) else len(group[k]) for k in KINDS}


def share(counted: dict[str, int]) -> str:
    """Passed tests of those that ran and were not refused by name."""
    ran = counted["passed"] + counted["failed"] + counted["known"]
    return f"{100 * counted['passed'] / ran:.1f} %" if ran else ""


def total(entries: list[dict], group: str) -> dict[str, int]:
    each = [counts(entry["found"][group]) for entry in entries]
    return {kind: sum(count[kind] for count in each) for kind in KINDS}


def sums(entries: list[dict]) -> list[str]:
    """A line for the tests that the CPU passes, too, and one for those that only CUDA has."""
    lines = []
    for words, group in (("pass on the CPU", "on_cpu"), ("only CUDA has", "only_cuda")):
        counted = total(entries, group)
        told = ", ".join(f"{counted[kind]} {kind}" for kind in KINDS)
        lines.append(
            f"tests that {words}: {told}; {share(counted)} of those not refused or skipped"
        )
    return lines


def row(name: str, *groups: dict[str, int]) -> str:
    cells = [name]
    for counted in groups:
        cells += [counted["passed"], counted["failed"] + counted["known"]]
        cells += [counted["refused"], counted["skipped"], share(counted)]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(entries: list[dict]) -> list[str]:
    headings = ["file, part"]
    for words in ("pass on the CPU", "only CUDA has"):
        headings += [f"{words}: pass", "fail", "refused by name", "skipped", "share"]
    lines = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * 10]
    for entry in entries:
        name = f"{entry['name']} 1/{entry['parts']}"
        groups = (counts(entry["found"][key]) for key in ("on_cpu", "only_cuda"))
        lines.append(row(name, *groups))
    lines.append(row("all", total(entries, "on_cpu"), total(entries, "only_cuda")))
    return lines


def write(page: Path, entries: list[dict]) -> None:
    page.write_text(put_between_marks(page.read_text(encoding="utf-8"), table(entries), MARKS))
