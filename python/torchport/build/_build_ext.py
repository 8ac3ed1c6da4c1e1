"""A ``build_ext`` that follows the plan: torch's own, told what to build."""

from __future__ import annotations

import functools
import os
import re
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from setuptools.command.build_ext import build_ext
from setuptools.errors import SetupError

from torchport.build._extension import TorchExtension
from torchport.build._plan import BuildRefused, Plan, plan
from torchport.build._target import check_target

_MACROS = [("TORCHPORT_WITH_CUDA", "1"), ("WITH_CUDA", None)]


class NoTorch(build_ext):  # type: ignore[misc]  # setuptools brings no types
    """Used without torch: a source distribution can be made, an extension cannot."""

    @classmethod
    def with_options(cls, **options: Any) -> type[NoTorch]:
        return cls

    def build_extensions(self) -> None:
        try:
            plan()
        except BuildRefused as refused:
            raise SetupError(str(refused)) from None


def _follow(decided: Plan, cpp_extension: ModuleType) -> None:
    """Brings torch's own code to the plan's end: no IndexError where there is neither a list of
    architectures nor a GPU, no list that it cannot split, no other toolkit."""
    if decided.cuda_home is not None:
        vars(cpp_extension)["CUDA_HOME"] = str(decided.cuda_home)
    os.environ.update(decided.environment)


def _complete(extension: TorchExtension, decided: Plan, cpp_extension: ModuleType) -> None:
    """Gives the extension the flags of CppExtension or CUDAExtension."""
    cuda = decided.outcome == "cuda" and bool(extension.cuda_sources)
    make = cpp_extension.CUDAExtension if cuda else cpp_extension.CppExtension
    sources = extension.sources if cuda else extension.host_sources
    # These functions append to the lists that they are given.
    options = {k: list(v) if isinstance(v, list) else v for k, v in extension.options.items()}
    whole = make(extension.name, sources, **options)
    if cuda:
        whole.define_macros = [*whole.define_macros, *_MACROS]
        _add_headers(whole, decided)
        _find_runtime(whole, decided)
    keep = ("cuda_sources", "options")
    extension.__dict__.update({k: v for k, v in vars(whole).items() if k not in keep})


def _add_headers(extension: Any, decided: Plan) -> None:
    """Toolkits of containers often have the compiler and the runtime alone."""
    if decided.cuda_home and not (decided.cuda_home / "include" / "cusparse.h").is_file():
        extension.include_dirs = [*extension.include_dirs, *decided.headers]


def _find_runtime(extension: Any, decided: Plan) -> None:
    """The nvidia packages have libcudart.so.13 and no libcudart.so, which -lcudart looks for."""
    home = decided.cuda_home
    if home is None or any((home / lib / "libcudart.so").exists() for lib in ("lib64", "lib")):
        return
    found = [*home.glob("lib*/libcudart.so.*")]
    found += decided.torch_root.parent.glob("nvidia/*/lib/libcudart.so.*")
    if found:
        extension.libraries = [name for name in extension.libraries if name != "cudart"]
        extension.extra_link_args = [*extension.extra_link_args, str(found[0])]


@functools.cache
def build_extension_class() -> type[build_ext]:
    """BuildExtension. Torch is imported here, and not before."""
    if find_spec("torch") is None:
        return NoTorch
    from torch.utils import cpp_extension

    class BuildExtension(cpp_extension.BuildExtension):
        """``build_ext`` for what ``torchport.build.extension`` made; torch's own extensions are
        built as usual, with the plan's toolkit and architectures.

        Raises setuptools' SetupError with the reason if the plan is a refusal or this torch is
        not the target's.
        """

        def build_extensions(self) -> None:
            try:
                self._plan = plan(Path(cpp_extension._TORCH_PATH)).require()
                required = self.distribution.install_requires or []
                notes = check_target(self._plan.torch_root, required)
            except BuildRefused as refused:
                raise SetupError(str(refused)) from None
            for line in (self._plan.describe(), *self._plan.notes, *notes):
                print(line, flush=True)
            _follow(self._plan, cpp_extension)
            for extension in self.extensions:
                if isinstance(extension, TorchExtension):
                    _complete(extension, self._plan, cpp_extension)
            super().build_extensions()

        def build_extension(self, ext: Any) -> None:
            if not isinstance(ext, TorchExtension):
                super().build_extension(ext)
                return
            # What stands in for the CUDA part depends on what the objects call.
            link = self.compiler.link_shared_object

            def link_with_extension_stub(objects: list[str], *rest: Any, **options: Any) -> None:
                link([*objects, *self._extension_stub(ext, objects)], *rest, **options)

            self.compiler.link_shared_object = link_with_extension_stub
            try:
                super().build_extension(ext)
            finally:
                self.compiler.link_shared_object = link

        def _extension_stub(self, ext: TorchExtension, objects: list[str]) -> list[str]:
            folder = Path(self.build_temp).resolve() / "torchport" / re.sub(r"\W", "_", ext.name)
            folder.mkdir(parents=True, exist_ok=True)
            source = folder / "extension_stub.cpp"
            left_out = [one for one in ext.cuda_sources if one not in ext.sources]
            try:
                self._plan.write_extension_stub(source, ext.name, "setuptools", left_out, objects)
            except BuildRefused as refused:
                raise SetupError(str(refused)) from None
            compiled: list[str] = self.compiler.compile(
                [os.path.relpath(source)],
                output_dir=str(folder),
                include_dirs=list(ext.include_dirs),
                extra_postargs=["-O0", "-g0"],  # it is there to say something once
            )
            return compiled

    return BuildExtension
