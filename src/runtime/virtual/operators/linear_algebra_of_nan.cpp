#include "runtime/virtual/operators/linear_algebra_of_nan.h"

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_linalg_check_errors.h>
#include <ATen/ops/_linalg_eigh.h>
#include <ATen/ops/_linalg_solve_ex.h>
#include <ATen/ops/cholesky_inverse.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/linalg_inv_ex.h>
#include <ATen/ops/linalg_lu_factor_ex.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

// --- LU factors, and what is computed by them

// cusolverDnXgetrf reports the first pivot that is NaN, where LAPACK reports only one that is 0.
// (cuBLAS factors batches: what it reports of NaN is not known.)
void report_nan(const Tensor& lu, const Tensor& info) {
  if (info.numel() != 1 || lu.numel() == 0 || info.item<std::int32_t>() != 0) return;
  const Tensor found = at::isnan(lu.diagonal(0, -2, -1)).flatten().nonzero();
  if (found.numel() > 0) info.fill_(found[0][0].item<std::int64_t>() + 1);
}

void report_nan_of(const Tensor& a, const Tensor& info) {
  if (info.numel() == 1 && at::isnan(a).any().item<bool>())
    report_nan(std::get<0>(at::linalg_lu_factor_ex(a)), info);
}

template <std::size_t kArguments>
void lu_with_nan(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor a = arguments[0].toTensor();
  std::tuple<Tensor, Tensor, Tensor> results;
  auto& [lu, pivots, info] = results;
  if constexpr (kArguments == 3) {
    results = at::linalg_lu_factor_ex(a);
  } else {
    results = {arguments[3].toTensor(), arguments[4].toTensor(), arguments[5].toTensor()};
    at::linalg_lu_factor_ex_out(lu, pivots, info, a);
  }
  report_nan(lu, info);
  if (arguments[2].toBool())
    at::_linalg_check_errors(info, "torch.linalg.lu_factor_ex", a.dim() == 2);
  for (const Tensor& result : {lu, pivots, info}) stack->emplace_back(result);
}

// linalg_inv_ex(Tensor A, *, bool check_errors=False)
template <std::size_t kArguments>
void inverse_with_nan(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor a = arguments[0].toTensor();
  std::tuple<Tensor, Tensor> results;
  auto& [result, info] = results;
  if constexpr (kArguments == 2) {
    results = at::linalg_inv_ex(a);
  } else {
    results = {arguments[2].toTensor(), arguments[3].toTensor()};
    at::linalg_inv_ex_out(result, info, a);
  }
  report_nan_of(a, info);
  if (arguments[1].toBool()) at::_linalg_check_errors(info, "linalg.inv_ex", a.dim() == 2);
  stack->emplace_back(result);
  stack->emplace_back(info);
}

// _linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)
template <std::size_t kArguments>
void solve_with_nan(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor a = arguments[0].toTensor();
  const Tensor b = arguments[1].toTensor();
  const bool left = arguments[2].toBool();
  std::tuple<Tensor, Tensor, Tensor, Tensor> results;
  auto& [result, lu, pivots, info] = results;
  if constexpr (kArguments == 4) {
    results = at::_linalg_solve_ex(a, b, left);
  } else {
    results = {arguments[4].toTensor(), arguments[5].toTensor(), arguments[6].toTensor(),
               arguments[7].toTensor()};
    at::_linalg_solve_ex_out(result, lu, pivots, info, a, b, left);
  }
  report_nan_of(a, info);
  if (arguments[3].toBool()) at::_linalg_check_errors(info, "torch.linalg.solve_ex", a.dim() == 2);
  for (const Tensor& one : {result, lu, pivots, info}) stack->emplace_back(one);
}

// --- Eigenvalues

// _linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True): syevd gives up at once what is not
// finite, where LAPACK goes on to the last eigenvalue but one. An H200 said 1 of 3 rows.
template <std::size_t kArguments>
void eigenvalues_with_nan(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor a = arguments[0].toTensor();
  const std::string_view half = arguments[1].toStringView();
  if (a.dim() >= 2 && a.size(-1) > 1 && a.numel() > 0) {
    const Tensor read = half == "U" || half == "u" ? a.triu() : a.tril();
    at::_linalg_check_errors(at::isfinite(read).all(-1).all(-1).logical_not().to(at::kInt),
                             "linalg.eigh", a.dim() == 2);
  }
  std::tuple<Tensor, Tensor> results;
  auto& [values, vectors] = results;
  if constexpr (kArguments == 3) {
    results = at::_linalg_eigh(a, half, arguments[2].toBool());
  } else {
    results = {arguments[3].toTensor(), arguments[4].toTensor()};
    at::_linalg_eigh_out(values, vectors, a, half, arguments[2].toBool());
  }
  stack->emplace_back(values);
  stack->emplace_back(vectors);
}

// syevd waits for the device, which is an error of cuSOLVER's during a capture. Other functions
// compute batches of small matrices, and middle ones of float32 (linalg_eigh_cusolver in
// BatchLinearAlgebraLib.cpp): what they say is not known.
void refuse_in_capture(const Tensor& a) {
  constexpr std::int64_t kSmallest = 32;
  constexpr std::int64_t kLargest = 512;
  const std::int64_t size = a.dim() < 2 ? 0 : a.size(-1);
  if (size == 0 || a.numel() == 0) return;
  const bool is_batch = a.numel() > size * size && size <= kSmallest;
  const bool is_middle = a.scalar_type() == at::kFloat && size >= kSmallest && size <= kLargest;
  const c10::DeviceIndex device = a.device().index();
  if (is_batch || is_middle || !invalidate_capture(device, current_stream(device))) return;
  const char letter = a.is_complex() ? 'C' : 'R';
  const int bits = at::toRealValueType(a.scalar_type()) == at::kDouble ? 64 : 32;
  TORCH_CHECK(
      false, "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnXsyevd( ",
      fmt::format("handle, params, jobz, uplo, n, CUDA_{0}_{1}F, reinterpret_cast<void*>(A), lda, "
                  "CUDA_R_{1}F, reinterpret_cast<void*>(W), CUDA_{0}_{1}F, ",
                  letter, bits),
      "reinterpret_cast<void*>(bufferOnDevice), workspaceInBytesOnDevice, "
      "reinterpret_cast<void*>(bufferOnHost), workspaceInBytesOnHost, info)`. If you keep seeing "
      "this error, you may use `torch.backends.cuda.preferred_linalg_library()` to try linear "
      "algebra operators with other supported backends. See "
      "https://pytorch.org/docs/stable/backends.html#torch.backends.cuda.preferred_linalg_library");
}

template <Compute kCompute>
Compute choose_eigenvalues(const IValue* arguments) {
  if (any_capture()) refuse_in_capture(arguments[0].toTensor());
  return kCompute;
}

// --- The inverse by Cholesky's factor

// cholesky_inverse(Tensor self, bool upper=False): CUDA solves two triangular systems, and divides
// by an element of the diagonal that is 0, which LAPACK refuses (_cholesky_inverse_cusolver_potrs_
// based in BatchLinearAlgebraLib.cpp).
Tensor inverse_by_division(const Tensor& self, bool upper) {
  const Tensor lower = upper ? self.triu().mH() : self.tril();
  const Tensor half = at::linalg_solve_triangular(lower, at::eye(self.size(-1), self.options()),
                                                  /*upper=*/false);
  return at::linalg_solve_triangular(lower.mH(), half, /*upper=*/true);
}

template <std::size_t kArguments>
void cholesky_inverse_as_cuda(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor self = arguments[0].toTensor();
  const bool upper = arguments[1].toBool();
  const bool singular = self.dim() >= 2 && self.size(-1) == self.size(-2) && self.numel() > 0 &&
                        self.diagonal(0, -2, -1).eq(0).any().item<bool>();
  if constexpr (kArguments == 2) {
    stack->emplace_back(singular ? inverse_by_division(self, upper)
                                 : at::cholesky_inverse(self, upper));
  } else {
    Tensor out = arguments[2].toTensor();
    if (singular && out.scalar_type() == self.scalar_type()) {
      const Tensor result = inverse_by_division(self, upper);
      out.resize_(result.sizes()).copy_(result);
    } else {
      at::cholesky_inverse_out(out, self, upper);
    }
    stack->emplace_back(out);
  }
}

// ---

template <Compute kCompute>
Compute chosen_always(const IValue*) {
  return kCompute;
}

void put_linear_algebra_of_nan(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "linalg_inv_ex", "", &chosen_always<&inverse_with_nan<2>>);
  put_choice(aten, "linalg_inv_ex", "inverse", &chosen_always<&inverse_with_nan<4>>);
  put_choice(aten, "_linalg_solve_ex", "", &chosen_always<&solve_with_nan<4>>);
  put_choice(aten, "_linalg_solve_ex", "result", &chosen_always<&solve_with_nan<8>>);
  put_choice(aten, "_linalg_eigh", "", &choose_eigenvalues<&eigenvalues_with_nan<3>>);
  put_choice(aten, "_linalg_eigh", "eigenvalues", &choose_eigenvalues<&eigenvalues_with_nan<5>>);
  put_choice(aten, "cholesky_inverse", "", &chosen_always<&cholesky_inverse_as_cuda<2>>);
  put_choice(aten, "cholesky_inverse", "out", &chosen_always<&cholesky_inverse_as_cuda<3>>);
}

const OperatorGroup kLinearAlgebraOfNan(&put_linear_algebra_of_nan);

}  // namespace

void lu_factor_of_nan(Stack* stack) {
  lu_with_nan<3>(stack);
}

void lu_factor_of_nan_out(Stack* stack) {
  lu_with_nan<6>(stack);
}

}  // namespace torchport::vdev
