"""What PyTorch's tests say of virtual CUDA devices, next to what they say of the CPU."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from pytorch_names import neutral
from suite_outcomes import Known, Outcome

# What torchport says where it does not have something; every such text names it.
REFUSED = re.compile(
    r"torchport: virtual devices do not support|torchport: .* so virtual devices cannot run"
)
_LAST_LINE = re.compile(r"^E\s+(?=\S)(.*)$", re.MULTILINE)
_VARIES = (
    (re.compile(r"0x[0-9a-f]+"), "0x.."),
    (re.compile(r"'[^']{0,80}'|\"[^\"]{0,80}\""), "'..'"),
    (re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?"), "N"),
)


@dataclass
class Group:
    """Tests that ought to pass for one reason, and what became of them on virtual devices."""

    passed: int = 0
    skipped: int = 0
    refused: dict[str, str] = field(default_factory=dict)  # test: message
    failed: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)  # test: reason

    def share(self) -> float | None:
        """Passed tests of those that ran and were not refused by name, or None if there are none."""
        ran = self.passed + len(self.failed) + len(self.known)
        return self.passed / ran if ran else None


@dataclass
class Comparison:
    """The tests of one file. A test of CUDA has a twin of the CPU with the same name, or none."""

    on_cpu: Group = field(default_factory=Group)  # the twin passes
    only_cuda: Group = field(default_factory=Group)  # no twin, or it is skipped
    fail_on_both: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)  # the twin fails, the test passes
    skip_reasons: dict[str, int] = field(default_factory=dict)  # skipped on virtual devices only


def compare(
    file: str, cpu: dict[str, Outcome], cuda: dict[str, Outcome], known: list[Known]
) -> Comparison:
    """Compares the outcomes of a file's tests on virtual devices with those of their twins."""
    result = Comparison()
    twins = {neutral(test): outcome for test, outcome in cpu.items()}
    reasons: Counter[str] = Counter()
    for test in sorted(cuda):
        outcome = cuda[test]
        twin = twins.get(neutral(test), Outcome("skipped")).state
        if twin == "failed":
            if outcome.state == "failed":
                result.fail_on_both.append(test)
            elif outcome.state == "passed":
                result.mended.append(test)
            continue
        group = result.on_cpu if twin == "passed" else result.only_cuda
        match outcome.state:
            case "passed":
                group.passed += 1
            case "skipped":
                group.skipped += 1
                reasons[outcome.message] += 1
            case _:
                _put_failure(group, file, test, outcome.message, known)
    result.skip_reasons = dict(reasons.most_common())
    return result


def _put_failure(group: Group, file: str, test: str, message: str, known: list[Known]) -> None:
    entry = next((k for k in known if k.fits(file, test, message)), None)
    if entry is not None:
        group.known[test] = entry.reason
    elif REFUSED.search(message):
        group.refused[test] = message
    else:
        group.failed[test] = message


def last_words(message: str) -> str:
    """The line of a failure that says what went wrong."""
    lines = [line.strip() for line in _LAST_LINE.findall(message) if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Warning)\b", line)]
    first = message.strip().partition("\n")[0]
    return (errors or lines or [first])[-1 if errors else 0][:300]


def by_cause(failures: dict[str, str]) -> list[tuple[str, list[str]]]:
    """The failures by what they say, without figures and quoted names; the most frequent first."""
    causes: dict[str, list[str]] = {}
    for test, message in failures.items():
        text = last_words(message)
        for pattern, stands_for in _VARIES:
            text = pattern.sub(stands_for, text)
        causes.setdefault(text, []).append(test)
    return sorted(causes.items(), key=lambda item: -len(item[1]))
