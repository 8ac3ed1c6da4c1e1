"""Writes docs/models.md out of results.json."""

from __future__ import annotations

FORMATS = ["onnx", "torchscript", "pt2", "aoti"]

_HEAD = """# Which models come through to which format

Each row is a small model with random weights, exported without any option. *yes* means that the
artefact was written and computes what eager computes on a dozen batches; its batch may have any size
unless *one size* is said. The numbers are the reasons below the table. An empty cell was not tried.

`tests/deploy/kinds` makes the models and checks the table. The rows of timm and transformers, and the
column aoti, are checked by `make test-kinds`.

"""


def page_of(results: dict[str, dict[str, str]]) -> str:
    reasons: list[str] = []

    def cell(text: str | None) -> str:
        if text is None:
            return ""
        word, _, reason = text.partition(": ")
        if not reason:
            return word
        if reason not in reasons:
            reasons.append(reason)
        return f"{word} ({reasons.index(reason) + 1})"

    lines = [f"| kind of model | {' | '.join(FORMATS)} |", "|---" * (len(FORMATS) + 1) + "|"]
    for name in sorted(results, key=str.lower):
        cells = [cell(results[name].get(to)) for to in FORMATS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    count = len(results)
    counts = []
    for to in FORMATS:
        known = [of[to] for of in results.values() if to in of]
        counts.append(f"{to} {sum(text.startswith('yes') for text in known)} of {len(known)}")
    numbered = [f"{at}. {reason}" for at, reason in enumerate(reasons, 1)]
    return (
        _HEAD
        + "\n".join(lines)
        + f"\n\nOf {count} kinds: {', '.join(counts)}.\n\n## Reasons\n\n"
        + "\n".join(numbered)
        + "\n"
    )
