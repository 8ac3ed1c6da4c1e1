"""torchport: port PyTorch programs to any device, and prove it without the hardware.

The work is done by the `torchport` program; ``python -m torchport`` starts the same one.
"""

from importlib.metadata import version as _version

__version__ = _version("torchport")
