"""torchport.require_same_device, on and off."""

from __future__ import annotations

CODE = """
import torch, torchport
try:
    torchport.require_same_device(weight=torch.ones(2, device="meta"), x=torch.ones(2))
    print("passed")
except RuntimeError as error:
    print(error)
"""


def test_on_it_names_the_tensors(python) -> None:
    told = python("-c", CODE).stdout
    assert "got weight on meta and x on cpu;" in told


def test_off_by_python_or_by_the_environment(python) -> None:
    assert python("-O", "-c", CODE).stdout == "passed\n"
    assert python("-c", CODE, TORCHPORT_CHECKS="0").stdout == "passed\n"


def test_off_it_is_an_empty_function(python) -> None:
    code = "import torchport, dis; print(len(list(dis.get_instructions(torchport.require_same_device))))"
    assert int(python("-O", "-c", code).stdout) <= 4
