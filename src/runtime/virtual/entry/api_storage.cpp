// Answers the torch._C shim about storages, pinned memory and visible devices, as operators
// torch.ops.torchport.*.
#include <string>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/pinned.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

// Returns all bytes of a device tensor's storage as a CPU tensor.
at::Tensor twin(const at::Tensor& tensor) {
  TORCH_CHECK(is_virtual(tensor.device()), "torchport::twin: ", tensor.device(),
              " is not a virtual device");
  c10::Storage storage(twin_of(*tensor.storage().unsafeGetStorageImpl()));
  const auto bytes = static_cast<std::int64_t>(storage.nbytes());
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      caffe2::TypeMeta::Make<std::uint8_t>());
  result.unsafeGetTensorImpl()->set_sizes_contiguous({bytes});
  return result;
}

// Updates a tensor's storage after its twin was resized or moved.
void follow(const at::Tensor& tensor) {
  follow_twin(*tensor.storage().unsafeGetStorageImpl());
}

// Makes a tensor on a device over a CPU tensor's bytes. They are not charged if they belong to
// another process.
at::Tensor adopt_tensor(const at::Tensor& cpu, std::int64_t device, bool charged) {
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      adopt(cpu.storage(), static_cast<c10::DeviceIndex>(device < 0 ? current_device() : device),
            charged),
      c10::DispatchKeySet(Runtime::get().kind().dense), cpu.dtype());
  result.unsafeGetTensorImpl()->set_sizes_and_strides(cpu.sizes(), cpu.strides(),
                                                      cpu.storage_offset());
  return result;
}

// Makes what `tensor` would be on a device without data, in no account: for what is to be there
// later. Values of small tensors are copied; those of the meta device are not set.
at::Tensor uncharged_like(const at::Tensor& tensor, at::ScalarType type, std::int64_t device) {
  const caffe2::TypeMeta meta = c10::scalarTypeToTypeMeta(type);
  const std::size_t bytes =
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), meta.itemsize());
  const auto options = at::TensorOptions(c10::kCPU).dtype(type);
  if (!drops_data(bytes)) {
    at::Tensor host = at::empty_strided(tensor.sizes(), tensor.strides(), options);
    if (!tensor.is_meta()) host.copy_(tensor.detach());
    return adopt_tensor(host, device, /*charged=*/false);
  }
  c10::Storage memory(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(bytes),
      phantom_memory_of_no_block(bytes), c10::GetCPUAllocator(), true));
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      adopt(memory, static_cast<c10::DeviceIndex>(device < 0 ? current_device() : device),
            /*charged=*/false),
      c10::DispatchKeySet(Runtime::get().kind().dense), meta);
  result.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides());
  return result;
}

nlohmann::json json_of(const device::Stat& stat) {
  return {{"current", stat.current},
          {"peak", stat.peak},
          {"allocated", stat.allocated},
          {"freed", stat.freed}};
}

// The statistics as JSON, in the structure of torch._C._cuda_hostMemoryStats. Allocation times are
// 0: they are too small to matter.
std::string host_memory_stats() {
  const PinnedStats stats = pinned_stats();
  const nlohmann::json no_time = {{"total", 0}, {"max", 0}, {"min", 0}, {"count", 0}, {"avg", 0.0}};
  return nlohmann::json{{"allocations", json_of(stats.blocks)},
                        {"allocated_bytes", json_of(stats.bytes)},
                        {"active_requests", json_of(stats.active_blocks)},
                        {"active_bytes", json_of(stats.active_bytes)},
                        {"num_host_alloc", stats.blocks.allocated},
                        {"num_host_free", stats.blocks.freed},
                        {"host_alloc_time", no_time},
                        {"host_free_time", no_time}}
      .dump();
}

std::vector<std::int64_t> visible_devices() {
  const std::vector<int>& visible = Runtime::get().visible();
  return {visible.begin(), visible.end()};
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("twin(Tensor tensor) -> Tensor", &twin);
  library.def("follow(Tensor tensor) -> ()", &follow);
  library.def("adopt(Tensor cpu, int device, bool charged) -> Tensor", &adopt_tensor);
  library.def("uncharged_like(Tensor tensor, ScalarType dtype, int device) -> Tensor",
              &uncharged_like);
  library.def("host_memory_stats() -> str", &host_memory_stats);
  library.def("reset_host_memory(bool peak) -> ()", &reset_pinned_stats);
  library.def("visible_devices() -> int[]", &visible_devices);
  library.def("empty_host_cache() -> ()", &empty_pinned_cache);
}

}  // namespace

}  // namespace torchport::vdev
