"""What a process holds on a device outside the allocator: the context, and what libraries load."""

import torch
from recorder.registry import Question, add
from recorder.steps import outside_the_allocator

EXCLUSIVE = True
HEAVY = True  # a virtual device has no context: its figures come from these recordings


def ask(make):
    def question():
        torch.cuda.init()
        before = outside_the_allocator()
        function = make()
        told = {"context": before, "inputs": outside_the_allocator()}
        for count in (1, 2):
            function()
            told[f"call {count}"] = outside_the_allocator()
        return told

    return question


def ones(*shape, dtype=torch.float32):
    return torch.ones(*shape, device="cuda", dtype=dtype)


def square(dtype=torch.float32):
    x = ones(512, 512, dtype=dtype)
    return lambda: x @ x


def convolution(dtype=torch.float32):
    x, w = ones(8, 64, 56, 56, dtype=dtype), ones(64, 64, 3, 3, dtype=dtype)
    return lambda: torch.conv2d(x, w, padding=1)


def training_convolution():
    x, w = ones(8, 64, 56, 56), ones(64, 64, 3, 3).requires_grad_()
    return lambda: torch.conv2d(x, w, padding=1).sum().backward()


def attention():
    x = ones(2, 8, 512, 64, dtype=torch.half)
    return lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x)


def recurrent():
    layer, x = torch.nn.LSTM(64, 64, device="cuda"), ones(16, 8, 64)
    return lambda: layer(x)


def graph():
    x = ones(1 << 20)
    made = torch.cuda.CUDAGraph()

    def run():
        with torch.cuda.graph(made):
            for _ in range(100):
                x.add_(1)
        made.replay()
        made.reset()

    return run


for name, make in {
    "nothing": lambda: lambda: None,
    "add": lambda: lambda: ones(1000) + 1,
    "many kernels": lambda: lambda: [
        getattr(ones(100), n)() for n in ("exp", "sort", "sum", "std", "median", "unique", "argmax")
    ],
    "streams": lambda: lambda: [torch.cuda.Stream() for _ in range(32)],
    "random": lambda: lambda: torch.rand(1000, device="cuda"),
    "product": square,
    "product half": lambda: square(torch.half),
    "product bfloat16": lambda: square(torch.bfloat16),
    "product double": lambda: square(torch.double),
    "linear with bias": lambda: lambda: torch.nn.functional.linear(ones(64, 64), ones(64, 64), ones(64)),
    "convolution": convolution,
    "convolution half": lambda: convolution(torch.half),
    "convolution trains": training_convolution,
    "attention": attention,
    "LSTM": recurrent,
    "inverse": lambda: lambda: torch.linalg.inv(torch.eye(64, device="cuda")),
    "svd": lambda: lambda: torch.linalg.svd(torch.eye(64, device="cuda")),
    "fft": lambda: lambda: torch.fft.fft(ones(4096)),
    "sparse": lambda: lambda: torch.eye(64, device="cuda").to_sparse_csr() @ ones(64, 64),
    "graph": graph,
}.items():  # fmt: skip
    add(Question(name, ask(make), alone=True))
