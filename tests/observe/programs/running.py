"""Models that run: what they copy, read, keep and leave on. Two virtual CUDA devices."""

import threading

import torch
import torchport
from cases import case, run_all
from torch import nn
from torch.utils.checkpoint import checkpoint

D = "cuda"


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)


@case
def nothing_to_say():
    return torchport.verify(Linear(), torch.randn(2, 4), device=D, evaluate=True)


class Reads(Linear):
    def forward(self, x):
        y = self.linear(x)
        if y.sum() > 0:  # bool
            y = y + 1
        for _ in range(3):
            y.max().item()  # item
        positive = y[y > 0]  # masked
        torch.nonzero(y)  # nonzero
        rows = y[torch.tensor([0, 1])]  # host indices
        held = y[torch.tensor([0, 1], device=y.device)]  # made by a copy
        torch.repeat_interleave(y, torch.ones(2, dtype=torch.long, device=D), 0)  # unsized
        torch.repeat_interleave(  # sized
            y, torch.ones(2, dtype=torch.long, device=D), 0, output_size=2
        )
        y.shape[0], y.dim(), y.is_contiguous(), torch.tensor([], device=D)  # nothing
        y * torch.tensor(2.0) * 3  # a number on the host
        return positive, rows, held


@case
def reads():
    return torchport.verify(Reads(), torch.randn(2, 4), device=D, evaluate=True)


class Copies(Linear):
    def forward(self, x):
        y = self.linear(x)
        z = y.cpu()  # to host
        w = z.to(y.device, non_blocking=True)  # to device
        v = w.to("cuda:1")  # between
        y.copy_(v)  # copy_
        return y


@case
def copies():
    return torchport.verify(Copies(), torch.randn(2, 4), device=D, evaluate=True)


class Keeps(Linear):
    def __init__(self):
        super().__init__()
        self.losses = []

    def forward(self, x):
        y = self.linear(x)
        self.losses.append(y.mean())
        return y


@case
def keeps_graphs():
    return torchport.verify(Keeps(), torch.randn(2, 4), device=D)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.bn(self.conv(x)))


@case
def training_mode():
    return torchport.verify(Net(), torch.randn(2, 3, 8, 8), device=D)


@case
def evaluated():
    model = Net()
    result = torchport.verify(model, torch.randn(2, 3, 8, 8), device=D, evaluate=True).to_dict()
    return result | {"training_after": [m.training for m in model.modules()]}


@case
def wants_training_has_evaluation():
    return torchport.verify(Linear().eval(), torch.randn(2, 4), device=D, training=True)


class Autocast(Linear):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.linear(x)


@case
def autocast_within():
    return torchport.verify(Autocast(), torch.randn(2, 4), device=D, evaluate=True)


@case
def autocast_around():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return torchport.verify(Linear(), torch.randn(2, 4), device=D, evaluate=True)


class Finite(Linear):
    def forward(self, x):
        mask = torch.full((4,), float("-inf"), device=x.device)
        y = self.linear(x) * 0
        z = y / y  # nan
        large = torch.ones_like(x).mul(1e38)
        return (z + mask).softmax(-1), large * 10  # infinity


@case
def not_finite():
    return torchport.verify(Finite(), torch.randn(2, 4), device=D, evaluate=True, check_finite=True)


@case
def not_finite_unasked():
    return torchport.verify(Finite(), torch.randn(2, 4), device=D, evaluate=True)


class Threads(Linear):
    def forward(self, x):
        given = []

        def work():
            given.append(self.linear(x))
            given[0].sum().item()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return given[0]


@case
def threads():
    return torchport.verify(Threads(), torch.randn(2, 4), device=D, evaluate=True)


def step(model, *inputs):
    model(*inputs).sum().backward()


class Recomputed(Linear):
    def forward(self, x):
        return checkpoint(self.linear, x, use_reentrant=False)


@case
def checkpointed():
    return torchport.verify(Recomputed(), torch.randn(2, 4), device=D, call=step, training=True)


class Stray(Linear):
    def __init__(self):
        super().__init__()
        self.scale = torch.full((4,), 0.5)

    def forward(self, x):
        return self.linear(x) * self.scale


@case
def adopted():
    model = Stray()
    torchport.adopt(model)
    return torchport.verify(model, torch.randn(2, 4), device=D, evaluate=True)


class Spread(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8).to("cuda:0")
        self.second = nn.Linear(8, 2).to("cuda:1")

    def forward(self, x):
        return self.second(self.first(x).to("cuda:1"))


@case
def spread():
    return torchport.verify(Spread(), torch.randn(2, 4, device="cuda:0"), evaluate=True)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


@case
def tied():
    return torchport.verify(Tied(), torch.tensor([1, 2]), device=D, evaluate=True)


@case
def compiled():
    return torchport.verify(torch.compile(Linear()), torch.randn(2, 4), device=D, evaluate=True)


@case
def scripted():
    model = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    return torchport.verify(model, torch.randn(2, 4), device=D, evaluate=True)


@case
def lazy():
    return torchport.verify(nn.LazyLinear(3), torch.randn(2, 4), device=D, evaluate=True)


class Transforms(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: row @ row)(x), torch.func.grad(lambda v: (v**2).sum())(x)


@case
def transforms():
    return torchport.verify(Transforms(), torch.randn(4, 4), device=D)


class Layouts(nn.Module):
    def forward(self, x):
        nested = torch.nested.as_nested_tensor([x, x[:2]]) * 2
        return torch.sparse.mm(torch.eye(4, device=x.device).to_sparse(), x), nested


@case
def layouts():
    return torchport.verify(Layouts(), torch.randn(4, 4), evaluate=True)


@case
def parts_of_a_batch():
    data = torch.utils.data.TensorDataset(torch.randn(8, 4, device=D), torch.zeros(8))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    return torchport.verify(Linear(), loader, device=D, evaluate=True)


@case
def through_our_loader():
    data = torch.utils.data.TensorDataset(torch.randn(8, 4))
    loader = torchport.loader(torch.utils.data.DataLoader(data, batch_size=4), D)
    return torchport.verify(Linear(), loader, device=D, evaluate=True)


class Raises(nn.Module):
    def forward(self, x):
        raise KeyError("mine")


ERROR = None


@case
def raises():
    global ERROR
    return torchport.verify(Raises(), torch.randn(2))


@case
def raises_the_same_error():
    class Own(Exception):
        pass

    error = Own("kept")

    class Model(nn.Module):
        def forward(self, x):
            raise error

    try:
        torchport.verify(Model(), torch.randn(2))
    except Own as raised:
        return {"same": raised is error, "frames": _frames(raised)}
    return {"same": False}


def _frames(error):
    frames, at = [], error.__traceback__
    while at is not None:
        frames.append(at.tb_frame.f_code.co_name)
        at = at.tb_next
    return frames


@case
def wrong_shape():
    return torchport.verify(nn.Linear(4, 2), torch.randn(2, 3))


@case
def wrong_index_among_devices():
    class Model(nn.Module):
        def forward(self, x):
            return x[torch.tensor([7])]

    return torchport.verify(Model(), torch.randn(2, 3), device=D)


@case
def usable_after_errors():
    """Whatever was raised before, the thread is watched no more, and can be watched again."""
    before = torchport.verify(Linear(), torch.randn(2, 4), device=D, evaluate=True).operators
    x = torch.ones(3, device=D)
    for _ in range(10):
        x = x + 1
    after = torchport.verify(Linear(), torch.randn(2, 4), device=D, evaluate=True).operators
    return {"before": before, "after": after, "hooks": _global_hooks()}


def _global_hooks():
    from torch.nn.modules import module

    return len(module._global_forward_hooks) + len(module._global_forward_pre_hooks)


@case
def no_module():
    return torchport.verify(lambda x: x, torch.randn(2))


@case
def empty_loader():
    return torchport.verify(nn.Linear(1, 1), torch.utils.data.DataLoader([]))


@case
def same_device():
    a, b = torch.ones(2, device=D), torch.ones(2)
    torchport.require_same_device(a=a, c=a, d=None, e=3)
    torchport.require_same_device(x=a, y=b, z=None)


if __name__ == "__main__":
    run_all()
