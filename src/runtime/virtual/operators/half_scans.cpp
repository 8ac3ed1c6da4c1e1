// Implements cumsum and cumprod of float16 and bfloat16 as CUDA does (ScanUtils.cuh): every sum is
// rounded to the type, where the CPU's kernel adds up in float32, and the rows of the last
// dimension are added up in a tree. A cumsum of 4096 bfloat16 numbers differs by some per cent.
// Over the one dimension of a vector CUDA uses CUB, whose order depends on the device; here it is
// that of a row.
#include "runtime/virtual/operators/half_scans.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <torch/library.h>

#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/computes_as_cuda.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using torch::jit::Stack;

enum class ScanOf { kSum, kProduct };

template <class T, ScanOf kScan>
T combined_halves(T a, T b) {
  const auto x = static_cast<float>(a);
  const auto y = static_cast<float>(b);
  return static_cast<T>(kScan == ScanOf::kSum ? x + y : x * y);
}

constexpr float kFirstOfScan[] = {0.0F, 1.0F};

// The logarithm of the threads of a row: a block has about 512 threads for all of its rows.
int log_threads(std::int64_t rows, std::int64_t length) {
  const auto log_of = [](std::int64_t number) {
    int log = 0;
    while ((std::int64_t{1} << log) < number) ++log;
    return log;
  };
  return std::clamp((9 + log_of(length) - log_of(rows)) / 2, 4, 9);
}

// Sklansky's network over pieces of a row, two numbers for each thread.
template <class T, ScanOf kScan>
void scan_row(const T* from, T* to, std::int64_t length, int log) {
  const std::int64_t threads = std::int64_t{1} << log;
  const T first = static_cast<T>(kFirstOfScan[static_cast<int>(kScan)]);
  std::vector<T> piece(static_cast<std::size_t>(2 * threads));
  T total = first;
  for (std::int64_t begin = 0; begin < length; begin += 2 * threads) {
    const std::int64_t count = std::min(2 * threads, length - begin);
    std::copy_n(from + begin, count, piece.begin());
    std::fill(piece.begin() + count, piece.end(), first);
    piece[0] = combined_halves<T, kScan>(piece[0], total);
    for (int m = 0; m <= log; ++m) {
      const std::int64_t step = std::int64_t{1} << m;
      for (std::int64_t thread = 0; thread < threads; ++thread) {
        const std::int64_t place = ((thread >> m) << (m + 1)) | step;
        T& target = piece[static_cast<std::size_t>(place + thread % step)];
        target = combined_halves<T, kScan>(target, piece[static_cast<std::size_t>(place - 1)]);
      }
    }
    std::copy_n(piece.begin(), count, to + begin);
    total = piece.back();
  }
}

// Over a dimension that `inner` numbers lie behind: one after the other.
template <class T, ScanOf kScan>
void scan_column(const T* from, T* to, std::int64_t length, std::int64_t inner) {
  T sum = static_cast<T>(kFirstOfScan[static_cast<int>(kScan)]);
  for (std::int64_t i = 0; i < length; ++i) {
    sum = combined_halves<T, kScan>(sum, from[i * inner]);
    to[i * inner] = sum;
  }
}

template <class T, ScanOf kScan>
void scan_all(const Tensor& from, const Tensor& to, std::int64_t dim) {
  const std::int64_t length = from.size(dim);
  const std::int64_t inner = from.stride(dim);
  const std::int64_t rows = from.numel() / length;
  const int log = log_threads(rows, length);
  const T* const source = from.const_data_ptr<T>();
  T* const target = to.data_ptr<T>();
  const bool is_last = dim == from.dim() - 1 || rows == 1;
  const std::int64_t grain = std::max<std::int64_t>(at::internal::GRAIN_SIZE / length, 1);
  at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t start = row / inner * length * inner + row % inner;
      if (is_last) {
        scan_row<T, kScan>(source + start, target + start, length, log);
      } else {
        scan_column<T, kScan>(source + start, target + start, length, inner);
      }
    }
  });
}

template <ScanOf kScan>
Tensor scanned(const Tensor& self, std::int64_t dim, at::ScalarType type) {
  const Tensor from = self.to(type).contiguous();
  Tensor to = at::empty(from.sizes(), from.options());
  dim = at::maybe_wrap_dim(dim, self.dim());
  if (self.dim() == 0 || self.numel() == 0) return to.copy_(from);
  if (type == at::kHalf) {
    scan_all<at::Half, kScan>(from, to, dim);
  } else {
    scan_all<at::BFloat16, kScan>(from, to, dim);
  }
  return to;
}

enum class ScanInto { kNothing, kSelf, kOut };

at::ScalarType type_of_scan(const c10::IValue* arguments, ScanInto written) {
  if (written == ScanInto::kOut) return arguments[3].toTensor().scalar_type();
  return arguments[2].isNone() || written == ScanInto::kSelf ? arguments[0].toTensor().scalar_type()
                                                             : arguments[2].toScalarType();
}

// (Tensor self, int dim, *, ScalarType? dtype=None[, Tensor(a!) out])
template <ScanOf kScan, ScanInto kWritten>
void compute_scan(Stack* stack) {
  const std::vector<c10::IValue> arguments =
      torch::jit::pop(*stack, kWritten == ScanInto::kOut ? 4 : 3);
  const Tensor self = arguments[0].toTensor();
  const Tensor result =
      scanned<kScan>(self, arguments[1].toInt(), type_of_scan(arguments.data(), kWritten));
  if constexpr (kWritten == ScanInto::kNothing) {
    stack->emplace_back(result);
  } else {
    const Tensor to = arguments[kWritten == ScanInto::kSelf ? 0 : 3].toTensor();
    if constexpr (kWritten == ScanInto::kOut) at::native::resize_output(to, result.sizes());
    stack->emplace_back(to.copy_(result));
  }
}

template <ScanOf kScan, ScanInto kWritten>
Compute choose_scan(const c10::IValue* arguments) {
  const at::ScalarType type = type_of_scan(arguments, kWritten);
  if (type != at::kHalf && type != at::kBFloat16) return nullptr;
  // The other calls that name a type are refused.
  const bool names_other = kWritten == ScanInto::kSelf && !arguments[2].isNone() &&
                           arguments[2].toScalarType() != arguments[0].toTensor().scalar_type();
  if (names_other || arguments[0].toTensor().is_complex()) return nullptr;
  return &compute_scan<kScan, kWritten>;
}

template <ScanOf kScan>
void put_scans_of(torch::Library& aten, const char* name, const char* in_place) {
  put_choice(aten, name, "", &choose_scan<kScan, ScanInto::kNothing>);
  put_choice(aten, name, "out", &choose_scan<kScan, ScanInto::kOut>);
  put_choice(aten, in_place, "", &choose_scan<kScan, ScanInto::kSelf>);
}

void put_half_scans(torch::Library& aten) {
  if (!computes_as_cuda()) return;
  put_scans_of<ScanOf::kSum>(aten, "cumsum", "cumsum_");
  put_scans_of<ScanOf::kProduct>(aten, "cumprod", "cumprod_");
}

const OperatorGroup kHalfScans(&put_half_scans);

}  // namespace

Tensor sums_as_cuda(const Tensor& rows) {
  return scanned<ScanOf::kSum>(rows, -1, rows.scalar_type());
}

}  // namespace torchport::vdev
