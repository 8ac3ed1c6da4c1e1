"""Quantized, nested and sparse tensors: moved, saved, computed with, trained."""

import copy
import io

import pytest
import torch
import torch.ao.quantization as quantization
import torch.nn as nn
import torch.nn.functional as F
from sides import SEED, same

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


torch.manual_seed(0)
x = torch.randn(3, 4)
scales, zeros = torch.tensor([0.1, 0.2, 0.3], dtype=torch.double), torch.tensor([0, 1, 2])


def reloaded(tensor: torch.Tensor, place: str | None = None) -> torch.Tensor:
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file, map_location=place)


# Quantized.
MADE = (
    lambda t: torch.quantize_per_tensor(t, 0.1, 3, torch.quint8),
    lambda t: torch.quantize_per_channel(
        t, scales.to(t.device), zeros.to(t.device), 0, torch.qint8
    ),
)


def test_quantized_tensors_are_moved_and_saved() -> None:
    for make in MADE:
        host, device = make(x), make(x.cuda())
        numbers = host.int_repr()
        moved = (host.cuda(), device.to("cuda:1"), reloaded(device), reloaded(host, "cuda"))
        for tensor in (
            device,
            *moved,
            device.clone(),
            copy.deepcopy(device),
            reloaded(device, "cuda:1"),
        ):
            assert tensor.is_cuda and tensor.is_quantized and tensor.qscheme() == host.qscheme()
            assert torch.equal(tensor.int_repr().cpu(), numbers)
            assert torch.equal(tensor.dequantize().cpu(), host.dequantize())
        for tensor in (device.cpu(), moved[1].cpu(), reloaded(device, "cpu")):
            assert tensor.is_cpu and torch.equal(tensor.int_repr(), numbers)
        assert torch.equal(device[1:].dequantize().cpu(), host[1:].dequantize())
    assert device.q_per_channel_scales().is_cuda
    assert device.q_per_channel_scales().tolist() == scales.tolist()


def test_operators_of_quantized_tensors() -> None:
    device = MADE[0](x.cuda())
    assert torch.equal(device.relu().int_repr().cpu(), MADE[0](x).relu().int_repr())
    assert torch.equal(device.t().contiguous().int_repr().cpu(), MADE[0](x).t().int_repr())


def trained_for_quantization(x: torch.Tensor) -> object:
    torch.manual_seed(SEED)
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).train()
    net.qconfig = quantization.get_default_qat_qconfig("fbgemm")
    net = quantization.prepare_qat(net).to(x.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()
    return [p.detach() for p in net.parameters()]


def test_training_for_quantization() -> None:
    same(trained_for_quantization, x)


# Nested.
def nested(a: torch.Tensor, b: torch.Tensor, weight: torch.Tensor, layout: torch.layout) -> object:
    rows = torch.nested.as_nested_tensor([a, b], layout=layout)
    assert rows.is_nested and rows.device == a.device
    out = F.linear(rows, weight).relu()
    out = F.layer_norm(out, [3]) if layout == torch.jagged else out
    padded = torch.nested.to_padded_tensor(out, -1.0)
    padded.square().sum().backward()
    return padded.detach(), weight.grad, a.grad, list(rows.detach().unbind())


def test_nested_tensors() -> None:
    rows = [torch.randn(n, 4, requires_grad=True) for n in (2, 5)]
    for layout in (torch.strided, torch.jagged):
        same(nested, *rows, torch.randn(3, 4, requires_grad=True), layout)


def attention(a: torch.Tensor, b: torch.Tensor) -> object:
    q = torch.nested.nested_tensor([a, b], layout=torch.jagged).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q).transpose(1, 2).contiguous().values()


def test_attention_over_nested_tensors() -> None:
    same(attention, torch.randn(3, 2, 8), torch.randn(5, 2, 8), close=True)


# Sparse.
def coo(x: torch.Tensor, y: torch.Tensor) -> object:
    sparse = torch.sparse_coo_tensor(
        torch.tensor([[0, 1, 1], [2, 0, 2]], device=x.device), x[0, :3], (2, 3)
    )
    doubled = torch.sparse_coo_tensor(
        torch.tensor([[0, 0], [1, 1]], device=x.device), x[1, :2], (2, 3)
    ).coalesce()
    product = torch.sparse.mm(sparse, y)
    product.sum().backward()
    total = (sparse.detach() + doubled).coalesce()
    return (
        (product.detach(), y.grad, total.indices(), total.values(), total.to_dense()),
        (torch.sparse.softmax(total, 1).to_dense(), torch.sparse.sum(total, 0).to_dense()),
        (total.t().to_dense(), (total * 2).to_dense(), total.to_sparse_csr().col_indices()),
    )


def test_sparse_coordinates() -> None:
    same(coo, x, torch.randn(3, 2, requires_grad=True))


def csr(x: torch.Tensor) -> object:
    kept = x * (x > 0)
    one, other = kept.to_sparse_csr(), kept.to_sparse_csc()
    return (
        (one.crow_indices(), one.values(), other.ccol_indices(), other.row_indices()),
        (one @ x.t(), (one * 3).to_dense(), one.to_sparse_coo().to_dense(), one.clone().values()),
    )


def test_sparse_rows_and_columns() -> None:
    same(csr, x)


def test_sparse_tensors_are_moved_and_saved() -> None:
    for make in (torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc):
        tensor = make(x.cuda())
        for there in (tensor.to("cuda:1"), reloaded(tensor), reloaded(make(x), "cuda")):
            assert there.is_cuda and torch.equal(there.to_dense().cpu(), x)
        assert tensor.cpu().is_cpu and torch.equal(tensor.cpu().to_dense(), x)


def embeddings(words: torch.Tensor) -> object:
    torch.manual_seed(SEED)
    table = nn.Embedding(6, 3, sparse=True)
    table.weight.data = torch.arange(18.0).view(6, 3)
    table = table.to(words.device)
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        table(words).square().sum().backward()
        assert table.weight.grad.is_sparse and table.weight.grad.device == words.device
        optimizer.step()
    return table.weight.detach()


def test_sparse_gradients() -> None:
    same(embeddings, torch.tensor([[0, 2], [2, 5]]))
