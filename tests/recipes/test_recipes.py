"""The recipes of CONTRIBUTING, followed in a copy of the sources: they add files and edit none."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

RULE = """\
// TP990: a call of torch.toy.
#include "source/rules/rule.h"

namespace torchport::rules::toy {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP990",
    .name = "toy",
    .family = "placement",
    .severity = Severity::kWarning,
    .summary = "torch.toy is called",
};

void check(const PythonContext& context, Node call, Reporter& reporter) {
  if (context.model.called(call) == "torch.toy") reporter.report(call, "This is a toy.");
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::toy
"""

PAGE = """\
## What it does

Finds calls of `torch.toy`.

## Why is this bad?

It is a toy.

## How it is fixed

It is not.

## Cases

```python hit
import torch
torch.toy()
```

```python hit
import torch as th
th.toy(1)
```

```python hit
from torch import toy
x = toy()
```

```python miss
import torch
torch.tensor()
```

```python miss
toy()
```

```python miss
import torch
print("torch.toy()")
```
"""

KIND = """\
#include <fmt/format.h>

#include "base/bytes.h"
#include "devices/device_kind.h"

namespace torchport::devices {

namespace {

std::string out_of_memory(const OutOfMemory& failure, int device) {
  return fmt::format("MUSA out of memory: {} on {}", base::format_bytes_as_c10(failure.requested), device);
}

std::string invalid_device(int device, int /*count*/) {
  return fmt::format("there is no MUSA device {}", device);
}

}  // namespace

TORCHPORT_DEVICE_KIND(musa) {
  return {
      .name = "musa",
      .backend = "PrivateUse1",
      .device_type = 20,
      .preference = 50,
      .visibility_variable = "MUSA_VISIBLE_DEVICES",
      .checked_as = "CUDA",
      .out_of_tree = true,
      .out_of_memory = &out_of_memory,
      .invalid_device = &invalid_device,
      .availability = {.expression = "musa.is_available()"},
      .host = {.device_files = {"/dev/mtgpu.0"}, .known_to_doctor = false},
  };
}

}  // namespace torchport::devices
"""

MODEL = """\
kind = "musa"
name = "mtt-s4000"
default = true
device-name = "MTT S4000"
memory = "48 GiB"
memory-report = "nominal"
nominal-memory = "48 GiB"
multiprocessors = 48
clock-mhz = 1500

[bandwidth]
memory = 768

[sources]
device = "made up for this test"
bandwidth = "made up for this test"
"""

# Imports the shim of a kind and lets it make torch.KIND, with a runtime of two devices that only
# answers. The real runtime has no kind that was added after it was built.
SHIM = """\
import json, os, sys

sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
sys.path.insert(0, "python")
kind = sys.argv[1]
os.environ["TORCHPORT_VIRTUAL"] = f"{kind}:2"
import torch
from torchport import _device_kinds
from torchport.virtual import torch_c_shim
from torchport.virtual.torch_c_shim import _device_module

class Runtime:
    device_count = staticmethod(lambda: 2)
    get_device = staticmethod(lambda: 1)
    memory_info = staticmethod(lambda index: (2**30, 2**31))
    default_generator = staticmethod(lambda index: torch.Generator())

    def describe(self):
        profile = {"name": "MTT S4000", "multi_processor_count": 48, "L2_cache_size": 2**20}
        return json.dumps({"kind": kind, "count": 2, "memory": 2**31, "profile": profile})

_device_module.ops = Runtime
own = [part for part in torch_c_shim._parts() if kind in getattr(part, "KINDS", ())]
for part in own:
    assert part.bindings(torch) == {}  # torch._C has nothing of an out-of-tree kind
    part.finish(torch)
module = getattr(torch, kind)
assert sys.modules["torch_" + kind].__dict__[kind] is module
print(json.dumps({
    "file": torch_c_shim.__file__,
    "parts": [part.__name__.rpartition(".")[2] for part in own],
    "names": sorted(vars(module)),
    "tensor": sorted(name for name in dir(torch.Tensor) if kind in name),
    "device": str(torch.device(kind, 1)),
    "count": module.device_count(),
    "current": module.current_device(),
    "name": module.get_device_name(f"{kind}:1"),
    "free": module.mem_get_info(0),
    "usage": _device_kinds.usage(),
    "accepted": _device_kinds.names_devices(f"{kind}:2"),
}))
"""


def files_of_recipe(heading: str) -> list[str]:
    """The files that a recipe of CONTRIBUTING lists."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    return re.findall(r"^- `([^`]+)`$", section, re.MULTILINE)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of what is compiled without torch, with a configured build folder."""
    copy = tmp_path / "torchport"
    listed = subprocess.run(
        [
            *("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
            *("CMakeLists.txt", "cmake", "src", "include", "bench", "tests/host/libraries"),
            "python/torchport",
        ],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    (copy / "deps").mkdir()
    (copy / "deps" / "node_modules").symlink_to(ROOT / "deps" / "node_modules")
    return copy


def build(sources: Path, *targets: str) -> Path:
    """Builds the targets as `make build` does, so that the compiler's cache knows the rest."""
    folder = sources / "build" / "release"
    env = os.environ | {"CCACHE_BASEDIR": str(sources)}
    for command in (
        ["cmake", "-S", sources, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"],
        ["cmake", "--build", folder, "-j", "2", "--target", *targets],
    ):
        done = subprocess.run(
            [str(word) for word in command],
            cwd=sources, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder


def add(sources: Path, listed: list[str], names: dict[str, str], contents: dict[str, str]) -> None:
    """Puts the new files there, exactly those that the recipe lists."""
    filled = []
    for name in listed:
        for placeholder, word in names.items():
            name = name.replace(placeholder, word)
        filled.append(name)
    assert sorted(filled) == sorted(contents)
    for name, content in contents.items():
        path = sources / name
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def torch_with(kind: str, sources: Path, libraries: Path) -> dict[str, Any]:
    """What torch.KIND is and answers, with the package of the copy and the table of its build."""
    done = subprocess.run(
        [sys.executable, "-c", SHIM, kind],
        cwd=sources,
        env=os.environ | {"TORCHPORT_LIBRARY": str(libraries)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert Path(answers["file"]).is_relative_to(sources)
    return answers


@pytest.mark.long
def test_a_rule(sources: Path) -> None:
    add(
        sources,
        files_of_recipe("A rule"),
        {"FAMILY": "placement", "NAME": "toy"},
        {
            "src/source/rules/placement/toy/rule.cpp": RULE,
            "src/source/rules/placement/toy/page.md": PAGE,
        },
    )
    folder = build(sources, "rules_test")
    done = subprocess.run(
        [folder / "tests" / "rules_test"],
        env=os.environ | {"TORCHPORT_RULE": "TP990"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "0 failed" in done.stdout


@pytest.mark.long
def test_a_kind_of_device(sources: Path) -> None:
    listed = files_of_recipe("A kind of device")
    shim = "python/torchport/virtual/torch_c_shim/musa.py"
    like = (sources / shim.replace("musa", "npu")).read_text()
    add(
        sources,
        listed,
        {"NAME": "musa", "MODEL": "mtt-s4000"},
        {
            "src/devices/kinds/musa.cpp": KIND,
            "src/devices/profiles/musa/mtt-s4000.toml": MODEL,
            shim: like.replace("npu", "musa"),
        },
    )
    folder = build(sources, "devices_test", "torchport_device_table_file", "device_test")
    for test in ("devices_test", "device_test"):
        done = subprocess.run(
            [folder / "tests" / test], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
    libraries = folder / "torchport" / "lib"
    table = json.loads((libraries / "device_kinds.json").read_text())
    assert [row["name"] for row in table][-1] == "musa"
    assert table[-1]["profiles"] == ["mtt-s4000"]
    check_the_shim_of_musa(sources, libraries)


def check_the_shim_of_musa(sources: Path, libraries: Path) -> None:
    """torch.musa has every name that torch.npu has, and the new kind alone has the new part."""
    musa, npu = (torch_with(kind, sources, libraries) for kind in ("musa", "npu"))
    assert musa["names"] == npu["names"]
    assert musa["tensor"] == [name.replace("npu", "musa") for name in npu["tensor"]]
    assert (musa["parts"], npu["parts"]) == (["musa"], ["npu"])
    assert (musa["device"], musa["count"], musa["current"]) == ("musa:1", 2, 1)
    assert (musa["name"], musa["free"]) == ("MTT S4000", [2**30, 2**31])
    assert "musa:N" in musa["usage"] and musa["accepted"]


def test_every_recipe_lists_files_in_folders_that_there_are() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert len(headings) == 7
    for heading in headings:
        listed = files_of_recipe(heading)
        assert listed, heading
        for name in listed:
            folder = Path(name.partition("FAMILY")[0].partition("NAME")[0])
            folder = folder if (ROOT / folder).is_dir() else folder.parent
            assert (ROOT / folder).is_dir(), name
