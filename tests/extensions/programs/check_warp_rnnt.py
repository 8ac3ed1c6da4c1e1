"""The loss of an RNN transducer (Graves, 2012), by its recursion over frames and labels."""

import importlib.util
import sys
from pathlib import Path

import torch


def module_of(package: str, name: str):
    """A module of a package without its __init__.py, which asks for pkg_resources (gone from setuptools 82)."""
    (path,) = [file for folder in sys.path for file in Path(folder, package).glob(f"{name}.*.so")]
    spec = importlib.util.spec_from_file_location(f"{package}.{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


core = module_of("warp_rnnt", "_C")


def expected(log_probs, labels, frames, lengths, blank):
    """A cost for each of N sequences; log_probs [N, T, U, V], labels [N, U - 1]."""
    costs = []
    for sequence, words, t_end, u_end in zip(
        log_probs, labels.tolist(), frames.tolist(), lengths.tolist(), strict=True
    ):
        alpha = {(0, 0): sequence.new_zeros(())}
        for t in range(t_end):
            for u in range(u_end + 1):
                ways = []
                if t > 0:
                    ways.append(alpha[t - 1, u] + sequence[t - 1, u, blank])
                if u > 0:
                    ways.append(alpha[t, u - 1] + sequence[t, u - 1, words[u - 1]])
                if ways:
                    alpha[t, u] = torch.logsumexp(torch.stack(ways), 0)
        costs.append(-(alpha[t_end - 1, u_end] + sequence[t_end - 1, u_end, blank]))
    return torch.stack(costs)


torch.manual_seed(0)
n, t, u, v = 3, 9, 6, 7
for blank in (0, 3):
    scores = torch.randn(n, t, u, v, device="cuda")
    labels = torch.randint(0, v - 1, (n, u - 1), dtype=torch.int, device="cuda")
    labels += (labels >= blank).int()
    frames = torch.tensor([9, 7, 4], dtype=torch.int, device="cuda")
    lengths = torch.tensor([3, 5, 1], dtype=torch.int, device="cuda")
    log_probs = scores.log_softmax(-1).requires_grad_()
    plain = expected(log_probs, labels, frames, lengths, blank)
    (wanted,) = torch.autograd.grad(plain.sum(), log_probs)
    costs, gradients = core.rnnt_loss(log_probs.detach(), labels, frames, lengths, blank, 0.0)
    torch.testing.assert_close(costs, plain, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradients, wanted, rtol=1e-4, atol=1e-5)

    # The same with only the scores of the blank and of the labels.
    index = torch.full((n, t, u, 2), blank, device="cuda")
    index[:, :, : u - 1, 1] = labels.unsqueeze(1)
    costs, gradients = core.rnnt_loss(
        log_probs.detach().gather(3, index), labels, frames, lengths, -1, 0.0
    )
    torch.testing.assert_close(costs, plain, rtol=1e-5, atol=1e-5)
    spread = torch.zeros_like(log_probs).scatter_add_(3, index, gradients)
    torch.testing.assert_close(spread, wanted, rtol=1e-4, atol=1e-5)

    # The same without padding.
    pieces = [
        log_probs.detach()[i, :a, : b + 1].reshape(-1, v)
        for i, (a, b) in enumerate(zip(frames.tolist(), lengths.tolist(), strict=True))
    ]
    packed = torch.cat(pieces)
    words = torch.cat([labels[i, :b] for i, b in enumerate(lengths.tolist())])
    costs, gradients, places = core.rnnt_loss_compact(
        packed, words, frames, lengths, blank, 0.0, True
    )
    torch.testing.assert_close(costs, plain, rtol=1e-5, atol=1e-5)
    ends = torch.cumsum(frames * (lengths + 1), 0, dtype=torch.int)
    full = core.rnnt_loss_compact_backward(
        torch.ones_like(costs), gradients, ends, places, v, blank
    )
    wanted = torch.cat(
        [
            wanted[i, :a, : b + 1].reshape(-1, v)
            for i, (a, b) in enumerate(zip(frames.tolist(), lengths.tolist(), strict=True))
        ]
    )
    torch.testing.assert_close(full, wanted, rtol=1e-4, atol=1e-5)
print("right")
