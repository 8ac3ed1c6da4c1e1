"""The steps of the gate, in their order, and when each is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gate.layers import CPP
from gate.selection import Selection, Tree


@dataclass
class Step:
    """A command of `.ci/run`; `why` says why it runs or, if it does not, why not."""

    command: str
    runs: bool
    why: str


def unit_tests(tree: Tree, found: Selection, threads: bool = False) -> list[str]:
    """The programs of unit tests that the change can affect."""
    both = found.tested.union(found.layers)
    folders = [f for f in both if not threads or tree.layers.layers[f].has_threads]
    return sorted(tree.layer_tests(folders))


def listed(names: list[str] | dict[str, str]) -> str:
    words = list(names)
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def always(tree: Tree, found: Selection) -> tuple[bool, str]:
    return True, "every change needs it"


def format_check(tree: Tree, found: Selection) -> tuple[bool, str]:
    return found.has(".h", ".cpp"), "C++ files are changed"


def lint_python(tree: Tree, found: Selection) -> tuple[bool, str]:
    return found.has(".py"), "Python files are changed"


def build(tree: Tree, found: Selection) -> tuple[bool, str]:
    needed = found.layers or found.tested or found.modules or found.has(*CPP)
    return bool(needed), "tests or C++ need the program"


def clang_tidy(tree: Tree, found: Selection) -> tuple[bool, str]:
    return bool(found.sources), f"{listed(found.sources)} changed, or a header of theirs"


def asan(tree: Tree, found: Selection) -> tuple[bool, str]:
    return bool(
        unit_tests(tree, found)
    ), f"what they test has changed: {listed(unit_tests(tree, found))}"


def fuzz(tree: Tree, found: Selection) -> tuple[bool, str]:
    if found.below("fuzz/"):
        return True, "fuzz/ is changed"
    used = next((f for f in found.layers if f in tree.fuzzed_layers()), "")
    return bool(used), f"the fuzzers contain {used}"


def tsan(tree: Tree, found: Selection) -> tuple[bool, str]:
    if not found.racing:
        return False, "no changed file has what threads could share"
    tests = unit_tests(tree, found, threads=True)
    return bool(tests), f"{listed(found.racing)} may be used by threads: {listed(tests)}"


def tests(tree: Tree, found: Selection) -> tuple[bool, str]:
    return bool(
        found.modules or unit_tests(tree, found)
    ), f"{len(found.modules)} test modules can be affected"


def runtime_in_turn(tree: Tree, found: Selection) -> tuple[bool, str]:
    used = next((f for f in found.layers if f.startswith(("src/runtime", "src/bindings"))), "")
    return bool(used), f"the libraries for torch contain {used}"


def test_vsix(tree: Tree, found: Selection) -> tuple[bool, str]:
    if found.below("editors/"):
        return True, "editors/ is changed"
    served = next((f for f in found.layers if f.startswith("src/source/server")), "")
    program = any(path.startswith("src/cli/") for path in found.paths)
    return bool(served) or program, "the extension starts the language server"


Need = Callable[[Tree, Selection], tuple[bool, str]]

STEPS: list[tuple[str, Need, str]] = [
    ("make setup", always, ""),
    ("make format-check", format_check, "no C++ file is changed"),
    ("make lint-python", lint_python, "no Python file is changed"),
    ("make check-releases", runtime_in_turn, "the libraries for torch contain nothing of it"),
    ("make build", build, "nothing that runs is changed"),
    ("make clang-tidy", clang_tidy, "no C++ source reads what is changed"),
    ("make asan", asan, "no layer is changed"),
    ("make fuzz FUZZ_RUNS=4000", fuzz, "the fuzzers contain nothing of it"),
    ("make tsan", tsan, ""),
    ("make test", tests, "no test drives or names what is changed"),
    ("make runtime-in-turn", runtime_in_turn, "the libraries for torch contain nothing of it"),
    ("make test-vsix", test_vsix, "neither the extension nor the language server is changed"),
]
# These read the lists of the folder that ONLY names.
LIMITED = ("make clang-tidy", "make asan", "make tsan", "make test")


def steps(tree: Tree, found: Selection, only: str) -> list[Step]:
    """All steps; `only` is the folder with the lists of what each is limited to."""
    if found.everything:
        return [Step(command, True, "") for command, _, _ in STEPS]
    rows = []
    for command, need, why_not in STEPS:
        runs, why = need(tree, found)
        limited = f"{command} ONLY={only}" if command in LIMITED and only else command
        rows.append(Step(limited, runs, why if runs else why_not or why))
    return rows


def lists(tree: Tree, found: Selection) -> dict[str, list[str]]:
    """What the limited steps read."""
    return {
        "unit-tests": unit_tests(tree, found),
        "thread-tests": unit_tests(tree, found, threads=True),
        "modules": list(found.modules),
        "sources": found.sources,
    }
