// Runs when the library is loaded, and registers the allocator, guard and kernels of the virtual
// devices. ATen is loaded by then, Python's torch is not.
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/AutogradState.h>
#include <torch/library.h>

#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/host_allocator.h"
#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/core/operator_names.h"
#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/pinned.h"
#include "runtime/virtual/core/profiler.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/silence.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/core/typed_kernel.h"
#include "runtime/virtual/distributed/distributed.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/type_rules.h"
#include "runtime/virtual/without_data/values.h"

namespace torchport::vdev {

namespace {

using c10::Dispatcher;
using c10::DispatchKey;
using c10::OperatorHandle;

// Operators that have no CPU kernel, only a composite one that asks for the device and takes a slow
// path on any device but the CPU and those of CUDA's own libraries.
const std::set<std::string>& taken_whole(DispatchKey cpu) {
  static const std::set<std::string> kQuantized = {"aten::copy_"};
  static const std::set<std::string> kNone;
  static const std::set<std::string> kDense = {
      "aten::addr_",           // compares out= with self by reference
      "aten::conj_physical_",  // and svd.U, through it
      // Not aten::convolution, which calls it: torch.jit.trace records only aten::_convolution.
      "aten::_convolution",
      // It calls the flattening of indices of the tensor's own device, not an operator.
      "aten::_validate_sparse_coo_tensor_args",
      "aten::convolution_backward",
      "aten::copy_",
      "aten::mode.values",
      // These have kernels on CUDA, whose wrappers check the devices.
      "aten::_chunk_cat",
      "aten::_chunk_cat.out",
      "aten::split_with_sizes_copy.out",
  };
  if (cpu == DispatchKey::QuantizedCPU) return kQuantized;
  return cpu == DispatchKey::CPU ? kDense : kNone;
}

// Operators that have a CPU kernel, but no CUDA kernel. On CUDA they are composite, with other
// error messages for wrong arguments, or none, and with results in another layout:
// native_functions.yaml. Tensors in the layout of coordinates have kernels on both.
bool is_left_out(const std::string& name, DispatchKey cpu) {
  static const std::set<std::string> kEverywhere = {
      "aten::_sparse_mm_reduce_impl",
      "aten::_sparse_mm_reduce_impl_backward",
      "aten::narrow_copy",
  };
  static const std::set<std::string> kCuda = {
      "aten::_sparse_mm_reduce_impl",
      "aten::_sparse_mm_reduce_impl_backward",
      "aten::_stack",
      "aten::_stack.out",
      "aten::narrow_copy",
      "aten::native_channel_shuffle",
      "aten::pixel_shuffle",
      "aten::pixel_unshuffle",
  };
  const auto& all = Runtime::get().kind_name() == "cuda" ? kCuda : kEverywhere;
  return cpu != DispatchKey::SparseCPU && all.contains(name);
}

// Whether an operator hands tensors to a process group's backend: see distributed.h.
bool is_collective(const c10::OperatorName& name) {
  return name.name.rfind("c10d::", 0) == 0;
}

// Does what PyTorch does on a device that it does not know: calls the kernel that it has chosen for
// the CPU and that consists of other operators.
class ComposedKernel final : public c10::OperatorKernel {
 public:
  explicit ComposedKernel(c10::SafeKernelFunction kernel) : kernel_(std::move(kernel)) {}
  void operator()(const OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    kernel_.callBoxed(op, keys, stack);
  }

 private:
  c10::SafeKernelFunction kernel_;
};

void put_composed(const OperatorHandle& op, DispatchKey key, DispatchKey cpu) {
  put(op, key,
      c10::KernelFunction::makeFromBoxedFunctor<ComposedKernel>(
          std::make_unique<ComposedKernel>(op.getComputedKernelForDispatchKey(cpu))));
}

[[noreturn]] void refuse(const OperatorHandle& op) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "torchport: ", op.operator_name(),
      " does not have a kernel for the CPU, so virtual devices cannot run it");
}

void refusal(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
  refuse(op);
}

void missing(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
  refuse_missing(op.operator_name());
}

// Handles operators of libraries that are loaded later.
void later(const OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (!op.hasKernelForDispatchKey(DispatchKey::CPU) &&
      !op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd))
    refuse(op);
  const AliasKernel kernel(op, DispatchKey::CPU);
  kernel(op, keys, stack);
}

struct Pair {
  DispatchKey device;
  DispatchKey cpu;
};

// Whether a composite kernel calls the kernel of the tensor's own device without an operator, which
// a build with CUDA has. Before torch 2.11 it called operators, and autograd saw only those.
bool calls_device(const OperatorHandle& op) {
  return op.operator_name().name.starts_with("aten::ldexp") &&
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd);
}

// Replaces the kernel of an operator that has no CPU kernel. A build of torch with CUDA may have a
// kernel for a real device under the device's key, and no such kernel may run.
void put_in_place_of_real(const OperatorHandle& op, const Pair& pair) {
  // A group has a kernel for it, and for what autograd's formula calls (norms_of_rows.cpp).
  if (Runtime::get().kind_name() == "cuda" && op.operator_name().name == "aten::_fused_rms_norm")
    return;
  if (!op.hasKernelForDispatchKey(pair.device)) return;
  if (!op.hasComputedKernelForDispatchKey(pair.cpu)) {
    put(op, pair.device, c10::KernelFunction::makeFromBoxedFunction<&refusal>());
    return;
  }
  put_composed(op, pair.device, pair.cpu);
  // If there were a kernel under the device's key, autograd would use its formula for that kernel,
  // and the formula would call another kernel of the device.
  if (pair.cpu == DispatchKey::CPU &&
      op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd))
    put_composed(op, Runtime::get().kind().autograd, DispatchKey::AutogradCPU);
}

// Registers a kernel for each operator of PyTorch, over any kernel of a real device.
void register_operators() {
  const KindKeys& kind = Runtime::get().kind();
  const std::array<Pair, 5> pairs = {{{kind.dense, DispatchKey::CPU},
                                      {kind.sparse, DispatchKey::SparseCPU},
                                      {kind.sparse_csr, DispatchKey::SparseCsrCPU},
                                      {kind.quantized, DispatchKey::QuantizedCPU},
                                      {kind.nested, DispatchKey::NestedTensorCPU}}};
  for (const c10::OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    const auto op = Dispatcher::singleton().findSchema(name);
    if (!op || is_collective(name)) continue;
    for (const Pair& pair : pairs) {
      if (pair.cpu == DispatchKey::CPU && is_missing_on_cuda(name)) {
        put(*op, pair.device, c10::KernelFunction::makeFromBoxedFunction<&missing>());
        continue;
      }
      const bool whole = taken_whole(pair.cpu).contains(full_name(name)) ||
                         (pair.cpu == DispatchKey::CPU && calls_device(*op));
      if ((whole || op->hasKernelForDispatchKey(pair.cpu)) &&
          !is_left_out(full_name(name), pair.cpu))
        put(*op, pair.device, kernel_over_cpu(*op, pair.cpu, type_rules_of(name, pair.cpu)));
      else
        put_in_place_of_real(*op, pair);
    }
  }
}

// A backward pass on CUDA runs on one thread of autograd for each device. Here this thread would
// start OpenMP threads of its own beside those of the program's thread. With more OpenMP threads
// than cores libgomp no longer waits actively, and training takes up to 1.4 times as long. So the
// passes that the importing thread starts run on it; a program can undo this with
// torch.autograd.set_multithreading_enabled(True). The setting belongs to the thread.
void run_backward_on_the_calling_thread() {
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

struct StartEntry {
  StartEntry() {
    if (Runtime::get().kind_name() == "none") return;
    const Silence silence;
    const KindKeys& kind = Runtime::get().kind();
    install_host_allocator();
    c10::SetAllocator(kind.type, device_allocator(), kAllocatorOverReal);
    register_guard();
    // The CPU's kernels come first: those of groups are registered over them.
    register_operators();
    put_operator_groups();
    if (is_without_data()) cover_host_fills();
    register_profiler();
    register_pinned();
    register_distributed();
    run_backward_on_the_calling_thread();
    static auto* all =
        new torch::Library(torch::Library::IMPL, "_", kind.dense, __FILE__, __LINE__);
    all->fallback(torch::CppFunction::makeFromBoxedFunction<&later>());
  }
};

const StartEntry kEntry;

}  // namespace

}  // namespace torchport::vdev
