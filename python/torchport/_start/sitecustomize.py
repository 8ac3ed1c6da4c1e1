"""Sets virtual devices up in a Python that does not have torchport among its packages.

`torchport run` puts this folder into PYTHONPATH if the program's Python is not that of torchport's own
environment (pipx, `uv tool`), or does not read .pth files from there (`pip install --target`). Python
imports a module of this name when it starts. It may be any Python, so that nothing here may fail or use
new syntax, and the sitecustomize that this one hides is run afterwards.
"""

import os
import sys


def _make_importable(package):  # type: (str) -> None
    """Lets `import torchport` find this package, and no other that is installed beside it."""
    import importlib.util

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):  # type: ignore
            if name != "torchport":
                return None
            return importlib.util.spec_from_file_location(
                name,
                os.path.join(package, "__init__.py"),
                submodule_search_locations=[package],
            )

    sys.meta_path.append(Finder)  # behind the others: an installed torchport is preferred


def _refuse():  # type: () -> None
    """Lets `import torch` and `import torchport` fail in a Python that torchport does not support.

    Without this, a program would run without the virtual devices that `torchport run` announced. A
    program that imports neither is not disturbed.
    """
    reason = "torchport: this needs Python 3.10 or newer; %s is Python %d.%d" % (
        sys.executable,
        sys.version_info[0],
        sys.version_info[1],
    )

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):  # type: ignore
            if name == "torchport" and sys.argv[:1] == ["-m"]:  # a command of ours
                sys.stderr.write(reason + "\n")
                raise SystemExit(2)
            if name == "torchport" or (name == "torch" and os.environ.get("TORCHPORT_VIRTUAL")):
                raise ImportError(reason)
            return None

    sys.meta_path.insert(0, Finder)


def _run_next(here):  # type: (str) -> None
    """Runs the sitecustomize that Python would have found without this folder."""
    from importlib.machinery import PathFinder

    rest = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        import importlib.util

        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _start():  # type: () -> None
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.version_info >= (3, 10):
        try:
            _make_importable(os.path.dirname(here))
            if os.environ.get("TORCHPORT_VIRTUAL"):
                __import__("torchport._startup")
        except Exception as error:
            sys.stderr.write("torchport: no virtual devices in this process: %s\n" % (error,))
    elif sys.version_info >= (3, 4):
        _refuse()
    if sys.version_info >= (3, 4):
        _run_next(here)


_start()
