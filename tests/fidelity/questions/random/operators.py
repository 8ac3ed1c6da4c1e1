"""What each operator draws from a seed, in each type, at several sizes, and the generator's offset.

Sizes: less than a warp, a few blocks, and more elements than a grid has threads, which is
multiprocessors times threads of a multiprocessor times four numbers for each thread.
"""

import torch
from recorder.registry import Question, add
from torch.nn import functional as F

SIZES = {"5": 5, "1000": 1000, "a grid and more": 3_000_001}
HALVES = [torch.float16, torch.bfloat16]
FLOATS = [torch.float32, torch.float64, *HALVES]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
SEED = 1234
# A GPU takes logarithms, sines and exponentials from approximate instructions.
CLOSE = 1e-5


def drawn(function, seed=SEED):
    """The numbers and the offset after them."""
    torch.cuda.manual_seed(seed)
    value = function()
    return {"drawn": value, "offset": torch.cuda.default_generators[0].get_offset()}


def random(name, function, tolerance=None):
    add(Question(name, lambda: drawn(function), tolerance=tolerance))


def empty(size, dtype):
    return torch.empty(size, device="cuda", dtype=dtype)


# Name, types, tolerance; the code draws into an empty tensor `x` of that type.
IN_PLACE = {
    "uniform_()": (FLOATS, None),
    "uniform_(-3, 5)": (FLOATS, 1e-6),
    "normal_()": ([*FLOATS, torch.cfloat], CLOSE),
    "normal_(3, 2)": (FLOATS, CLOSE),
    "exponential_()": (FLOATS, CLOSE),
    "exponential_(2.5)": (FLOATS, CLOSE),
    "cauchy_()": (FLOATS, 1e-3),
    "log_normal_()": (FLOATS, CLOSE),
    "geometric_(0.3)": ([*FLOATS, *INTEGERS], None),
    "bernoulli_(0.3)": ([*FLOATS, *INTEGERS, torch.bool], None),
    "random_()": ([*FLOATS, *INTEGERS, torch.bool], None),
    "random_(100)": ([*FLOATS, *INTEGERS], None),
    "random_(-7, 12)": ([torch.float32, torch.int8, torch.int32, torch.int64], None),
    "random_(0, 1 << 40)": ([torch.float64, torch.int64], None),
    "random_(-(1 << 63), None)": ([torch.int64], None),
}
for code, (dtypes, tolerance) in IN_PLACE.items():
    for dtype in dtypes:
        kind = str(dtype).removeprefix("torch.")
        wide = CLOSE if dtype in HALVES and tolerance is not None else 0
        allowed = None if tolerance is None else max(tolerance, 8e-3 if wide else 0)
        for size, count in SIZES.items():

            def in_place(code=code, dtype=dtype, count=count):
                return eval(f"x.{code}", {"x": empty(count, dtype)})

            random(f"{code} {kind} {size}", in_place, allowed)

FACTORIES = {
    "rand": (FLOATS, None, lambda n, t: torch.rand(n, device="cuda", dtype=t)),
    "randn": ([*FLOATS, torch.cfloat], CLOSE, lambda n, t: torch.randn(n, device="cuda", dtype=t)),
    "randint": (
        [*INTEGERS, torch.float32, torch.float16],
        None,
        lambda n, t: torch.randint(0, 100, (n,), device="cuda", dtype=t),
    ),
    "randint of 1 << 33": (
        [torch.int64],
        None,
        lambda n, t: torch.randint(0, 1 << 33, (n,), device="cuda", dtype=t),
    ),
    "rand_like": (FLOATS, None, lambda n, t: torch.rand_like(empty(n, t))),
    "randn_like": ([torch.float32], CLOSE, lambda n, t: torch.randn_like(empty(n, t))),
    "randperm": (
        [torch.int32, torch.int64, torch.float32],
        None,
        lambda n, t: torch.randperm(n, device="cuda", dtype=t),
    ),
    "bernoulli of a tensor": (
        FLOATS,
        None,
        lambda n, t: torch.full((n,), 0.3, device="cuda", dtype=t).bernoulli(),
    ),
    "bernoulli_ of a tensor": (
        FLOATS,
        None,
        lambda n, t: empty(n, t).bernoulli_(torch.linspace(0, 1, n, device="cuda").to(t)),
    ),
    "normal of tensors": (
        [torch.float32, torch.float64],
        CLOSE,
        lambda n, t: torch.normal(
            torch.ones(n, device="cuda", dtype=t), torch.ones(n, device="cuda", dtype=t)
        ),
    ),
    "dropout": (FLOATS, None, lambda n, t: F.dropout(torch.ones(n, device="cuda", dtype=t), 0.3)),
    "native_dropout": (
        FLOATS,
        None,
        lambda n, t: torch.native_dropout(torch.ones(n, device="cuda", dtype=t), 0.3, True),
    ),
    "dropout with a gradient": (
        [torch.float32],
        None,
        lambda n, t: F.dropout(torch.ones(n, device="cuda", requires_grad=True), 0.7),
    ),
    "alpha_dropout": (
        [torch.float32],
        1e-6,
        lambda n, t: F.alpha_dropout(torch.ones(n, device="cuda"), 0.3, training=True),
    ),
    "rrelu": (
        FLOATS,
        None,
        lambda n, t: F.rrelu(-torch.ones(n, device="cuda", dtype=t), training=True),
    ),
    "poisson": (
        [torch.float32, torch.float64],
        None,
        lambda n, t: torch.poisson(torch.full((n,), 3.5, device="cuda", dtype=t)),
    ),
    "binomial": (
        [torch.float32, torch.float64],
        None,
        lambda n, t: torch.binomial(
            torch.full((n,), 20.0, device="cuda", dtype=t),
            torch.full((n,), 0.3, device="cuda", dtype=t),
        ),
    ),
    "_standard_gamma": (
        [torch.float32, torch.float64],
        CLOSE,
        lambda n, t: torch._standard_gamma(torch.full((n,), 2.5, device="cuda", dtype=t)),
    ),
    "_sample_dirichlet": (
        [torch.float32, torch.float64],
        CLOSE,
        lambda n, t: torch._sample_dirichlet(torch.full((n, 3), 2.5, device="cuda", dtype=t)),
    ),
}
for name, (dtypes, tolerance, function) in FACTORIES.items():
    for dtype in dtypes:
        allowed = 8e-3 if dtype in HALVES and tolerance is not None else tolerance
        for size, count in SIZES.items():
            kind = str(dtype).removeprefix("torch.")
            random(
                f"{name} {kind} {size}",
                lambda function=function, n=count, t=dtype: function(n, t),
                allowed,
            )

for dtype in FLOATS:
    kind = str(dtype).removeprefix("torch.")
    for rows, columns, count, again in (
        (1, 10, 1, False), (1, 10, 5, False), (1, 10, 5, True), (7, 1000, 20, True),
        (7, 1000, 20, False), (300, 50, 100, True), (1, 5000, 1, True), (200, 3000, 1, False),
    ):  # fmt: skip

        def multinomial(dtype=dtype, rows=rows, columns=columns, count=count, again=again):
            weights = torch.arange(1, columns + 1, device="cuda").to(dtype).expand(rows, columns)
            return torch.multinomial(weights, count, replacement=again)

        way = "with" if again else "without"
        random(f"multinomial {kind} {rows}x{columns} {count} {way} replacement", multinomial)
