"""The fixtures of tests/build, for builds against a torch with CUDA."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_path = Path(__file__).parents[1] / "build" / "conftest.py"
_spec = importlib.util.spec_from_file_location("torchport_tests_build_conftest", _path)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

builds, stands_in = _module.builds, _module.stands_in
