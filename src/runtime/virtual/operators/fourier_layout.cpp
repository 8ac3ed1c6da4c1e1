// Source: aten/src/ATen/native/cuda/SpectralOps.cpp, whose order of steps decides the strides.
#include "runtime/virtual/operators/fourier_layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/strides.h>

#include "runtime/virtual/operators/laid_out.h"

namespace torchport::vdev {

namespace {

using StrideNumbers = std::vector<std::int64_t>;

constexpr std::size_t kDimensionsOfPlan = 3;

StrideNumbers row_major_strides(c10::IntArrayRef sizes) {
  const auto strides = c10::contiguous_strides(sizes);
  return {strides.begin(), strides.end()};
}

// Plans with 0 and 1 as their first dimensions are taken apart: one to or from the real numbers,
// and others of complex numbers.
bool fits_one_plan(const StrideNumbers& dims) {
  return dims.size() <= kDimensionsOfPlan && !(dims.size() >= 2 && dims[0] == 0 && dims[1] == 1);
}

// By descending strides; as std::sort leaves those with equal ones.
void sort_by_strides(StrideNumbers::iterator begin, StrideNumbers::iterator end,
                     const StrideNumbers& strides) {
  std::sort(begin, end, [&](auto a, auto b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  });
}

// The strides of what one plan writes for an input with `strides`.
StrideNumbers after_plan(const StrideNumbers& strides, const StrideNumbers& sizes,
                         const StrideNumbers& dims) {
  StrideNumbers order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto batch_end = std::partition(order.begin(), order.end(), [&](std::int64_t d) {
    return std::find(dims.begin(), dims.end(), d) == dims.end();
  });
  sort_by_strides(order.begin(), batch_end, strides);
  std::copy(dims.begin(), dims.end(), batch_end);
  StrideNumbers found(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(order[i]);
    found[d] = stride;
    stride *= std::max<std::int64_t>(sizes[d], 1);
  }
  return found;
}

// The strides after plans of complex numbers for all of `dims`.
StrideNumbers after_complex_plans(StrideNumbers strides, const StrideNumbers& sizes,
                                  StrideNumbers dims) {
  while (!dims.empty()) {
    sort_by_strides(dims.begin(), dims.end(), strides);
    const std::size_t left = dims.size() - std::min(kDimensionsOfPlan, dims.size());
    strides =
        after_plan(strides, sizes, {dims.begin() + static_cast<std::ptrdiff_t>(left), dims.end()});
    dims.resize(left);
  }
  return strides;
}

// The dimensions that the call transforms, from 0.
StrideNumbers transformed_dims(const c10::IValue* arguments) {
  StrideNumbers dims = arguments[1].toIntVector();
  for (std::int64_t& dim : dims)
    if (dim < 0) dim += arguments[0].toTensor().dim();
  return dims;
}

// cuFFT reads real numbers in pairs, so that an input at an odd place is copied.
StrideNumbers strides_of_real(const at::Tensor& self, std::int64_t last) {
  if (self.storage_offset() % 2 == 0) return self.strides().vec();
  const at::Tensor moved = self.movedim(last, -1);
  StrideNumbers strides = row_major_strides(moved.sizes());
  const std::int64_t stride = strides.back();
  strides.pop_back();
  strides.insert(strides.begin() + last, stride);
  return strides;
}

}  // namespace

void lay_out_transform_of_real(const c10::IValue* arguments, c10::IValue* results) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& result = results[0].toTensor();
  const StrideNumbers dims = transformed_dims(arguments);
  if (dims.empty() || result.numel() == 0) return;
  const StrideNumbers sizes = result.sizes().vec();
  StrideNumbers strides = strides_of_real(self, dims.back());
  if (fits_one_plan(dims)) {
    strides = after_plan(strides, sizes, dims);
  } else if (!arguments[3].toBool()) {
    strides = row_major_strides(sizes);  // one half is copied into a new tensor
  } else {
    strides = after_plan(strides, sizes, {dims.back()});
    strides = after_complex_plans(strides, sizes, {dims.begin(), dims.end() - 1});
  }
  results[0] = laid_out(result, strides);
}

void lay_out_transform_to_real(const c10::IValue* arguments, c10::IValue* results) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& result = results[0].toTensor();
  const StrideNumbers dims = transformed_dims(arguments);
  if (dims.empty() || result.numel() == 0) return;
  const StrideNumbers sizes = result.sizes().vec();
  const StrideNumbers copied = row_major_strides(self.sizes());
  if (fits_one_plan(dims)) {
    results[0] = laid_out(result, after_plan(copied, sizes, dims));
    return;
  }
  const StrideNumbers complex =
      after_complex_plans(self.strides().vec(), self.sizes().vec(), {dims.begin(), dims.end() - 1});
  results[0] = laid_out(result, after_plan(complex, sizes, {dims.back()}));
}

void lay_out_complex_transform(const c10::IValue* arguments, c10::IValue* results) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& result = results[0].toTensor();
  const StrideNumbers dims = transformed_dims(arguments);
  if (dims.empty() || result.numel() == 0) return;
  results[0] =
      laid_out(result, after_complex_plans(self.strides().vec(), self.sizes().vec(), dims));
}

}  // namespace torchport::vdev
