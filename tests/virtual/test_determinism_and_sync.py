"""What a real device says of a call: no deterministic algorithm; the host waits."""

import re
import warnings
from collections.abc import Iterator

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


@pytest.fixture(autouse=True)
def modes_as_they_were() -> Iterator[None]:
    yield
    torch.use_deterministic_algorithms(False)
    torch.cuda.set_sync_debug_mode("default")


cuda = {"device": "cuda"}
image = torch.randn(2, 3, 6, 6, requires_grad=True, **cuda)
line, solid = image[0], torch.randn(1, 2, 4, 4, 4, requires_grad=True, **cuda)


def back(out: torch.Tensor) -> None:
    out.sum().backward()


grid = torch.rand(2, 4, 4, 2, **cuda)
bag = nn.EmbeddingBag(5, 3, mode="max", **cuda)
words = torch.tensor([[0, 1], [2, 3]], **cuda)
logs = torch.randn(5, 1, 4, **cuda).log_softmax(-1).requires_grad_()
lengths = torch.tensor([5]), torch.tensor([2])
classes = torch.zeros(2, 6, 6, dtype=torch.long, **cuda)
numbers, places = torch.arange(4, **cuda), torch.tensor([0, 2], **cuda)
reals = numbers.float()
REFUSED = {
    "adaptive_avg_pool2d_backward_cuda": lambda: back(F.adaptive_avg_pool2d(image, 2)),
    "adaptive_avg_pool3d_backward_cuda": lambda: back(F.adaptive_avg_pool3d(solid, 2)),
    "adaptive_max_pool2d_backward_cuda": lambda: back(F.adaptive_max_pool2d(image, 2)),
    "avg_pool3d_backward_cuda": lambda: back(F.avg_pool3d(solid, 2)),
    "fractional_max_pool2d_backward_cuda": lambda: back(F.fractional_max_pool2d(image, 2, 3)),
    "fractional_max_pool3d_backward_cuda": lambda: back(F.fractional_max_pool3d(solid, 2, 2)),
    "reflection_pad1d_backward_out_cuda": lambda: back(F.pad(line, (1, 1), "reflect")),
    "reflection_pad3d_backward_out_cuda": lambda: back(F.pad(solid, (1,) * 6, "reflect")),
    "upsample_linear1d_backward_out_cuda": lambda: back(F.interpolate(line, 9, mode="linear")),
    "upsample_bicubic2d_backward_out_cuda": lambda: back(
        # F.interpolate has another way since torch 2.15.
        torch._C._nn.upsample_bicubic2d(image, (9, 9), False)
    ),
    "upsample_trilinear3d_backward_out_cuda": lambda: back(
        torch._C._nn.upsample_trilinear3d(solid, (5, 5, 5), False)
    ),
    "max_unpooling2d_forward_out": lambda: F.max_unpool2d(
        *F.max_pool2d(image, 2, return_indices=True), 2
    ),
    "grid_sampler_2d_backward_cuda": lambda: back(F.grid_sample(image, grid)),
    "embedding_bag_backward_cuda_max": lambda: back(bag(words)),
    "ctc_loss_backward_gpu": lambda: back(F.ctc_loss(logs, words[:1], *lengths)),
    "nll_loss2d_forward_out_cuda_template": lambda: F.cross_entropy(image, classes),
    "put_": lambda: reals.clone().put_(places, reals[:2], accumulate=True),
    "_histc_cuda with floating point input": lambda: torch.histc(reals, 4),
    "_bincount_cuda": lambda: torch.bincount(numbers, reals),
    "median CUDA with indices output": lambda: reals.median(0),
    "index_reduce_cuda": lambda: reals.clone().index_reduce_(0, places, reals[:2], "mean"),
    "scatter_reduce_cuda_prod_": lambda: reals.scatter_reduce(0, places, reals[:2], "prod"),
    "scatter_reduce_cuda_kernel": lambda: reals.scatter(0, places, reals[:2], reduce="multiply"),
    # F.pad has another way if algorithms have to be deterministic.
    "replication_pad1d_backward_cuda": lambda: back(torch._C._nn.replication_pad1d(line, (1, 1))),
    "replication_pad2d_backward_cuda": lambda: back(
        torch._C._nn.replication_pad2d(image, (1,) * 4)
    ),
    "replication_pad3d_backward_cuda": lambda: back(
        torch._C._nn.replication_pad3d(solid, (1,) * 6)
    ),
    "upsample_bilinear2d_aa_backward_out_cuda": lambda: back(
        F.interpolate(image, 9, mode="bilinear", antialias=True)
    ),
    "upsample_bicubic2d_aa_backward_out_cuda": lambda: back(
        F.interpolate(image, 9, mode="bicubic", antialias=True)
    ),
}
MINOR = int(torch.__version__.split(".")[1])
# By the release: the names that the library of torch 2.11 has, and the list that torch 2.13 documents.
BY_RELEASE = {
    11: {
        "kthvalue CUDA": lambda: reals.kthvalue(2),
        "reflection_pad2d_backward_cuda": lambda: back(F.pad(image, (1, 1, 1, 1), "reflect")),
    },
    13: {"max_pool3d_with_indices_backward_cuda": lambda: back(F.max_pool3d(solid, 2))},
}
for minor, calls in BY_RELEASE.items():
    if minor > MINOR:
        REFUSED |= calls
TAKEN = (
    *(call for minor, calls in BY_RELEASE.items() if minor <= MINOR for call in calls.values()),
    lambda: reals.cumsum(0),
    lambda: reals.cumprod(0),
    lambda: back(F.conv2d(image, torch.ones(2, 3, 3, 3, **cuda))),
    lambda: back(F.interpolate(image, 9, mode="bilinear")),
    lambda: back(F.interpolate(solid, 5, mode="trilinear")),
    lambda: reals.median(),
    lambda: numbers.cumsum(0),
    lambda: torch.bincount(numbers),
    lambda: F.cross_entropy(image, classes, reduction="none"),
    lambda: reals.clone().index_add_(0, places, reals[:2]),
    lambda: reals.clone().scatter_add_(0, places, reals[:2]),
    lambda: reals.scatter_reduce(0, places, reals[:2], "sum"),
    lambda: reals.scatter(0, places, reals[:2], reduce="add"),
    lambda: reals.scatter(0, places, 2.0, reduce="multiply"),
    lambda: back(nn.EmbeddingBag(5, 3, mode="sum", **cuda)(words)),
)


def test_nondeterminism_is_refused() -> None:
    torch.use_deterministic_algorithms(True)
    text = "{} does not have a deterministic implementation, but you set 'torch.use_determin"
    for name, call in REFUSED.items():
        with pytest.raises(RuntimeError, match=re.escape(text.format(name))):
            call()
    for call in TAKEN:
        call()
    assert reals.cpu().cumsum(0).tolist() == [0, 1, 3, 6]
    torch.use_deterministic_algorithms(True, warn_only=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.histc(reals, 4).tolist() == [1, 1, 1, 1]
    assert "_histc_cuda with floating point input does not" in str(caught[0].message)
    torch.use_deterministic_algorithms(False)
    for call in REFUSED.values():
        call()


def test_an_index_of_a_number_is_refused_with_deterministic_algorithms() -> None:
    number, place, one = torch.ones((), **cuda), torch.zeros(1, dtype=torch.long, **cuda), reals[1]
    assert number.index_add(0, place, one) == 2 and number.index_copy(0, place, one) == 1
    torch.use_deterministic_algorithms(True)
    for call in (number.index_add, number.clone().index_add_, number.index_copy):
        with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
            call(0, place, one)


# Where the host waits.
host, mask = torch.ones(4), reals > 1
pinned = torch.ones(4).pin_memory()
WAITS = (
    reals.sum().item,
    reals.cpu,
    reals.tolist,
    host.cuda,
    lambda: bool(mask.any()),
    lambda: reals.nonzero(),
    lambda: reals[mask],
    lambda: reals[torch.tensor([0])],
    lambda: reals.clone().__setitem__(mask, reals[:2]),
    lambda: reals.masked_select(mask),
    lambda: torch.where(mask),
    lambda: numbers.unique(),
    lambda: torch.equal(reals, reals),
    lambda: numbers.repeat_interleave(numbers),
    lambda: torch.tensor([1.0], device="cuda"),
    lambda: torch.linalg.inv(torch.eye(2, device="cuda")),
    lambda: torch.linalg.eig(torch.eye(2, device="cuda")),
    lambda: torch.linalg.eigvals(torch.eye(2, device="cuda")),
    lambda: torch.linalg.svd(torch.eye(2, device="cuda")),
    lambda: torch.matrix_exp(torch.eye(2, device="cuda")),
    lambda: torch.histc(reals, 4),
    lambda: reals.to_sparse(),
    lambda: torch.segment_reduce(reals, "sum", lengths=numbers[1:3] + numbers[:2]),
    torch.cuda.current_stream().synchronize,
)
FREE = (
    lambda: reals + 1,
    lambda: torch.ones(4, device="cuda").sum(),
    lambda: pinned.to("cuda", non_blocking=True),
    lambda: reals.to("cpu", non_blocking=True),
    lambda: reals.to("cuda:1"),
    lambda: reals[places],
    lambda: reals.masked_fill(mask, 0.0),
    lambda: reals.matmul(reals),
    *([lambda: torch.histc(reals, 4, 0, 3)] if MINOR < 11 else []),
    lambda: torch.linalg.svd(torch.empty(0, 2, device="cuda")),
    lambda: torch.linalg.lu_factor_ex(torch.eye(2, device="cuda")),
    lambda: torch.segment_reduce(reals, "sum", lengths=numbers[2:3] + 2, unsafe=True),
    lambda: numbers.repeat_interleave(numbers, output_size=6),
    torch.cuda.synchronize,
)


def test_waiting_is_told() -> None:
    assert torch.cuda.get_sync_debug_mode() == 0
    torch.cuda.set_sync_debug_mode("error")
    assert torch.cuda.get_sync_debug_mode() == 2
    for call in WAITS:
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            call()
    for call in FREE:
        call()
    host.sum().item()
    torch.cuda.set_sync_debug_mode("warn")
    for calls, count in ((WAITS, len(WAITS)), (FREE, 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for call in calls:
                call()
        texts = [str(w.message) for w in caught]
        assert all(t.startswith("called a synchronizing CUDA operation") for t in texts), texts
        assert len(texts) >= count if count else not texts, texts
    torch.cuda.set_sync_debug_mode("default")
    assert reals.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.cuda.set_sync_debug_mode("no")
