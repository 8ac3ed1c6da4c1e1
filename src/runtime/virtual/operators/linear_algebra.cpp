// Implements what CUDA's libraries compute of linear algebra and LAPACK does not: LU without
// pivoting, and the drivers of svd and lstsq.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_linalg_check_errors.h>
#include <ATen/ops/_linalg_svd.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_lstsq.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/lu_unpack.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/floating_types.h"
#include "runtime/virtual/operators/linear_algebra_of_nan.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

// --- LU without pivoting

// Doolittle's method in place, for the columns of a column-major matrix. Returns the first column
// (from 1) whose pivot is 0, or 0. Where it is, nothing is eliminated: so cuSOLVER's getrf does.
template <class T>
std::int32_t factor_columns(T* a, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  std::int32_t singular = 0;
  for (std::int64_t j = 0; j < std::min(rows, columns); ++j) {
    T* const column = a + j * stride;
    const T pivot = column[j];
    if (pivot == T(0) && singular == 0) singular = static_cast<std::int32_t>(j) + 1;
    for (std::int64_t i = j + 1; i < rows; ++i)
      column[i] = pivot == T(0) ? T(0) : column[i] / pivot;
    for (std::int64_t k = j + 1; k < columns; ++k) {
      T* const other = a + k * stride;
      const T factor = other[j];
      for (std::int64_t i = j + 1; i < rows; ++i) other[i] -= column[i] * factor;
    }
  }
  return singular;
}

// Factors a panel of each matrix of a batch, whose first column has this number.
template <class T>
void factor_panels(const Tensor& panel, const Tensor& info, std::int64_t first) {
  auto* const singular = info.data_ptr<std::int32_t>();
  auto* const data = panel.data_ptr<T>();
  at::parallel_for(0, panel.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int32_t found =
          factor_columns(data + b * panel.stride(0), panel.size(1), panel.size(2), panel.stride(2));
      if (found != 0 && singular[b] == 0) singular[b] = static_cast<std::int32_t>(first) + found;
    }
  });
}

void factor_panel(const Tensor& panel, const Tensor& info, std::int64_t first) {
  for_floating_or_complex(panel.scalar_type(), "lu_factor_cusolver",
                          [&](auto zero) { factor_panels<decltype(zero)>(panel, info, first); });
}

// Factors column-major matrices [batch, rows, columns] in place, a panel after the other.
void factor(const Tensor& a, const Tensor& info) {
  constexpr std::int64_t kPanel = 64;
  const std::int64_t rows = a.size(1);
  const std::int64_t columns = a.size(2);
  for (std::int64_t j = 0; j < std::min(rows, columns); j += kPanel) {
    const std::int64_t width = std::min(kPanel, std::min(rows, columns) - j);
    const std::int64_t done = j + width;
    const Tensor panel = a.narrow(1, j, rows - j).narrow(2, j, width);
    factor_panel(panel, info, j);
    if (done == columns) return;
    const Tensor right = a.narrow(1, j, width).narrow(2, done, columns - done);
    right.copy_(at::linalg_solve_triangular(panel.narrow(1, 0, width), right, /*upper=*/false,
                                            /*left=*/true, /*unitriangular=*/true));
    a.narrow(1, done, rows - done)
        .narrow(2, done, columns - done)
        .sub_(panel.narrow(1, width, rows - done).matmul(right));
  }
}

struct Factors {
  Tensor lu;      // column-major
  Tensor pivots;  // int32, 1 to min(rows, columns)
  Tensor info;    // int32
};

Factors factors_of(const Tensor& a) {
  TORCH_CHECK(a.dim() >= 2,
              "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ", a.sizes(),
              " instead");
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = a.size(-1);
  std::vector<std::int64_t> batch(a.sizes().begin(), a.sizes().end() - 2);
  const at::TensorOptions integers = a.options().dtype(at::kInt);
  const Tensor info = at::zeros(batch, integers);
  std::vector<std::int64_t> transposed = batch;
  transposed.insert(transposed.end(), {columns, rows});
  const Tensor lu = at::empty(transposed, a.options()).mT();
  batch.push_back(std::min(rows, columns));
  const Tensor pivots =
      at::empty(batch, integers).copy_(at::arange(1, std::min(rows, columns) + 1, integers));
  if (a.numel() == 0) return {lu, pivots, info};
  lu.copy_(a);
  factor(lu.mT().reshape({-1, columns, rows}).mT(), info.view({-1}));
  return {lu, pivots, info};
}

// Pushes `results`, or what they were written to: the last arguments of an out= variant.
void push(Stack* stack, const std::vector<IValue>& arguments, std::size_t inputs,
          std::initializer_list<Tensor> results) {
  std::size_t at = inputs;
  for (const Tensor& result : results) {
    if (arguments.size() == inputs) {
      stack->emplace_back(result);
      continue;
    }
    const Tensor out = arguments[at++].toTensor();
    at::native::resize_output(out, result.sizes());
    stack->emplace_back(out.copy_(result));
  }
}

// linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False, ...)
template <std::size_t kArguments>
void lu_factor(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor a = arguments[0].toTensor();
  const Factors found = factors_of(a);
  if (arguments[2].toBool())
    at::_linalg_check_errors(found.info, "torch.linalg.lu_factor_ex", a.dim() == 2);
  push(stack, arguments, 3, {found.lu, found.pivots, found.info});
}

// linalg_lu(Tensor A, *, bool pivot=True, ...): its P is empty.
template <std::size_t kArguments>
void lu(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Factors found = factors_of(arguments[0].toTensor());
  const auto [p, l, u] = at::lu_unpack(found.lu, found.pivots, /*unpack_data=*/true,
                                       /*unpack_pivots=*/false);
  push(stack, arguments, 2, {p, l, u});
}

template <Compute kCompute, Compute kWithPivots = nullptr>
Compute without_pivots(const IValue* arguments) {
  return arguments[1].toBool() ? kWithPivots : kCompute;
}

// --- Drivers

// Which matrices of a batch have an element that is infinite or NaN.
Tensor not_finite(const Tensor& a) {
  return at::isfinite(a).all(-1).all(-1).logical_not();
}

// What gesvdj makes of matrices that are not finite, which LAPACK refuses: it finds no rotation and
// no value.
void set_svd_of_others(const Tensor& others, const Tensor& u, const Tensor& s, const Tensor& vh) {
  s.masked_fill_(others.unsqueeze(-1), std::numeric_limits<double>::quiet_NaN());
  if (u.numel() == 0) return;
  const Tensor each = others.unsqueeze(-1).unsqueeze(-1);
  u.copy_(at::where(each, at::eye(u.size(-2), u.size(-1), u.options()), u));
  vh.copy_(at::where(each, at::eye(vh.size(-2), vh.size(-1), vh.options()).neg(), vh));
}

// _linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None, ...)
template <std::size_t kArguments>
void svd(Stack* stack) {
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  Tensor a = arguments[0].toTensor();
  const bool with_vectors = arguments[2].toBool();
  const bool by_rotations = arguments[3].isNone() || arguments[3].toStringRef() == "gesvdj";
  Tensor others;
  if (by_rotations && a.dim() >= 2 && a.numel() > 0) others = not_finite(a);
  const bool has_others = others.defined() && others.any().item<bool>();
  if (has_others) a = a.masked_fill(others.unsqueeze(-1).unsqueeze(-1), 0);
  std::tuple<Tensor, Tensor, Tensor> found;
  auto& [u, s, vh] = found;
  if constexpr (kArguments == 4) {
    found = at::_linalg_svd(a, arguments[1].toBool(), with_vectors);
  } else {
    found = {arguments[4].toTensor(), arguments[5].toTensor(), arguments[6].toTensor()};
    at::_linalg_svd_out(u, s, vh, a, arguments[1].toBool(), with_vectors);
    // The adjoint is the conjugate of what is stored (svd_kernel in linalg/BatchLinearAlgebra.cpp).
    if (with_vectors && vh.is_complex() && vh.numel() > 0) {
      vh.conj_physical_();
      vh._set_conj(!vh.is_conj());
    }
  }
  if (has_others) set_svd_of_others(others, u, s, vh);
  for (const Tensor& result : {u, s, vh}) stack->emplace_back(result);
}

// As svd_cusolver in BatchLinearAlgebraLib.cpp. LAPACK's results are as good as those of any of
// cuSOLVER's drivers.
template <Compute kCompute>
Compute choose_svd(const IValue* arguments) {
  const std::string_view driver = arguments[3].isNone() ? "gesvdj" : arguments[3].toStringView();
  TORCH_CHECK(driver == "gesvd" || driver == "gesvdj" || driver == "gesvda" ||
                  arguments[0].toTensor().numel() == 0,
              "torch.linalg.svd: unknown svd driver ", driver,
              " in svd_cusolver computation. Check doc at "
              "https://pytorch.org/docs/stable/generated/torch.linalg.svd.html");
  return kCompute;
}

// Solutions for the matrices of a batch that are zero: substitution from the last row upwards
// divides by 0.
void divide_by_zeros(const Tensor& a, const Tensor& b, const Tensor& solution,
                     const Tensor& residuals) {
  const Tensor zero = a.ne(0).any(-1).any(-1).logical_not().unsqueeze(-1);
  if (!zero.any().item<bool>()) return;
  const bool has_vectors = solution.dim() < a.dim();
  const Tensor x = has_vectors ? solution.unsqueeze(-1) : solution;
  const std::int64_t last = a.size(-1) - 1;
  x.masked_fill_(zero.unsqueeze(-1), std::numeric_limits<double>::quiet_NaN());
  if (a.size(-2) > last) {
    const Tensor row = (has_vectors ? b.unsqueeze(-1) : b).select(-2, last);
    x.select(-2, last).copy_(at::where(zero, row.div(0), x.select(-2, last)));
  }
  if (residuals.numel() > 0) residuals.masked_fill_(zero, std::numeric_limits<double>::quiet_NaN());
}

// linalg_lstsq.out(Tensor self, Tensor b, float? rcond=None, *, str? driver=None, ...): CUDA has
// one driver, for matrices of full rank, and finds no rank. It divides by what is 0 then, where
// LAPACK answers a matrix of zeros with zeros.
void lstsq(Stack* stack) {
  constexpr std::size_t kArguments = 8;
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor a = arguments[0].toTensor();
  Tensor solution = arguments[4].toTensor();
  Tensor residuals = arguments[5].toTensor();
  Tensor rank = arguments[6].toTensor();
  Tensor values = arguments[7].toTensor();
  at::linalg_lstsq_out(solution, residuals, rank, values, a, arguments[1].toTensor(),
                       arguments[2].toOptional<double>(), "gels");
  if (a.dim() >= 2 && a.numel() > 0)
    divide_by_zeros(a, arguments[1].toTensor(), solution, residuals);
  for (const Tensor& out : {solution, residuals, rank, values}) stack->emplace_back(out);
}

Compute choose_lstsq(const IValue* arguments) {
  if (!arguments[3].isNone()) {
    std::string driver = arguments[3].toStringRef();
    std::transform(driver.begin(), driver.end(), driver.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    TORCH_CHECK(driver == "gels",
                "torch.linalg.lstsq: `driver` other than `gels` is not supported on CUDA");
  }
  return &lstsq;
}

void put_linear_algebra(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "linalg_lu_factor_ex", "", &without_pivots<&lu_factor<3>, &lu_factor_of_nan>);
  put_choice(aten, "linalg_lu_factor_ex", "out",
             &without_pivots<&lu_factor<6>, &lu_factor_of_nan_out>);
  put_choice(aten, "linalg_lu", "", &without_pivots<&lu<2>>);
  put_choice(aten, "linalg_lu", "out", &without_pivots<&lu<5>>);
  put_choice(aten, "_linalg_svd", "", &choose_svd<&svd<4>>);
  put_choice(aten, "_linalg_svd", "U", &choose_svd<&svd<7>>);
  put_choice(aten, "linalg_lstsq", "out", &choose_lstsq);
}

const OperatorGroup kLinearAlgebra(&put_linear_algebra);

}  // namespace

}  // namespace torchport::vdev
