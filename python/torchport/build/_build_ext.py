"""A ``build_ext`` that follows the plan, based on the ``BuildExtension`` of torch."""

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

_CUDA_MACROS: list[tuple[str, str | None]] = [("TORCHPORT_WITH_CUDA", "1"), ("WITH_CUDA", None)]
# What is defined if a part for GPUs is compiled, by the outcome of the plan.
_MACROS: dict[str, list[tuple[str, str | None]]] = {
    "cuda": _CUDA_MACROS,
    "rocm": [*_CUDA_MACROS, ("TORCHPORT_WITH_ROCM", "1"), ("WITH_HIP", None)],
    "xpu": [("TORCHPORT_WITH_XPU", "1")],
}


class NoTorch(build_ext):  # type: ignore[misc]  # setuptools brings no types
    """Replaces BuildExtension without torch: it can make a source distribution but no extension."""

    @classmethod
    def with_options(cls, **options: Any) -> type[NoTorch]:
        return cls

    def build_extensions(self) -> None:
        try:
            plan()
        except BuildRefused as refused:
            raise SetupError(str(refused)) from None


def _follow(decided: Plan, cpp_extension: ModuleType) -> None:
    """Makes torch's own build code follow the plan. Otherwise it chooses its own toolkit, and fails
    if there is neither a list of architectures nor a GPU, or if it cannot split the list."""
    if decided.cuda_home is not None:
        vars(cpp_extension)["CUDA_HOME"] = str(decided.cuda_home)
    if decided.outcome == "rocm":
        vars(cpp_extension).update(ROCM_HOME=str(decided.compiler), IS_HIP_EXTENSION=True)
    os.environ.update(decided.environment)


def _complete(extension: TorchExtension, decided: Plan, cpp_extension: ModuleType) -> None:
    """Gives the extension the flags of CppExtension, CUDAExtension or SyclExtension."""
    outcome = decided.outcome
    part = extension.sycl_sources if outcome == "xpu" else extension.cuda_sources
    device = outcome in _MACROS and bool(part)
    sources = extension.sources_for(outcome)
    # For ROCm, torch gives the sources other names as it translates them.
    every = (*extension.cuda_sources, *extension.sycl_sources)
    extension.left_out = [one for one in every if one not in sources]
    makers = {"cuda": "CUDAExtension", "rocm": "CUDAExtension", "xpu": "SyclExtension"}
    make = getattr(cpp_extension, makers[outcome] if device else "CppExtension")
    # These functions append to the lists that they are given.
    options = {k: list(v) if isinstance(v, list) else v for k, v in extension.options.items()}
    whole = make(extension.name, sources, **options)
    if device:
        whole.define_macros = [*whole.define_macros, *_MACROS[outcome]]
    if device and outcome == "cuda":
        _add_headers(whole, decided)
        _find_runtime(whole, decided)
    keep = ("cuda_sources", "sycl_sources", "left_out", "options")
    extension.__dict__.update({k: v for k, v in vars(whole).items() if k not in keep})


def _add_headers(extension: Any, decided: Plan) -> None:
    """Adds CUDA headers of packages: toolkits in containers often have only a few."""
    if decided.cuda_home and not (decided.cuda_home / "include" / "cusparse.h").is_file():
        extension.include_dirs = [*extension.include_dirs, *decided.headers]


def _find_runtime(extension: Any, decided: Plan) -> None:
    """Links libcudart by its path: nvidia's packages have libcudart.so.13, but -lcudart looks for
    libcudart.so."""
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
    """Makes the class BuildExtension. This imports torch, which the module itself does not."""
    if find_spec("torch") is None:
        return NoTorch
    from torch.utils import cpp_extension

    class BuildExtension(cpp_extension.BuildExtension):
        """Builds the extensions that ``torchport.build.extension`` declares. Extensions that torch
        declares are built as usual, with the plan's toolkit and architectures.

        Raises:
            SetupError: The plan is a refusal, or this torch is not the target's torch. The message
                gives the reason.
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
            # The stubs for the CUDA part depend on the symbols that the compiled objects call.
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
            left_out = ext.left_out
            try:
                self._plan.write_extension_stub(source, ext.name, "setuptools", left_out, objects)
            except BuildRefused as refused:
                raise SetupError(str(refused)) from None
            compiled: list[str] = self.compiler.compile(
                [os.path.relpath(source)],
                output_dir=str(folder),
                include_dirs=list(ext.include_dirs),
                extra_postargs=["-O0", "-g0"],  # stubs only raise an error: speed does not matter
            )
            return compiled

    return BuildExtension
