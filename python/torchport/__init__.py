"""torchport: port PyTorch programs to any device, and prove it without the hardware.

The `torchport` program works on sources; ``python -m torchport`` starts the same program.
This package works on Python objects. It imports torch on first use, so that
`torchport.virtual.enable()` can run before.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from torchport import backend, build, virtual

    __version__: str
    from torchport._runtimes import UnsupportedTorch
    from torchport.deploy.artefact.errors import ExportError, NotVerified
    from torchport.deploy.artefact.exporting import Exported, export
    from torchport.deploy.bench.measuring import benchmark
    from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow
    from torchport.deploy.bench.timing import timed
    from torchport.observe.enforcing import Enforced, enforce
    from torchport.observe.require import require_same_device
    from torchport.observe.result import Verification
    from torchport.observe.verifying import verify
    from torchport.place.adoption import Adopted, Adoption, adopt
    from torchport.place.checkpoints import CheckpointError, LoadReport, load, load_report
    from torchport.place.consistency import (
        SharedParameters,
        check_module,
        keep_shared_parameters,
        shared_parameters,
    )
    from torchport.place.guards import GpuRequired, gpu_required, require_gpu, retry_on_cpu
    from torchport.place.kernels import Kernel, kernel
    from torchport.place.loader import Loader, loader
    from torchport.place.module_finding import ModuleFinding
    from torchport.place.modules import DeviceModule, follow_input
    from torchport.place.moving import numpy, on_device, to
    from torchport.place.parallel import ParallelPlan, parallelize, plan_parallel
    from torchport.place.policy import DeviceChoice, RunProfile, choose_device, device, run_profile
    from torchport.place.saving import save
    from torchport.place.unwrapping import full_state_dict, unwrap_model

__all__ = [
    "Adopted",
    "Adoption",
    "BenchmarkReport",
    "BenchmarkRow",
    "CheckpointError",
    "DeviceChoice",
    "DeviceModule",
    "Enforced",
    "ExportError",
    "Exported",
    "GpuRequired",
    "Kernel",
    "LoadReport",
    "Loader",
    "ModuleFinding",
    "NotVerified",
    "ParallelPlan",
    "RunProfile",
    "SharedParameters",
    "UnsupportedTorch",
    "Verification",
    "__version__",
    "adopt",
    "backend",
    "benchmark",
    "build",
    "check_module",
    "choose_device",
    "device",
    "enforce",
    "export",
    "follow_input",
    "full_state_dict",
    "gpu_required",
    "keep_shared_parameters",
    "kernel",
    "load",
    "load_report",
    "loader",
    "numpy",
    "on_device",
    "parallelize",
    "plan_parallel",
    "require_gpu",
    "require_same_device",
    "retry_on_cpu",
    "run_profile",
    "save",
    "shared_parameters",
    "timed",
    "to",
    "unwrap_model",
    "verify",
    "virtual",
]

# Where a name is defined. A test compares this with __all__ and with the imports above.
_HOMES = {
    "ExportError": "deploy.artefact.errors",
    "NotVerified": "deploy.artefact.errors",
    "Exported": "deploy.artefact.exporting",
    "export": "deploy.artefact.exporting",
    "benchmark": "deploy.bench.measuring",
    "BenchmarkReport": "deploy.bench.report",
    "BenchmarkRow": "deploy.bench.report",
    "timed": "deploy.bench.timing",
    "Enforced": "observe.enforcing",
    "enforce": "observe.enforcing",
    "require_same_device": "observe.require",
    "Verification": "observe.result",
    "verify": "observe.verifying",
    "Adopted": "place.adoption",
    "Adoption": "place.adoption",
    "adopt": "place.adoption",
    "CheckpointError": "place.checkpoints",
    "LoadReport": "place.checkpoints",
    "load": "place.checkpoints",
    "load_report": "place.checkpoints",
    "ModuleFinding": "place.module_finding",
    "SharedParameters": "place.consistency",
    "check_module": "place.consistency",
    "keep_shared_parameters": "place.consistency",
    "shared_parameters": "place.consistency",
    "GpuRequired": "place.guards",
    "gpu_required": "place.guards",
    "require_gpu": "place.guards",
    "retry_on_cpu": "place.guards",
    "Kernel": "place.kernels",
    "kernel": "place.kernels",
    "Loader": "place.loader",
    "loader": "place.loader",
    "DeviceModule": "place.modules",
    "follow_input": "place.modules",
    "numpy": "place.moving",
    "on_device": "place.moving",
    "to": "place.moving",
    "ParallelPlan": "place.parallel",
    "parallelize": "place.parallel",
    "plan_parallel": "place.parallel",
    "DeviceChoice": "place.policy",
    "RunProfile": "place.policy",
    "choose_device": "place.policy",
    "device": "place.policy",
    "run_profile": "place.policy",
    "save": "place.saving",
    "full_state_dict": "place.unwrapping",
    "unwrap_model": "place.unwrapping",
    "UnsupportedTorch": "_runtimes",
}


if not TYPE_CHECKING:  # a type checker that sees a module's __getattr__ accepts every name

    def __getattr__(name: str) -> _Any:
        if name in ("backend", "build", "virtual"):
            return _import_module(f"torchport.{name}")
        if name == "__version__":
            globals()[name] = version = _import_module("torchport._version").read()
            return version
        if name not in _HOMES:
            raise AttributeError(f"module 'torchport' has no attribute {name!r}")
        value = getattr(_import_module(f"torchport.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
