// Large tensors of the host that a program fills with random numbers: see values.h.
#include <cstddef>
#include <memory>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/CPUAllocator.h>

#include "runtime/virtual/core/host_pages.h"
#include "runtime/virtual/core/typed_kernel.h"
#include "runtime/virtual/without_data/values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using torch::jit::Stack;

constexpr std::size_t kLargeFill = std::size_t{1} << 20U;  // bytes

// Gives the pages of the tensor's memory back to the system: they read as zeros. Memory of a file
// or of another process stays as it is.
bool becomes_zeros(const Tensor& tensor) {
  if (!tensor.is_non_overlapping_and_dense() || tensor.nbytes() < kLargeFill ||
      tensor.storage().data_ptr().get_deleter() != c10::GetCPUAllocator()->raw_deleter())
    return false;
  return give_pages_back(tensor.data_ptr(), tensor.nbytes());
}

class HostFill final : public c10::OperatorKernel {
 public:
  explicit HostFill(c10::SafeKernelFunction below) : below_(std::move(below)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const {
    const std::size_t count = op.schema().arguments().size();
    const std::size_t first = stack->size() - count;
    const Tensor self = (*stack)[first].toTensor();
    if (becomes_zeros(self)) {
      stack->resize(first);
      stack->emplace_back(self);
    } else {
      below_.callBoxed(op, keys, stack);
    }
  }

 private:
  c10::SafeKernelFunction below_;
};

}  // namespace

void cover_host_fills() {
  for (const char* name : {"aten::normal_", "aten::uniform_"}) {
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
    put(op, c10::DispatchKey::CPU,
        c10::KernelFunction::makeFromBoxedFunctor<HostFill>(
            std::make_unique<HostFill>(op.getComputedKernelForDispatchKey(c10::DispatchKey::CPU))));
  }
}

}  // namespace torchport::vdev
