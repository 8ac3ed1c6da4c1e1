"""AOTInductor: compiles the model to a library for one device kind, which runs without Python."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import torch

from torchport import virtual
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats import _archive
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options, Runner
from torchport.deploy.artefact.quiet import quiet
from torchport.deploy.artefact.sample import Sample, named_outputs

if TYPE_CHECKING:
    from torchport.deploy.bench.modes import MeasuredModel

# Inductor's names of instruction sets -> the names that torch.cpu.get_capabilities() has (cpuinfo).
_INSTRUCTIONS = {
    "avx2": ("avx2", "fma3", "f16c"),
    "avx512": ("avx512_f", "avx512_dq", "avx512_vl", "avx512_bw", "fma3"),
    "avx512_vnni": ("avx512_vnni",),
    "amx_tile": ("amx_tile", "amx_bf16", "amx_int8"),
}


class CompiledPackage(Format):
    name = "aoti"
    suffix = ".pt2"
    bench_title = "AOTInductor"

    def check(self, options: Options) -> None:
        from torch._inductor.cpp_builder import get_cpp_compiler

        try:
            compiler = get_cpp_compiler()
        except Exception as error:
            raise ExportError(f"AOTInductor needs a C++ compiler: {error}") from error
        if shutil.which(compiler) is None:
            raise ExportError(
                f"AOTInductor needs a C++ compiler, and {compiler} was not found; install g++"
            )

    def write(self, subject: ExportedModel, path: Path, options: Options) -> dict[str, Any]:
        if subject.device.type != "cpu" and virtual.enabled():
            raise ExportError(
                f"AOTInductor compiles for a real {subject.device.type} device, and this one is "
                "virtual: export on a machine that has one, or with --device cpu"
            )

        def compile_to(buffer: BinaryIO) -> None:
            torch._inductor.aoti_compile_and_package(subject.graph, package_path=buffer)

        try:
            _archive.write(path, compile_to)
        except OSError:
            raise
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            raise ExportError(
                f"AOTInductor cannot compile the model: {type(error).__name__}: "
                + "\n  ".join(lines[:4])
            ) from error
        return {}

    def why_not_bench(self, device: torch.device, virtual: bool) -> str:
        from torchport.deploy.bench.modes import no_compiler  # modes imports the formats

        if virtual:
            return "AOTInductor does not run on virtual devices"
        return no_compiler(device, virtual)

    def bench_step(self, model: MeasuredModel) -> Callable[[], Any]:
        package = torch._inductor.aoti_load_package(str(model.artefact))

        def step() -> Any:
            with torch.inference_mode():
                return package(*model.args, **model.kwargs)

        return step

    def runner(self, subject: ExportedModel, path: Path) -> tuple[Runner, str]:
        model = _loaded(path)

        def run(sample: Sample) -> list[torch.Tensor]:
            return named_outputs(sample.call(model))[1]

        return run, f"AOTInductor {torch.__version__}"

    def attach(self, path: Path, contract: str) -> None:
        _archive.attach(path, contract)

    def kept_bytes(self, path: Path) -> int:
        return _archive.kept_bytes(path)

    def contract(self, path: Path) -> str | None:
        return _archive.contract(path)

    def host(self, subject: ExportedModel, path: Path) -> dict[str, Any]:
        metadata = _loaded(path).get_metadata()
        host: dict[str, Any] = {
            "device": subject.device.type,
            "system": metadata.get("AOTI_PLATFORM", platform.system().lower()),
            "machine": metadata.get("AOTI_MACHINE", platform.machine()),
            "torch": ".".join(torch.__version__.split(".")[:2]),
        }
        sets = metadata.get("AOTI_CPU_ISA", "").lower().split()
        if needed := [name for isa in sets for name in _INSTRUCTIONS.get(isa, (isa,))]:
            host["instructions"] = needed
        if subject.device.type == "cuda":
            host["cuda"] = torch.version.cuda
            host["capability"] = metadata.get("AOTI_COMPUTE_CAPABILITY") or None
        return host


def _loaded(path: Path) -> Any:
    with quiet("torch.export.pt2_archive._package"):  # it wants a certain ending of the path
        return torch._inductor.aoti_load_package(str(path))


FORMAT = CompiledPackage()
