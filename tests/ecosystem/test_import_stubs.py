"""Stand-ins for missing modules serve wherever code of strangers uses a module while it is imported."""

from __future__ import annotations

import abc
import enum
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import import_stubs
import pytest


@pytest.fixture(autouse=True)
def finder() -> Iterator[import_stubs.StubFinder]:
    made = import_stubs.StubFinder(["absent_lib", "absent_lib.deep", "absent_lib.deep.er"])
    sys.meta_path.append(made)
    yield made
    sys.meta_path.remove(made)
    for name in [name for name in sys.modules if name.split(".")[0] == "absent_lib"]:
        del sys.modules[name]


def run(source: str) -> dict:
    names: dict = {"__name__": "stranger"}
    exec(source, names)
    return names


def test_modules_and_submodules(finder: import_stubs.StubFinder) -> None:
    run("import absent_lib.deep.er as er, absent_lib\nfrom absent_lib.deep import a, b")
    assert finder.made == ["absent_lib", "absent_lib.deep", "absent_lib.deep.er"]


def test_what_is_not_allowed_stays_missing() -> None:
    with pytest.raises(ModuleNotFoundError):
        run("import absent_other")
    with pytest.raises(ModuleNotFoundError):
        run("import absent_lib.another")


def test_base_classes() -> None:
    names = run(
        "import abc, enum, absent_lib as lib\n"
        "class A(lib.Base): pass\n"
        "class B(lib.Base, lib.Mixin, dict): pass\n"
        "class C(abc.ABC, lib.Base): pass\n"
        "class D(lib.Generic[int]): pass\n"
        "class E(A, lib.Mixin, flag=1): pass\n"
        "class F(lib.Base, ValueError): pass\n"
        "class G(lib.Base, metaclass=abc.ABCMeta): pass\n"
    )
    assert isinstance(names["B"](), dict)
    assert issubclass(names["C"], abc.ABC)
    assert issubclass(names["E"], names["A"])
    with pytest.raises(ValueError):
        raise names["F"]
    assert isinstance(names["A"].registry, import_stubs.Stub)  # what a base class would have


def test_decorators_return_what_they_decorate() -> None:
    names = run(
        "import absent_lib as lib\n"
        "@lib.jit\ndef f(): return 1\n"
        "@lib.register('name', key=2)\ndef g(): return 2\n"
        "@lib.register()\nclass H: pass\n"
    )
    assert (names["f"](), names["g"](), names["H"].__name__) == (1, 2, "H")


def test_registries_take_what_is_registered() -> None:
    names = run(
        "import absent_lib as lib\n"
        "class Base(lib.Registrable): pass\n"
        "@Base.register('one', exist_ok=True)\nclass One(Base): pass\n"
    )
    assert names["One"].__name__ == "One"


def test_contexts_annotations_defaults_and_operators() -> None:
    names = run(
        "import absent_lib as lib\nfrom typing import Optional, Union, List\n"
        "def f(a: Optional[lib.A], b: Union[lib.A, int] = lib.A(), c: 'List[lib.B]' = None) -> lib.A | None: ...\n"
        "T = List[lib.A]\nU = int | lib.A\n"
        "with lib.open() as opened, lib.lock: x = opened.read() + 1 - lib.PI * 2\n"
        "new = lib.version >= (2, 0)\nold = lib.version < (2, 0)\n"
        "for item in lib.items: raise ValueError\n"
        "is_it = isinstance(x, (lib.A, int))\n"
        "try: x.y.z[3](4)\nexcept ImportError: raise\n"
    )
    assert names["new"] and not names["old"] and not names["is_it"]
    assert typing.get_type_hints(names["f"])


def test_a_class_of_another_metaclass_may_have_a_stub_as_base() -> None:
    names = run(
        "import enum, absent_lib as lib\nclass Kind(lib.Mixin, enum.Enum):\n  def _missing(self): ...\n"
    )
    assert isinstance(names["Kind"], enum.EnumMeta)


def test_a_module_that_a_fix_made_is_there_where_its_package_is(tmp_path: Path) -> None:
    folder = tmp_path / "experimental" / "pkg"
    folder.mkdir(parents=True)
    (folder / "_device.py").write_text("import torch\n")
    assert import_stubs.made_by_fix(tmp_path, ["pkg", "numba"]) == ["pkg._device"]
    assert import_stubs.made_by_fix(tmp_path, ["other"]) == []
