"""No operator has a kernel of a real device under the keys of the virtual ones."""

import re
import sys

import torch

KEYS = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")
ROW = re.compile(rf"^(?P<key>{'|'.join(KEYS)}): (?P<where>.*) \[.*\]$", re.MULTILINE)

names = torch._C._dispatch_get_all_op_names()
rows = [
    (name, row["key"], row["where"])
    for name in names
    for row in ROW.finditer(torch._C._dispatch_dump_table(name))
]
ours = [
    row for row in rows if "torchport virtual device" in row[2] or "/src/runtime/virtual/" in row[2]
]
others = set(rows) - set(ours)
# What _native_aot has are questions about kernels, for all devices; torch.topk asks it on real ones.
others = {row for row in others if not row[0].startswith("_native_aot::")}
real = [r for r in others if re.search(r"cuda|cudnn", r[2].replace(sys.prefix, ""), re.IGNORECASE)]
assert not real, real[:20]
assert len(ours) > 1500, (len(rows), rows[:10])

# One that the CPU lacks says so, whatever the build has.
try:
    torch.ops.aten._cslt_compress(torch.ones(8, 8, device="cuda"))
    raise AssertionError("compressed")
except NotImplementedError as error:
    assert "_cslt_compress" in str(error), error
# Composed where the CPU composes it, with gradients of what it is composed of.
x = torch.randn(3, 8, device="cuda", requires_grad=True)
y = torch.nn.functional.cosine_similarity(x, x + 1, 0)
y.sum().backward()
cpu = x.detach().cpu().requires_grad_()
z = torch.nn.functional.cosine_similarity(cpu, cpu + 1, 0)
z.sum().backward()
assert torch.equal(x.grad.cpu(), cpu.grad)
