"""fixed_imports.py sees what breaks: each break is put into a small package by hand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import import_compare
import import_plan
import import_report
import import_trees
import pytest

PACKAGE = """\
import torch
from . import model

def twice(x: int) -> int:
    return x + x
"""
MODEL = """\
import torch
import absent_lib
from absent_lib.deep import Base
from .names import LIMIT

class Net(torch.nn.Module):
    def forward(self, x):
        return x.cuda() * 2

def scale(x):
    return x.to("cuda") + torch.ones(3)

class Table(Base):
    pass
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[import_plan.Server]:
    made = import_plan.Server(tmp_path_factory.mktemp("imports") / "server")
    yield made
    made.close()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    package = tmp_path / "before" / "thing-1.0"
    (package / "thing").mkdir(parents=True)
    (package / "pyproject.toml").write_text("")
    (package / "thing" / "__init__.py").write_text(PACKAGE)
    (package / "thing" / "model.py").write_text(MODEL)
    (package / "thing" / "names.py").write_text("import os\nLIMIT = 3\n")
    return tmp_path / "before"


def compare(
    server: import_plan.Server, before: Path, files: dict[str, str]
) -> tuple[import_plan.Plan, import_compare.Comparison]:
    """Compares a tree with a copy of it that has other files."""
    trees = {"before": before, "after": before.parent / "after"}
    shutil.rmtree(trees["after"], ignore_errors=True)
    import_trees.copy(before, trees["after"])
    for name, content in files.items():
        (trees["after"] / "thing-1.0" / name).write_text(content)
    changed = set(import_trees.changed_files(before, trees["after"]))
    plan = import_plan.make_plan(server, before, changed)
    comparer = import_compare.Comparer(server.ask, before, trees["after"], plan, changed)
    return plan, comparer.compare()


def test_a_change_of_devices_only_breaks_nothing(server: import_plan.Server, tree: Path) -> None:
    changed = MODEL.replace("x.cuda()", "x.to(x.device)").replace('x.to("cuda")', "x")
    changed = changed.replace("ones(3)", "ones(3, device=x.device)")
    plan, result = compare(server, tree, {"thing/model.py": "DEVICE = 1\n" + changed})
    assert result.breaks == []
    assert plan.failed == {}
    assert len(plan.imported) == 3
    assert len(plan.steps) == 1  # the package imports the others
    assert {"absent_lib", "absent_lib.deep"} == plan.stubs
    assert result.imported == {"thing-1.0/thing/model.py"}
    assert (result.scripted_before, result.scripted) == (2, 2)
    assert (result.users_before, result.users) == (1, 1)


BREAKS = {
    "a name above its import": (
        {"thing/model.py": "DEVICE = torch.device('cpu')\n" + MODEL},
        "import: NameError: name 'torch' is not defined",
    ),
    "a module that is not there": (
        {"thing/model.py": "from .devices import DEVICE\n" + MODEL},
        "import: ModuleNotFoundError: No module named 'thing.devices'",
    ),
    "a name that others import": (
        {"thing/names.py": "import os\n"},
        "import: ImportError: cannot import name 'LIMIT' from 'thing.names'",
    ),
    "a name that nobody imports": (
        {"thing/model.py": MODEL.replace("class Table", "class Tables")},
        "name: Table is gone",
    ),
    "a global that TorchScript cannot read": (
        {"thing/model.py": "DEVICE = object()\n" + MODEL.replace('to("cuda")', "to(DEVICE)")},
        "script: scale: RuntimeError",
    ),
    "another computation": (
        {"thing/model.py": MODEL.replace("* 2", "* 3")},
        "script: Net differs: ",
    ),
    "another dtype": (
        {"thing/model.py": MODEL.replace("x.cuda()", "x.to('cuda', torch.float16)")},
        "script: Net differs: ",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_is_seen(server: import_plan.Server, tree: Path, name: str) -> None:
    files, what = BREAKS[name]
    _, result = compare(server, tree, files)
    assert [broken.what[: len(what)] for broken in result.breaks] == [what]


def test_an_unused_import_may_go(server: import_plan.Server, tree: Path) -> None:
    _, result = compare(server, tree, {"thing/names.py": "LIMIT = 3\n"})
    assert (result.breaks, result.dropped_imports) == ([], 1)


def test_a_module_that_others_do_not_import_any_more_is_imported_by_itself(
    server: import_plan.Server, tree: Path
) -> None:
    model = MODEL.replace("from .names import LIMIT\n", "")
    _, result = compare(server, tree, {"thing/model.py": model})
    assert (result.breaks, result.dropped_imports) == ([], 1)
    names = {"thing/model.py": model, "thing/names.py": "LIMIT = missing\n"}
    _, result = compare(server, tree, names)
    assert [broken.what for broken in result.breaks] == [
        "import: NameError: name 'missing' is not defined"
    ]


def test_a_module_that_could_not_be_imported_before_counts_as_failed(
    server: import_plan.Server, tree: Path
) -> None:
    (tree / "thing-1.0" / "thing" / "bad.py").write_text("import torch\ntorch.zeros(1).nothing()\n")
    plan, result = compare(server, tree, {"thing/bad.py": "import torch\n"})
    assert list(plan.failed) == ["thing-1.0/thing/bad.py"]
    assert plan.failed["thing-1.0/thing/bad.py"]["place"] == "thing-1.0/thing/bad.py:2"
    assert (result.breaks, result.imported) == ([], set())
    assert result.mended == {"thing-1.0/thing/bad.py"}


def test_a_package_that_fails_does_not_hide_its_modules(
    server: import_plan.Server, tree: Path
) -> None:
    (tree / "thing-1.0" / "thing" / "__init__.py").write_text("raise RuntimeError\n")
    plan, _ = compare(server, tree, {})
    assert list(plan.failed) == ["thing-1.0/thing/__init__.py"]
    assert [(step.module.name, step.alone) for step in plan.steps] == [("thing.model", True)]


def test_data_that_is_not_unpacked_is_made_up(server: import_plan.Server, tree: Path) -> None:
    source = "from pathlib import Path\nversion = Path(__file__).with_name('VERSION').read_text()\n"
    (tree / "thing-1.0" / "thing" / "__init__.py").write_text(source)
    plan, result = compare(server, tree, {"thing/__init__.py": "import torch\n" + source})
    assert plan.failed == {}
    assert plan.files == {"thing-1.0/thing/VERSION": "1.0.0\n"}
    assert result.breaks == []
    assert result.imported == {"thing-1.0/thing/__init__.py"}


def test_code_for_older_pythons_and_libraries(server: import_plan.Server, tree: Path) -> None:
    source = (
        "import collections, dataclasses, functools, numpy, absent_lib\n"
        "kinds = [collections.Mapping, numpy.float_, numpy.int]\n"
        "@dataclasses.dataclass\nclass A:\n    x: int = 0\n"
        "@dataclasses.dataclass\nclass B:\n    a: A = A()\n    b: A = dataclasses.field(default=A())\n"
        "@functools.singledispatch\ndef f(x): ...\n"
        "@f.register(absent_lib.Tensor)\ndef g(x): ...\n"
        "assert B().a is B().a and g\n"
    )
    (tree / "thing-1.0" / "thing" / "old.py").write_text(source)
    plan, _ = compare(server, tree, {})
    assert plan.failed == {}


def test_names_that_installed_modules_lack_are_stubbed(
    server: import_plan.Server, tree: Path
) -> None:
    source = "import torch, numpy\nfrom torch.cuda import Gone\nclass A(Gone): pass\nx = numpy.gone, torch._six.inf\n"
    (tree / "thing-1.0" / "thing" / "old.py").write_text(source)
    plan, _ = compare(server, tree, {})
    assert plan.failed == {}
    assert "torch.cuda.Gone" in plan.stubs
    assert [tuple(patch) for patch in plan.steps[-1].patches] == [
        ("numpy", "gone"),
        ("torch", "_six"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\nsubprocess.run(['true'])\n",
        "import socket\nsocket.create_connection(('127.0.0.1', 9))\n",
        "from pathlib import Path\nPath(__file__).write_text('')\n",
        "import os\nos.remove(__file__)\n",
    ],
)
def test_an_import_changes_nothing(server: import_plan.Server, tree: Path, source: str) -> None:
    path = tree / "thing-1.0" / "thing" / "evil.py"
    path.write_text(source)
    plan, _ = compare(server, tree, {})
    assert plan.failed["thing-1.0/thing/evil.py"]["error"].startswith("NotAllowedError")
    assert path.read_text() == source


def test_what_does_not_end_is_ended(server: import_plan.Server, tree: Path) -> None:
    (tree / "thing-1.0" / "endless.py").write_text("while True: pass\n")
    module = import_trees.Module("thing-1.0/endless.py", "endless", ("thing-1.0",))
    answer = server.ask(import_plan.request_of(tree, module, limit_s=0.5))
    assert answer["error"] == "TimeoutError: no end after 0.5 s"


@pytest.mark.parametrize(
    ("file", "name", "paths"),
    [
        ("thing/sub/mod.py", "thing.sub.mod", (".",)),
        ("thing/bare/mod.py", "thing.bare.mod", (".",)),
        ("thing/sub/__init__.py", "thing.sub", (".",)),
        ("tools/run.py", "run", ("tools", ".")),
        ("top.py", "top", (".",)),
        ("family/torch/mod.py", "family.torch.mod", (".",)),
    ],
)
def test_names_of_modules(tmp_path: Path, file: str, name: str, paths: tuple[str, ...]) -> None:
    for path in ("thing/__init__.py", "thing/sub/__init__.py", "family/torch/__init__.py", file):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    made = import_trees.module_of(tmp_path, tmp_path, tmp_path / file)
    assert (made.name, made.paths) == (name, paths)


def test_totals_count_changed_files() -> None:
    counts = dict.fromkeys((*import_report.AFTER, "changed", "dropped imports"), 2)
    variants = {
        "safe": {**counts, "breaks": []},
        "unsafe": {**counts, "changed": 3, "breaks": [{"what": "import: NameError"}]},
    }
    row = {"package": "a", "modules": 9, "imported": 8, "variants": variants}
    row["not imported"] = {"a.py": "ImportError: no (x)", "b.py": "SystemExit: 2"}
    sums = import_report.total([row, row])
    assert sums["all"] == {"modules": 18, "imported": 16}
    assert (sums["unsafe"]["changed"], sums["unsafe"]["broken"], sums["safe"]["broken"]) == (
        6,
        2,
        0,
    )
    assert sums["changed but not imported before"] == {"ImportError": 2, "SystemExit": 2}
