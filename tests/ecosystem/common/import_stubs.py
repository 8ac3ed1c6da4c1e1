"""Stand-ins for modules that are not installed, so that code which imports them can be imported.

What is missing differs from machine to machine, but a stand-in is the same before a fix and after it.
A stand-in can be a base class, a decorator, a context manager, a default, a part of an annotation and
an exception class. It computes nothing.
"""

from __future__ import annotations

import abc
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

VERSION = "99.0.0"  # what a missing package says of itself: new enough for anything


class _Members(abc.ABCMeta):
    """Gives a class that derives from a stand-in the class methods and constants it would inherit."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{cls.__name__}.{name}")

    def register(cls, *args: Any, **kwargs: Any) -> Any:  # not that of abstract classes
        return Stub(f"{cls.__name__}.register")(*args, **kwargs)


class StubBase:
    """What a class gets as its base where the code names a stand-in."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__()

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


class StubBaseWithMembers(StubBase, metaclass=_Members):
    pass


def _is_decorated(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    kinds = (type, types.FunctionType, classmethod, staticmethod, property)
    return len(args) == 1 and not kwargs and isinstance(args[0], kinds)


class Stub:
    """Any object of a missing module."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = self.__dict__["__qualname__"] = name
        self.__dict__["__version__"] = VERSION

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Stub(f"{self.__name__}.{name}")
        self.__dict__[name] = made
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _is_decorated(args, kwargs):
            return args[0]
        return Stub(f"{self.__name__}()")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        classes = [base for base in bases if isinstance(base, type)]
        first = next(base for base in bases if isinstance(base, Stub))
        if first is not self or any(issubclass(base, StubBase) for base in classes):
            return ()  # one base stands for all stand-ins
        plain = any(not issubclass(_Members, type(base)) for base in classes)
        return (StubBase,) if plain else (StubBaseWithMembers,)

    def __repr__(self) -> str:
        return f"<stub {self.__name__}>"

    def __fspath__(self) -> str:
        return str(self.__name__)

    def __enter__(self) -> Stub:
        return self

    def __exit__(self, *_: object) -> bool:
        return False

    def __getitem__(self, _: Any) -> Stub:
        return self

    def __setitem__(self, _: Any, __: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __contains__(self, _: Any) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    # A missing package counts as newer than whatever it is compared with.
    def __ge__(self, _: Any) -> bool:
        return True

    __gt__ = __ge__

    def __lt__(self, _: Any) -> bool:
        return False

    __le__ = __lt__

    def __instancecheck__(self, _: Any) -> bool:
        return False

    __subclasscheck__ = __instancecheck__


def _same(self: Stub, *_: Any) -> Stub:
    return self


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"]
for _operator in BINARY:
    setattr(Stub, f"__{_operator}__", _same)
    setattr(Stub, f"__r{_operator}__", _same)
for _operator in ("neg", "pos", "abs", "invert"):
    setattr(Stub, f"__{_operator}__", _same)


class StubModule(Stub, types.ModuleType):
    """A missing module, or a name that an installed package lacks: `from package import name`."""

    def __init__(self, name: str) -> None:
        types.ModuleType.__init__(self, name)
        Stub.__init__(self, name)
        self.__dict__["__all__"] = []


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what no other finder found: the last one of sys.meta_path.

    `allowed` names the modules it may make; None is any that `is_missing` confirms. `made` are those
    it made, in order.
    """

    def __init__(
        self,
        allowed: Sequence[str] | None = None,
        is_missing: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self._allowed = None if allowed is None else frozenset(allowed)
        self._is_missing = is_missing
        self.made: list[str] = []

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        wanted = self._is_missing(name) if self._allowed is None else name in self._allowed
        if not wanted:
            return None
        if name not in self.made:
            self.made.append(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def made_by_fix(root: Path, stubs: Sequence[str]) -> list[str]:
    """The modules that a fix made in a package that is stubbed: one that is only found with a path
    of its own, as tests set it. Where the package is, they are."""
    made = []
    for name in ("_device", "_torch_device"):
        for file in root.rglob(f"{name}.py"):
            parts = file.parent.relative_to(root).parts
            packages = [".".join(parts[start:]) for start in range(len(parts))]
            made += [f"{package}.{name}" for package in packages if package in stubs]
    return made


def install(finder: StubFinder) -> None:
    """Missing packages have a version, too: code asks for it to choose what it imports."""
    import importlib.metadata

    find = importlib.metadata.version

    def version(name: str) -> str:
        try:
            return find(name)
        except importlib.metadata.PackageNotFoundError:
            return VERSION

    importlib.metadata.version = version
    sys.meta_path.append(finder)
