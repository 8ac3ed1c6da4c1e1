// The rows, each fact with the place in PyTorch's source that it comes from:
//
//   caller         the argument of alertNotDeterministic in aten/src/ATen/native/cuda, and what is
//                  asked before it there
//   kAlways        kernels of aten/src/ATen/native/cuda that copy a number or a size to the host
//                  (tags data_dependent_output and dynamic_output_shape of native_functions.yaml
//                  are such), and composites that call one: for the linalg ones that is
//                  _linalg_check_errors of BatchLinearAlgebra.cpp
//   kByMask        IndexingUtils.h: expandTensors calls nonzero() for a mask
//   kUnlessSized   Repeat.cpp, Onehot.cpp
//   kCopy          cuda/Copy.cu: copy_kernel_cuda
//   kHostIndices   cuda/IndexKernel.cpp and TensorAdvancedIndexing.cpp: indices are moved to `self`
//   kReadsByCopy   SummaryOps.cu (cpu()), _check_gesvdj_convergence of BatchLinearAlgebraLib.cpp,
//                  compute_T of LinearAlgebra.cpp
//   kNotCaptured, kMagmaUnlessSquare   what an H200 with torch 2.11 refused
//   by release     the names that the libtorch_cuda.so of 2.11 has, and the list of
//                  torch.use_deterministic_algorithms in 2.13
//   kAsksOnly      operators that native_functions.yaml or TensorImpl answers from metadata
//
// operator_semantics_test.cpp holds the rows against all operators of the dispatcher.
#include <algorithm>
#include <array>

#include <torch/version.h>

#include "runtime/observer/operator_semantics.h"

namespace torchport::observer {

namespace {

constexpr auto kRows = std::to_array<SemanticsRow>({
  {.name = "_adaptive_avg_pool2d_backward",
   .deterministic = Deterministic::kNever,
   .caller = "adaptive_avg_pool2d_backward_cuda"},
      {.name = "_adaptive_avg_pool3d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "adaptive_avg_pool3d_backward_cuda"},
      {.name = "_coalesce", .waits = Waits::kAlways},
      {.name = "_ctc_loss", .waits = Waits::kAlways},
      {.name = "_ctc_loss_backward",
       .deterministic = Deterministic::kNever,
       .caller = "ctc_loss_backward_gpu"},
      {.name = "_debug_has_internal_overlap", .traits = kAsksOnly},
      {.name = "_dimI", .traits = kAsksOnly}, {.name = "_dimV", .traits = kAsksOnly},
      {.name = "_embedding_bag_backward",
       .deterministic = Deterministic::kUnlessModeIsMax,
       .caller = "embedding_bag_backward_cuda_max"},
      {.name = "_embedding_bag_dense_backward",
       .deterministic = Deterministic::kUnlessModeIsMax,
       .caller = "embedding_bag_backward_cuda_max"},
      {.name = "_fused_sdp_choice", .traits = kAsksOnly},
      {.name = "_has_compatible_shallow_copy_type", .traits = kAsksOnly},
      {.name = "_has_same_storage_numel", .traits = kAsksOnly},
      {.name = "_index_put_impl", .waits = Waits::kByMask, .traits = kHostIndices},
      {.name = "_is_zerotensor", .traits = kAsksOnly},
      {.name = "_linalg_check_errors", .waits = Waits::kAlways},
      {.name = "_linalg_eigh", .waits = Waits::kUnlessEmpty},
      {.name = "_linalg_eigvals", .waits = Waits::kAlways},
      {.name = "_linalg_svd", .waits = Waits::kUnlessEmpty, .traits = kReadsByCopy},
      {.name = "_local_scalar_dense", .waits = Waits::kAlways},
      {.name = "_nested_get_ragged_idx", .traits = kAsksOnly},
      {.name = "_nested_tensor_from_mask_left_aligned", .waits = Waits::kAlways},
      {.name = "_nnz", .traits = kAsksOnly}, {.name = "_pin_memory", .traits = kCarriesOn},
      {.name = "_to_copy", .traits = kCarriesOn}, {.name = "_to_sparse", .waits = Waits::kIfDense},
      {.name = "_to_sparse_bsc", .waits = Waits::kIfDense},
      {.name = "_to_sparse_bsr", .waits = Waits::kIfDense},
      {.name = "_to_sparse_csc", .waits = Waits::kIfDense},
      {.name = "_to_sparse_csr", .waits = Waits::kIfDense},
      {.name = "_unique", .waits = Waits::kAlways}, {.name = "_unique2", .waits = Waits::kAlways},
      {.name = "_unsafe_index", .waits = Waits::kByMask, .traits = kHostIndices},
      {.name = "_unsafe_index_put", .waits = Waits::kByMask, .traits = kHostIndices},
      {.name = "_upsample_bicubic2d_aa_backward",
       .deterministic = Deterministic::kNever,
       .caller = "upsample_bicubic2d_aa_backward_out_cuda"},
      {.name = "_upsample_bilinear2d_aa_backward",
       .deterministic = Deterministic::kNever,
       .caller = "upsample_bilinear2d_aa_backward_out_cuda"},
      {.name = "_use_cudnn_ctc_loss", .traits = kAsksOnly},
      {.name = "_use_miopen_ctc_loss", .traits = kAsksOnly},
      {.name = "_version", .traits = kAsksOnly},
      {.name = "adaptive_max_pool2d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "adaptive_max_pool2d_backward_cuda"},
      {.name = "alias", .traits = kCarriesOn}, {.name = "allclose", .waits = Waits::kAlways},
      {.name = "argwhere", .waits = Waits::kAlways},
      {.name = "avg_pool3d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "avg_pool3d_backward_cuda"},
      {.name = "bincount",
       .waits = Waits::kAlways,
       .traits = kReadsByCopy,
       .deterministic = Deterministic::kWithoutWeights,
       .caller = "_bincount_cuda"},
      {.name = "can_cast", .traits = kAsksOnly}, {.name = "cholesky", .waits = Waits::kAlways},
      {.name = "clone", .traits = kCarriesOn}, {.name = "contiguous", .traits = kCarriesOn},
      {.name = "copy_", .waits = Waits::kCopy, .traits = kCarriesOn},
      {.name = "cudnn_is_acceptable", .traits = kAsksOnly},
      {.name = "dense_dim", .traits = kAsksOnly}, {.name = "detach", .traits = kCarriesOn},
      {.name = "dim", .traits = kAsksOnly}, {.name = "empty", .traits = kUninitialised},
      {.name = "empty_like", .traits = kMakes | kUninitialised},
      {.name = "empty_permuted", .traits = kUninitialised},
      {.name = "empty_quantized", .traits = kUninitialised},
      {.name = "empty_strided", .traits = kUninitialised},
      {.name = "equal", .waits = Waits::kAlways}, {.name = "fill", .traits = kFills},
      {.name = "fractional_max_pool2d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "fractional_max_pool2d_backward_cuda"},
      {.name = "fractional_max_pool3d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "fractional_max_pool3d_backward_cuda"},
      {.name = "full", .traits = kFills}, {.name = "full_like", .traits = kMakes | kFills},
      {.name = "get_device", .traits = kAsksOnly},
      {.name = "grid_sampler_2d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "grid_sampler_2d_backward_cuda"},
      {.name = "grid_sampler_3d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "grid_sampler_3d_backward_cuda"},
  {
    .name = "histc",
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
    .waits = Waits::kUnlessEmpty,  // as an H200 with 2.11 did, whatever the range
#else
    .waits = Waits::kByRange,
#endif
        .traits = kReadsByCopy, .deterministic = Deterministic::kForIntegers,
    .caller = "_histc_cuda with floating point input"
  }
  , {.name = "index", .waits = Waits::kByMask, .traits = kHostIndices},
      {.name = "index_put", .waits = Waits::kByMask, .traits = kHostIndices},
      {.name = "index_reduce",
       .deterministic = Deterministic::kNever,
       .caller = "index_reduce_cuda"},
      {.name = "inverse", .waits = Waits::kAlways}, {.name = "is_coalesced", .traits = kAsksOnly},
      {.name = "is_complex", .traits = kAsksOnly}, {.name = "is_conj", .traits = kAsksOnly},
      {.name = "is_contiguous", .traits = kAsksOnly},
      {.name = "is_distributed", .traits = kAsksOnly},
      {.name = "is_floating_point", .traits = kAsksOnly},
      {.name = "is_inference", .traits = kAsksOnly}, {.name = "is_leaf", .traits = kAsksOnly},
      {.name = "is_neg", .traits = kAsksOnly}, {.name = "is_nonzero", .waits = Waits::kAlways},
      {.name = "is_pinned", .traits = kAsksOnly}, {.name = "is_same_size", .traits = kAsksOnly},
      {.name = "is_set_to", .traits = kAsksOnly}, {.name = "is_signed", .traits = kAsksOnly},
      {.name = "item", .waits = Waits::kAlways},
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 11
      {.name = "kthvalue", .deterministic = Deterministic::kNever, .caller = "kthvalue CUDA"},
#endif
      {.name = "lift", .traits = kCarriesOn}, {.name = "lift_fresh", .traits = kCarriesOn},
      {.name = "linalg_cholesky", .waits = Waits::kAlways},
      {.name = "linalg_eig", .waits = Waits::kAlways},
      {.name = "linalg_eigh", .waits = Waits::kAlways},
      {.name = "linalg_eigvals", .waits = Waits::kAlways},
      {.name = "linalg_eigvalsh", .waits = Waits::kAlways},
      {.name = "linalg_inv", .waits = Waits::kAlways},
      {.name = "linalg_ldl_factor", .waits = Waits::kAlways},
      {.name = "linalg_ldl_factor_ex", .traits = kNotCaptured},
      {.name = "linalg_ldl_solve", .traits = kNotCaptured},
      {.name = "linalg_lstsq", .waits = Waits::kAlways},
      {.name = "linalg_lu", .traits = kMagmaUnlessSquare},
      {.name = "linalg_lu_factor", .waits = Waits::kAlways},
      {.name = "linalg_lu_factor_ex", .traits = kMagmaUnlessSquare},
      {.name = "linalg_matrix_exp", .waits = Waits::kUnlessEmpty, .traits = kReadsByCopy},
      {.name = "linalg_solve", .waits = Waits::kAlways},
      {.name = "linalg_svd", .waits = Waits::kAlways},
      {.name = "linalg_svdvals", .waits = Waits::kAlways},
      {.name = "masked_fill", .traits = kFills}, {.name = "masked_select", .waits = Waits::kAlways},
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13
      {.name = "max_pool3d_with_indices_backward",
       .deterministic = Deterministic::kNever,
       .caller = "max_pool3d_with_indices_backward_cuda"},
#endif
      {.name = "median.dim_values",
       .deterministic = Deterministic::kNever,
       .caller = "median CUDA with indices output"},
      {.name = "nanmedian.dim_values",
       .deterministic = Deterministic::kNever,
       .caller = "median CUDA with indices output"},
      {.name = "new_empty", .traits = kMakes | kUninitialised},
      {.name = "new_empty_strided", .traits = kMakes | kUninitialised},
      {.name = "new_full", .traits = kMakes | kFills}, {.name = "new_ones", .traits = kMakes},
      {.name = "new_zeros", .traits = kMakes},
      {.name = "nll_loss2d_forward",
       .deterministic = Deterministic::kWithoutReduction,
       .caller = "nll_loss2d_forward_out_cuda_template"},
      {.name = "nonzero", .waits = Waits::kAlways},
      {.name = "nonzero_numpy", .waits = Waits::kAlways}, {.name = "numel", .traits = kAsksOnly},
      {.name = "one_hot", .waits = Waits::kUnlessSized}, {.name = "ones_like", .traits = kMakes},
      {.name = "output_nr", .traits = kAsksOnly}, {.name = "pin_memory", .traits = kCarriesOn},
      {.name = "put", .deterministic = Deterministic::kNever, .caller = "put_"},
      {.name = "q_per_channel_axis", .traits = kAsksOnly}, {.name = "q_scale", .traits = kAsksOnly},
      {.name = "q_zero_point", .traits = kAsksOnly}, {.name = "qscheme", .traits = kAsksOnly},
      {.name = "rand_like", .traits = kMakes}, {.name = "randint_like", .traits = kMakes},
      {.name = "randn_like", .traits = kMakes}, {.name = "record_stream", .traits = kCarriesOn},
      {.name = "reflection_pad1d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "reflection_pad1d_backward_out_cuda"},
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 11
      {.name = "reflection_pad2d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "reflection_pad2d_backward_cuda"},
#endif
      {.name = "reflection_pad3d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "reflection_pad3d_backward_out_cuda"},
      {.name = "repeat_interleave", .waits = Waits::kUnlessSized},
      {.name = "repeat_interleave.self_int"},
      {.name = "replication_pad1d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "replication_pad1d_backward_cuda"},
      {.name = "replication_pad2d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "replication_pad2d_backward_cuda"},
      {.name = "replication_pad3d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "replication_pad3d_backward_cuda"},
      {.name = "requires_grad", .traits = kCarriesOn}, {.name = "resize", .traits = kUninitialised},
      {.name = "resolve_conj", .traits = kCarriesOn}, {.name = "result_type", .traits = kAsksOnly},
      {.name = "retains_grad", .traits = kAsksOnly},
      {.name = "scatter.reduce",
       .deterministic = Deterministic::kUnlessProduct,
       .caller = "scatter_reduce_cuda_kernel"},
      {.name = "scatter.reduce_out",
       .deterministic = Deterministic::kUnlessProduct,
       .caller = "scatter_reduce_cuda_kernel"},
      {.name = "scatter_.reduce",
       .deterministic = Deterministic::kUnlessProduct,
       .caller = "scatter_reduce_cuda_kernel"},
      {.name = "scatter_reduce",
       .deterministic = Deterministic::kUnlessProduct,
       .caller = "scatter_reduce_cuda_prod_"},
      {.name = "segment_reduce", .waits = Waits::kUnlessUnsafe},
      {.name = "set", .traits = kCarriesOn}, {.name = "set_data", .traits = kCarriesOn},
      {.name = "size", .traits = kAsksOnly}, {.name = "sparse_dim", .traits = kAsksOnly},
      {.name = "storage_offset", .traits = kAsksOnly}, {.name = "stride", .traits = kAsksOnly},
      {.name = "svd", .waits = Waits::kAlways}, {.name = "sym_is_contiguous", .traits = kAsksOnly},
      {.name = "sym_numel", .traits = kAsksOnly}, {.name = "sym_size", .traits = kAsksOnly},
      {.name = "sym_storage_offset", .traits = kAsksOnly},
      {.name = "sym_stride", .traits = kAsksOnly}, {.name = "to", .traits = kCarriesOn},
      {.name = "unique_consecutive", .waits = Waits::kAlways},
      {.name = "unique_dim", .waits = Waits::kAlways},
      {.name = "unique_dim_consecutive", .waits = Waits::kAlways},
      {.name = "upsample_bicubic2d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "upsample_bicubic2d_backward_out_cuda"},
      {.name = "upsample_bilinear2d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "upsample_bilinear2d_backward_out_cuda"},
      {.name = "upsample_linear1d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "upsample_linear1d_backward_out_cuda"},
      {.name = "upsample_trilinear3d_backward",
       .deterministic = Deterministic::kNever,
       .caller = "upsample_trilinear3d_backward_out_cuda"},
      {.name = "where", .traits = kFills}, {.name = "where.", .waits = Waits::kAlways},
      {.name = "zeros_like", .traits = kMakes},
});

static_assert(std::ranges::is_sorted(kRows, {}, &SemanticsRow::name));

}  // namespace

c10::ArrayRef<SemanticsRow> semantics_rows() {
  return {kRows.data(), kRows.size()};
}

}  // namespace torchport::observer
