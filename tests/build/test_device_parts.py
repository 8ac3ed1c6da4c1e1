"""Which of torch's functions makes an extension of a declaration, for each outcome of a plan."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from torchport.build import extension
from torchport.build._build_ext import _complete, _follow
from torchport.build._plan import Plan

SOURCES = ["ops.cpp", "ops.cu", "ops.sycl"]


def maker(called: list[str], name: str) -> Any:
    def make(module: str, sources: list[str], **options: Any) -> SimpleNamespace:
        called.append(name)
        # As hipify does.
        renamed = (
            [one.replace(".cu", ".hip") for one in sources] if name == "CUDAExtension" else sources
        )
        return SimpleNamespace(name=module, sources=renamed, define_macros=[], include_dirs=[])

    return make


@pytest.mark.parametrize(
    ("outcome", "function", "compiled", "left_out", "macro"),
    [
        ("rocm", "CUDAExtension", ["ops.cpp", "ops.hip"], ["ops.sycl"], "TORCHPORT_WITH_ROCM"),
        ("xpu", "SyclExtension", ["ops.cpp", "ops.sycl"], ["ops.cu"], "TORCHPORT_WITH_XPU"),
        ("cpu", "CppExtension", ["ops.cpp"], ["ops.cu", "ops.sycl"], None),
    ],
)
def test_parts_for_devices(
    outcome: str, function: str, compiled: list[str], left_out: list[str], macro: str | None
) -> None:
    called: list[str] = []
    torchs = SimpleNamespace(
        **{name: maker(called, name) for name in ("CppExtension", "CUDAExtension", "SyclExtension")}
    )
    plan = Plan(json.dumps({"outcome": outcome, "compiler": "/opt/rocm", "environment": {}}))
    declared = extension("pkg._C", SOURCES)
    _follow(plan, torchs)
    _complete(declared, plan, torchs)
    assert called == [function]
    assert (declared.sources, declared.left_out) == (compiled, left_out)
    names = [name for name, _ in declared.define_macros]
    assert (macro in names) if macro else names == []
    assert getattr(torchs, "ROCM_HOME", None) == ("/opt/rocm" if outcome == "rocm" else None)
