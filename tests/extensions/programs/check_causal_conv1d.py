"""Causal convolutions of each channel, in both layouts, with states and packed sequences, against sums of shifted inputs."""

import itertools

import torch
from causal_conv1d import causal_conv1d_fn, causal_conv1d_update
from torch.nn import functional

torch.manual_seed(0)
TYPES = ((torch.float, 1e-4), (torch.half, 5e-3), (torch.bfloat16, 4e-2))


def leaf(*shape, dtype=torch.float, last=False):
    """A random tensor of (batch, channels, length); `last` keeps channels beside each other."""
    if last:
        return torch.randn(shape[0], shape[2], shape[1], device="cuda").to(dtype).requires_grad_()
    return torch.randn(*shape, device="cuda").to(dtype).requires_grad_()


def convolved(x, weight, bias, before, together=None):
    """The definition, in double: `before` are the inputs before the first, `together` which share a sequence."""
    width, length = weight.shape[1], x.shape[2]
    both = torch.cat([before, x], 2)
    total = torch.zeros_like(x)
    for tap in range(width):
        part = both[:, :, tap : tap + length] * weight[:, tap, None]
        if together is not None:
            part = part * together[:, None, tap : tap + length, width - 1 - tap]
        total = total + part
    return total if bias is None else total + bias[:, None]


def compare(ours, plain, leaves, tolerance):
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=tolerance, atol=tolerance)
    # The gradient of a state has to lie as the state does.
    factors = [torch.randn_like(a) for a in ours]
    one = torch.autograd.grad(ours, leaves, factors)
    two = torch.autograd.grad(plain, leaves, [factor.double() for factor in factors])
    for a, b in zip(one, two, strict=True):
        scale = 1 + b.double().abs().amax().item()
        torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance * scale)


# Lengths of one piece and of several, with and without vectors of 16 bytes.
for (dtype, tolerance), width, length, activation in itertools.product(
    TYPES, (2, 3, 4), (1, 8, 37, 2056), (None, "silu")
):
    for wide in {torch.float, dtype} if width == 4 else (torch.float,):
        x, weight = leaf(2, 5, length, dtype=dtype), leaf(5, width, dtype=wide)
        bias = leaf(5, dtype=wide) if length != 8 else None
        plain = convolved(
            x.double(),
            weight.double(),
            None if bias is None else bias.double(),
            x.new_zeros(2, 5, width - 1).double(),
        )
        plain = functional.silu(plain) if activation else plain
        ours = causal_conv1d_fn(x, weight, bias, activation=activation)
        leaves = (x, weight) if bias is None else (x, weight, bias)
        compare((ours,), (plain,), leaves, tolerance)

# Channels beside each other: with inputs before the first, and the last ones for the next call.
for (dtype, tolerance), width, length, activation in itertools.product(
    TYPES, (2, 4), (2, 70, 150), (None, "silu")
):
    x, weight, bias = leaf(2, 72, length, dtype=dtype, last=True), leaf(72, width), leaf(72)
    first = leaf(2, 72, width - 1, dtype=dtype, last=True)
    ours = causal_conv1d_fn(
        x.mT,
        weight,
        bias,
        initial_states=first.mT,
        return_final_states=True,
        activation=activation,
    )
    plain = convolved(x.mT.double(), weight.double(), bias.double(), first.mT.double())
    plain = functional.silu(plain) if activation else plain
    ends = torch.cat([first.mT, x.mT], 2)[:, :, length:].double()
    compare(ours, (plain, ends), (x, first, weight, bias), tolerance)

# Sequences behind each other in one row; a negative number marks what is left out, also of the sum that has gradients.
for dtype, tolerance in TYPES:
    for width, length in ((2, 30), (3, 130), (4, 200)):
        x, weight, bias = leaf(2, 16, length, dtype=dtype, last=True), leaf(16, width), leaf(16)
        numbers = torch.randint(0, 2, (2, length), device="cuda").cumsum(1).int()
        numbers[:, -5:] = -1
        around = torch.cat([numbers.new_full((2, width - 1), -2), numbers], 1)
        together = torch.zeros(2, length + width - 1, width, device="cuda", dtype=torch.double)
        for back in range(width):
            tap = width - 1 - back
            together[:, tap : tap + length, back] = around[:, tap : tap + length] == numbers
        plain = convolved(
            x.mT.double(),
            weight.double(),
            bias.double(),
            x.new_zeros(2, 16, width - 1).double(),
            together,
        )
        plain = torch.where((numbers < 0)[:, None], 0, functional.silu(plain))
        ours = causal_conv1d_fn(x.mT, weight, bias, seq_idx=numbers, activation="silu")
        assert (ours.mT[numbers < 0] == 0).all()
        ours = torch.where((numbers < 0)[:, None], 0, ours)
        compare((ours,), (plain,), (x, weight, bias), tolerance)

# One step after the other: the states move, or are a ring, or some rows of a larger table.
for dtype, tolerance in TYPES:
    for width, kept, steps in ((2, 1, 1), (3, 5, 2), (4, 3, 1), (4, 9, 4)):
        x = leaf(3, 20, steps, dtype=dtype).detach()
        weight, bias = torch.randn(20, width, device="cuda"), torch.randn(20, device="cuda")
        table = torch.randn(7, 20, kept, device="cuda").to(dtype)
        rows = torch.tensor([5, 0, 3], dtype=torch.int, device="cuda")
        both = torch.cat([table[rows], x], 2)
        before = both[:, :, kept - width + 1 : kept].double()
        plain = functional.silu(convolved(x.double(), weight.double(), bias.double(), before))

        states = table[rows].clone()
        ours = causal_conv1d_update(x, states, weight, bias, activation="silu")
        torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)
        assert torch.equal(states, both[:, :, -kept:])

        states = table.clone()
        ours = causal_conv1d_update(x, states, weight, bias, "silu", conv_state_indices=rows)
        torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)
        assert torch.equal(states[rows], both[:, :, -kept:])
        assert torch.equal(states[[1, 2, 4, 6]], table[[1, 2, 4, 6]])

        places = torch.tensor([0, 4, 11], dtype=torch.int, device="cuda")
        turned = torch.stack(
            [state.roll(int(place), 1) for state, place in zip(table[rows], places, strict=True)]
        )
        ours = causal_conv1d_update(x, turned, weight, bias, "silu", cache_seqlens=places)
        torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)
        for state, place, wanted in zip(turned, places.tolist(), both[:, :, -kept:], strict=True):
            assert torch.equal(state.roll(-(place + steps), 1), wanted)
print("right")
