"""Soft sorts and ranks (Blondel et al., 2020): isotonic regressions by their min-max formula."""

import torch
import torchsort


def decreasing(y, w, regularization):
    """The decreasing sequence that is nearest to y: for l2 to y - w, for kl of exponentials."""
    n = y.shape[1]
    columns = []
    for i in range(n):
        of_starts = []
        for j in range(i + 1):
            of_ends = []
            for k in range(i, n):
                if regularization == "l2":
                    of_ends.append((y[:, j : k + 1] - w[:, j : k + 1]).mean(1))
                else:
                    of_ends.append(y[:, j : k + 1].logsumexp(1) - w[:, j : k + 1].logsumexp(1))
            of_starts.append(torch.stack(of_ends).amax(0))
        columns.append(torch.stack(of_starts).amin(0))
    return torch.stack(columns, 1)


def ranks(x, regularization, strength):
    s, places = torch.sort(x / strength, descending=True)
    w = torch.arange(x.shape[1], 0, -1, dtype=x.dtype, device=x.device).expand_as(x)
    kl = regularization == "kl"
    sorted_ranks = s - decreasing(s, w.log() if kl else w, regularization)
    answer = sorted_ranks.gather(1, places.argsort(1))
    return answer.exp() if kl else answer


def sorts(x, regularization, strength):
    s = torch.sort(-x, descending=True)[0]
    w = torch.arange(x.shape[1], 0, -1, dtype=x.dtype, device=x.device).expand_as(x) / strength
    return decreasing(w, s, regularization) - w


torch.manual_seed(0)
for dtype, tolerance in ((torch.float, 1e-4), (torch.double, 1e-9)):
    for regularization in ("l2", "kl"):
        for strength in (0.2, 1.5):
            x = torch.randn(3, 11, dtype=dtype, device="cuda", requires_grad=True)
            weights = torch.randn_like(x)
            for ours, plain in (
                (
                    torchsort.soft_rank(x, regularization, strength),
                    ranks(x, regularization, strength),
                ),
                (
                    torchsort.soft_sort(x, regularization, strength),
                    sorts(x, regularization, strength),
                ),
            ):
                assert ours.dtype is dtype
                torch.testing.assert_close(ours, plain, rtol=tolerance, atol=tolerance)
                (one,) = torch.autograd.grad((ours * weights).sum(), x, retain_graph=True)
                (two,) = torch.autograd.grad((plain * weights).sum(), x, retain_graph=True)
                torch.testing.assert_close(one, two, rtol=10 * tolerance, atol=10 * tolerance)
print("right")
