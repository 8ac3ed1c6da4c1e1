"""examples/legacy as its authors left it, trained and used on two virtual devices."""

from __future__ import annotations

import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

RELEASE = tuple(int(number) for number in version("torch").split(".")[:2])
LEGACY = Path(__file__).parents[2] / "examples" / "legacy"


def figure(output: str, line: str, name: str) -> float:
    found = re.search(rf"^{line}:.* {name} ([\d.]+)", output, re.MULTILINE)
    assert found, output
    return float(found[1])


@pytest.mark.long
def test_legacy_trains_unchanged(run_virtual, tmp_path):
    project = tmp_path / "legacy"
    shutil.copytree(LEGACY, project)
    # Its CUDA kernel is compiled, for the host, when it is first imported.
    options = {"cwd": project, "timeout": 500, "TORCH_EXTENSIONS_DIR": str(tmp_path / "built")}
    trained = run_virtual(project / "train.py", **options)
    # The bounds of `make demo`, which trains the ported copy.
    assert figure(trained.stdout, "final", "train_loss") < 0.15
    assert figure(trained.stdout, "final", "val_acc") > 0.9
    assert "peak 0 MB" not in trained.stdout
    assert list(tmp_path.glob("built/**/local_contrast_cuda.so"))
    used = run_virtual(project / "infer.py", **options)
    assert figure(used.stdout, "infer", "acc") > (0.9 if RELEASE >= (2, 10) else 0.85)
