"""torchport.enforce: a live module refuses calls in the wrong mode or with tensors elsewhere."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")

D = "cuda:0"


def net(device=D):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    return model.to(device).eval()


def call(model, x=None):
    with torch.inference_mode():
        return model(torch.ones(2, 4, device=D) if x is None else x)


def test_a_right_call_passes() -> None:
    model = net()
    enforced = torchport.enforce(model)
    assert enforced.device == torch.device(D)
    assert call(model).device == torch.device(D)


def test_training_mode_is_refused() -> None:
    model = net()
    torchport.enforce(model)
    model[1].train()
    with pytest.raises(RuntimeError, match=r"training mode: 1 \(Dropout\); call model.eval\(\)"):
        call(model)
    with pytest.raises(RuntimeError, match="Sequential cannot be enforced yet"):
        torchport.enforce(net().train())
    torchport.enforce(net().train(), evaluate=False)


def test_gradients_are_refused() -> None:
    model = net()
    torchport.enforce(model)
    with pytest.raises(RuntimeError, match="gradients are on"):
        model(torch.ones(2, 4, device=D))
    with torch.no_grad():
        model(torch.ones(2, 4, device=D))
    model = net()
    torchport.enforce(model, grad=True)
    model(torch.ones(2, 4, device=D))


def test_inputs_elsewhere_are_refused_by_name() -> None:
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x, batch=None, scale=None):
            return self.linear(x)

    model = Masked().to(D).eval()
    torchport.enforce(model, device="cuda")
    x = torch.ones(2, 4, device=D)
    batch = {"mask": torch.ones(2)}
    with torch.inference_mode():
        with pytest.raises(RuntimeError, match=r"its input is not: batch\['mask'\] on cpu"):
            model(x, batch=batch)
        with pytest.raises(RuntimeError, match="its input is not: x on cuda:1"):
            model(x.to("cuda:1"))
        model(x, scale=torch.tensor(2.0))  # a number on the host


def test_tensors_that_left_are_refused() -> None:
    model = net()
    torchport.enforce(model)
    model[0].to("cpu")
    with pytest.raises(RuntimeError, match=r"0.weight on cpu and 0.bias on cpu; call model.to"):
        call(model)
    model.to(D)
    model.scale = torch.ones(4)
    with pytest.raises(RuntimeError, match="scale on cpu"):
        call(model)
    with pytest.raises(RuntimeError, match=r"another device than cuda:1"):
        torchport.enforce(net(), device="cuda:1")


def test_all_that_is_wrong_is_said_at_once() -> None:
    model = net()
    torchport.enforce(model)
    model.train()
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(2, 4))
    assert str(caught.value).count("\n") == 3


def test_the_checks_can_be_removed() -> None:
    model = net()
    with torchport.enforce(model), pytest.raises(RuntimeError):
        model(torch.ones(2, 4, device=D))
    model(torch.ones(2, 4, device=D))
    enforced = torchport.enforce(model)
    enforced.remove()
    enforced.remove()
    model(torch.ones(2, 4, device=D))


def test_copies_are_enforced_too() -> None:
    model = net()
    torchport.enforce(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert call(other) is not None
        with pytest.raises(RuntimeError, match="gradients are on"):
            other(torch.ones(2, 4, device=D))


def test_a_compiled_module_is_enforced() -> None:
    compiled = torch.compile(net(), backend="eager", fullgraph=True)
    torchport.enforce(compiled)
    assert call(compiled) is not None
    with pytest.raises(RuntimeError, match="gradients are on"):
        compiled(torch.ones(2, 4, device=D))


def test_what_is_no_module() -> None:
    with pytest.raises(TypeError, match=r"enforce needs an nn\.Module, not function"):
        torchport.enforce(lambda x: x)
    assert torchport.enforce(nn.ReLU().eval()).device is None
    scripted = torch.jit.script(nn.ReLU().eval())
    with pytest.raises(TypeError, match="enforce a module that holds it"):
        torchport.enforce(scripted)
    holder = nn.Sequential(scripted).eval()
    torchport.enforce(holder)
    with pytest.raises(RuntimeError, match="gradients are on"):
        holder(torch.ones(1))


def test_modules_in_training_mode_are_named() -> None:
    model = net()
    model[0].train()
    with pytest.raises(RuntimeError, match=r"in training mode: 0 \(Linear\); call"):
        torchport.enforce(model)
