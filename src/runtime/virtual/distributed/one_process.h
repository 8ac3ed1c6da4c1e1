// Collectives and copies between the devices of one process: torch.cuda.nccl,
// torch.nn.parallel.comm and so DataParallel. Buffers and results are those that PyTorch takes on
// real devices (torch/csrc/cuda/comm.cpp and nccl.cpp); the collectives themselves take no memory
// of a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

// Copies a tensor of the host or a device to others of the same size: by NCCL if it takes them.
// Raises c10::Error, as all functions here, for what a real device refuses, in its words.
void broadcast_to(const at::Tensor& tensor, const std::vector<at::Tensor>& outputs);

// The tensor on each of the devices: itself on its own.
[[nodiscard]] std::vector<at::Tensor> broadcast_over(const at::Tensor& tensor,
                                                     at::IntArrayRef devices);

// Copies of tensors of the first device on the others, which share buffers of `buffer_size` bytes
// or one tensor more. Returns those of the first device (the tensors themselves), then of the next.
[[nodiscard]] std::vector<at::Tensor> broadcast_coalesced(at::TensorList tensors,
                                                          at::IntArrayRef devices,
                                                          std::int64_t buffer_size);

// Joins tensors of devices along a dimension, on the device `destination` (-1: the host, none: the
// current one).
[[nodiscard]] at::Tensor gather_on(at::TensorList tensors, std::int64_t dim,
                                   std::optional<std::int64_t> destination);
void gather_into(at::TensorList tensors, const at::Tensor& output, std::int64_t dim);

// Runs a collective of torch.cuda.nccl: "reduce" (with one output, that of `root`), "all_reduce",
// "broadcast" (outputs are the inputs), "all_gather" or "reduce_scatter". `op` is a number of
// ncclRedOp_t.
void run_collective(const std::string& name, at::TensorList inputs, at::TensorList outputs,
                    std::int64_t root, std::int64_t op);

}  // namespace torchport::vdev
