"""Arguments of torch.cuda, of optimizers, autocast and quantization that are refused."""

import torch
from recorder.registry import expressions
from torch import nn
from torch.nn import functional as F


def names():
    m = torch.arange(9.0, device="cuda").reshape(3, 3)
    i4 = torch.ones(1, 1, 4, 4, device="cuda", requires_grad=True)
    return {
        "torch": torch, "F": F, "nn": nn, "m": m, "i4": i4, "ci": torch.arange(3, device="cuda"),
        "w": torch.ones(3, 3, device="cuda", requires_grad=True),
    }  # fmt: skip


expressions(
    """
    torch.quantize_per_tensor(m, 1.0, 0, torch.quint8)
    torch.quantize_per_tensor(m, 1.0, 0, torch.quint8) + torch.quantize_per_tensor(m, 1.0, 0, torch.quint8)
    torch.quantize_per_channel(m, m[0] + 1, ci, 0, torch.qint8)
    torch.fake_quantize_per_tensor_affine(m, 1.0, 5, 3, 1)
    m.to_mkldnn()
    torch.ops.aten._convert_weight_to_int4pack(m.int(), 2)
    torch.ops.aten._weight_int8pack_mm(m.bfloat16(), m.char(), m[0].bfloat16())
    torch.ops.aten._mixed_dtypes_linear(m.half(), m.char(), m[0].half())
    torch.ops.aten._grouped_mm(m.bfloat16(), m.bfloat16())
    torch.ops.aten._cudnn_init_dropout_state(0.5, True, 3)
    torch.compile(lambda x: x + 1)(m).device
    torch.jit.script(lambda x: x)
    torch.cuda.jiterator._create_jit_fn('template <typename T> T f(T x) { return x + 1; }')(m)
    torch.cuda._compile_kernel('__global__ void f() {}', 'f')
    torch.amp.autocast('cuda', dtype=torch.int).__enter__()
    torch.amp.autocast('cuda', dtype=torch.float64).__enter__()
    torch.amp.autocast('cuda', dtype=torch.float32).__enter__()
    torch.amp.GradScaler('cuda').step(torch.optim.SGD([w], 1))
    torch.amp.GradScaler('cuda').unscale_(torch.optim.SGD([w], 1))
    torch.amp.GradScaler('cuda').update()
    torch.optim.Adam([w], fused=True, foreach=True)
    torch.optim.Adam([w], capturable=True)
    torch.optim.Adam([w.detach().cpu()], capturable=True).step()
    torch.optim.SGD([w.detach().long()], 1, fused=True)
    torch.backends.cudnn.set_flags(True)
    torch.set_float32_matmul_precision('none')
    torch.backends.cuda.matmul.nonsense
    setattr(torch.backends.cuda.matmul, 'nonsense', 1)
    setattr(torch.backends.cuda.matmul, 'fp32_precision', 'none')
    setattr(torch.backends.cudnn, 'enabled', 5)
    torch.cuda.nccl.version()
    torch.cuda.nccl.unique_id() is None
    torch.cuda.nccl.all_reduce([m, m.cpu()])
    torch.cuda.nccl.is_available([m])
    torch.cuda.nccl.all_reduce([m.to_sparse()])
    torch.distributed.is_nccl_available()
    torch.distributed.all_reduce(m)
    torch.distributed.init_process_group('nccl')
    torch.distributed.get_rank()
    torch.cuda.utilization(77)
    torch.cuda.check_error(2)
    torch.cuda.check_error(710)
    torch.cuda.cudart().cudaMemGetInfo('a')
    torch.cuda.nvtx.range_pop()
    torch.cuda.tunable.set_filename(5)
    torch.cuda.gds.gds_register_buffer(torch.ones(3).untyped_storage())
    torch.cuda.green_contexts
    torch.cuda.set_device('cpu')
    torch.cuda.set_device(-5)
    torch.cuda.set_device('cuda')
    torch.cuda.device('cpu').__enter__()
    torch.cuda.set_sync_debug_mode(7)
    torch.cuda.set_sync_debug_mode('none')
    torch.cuda.get_device_capability('cuda:x')
    torch.cuda.comm.gather([m, m.cpu()])
    torch.cuda.comm.reduce_add([m, m[0]])
    torch.cuda.comm.broadcast(m)
    torch.cuda.FloatTensor([1, 2]).type()
    torch.cuda.FloatTensor(m.cpu())
    torch.cuda.HalfTensor(2).dtype
    torch.cuda.ComplexFloatTensor
    m.type('torch.cuda.NoTensor')
    m.cuda(memory_format=torch.channels_last)
    m.share_memory_().is_shared()
    """,
    names,
)
