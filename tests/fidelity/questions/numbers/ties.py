"""Which of equal elements an operator chooses, by type, size and direction."""

import torch
from recorder.registry import Question, add

SIZES = [(20,), (1000,), (2048,), (5000,), (100_000,), (3, 40), (70, 1100), (5, 9000)]
TYPES = [torch.float32, torch.float16, torch.int64, torch.uint8]
CALLS = {
    "sort": lambda x: x.sort().indices,
    "sort descending": lambda x: x.sort(descending=True).indices,
    "sort stable": lambda x: x.sort(stable=True).indices,
    "sort columns": lambda x: x.sort(0).indices,
    "topk 3": lambda x: x.topk(3).indices,
    "topk 17": lambda x: x.topk(17).indices,
    "topk 17 smallest": lambda x: x.topk(17, largest=False).indices,
    "topk 17 not sorted": lambda x: x.topk(17, sorted=False).indices,
    "kthvalue": lambda x: x.kthvalue(9).indices,
    "median": lambda x: x.median(-1).indices,
    "mode": lambda x: x.mode(-1).indices,
    "max": lambda x: x.max(-1).indices,
    "min": lambda x: x.min(-1).indices,
    "argmax": lambda x: x.argmax(),
    "argmin of columns": lambda x: x.argmin(0),
    "cummax": lambda x: x.cummax(-1).indices,
    "unique": lambda x: x.unique(return_inverse=True)[1],
}


def values(size, dtype):
    count = torch.Size(size).numel()
    return (torch.arange(count) * 7919 % 13).reshape(size).to(dtype).cuda()


for word, call in CALLS.items():
    for size in SIZES:
        for dtype in TYPES:
            kind = str(dtype).removeprefix("torch.")
            shape = "x".join(map(str, size))
            add(
                Question(
                    f"{word} {kind} {shape}",
                    lambda call=call, size=size, dtype=dtype: call(values(size, dtype)),
                )
            )
