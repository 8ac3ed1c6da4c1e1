#include "runtime/virtual/distributed/one_process.h"

#include <algorithm>
#include <utility>

#include <ATen/WrapDimUtils.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/utils/tensor_flatten.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

c10::Device device_at(std::int64_t index) {
  return {Runtime::get().kind().type, static_cast<c10::DeviceIndex>(index)};
}

// As torch::cuda::nccl::is_available().
bool takes_nccl(const Tensors& tensors) {
  std::vector<c10::Device> devices;
  for (const Tensor& tensor : tensors) {
    if (!is_virtual(tensor.device()) || tensor.is_sparse() || !tensor.is_contiguous()) return false;
    if (std::ranges::find(devices, tensor.device()) != devices.end()) return false;
    devices.push_back(tensor.device());
  }
  return true;
}

// The tensors of one type that are sent at once, of another device: views of its buffers.
class SentTogether {
 public:
  SentTogether(const Tensors& tensors, at::IntArrayRef devices) : tensors_(tensors) {
    if (tensors.front().is_sparse()) {
      const auto [indices, values] = torch::utils::flatten_sparse_tensors(tensors);
      first_ = broadcast_over(indices, devices);
      second_ = broadcast_over(values, devices);
    } else {
      first_ = broadcast_over(torch::utils::flatten_dense_tensors(tensors), devices);
    }
  }

  [[nodiscard]] Tensors on(std::size_t device) const {
    Tensors parts =
        second_.empty()
            ? torch::utils::unflatten_dense_tensors(first_[device], tensors_)
            : torch::utils::unflatten_sparse_tensors(first_[device], second_[device], tensors_);
    // Each with a version of its own, and not a view for autograd.
    for (Tensor& part : parts) part = part.variable_data();
    return parts;
  }

 private:
  const Tensors& tensors_;
  Tensors first_;
  Tensors second_;
};

// The size of the joined tensor.
std::vector<std::int64_t> joined_size(at::TensorList tensors, std::int64_t dim,
                                      std::string_view quote) {
  std::vector<std::int64_t> expected = tensors.front().sizes().vec();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    TORCH_CHECK(is_virtual(tensor.device()),
                "Expected all input tensors to be CUDA tensors, but tensor at index ", i,
                " has device ", quote, tensor.device(), quote);
    TORCH_CHECK(tensor.dim() == static_cast<std::int64_t>(expected.size()),
                "Expected all input tensors to have the same number of dimensions, but tensor at "
                "index ",
                i, "has ", tensor.dim(), " dimensions, (expected ", expected.size(), ")");
    expected[static_cast<std::size_t>(dim)] = tensor.size(dim);
    TORCH_CHECK(tensor.sizes() == expected, "Input tensor at index ", i, " has invalid shape ",
                tensor.sizes(), ", but expected ", at::IntArrayRef(expected));
    total += tensor.size(dim);
  }
  expected[static_cast<std::size_t>(dim)] = total;
  return expected;
}

void copy_parts(at::TensorList tensors, const Tensor& output, std::int64_t dim) {
  std::vector<std::int64_t> sizes;
  for (const Tensor& tensor : tensors) sizes.push_back(tensor.size(dim));
  const Tensors parts = output.split_with_sizes(sizes, dim);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    parts[i].copy_(tensors[i], /*non_blocking=*/is_virtual(output.device()));
}

void check_any(at::TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
}

}  // namespace

void broadcast_to(const Tensor& tensor, const Tensors& outputs) {
  Tensors all{tensor};
  all.insert(all.end(), outputs.begin(), outputs.end());
  if (takes_nccl(all)) {
    run_collective("broadcast", all, {}, 0, 0);
    return;
  }
  for (const Tensor& output : outputs) output.copy_(tensor, /*non_blocking=*/true);
}

Tensors broadcast_over(const Tensor& tensor, at::IntArrayRef devices) {
  const auto is_there = [&](std::int64_t device) {
    return is_virtual(tensor.device()) && tensor.get_device() == device;
  };
  Tensors made;
  for (const std::int64_t device : devices) {
    TORCH_CHECK(device >= 0, "Expected non-negative device index, but got ", device);
    if (!is_there(device))
      made.push_back(at::empty(tensor.sizes(), tensor.options().device(device_at(device))));
  }
  broadcast_to(tensor, made);
  Tensors all;
  auto next = made.begin();
  for (const std::int64_t device : devices) all.push_back(is_there(device) ? tensor : *next++);
  return all;
}

Tensors broadcast_coalesced(at::TensorList tensors, at::IntArrayRef devices,
                            std::int64_t buffer_size) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to broadcast to");
  TORCH_CHECK(std::ranges::all_of(tensors,
                                  [&](const Tensor& tensor) {
                                    return is_virtual(tensor.device()) &&
                                           tensor.get_device() == devices[0];
                                  }),
              "All tensors must be on devices[0]: ", devices[0]);
  const at::NoGradGuard no_grad;
  const c10::DeviceGuard guard(device_at(devices[0]));
  std::vector<Tensors> rows(devices.size());
  for (auto& group : torch::utils::take_tensors(tensors, static_cast<std::size_t>(buffer_size))) {
    const SentTogether sent(group.tensors, devices);
    for (std::size_t i = 1; i < devices.size(); ++i) {
      const Tensors parts = sent.on(i);
      rows[i].insert(rows[i].end(), parts.begin(), parts.end());
    }
  }
  Tensors all = tensors.vec();
  for (std::size_t i = 1; i < devices.size(); ++i) {
    torch::utils::reorder_tensors_like(rows[i], tensors);
    all.insert(all.end(), rows[i].begin(), rows[i].end());
  }
  return all;
}

Tensor gather_on(at::TensorList tensors, std::int64_t dim,
                 std::optional<std::int64_t> destination) {
  check_any(tensors);
  const std::int64_t along = at::maybe_wrap_dim(dim, tensors.front().dim());
  const std::vector<std::int64_t> size = joined_size(tensors, along, "");
  at::MemoryFormat format = tensors.front().suggest_memory_format();
  for (const Tensor& tensor : tensors)
    if (tensor.suggest_memory_format() != format) format = at::MemoryFormat::Contiguous;
  const c10::Device device = destination == -1
                                 ? c10::Device(c10::kCPU)
                                 : device_at(destination ? *destination : current_device());
  Tensor result = at::empty(size, tensors.front().options().device(device).memory_format(format));
  copy_parts(tensors, result, along);
  return result;
}

void gather_into(at::TensorList tensors, const Tensor& output, std::int64_t dim) {
  check_any(tensors);
  const std::int64_t along = at::maybe_wrap_dim(dim, tensors.front().dim());
  const std::vector<std::int64_t> size = joined_size(tensors, along, "'");
  TORCH_CHECK(output.sizes() == size, "Expected out tensor to have shape ", at::IntArrayRef(size),
              ", but got ", output.sizes());
  copy_parts(tensors, output, along);
}

namespace {

void broadcast_to_list(const Tensor& tensor, at::TensorList outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK(is_virtual(outputs[i].device()),
                "Expected all output tensors to be CUDA tensors, but output tensor at index ", i,
                " has device '", outputs[i].device(), "'");
    TORCH_CHECK(outputs[i].sizes() == tensor.sizes(),
                "Expected all output tensors to have same shape as the source tensor ",
                tensor.sizes(), ", but output tensor at index ", i, " has shape ",
                outputs[i].sizes());
  }
  broadcast_to(tensor, outputs.vec());
}

void collective(const std::string& name, at::TensorList inputs, at::TensorList outputs,
                std::int64_t root, std::int64_t op) {
  run_collective(name, inputs, outputs, root, op);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def(
      "collective_of_devices(str name, Tensor[] inputs, Tensor[] outputs, int root, int "
      "op) -> ()",
      &collective);
  library.def("broadcast_to(Tensor tensor, Tensor[] outputs) -> ()", &broadcast_to_list);
  library.def("broadcast_over(Tensor tensor, int[] devices) -> Tensor[]", &broadcast_over);
  library.def("broadcast_coalesced(Tensor[] tensors, int[] devices, int buffer_size) -> Tensor[]",
              &broadcast_coalesced);
  library.def("gather_on(Tensor[] tensors, int dim, int? destination) -> Tensor", &gather_on);
  library.def("gather_into(Tensor[] tensors, Tensor output, int dim) -> ()", &gather_into);
}

}  // namespace

}  // namespace torchport::vdev
