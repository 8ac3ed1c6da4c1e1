"""What the arithmetic of kernels gives where languages and machines differ."""

import torch
from recorder.registry import expressions
from torch.nn import functional as F

INF, NAN = float("inf"), float("nan")


def on_device(values, dtype=None):
    return torch.tensor(values, device="cuda", dtype=dtype)


def ramp(dtype, rows=64, columns=512):
    """Values without a pattern, that are the same on every device."""
    count = rows * columns
    values = (torch.arange(count) * 7919 % 1009).double() / 1009 - 0.5
    return values.reshape(rows, columns).to(dtype).cuda()


def product(dtype):
    return ramp(dtype) @ ramp(dtype, 512, 64)


def names():
    integers = [getattr(torch, n) for n in ("uint8", "int8", "int16", "int32", "int64")]
    return {
        "torch": torch, "F": F, "t": on_device, "INF": INF, "NAN": NAN, "I": integers,
        "ramp": ramp, "product": product, "sp": [NAN, INF, -INF, 0.0, -0.0, 1.5, -1.5, 3e9, -3e9, 1e20],
        "i32": torch.int32, "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16,
        "f64": torch.float64, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16,
    }  # fmt: skip


expressions(
    """
    [t([7, -7, 0], d) // 0 for d in I]
    [t([7, -7 if d.is_signed else 7, 0], d) // t([0, 0, 0], d) for d in I]
    [t([7, 9, 0], d) % t([0, 0, 0], d) for d in I]
    [torch.fmod(t([7, 9, 0], d), t([0, 0, 0], d)) for d in I]
    [torch.div(t([7, 9, 0], d), t([0, 0, 0], d), rounding_mode='trunc') for d in I]
    [torch.div(t([7, 9, 0], d), t([0, 0, 0], d)) for d in I]
    [t([torch.iinfo(d).min], d) // -1 for d in I if d.is_signed]
    [t([torch.iinfo(d).min], d) % -1 for d in I if d.is_signed]
    [torch.div(t([torch.iinfo(d).min], d), t([-1], d), rounding_mode='trunc') for d in I if d.is_signed]
    [-t([torch.iinfo(d).min], d) for d in I if d.is_signed]
    [t([torch.iinfo(d).min], d).abs() for d in I if d.is_signed]
    [t([torch.iinfo(d).max], d) + 1 for d in I]
    [t([torch.iinfo(d).max], d) * 2 for d in I]
    [t([torch.iinfo(d).max] * 2, d).sum() for d in I]
    [t([torch.iinfo(d).max] * 2, d).sum(dtype=d) for d in I]
    [t([torch.iinfo(d).max] * 2, d).prod() for d in I]
    [t([torch.iinfo(d).max] * 2, d).cumsum(0, dtype=d) for d in I]
    [t(sp).to(d) for d in I]
    [t(sp, torch.float64).to(d) for d in I]
    [t(sp, torch.half).to(d) for d in I]
    [t(sp, torch.bfloat16).to(d) for d in I]
    t(sp).bool()
    t(sp, torch.float64).half()
    t(sp, torch.float64).to(torch.float8_e4m3fn)
    t(sp, torch.float64).to(torch.float8_e5m2)
    t([448.0, 465.0, 500.0, 1e-9, 0.0019]).to(torch.float8_e4m3fn)
    t([1.0, 1.5, -1.5]).cfloat().long()
    t([2, -1], i64).to(torch.bool)
    t([3e9, -1.0]).to(torch.uint8).long()
    t([300, -1, 256], i64).to(u8)
    t([1 << 40, -(1 << 40)], i64).to(i32)
    t([1 << 53 | 1, (1 << 63) - 1], i64).float()
    t([1 << 53 | 1, (1 << 63) - 1], i64).double()
    [t([1, 1, 1, 1], d) << t([7, 8, 31, 100], d) for d in I]
    [t([100, 100, 100, 100], d) >> t([7, 8, 31, 100], d) for d in I]
    [t([-100, -100, -1], d) >> t([1, 31, 63], d) for d in I if d.is_signed]
    [t([1, 1], d) << t([-1, -5], d) for d in I if d.is_signed]
    t([1], i32) << 40
    t([1], i64) << 64
    [torch.pow(t([0, 2, -2, 3], d), t([-1, -1, -1, -2], d)) for d in I if d.is_signed]
    [torch.pow(t([2, 3, 7], d), 70) for d in I]
    torch.pow(2, t([3, 62, 63, 64], i64))
    torch.pow(t([0.0, -0.0, -1.0, NAN, 1.0]), t([0.0, -1.0, 0.5, 0.0, NAN]))
    torch.pow(t([-8.0]), 1 / 3)
    t([0.0, -0.0, INF, -INF]) / 0
    t([7.0, -7.0, NAN, INF]) // 0
    t([7.0, -7.0, INF, -INF]) // t([3.0, 3.0, 2.0, 2.0])
    t([7.0, -7.0, INF, -0.0]) % t([INF, INF, 2.0, 3.0])
    torch.fmod(t([7.0, -7.0, INF, -0.0]), t([INF, INF, 2.0, 3.0]))
    torch.max(t([1.0, NAN, 3.0]))
    torch.min(t([1.0, NAN, 3.0]))
    torch.max(t([[1.0, NAN, 3.0, NAN]]), 1)
    torch.argmax(t([1.0, NAN, 3.0, NAN]))
    torch.argmin(t([2.0, 1.0, 1.0, 5.0]))
    torch.argmax(t([5, 7, 7, 1]))
    torch.argmax(torch.ones(100000, device='cuda'))
    torch.max(torch.ones(3, 100000, device='cuda'), 1).indices
    torch.maximum(t([1.0, NAN]), t([NAN, 1.0]))
    torch.fmax(t([1.0, NAN]), t([NAN, 1.0]))
    torch.maximum(t([0.0, -0.0]), t([-0.0, 0.0])).signbit()
    torch.minimum(t([0.0, -0.0]), t([-0.0, 0.0])).signbit()
    torch.clamp(t(sp), -2, 2)
    torch.clamp(t(sp), NAN, 2)
    torch.clamp(t([1.0, 5.0]), 3, 2)
    torch.clamp(t([1.0, NAN]), t([NAN, 0.0]), t([2.0, 1.0]))
    torch.relu(t(sp))
    F.hardtanh(t(sp))
    F.max_pool1d(t([[1.0, NAN, 3.0, 2.0]]), 2)
    F.softmax(t([INF, 1.0]), 0)
    F.softmax(t([-INF, -INF]), 0)
    torch.logsumexp(t([-INF, -INF]), 0)
    torch.sort(t([3.0, NAN, 1.0, -INF, INF, -0.0, 0.0]))
    torch.sort(t([3.0, NAN, 1.0, -INF, INF, -0.0, 0.0]), descending=True)
    torch.sort(t([1, 0, 1, 0, 1, 0, 0, 1]))
    torch.sort(t([1, 0, 1, 0, 1, 0, 0, 1]), descending=True, stable=True)
    torch.argsort(torch.arange(5000, device='cuda') % 3)
    torch.topk(t([1.0, NAN, 3.0, NAN, 2.0]), 3)
    torch.topk(torch.arange(20, device='cuda') % 4, 7)
    torch.topk(torch.arange(5000, device='cuda') % 4, 7)
    torch.topk(torch.arange(20, device='cuda') % 4, 7, sorted=False)
    torch.kthvalue(t([2, 1, 1, 2, 1]), 2)
    torch.median(t([3.0, 1.0, NAN]))
    torch.median(t([3, 1, 1, 2, 2]), 0)
    torch.mode(t([3, 1, 1, 3, 2]))
    torch.nanmedian(t([3.0, 1.0, NAN, 2.0]))
    torch.unique(t([1.0, NAN, NAN, -0.0, 0.0]))
    torch.unique(t([3, 1, 2, 3]), return_inverse=True, return_counts=True)
    torch.searchsorted(t([1.0, 2.0, NAN]), t([NAN, 1.5, 3.0]))
    torch.cummax(t([1.0, NAN, 3.0, 3.0]), 0)
    torch.cummin(t([2, 1, 1, 3]), 0)
    torch.histc(t([1.0, 2.0, 2.0, 9.0]), 3, 0, 3)
    torch.bincount(t([1, 3, 3]))
    torch.nonzero(t([[0, 1], [2, 0]]))
    torch.isin(t([1.0, NAN]), t([NAN]))
    torch.equal(t([NAN]), t([NAN]))
    torch.sign(t(sp))
    torch.sgn(t(sp))
    torch.round(t([0.5, 1.5, 2.5, -0.5]))
    torch.round(t([1.25, 1.35, 12345.678]), decimals=1)
    torch.round(t([12345.678]), decimals=-2)
    torch.trunc(t(sp))
    torch.frac(t([1.5, -1.5, INF]))
    torch.floor_divide(t([-7, 7]), t([2, -2]))
    torch.remainder(t([-7, 7]), t([2, -2]))
    torch.gcd(t([0, -4, 12]), t([0, 6, -8]))
    torch.lcm(t([0, -4, 12]), t([0, 6, -8]))
    torch.nextafter(t([0.0, 1.0]), t([1.0, 2.0]))
    torch.ldexp(t([1.0]), t([200]))
    torch.frexp(t([10.0, INF, NAN, 0.0]))
    torch.copysign(t([1.0, NAN]), t([-0.0, -1.0])).signbit()
    torch.hypot(t([3e38]), t([3e38]))
    torch.atan2(t([0.0, -0.0]), t([-1.0, -1.0]))
    torch.heaviside(t([NAN, 0.0, -1.0]), t([0.5]))
    torch.nan_to_num(t(sp, torch.half))
    torch.lerp(t([0.0, INF]), t([1.0, INF]), 0.5)
    torch.addcdiv(t([1.0]), t([1.0]), t([0.0]))
    torch.sqrt(t([-1.0, -0.0]))
    torch.log(t([-1.0, 0.0]))
    torch.digamma(t([0.0, -0.0, -1.0]))
    torch.lgamma(t([0.0, -1.0, -1.5]))
    torch.erfinv(t([1.0, -1.0, 2.0]))
    torch.special.zeta(t([1.0, 0.5]), t([1.0, -1.0]))
    torch.special.i0(t([100.0, -100.0]))
    torch.polygamma(1, t([0.0, -1.0]))
    torch.prod(t([INF, 0.0]))
    torch.cumprod(t([2.0, 0.0, INF]), 0)
    torch.var(t([1.0]))
    torch.mean(t([], torch.float32))
    torch.std(t([3e38, -3e38]))
    torch.norm(t([3e38, 3e38]))
    torch.norm(t([1e-30, 1e-30]))
    torch.sum(t([65504.0, 65504.0, -65504.0], f16))
    torch.cumsum(t([65504.0, 65504.0, -65504.0], f16), 0)
    torch.mean(torch.full((100,), 60000.0, device='cuda', dtype=f16))
    torch.dot(torch.full((100,), 300.0, device='cuda', dtype=f16), torch.full((100,), 300.0, device='cuda', dtype=f16))
    torch.full((4096,), 0.1, device='cuda', dtype=f16).sum()
    torch.full((4096,), 0.1, device='cuda', dtype=bf16).sum()
    torch.full((4096,), 0.1, device='cuda', dtype=bf16).cumsum(0)[-1]
    torch.full((10000000,), 0.1, device='cuda').sum()
    torch.full((3,), 1e-40, device='cuda') * 1
    torch.full((3,), 1e-40, device='cuda') / 2
    torch.exp(t([-100.0, -87.4, 88.7, 89.0]))
    t([1e-7], f16) * 0.5
    t([3.0, 1e-310], f64) * 0.5
    torch.scatter_reduce(t([1.0, 2.0]), 0, t([0, 0, 1]), t([NAN, 3.0, 5.0]), 'amax')
    torch.scatter(t([0, 0]), 0, t([1, 1, 1]), t([5, 5, 5]))
    torch.zeros(3, device='cuda', dtype=f64).index_add(0, torch.arange(3000, device='cuda') % 3, torch.ones(3000, device='cuda', dtype=f64))
    torch.zeros(3, device='cuda', dtype=f16).index_add(0, torch.arange(9000, device='cuda') % 3, torch.ones(9000, device='cuda', dtype=f16))
    torch.zeros(2, device='cuda', dtype=u8).index_add(0, torch.zeros(300, device='cuda', dtype=i64), torch.ones(300, device='cuda', dtype=u8))
    torch.zeros(3, device='cuda').index_put((t([0, 0, 1]),), t([1.0, 1.0, 1.0]), accumulate=True)
    F.interpolate(torch.arange(5.0, device='cuda')[None, None], size=3, mode='nearest')
    F.interpolate(torch.arange(5.0, device='cuda')[None, None], scale_factor=1.7, mode='nearest-exact')
    F.grid_sample(torch.arange(4.0, device='cuda').reshape(1, 1, 2, 2), torch.full((1, 1, 1, 2), NAN, device='cuda'))
    F.embedding_bag(t([[0, 1]]), t([[1.0], [NAN]]), mode='max')
    F.cross_entropy(t([[1.0, 2.0]]), t([-100]))
    F.one_hot(t([0, 2]))
    torch.arange(0, 1, 0.1, device='cuda').numel()
    torch.arange(0.1, 0.4, 0.1, device='cuda', dtype=f16)
    torch.linspace(0, 1, 7, device='cuda')
    torch.linspace(0, 10, 4, device='cuda', dtype=i32)
    torch.logspace(0, 3, 4, device='cuda', dtype=i64)
    torch.linalg.inv_ex(torch.zeros(2, 2, device='cuda'))
    torch.linalg.cholesky_ex(-torch.eye(3, device='cuda'))
    torch.linalg.lu_factor_ex(torch.zeros(2, 2, device='cuda'))
    torch.linalg.solve_ex(torch.zeros(2, 2, device='cuda'), torch.ones(2, device='cuda'))
    torch.linalg.det(torch.zeros(3, 3, device='cuda'))
    torch.linalg.slogdet(torch.zeros(3, 3, device='cuda'))
    torch.linalg.matrix_rank(torch.zeros(3, 3, device='cuda'))
    torch.fft.fft(t([1.0, NAN, 0.0]))
    """,
    names,
)
expressions(
    """
    product(torch.float32)
    product(torch.float64)
    product(torch.half)
    product(torch.bfloat16)
    ramp(torch.float32).sum()
    ramp(torch.half).sum(0)
    ramp(torch.float32).cumsum(1)[:, -1]
    F.layer_norm(ramp(torch.float32), (512,))[0]
    F.softmax(ramp(torch.float32), 1)[0]
    F.gelu(ramp(torch.float32))[0]
    torch.exp(ramp(torch.float32))[0]
    torch.sin(ramp(torch.float32) * 1000)[0]
    torch.rsqrt(ramp(torch.float32).abs())[0, :20]
    """,
    names,
    tolerance=2e-3,
)
