"""Refusals of linear algebra, Fourier transforms, sparse tensors and cuDNN."""

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
        "z": m * 0, "nan": m * float("nan"), "sp": torch.eye(3).cuda().to_sparse(),
        "csr": torch.eye(3).cuda().to_sparse_csr(),
    }  # fmt: skip


expressions(
    """
    torch.linalg.inv(z)
    torch.linalg.inv(nan)
    torch.linalg.inv(z[None].expand(2, 3, 3))
    torch.inverse(z)
    torch.linalg.solve(z, z)
    torch.linalg.solve(z, z[0])
    torch.linalg.cholesky(z - torch.eye(3, device='cuda'))
    torch.linalg.cholesky(nan)
    torch.linalg.cholesky_ex(z - 1, check_errors=True)
    torch.cholesky_inverse(z)
    torch.linalg.eig(nan)
    torch.linalg.eigh(nan)
    torch.linalg.eigvalsh(nan)
    torch.linalg.svd(nan)
    torch.linalg.svdvals(nan)
    torch.linalg.svd(nan, driver='gesvdj')
    torch.linalg.svd(m, driver='gesvda')
    torch.linalg.svd(m, driver='gesvd')
    torch.linalg.svd(m, driver='none')
    torch.linalg.lstsq(m, m, driver='gelsd')
    torch.linalg.lstsq(m, m, driver='gels')
    torch.linalg.lstsq(z, m)
    torch.linalg.lu(m, pivot=False)
    torch.linalg.lu_factor(m, pivot=False)
    torch.linalg.lu_factor(z)
    torch.linalg.lu_factor_ex(z, check_errors=True)
    torch.linalg.ldl_factor(z)
    torch.linalg.qr(nan)
    torch.linalg.qr(m, mode='none')
    torch.linalg.pinv(nan)
    torch.linalg.matrix_rank(nan)
    torch.linalg.matrix_exp(m.long())
    torch.linalg.inv(m.half())
    torch.linalg.solve(m.half(), m.half())
    torch.linalg.cholesky(m.bfloat16())
    torch.linalg.eigh(m.half())
    torch.linalg.svd(m.half())
    torch.linalg.qr(m.half())
    torch.linalg.det(m.half())
    torch.linalg.solve_triangular(m.half(), m.half(), upper=True)
    torch.linalg.solve_triangular(z, m, upper=True)
    torch.linalg.norm(m, 'nuc', dim=0)
    torch.linalg.vector_norm(m.long())
    torch.linalg.cond(z)
    torch.linalg.tensorinv(m)
    torch.geqrf(m.half())
    torch.ormqr(m, m[0], m.half())
    torch.lobpcg(m, k=2)
    torch.backends.cuda.preferred_linalg_library('nonsense')
    torch.backends.cuda.preferred_blas_library('nonsense')
    torch.backends.cuda.preferred_blas_library('ck')
    torch.fft.fft(m.half())
    torch.fft.rfft(m.half())
    torch.fft.fft(torch.ones(4, device='cuda', dtype=torch.half))
    torch.fft.fft(m.bfloat16())
    torch.fft.fft(m.float(), n=0)
    torch.fft.fft(m, norm='none')
    torch.fft.rfft(m.cfloat())
    torch.fft.irfft(m, n=-1)
    torch.fft.hfft(torch.ones(3, device='cuda', dtype=torch.complex32))
    torch.fft.fftn(torch.ones(3, 4, device='cuda', dtype=torch.half))
    torch.stft(m[0], 4)
    torch.stft(torch.ones(16, device='cuda'), 4, window=torch.ones(4))
    torch.stft(torch.ones(16, device='cuda', dtype=torch.half), 4, return_complex=True)
    torch.istft(m, 4)
    torch.backends.cuda.cufft_plan_cache.max_size
    setattr(torch.backends.cuda.cufft_plan_cache, 'max_size', -1)
    setattr(torch.backends.cuda.cufft_plan_cache, 'size', 3)
    torch.backends.cuda.cufft_plan_cache[77].size
    sp + m.to_sparse_csr()
    sp @ m.double()
    torch.sparse.mm(sp.half(), m.half())
    torch.sparse.mm(sp.long(), m.long())
    torch.sparse.addmm(m, m, m)
    torch.sparse.softmax(sp.long(), 0)
    torch.sparse.sampled_addmm(csr, m, m.double())
    torch.sparse.sampled_addmm(sp, m, m)
    torch.sparse.spdiags(m[0], torch.tensor([0]), (3, 3))
    torch.sparse_coo_tensor(torch.tensor([[0, 5]]), torch.ones(2), (3,), device='cuda')
    torch.sparse_coo_tensor(torch.tensor([[0, 5]], device='cuda'), torch.ones(2, device='cuda'), (3,), check_invariants=True)
    torch.sparse_csr_tensor(torch.tensor([0, 5]), torch.tensor([0]), torch.ones(1), (1, 3), device='cuda', check_invariants=True)
    csr @ csr.half()
    csr + 1
    csr.sum(0)
    csr[0]
    csr.to_sparse_bsr(2)
    torch.triangular_solve(m, csr)
    torch.linalg.solve(csr, m)
    sp.view(9)
    sp.values()
    sp.coalesce().values().sum()
    F.embedding(ci, w, sparse=True).sum().backward()
    torch.sparse.to_sparse_semi_structured(m)
    torch.sparse.to_sparse_semi_structured(m.half())
    torch._cslt_compress(m)
    torch.nested.nested_tensor([m, m[:2]]) + 1
    torch.nested.nested_tensor([m, m[:2]]).sum()
    torch.cudnn_convolution(i4, i4.double(), [0, 0], [1, 1], [1, 1], 1, False, False, False)
    torch.cudnn_convolution(i4.cpu(), i4.cpu(), [0, 0], [1, 1], [1, 1], 1, False, False, False)
    torch.cudnn_convolution(i4, i4, [0], [1, 1], [1, 1], 1, False, False, False)
    torch.cudnn_batch_norm(i4, m[0], m[0], m[0], m[0], True, 0.1, 1e-9)
    torch.cudnn_grid_sampler(i4, m)
    torch._cudnn_ctc_loss(m[:, None], ci[:1], [3], [1], 0, False, False)
    torch._use_cudnn_ctc_loss(m[:, None], ci[:1], [3], [1], 0)
    torch._cudnn_rnn_flatten_weight([w, w, w[0], w[0]], 4, 3, 2, 3, 0, 1, True, False)
    torch.miopen_convolution(i4, i4, None, [0, 0], [1, 1], [1, 1], 1, False, False)
    nn.LSTM(3, 2, proj_size=1, device='cuda')(w)
    nn.LSTM(3, 2, device='cuda').eval()(w)[0].sum().backward()
    nn.RNN(3, 2, nonlinearity='none')
    """,
    names,
)
