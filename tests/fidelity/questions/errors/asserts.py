"""What kernels assert: the lines that they print and the error of the next call that waits."""

import torch
from recorder.registry import Question, add
from torch.nn import functional as F

CASES = """
F.embedding(bad, x)
x[bad]
x[0, bad]
x[bad] = 1.0
x.index_put_((bad,), x[0])
x.index_select(0, bad)
wide.index_select(0, many)
x.index_add_(1, bad, x[:, :2])
x.index_copy_(1, bad, x[:, :2])
x.index_fill_(1, bad, 0)
x.index_reduce_(1, bad, x[:, :2], 'amax')
x.gather(1, bad[None])
x.gather(1, -bad[None])
x.scatter_(1, bad[None], 1.0)
x.scatter_(1, bad[None], x)
x.scatter_add_(1, bad[None], x)
x.scatter_reduce_(1, bad[None], x, 'amax')
x.scatter_reduce_(1, bad[None], x, 'mean')
x.take(bad)
x.put_(bad, x[0, :2])
torch.take_along_dim(x, bad[None], 1)
F.one_hot(bad, 3)
F.one_hot(bad - 2, 9)
F.one_hot(bad - 2)
F.cross_entropy(x, bad)
F.cross_entropy(x, bad, reduction='none')
F.cross_entropy(x[0], bad[1])
F.cross_entropy(x, bad, label_smoothing=0.1)
F.cross_entropy(x[:, :, None, None], bad[:, None, None])
F.cross_entropy(x[:, :, None, None], bad[:, None, None], reduction='none')
F.nll_loss(x, bad, weight=x[0])
F.multi_margin_loss(x, bad)
F.binary_cross_entropy(x, x)
F.binary_cross_entropy(x.sigmoid(), x)
F.embedding_bag(bad[None], x)
F.max_unpool2d(x[None], bad[None, None].expand(1, 2, 2).contiguous(), 2)
F.ctc_loss(x[:, None].log_softmax(-1), bad[None], torch.tensor([2]), torch.tensor([2]))
torch._assert_async(x[0, 0])
torch._assert_async(x[0, 0], 'my words')
torch.multinomial(x - 1, 1)
torch.multinomial(x * 0, 1)
torch.multinomial(x / 0, 2, replacement=True)
torch.bernoulli(x)
torch.randint(0, 5, (2,), device='cuda')[bad]
torch.repeat_interleave(bad - 3, output_size=3)
torch.nn.functional.embedding(bad, x, max_norm=1.0)
torch.cdist(x, x)[bad]
torch.bincount(bad, minlength=-1)
torch.linalg.cholesky(x[:, :2] - 9)
"""


def ask(code):
    """What the call itself did, and then each of the calls that may say it."""
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    bad = torch.tensor([1, 7], device="cuda")
    wide = torch.zeros(20, 8, device="cuda")
    many = torch.arange(20, device="cuda")
    many[3] = 20
    torch.cuda.synchronize()
    scope = {"x": x, "bad": bad, "wide": wide, "many": many, "F": F, "torch": torch}
    other = torch.zeros(2)
    steps = {
        "call": lambda: exec(code, scope),
        "synchronize": torch.cuda.synchronize,
        "read": x.cpu,
        "compute": lambda: x * 2,
        "allocate": lambda: torch.zeros(1 << 22, device="cuda"),
        "on the host": lambda: other + 1,
        "empty_cache": torch.cuda.empty_cache,
    }
    told = {}
    for name, step in steps.items():
        try:
            step()
            told[name] = "went on"
        except Exception as error:
            told[name] = [type(error).__name__, str(error), getattr(error, "error_code", None)]
    return told


for line in CASES.strip().splitlines():
    add(Question(line, lambda line=line: ask(line), alone=True, prints=True))
