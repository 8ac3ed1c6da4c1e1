"""What `torchport prove` says of other devices: results decide, and where nothing shows them, it says so."""

from __future__ import annotations

import pytest

TRAIN = """import torch
from torch import nn

{device}
torch.manual_seed(3)
net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)).to(device)
step = torch.optim.{optimizer}
x = torch.randn(32, 8).to(device)
y = (x.sum(1) > 0).long()
for epoch in range(3):
    loss = nn.functional.cross_entropy(net(x), y)
    step.zero_grad()
    loss.backward()
    {act}
print({said})
"""
CUDA = 'device = torch.device("cuda")'
ANY = 'device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")'
OPTIMIZERS = (
    "Adam(net.parameters(), 1e-2)",
    "SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=0.01)",
)


def program(
    device: str,
    optimizer: str = OPTIMIZERS[0],
    act: str = "step.step()",
    said: str = "'done'",
) -> str:
    return TRAIN.format(device=device, optimizer=optimizer, act=act, said=said)


@pytest.fixture
def prove(torchport):
    def run(original: str, ported: str, *words: str):
        torchport.write("a/t.py", original)
        torchport.write("b/t.py", ported)
        return torchport("prove", *words, "a/t.py", "b/t.py")

    return run


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_dropout_and_optimizers_have_other_operators_elsewhere(prove, optimizer) -> None:
    run = prove(program(CUDA, optimizer), program(ANY, optimizer), "--elsewhere", "none,mps")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "so the outputs are compared" not in run.stdout
    assert run.stdout.count("steps of optimizers have no pair, and what follows agrees") == 2
    assert run.stdout.endswith("\nsame program, same results elsewhere\n")


LATE = "device.type == 'cuda' and step.step()"


def test_a_step_that_is_missing_elsewhere_is_found(prove) -> None:
    shown = "loss.item()"
    run = prove(
        program(CUDA, said=shown), program(ANY, act=LATE, said=shown), "--elsewhere", "none"
    )
    assert run.returncode == 1
    assert "output differs at line 1" in run.stdout
    assert run.stdout.endswith("\nsame program, NOT the same results elsewhere\n")


def test_words_without_a_number_show_nothing(prove) -> None:
    run = prove(program(CUDA), program(ANY, act=LATE), "--elsewhere", "none")
    assert run.returncode == 1
    assert "has no number, so that this shows nothing" in run.stdout
    assert run.stdout.endswith("\nsame program, the results elsewhere are not known\n")


def test_lines_that_the_program_does_not_print_are_an_error(prove) -> None:
    run = prove(program(CUDA), program(ANY), "--elsewhere", "none", "--lines", "^epoch")
    assert run.returncode == 2
    assert "the original prints no such line" in run.stderr


def test_files_of_other_devices_are_not_called_compared(prove) -> None:
    save = "torch.save(net.state_dict(), 'm.pt') or loss.item()"
    original, ported = program(CUDA, said=save), program(ANY, said=save)
    run = prove(original, ported, "--elsewhere", "none", "--files", "m.pt")
    assert run.returncode == 0, run.stdout
    assert "files are not compared here" in run.stdout
