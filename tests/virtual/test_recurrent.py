"""Recurrent layers on a device, padded and packed: values and gradients are the CPU's, bit by bit."""

import itertools
import re

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

# The CPU's random numbers, because dropout is compared with the CPU's.
pytestmark = [pytest.mark.devices("cuda:2", random="cpu"), pytest.mark.usefixtures("seeded")]


LENGTHS = [6, 5, 5, 3, 2, 1]
TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
FLAGS = (False, True)
torch.manual_seed(0)


def run(layer: nn.RNNBase, x: torch.Tensor, *, packed: bool) -> list[torch.Tensor]:
    x = x.detach().requires_grad_()
    given = pack_padded_sequence(x, LENGTHS, layer.batch_first) if packed else x
    output, hidden = layer(given)
    results = [output.data if packed else output]
    results += hidden if isinstance(hidden, tuple) else (hidden,)
    assert all(result.device == x.device for result in results)
    sum((result.float() ** 2).sum() for result in results).backward()
    results += [x.grad, *(parameter.grad for parameter in layer.parameters())]
    return [result.detach().cpu() for result in results]


def lay_out_alike(host: nn.RNNBase, device: nn.RNNBase) -> None:
    """Puts the host's weights at the device's offsets: on some processors, the last bits of a product
    depend on whether its rows are aligned. cuDNN has all weights in one buffer."""
    storages = {parameter.untyped_storage().data_ptr() for parameter in device.parameters()}
    if len(storages) > 1:
        return
    first = next(device.parameters())
    buffer = torch.empty(first.untyped_storage().size() // first.element_size(), dtype=first.dtype)
    for mine, other in zip(host.parameters(), device.parameters(), strict=True):
        place = buffer.as_strided(other.shape, other.stride(), other.storage_offset())
        mine.data = place.copy_(mine.data)


def compare(make, dtype: torch.dtype, packed: bool, **options) -> None:
    host, device = (make(5, 7, dtype=dtype, **options) for _ in range(2))
    device.load_state_dict(host.state_dict())
    x = torch.randn(6, 6, 5, dtype=dtype)
    device.cuda()
    lay_out_alike(host, device)
    want, got = run(host, x, packed=packed), run(device, x.cuda(), packed=packed)
    for mine, other in zip(got, want, strict=True):
        assert torch.equal(mine, other), (make, dtype, packed, options)


def relu(*sizes, **options):
    return nn.RNN(*sizes, nonlinearity="relu", **options)


def test_values_and_gradients_are_the_cpus() -> None:
    for make, dtype, packed, both in itertools.product(
        (nn.LSTM, nn.GRU, nn.RNN, relu), TYPES, FLAGS, FLAGS
    ):
        compare(make, dtype, packed, bidirectional=both, num_layers=2)
        compare(make, dtype, packed, bidirectional=both, bias=False, batch_first=True)


def test_projections() -> None:
    for dtype, packed in itertools.product(TYPES, FLAGS):
        compare(nn.LSTM, dtype, packed, proj_size=3, bidirectional=True, num_layers=2)


def test_the_same_numbers_are_dropped_between_layers() -> None:
    # The same numbers are dropped between layers, from generators with the same seed.
    results = []
    for place in ("cpu", "cuda"):
        torch.manual_seed(3)
        layer = nn.LSTM(5, 7, num_layers=3, dropout=0.5).to(place)
        x = torch.linspace(-1, 1, 120).view(4, 6, 5).to(place)
        torch.manual_seed(4)
        results.append(layer(x)[0].cpu())
    assert torch.equal(*results)


def test_devices_and_modes() -> None:
    layer = nn.LSTM(3, 4).cuda()
    x = torch.randn(2, 2, 3)
    for given, text in (
        (
            (x,),
            "Input and parameter tensors are not at the same device, found input tensor at cpu and ",
        ),
        (
            (x.cuda(), (torch.zeros(1, 2, 4),) * 2),
            "found input tensor at cuda:0 and hidden tensor at cpu",
        ),
    ):
        with pytest.raises(RuntimeError, match=re.escape(text)):
            layer(*given)
    with torch.autocast("cuda"):
        assert layer(x.cuda())[0].dtype == torch.float16
    with torch.inference_mode():
        assert layer(x.cuda())[0].is_cuda
