"""What the tests of each folder of tests/ drive when they run, beside what they import.

A test starts the built program, so that no import tells what it needs. `layers` are folders of src/, with
what is in them; `parts` are those of python/torchport. A folder that is not here always runs.
"""

from __future__ import annotations

from typing import NamedTuple


class Drives(NamedTuple):
    layers: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


SOURCE = ("src/source",)
TORCH = ("src/runtime", "src/bindings")
CUDA = ("src/cuda",)
# What the program does by itself, beside the source tool.
PROGRAM = ("src/host", "src/scaffold", "src/build_gate", "src/runtime_build", "src/plan")
PROGRAM += ("src/runtime/checkpoint", "src/runtime/device")
# The program replaces itself by Python or by torchport-infer for these.
MODELS = ("place", "observe", "deploy")

DRIVEN = {
    "build": Drives((*TORCH, *CUDA, "src/build_gate", "src/runtime_build"), ("build", "virtual")),
    "cli": Drives((*SOURCE, *PROGRAM)),
    "conformance": Drives(TORCH, ("virtual",)),
    "cuda": Drives((*TORCH, *CUDA), ("virtual", "build")),
    "cuda_build": Drives((*TORCH, *CUDA, "src/build_gate", "src/scaffold"), ("build", "virtual")),
    "deploy": Drives(TORCH, (*MODELS, "virtual")),
    "ecosystem": Drives(SOURCE),
    "extensions": Drives((*TORCH, *CUDA), ("virtual", "build")),
    "fidelity": Drives((*TORCH, *CUDA), ("virtual",)),
    "fixes": Drives((*SOURCE, *TORCH), ("virtual",)),
    "gate": Drives(),
    "host": Drives(("src/host", "src/build_gate", "src/cuda/compiler"), ("build", "_releases")),
    "hostile": Drives((*SOURCE, "src/runtime/checkpoint"), ("place",)),
    "observe": Drives(TORCH, ("observe", "virtual")),
    "pages": Drives((*SOURCE, *TORCH, "src/page", "src/plan"), (*MODELS, "virtual", "_pages")),
    "place": Drives((*TORCH, "src/package"), ("place", "virtual")),
    "plan": Drives((*TORCH, *CUDA, "src/plan"), ("virtual",)),
    "plugins": Drives(TORCH, ("virtual", "pytest_plugin")),
    "pytorch": Drives(),
    "recipes": Drives((*SOURCE, "src/devices"), ("virtual",)),
    "releases": Drives(("src",), ("*",)),
    "scaffold": Drives((*SOURCE, "src/scaffold", "src/host"), ("build",)),
    "server": Drives(SOURCE),
    "suites": Drives(),
    "systems": Drives(("src",), ("*",)),
    "triton_language": Drives((*TORCH, *CUDA), ("virtual",)),
    "typing": Drives((), ("*",)),
    "virtual": Drives((*TORCH, *CUDA, "src/host/usage"), ("virtual", "build")),
}

# Modules that drive more than the others of their folder: the wheel has everything, and these start
# other Pythons and programs on virtual devices.
EVERYTHING = Drives(("src",), ("*",))
MODULES = {
    "tests/cli/test_callers.py": EVERYTHING,
    "tests/cli/test_full_disk.py": EVERYTHING,
    "tests/cli/test_start.py": EVERYTHING,
    "tests/cli/test_troubles.py": EVERYTHING,
    "tests/cli/test_wheel.py": EVERYTHING,
    "tests/cli/test_wheel_places.py": EVERYTHING,
}
# They compare files of the whole tree, and take a second.
ALWAYS = ("tests/gate/",)
