"""Names and messages of a model do not control the terminal, whichever command prints them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TORCHPORT = Path(sys.executable).with_name("torchport")
MODEL = """
import torch
from torch import nn

NAME = "layer\\x1b[2J\\x9b2J\\u202e"

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module(NAME, nn.Linear(2, 2))

    def forward(self, x):
        return getattr(self, NAME)(x)

class Raises(Net):
    def forward(self, x):
        raise RuntimeError(NAME)

def inputs():
    return torch.ones(1, 2)
"""
COMMANDS = [
    ("verify", "net:Net", "--input", "net:inputs"),
    ("verify", "net:Raises", "--input", "net:inputs"),
    ("verify", "net:\x1b[2J"),
    ("export", "net:Net", "--input", "net:inputs", "--to", "pt2", "-o", "net.pt2"),
    ("export", "net:Raises", "--input", "net:inputs", "--to", "pt2", "-o", "net.pt2"),
    ("bench", "net:Raises", "--input", "net:inputs"),
]


@pytest.mark.parametrize(
    "words", COMMANDS, ids=lambda words: " ".join(words[:2]).replace("\x1b", "ESC")
)
def test_a_model_does_not_control_the_terminal(words, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL)
    done = subprocess.run(
        [TORCHPORT, *words], cwd=tmp_path, capture_output=True, timeout=300, check=False
    )
    said = done.stdout + done.stderr
    for controls in (b"\x1b", b"\xc2\x9b", b"\xe2\x80\xae"):
        assert controls not in said.replace(b"\r\x1b[K", b""), said
    if "Raises" in words[1]:
        assert "\ufffd".encode() in said
