"""Placement: one device policy, moving, modules, checkpoints."""

from torchport.place.adoption import Adoption, adopt
from torchport.place.checkpoints import CheckpointError, load, report
from torchport.place.consistency import ModuleFinding, Ties, check_module, keep_ties, ties
from torchport.place.guards import GpuRequired, gpu_required, require_gpu, retry_on_cpu
from torchport.place.kernels import Kernel, kernel
from torchport.place.loader import Loader, loader
from torchport.place.modules import DeviceModule, follow_input
from torchport.place.moving import numpy, on_device, to
from torchport.place.parallel import ParallelPlan, parallel_plan, parallelize, plan_parallel
from torchport.place.policy import choose, device, profile
from torchport.place.saving import save
from torchport.place.unwrapping import full_state_dict, unwrap

__all__ = [
    "Adoption",
    "CheckpointError",
    "DeviceModule",
    "GpuRequired",
    "Kernel",
    "Loader",
    "ModuleFinding",
    "ParallelPlan",
    "Ties",
    "adopt",
    "check_module",
    "choose",
    "device",
    "follow_input",
    "full_state_dict",
    "gpu_required",
    "keep_ties",
    "kernel",
    "load",
    "loader",
    "numpy",
    "on_device",
    "parallel_plan",
    "parallelize",
    "plan_parallel",
    "profile",
    "report",
    "require_gpu",
    "retry_on_cpu",
    "save",
    "ties",
    "to",
    "unwrap",
]
