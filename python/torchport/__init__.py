"""torchport: port PyTorch programs to any device, and prove it without the hardware.

The work on sources is done by the `torchport` program; ``python -m torchport`` starts the same one.
What works on Python's objects is here; torch is imported when the first of it is used.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from importlib.util import find_spec as _find_spec

__version__ = _version("torchport")

# A name is looked for in these packages' __all__, in this order.
_PARTS = ("torchport.place", "torchport.observe", "torchport.deploy")


def __getattr__(name: str):  # type: ignore[no-untyped-def]
    if not name.startswith("_"):
        if _find_spec(f"torchport.{name}"):  # torchport.virtual is to be had before torch
            return _import_module(f"torchport.{name}")
        for part in _PARTS:
            module = _import_module(part)
            if name in module.__all__:
                value = getattr(module, name)
                globals()[name] = value
                return value
    raise AttributeError(f"module 'torchport' has no attribute {name!r}")


def __dir__() -> list[str]:
    names = [name for part in _PARTS for name in _import_module(part).__all__]
    return sorted([*names, "__version__", "virtual"])
