#include "runtime/virtual/distributed/distributed.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/custom_class.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/distributed/alike_ranks.h"
#include "runtime/virtual/planning/communicator_record.h"
#include "runtime/virtual/planning/memory_record.h"
#include "runtime/virtual/planning/work_record.h"
#include "runtime/virtual/watch/late_streams.h"
#include "runtime/virtual/without_data/meta_aliases.h"

namespace torchport::vdev {

namespace {

using c10::DispatchKey;
using c10::IValue;
using c10::ivalue::Future;
using torch::jit::Stack;

// Calls a function for each tensor of an argument: collectives take tensors, lists of tensors and
// lists of lists.
template <typename Function>
IValue mapped(const IValue& value, const Function& function) {
  if (value.isTensor()) return function(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(function(tensor));
    return list;
  }
  if (value.isList() && !value.toListRef().empty() && value.toListRef().front().isTensorList()) {
    const auto from = value.toList();
    auto list = c10::impl::GenericList(from.elementType());
    for (const IValue& element : from) list.push_back(mapped(element, function));
    return list;
  }
  return value;
}

IValue on_device(const IValue& value, Aliases& aliases) {
  return mapped(value, [&](const at::Tensor& tensor) { return aliases.back(tensor); });
}

std::vector<c10::Device> all_devices() {
  std::vector<c10::Device> devices;
  for (c10::DeviceIndex i = 0; i < Runtime::get().count(); ++i)
    devices.emplace_back(Runtime::get().kind().type, i);
  return devices;
}

// Runs PyTorch's own kernel for the device, which hands the tensors to the group's backend, with
// aliases instead of the tensors.
class CollectiveKernel final : public c10::OperatorKernel {
 public:
  explicit CollectiveKernel(c10::SafeKernelFunction kernel) : kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const {
    if (records_memory()) note_buffers(op, *stack);
    if (records_work()) record(op, *stack);
    if (ranks_are_alike()) {  // nothing is sent, and the backend takes tensors of devices
      kernel_.callBoxed(op, keys, stack);
      return;
    }
    if (without_values(op, *stack)) {
      kernel_.callBoxed(op, keys, stack);
      return;
    }
    auto aliases = std::make_shared<Aliases>();
    const std::vector<at::Tensor> sparse = to_aliases(op, *stack, *aliases);
    kernel_.callBoxed(op, keys, stack);
    for (std::size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
      IValue& value = (*stack)[i];
      if (!value.isObject()) {
        value = on_device(value, *aliases);
        continue;
      }
      auto work = value.toCustomClass<c10d::Work>();
      // A sparse result has new memory, so it can be carried over only when it is complete.
      if (!sparse.empty()) work->wait();
      for (const at::Tensor& alias : sparse) aliases->write_back(alias);
      value =
          c10::intrusive_ptr<c10d::Work>(c10::make_intrusive<DeviceWork>(std::move(work), aliases));
    }
  }

 private:
  static bool is_group(const c10::Argument& argument) {
    return argument.type()->str().ends_with("c10d.ProcessGroup");
  }

  // Inputs and outputs are separate arguments; the larger of them is what a collective is about.
  static void record(const c10::OperatorHandle& op, const Stack& stack) {
    const auto& arguments = op.schema().arguments();
    const std::size_t first = stack.size() - arguments.size();
    std::uint64_t most = 0;
    c10::DeviceIndex device = -1;
    c10::intrusive_ptr<c10d::ProcessGroup> group;
    int peer = -1;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const IValue& value = stack[first + i];
      if (value.isObject() && is_group(arguments[i]))
        group = value.toCustomClass<c10d::ProcessGroup>();
      if (arguments[i].name() == "dst" || arguments[i].name() == "src")
        peer = static_cast<int>(value.toInt());
      observer::each_tensor(value, [&](const at::Tensor& tensor) {
        if (tensor.defined() && is_virtual(tensor.device())) device = tensor.device().index();
      });
      most = std::max(most, device_bytes(value));
    }
    if (device < 0) return;
    const std::string& name = op.schema().name();
    record_collective(name, device, most, group ? group->getSize() : 1);
    if (group)
      record_communicator(*group->getBackend(Runtime::get().kind().type), device, name, peer);
  }

  // Whether a tensor has no values, so that there is nothing to send: then the group is replaced by
  // one whose other ranks are assumed to be alike. All ranks find the same, as their tensors have
  // the same sizes.
  static bool without_values(const c10::OperatorHandle& op, Stack& stack) {
    const std::size_t first = stack.size() - op.schema().arguments().size();
    bool lacks = false;
    for (std::size_t i = first; i < stack.size(); ++i)
      observer::each_tensor(stack[i], [&](const at::Tensor& tensor) {
        lacks = lacks || (tensor.defined() && is_virtual(tensor.device()) && lacks_data(tensor));
      });
    for (std::size_t i = first; lacks && i < stack.size(); ++i)
      if (stack[i].isObject() && is_group(op.schema().arguments()[i - first]))
        stack[i] = alike_group(stack[i].toCustomClass<c10d::ProcessGroup>());
    return lacks;
  }

  static void note_buffers(const c10::OperatorHandle& op, const Stack& stack) {
    for (std::size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i)
      observer::each_tensor(stack[i], &record_communication);
  }

  // Replaces the arguments by aliases. Returns those that are sparse.
  static std::vector<at::Tensor> to_aliases(const c10::OperatorHandle& op, Stack& stack,
                                            Aliases& aliases) {
    std::vector<at::Tensor> sparse;
    for (std::size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
      stack[i] = mapped(stack[i], [&](const at::Tensor& tensor) {
        TORCH_CHECK_VALUE(!tensor.defined() || is_virtual(tensor.device()),
                          "Tensors must be CUDA and dense");
        at::Tensor alias = aliases.of(tensor);
        // The order that the streams of collectives make is not followed.
        if (alias.defined() && streams_are_late())
          late::host_waits(tensor.device().index(), current_stream(tensor.device().index()));
        if (alias.defined() && alias.is_sparse()) sparse.push_back(alias);
        return alias;
      });
    }
    return sparse;
  }

  c10::SafeKernelFunction kernel_;
};

}  // namespace

DeviceWork::DeviceWork(c10::intrusive_ptr<c10d::Work> inner, std::shared_ptr<Aliases> aliases)
    : Work(-1, inner->retrieveOpType()), inner_(std::move(inner)), aliases_(std::move(aliases)) {}

std::vector<at::Tensor> DeviceWork::result() {
  std::vector<at::Tensor> results = inner_->result();
  for (at::Tensor& tensor : results) tensor = aliases_->back(tensor);
  return results;
}

c10::intrusive_ptr<Future> DeviceWork::getFuture() {
  const c10::intrusive_ptr<Future> inner = inner_->getFuture();
  auto future = c10::make_intrusive<Future>(inner->elementType(), all_devices());
  inner->addCallback([future, aliases = aliases_](Future& done) {
    if (done.hasError()) {
      future->setError(done.exception_ptr());
    } else {
      future->markCompleted(on_device(done.value(), *aliases));
    }
  });
  return future;
}

void register_distributed() {
  register_timer();
  // Never destroyed: the kernels stay registered as long as the process lives.
  static auto* handles = new std::vector<c10::RegistrationHandleRAII>();
  auto& dispatcher = c10::Dispatcher::singleton();
  const KindKeys& kind = Runtime::get().kind();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("c10d::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op) continue;
    for (const DispatchKey key : {kind.dense, kind.sparse}) {
      const bool own = op->hasKernelForDispatchKey(key);
      if (!own && !op->hasKernelForDispatchKey(kind.dense)) continue;
      auto kernel = c10::KernelFunction::makeFromBoxedFunctor<CollectiveKernel>(
          std::make_unique<CollectiveKernel>(
              op->getComputedKernelForDispatchKey(own ? key : kind.dense)));
      handles->push_back(dispatcher.registerImpl(name, key, std::move(kernel), std::nullopt,
                                                 nullptr, "torchport virtual device"));
    }
  }
}

}  // namespace torchport::vdev
