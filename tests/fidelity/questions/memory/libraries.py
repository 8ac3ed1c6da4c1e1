"""Temporary memory of CUDA's libraries by size: linear algebra, transforms, convolutions, searches.

For each size [bytes that stay, peak bytes] of a second call, without those of the inputs.
"""

import torch
from recorder.registry import Question, generated
from torch.nn import functional as F

KINDS = {"f": torch.float32, "d": torch.float64, "c": torch.cfloat, "h": torch.half}


def told_of(call):
    """What a second call takes."""
    try:
        call()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        found = call()
        torch.cuda.synchronize()
        told = [torch.cuda.memory_allocated() - before, torch.cuda.max_memory_allocated() - before]
        del found
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:120]
    return told


def definite(shape, dtype):
    *batch, m, n = shape
    generator = torch.Generator().manual_seed(m * 31 + n)
    a = torch.randn(*batch, m, n, generator=generator, dtype=dtype).cuda()
    return a


def hermitian(a):
    return a @ a.mH + a.shape[-1] * torch.eye(a.shape[-1], dtype=a.dtype, device="cuda")


ALGEBRA = {
    "cholesky": lambda a: (torch.linalg.cholesky, hermitian(a)),
    "cholesky_ex upper": lambda a: (
        lambda x: torch.linalg.cholesky_ex(x, upper=True),
        hermitian(a),
    ),
    "cholesky_solve": lambda a: (torch.cholesky_solve, a, torch.linalg.cholesky(hermitian(a))),
    "cholesky_inverse": lambda a: (torch.cholesky_inverse, torch.linalg.cholesky(hermitian(a))),
    "lu_factor": lambda a: (torch.linalg.lu_factor, a),
    "lu": lambda a: (torch.linalg.lu, a),
    "lu_solve": lambda a: (torch.linalg.lu_solve, *torch.linalg.lu_factor(a), a),
    "inv": lambda a: (torch.linalg.inv, a),
    "solve": lambda a: (torch.linalg.solve, a, a),
    "solve one": lambda a: (torch.linalg.solve, a, a[..., :1].contiguous()),
    "solve_triangular": lambda a: (lambda x: torch.linalg.solve_triangular(x, x, upper=True), a),
    "det": lambda a: (torch.linalg.det, a),
    "slogdet": lambda a: (torch.linalg.slogdet, a),
    "qr": lambda a: (torch.linalg.qr, a),
    "qr complete": lambda a: (lambda x: torch.linalg.qr(x, mode="complete"), a),
    "qr r": lambda a: (lambda x: torch.linalg.qr(x, mode="r"), a),
    "geqrf": lambda a: (torch.geqrf, a),
    "householder_product": lambda a: (torch.linalg.householder_product, *torch.geqrf(a)),
    "ormqr": lambda a: (torch.ormqr, *torch.geqrf(a), a),
    "svd": lambda a: (lambda x: torch.linalg.svd(x, full_matrices=False), a),
    "svd full": lambda a: (torch.linalg.svd, a),
    "svd gesvd": lambda a: (lambda x: torch.linalg.svd(x, driver="gesvd"), a),
    "svd gesvdj": lambda a: (lambda x: torch.linalg.svd(x, driver="gesvdj"), a),
    "svdvals": lambda a: (torch.linalg.svdvals, a),
    "eigh": lambda a: (torch.linalg.eigh, hermitian(a)),
    "eigvalsh": lambda a: (torch.linalg.eigvalsh, hermitian(a)),
    "eig": lambda a: (torch.linalg.eig, a),
    "eigvals": lambda a: (torch.linalg.eigvals, a),
    "lstsq": lambda a: (lambda x: torch.linalg.lstsq(x, x).solution, a),
    "ldl_factor": lambda a: (torch.linalg.ldl_factor, hermitian(a)),
    "pinv": lambda a: (torch.linalg.pinv, a),
    "pinv hermitian": lambda a: (lambda x: torch.linalg.pinv(x, hermitian=True), hermitian(a)),
    "matrix_rank": lambda a: (torch.linalg.matrix_rank, a),
    "cond": lambda a: (torch.linalg.cond, a),
    "matrix_exp": lambda a: (torch.linalg.matrix_exp, a / a.shape[-1]),
}
SQUARES = [(2, 2), (17, 17), (32, 32), (33, 33), (64, 64), (100, 100), (128, 128), (200, 200), (257, 257),
           (512, 512), (600, 600), (1024, 1024), (1500, 1500), (3, 40, 40), (20, 8, 8), (5, 300, 300)]  # fmt: skip
RECTANGLES = [(64, 32), (32, 64), (100, 7), (7, 100), (513, 200), (1000, 30)]
ALSO_RECTANGLES = (
    "lu",
    "qr",
    "geqrf",
    "householder",
    "svd",
    "lstsq",
    "pinv",
    "matrix_rank",
    "cond",
)


def algebra(name, make, kind):
    told = {}
    shapes = SQUARES + (
        RECTANGLES if name.startswith(ALSO_RECTANGLES) and name != "lu_solve" else []
    )
    if kind != "f":
        shapes = shapes[1::2]
    for shape in shapes:
        if name.startswith(("svd", "eig", "pinv", "matrix_rank", "cond")) and max(shape) > 1024:
            continue
        try:
            call, *given = make(definite(shape, KINDS[kind]))
        except Exception as error:
            told[str(list(shape))] = f"no input: {type(error).__name__}"
            continue
        told[str(list(shape))] = told_of(lambda call=call, given=given: call(*given))
    return told


@generated
def linear_algebra():
    for name, make in ALGEBRA.items():
        for kind in ("f", "d", "c"):
            yield Question(
                f"{name} {kind}", lambda n=name, m=make, k=kind: algebra(n, m, k), seconds=200
            )


TRANSFORMS = {
    "fft": torch.fft.fft, "rfft": torch.fft.rfft, "irfft": torch.fft.irfft, "ifft": torch.fft.ifft,
    "fft2": torch.fft.fft2, "rfft2": torch.fft.rfft2, "irfft2": torch.fft.irfft2,
    "fftn": torch.fft.fftn, "stft": lambda x: torch.stft(x.flatten(), 64, return_complex=True),
    "hfft": torch.fft.hfft, "fft of dim 0": lambda x: torch.fft.fft(x, dim=0),
}  # fmt: skip
LENGTHS = [(16,), (17,), (1000,), (1009,), (4096,), (65536,), (65537,), (1 << 20,), (999983,), (7, 130), (64, 64),
           (100, 1021), (512, 512), (3, 30, 50), (8, 64, 65), (30, 4096), (2, 3, 5, 7), (4, 16, 16, 16)]  # fmt: skip


def transform(call, kind):
    told = {}
    for shape in LENGTHS:
        x = torch.ones(*shape, device="cuda", dtype=KINDS[kind])
        told[str(list(shape))] = told_of(lambda x=x: call(x))
    return told


@generated
def transforms():
    for name, call in TRANSFORMS.items():
        for kind in ("f", "d", "c"):
            yield Question(f"{name} {kind}", lambda c=call, k=kind: transform(c, k), seconds=200)


def rising(n, dtype=torch.float32):
    return torch.arange(n, device="cuda").flip(0).to(dtype)


SEARCHES = {
    "sort": lambda x: x.sort(),
    "sort stable": lambda x: x.sort(stable=True),
    "argsort rows": lambda x: x[: x.numel() // 7 * 7].view(7, -1).argsort(-1),
    "argsort columns": lambda x: x[: x.numel() // 7 * 7].view(-1, 7).argsort(0),
    "topk 1": lambda x: x.topk(1),
    "topk 5": lambda x: x.topk(min(5, x.numel())),
    "topk half": lambda x: x.topk(x.numel() // 2),
    "topk unsorted": lambda x: x.topk(min(50, x.numel()), sorted=False),
    "topk rows": lambda x: x[: x.numel() // 7 * 7].view(7, -1).topk(2),
    "topk smallest columns": lambda x: (
        x[: x.numel() // 7 * 7].view(-1, 7).topk(2, 0, largest=False)
    ),
    "kthvalue": lambda x: x.kthvalue(3),
    "median": lambda x: x.median(),
    "nanmedian rows": lambda x: x[: x.numel() // 7 * 7].view(7, -1).nanmedian(-1),
    "mode": lambda x: x.mode(),
    "unique": lambda x: x.unique(),
    "unique inverse": lambda x: x.unique(return_inverse=True, return_counts=True),
    "unique_consecutive": lambda x: x.unique_consecutive(),
    "unique dim": lambda x: x[: x.numel() // 4 * 4].view(-1, 4).unique(dim=0),
    "nonzero": lambda x: x.nonzero(),
    "masked_select": lambda x: x[x > 3],
    "bincount": lambda x: x.long().bincount(),
    "histc": lambda x: x.float().histc(50),
    "searchsorted": lambda x: torch.searchsorted(x.flip(0), x),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(0),
    "cummax": lambda x: x.cummax(0),
    "logcumsumexp": lambda x: x.float().logcumsumexp(0),
    "cumsum columns": lambda x: x[: x.numel() // 7 * 7].view(-1, 7).cumsum(0),
    "sum": lambda x: x.sum(),
    "sum columns": lambda x: x[: x.numel() // 7 * 7].view(-1, 7).sum(0),
    "argmax": lambda x: x.argmax(),
    "std": lambda x: x.float().std(),
    "norm": lambda x: x.float().norm(),
    "logsumexp": lambda x: x.float().logsumexp(0),
    "isin": lambda x: torch.isin(x, x[:7]),
    "index_put accumulate": lambda x: x.clone().index_put_((x.long() % 5,), x, accumulate=True),
    "index_add": lambda x: x.clone().index_add_(0, x.long() % 5, x),
    "scatter_add": lambda x: x.clone().scatter_add_(0, x.long() % 5, x),
    "scatter_reduce": lambda x: x.clone().scatter_reduce_(0, x.long() % 5, x, "amax"),
    "index_select": lambda x: x.index_select(0, x.long()),
    "take": lambda x: x.take(x.long()),
    "put": lambda x: x.clone().put_(x.long(), x),
    "randperm": lambda x: torch.randperm(x.numel(), device="cuda"),
    "multinomial": lambda x: (x.float() + 1)[: 1 << 20].multinomial(5),
    "roll": lambda x: x.roll(3),
    "repeat_interleave": lambda x: x.repeat_interleave(x.long() % 3),
    "quantile": lambda x: x.float()[:1000000].quantile(0.3),
    "embedding gradient": lambda x: embedding_gradient(x),
    "embedding_bag gradient": lambda x: embedding_gradient(x, bag=True),
    "allclose": lambda x: torch.allclose(x, x),
    "to_sparse": lambda x: x.to_sparse(),
    "coalesce": lambda x: torch.sparse_coo_tensor(x.long()[None] % 50, x, (50,)).coalesce(),
    "to_sparse_csr": lambda x: x[: x.numel() // 4 * 4].view(-1, 4).to_sparse_csr(),
}
COUNTS = [8, 100, 1000, 1024, 1025, 4096, 10000, 65536, 100000, 1000003, 5000000]


def embedding_gradient(x, bag=False):
    weight = torch.zeros(max(8, min(x.numel(), 5000)), 16, device="cuda", requires_grad=True)
    ids = x.long() % weight.shape[0]
    found = F.embedding_bag(ids[None], weight) if bag else F.embedding(ids, weight)
    return torch.autograd.grad(found.sum(), weight)


def search(call, dtype):
    told = {}
    for n in COUNTS:
        x = rising(n, dtype)
        told[str(n)] = told_of(lambda x=x: call(x))
    return told


@generated
def searches():
    for name, call in SEARCHES.items():
        for dtype in (torch.float32, torch.int64, torch.half, torch.uint8):
            title = f"{name} {str(dtype).removeprefix('torch.')}"
            yield Question(title, lambda c=call, d=dtype: search(c, d), seconds=100)
