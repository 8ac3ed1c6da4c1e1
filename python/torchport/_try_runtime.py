"""``python -m torchport._try_runtime SITE FOLDER``: whether the libraries in FOLDER work.

`torchport runtime build` asks it before what it has compiled gets its name. SITE is the folder of the
package torch that they were compiled for. It loads all of them and computes on a virtual device: a
kernel whose schema torch has changed is refused then, and a symbol that torch lacks is missing.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from torchport import _runtimes
from torchport._startup import VARIABLE


def main() -> int:
    site, folder = sys.argv[1], Path(sys.argv[2])
    sys.path.insert(0, site)
    os.environ[VARIABLE] = "cuda:1"
    _runtimes.find = lambda torch: folder
    from torchport import _startup

    _startup.install()
    try:
        import torch

        assert torch.ones(2, device="cuda").add(1).tolist() == [2.0, 2.0]
        for name in ("libtorchport.so", "libtorchport_bindings.so"):
            _runtimes.load(folder / name, ctypes.PyDLL)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(f"torch {torch.__version__} computes on {torch.cuda.get_device_name()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
