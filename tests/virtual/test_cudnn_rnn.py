"""Recurrent layers as cuDNN's operators: their buffer of weights, their memory, what they refuse.

The figures are those that an NVIDIA H200 gave with torch 2.11.0+cu130.
"""

import warnings

import pytest
import torch
from torch import nn

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("seeded")]

SCATTERED = "RNN module weights are not part of single contiguous chunk of memory"
LAYERS = {
    "lstm": lambda: nn.LSTM(12, 7, 2),
    "lstm batch first": lambda: nn.LSTM(12, 7, batch_first=True),
    "lstm both ways": lambda: nn.LSTM(12, 7, bidirectional=True),
    "lstm projected": lambda: nn.LSTM(12, 7, proj_size=3),
    "lstm without bias": lambda: nn.LSTM(12, 7, bias=False),
    "gru": lambda: nn.GRU(12, 7, 2),
    "rnn": lambda: nn.RNN(12, 7),
}
# The bytes that a call holds, results included, in float32 and in float16.
BYTES = {
    "lstm": (12800, 7680),
    "lstm batch first": (7680, 5120),
    "lstm both ways": (12800, 7680),
    "lstm projected": (8704, 5632),
    "lstm without bias": (7680, 5120),
    "gru": (13312, 7680),
    "rnn": (3584, 2560),
}


def numbers(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.linspace(-0.5, 0.5, 5 * 6 * 12, device="cuda", dtype=dtype).view(5, 6, 12)


@pytest.mark.parametrize("name", LAYERS)
def test_what_a_call_holds(name: str) -> None:
    for dtype, expected in zip((torch.float32, torch.float16), BYTES[name], strict=True):
        layer, x = LAYERS[name]().to("cuda", dtype), numbers(dtype)
        layer(x)
        before = torch.cuda.memory_allocated()
        output, hidden = layer(x)
        assert torch.cuda.memory_allocated() - before == expected, dtype
        hidden = hidden if isinstance(hidden, tuple) else (hidden,)
        assert {type(one.grad_fn).__name__ for one in (output, *hidden)} == {"CudnnRnnBackward0"}
        del output, hidden


def test_weights_are_views_of_one_buffer() -> None:
    layer = nn.LSTM(12, 7, 2).cuda()
    # The matrices of all layers come first, then the biases.
    offsets = [parameter.storage_offset() for parameter in layer.parameters()]
    assert offsets == [0, 336, 924, 952, 532, 728, 980, 1008]
    buffers = {parameter.untyped_storage().data_ptr() for parameter in layer.parameters()}
    assert len(buffers) == 1
    assert layer.weight_ih_l0.untyped_storage().nbytes() == 1036 * 4
    layer(numbers())[0].sum().backward()
    gradients = {parameter.grad.untyped_storage().data_ptr() for parameter in layer.parameters()}
    assert len(gradients) == 1


def test_scattered_weights_are_warned_of() -> None:
    layer = nn.LSTM(12, 7).cuda()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(numbers())
    weights = [parameter.detach().clone() for parameter in layer.parameters()]
    state = torch.zeros(1, 6, 7, device="cuda")
    with pytest.warns(UserWarning, match=SCATTERED):
        scattered = torch._VF.lstm(
            numbers(), (state, state), weights, True, 1, 0.0, True, False, False
        )[0]
    assert torch.equal(layer(numbers())[0], scattered)
    # nn.RNNBase flattens no bfloat16 weights.
    with pytest.warns(UserWarning, match=SCATTERED):
        nn.LSTM(12, 7).to("cuda", torch.bfloat16)(numbers(torch.bfloat16))


def test_refusals() -> None:
    layer, x = nn.LSTM(12, 7).cuda(), numbers().requires_grad_()
    with pytest.raises(RuntimeError, match="cudnn RNN backward can only be called in training"):
        layer.eval()(x)[0].sum().backward()
    layer.train()
    (gradient,) = torch.autograd.grad(layer(x)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="Double backwards is not supported for CuDNN RNNs"):
        gradient.sum().backward()
    w = torch.ones(3, 3, device="cuda")
    with pytest.raises(RuntimeError, match=r"shape '\[36, 1\]' is invalid for input of size 9"):
        torch._cudnn_rnn_flatten_weight([w, w, w[0], w[0]], 4, 3, 2, 3, 0, 1, True, False)
    with torch.backends.cudnn.flags(enabled=False):
        output = layer(x)[0]
    assert "Cudnn" not in type(output.grad_fn).__name__
    (gradient,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    gradient.sum().backward()


def test_autocast_casts_into_a_buffer_of_float16() -> None:
    layer = nn.LSTM(12, 7, 2, bidirectional=True).cuda()
    exact = layer(numbers())[0]
    with torch.autocast("cuda", torch.bfloat16):
        output = layer(numbers())[0]
    assert (output.dtype, type(output.grad_fn).__name__) == (torch.float16, "CudnnRnnBackward0")
    assert torch.allclose(output.float(), exact, atol=1e-3)
    output.float().sum().backward()
    assert {parameter.grad.dtype for parameter in layer.parameters()} == {torch.float32}


def test_a_graph_that_is_kept_gives_its_gradients_twice() -> None:
    layer, x = nn.GRU(12, 7, 2, dropout=0.5).cuda(), numbers().requires_grad_()
    loss = layer(x)[0].sum()
    first = torch.autograd.grad(loss, x, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(loss, x)[0], first)


def test_the_graph_of_the_host_is_hidden_from_hooks() -> None:
    layer, x = nn.LSTM(12, 7, 2, dropout=0.3).cuda(), numbers()
    saved: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = layer(x)[0]
    assert saved and {tensor.device.type for tensor in saved} == {"cuda"}
    count = len(saved)
    output.sum().backward()
    assert len(saved) == count


def test_anomalies_are_those_of_the_layer() -> None:
    layer = nn.LSTM(12, 7).cuda()
    with torch.no_grad():
        layer.weight_ih_l0.fill_(float("nan"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with (
            torch.autograd.detect_anomaly(),
            pytest.raises(RuntimeError, match="Function 'CudnnRnnBackward0' returned nan values"),
        ):
            layer(numbers().requires_grad_())[0].sum().backward()
        assert torch.is_anomaly_enabled() is False
    assert sum("Error detected in" in str(one.message) for one in told) == 1
    with torch.autograd.detect_anomaly():
        layer(numbers())
        assert torch.is_anomaly_enabled()


def test_autocast_of_the_host_is_not_that_of_the_device() -> None:
    layer, x = nn.LSTM(12, 7, 2).cuda(), numbers().requires_grad_()

    def answers() -> list[torch.Tensor]:
        output = layer(x)[0]
        with torch.no_grad():
            untracked = layer(x)[0]
        return [output, untracked, *torch.autograd.grad(output.sum(), [x, *layer.parameters()])]

    expected = answers()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = answers()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_dropout_takes_one_seed_of_the_generator() -> None:
    generator = torch.cuda.default_generators[0]
    layer = nn.LSTM(4, 4, 2, dropout=0.5).cuda()
    x = torch.ones(3, 4, device="cuda")

    def masks() -> list[torch.Tensor]:
        torch.cuda.manual_seed(3)
        drawn = [layer(x)[0] for _ in range(2)]
        assert generator.get_offset() == 4  # that of the seed
        return drawn

    first, again = masks(), masks()
    assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1])
    assert not torch.equal(first[0], first[1])


def test_a_large_layer_works_in_memory_of_its_own() -> None:
    layer = nn.LSTM(256, 512, num_layers=2, batch_first=True).cuda().eval()
    x = torch.zeros(2, 32, 256, device="cuda")
    with torch.inference_mode():
        layer(x)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
        layer(x)
    # Two states of 8192 before and after, the steps of the input, the output, and the workspace.
    most = torch.cuda.memory_stats()["requested_bytes.all.peak"]
    assert most - before == 4 * 8192 + 65536 + 131072 + 32260608


TRACED = """
import torch
torch.manual_seed(0)
layer = torch.nn.LSTM(8, 16, 2, dropout=0.5).cuda()
for _ in range(2):
    layer(torch.ones(5, 64, 8, device="cuda"))[0].sum().backward()
"""


def test_a_traced_layer_draws_its_dropout_and_has_the_same_results_again(
    run_virtual, tmp_path
) -> None:
    """`torchport prove` traces both programs: there the device's generator is the CPU's."""
    traces = []
    for name in "ab":
        run_virtual(TRACED, TORCHPORT_TRACE=str(tmp_path / name), TORCHPORT_SEED="0", timeout=60)
        traces.append((tmp_path / name).read_text())
    assert traces[0] == traces[1] and traces[0].count("aten::_cudnn_rnn_backward") == 2


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("training", [False, True])
def test_states_are_only_read(cell: type[nn.RNNBase], training: bool) -> None:
    layer = cell(12, 7, 2).cuda()
    states = [torch.ones(2, 6, 7, device="cuda") for _ in range(2 if cell is nn.LSTM else 1)]
    clones = [torch._lazy_clone(state) for state in states]
    with torch.set_grad_enabled(training):
        layer(numbers(), tuple(clones) if cell is nn.LSTM else clones[0])
    assert all(torch._C._is_cow_tensor(state) for state in (*states, *clones))
