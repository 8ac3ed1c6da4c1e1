"""Quantized weights of 2 to 8 bits and of GPTQ: packed, unpacked and multiplied; norms and rotary embeddings."""

# A module that is built for torch is found once torch is there.
import torch  # isort: skip
import exllamav2_ext as ext

torch.manual_seed(0)
NONE = torch.empty((1, 1), device="meta")
COLUMNS = 64


def packed(numbers, bits):
    """Rows of 32 / bits (or 32 rows in bits) to one of int32, from the lowest bits up."""
    out = torch.zeros(numbers.shape[0] * bits // 32, COLUMNS, dtype=torch.int, device="cuda")
    ext.pack_columns(numbers.short(), out, bits)
    shifts = torch.arange(bits, device="cuda")[:, None]
    stream = (numbers.long()[:, None] >> shifts & 1).reshape(-1, 32, COLUMNS)
    plain = (stream << torch.arange(32, device="cuda")[:, None]).sum(1)
    assert torch.equal(out.long() & 0xFFFFFFFF, plain), bits
    return out


def products(handle, weight):
    """x @ weight by all ways: for few rows by kernels of their own, for many by cuBLAS."""
    for rows in (1, 3, 8, 70):
        for force in (False, True):
            x = torch.randn(rows, weight.shape[0], dtype=torch.half, device="cuda")
            out = torch.zeros(rows, COLUMNS, dtype=torch.half, device="cuda")
            ext.gemm_half_q_half(x, handle, out, force)
            plain = x.float() @ weight.float()
            assert (out.float() - plain).norm() < 4e-3 * plain.norm(), (rows, force)


# Groups of 32 rows, each with bits of its own, a scale of 4 bits for each column, in a permuted order.
for kinds in ((8, 6, 4, 2), (5, 3), (4, 4, 4)):
    rows = 32 * len(kinds)
    numbers = [torch.randint(0, 2**bits, (32, COLUMNS), device="cuda") for bits in kinds]
    words = torch.cat([packed(part, bits) for part, bits in zip(numbers, kinds, strict=True)])
    scales = torch.randint(1, 17, (len(kinds), COLUMNS), device="cuda")
    packed_scales = torch.zeros(len(kinds), COLUMNS // 8, dtype=torch.int, device="cuda")
    ext.pack_rows_4(scales.short(), packed_scales)
    plain = ((scales - 1).view(len(kinds), -1, 8) << torch.arange(0, 32, 4, device="cuda")).sum(2)
    assert torch.equal(packed_scales.long() & 0xFFFFFFFF, plain)
    most = torch.rand(len(kinds), device="cuda").add(0.5).div(2048).half()
    order = torch.randperm(rows, device="cuda")
    way, back = order.short(), order.argsort().short()  # the matrix keeps no references
    starts = [0]
    for bits in kinds:
        starts.append(starts[-1] + bits)
    groups = torch.tensor(
        [x for pair in zip(kinds, starts, strict=False) for x in pair],
        dtype=torch.short,
        device="cuda",
    )
    room = torch.zeros(rows * COLUMNS, dtype=torch.half, device="cuda")
    handle = ext.make_q_matrix(
        words,
        way,
        back,
        packed_scales,
        most,
        groups,
        NONE,
        NONE,
        NONE,
        room,
    )
    parts = [
        (number - 2 ** (bits - 1)) * (scale.double() ** 2 * top.double())
        for number, bits, scale, top in zip(numbers, kinds, scales, most, strict=True)
    ]
    weight = torch.empty(rows, COLUMNS, dtype=torch.double, device="cuda")
    weight[order] = torch.cat(parts)
    ours = torch.empty(rows, COLUMNS, dtype=torch.half, device="cuda")
    ext.reconstruct(handle, ours)
    torch.testing.assert_close(ours.double(), weight, rtol=2e-3, atol=1e-6)
    products(handle, weight)

# GPTQ: 4 bits, zeros of 4 bits less one, a half scale for each column.
numbers = torch.randint(0, 16, (128, COLUMNS), device="cuda")
zeros = torch.randint(0, 15, (4, COLUMNS), device="cuda")
packed_zeros = (zeros.view(4, -1, 8) << torch.arange(0, 32, 4, device="cuda")).sum(2)
scales = torch.rand(4, COLUMNS, device="cuda").add(0.5).div(32).half()
words = packed(numbers, 4)
signed = packed_zeros.to(torch.int)
room = torch.zeros(128 * COLUMNS, dtype=torch.half, device="cuda")
handle = ext.make_q_matrix(words, NONE, NONE, NONE, NONE, NONE, signed, scales, NONE, room)
weight = (numbers - zeros.repeat_interleave(32, 0) - 1) * scales.double().repeat_interleave(32, 0)
ours = torch.empty(128, COLUMNS, dtype=torch.half, device="cuda")
ext.reconstruct(handle, ours)
torch.testing.assert_close(ours.double(), weight, rtol=2e-3, atol=1e-6)
products(handle, weight)

# Rounding to so many steps, and its error for a grid of scales.
x = torch.randn(40, 128, device="cuda")
scale = torch.rand(128, device="cuda").add(0.5).div(4).half().float()
out, steps = torch.empty_like(x), torch.empty(40, 128, dtype=torch.short, device="cuda")
ext.quantize(x, out, scale, steps, 8.0, 15.0)
plain = ((x / scale).round() + 8).clamp(0, 15)
assert torch.equal(steps.float(), plain)
torch.testing.assert_close(out, (plain - 8) * scale, rtol=1e-3, atol=1e-6)
errors = torch.zeros(5, 128, device="cuda")
ext.quantize_err(x, errors, scale, 8.0, 15.0, 2.4, 0.6, 1.0, 4)
for number, factor in enumerate((0.6, 0.7, 0.8, 0.9, 1.0)):
    rounded = (((x / (scale * factor)).round() + 8).clamp(0, 15) - 8) * scale * factor
    torch.testing.assert_close(
        errors[number].sum(), (rounded - x).abs().pow(2.4).sum(), rtol=1e-3, atol=1e-3
    )

# Norms of rows, and rotary embeddings.
for width in (64, 1000, 4096):
    x = torch.randn(6, width, dtype=torch.half, device="cuda")
    w = torch.randn(width, dtype=torch.half, device="cuda")
    out = torch.empty_like(x)
    ext.rms_norm(x, w, out, 1e-6)
    plain = x.double() * w.double() * torch.rsqrt(x.double().square().mean(1, keepdim=True) + 1e-6)
    torch.testing.assert_close(out.double(), plain, rtol=2e-3, atol=2e-3)
angles = torch.arange(30, device="cuda")[:, None] * 10000 ** (
    -torch.arange(0, 64, 2, device="cuda") / 64
)
sine, cosine = (f(torch.cat([angles, angles], 1)).half() for f in (torch.sin, torch.cos))
x = torch.randn(2, 9, 4, 64, dtype=torch.half, device="cuda")
turned = torch.cat([-x[..., 32:], x[..., :32]], 3)
at = slice(5, 5 + 9)
plain = x.double() * cosine[at, None].double() + turned.double() * sine[at, None].double()
ext.rope_(x, sine, cosine, 5, 4, 64)
torch.testing.assert_close(x.double(), plain, rtol=4e-3, atol=4e-3)
print("right")
