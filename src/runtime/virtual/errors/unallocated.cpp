#include "runtime/virtual/errors/unallocated.h"

#include <array>
#include <string>
#include <string_view>

#include <ATen/EmptyTensor.h>
#include <ATen/core/enum_tag.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

// Whether the kernels of a real device take the addresses of TensorIterator, which has no types, or
// those of a copy.
bool takes_addresses(const c10::OperatorHandle& op) {
  constexpr std::array<std::string_view, 6> kUntagged = {"aten::copy_",    "aten::clone",
                                                         "aten::_to_copy", "aten::fill",
                                                         "aten::zero",     "aten::_foreach_"};
  if (op.hasTag(at::Tag::pointwise) || is_reduction(op)) return true;
  const std::string& name = op.operator_name().name;
  for (const std::string_view begin : kUntagged) {
    if (name.starts_with(begin)) return true;
  }
  // The in-place form of an operator has not always the tag of the other.
  if (!name.ends_with('_')) return false;
  const auto functional = c10::Dispatcher::singleton().findOp(
      {name.substr(0, name.size() - 1), op.operator_name().overload_name});
  return functional && functional->hasTag(at::Tag::pointwise);
}

// Whoever computes `name` is given address 0 if `is_access`, or else refuses.
[[noreturn]] void raise(const at::Tensor& tensor, const std::string& name, bool is_access) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const std::size_t bytes = impl.unsafe_storage().nbytes();
  const std::string reason = fmt::format(
      "a tensor [{}] needs {} bytes, but its storage has {}; resize_() of the storage freed them",
      fmt::join(impl.sizes(), ", "), detail::bytes_needed(impl), bytes);
  if ((is_access || bytes > 0) && Runtime::get().description().failed_assertion != nullptr)
    raise_illegal_access(impl.device().index(), name, reason);
  TORCH_CHECK(false,
              "The tensor has a non-zero number of elements, but its data is not allocated yet.\n",
              "torchport: ", name, ": ", reason, ".");
}

// For kernels that were compiled for the host.
// NOLINTNEXTLINE(performance-unnecessary-value-param): torch asks for values
void check_memory(const at::Tensor& tensor, std::string name) {
  if (is_virtual(tensor.device()) && lacks_memory(*tensor.unsafeGetTensorImpl()))
    raise(tensor, name, /*is_access=*/true);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("check_memory(Tensor tensor, str kernel) -> ()", &check_memory);
}

}  // namespace

std::size_t detail::bytes_needed(const c10::TensorImpl& impl) {
  return at::detail::computeStorageNbytes(impl.sizes(), impl.strides(), impl.itemsize(),
                                          static_cast<std::size_t>(impl.storage_offset()));
}

void raise_unallocated(const at::Tensor& tensor, const c10::OperatorHandle* op) {
  if (op == nullptr) raise(tensor, "a kernel", /*is_access=*/false);
  raise(tensor, op->operator_name().name, takes_addresses(*op));
}

}  // namespace torchport::vdev
