"""The cases of the rules' pages, run before and after their fixes, with stand-ins for what they lack.

Each function and class of a case is called with arguments that its parameters' names suggest. What ran
before the fix has to run after it, with the same result.
"""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from running import ALL, fixed, run
from standins import arguments_of, standing_in

pytestmark = pytest.mark.devices(None, "cuda:1", "cuda:2", "mps")

RULES = Path(__file__).resolve().parents[2] / "src" / "source" / "rules"
CASE = re.compile(r"^```python hit([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Cases that are to do something else with CUDA: a test that was never true becomes one, and what they
# return is memory as it is.
CHANGED = {"cuda_only_comparison_0", "cuda_only_comparison_2", "cuda_tensor_type_0"}
# How many functions and scripts of the pages run with the stand-ins before they are fixed.
ENOUGH = {"cuda": 150, "cpu": 40, "mps": 40}


@functools.cache
def cases() -> dict[str, str]:
    """The hits of all pages, by a name for a file each."""
    found = {}
    for page in sorted(RULES.glob("*/*/page.md")):
        for number, (options, code) in enumerate(CASE.findall(page.read_text())):
            file = re.search(r"file=(\S+)", options)
            folder = f"{page.parent.name}_{number}"
            found[f"{folder}/{file[1] if file else 'train.py'}"] = code
    return found


def told(value: Any) -> Any:
    """A result as text that does not say where it is."""
    if isinstance(value, torch.Tensor):
        return [round(x, 4) for x in value.detach().cpu().double().flatten().tolist()]
    if isinstance(value, (list, tuple)):
        return [told(one) for one in value]
    if isinstance(value, torch.nn.Module):
        return type(getattr(value, "module", value)).__name__  # TP401 leaves the wrapper out
    if isinstance(value, (bool, int, float, str, type(None))):
        is_device = isinstance(value, str) and re.match(r"(cpu|cuda|mps)(:\d+)?$", value)
        return "a device" if is_device else value
    return type(value).__name__


def attempt(results: dict[str, Any], name: str, function: Any) -> Any:
    torch.manual_seed(0)
    try:
        value = function(*arguments_of(function))
    except (Exception, SystemExit) as error:
        results[name] = f"raised {type(error).__name__}: {error}"
        return None
    results[name] = told(value)
    return value


def results_of(text: str, path: Path) -> dict[str, Any]:
    """What a case and each of its functions and methods return, or how they raise."""
    results: dict[str, Any] = {}
    with standing_in():
        names: dict[str, Any] = {"__name__": "case"}
        ending = run(text, path, names)
        results[""] = ending.printed if ending.ran else f"raised {ending.raised}"
        for name, value in list(names.items()):
            if getattr(value, "__module__", "") != "case" or name.startswith("_"):
                continue
            if inspect.isfunction(value):
                attempt(results, name, value)
            elif inspect.isclass(value):
                one = attempt(results, name, value)
                if isinstance(one, torch.nn.Module) and torch.cuda.is_available():
                    one.cuda()
                for method in vars(value) if one is not None else ():
                    if not method.startswith("_") and inspect.ismethod(getattr(one, method)):
                        attempt(results, f"{name}.{method}", getattr(one, method))
    return results


def raised(result: Any) -> bool:
    return isinstance(result, str) and result.startswith("raised ")


def test_a_fixed_case_does_what_it_did(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "pages"
    monkeypatch.chdir(tmp_path)  # some cases save a model
    before = {name: results_of(text, folder / name) for name, text in cases().items()}
    ran = sum(not raised(result) for results in before.values() for result in results.values())
    wrong = []
    for words in ((), ALL):
        for name, text in fixed(cases(), folder / "all".join(words or ["safe"]), *words).items():
            if text == cases()[name] or name.partition("/")[0] in CHANGED:
                continue
            after = results_of(text, folder / name)
            for part, result in before[name].items():
                if not raised(result) and after.get(part) != result:
                    wrong.append(
                        f"{name} {' '.join(words)} {part}: {result} became {after.get(part)}\n{text}"
                    )
    assert not wrong, "\n".join(wrong)
    kind = torch.accelerator.current_accelerator()
    assert ran >= ENOUGH[kind.type if kind else "cpu"], ran
