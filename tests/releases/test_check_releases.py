"""deps/check_releases.py with made-up releases of torch and made-up sources."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import check_releases
import fetch_torch
import pytest
from release_headers import Headers

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = "torch/include/"
TAGS = "namespace at {\nenum class Tag {\n    core,\n    %s\n};\n}\n"
HOOKS = "struct CUDAHooks {\n  virtual bool hasCUDA() const;\n%s};\n"
STREAM = "class Stream {\n  bool query() const%s\n};\n"
OLD = {
    "ATen/core/enum_tag.h": TAGS % "pointwise /* no reduction, */",
    "ATen/hooks.h": HOOKS % "  // virtual bool hasFast(\n",
    "ATen/ops/add.h": "Tensor add();\n",
    "c10/Stream.h": STREAM % " { return true; }",
    "torch/version.h": "#define TORCH_VERSION_MAJOR 2\n",
}
NEW = OLD | {
    # torch moved it from one header to another.
    "ATen/core/enum_tag.h": "#include <torch/headeronly/enum_tag.h>\n",
    "torch/headeronly/enum_tag.h": TAGS % "reduction",
    "ATen/hooks.h": HOOKS % "  virtual bool\n      hasFast() const;\n",
    "c10/Stream.h": STREAM % ";",
    "ATen/fast.h": "bool is_fast();\nstruct Allocator { void trim(); };\n",
}
RECORDS = """\
#pragma once
#include "runtime/torch_releases/since.h"
// since 2.10: ATen/core/enum_tag.h has `reduction`
#define HAS_REDUCTION TORCHPORT_TORCH_SINCE(2, 10)

// Whoever waits for a stream.
// since 2.10: c10/Stream.h has `bool query() const;`
// before 2.10: c10/Stream.h has `bool query() const {`
constexpr bool kWaits = TORCHPORT_TORCH_SINCE(2, 10);

// since 2.10, in no header: CUDA's kernels say so, in a text
// of two lines
constexpr bool kWasSlow = !TORCHPORT_TORCH_SINCE(2, 10);
"""


def headers(version: str, files: dict[str, str]) -> Headers:
    return Headers(version, {INCLUDE + path: text for path, text in files.items()})


@pytest.fixture
def releases() -> list[Headers]:
    return [headers("2.9.1", OLD), headers("2.10.0", NEW)]


class Checkout:
    """A folder with sources."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.write("torch_releases/since.h", "#define TORCHPORT_TORCH_SINCE(major, minor) 1\n")
        self.write("virtual/torch_releases.h", RECORDS)

    def write(self, name: str, text: str) -> None:
        path = self.folder / "src/runtime" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def wrong(self, releases: list[Headers]) -> list[str]:
        lines, _ = check_releases.check(self.folder, releases)
        return [line.removeprefix("src/runtime/") for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_true_records_and_sources_are_accepted(checkout, releases):
    checkout.write(
        "virtual/good.cpp",
        "#include <ATen/ops/add.h>\n"
        "#if HAS_REDUCTION\n#include <ATen/fast.h>\n"
        "bool f() { return at::Tag::reduction == at::is_fast(); }\n"
        "#else\nbool f() { return false; }\n#endif\n"
        "// at::Tag::reduction stands in a comment\n"
        'const char* text = "at::Tag::reduction";\n',
    )
    assert checkout.wrong(releases) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("auto x = at::Tag::reduction;", "Tag::reduction is not in torch 2.9.1"),
        ("auto x = op.hasTag(Tag::reduction);", "Tag::reduction is not in torch 2.9.1"),
        ("#include <ATen/fast.h>", "ATen/fast.h is not in torch 2.9.1"),
        ("#include <ATen/ops/gone.h>", "ATen/ops/gone.h is not in torch 2.9.1, 2.10.0"),
        ("bool x = at::is_fast();", "is_fast is not in torch 2.9.1"),
        ("void f() { allocator->trim(); }", "trim is not in torch 2.9.1"),
        ("struct H { bool hasFast() const override; };", "hasFast is not in torch 2.9.1"),
        ("#if !HAS_REDUCTION\nbool x = at::is_fast();\n#endif", "is_fast is not in torch 2.9.1"),
        ("#if HAS_REDUCTION\n#else\nbool x = at::is_fast();\n#endif", "is_fast is not in torch"),
        ("#if defined(__x86_64__)\nbool x = at::is_fast();\n#endif", "is_fast is not in torch"),
        ("#if TORCH_VERSION_MINOR >= 10\n#endif", "asks for torch's version"),
        ("bool x = TORCHPORT_TORCH_SINCE(2, 10);", "asks for torch's version"),
        ("#if __has_include(<ATen/fast.h>)\n#endif", "asks for torch's version"),
    ],
)
def test_what_a_release_lacks_is_found(checkout, releases, code, said):
    checkout.write("virtual/bad.cpp", f"// A source.\n{code}\n")
    (line,) = checkout.wrong(releases)
    assert line.startswith("virtual/bad.cpp:") and said in line


def test_names_of_the_project_are_its_own(checkout, releases):
    checkout.write(
        "virtual/own.cpp",
        "struct Pool {\n  void trim();\n  virtual bool hasFast() const;\n};\n"
        "void f(Pool& pool) { pool.trim(); }\n",
    )
    assert checkout.wrong(releases) == []


def test_a_test_is_compiled_for_one_release_only(checkout, releases):
    checkout.write("virtual/x_test.cpp", "#include <ATen/fast.h>\n")
    assert checkout.wrong(releases) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("since 2.10: ATen/core", "since 2.9: ATen/core", "has no record of 2.10"),
        ("`reduction`", "`pointwise`", "`pointwise` is in ATen/core/enum_tag.h of torch 2.9.1"),
        ("`reduction`", "`produce`", "`produce` is not in ATen/core/enum_tag.h of torch 2.10.0"),
        ("`bool query() const {`", "`bool query()`", "`bool query()` is in c10/Stream.h of torch 2.10.0"),
        ("c10/Stream.h has `bool query() const;`", "c10/S.h has `bool query() const;`", "is not in c10/S.h"),
        ("// since 2.10: ATen/core/enum_tag.h has `reduction`\n", "", "1 of 3 uses of TORCHPORT_TORCH_SINCE have no record"),
        ("// since 2.10: ATen/core", "#if TORCHPORT_TORCH_SINCE(2, 10)\n#endif\n// since 2.10: ATen/core",
         "1 of 4 uses of TORCHPORT_TORCH_SINCE have no record"),
        ("#define HAS_REDUCTION TORCHPORT_TORCH_SINCE(2, 10)\n", "int x;\n", "stands above what is no"),
    ],
)  # fmt: skip
def test_an_untrue_record_is_found(checkout, releases, before, after, said):
    assert RECORDS.count(before) == 1
    checkout.write("virtual/torch_releases.h", RECORDS.replace(before, after))
    assert any(said in line for line in checkout.wrong(releases)), checkout.wrong(releases)


def test_one_name_means_one_thing(checkout, releases):
    checkout.write(
        "place/torch_releases.h",
        "// since 2.11, in no header: another\n"
        "#define HAS_REDUCTION TORCHPORT_TORCH_SINCE(2, 11)\n",
    )
    (line,) = checkout.wrong(releases)
    assert "HAS_REDUCTION is another one elsewhere" in line


def run(checkout: Checkout, cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "deps/check_releases.py", "--root", checkout.folder, *words]
    environment = os.environ | {"TORCHPORT_TORCH_CACHE": str(cache)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_command_reads_what_is_kept(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHPORT_TORCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    with zipfile.ZipFile(fetch_torch.pack_of("2.9.1", "headers"), "w") as pack:
        for path, text in OLD.items():
            pack.writestr(INCLUDE + path, text)
    done = run(checkout, tmp_path / "cache", "2.9.1", "2.10.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not checked: torch 2.10.0: its headers are not kept; --fetch" in done.stdout
    assert "compared with the headers of torch 2.9.1: all there" in done.stdout
    checkout.write("virtual/bad.cpp", "#include <ATen/fast.h>\n")
    done = run(checkout, tmp_path / "cache", "2.9.1")
    assert done.returncode == 1
    assert "bad.cpp:1: ATen/fast.h is not in torch 2.9.1" in done.stdout


def test_without_headers_nothing_is_said_to_be_right(checkout, tmp_path):
    done = run(checkout, tmp_path / "empty", "2.9.1")
    assert done.returncode == 1
    assert "no release" in done.stdout


def test_the_records_of_the_sources_have_the_form():
    """What needs no headers: every release is compared by `make check-releases`."""
    wrong, compared = check_releases.check(ROOT, [])
    assert wrong == []
    assert compared > 20
