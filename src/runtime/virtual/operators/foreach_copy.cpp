// Copies of lists as CUDA's kernel makes them. It differs from that of single tensors in one
// conversion: of floats to uint8.
//
// Copy in ForeachBinaryOpList.cu is a static_cast, for which the compiler has instructions to 32
// bits without a sign: negative numbers become 0, and of others the lowest bits of the clamped
// integer remain. c10::convert(), by which copy_ converts, goes through 64 bits with a sign.
#include <cstdint>

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_copy_native.h>
#include <ATen/ops/real.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/float_to_integer.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::TensorList;

// Whether the kernel takes the lists: others are copied one by one. The dtypes are those that
// matter here.
bool takes_bytes_of_floats(TensorList to, TensorList from) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool has_types = to[i].scalar_type() == at::kByte &&
                           (from[i].is_floating_point() || from[i].is_complex()) &&
                           from[i].scalar_type() == from[0].scalar_type();
    if (!has_types || from[i].device() != to[0].device() || to[i].device() != to[0].device() ||
        from[i].layout() != at::kStrided || from[i].is_nested() ||
        from[i].sizes() != to[i].sizes() || from[i].strides() != to[i].strides() ||
        !from[i].is_non_overlapping_and_dense())
      return false;
  }
  return !to.empty();
}

template <class From>
void write_bytes(at::TensorIteratorBase& iterator) {
  iterator.for_each(
      [](char** data, const std::int64_t* strides, std::int64_t count, std::int64_t rows) {
        for (std::int64_t row = 0; row < rows; ++row) {
          char* to = data[0] + row * strides[2];
          const char* from = data[1] + row * strides[3];
          for (std::int64_t i = 0; i < count; ++i) {
            const From number = *reinterpret_cast<const From*>(from + i * strides[1]);
            *reinterpret_cast<std::uint8_t*>(to + i * strides[0]) =
                static_cast<std::uint8_t>(to_integer<std::uint32_t>(number));
          }
        }
      });
}

void write_bytes_of(const Tensor& to, const Tensor& numbers) {
  const Tensor real = (numbers.is_complex() ? at::real(numbers) : numbers).resolve_neg();
  const bool is_double = real.scalar_type() == at::kDouble;
  at::TensorIterator iterator = at::TensorIteratorConfig()
                                    .add_output(to)
                                    .add_owned_const_input(is_double ? real : real.to(at::kFloat))
                                    .resize_outputs(false)
                                    .check_all_same_dtype(false)
                                    .build();
  if (is_double) {
    write_bytes<double>(iterator);
  } else {
    write_bytes<float>(iterator);
  }
}

void foreach_copy(TensorList self, TensorList src, bool non_blocking) {
  at::native::foreach_tensor_copy_list_kernel_slow_(self, src, non_blocking);  // with all checks
  if (!takes_bytes_of_floats(self, src)) return;
  Aliases aliases;
  for (std::size_t i = 0; i < self.size(); ++i)
    write_bytes_of(aliases.of(self[i]), aliases.of(src[i], Aliases::Use::kReads));
}

void put_foreach_copy(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  aten.impl("_foreach_copy_", TORCH_FN(foreach_copy));
}

const OperatorGroup kForeachCopy(&put_foreach_copy);

}  // namespace

}  // namespace torchport::vdev
