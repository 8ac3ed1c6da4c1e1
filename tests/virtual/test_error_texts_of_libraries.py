"""What a real device's libraries refuse, and what they make of values that LAPACK refuses."""

import re

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

F = torch.nn.functional
m = torch.arange(9.0, device="cuda").reshape(3, 3)
eye = torch.eye(3, device="cuda")
nan = m * float("nan")
zero = m * 0
csr = eye.to_sparse_csr()
image = torch.ones(1, 1, 4, 4, device="cuda")
convolution = {
    "stride": [1, 1], "dilation": [1, 1], "groups": 1,
    "benchmark": False, "deterministic": False, "allow_tf32": False,
}  # fmt: skip


def test_values_of_matrices_that_are_not_finite() -> None:
    batch = torch.stack([eye, nan])
    for driver in (None, "gesvdj"):
        u, s, vh = torch.linalg.svd(batch, driver=driver)
        assert s[0].tolist() == [1.0] * 3 and s[1].isnan().all()
        assert torch.equal(u[1], eye) and torch.equal(vh[1], -eye)
    assert torch.linalg.svdvals(nan).isnan().all()
    assert torch.linalg.matrix_rank(nan) == 0
    assert torch.equal(torch.linalg.pinv(nan), zero)
    with pytest.raises(torch.linalg.LinAlgError, match="contained non-finite values"):
        torch.linalg.svd(nan, driver="gesvd")
    out = torch.empty(3, device="cuda")
    assert torch.linalg.svdvals(nan, out=out) is out and out.isnan().all()


def test_factors_of_matrices_that_are_not_finite() -> None:
    late = eye.clone()
    late[1, 2] = float("nan")  # in the third column: the third pivot
    for matrix, place in ((nan, 1), (late, 3)):
        with pytest.raises(torch.linalg.LinAlgError, match=f"diagonal element {place} is zero"):
            torch.linalg.inv(matrix)
        assert torch.linalg.inv_ex(matrix).info == place
        assert torch.linalg.lu_factor_ex(matrix).info == place
        assert torch.linalg.solve_ex(matrix, m).info == place
    with pytest.raises(torch.linalg.LinAlgError, match="the input matrix is singular"):
        torch.linalg.solve(nan, m)
    for half in ("L", "U"):
        with pytest.raises(torch.linalg.LinAlgError, match=r"\(error code: 1\)"):
            torch.linalg.eigh(nan, half)
    upper = eye.clone()
    upper[0, 2] = float("nan")  # which the lower half does not have
    assert torch.linalg.eigvalsh(upper).tolist() == [1.0] * 3


def test_singular_matrices() -> None:
    assert torch.cholesky_inverse(zero).isnan().all()
    assert torch.allclose(torch.cholesky_inverse(2 * eye), eye / 4)
    assert torch.cholesky_inverse(zero, out=torch.empty(3, 3, device="cuda")).isnan().all()
    with pytest.raises(RuntimeError, match="safely castable from Float"):
        torch.cholesky_inverse(eye, out=torch.empty(3, 3, dtype=torch.long, device="cuda"))
    solution = torch.linalg.lstsq(zero, m).solution
    assert solution[:2].isnan().all() and solution[2].tolist() == [float("inf")] * 3
    both = torch.linalg.lstsq(torch.stack([zero, eye]), m.expand(2, 3, 3)).solution
    assert both[0, 0].isnan().all() and both[1].equal(m)
    # Nothing is eliminated by a pivot that is 0.
    _, lower, upper = torch.linalg.lu(m, pivot=False)
    assert lower.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1.75, 1]]
    assert upper.tolist() == [[0, 1, 2], [0, 4, 5], [0, 0, -0.75]]


REFUSED = {
    "cuFFT plan cache size must be non-negative, but got -1": lambda: setattr(
        torch.backends.cuda.cufft_plan_cache, "max_size", -1
    ),
    "dense.is_cuda() INTERNAL ASSERT FAILED": lambda: csr + 1,
    "self has size [2, 3] while other has size [3, 3] (FYI: dense-sparse addition": lambda: (
        csr + m[:2]
    ),
    "operation not supported when calling `cusparseSpGEMM_workEstimation(": lambda: (
        csr @ csr.half()
    ),
    "requires compiling PyTorch with CUDA cuDSS": lambda: torch.linalg.solve(csr, m),
    "\"addmm_sparse_cuda\" not implemented for 'Half'": lambda: torch.sparse.mm(
        eye.to_sparse().half(), m.half()
    ),
    "\"addmm_sparse_cuda\" not implemented for 'Long'": lambda: eye.to_sparse().long() @ m.long(),
    "Not enough padding values (1) supplied, expecting 2 (while checking": lambda: (
        torch.cudnn_convolution(image, image, padding=[0], **convolution)
    ),
    "padding should be greater than zero but got (0, -1)": lambda: torch.cudnn_convolution(
        image, image, padding=[0, -1], **convolution
    ),
    "type torch.cuda.FloatTensor does not equal torch.cuda.DoubleTensor (while": lambda: (
        torch.cudnn_convolution(image, image.double(), padding=[0, 0], **convolution)
    ),
    "miopen_convolution: ATen not compiled with MIOpen support": lambda: torch.miopen_convolution(
        image, image, None, [0, 0], [1, 1], [1, 1], 1, False, False
    ),
    "method wrapper_SparseCUDA__addmm)": lambda: torch.sparse.mm(m.to_sparse(), m.cpu()),
    "method wrapper_SparseCUDA___sparse_coo_tensor_with_dims_and_tensors)": lambda: (
        torch.sparse_coo_tensor(torch.zeros(1, 3).long(), m[0])
    ),
    "method wrapper_CUDA___slow_conv2d_forward)": lambda: F.conv2d(
        image.cpu(), image[:, :, :2, :2]
    ),
    "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor)": lambda: F.conv2d(
        image.cpu().expand(2, 1, 4, 4), image
    ),
    "method wrapper_CUDA_out__chunk_cat_out)": lambda: torch._chunk_cat(
        [m, m], 0, 2, out=torch.empty(0)
    ),
    "cudaMemGetInfo(): incompatible function arguments. The following": lambda: (
        torch.cuda.cudart().cudaMemGetInfo("a")
    ),
    "device-side assert triggered (710)": lambda: torch.cuda.check_error(710),
    "unrecognized error code (12345)": lambda: torch.cuda.check_error(12345),
    "cuda_tunableop_set_filename expects a string, but got int": lambda: (
        torch.cuda.tunable.set_filename(5)
    ),
    "cuda_tunableop_enable expects a bool, but got int": lambda: torch.cuda.tunable.enable(1),
    "mempool_id elements must be integers": lambda: torch.cuda.memory_snapshot("nowhere"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text: str) -> None:
    with pytest.raises((RuntimeError, TypeError, NotImplementedError), match=re.escape(text)):
        REFUSED[text]()


def test_what_is_no_error() -> None:
    # Running statistics of another type are read.
    normed = F.batch_norm(m, m[0].double(), m[0].double() + 1)
    assert normed.dtype == torch.float32
    assert torch.allclose(normed, (m - m[0]) / (m[0] + 1 + 1e-5).sqrt())
    half = eye.to_sparse().half()
    assert half.to_dense().equal(eye.half())
    cache = torch.backends.cuda.cufft_plan_cache
    before, cache.max_size = cache.max_size, 7
    assert (before, cache.max_size) == (4096, 7)
    cache.max_size = before


def test_files_are_read_into_devices(tmp_path) -> None:
    path = tmp_path / "values"
    path.write_bytes(b"\0" * 4096)
    file = torch.cuda.gds.GdsFile(str(path), 2)  # O_RDWR
    values = torch.arange(1024.0, device="cuda")
    torch.cuda.gds.gds_register_buffer(values.untyped_storage())
    file.save_storage(values.untyped_storage(), offset=0)
    read = torch.zeros(512, device="cuda")
    file.load_storage(read.untyped_storage(), offset=2048)
    assert read.equal(values[512:])
    torch.cuda.gds.gds_deregister_buffer(values.untyped_storage())
