"""Models with a tensor on the wrong device, each in its own way, and a function that verifies each.

test_mixed.py looks at what is found, and applies the fixes to this file.
"""

import torch
import torchport
from torch import nn

D = "cuda"


class Tokens(nn.Module):
    """A mask made in forward."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.block = nn.Sequential(nn.Linear(8, 8), Masking())

    def forward(self, tokens):
        return self.block(self.embed(tokens))


class Masking(nn.Module):
    def forward(self, x):
        mask = torch.ones(x.shape[1], 1)  # made
        mask = mask.unsqueeze(0)
        return x * mask  # mixed


def mask_in_forward():
    return torchport.verify(Tokens(), torch.randint(0, 10, (2, 5)), device=D)


class Unregistered(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.scale = torch.full((8,), 0.5)  # unregistered

    def forward(self, x):
        return self.linear(x) * self.scale


def unregistered_tensor():
    return torchport.verify(Unregistered(), torch.randn(3, 8), device=D)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Unregistered()
        self.cache = {"bias": [torch.zeros(8)]}

    def forward(self, x):
        return x + self.cache["bias"][0]


def unregistered_in_containers():
    return torchport.verify(Deep(), torch.randn(3, 8), device=D)


class InList(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.layers = [nn.Linear(4, 4) for _ in range(2)]

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return x


def modules_in_a_list():
    return torchport.verify(InList(), torch.randn(2, 4), device=D)


def input_on_the_host():
    return torchport.verify(nn.Linear(4, 2).to(D), torch.randn(2, 4))


def model_on_the_host():
    return torchport.verify(nn.Linear(4, 2), torch.randn(2, 4, device=D))


def other_device():
    return torchport.verify(nn.Linear(4, 2).to("cuda:1"), torch.randn(2, 4, device="cuda:0"))


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, batch):
        return self.linear(x) + batch["bias"]["late"]


def input_within_a_mapping():
    batch = {"bias": {"late": torch.zeros(4)}}
    return torchport.verify(Named().to(D), (torch.randn(2, 4, device=D), batch))


def convolution():
    return torchport.verify(nn.Conv2d(3, 4, 3).to(D), torch.randn(1, 3, 8, 8))


def _batches():
    data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.zeros(8))
    return torch.utils.data.DataLoader(data, batch_size=4)


def loader():
    return torchport.verify(nn.Linear(4, 2), _batches(), device=D)


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 400).to(D)
        self.head = nn.Linear(400, 4)

    def forward(self, x):
        return self.head(self.body(x))


def half_moved():
    return torchport.verify(Half(), torch.randn(2, 4, device=D))


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mean", torch.ones(4))

    def forward(self, x):
        return self.linear(x) - self.mean


def buffer_replaced():
    model = Buffered().to(D)
    model.mean = torch.ones(4)
    return torchport.verify(model, torch.randn(2, 4, device=D))


class Tied(nn.Module):
    """Its head is tied to its embedding, and was untied on the host."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


def tie_untied():
    model = Tied().to(D)
    model.head.weight = nn.Parameter(torch.zeros(5, 4))
    return torchport.verify(model, torch.tensor([1, 2], device=D))


class There(nn.Module):
    """Goes to the host and stays there."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x).cpu()  # moved
        y = torch.relu(y)
        return self.linear(y)


def moved_in_forward():
    return torchport.verify(There(), torch.randn(2, 4), device=D)


class Interop(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        z = torch.from_numpy(y.detach().cpu().numpy()) * 2
        return y + z


def through_numpy():
    return torchport.verify(Interop(), torch.randn(2, 4), device=D)


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 4)

    def forward(self, x):
        state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
        return self.lstm(x, state)[0]


def state_of_an_lstm():
    return torchport.verify(State(), torch.randn(3, 2, 4), device=D)


class Lists(nn.Module):
    def forward(self, x):
        return torch.cat([x, torch.zeros(1, 4)])


def within_a_list():
    return torchport.verify(Lists(), torch.randn(2, 4), device=D)


class Attention(nn.Module):
    def forward(self, x):
        causal = torch.ones(3, 3).tril().log()
        return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=causal)


def mask_of_attention():
    return torchport.verify(Attention(), torch.randn(1, 2, 3, 4), device=D, evaluate=True)


MEAN = torch.ones(4)


class Global(nn.Module):
    def forward(self, x):
        return x - MEAN


def global_tensor():
    return torchport.verify(Global(), torch.randn(2, 4), device=D)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.full((4,), 2.0)


class Backward(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.after = After()

    def forward(self, x):
        return self.after(self.linear(x))


class After(nn.Module):
    def forward(self, x):
        return Doubled.apply(x * 3)


def _step(model, *inputs):
    model(*inputs).sum().backward()


def in_the_backward_pass():
    return torchport.verify(Backward(), torch.randn(2, 4), device=D, call=_step, training=True)


class Careful(nn.Module):
    def forward(self, x):
        try:
            return x + torch.ones(4)
        except RuntimeError:
            return x


def caught_by_the_program():
    return torchport.verify(Careful(), torch.randn(4), device=D)


class Wrapping(nn.Module):
    def forward(self, x):
        try:
            return x + torch.ones(4)
        except RuntimeError as error:
            raise ValueError("a bad batch") from error


def wrapped_by_the_program():
    return torchport.verify(Wrapping(), torch.randn(4), device=D)


class Loops(nn.Module):
    """Goes wrong in the third round only."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x):
        for turn in range(5):
            x = self.cell(x)
            if turn == 2:
                x = x * torch.arange(4)
        return x


def in_a_branch():
    return torchport.verify(Loops(), torch.randn(2, 4), device=D)


def replicas():
    model = nn.DataParallel(Unregistered().to(D))
    model.module.scale = torch.full((8,), 0.5)
    return torchport.verify(model, torch.randn(4, 8, device=D))
