// Products, factorizations, norms and Fourier transforms: what cuBLAS, cuSOLVER and cuFFT refuse.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/type_checks.h"
#include "runtime/virtual/operators/type_refusals.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;

// A product of two arguments; if their types differ, the kernel says so.
template <std::size_t kFirst, Text kKernel>
void check_product(const IValue* arguments) {
  if (arguments[kFirst].toTensor().scalar_type() == arguments[kFirst + 1].toTensor().scalar_type())
    check_type<kFirst, kKernel, "ibf">(arguments);
}

// aten::lu_factor_ex(A, ...) and lu: which library factors it (BatchLinearAlgebra.cpp, lu_factor).
void check_lu(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self) || self.dim() < 2 || !holds("ibhfwx", self.scalar_type())) return;
  const std::int64_t rows = self.size(-2);
  const std::int64_t batch = self.numel() / (rows * self.size(-1));
  const bool solver = batch == 1 || rows <= 16 || (rows <= 128 && batch <= 16);
  if (rows != self.size(-1) || !solver) refuse_type("lu_factor_magma_batched", self.scalar_type());
  refuse_type(batch == 1 || rows >= 512 ? "lu_factor_cusolver" : "lu_factor_cublas",
              self.scalar_type());
}

// aten::_linalg_svd(A, full_matrices, compute_uv, *, driver): which function of cuSOLVER computes
// it (svd_cusolver in BatchLinearAlgebraLib.cpp).
void check_svd(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self) || self.dim() < 2 || !holds("hfx", self.scalar_type())) return;
  constexpr std::int64_t kLargestOfBatch = 32;
  const std::string_view driver = arguments[3].isNone() ? "gesvdj" : arguments[3].toStringView();
  if (driver == "gesvd") refuse_type("svd_cuda_gesvd", self.scalar_type());
  if (driver == "gesvda") refuse_type("svd_cuda_gesvdaStridedBatched", self.scalar_type());
  if (driver != "gesvdj") return;
  const bool is_small = self.size(-2) <= kLargestOfBatch && self.size(-1) <= kLargestOfBatch;
  refuse_type(is_small ? "svd_cuda_gesvdjBatched" : "svd_cuda_gesvdj", self.scalar_type());
}

// aten::_int_mm(self, mat2[, out]): what cuBLAS takes (_int_mm_out_cuda in Blas.cpp).
void check_int_product(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& other = arguments[1].toTensor();
  TORCH_CHECK(self.dim() == 2, "Expected self to be of dimension 2 but got ", self.dim());
  TORCH_CHECK(other.dim() == 2, "Expected mat2 to be of dimension 2 but got ", other.dim());
  TORCH_CHECK(self.size(0) > 16, "self.size(0) needs to be greater than 16, but got ",
              self.size(0));
  TORCH_CHECK(self.size(1) > 0 && self.size(1) % 8 == 0,
              "self.size(1) needs to be greater than 0 and a multiple of 8, but got ",
              self.size(1));
  TORCH_CHECK(self.size(1) == other.size(0), "self.size(1) needs to match mat2.size(0) but got ",
              self.size(1), " and ", other.size(0));
  TORCH_CHECK(other.size(1) > 0 && other.size(1) % 8 == 0,
              "mat2.size(1) needs to be greater than 0 and a multiple of 8, but got ",
              other.size(1));
}

// The sizes of a Fourier transform of half precision, after cuFFT's rule.
void check_signal(ScalarType type, c10::IntArrayRef sizes) {
  if (type != ScalarType::Half && type != ScalarType::ComplexHalf) return;
  const bool fits = std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) {
    return size > 0 && (size & (size - 1)) == 0;
  });
  TORCH_CHECK(fits,
              "cuFFT only supports dimensions whose sizes are powers of two when computing in half "
              "precision, but got a signal size of",
              sizes);
}

void check_fft(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self)) return;
  c10::SmallVector<std::int64_t, 4> sizes;
  for (const std::int64_t dim : arguments[1].toIntVector()) sizes.push_back(self.size(dim));
  check_signal(self.scalar_type(), sizes);
}

void check_fft_to_real(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self)) return;
  c10::SmallVector<std::int64_t, 4> sizes;
  for (const std::int64_t dim : arguments[1].toIntVector()) sizes.push_back(self.size(dim));
  if (!sizes.empty()) sizes.back() = arguments[3].toInt();
  check_signal(self.scalar_type(), sizes);
}

// aten::linalg_vector_norm(self, ord, dim, keepdim, ...): of single elements it is the absolute
// value (LinearAlgebra.cpp).
void check_vector_norm(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (!holds("f", self.scalar_type()) || arguments[1].toScalar().toDouble() == 0.0) return;
  const auto dims =
      arguments[2].isNone() ? std::vector<std::int64_t>() : arguments[2].toIntVector();
  const bool single = dims.empty() ? self.numel() == 1
                                   : std::all_of(dims.begin(), dims.end(),
                                                 [&](auto dim) { return self.size(dim) == 1; });
  if (single) refuse_type("abs_cuda", self.scalar_type());
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const TypeChecks& refusals_of_algebra() {
  static const TypeChecks kChecks = {
      {"aten::mm", &check_product<0, "addmm_cuda">},
      {"aten::addmm", &check_product<1, "addmm_cuda">},
      {"aten::addmm_", &check_product<1, "addmm_cuda">},
      {"aten::addbmm", &check_product<1, "addmm_cuda">},
      {"aten::addbmm_", &check_product<1, "addmm_cuda">},
      {"aten::mv", &check_type<0, "addmv_impl_cuda", "ibf">},
      {"aten::addmv", &check_type<1, "addmv_impl_cuda", "ibf">},
      {"aten::addmv_", &check_type<1, "addmv_impl_cuda", "ibf">},
      {"aten::bmm", &check_product<0, "baddbmm_cuda">},
      {"aten::baddbmm", &check_product<1, "baddbmm_cuda">},
      {"aten::baddbmm_", &check_product<1, "baddbmm_cuda">},
      {"aten::dot", &check_product<0, "dot">},
      {"aten::vdot", &check_product<0, "dot">},
      {"aten::linalg_lu", &check_lu},
      {"aten::linalg_lu_factor_ex", &check_lu},
      {"aten::_linalg_svd", &check_svd},
      {"aten::linalg_matrix_exp", &check_type<0, "abs_cuda", "f">},
      {"aten::linalg_vector_norm", &check_vector_norm},
      {"aten::_int_mm", &check_int_product},
      {"aten::_fft_r2c", &check_fft},
      {"aten::_fft_c2c", &check_fft},
      {"aten::_fft_c2r", &check_fft_to_real},
  };
  return kChecks;
}

}  // namespace torchport::vdev
