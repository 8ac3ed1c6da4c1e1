"""What `torchport inspect` says of programs and traces that are made for one device, and what it says to do."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("own_folder")]

TORCHPORT = Path(sys.executable).with_name("torchport")


class Steps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) + torch.arange(4, device=x.device)


def notes_of(path: str) -> str:
    done = subprocess.run([TORCHPORT, "inspect", path], capture_output=True, text=True, check=True)
    return "\n".join(line for line in done.stdout.splitlines() if line.startswith("note"))


def test_a_program_has_no_map_location() -> None:
    x = torch.ones(2, 4)
    net = Steps()
    wanted = net(x)
    torch.export.save(torch.export.export(net.cuda(), (x.cuda(),)), "net.pt2")
    said = notes_of("net.pt2")
    assert "made for cuda:0; torch.export.load has no map_location" in said
    assert "load it with map_location" not in said
    with pytest.raises(TypeError, match="map_location"):
        torch.export.load("net.pt2", map_location="cpu")
    # What it says to do.
    assert "torch.export.passes.move_to_device_pass(program, device)" in said
    from torch.export.passes import move_to_device_pass

    moved = move_to_device_pass(torch.export.load("net.pt2"), "cpu")
    torch.testing.assert_close(moved.module()(x), wanted)


def test_a_trace_keeps_the_devices_of_its_code() -> None:
    x = torch.ones(2, 4)
    net = Steps()
    torch.jit.trace(net.cuda(), x.cuda()).save("net.ts")
    said = notes_of("net.ts")
    assert "torch.jit.load fails on a machine without cuda:0" in said
    assert "its code names cuda:0, which neither map_location nor .to() changes" in said
    moved = torch.jit.load("net.ts", map_location="cpu")
    assert {one.device.type for one in moved.parameters()} == {"cpu"}
    with pytest.raises(RuntimeError, match="same device"):
        moved(x)
    # What it says to do.
    torch.jit.script(net).save("script.ts")
    assert "its code names" not in notes_of("script.ts")
    scripted = torch.jit.load("script.ts", map_location="cpu")
    torch.testing.assert_close(scripted(x), net.cpu()(x))
