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
    assert run.stdout.count("the parameters after 3 steps, too") == 2
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


def test_a_device_that_the_port_does_not_use_shows_nothing(prove) -> None:
    cpu = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
    run = prove(program(CUDA), program(cpu), "--elsewhere", "none,mps")
    assert run.returncode == 1
    assert "nothing was computed on mps" in run.stdout
    assert run.stdout.endswith("\nsame program, the results elsewhere are not known\n")


def test_a_port_that_no_longer_uses_the_device_is_not_the_same(prove) -> None:
    run = prove(program(CUDA), program('device = torch.device("cpu")'), "--elsewhere", "none")
    assert run.returncode == 1
    assert "the original computes on cuda, and the port does not" in run.stdout
    assert "NOT the same program" in run.stdout


LAST = {
    "left out": "(device.type == 'cuda' or epoch < 2) and step.step()",
    "ten times as large": "[g.update(lr=g['lr'] * 10) for g in step.param_groups "
    "if device.type != 'cuda' and epoch == 2]; step.step()",
}


@pytest.mark.parametrize("how", LAST)
@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, "SGD(net.parameters(), 1e-4)"])
def test_the_last_step_is_compared(prove, optimizer: str, how: str) -> None:
    ported = program(ANY, optimizer, act=LAST[how], said="loss.item()")
    run = prove(program(CUDA, optimizer, said="loss.item()"), ported, "--elsewhere", "none")
    assert run.returncode == 1, run.stdout
    assert "left other parameters after the last ones" in run.stdout
    assert run.stdout.endswith("\nsame program, the results elsewhere are not known\n")


SAVE = "torch.save(net.state_dict(), 'm.pt') or open('m.txt', 'w').write(f'{loss.item()}') and 7"


def test_files_are_compared_elsewhere(prove) -> None:
    files = ("--files", "m.pt", "--files", "m.txt")
    run = prove(program(CUDA, said=SAVE), program(ANY, said=SAVE), "--elsewhere", "none", *files)
    assert run.returncode == 0, run.stdout
    other = SAVE.replace(
        "net.state_dict()",
        "{k: v + 1 * (device.type != 'cuda') for k, v in net.state_dict().items()}",
    )
    run = prove(program(CUDA, said=SAVE), program(ANY, said=other), "--elsewhere", "none", *files)
    assert run.returncode == 1
    assert "m.pt differs: " in run.stdout
    assert run.stdout.endswith("NOT the same results elsewhere\n")


def test_a_file_that_is_not_written_elsewhere_is_missing(prove) -> None:
    only = SAVE.replace("'m.txt'", "'m.txt' if device.type == 'cuda' else 'n.txt'")
    for more in ((), ("--in-place",)):
        run = prove(
            program(CUDA, said=SAVE), program(ANY, said=only), "--elsewhere", "none",
            "--files", "m.txt", *more,
        )  # fmt: skip
        assert run.returncode == 1
        assert "m.txt is missing from the second run" in run.stdout


def test_a_file_that_cannot_be_compared_is_not_called_the_same(prove) -> None:
    write = "open('m.bin', 'wb').write(bytes([0, 1, device.type == 'cuda']))"
    run = prove(program(CUDA, said=write), program(ANY, said=write), "--elsewhere", "none",
                "--files", "m.bin")  # fmt: skip
    assert run.returncode == 1
    assert "m.bin cannot be compared" in run.stdout
    assert run.stdout.endswith("\nsame program, the results elsewhere are not known\n")


def test_a_device_that_nobody_asked_for_and_the_port_does_not_use_is_named(prove) -> None:
    cpu = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
    run = prove(program(CUDA), program(cpu))
    assert run.returncode == 0, run.stdout
    assert run.stdout.endswith("same results elsewhere, but it does not use virtual mps\n")
