"""Models that keep state in the variables of their code: they are refused by that reason, and stay as they were."""

from __future__ import annotations

from types import SimpleNamespace

import models
import pytest
import torch
import torchport
from test_export import ALL, fresh, nothing_left
from torchport import ExportError

pytestmark = [pytest.mark.devices(None, timeout=600), pytest.mark.usefixtures("own_folder")]

FIRST = torch.full((), 0.125)
IN_FILE = [FIRST]
LARGEST = FIRST
WRITTEN = torch.ones(())


def in_a_closure():
    box = [FIRST]

    class Running(models.Plain):
        def forward(self, x):
            h = self.layers(x)
            box[0] = torch.maximum(box[0], h.abs().amax())
            return h / box[0]

    return Running(), "box", lambda: box[0]


def in_a_variable_of_a_closure():
    most = FIRST

    def running(h):
        nonlocal most
        most = torch.maximum(most, h.abs().amax())
        return h / most

    class Running(models.Plain):
        def forward(self, x):
            return running(self.layers(x))

    return Running(), "most", lambda: most


def in_an_object_of_a_closure():
    box = SimpleNamespace(most=FIRST)

    class Running(models.Plain):
        def forward(self, x):
            h = self.layers(x)
            box.most = torch.maximum(box.most, h.abs().amax())
            return h / box.most

    return Running(), "box.most", lambda: box.most


def in_a_list_of_the_file():
    class Running(models.Plain):
        def forward(self, x):
            h = self.layers(x)
            IN_FILE[0] = torch.maximum(IN_FILE[0], h.abs().amax())
            return h / IN_FILE[0]

    return Running(), "IN_FILE", lambda: IN_FILE[0]


def largest(h):
    global LARGEST
    LARGEST = torch.maximum(LARGEST, h.abs().amax())
    return h / LARGEST


def in_a_variable_of_the_file():
    class Running(models.Plain):
        def forward(self, x):
            return largest(self.layers(x))

    return Running(), "LARGEST", lambda: LARGEST


def in_a_hook():
    box = {"most": FIRST}

    def scale(module, inputs, h):
        box["most"] = torch.maximum(box["most"], h.abs().amax())
        return h / box["most"]

    model = models.Plain()
    model.layers.register_forward_hook(scale)
    return model, "box", lambda: box["most"]


KINDS = [
    *(in_a_closure, in_a_variable_of_a_closure, in_an_object_of_a_closure, in_a_list_of_the_file),
    *(in_a_variable_of_the_file, in_a_hook),
]


@pytest.mark.parametrize("to", ALL)
@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.__name__)
def test_state_in_the_variables_of_code_is_refused_and_stays_as_it_was(kind, to):
    model, name, value = kind()
    with pytest.raises(ExportError, match=f"keeps state: its forward changes {name}"):
        torchport.export(model.eval(), models.rows(), to=to, path=fresh("code"))
    nothing_left("code")
    assert value() is FIRST and FIRST == 0.125
    assert type(model(models.rows())) is torch.Tensor
    IN_FILE[0] = FIRST
    global LARGEST
    LARGEST = FIRST


def test_a_tensor_of_the_file_that_is_written_is_restored():
    class Writes(models.Plain):
        def forward(self, x):
            WRITTEN.mul_(2)
            return self.layers(x) * WRITTEN

    with pytest.raises(ExportError, match="keeps state: its forward changes WRITTEN"):
        torchport.export(Writes().eval(), models.rows(), to="torchscript", path=fresh("written"))
    assert WRITTEN == 1


def test_what_does_not_change_a_result_is_only_noted():
    seen = []

    class Logs(models.Plain):
        def forward(self, x):
            seen.append(x.shape)
            return self.layers(x)

    done = torchport.export(Logs().eval(), models.rows(), to="torchscript", path="logs.torchscript")
    assert any("changes seen" in note for note in done.notes), done.notes
    assert seen == []
