"""An allocator that the program compiled takes the place of the caching one, and gets its calls."""

import ctypes
import sys

import torch

library = sys.argv[1]
allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "my_malloc", "my_free")
assert torch.cuda.memory.get_allocator_backend() == "native"
assert isinstance(allocator.allocator(), torch._C._cuda_CUDAAllocator)
torch.cuda.memory.change_current_allocator(allocator)
assert torch.cuda.memory.get_allocator_backend() == "pluggable"
assert torch._C._cuda_getAllocator() is allocator.allocator()

calls = ctypes.CDLL(library)
calls.calls.restype = ctypes.c_char_p


def told() -> list[str]:
    return calls.calls().decode().split()


def refused(call, words: str) -> None:
    try:
        call()
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


x = torch.ones(1000, device="cuda")
assert told() == ["+4000@0:0"], told()
assert calls.holds(ctypes.c_void_p(x.data_ptr()))
y = x * 2  # what an operator makes lies there, too
assert told() == ["+4000@0:0"] and calls.holds(ctypes.c_void_p(y.data_ptr()))
assert y.sum().item() == 2000
told()
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    z = torch.zeros(3, device="cuda:0", dtype=torch.int64)
assert told() == [f"+24@0:{stream.cuda_stream}"]
del z
assert told() == [f"-24@0:{stream.cuda_stream}"]
del y
assert told() == ["-4000@0:0"]
on_other = torch.zeros(5, device="cuda:1", dtype=torch.uint8)
assert told() == ["+5@1:0"]
x.untyped_storage().resize_(40)
assert sorted(told()) == ["+40@0:0", "-4000@0:0"] and x[:10].tolist() == [1.0] * 10
assert calls.holds(ctypes.c_void_p(x.data_ptr()))

model = torch.nn.Linear(8, 8).cuda()
model(torch.ones(2, 8, device="cuda")).sum().backward()
assert calls.holds(ctypes.c_void_p(model.weight.grad.data_ptr()))
assert torch.equal(model.bias.grad.cpu(), torch.full((8,), 2.0))

q = torch.ones(1, 4, 8, 16, device="cuda", requires_grad=True)
torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
assert calls.holds(ctypes.c_void_p(q.grad.data_ptr()))
layer = torch.nn.LSTM(12, 7).cuda()
told()
output = layer(torch.ones(5, 6, 12, device="cuda"))[0]
assert calls.holds(ctypes.c_void_p(output.data_ptr()))
del output
signs = [call[0] for call in told()]
assert signs.count("+") == signs.count("-") > 0

please = "If you need it, please file an issue describing your use case."
refused(torch.cuda.memory_allocated, f"does not yet support getDeviceStats. {please}")
refused(torch.cuda.reset_peak_memory_stats, f"does not yet support resetPeakStats. {please}")
refused(torch.cuda.memory_snapshot, f"does not yet support snapshot. {please}")
again = torch.cuda.memory.CUDAPluggableAllocator(library, "my_malloc", "my_free")
refused(
    lambda: torch.cuda.memory.change_current_allocator(again),
    "Can't swap an already initialized allocator",
)
torch.cuda.empty_cache()

inside = allocator.allocator()
inside.set_reset_fn(ctypes.cast(calls.reset, ctypes.c_void_p).value)
inside.set_memory_fraction_fn(ctypes.cast(calls.fraction, ctypes.c_void_p).value)
inside.set_record_stream_fn(ctypes.cast(calls.record, ctypes.c_void_p).value)
told()
torch.cuda.empty_cache()
torch.cuda.set_per_process_memory_fraction(0.5, 1)
on_other.record_stream(stream)
assert told() == ["reset", "fraction0.5@1", f"record:{stream.cuda_stream}"]
calls.fail(1)
refused(lambda: torch.empty(8, device="cuda"), "the program's allocator returned no memory")
calls.fail(0)
assert torch.ones(8, device="cuda").sum().item() == 8
print("done")
