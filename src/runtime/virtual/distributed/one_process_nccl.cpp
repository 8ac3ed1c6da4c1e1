#include <algorithm>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/distributed/one_process.h"
#include "runtime/virtual/planning/communicator_record.h"
#include "runtime/virtual/planning/memory_record.h"
#include "runtime/virtual/planning/work_record.h"
#include "runtime/virtual/watch/late_streams.h"
#include "runtime/virtual/without_data/meta_aliases.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

// How many times the elements of an input an output has, as a fraction.
struct OutputSize {
  std::int64_t of_output = 1;
  std::int64_t of_input = 1;
};

OutputSize output_size(const std::string& name, std::int64_t count) {
  if (name == "all_gather") return {1, count};
  if (name == "reduce_scatter") return {count, 1};
  return {};
}

// Refuses what check_inputs() of torch/csrc/cuda/nccl.cpp refuses, in its order. An output that is
// not defined is not looked at.
void check_tensors(at::TensorList inputs, const Tensors& outputs, OutputSize size) {
  TORCH_CHECK(!inputs.empty(), "input sequence can't be empty");
  TORCH_CHECK(
      inputs.size() == outputs.size(),
      "inputs and outputs sequences have to be of the same length, but got input of length ",
      inputs.size(), " and output of length ", outputs.size());
  const auto check_one = [&](const Tensor& tensor) {
    TORCH_CHECK(is_virtual(tensor.device()) && !tensor.is_sparse(),
                "input and output elements have to be cuda dense Tensors");
    TORCH_CHECK(tensor.scalar_type() == inputs[0].scalar_type(),
                "all inputs and outputs must be of the same Tensor dtype");
    TORCH_CHECK(tensor.is_contiguous(), "all inputs and outputs have to be contiguous");
  };
  const std::int64_t count = inputs[0].numel();
  std::vector<c10::Device> devices;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    check_one(input);
    TORCH_CHECK(input.numel() == count, "all inputs must have the same number of elements");
    if (outputs[i].defined()) {
      check_one(outputs[i]);
      TORCH_CHECK(input.device() == outputs[i].device(),
                  "input and output must be on the same device");
      TORCH_CHECK(outputs[i].numel() * size.of_output == count * size.of_input,
                  "output must be of size input_size * size_multiplier");
    }
    TORCH_CHECK(std::ranges::find(devices, input.device()) == devices.end(),
                "inputs must be on unique devices");
    devices.push_back(input.device());
  }
}

// For `torchport plan`: what crosses the links, which communicator there is, and what holds memory
// of the collective.
void record_collective_of(const std::string& name, at::TensorList inputs, const Tensors& outputs) {
  if (records_memory()) {
    for (const Tensor& input : inputs) record_communication(input);
    for (const Tensor& output : outputs)
      if (output.defined()) record_communication(output);
  }
  if (!records_work()) return;
  std::vector<c10::DeviceIndex> devices;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::size_t bytes = inputs[i].nbytes();
    if (outputs[i].defined()) bytes = std::max(bytes, outputs[i].nbytes());
    devices.push_back(inputs[i].device().index());
    const std::string as_group = name == "all_reduce" ? "allreduce" : name;
    record_collective("nccl::" + as_group + "_", devices.back(), bytes,
                      static_cast<int>(inputs.size()));
  }
  record_communicator_of_process(devices);
}

Tensor reduced(const Tensors& inputs, std::int64_t op) {
  const Tensor all = at::stack(inputs);
  switch (op) {
    case 0:
      return at::sum(all, {0}, false, all.scalar_type());
    case 1:
      return at::prod(all, 0, false, all.scalar_type());
    case 2:
      return at::amax(all, 0);
    default:
      TORCH_CHECK(op == 3, "NCCL Error 4: invalid argument (run with NCCL_DEBUG=WARN for details)");
      return at::amin(all, 0);
  }
}

// Computes on the host's tensors over the same bytes.
void compute(const std::string& name, const Tensors& inputs, const Tensors& outputs,
             std::int64_t root, std::int64_t op) {
  if (name == "broadcast") {
    const Tensor& from = inputs[static_cast<std::size_t>(root)];
    for (const Tensor& output : outputs)
      if (!output.is_same(from)) output.copy_(from);
    return;
  }
  Tensors flat;
  for (const Tensor& input : inputs) flat.push_back(input.reshape({-1}));
  const Tensor result = name == "all_gather" ? at::cat(flat) : reduced(flat, op);
  const auto count = static_cast<std::int64_t>(outputs.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor& output = outputs[static_cast<std::size_t>(i)];
    if (!output.defined()) continue;
    const Tensor part =
        name == "reduce_scatter" ? result.chunk(count)[static_cast<std::size_t>(i)] : result;
    output.copy_(part.view(output.sizes()));
  }
}

bool any_lacks_data(at::TensorList tensors) {
  return std::ranges::any_of(
      tensors, [](const Tensor& tensor) { return tensor.defined() && lacks_data(tensor); });
}

}  // namespace

void run_collective(const std::string& name, at::TensorList inputs, at::TensorList outputs,
                    std::int64_t root, std::int64_t op) {
  const auto count = static_cast<std::int64_t>(inputs.size());
  Tensors all(outputs.begin(), outputs.end());
  if (name == "broadcast") {
    TORCH_CHECK(0 <= root && root < count, "invalid root");
    all.assign(inputs.begin(), inputs.end());
  } else if (name == "reduce") {
    TORCH_CHECK(0 <= root && root < count, "invalid root");
    all.assign(inputs.size(), Tensor());
    all[static_cast<std::size_t>(root)] = outputs[0];
  }
  check_tensors(inputs, all, output_size(name, count));
  record_collective_of(name, inputs, all);
  if (any_lacks_data(inputs) || any_lacks_data(all)) {
    for (const Tensor& output : all)
      if (output.defined()) make_up({output});
    return;
  }
  const at::NoGradGuard no_grad;
  Aliases aliases;
  const auto on_host = [&](const Tensor& tensor, Aliases::Use use) {
    if (!tensor.defined()) return tensor;
    Tensor alias = aliases.of(tensor, use);
    // The order that streams make is not followed, as for groups of processes.
    const c10::DeviceIndex device = tensor.device().index();
    if (streams_are_late()) late::host_waits(device, current_stream(device));
    return alias;
  };
  Tensors to;
  Tensors from;
  for (const Tensor& output : all) to.push_back(on_host(output, Aliases::Use::kMayWrite));
  for (const Tensor& input : inputs) from.push_back(on_host(input, Aliases::Use::kReads));
  compute(name, from, to, root, op);
}

}  // namespace torchport::vdev
