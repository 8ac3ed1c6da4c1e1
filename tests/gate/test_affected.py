"""Which steps and tests of the gate a change needs: on a small tree, on this one, and when all runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import affected
import pytest
from gate.changes import Changes
from gate.driven import DRIVEN, MODULES
from gate.modules import folder_of
from gate.selection import Selection, Tree, select
from gate.steps import STEPS, lists, steps

ROOT = Path(__file__).resolve().parents[2]

SMALL = {
    "src/CMakeLists.txt": "add_subdirectory(base)",
    "src/base/CMakeLists.txt": "torchport_add_layer(base THREADS DEPENDS torchport_fmt)",
    "src/base/text.h": "int width();",
    "src/base/text_test.cpp": '#include "base/text.h"',
    "src/syntax/CMakeLists.txt": "# torchport_rules is built on it\ntorchport_add_layer(syntax DEPENDS torchport_base)",
    "src/syntax/tree.h": '#include "base/text.h"',
    "src/syntax/tree.cpp": '#include "syntax/tree.h"\nnamespace { int next(int n) { return n; } }',
    "src/syntax/tree_test.cpp": '#include "tree.h"\n// reads docs/tree.md',
    "src/rules/CMakeLists.txt": "torchport_add_layer(rules DEPENDS torchport_syntax)\ntorchport_embed_text(torchport_rules page.html x)",
    "src/rules/rule.cpp": '#include "syntax/tree.h"\nstatic int counter = 0;',
    "src/rules/rule_test.cpp": "",
    "src/server/CMakeLists.txt": "torchport_add_layer(server THREADS DEPENDS torchport_rules)",
    "src/server/server_test.cpp": "",
    "src/place/CMakeLists.txt": "torchport_add_torch_layer(place DEPENDS torchport_base)",
    "src/place/sub/move_test.cpp": "",
    "src/library/CMakeLists.txt": "get_property(parts GLOBAL PROPERTY TORCHPORT_LIBRARY_PARTS)\nadd_library(torchport_library SHARED)",
    "src/cli/CMakeLists.txt": "add_executable(torchport x.cpp)\ntarget_link_libraries(torchport PRIVATE torchport_rules torchport_place)",
    "src/cli/check.cpp": '#include "rules/rule.h"',
    "fuzz/CMakeLists.txt": "target_link_libraries(f PRIVATE torchport_syntax)",
    "python/torchport/__init__.py": "from torchport.place.moving import to",
    "python/torchport/place/moving.py": "def f():\n    from torchport import _walk",
    "python/torchport/_walk.py": "",
    "python/torchport/deploy/page.py": "NAME = 'torchport.place.moving'",
    "tests/cli/test_check.py": "",
    "tests/server/common/session.py": "",
    "tests/server/test_server.py": "import session",
    "tests/place/test_move.py": "import torchport\ntorchport.to(1)",
    "tests/place/programs/train.py": "",
    "tests/deploy/test_page.py": 'FOLDER = ROOT / "tests" / "place"\nREADME = ROOT / "README.md"',
    "tests/deploy/test_docs.py": 'TEXTS = list((ROOT / "docs").glob("*.md"))',
    "tests/observe/test_words.py": '"""It is not like docs/tree.md."""',
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    root = tmp_path_factory.mktemp("small")
    for path, text in SMALL.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + "\n")
    return Tree(root, SMALL)


@pytest.fixture(scope="module")
def real() -> Tree:
    return Tree(ROOT, affected.files_of(ROOT))


def chosen(tree: Tree, *paths: str) -> tuple[Selection, set[str]]:
    """The selection, and the names of the steps that run."""
    found = select(tree, Changes(list(paths)))
    return found, {
        one.command.removeprefix("make ").split()[0] for one in steps(tree, found, "") if one.runs
    }


def test_who_depends_on_whom(small: Tree) -> None:
    depends = {layer.folder: layer.depends for layer in small.layers.layers.values()}
    assert depends["src/syntax"] == {"src/base"}, "a comment names rules"
    assert depends["src/library"] == {"src/place"}
    assert depends["src/cli"] == {"src/rules", "src/place"}
    assert small.layers.above(["src/syntax"]) == dict.fromkeys(
        ["src/syntax", "src/rules", "src/cli", "src/server"], "src/syntax"
    )
    assert small.layer_tests(small.layers.layers) == {
        "base_test",
        "syntax_test",
        "rules_test",
        "place_test",
        "server_test",
    }
    assert small.parts.dependents == {"_walk": {"place"}, "place": {"deploy"}}
    assert small.layers.sources_to_check(["src/syntax/tree.h"]) == [
        "src/rules/rule.cpp",
        "src/syntax/tree.cpp",
        "src/syntax/tree_test.cpp",
    ]


@pytest.mark.parametrize(
    ("path", "run", "unit_tests", "modules"),
    [
        ("src/rules/rule.cpp", "asan tsan clang-tidy test", "rules_test server_test", "cli server"),
        ("src/syntax/tree.cpp", "asan fuzz clang-tidy test", "rules_test server_test syntax_test", "cli server"),
        ("src/syntax/gone.cpp", "asan fuzz test", "rules_test server_test syntax_test", "cli server"),
        ("src/base/text.h", "asan tsan fuzz clang-tidy test", "base_test place_test rules_test server_test syntax_test", "cli server place deploy"),
        ("src/rules/rule_test.cpp", "asan clang-tidy test", "rules_test", ""),
        ("src/cli/check.cpp", "clang-tidy test test-vsix", "", "cli server place deploy observe"),
        ("python/torchport/_walk.py", "lint-python test", "", "place deploy"),
        ("python/torchport/deploy/page.py", "lint-python test", "", "deploy"),
        ("python/torchport/__init__.py", "lint-python test", "", "place deploy"),
        ("web/page.html", "", "", ""),
        ("tests/server/common/session.py", "lint-python test", "", "server"),
        ("tests/place/programs/train.py", "lint-python test", "", "place deploy"),
        ("docs/tree.md", "asan test", "syntax_test", "deploy"),
        ("README.md", "test", "", "deploy"),
        ("CHANGELOG.md", "", "", ""),
    ],
)  # fmt: skip
def test_a_small_tree(small: Tree, path: str, run: str, unit_tests: str, modules: str) -> None:
    small = Tree(small.root, SMALL)
    # The names of its layers are those of no folder that the table of this tree has.
    with pytest.MonkeyPatch.context() as patch:
        for folder, layers in (("cli", ("src/rules", "src/syntax")), ("server", ("src/rules",))):
            patch.setitem(DRIVEN, folder, DRIVEN[folder]._replace(layers=layers))
        for folder in ("place", "deploy"):
            patch.setitem(DRIVEN, folder, DRIVEN[folder]._replace(layers=("src/place",)))
        patch.setitem(DRIVEN, "observe", DRIVEN["gate"])
        found, ran = chosen(small, path)
    if path.startswith("web/"):
        assert found.everything == f"nobody knows what {path} affects"
        return
    assert not found.everything
    assert ran - {"setup", "build", "format-check", "check-releases", "runtime-in-turn"} == set(
        run.split()
    )
    assert ("build" in ran) == bool(run)
    assert {folder_of(module) for module in found.modules} == set(modules.split())
    assert lists(small, found)["unit-tests"] == unit_tests.split()


SOURCE = {"cli", "server", "fixes", "ecosystem", "hostile", "recipes", "pages", "scaffold"}
TORCH = {
    "virtual",
    "place",
    "observe",
    "deploy",
    "conformance",
    "cuda",
    "plan",
    "triton_language",
    "build",
}
CPP = {"format-check", "build", "clang-tidy", "asan"}


@pytest.mark.parametrize(
    ("path", "folders", "without", "run", "skipped"),
    [
        ("src/source/rules/placement/cuda_call/rule.cpp", SOURCE, TORCH, CPP | {"fuzz", "test-vsix"}, {"tsan", "lint-python", "runtime-in-turn"}),
        ("src/source/rules/placement/cuda_call/page.md", SOURCE, TORCH, {"asan", "test"}, {"tsan", "clang-tidy"}),
        ("src/source/server/server.cpp", {"server"}, TORCH, CPP | {"tsan", "test-vsix"}, set()),
        ("src/source/syntax/syntax_tree.h", SOURCE, TORCH, CPP - {"clang-tidy"} | {"fuzz"}, {"lint-python"}),
        ("src/base/files.h", SOURCE | TORCH | {"host"}, {"suites"}, {"asan", "tsan", "fuzz", "test"}, {"lint-python"}),
        ("src/runtime/virtual/core/pinned.cpp", TORCH, {"server", "ecosystem", "host"}, CPP | {"tsan", "runtime-in-turn"}, {"fuzz", "test-vsix"}),
        ("src/runtime/checkpoint/zip.cpp", TORCH | {"cli", "hostile"}, {"server"}, {"asan", "fuzz"}, {"test-vsix"}),
        ("src/cuda/ptx/translate.cpp", {"cuda", "virtual", "extensions"}, {"server", "place", "deploy"}, {"asan"}, {"fuzz"}),
        ("src/source/rules/bindable_test.cpp", {"gate"}, SOURCE | TORCH, CPP, {"fuzz", "tsan"}),
        ("src/host/causes/nvidia/driver.cpp", {"host", "cli", "place"}, {"server", "ecosystem"}, {"asan"}, {"fuzz"}),
        ("src/devices/profiles/cuda/h100.toml", SOURCE | TORCH, {"suites"}, {"build", "asan", "test"}, {"format-check"}),
        ("src/cli/check.cpp", SOURCE | TORCH, set(), {"build", "test", "test-vsix"}, {"asan", "fuzz", "tsan"}),
        ("include/torchport/move.h", TORCH, {"server", "ecosystem"}, {"asan", "tsan", "test"}, set()),
        ("python/torchport/virtual/planning.py", {"virtual", "plan", "deploy", "cuda"}, {"server", "host"}, {"lint-python", "test"}, CPP - {"build"}),
        ("python/torchport/deploy/bench/page.py", {"deploy", "pages"}, {"virtual", "place", "cuda"}, {"lint-python"}, {"asan"}),
        ("python/torchport/torch_releases.json", {"host", "scaffold", "virtual", "build"}, {"server", "ecosystem"}, {"asan"}, {"lint-python"}),
        ("python/torchport/_pages/frame.html", {"pages", "deploy", "observe"}, {"suites"}, {"build", "test"}, {"tsan"}),
        ("tests/ecosystem/common/fixed_names.py", {"ecosystem"}, {"cli", "virtual"}, {"lint-python", "test"}, {"asan"}),
        ("tests/virtual/test_tf32.py", {"virtual"}, {"place", "cli"}, {"lint-python", "test"}, {"asan"}),
        ("tests/host/libraries/nvml.cpp", {"host"}, {"virtual", "place"}, {"asan", "test"}, {"tsan"}),
        ("docs/troubles.md", {"cli"}, {"virtual", "place"}, {"test"}, {"asan", "lint-python"}),
        ("CONTRIBUTING.md", {"recipes"}, TORCH, {"test"}, {"asan"}),
        ("tests/durations.json", {"gate"}, SOURCE | TORCH, {"test"}, {"asan"}),
        ("fuzz/check_fuzz.cpp", {"gate"}, SOURCE | TORCH, {"fuzz", "build"}, {"tsan", "asan"}),
        ("editors/vscode/src/extension.ts", {"gate"}, TORCH, {"test-vsix"}, {"asan", "fuzz"}),
    ],
)  # fmt: skip
def test_this_tree(
    real: Tree, path: str, folders: set[str], without: set[str], run: set[str], skipped: set[str]
) -> None:
    found, ran = chosen(real, path)
    seen = {folder_of(module) for module in found.modules}
    assert folders <= seen and not without & seen, (folders - seen, without & seen)
    assert run <= ran and not skipped & ran, (run - ran, skipped & ran)


def test_a_test_module_alone_runs_alone(real: Tree) -> None:
    found, _ = chosen(real, "tests/virtual/test_tf32.py")
    assert [m for m in found.modules if not m.startswith("tests/gate/")] == [
        "tests/virtual/test_tf32.py"
    ]


BUILT_WITH = [".ci/run", ".ci/gate/driven.py", "Makefile", "cmake/TorchportTargets.cmake"]
BUILT_WITH += ["deps/torch.txt", "CMakePresets.json", "pyproject.toml", "tests/conftest.py"]
BUILT_WITH += ["tests/plugins/device_modules.py", ".clang-tidy", "src/portable/stubs.py"]


@pytest.mark.parametrize("path", [*BUILT_WITH, "new_folder/x.py", "NEWS.txt"])
def test_everything_runs_for_what_all_is_built_with(real: Tree, path: str) -> None:
    found, ran = chosen(real, "docs/plan.md", path)
    assert path in found.everything and len(ran) == len(STEPS)
    assert all(
        one.command == command
        for one, (command, *_) in zip(steps(real, found, "x"), STEPS, strict=True)
    )


def test_a_public_name_is_of_its_part(real: Tree) -> None:
    assert "backend" in real.modules.parts_of("tests/place/test_backend.py")
    found, _ = chosen(real, "python/torchport/backend.py")
    assert "tests/place/test_backend.py" in found.modules
    assert "tests/virtual/test_tf32.py" not in found.modules


def test_every_file_of_src_is_known(real: Tree) -> None:
    """Each belongs to a layer, whose change builds the program and tests it."""
    folders = {
        folder: next(p for p in real.files if p.startswith(f"{folder}/"))
        for folder in real.layers.layers
    }
    assert len(folders) > 40
    for path in real.files:
        assert not path.startswith("src/") or real.layers.layer_of(path), path
    for folder, path in folders.items():
        found, ran = chosen(real, path)
        assert found.everything or {"build", "test"} <= ran, folder


def test_the_table_has_every_folder_of_tests(real: Tree) -> None:
    folders = {folder_of(path) for path in real.files if path.startswith("tests/")} - {""}
    assert folders == set(DRIVEN)
    assert set(MODULES) <= set(real.modules.modules)
    named = {layer for drives in DRIVEN.values() for layer in drives.layers}
    assert all((ROOT / layer).is_dir() for layer in named)
    parts = {part for drives in DRIVEN.values() for part in drives.parts} - {"*"}
    assert parts <= real.parts.names


# The layers without which a subcommand does nothing.
SUBCOMMANDS = {
    "check": "src/source/rules", "fix": "src/source/edit", "server": "src/source/server",
    "run": "src/runtime/virtual", "plan": "src/plan", "prove": "src/runtime/proof",
    "inspect": "src/runtime/checkpoint", "doctor": "src/host/causes", "container": "src/scaffold",
    "build-plan": "src/build_gate", "nvcc": "src/cuda/compiler", "top": "src/host/usage",
}  # fmt: skip


def test_the_table_has_what_the_tests_start(real: Tree) -> None:
    """A subcommand that a module of a folder starts is one of a layer that the table has for it."""
    starts = re.compile(rf"\b(?:torchport|TORCHPORT|program)\W{{1,3}}\"({'|'.join(SUBCOMMANDS)})\"")
    seen = set()
    for path, text in real.modules.texts.items():
        layers = real.modules.drives(path).layers
        for command in starts.findall(text) if folder_of(path) not in ("gate", "plugins") else ():
            seen.add(command)
            assert SUBCOMMANDS[command].startswith(layers), (path, command)
    assert seen >= {"check", "fix", "run", "plan", "doctor", "inspect"}, "the pattern finds them"


def test_the_unit_tests_are_those_that_are_built(real: Tree) -> None:
    """What cmake knows after the build has the names that are read from the CMakeLists.txt files."""
    build = ROOT / "build" / "release"
    if not (build / "build.ninja").exists():
        pytest.skip("nothing is built")
    command = ["ctest", "--test-dir", build, "--show-only"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    built = set(re.findall(r"Test\s+#\d+: (\w+)", listed))
    assert real.layer_tests(real.layers.layers) == built
    labelled = subprocess.run(
        [*command, "-L", "threads"], capture_output=True, text=True, check=True
    ).stdout
    threads = {f for f, layer in real.layers.layers.items() if layer.has_threads}
    assert set(re.findall(r"Test\s+#\d+: (\w+)", labelled)) <= real.layer_tests(threads)


def test_the_command(
    real: Tree,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(affected, "Tree", lambda root, files: real)  # reading it takes seconds
    assert affected.main(["--paths", "docs/troubles.md"]) == 0
    told = capsys.readouterr().out
    assert (
        "not   make asan" in told
        and "tests/cli/test_troubles.py: it names docs/troubles.md" in told
    )
    folder = tmp_path / "lists"
    assert (
        affected.main(
            ["--steps", str(folder), "--paths", "src/source/rules/placement/cuda_call/rule.cpp"]
        )
        == 0
    )
    printed = capsys.readouterr()
    assert f"make asan ONLY={folder}" in printed.out.splitlines()
    assert "make fuzz FUZZ_RUNS=4000" in printed.out.splitlines() and "tsan" not in printed.out
    assert "rules_test" in (folder / "unit-tests").read_text().splitlines()
    assert "src/source/rules/placement/cuda_call/rule.cpp" in (folder / "sources").read_text()
    assert "tests/cli/test_check.py" in (folder / "modules").read_text().splitlines()
    assert affected.main(["--steps", str(folder), "--paths", "Makefile"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [command for command, *_ in STEPS]
    assert printed.err.startswith("everything runs: Makefile")


def test_the_gate_runs_what_the_script_says() -> None:
    """.ci/run has no list of its own, and the Makefile has every step."""
    assert ".ci/affected.py --steps" in (ROOT / ".ci/run").read_text()
    assert "step make" not in (ROOT / ".ci/run").read_text()
    targets = set(re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(), re.M))
    known = {word for line in targets for word in line.split()}
    assert {command.split()[1] for command, *_ in STEPS} <= known
