"""Memory figures after each step of small programs."""

import torch
from recorder.registry import Question, add
from recorder.steps import MIB, Steps, made

SIZES = {
    "around 512 bytes": [0, 1, 511, 512, 513, 1024, 1025],
    "around 1 MiB": [MIB - 512, MIB - 1, MIB, MIB + 1, MIB + 512, 2 * MIB, 2 * MIB + 1],
    "around 10 MiB": [10 * MIB - 512, 10 * MIB - 1, 10 * MIB, 10 * MIB + 1, 12 * MIB + 1],
    "around 20 MiB": [20 * MIB - 1, 20 * MIB, 20 * MIB + 1, 22 * MIB + 1, 40 * MIB - 1],
    "large": [100 * MIB, 200 * MIB + 1, 333 * MIB],
    "many small": [700] * 40,
    "small until a second segment": [300_000] * 10,
    "large until a second segment": [3 * MIB] * 9,
}


def sequence(function):
    """A question of a function of `Steps`, in a process of its own: it begins with no memory."""

    def ask():
        steps = Steps()
        function(steps)
        return steps.told()

    add(Question(function.__name__, ask, alone=True))
    return function


def sizes(name, counts):
    def kept(steps):
        blocks = []
        for size in counts:
            blocks.append(made(size))
            steps.mark(str(size))
        while blocks:
            blocks.pop(len(blocks) // 2)
            steps.mark("freed")
        torch.cuda.empty_cache()
        steps.mark("emptied")

    kept.__name__ = f"kept: {name}"
    sequence(kept)

    def reused(steps):
        for size in counts:
            made(size)
            steps.mark(str(size))

    reused.__name__ = f"freed at once: {name}"
    sequence(reused)


for one, counts in SIZES.items():
    sizes(one, counts)


@sequence
def split_and_merge(steps):
    whole = made(19 * MIB)
    steps.mark("whole")
    del whole
    parts = [made(4 * MIB) for _ in range(4)]
    steps.mark("parts")
    del parts[1]
    steps.mark("a hole")
    big = made(5 * MIB)
    steps.mark("does not fit the hole")
    fits = made(3 * MIB)
    steps.mark("fits the hole")
    del parts, big, fits
    steps.mark("all freed")
    made(20 * MIB)
    steps.mark("whole again")


@sequence
def remainder_that_is_too_small_to_split(steps):
    for size in (20 * MIB - 1 * MIB, 2 * MIB - 512, 2 * MIB - 511, MIB - 512):
        block = made(size)
        steps.mark(str(size))
        del block
        other = made(size - 512)
        steps.mark("a little less")
        del other


@sequence
def small_and_large_pools(steps):
    large = made(5 * MIB)
    del large
    steps.mark("large freed")
    small = made(1000)
    steps.mark("small takes none of it")
    del small
    larger = made(MIB + 1)
    steps.mark("large again")
    del larger


@sequence
def empty_cache_of_used_segments(steps):
    blocks = [made(6 * MIB) for _ in range(6)]
    steps.mark("made")
    del blocks[::2]
    steps.mark("every second freed")
    torch.cuda.empty_cache()
    steps.mark("emptied")
    blocks.clear()
    torch.cuda.empty_cache()
    steps.mark("emptied again")


@sequence
def streams_have_pools(steps):
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    a = made(3 * MIB)
    steps.mark("default stream")
    b = made(3 * MIB, first)
    steps.mark("first stream")
    c = made(3 * MIB, second)
    steps.mark("second stream")
    del a, b
    steps.mark("freed")
    d = made(3 * MIB, second)
    steps.mark("second stream again")
    e = made(3 * MIB, first)
    steps.mark("first stream again")
    torch.cuda.empty_cache()
    steps.mark("emptied")
    del c, d, e


@sequence
def recorded_streams(steps):
    other = torch.cuda.Stream()
    a = made(3 * MIB)
    a.record_stream(other)
    steps.mark("recorded")
    del a
    steps.mark("freed")
    torch.cuda.synchronize()
    steps.mark("synchronized")
    b = made(3 * MIB)
    steps.mark("next")
    del b


@sequence
def views_and_in_place(steps):
    x = torch.zeros(3 * MIB, device="cuda")
    steps.mark("zeros")
    y = x[1000:].view(-1)[::2]
    steps.mark("views")
    x.add_(1).mul_(2).relu_()
    steps.mark("in place")
    z = x * 2 + 1
    steps.mark("out of place")
    torch.add(x, 1, out=z)
    steps.mark("out")
    del x
    steps.mark("base deleted")
    del y
    steps.mark("view deleted")
    z.contiguous().clone()
    steps.mark("clone")


@sequence
def resize_and_set(steps):
    x = torch.empty(100, device="cuda")
    for size in (128, 129, 1000, 10, MIB, 3 * MIB, 5):
        x.resize_(size)
        steps.mark(f"resize_ {size}")
    storage = x.untyped_storage()
    for size in (5 * MIB, 100, 0):
        storage.resize_(size)
        steps.mark(f"storage {size}")
    x.set_()
    steps.mark("set_")


@sequence
def changes_of_type(steps):
    x = torch.ones(2 * MIB, device="cuda")
    for dtype in (torch.half, torch.double, torch.bool, torch.cfloat, torch.float8_e4m3fn):
        y = x.to(dtype)
        steps.mark(str(dtype))
        del y
    (x + x.half()).sum()
    steps.mark("mixed")


@sequence
def reductions(steps):
    x = torch.ones(4, 3 * MIB, device="cuda")
    calls = {
        "sum": x.sum, "sum of rows": lambda: x.sum(1), "sum of columns": lambda: x.sum(0),
        "mean": x.mean, "std": x.std, "max": lambda: x.max(1), "argmax": x.argmax,
        "norm": x.norm, "logsumexp": lambda: x.logsumexp(1), "cumsum": lambda: x.cumsum(1),
        "softmax": lambda: x.softmax(1), "all": lambda: (x > 0).all(), "prod": x.prod,
    }  # fmt: skip
    for name, call in calls.items():
        call()
        steps.mark(name)


@sequence
def sorts_and_searches(steps):
    x = torch.arange(1 << 18, device="cuda", dtype=torch.float32)
    calls = {
        "sort": x.sort, "argsort": x.argsort, "topk": lambda: x.topk(10), "unique": x.unique,
        "median": x.median, "nonzero": x.nonzero, "mask": lambda: x[x > 5], "histc": x.histc,
        "bincount": lambda: x.long().bincount(), "kthvalue": lambda: x.kthvalue(5),
        "randperm": lambda: torch.randperm(1 << 18, device="cuda"),
        "multinomial": lambda: torch.multinomial(x, 5),
        "index_put": lambda: x.index_put((x.long(),), x, accumulate=True),
        "index": lambda: x[x.long()], "gather": lambda: x.gather(0, x.long()),
        "embedding": lambda: torch.nn.functional.embedding(x.long(), x[:, None]),
    }  # fmt: skip
    for name, call in calls.items():
        call()
        steps.mark(name)


@sequence
def products(steps):
    """The first product of a process takes a workspace for cuBLAS."""
    x = torch.ones(300, 300, device="cuda")
    steps.mark("made")
    for name, call in {
        "mm": lambda: x @ x, "again": lambda: x @ x, "mv": lambda: x @ x[0],
        "bmm": lambda: torch.bmm(x[None], x[None]), "linear": lambda: torch.nn.functional.linear(x, x, x[0]),
        "half": lambda: x.half() @ x.half(), "bfloat16": lambda: x.bfloat16() @ x.bfloat16(),
        "double": lambda: x.double() @ x.double(), "addmm": lambda: torch.addmm(x[0], x, x),
        "einsum": lambda: torch.einsum("ij,jk,kl", x, x, x), "dot": lambda: x[0].dot(x[0]),
    }.items():  # fmt: skip
        call()
        steps.mark(name)
    with torch.cuda.stream(torch.cuda.Stream()):
        x @ x
        steps.mark("in another stream")
    torch._C._cuda_clearCublasWorkspaces()
    steps.mark("workspaces cleared")


@sequence
def linear_algebra(steps):
    x = torch.eye(100, device="cuda") * 3
    for name in ("inv", "cholesky", "qr", "svd", "eigh", "det", "pinv", "lu", "slogdet"):
        getattr(torch.linalg, name)(x)
        steps.mark(name)
    torch.linalg.solve(x, x)
    steps.mark("solve")
    torch.fft.fft(x)
    steps.mark("fft")


@sequence
def convolutions(steps):
    x = torch.ones(2, 16, 32, 32, device="cuda")
    w = torch.ones(16, 16, 3, 3, device="cuda", requires_grad=True)
    steps.mark("made")
    y = torch.nn.functional.conv2d(x, w, padding=1)
    steps.mark("forward")
    y.sum().backward()
    steps.mark("backward")
    torch.nn.functional.conv2d(x.half(), w.half())
    steps.mark("half")
    torch.nn.functional.conv2d(x.to(memory_format=torch.channels_last), w)
    steps.mark("channels last")
    torch.nn.functional.conv_transpose2d(x, w)
    steps.mark("transposed")


@sequence
def attention(steps):
    attend = torch.nn.functional.scaled_dot_product_attention
    for dtype in (torch.float32, torch.half, torch.bfloat16, torch.double):
        q = torch.ones(2, 4, 256, 64, device="cuda", dtype=dtype, requires_grad=True)
        y = attend(q, q, q)
        steps.mark(f"forward {dtype}")
        y.sum().backward()
        steps.mark(f"backward {dtype}")
        del q, y


@sequence
def autograd_keeps(steps):
    x = torch.ones(MIB, device="cuda", requires_grad=True)
    y = (x * 2).exp().tanh().sum()
    steps.mark("forward")
    y.backward()
    steps.mark("backward")
    del y
    steps.mark("graph deleted")
    x.grad = None
    steps.mark("no gradient")
    with torch.no_grad():
        (x * 2).exp().tanh().sum()
    steps.mark("without gradients")


@sequence
def copies(steps):
    host = torch.ones(3 * MIB)
    x = host.cuda()
    steps.mark("from the host")
    y = host.pin_memory().to("cuda", non_blocking=True)
    steps.mark("from pinned memory")
    x.cpu()
    steps.mark("to the host")
    x.copy_(y.half())
    steps.mark("copy with another type")
    x.view(3, -1).t().contiguous()
    steps.mark("transposed")
    x[::2].copy_(host[::2])
    steps.mark("strided from the host")


@sequence
def generators_and_streams_take_none(steps):
    torch.cuda.manual_seed(1)
    torch.Generator("cuda").manual_seed(2)
    torch.cuda.Stream()
    torch.cuda.Event(enable_timing=True).record()
    torch.rand(10, device="cuda")
    steps.mark("rand")
    torch.nn.functional.dropout(torch.ones(1000, device="cuda"))
    steps.mark("dropout")


@sequence
def graphs(steps):
    x = torch.ones(MIB, device="cuda")
    graph = torch.cuda.CUDAGraph()
    steps.mark("made")
    with torch.cuda.graph(graph):
        y = (x * 2) + 1
    steps.mark("captured")
    graph.replay()
    torch.cuda.synchronize()
    steps.mark("replayed")
    second = torch.cuda.CUDAGraph()
    with torch.cuda.graph(second, pool=graph.pool()):
        z = y * 3
    steps.mark("a second in its pool")
    del graph, second
    steps.mark("graphs deleted")
    del y, z
    steps.mark("results deleted")
    torch.cuda.empty_cache()
    steps.mark("emptied")


@sequence
def pools_of_a_program(steps):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        a = made(3 * MIB)
    steps.mark("in a pool")
    b = made(3 * MIB)
    steps.mark("outside")
    del a
    steps.mark("freed")
    del pool, b
    steps.mark("pool deleted")
    torch.cuda.empty_cache()
    steps.mark("emptied")


@sequence
def optimizers(steps):
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
        x = torch.ones(MIB, device="cuda", requires_grad=True)
        optimizer = getattr(torch.optim, name)([x], lr=0.1)
        x.sum().backward()
        steps.mark(f"{name} backward")
        optimizer.step()
        steps.mark(f"{name} step")
        optimizer.zero_grad()
        steps.mark(f"{name} zero_grad")
        del optimizer, x


@sequence
def garbage_after_a_failure(steps):
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(512 * MIB / total)
    kept = [made(100 * MIB) for _ in range(4)]
    steps.mark("made")
    del kept[:2]
    steps.mark("half freed")
    try:
        made(300 * MIB)
    except torch.OutOfMemoryError:
        steps.mark("refused")
    kept.append(made(250 * MIB))
    steps.mark("after giving back")
