"""A real editor: Debian's neovim shows the findings of a file and applies a code action."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from editor import TORCHPORT

SCRIPT = Path(__file__).parent / "programs/neovim.lua"
SOURCE = "import torch\n\ntext = 'é😀'; x = torch.zeros(3).cuda()\nprint(x)\n"


def test_neovim_shows_a_finding_and_applies_its_fix(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[tool.torchport]\nmin-torch = "2.6"\n')
    file = project / "a.py"
    file.write_text(SOURCE)
    result = tmp_path / "result.json"
    run = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {SCRIPT}"],
        cwd=project,
        env=os.environ
        | {
            "SERVER_FILE": str(file),
            "SERVER_COMMAND": str(TORCHPORT),
            "SERVER_ACTION": "device=",
            "SERVER_RESULT": str(result),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    seen = json.loads(result.read_text()) if result.exists() else {}
    assert run.returncode == 0, (seen, run.stderr)
    # neovim's columns are bytes, the protocol's are UTF-16 units.
    column = len(SOURCE.splitlines()[2].split("cuda")[0].encode())
    assert seen["diagnostics"] == [[2, column, "TP101", "torchport"]]
    assert any("ignore TP101" in title for title in seen["titles"])
    fixed = file.read_text()
    assert "x = torch.zeros(3, device=DEVICE)" in fixed
    assert "torch.accelerator" in fixed  # the project's own settings are used
    assert "'é😀'" in fixed
