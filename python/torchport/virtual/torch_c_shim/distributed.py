"""Adds the names of `torch._C._distributed_c10d` that only builds with NCCL have.

torch.distributed looks for them when it is first imported. The backend with the name nccl is C++:
gloo with the rules of NCCL (src/runtime/virtual/distributed/distributed_nccl.cpp).
"""

from __future__ import annotations

from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport.virtual import alike_ranks

KINDS = ("cuda",)

TIMEOUT = timedelta(minutes=10)


def _not_there(name: str) -> Any:
    def raises(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"torchport: virtual devices do not support {name}: their collectives run over gloo"
        )

    return raises


def _options_like(options: Any, kind: type) -> Any:
    """A copy of a backend's options, for torch.distributed.split_group."""
    if options.backend != "nccl":
        raise TypeError(f"cannot copy the options of {options.backend}")
    copy = kind()
    for name in ("_timeout", "group_name", "global_ranks_in_group"):
        setattr(copy, name, getattr(options, name))
    return copy


def _nccl(torch: ModuleType) -> type:
    """Makes the class ProcessGroupNCCL. It makes native backends; isinstance() goes by name."""

    c10d = torch._C._distributed_c10d

    class Options(c10d.Backend.Options):  # type: ignore[name-defined, misc]
        def __init__(self, is_high_priority_stream: bool = False) -> None:
            super().__init__("nccl", TIMEOUT)
            self.is_high_priority_stream = is_high_priority_stream
            self.config = SimpleNamespace(
                blocking=1, cga_cluster_size=4, min_ctas=1, max_ctas=32, cta_policy=0
            )
            self.split_from = None
            self.split_color = 0

        def __deepcopy__(self, _: Any) -> Options:
            like: Options = _options_like(self, Options)
            return like

    by_name = alike_ranks.instances_by_name(torch, "nccl")

    class ProcessGroupNCCL(metaclass=by_name):  # type: ignore[metaclass]
        NCCL_CTA_POLICY_DEFAULT = 0
        NCCL_CTA_POLICY_EFFICIENCY = 1
        NCCL_CTA_POLICY_ZERO = 2

        def __new__(
            cls, store: Any, rank: int, size: int, options: Any = None, device: Any = None
        ) -> Any:
            if alike_ranks.wanted():
                return alike_ranks.backend(torch, "nccl", store, rank, size)
            timeout = TIMEOUT if options is None else options._timeout
            gloo = c10d.ProcessGroupGloo(store, rank, size, timeout=timeout)
            # Backends can be passed to and from C++ only within a group.
            group = c10d.ProcessGroup(store, rank, size)
            group._register_backend(torch.device("cpu"), c10d.ProcessGroup.BackendType.GLOO, gloo)
            torch.ops.torchport.add_collectives(group.boxed(), "nccl")
            return group._get_backend(torch.device("cuda"))

        @staticmethod
        def get_build_nccl_version() -> tuple[int, int, int]:
            major, minor, patch = torch.cuda.nccl.version()
            return major, minor, patch

        @staticmethod
        def get_runtime_nccl_version() -> tuple[int, int, int]:
            major, minor, patch = torch.cuda.nccl.version()
            return major, minor, patch

    ProcessGroupNCCL.Options = Options  # type: ignore[attr-defined]
    ProcessGroupNCCL.NCCLConfig = SimpleNamespace  # type: ignore[attr-defined]
    return ProcessGroupNCCL


# Methods of ProcessGroupNCCL that Backend lacks. Python sees the virtual backend as a plain
# Backend.
_METHODS = {
    "perform_nocolor_split": lambda self, device: None,
    "comm_split_count": lambda self: 0,
    "_group_start": lambda self: None,
    "_group_end": lambda self: None,
    "_is_initialized": lambda self: True,
    "_add_ephemeral_timeout": lambda self, timeout: None,
    "register_mem_pool": _not_there("ProcessGroupNCCL.register_mem_pool"),
    "deregister_mem_pool": _not_there("ProcessGroupNCCL.deregister_mem_pool"),
}


def _add_nccl(torch: ModuleType) -> None:
    c10d = torch._C._distributed_c10d
    if hasattr(c10d, "ProcessGroupNCCL"):
        return

    c10d.ProcessGroupNCCL = _nccl(torch)
    c10d._DEFAULT_PG_NCCL_TIMEOUT = TIMEOUT
    options = c10d.ProcessGroupNCCL.Options
    # TORCH_DISTRIBUTED_DEBUG=DETAIL wraps the backend, so the method belongs to the base class.
    c10d.Backend.Options.__deepcopy__ = lambda self, _: _options_like(self, options)
    if not hasattr(c10d.Backend, "options"):
        c10d.Backend.options = property(lambda self: options())
    for name, method in _METHODS.items():
        if not hasattr(c10d.Backend, name):
            setattr(c10d.Backend, name, method)


def bindings(torch: ModuleType) -> dict[str, Any]:
    init = torch._C._c10d_init

    def c10d_init() -> bool:
        """Fills torch._C._distributed_c10d. torch.distributed calls it before using it."""
        done: bool = init()
        _add_nccl(torch)
        if alike_ranks.wanted():
            alike_ranks.replace(torch)
        return done

    return {"_c10d_init": c10d_init}
