"""Which pointers of a kernel may be stored through, found in its source."""

from __future__ import annotations

import pytest

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = triton.language

pytestmark = pytest.mark.devices("cuda:1")


@triton.jit
def plain(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    x_ptr += places
    value = tl.load(x_ptr, places < count)
    to = out_ptr
    to = to + places
    tl.store(to, value, places < count)


@triton.jit
def store_one(where, value):
    tl.store(where, value)


@triton.jit
def shifted(pointer, by):
    return pointer + by


@triton.jit
def by_others(x_ptr, y_ptr, out_ptr):
    store_one(out_ptr + 1, tl.load(x_ptr))
    tl.load(shifted(y_ptr, 2))


@triton.jit
def methods(x_ptr, out_ptr, lock_ptr, size, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[size], strides=[1], block_shape=[BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, shape=[size], strides=[1], block_shape=[BLOCK])
    out.store([0], x.load([0]))
    tl.atomic_xchg(lock_ptr, 1)


@triton.jit
def choices(a_ptr, b_ptr, c_ptr, table_ptr, size):
    pointer = a_ptr if size > 3 else b_ptr
    for i in range(size):
        pointer += i
        tl.store(pointer, tl.load(c_ptr + i))
    tl.store(tl.load(table_ptr).to(tl.pointer_type(tl.float32)), 1.0)


@triton.jit
def blocks(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (BLOCK,), (1,), (0,), (BLOCK,), (0,))
    out = tl.make_block_ptr(
        base=out_ptr, shape=(BLOCK,), strides=(1,), offsets=(0,), block_shape=(BLOCK,), order=(0,)
    )
    tl.store(tl.advance(out, (0,)), tl.load(x))


@pytest.mark.parametrize(
    ("kernel", "stored"),
    [
        (plain, {"out_ptr"}),
        (store_one, {"where", "value"}),  # a pointer may be the value
        (shifted, {"pointer"}),  # what is returned is not followed
        (by_others, {"out_ptr", "y_ptr"}),
        (methods, {"out_ptr", "lock_ptr"}),
        (choices, {"a_ptr", "b_ptr"}),
        (blocks, {"out_ptr"}),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_pointers_that_are_only_read_are_known(kernel, stored):
    from torchport.virtual.triton_kernels import stores

    pointers = {one for one in stores.stored(kernel) if one not in ("BLOCK", "by", "count", "size")}
    assert pointers == stored
