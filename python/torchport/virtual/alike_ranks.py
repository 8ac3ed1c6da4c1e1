"""One process stands for a rank, and the other ranks are assumed to be alike (``--ranks 64``).

Collectives are C++ (src/runtime/virtual/distributed/alike_ranks.cpp). Here the names of
``torch._C._distributed_c10d`` get them, and the stores in which ranks meet become one that is in
this process, as nobody else comes.
"""

from __future__ import annotations

import os
from datetime import timedelta
from types import ModuleType
from typing import Any

VARIABLE = "TORCHPORT_RANKS"


def wanted() -> bool:
    return VARIABLE in os.environ


def instances_by_name(torch: ModuleType, name: str) -> type:
    """A metaclass: what isinstance() says are backends of this name. All are of one C++ class."""
    c10d = torch._C._distributed_c10d

    class ByName(type):
        def __instancecheck__(cls, one: Any) -> bool:
            return isinstance(one, c10d.Backend) and one.name() == name

    return ByName


def backend(torch: ModuleType, name: str, store: Any, rank: int, size: int) -> Any:
    """Makes the backend ``name`` of ``size`` ranks, of which this process is ``rank``."""
    c10d = torch._C._distributed_c10d
    # Backends can be passed to and from C++ only within a group.
    group = c10d.ProcessGroup(store, rank, size)
    torch.ops.torchport.add_alike_ranks(group.boxed(), name)
    return group._get_backend(torch.device("cpu"))


def replace(torch: ModuleType) -> None:
    """Puts gloo's class and the stores of several processes out of use."""
    c10d = torch._C._distributed_c10d
    gloo = c10d.ProcessGroupGloo

    class ProcessGroupGloo(metaclass=instances_by_name(torch, "gloo")):  # type: ignore[metaclass]
        _Options = getattr(gloo, "_Options", None)
        Options = getattr(gloo, "Options", _Options)

        def __new__(cls, store: Any, rank: int, size: int, *_: Any, **__: Any) -> Any:
            return backend(torch, "gloo", store, rank, size)

    class StoreOfOne:
        def __new__(cls, *_: Any, **__: Any) -> Any:
            return c10d.HashStore()

    c10d.ProcessGroupGloo = ProcessGroupGloo
    c10d.TCPStore = c10d.FileStore = StoreOfOne
    # A backend of gloo has options that C++ gives to no other.
    if not hasattr(c10d.Backend, "options"):
        c10d.Backend.options = property(
            lambda self: c10d.Backend.Options(self.name(), timedelta(minutes=30))
        )
