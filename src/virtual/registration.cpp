// What happens when the library is loaded: allocator, guard and kernels of the virtual devices are
// registered. ATen itself is loaded by then, Python's torch is not.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include "virtual/distributed.h"
#include "virtual/host_allocator.h"
#include "virtual/kernel.h"
#include "virtual/natives.h"
#include "virtual/pinned.h"
#include "virtual/profiler.h"
#include "virtual/runtime.h"
#include "virtual/storage.h"
#include "virtual/streams.h"

namespace torchport::vdev {

namespace {

using c10::Dispatcher;
using c10::DispatchKey;
using c10::OperatorHandle;

// Operators that have no kernel of the CPU's own, but a composite one that asks for the device and
// takes a slow path on any but the CPU's and CUDA's own libraries.
const std::set<std::string>& taken_whole() {
  static const std::set<std::string> kNames = {
      "aten::addr_",           // asks whether out= is self: the same reference
      "aten::conj_physical_",  // and svd.U, by it
      // Not aten::convolution, which calls it: torch.jit.trace records this one only.
      "aten::_convolution",
      "aten::convolution_backward",
      "aten::copy_",
      "aten::mode.values",
  };
  return kNames;
}

// Operators with a kernel of the CPU's own, but none of CUDA's: there is a composite one, which
// says other things of wrong arguments, or none at all.
const std::set<std::string>& left_out() {
  static const std::set<std::string> kNames = {
      "aten::_sparse_mm_reduce_impl",
      "aten::_sparse_mm_reduce_impl_backward",
      "aten::narrow_copy",
  };
  return kNames;
}

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

// Kernels live as long as the process.
void keep(c10::RegistrationHandleRAII handle) {
  static auto* handles = new std::vector<c10::RegistrationHandleRAII>();
  handles->push_back(std::move(handle));
}

void register_alias(const OperatorHandle& op, DispatchKey key, DispatchKey cpu) {
  auto kernel = c10::KernelFunction::makeFromBoxedFunctor<AliasKernel>(
      std::make_unique<AliasKernel>(op, cpu));
  keep(Dispatcher::singleton().registerImpl(op.operator_name(), key, std::move(kernel),
                                            std::nullopt, nullptr, "torchport virtual device"));
}

void register_aliases() {
  const Kind& kind = Runtime::get().kind();
  struct Pair {
    DispatchKey device;
    DispatchKey cpu;
  };
  const std::vector<Pair> pairs = {{kind.dense, DispatchKey::CPU},
                                   {kind.sparse, DispatchKey::SparseCPU},
                                   {kind.sparse_csr, DispatchKey::SparseCsrCPU},
                                   {kind.quantized, DispatchKey::QuantizedCPU},
                                   {kind.nested, DispatchKey::NestedTensorCPU}};
  for (const c10::OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    const auto op = Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    for (const Pair& pair : pairs) {
      const bool whole = pair.cpu == DispatchKey::CPU && taken_whole().contains(full_name(name));
      if (!whole && !op->hasKernelForDispatchKey(pair.cpu)) continue;
      if (op->hasKernelForDispatchKey(pair.device)) continue;
      if (left_out().contains(full_name(name))) continue;
      register_alias(*op, pair.device, pair.cpu);
    }
  }
}

// Operators of libraries that are loaded later.
void later(const OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasKernelForDispatchKey(DispatchKey::CPU) ||
          op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd),
      "torchport: ", op.operator_name(),
      " has no kernel for the CPU, so virtual devices cannot run it");
  const AliasKernel kernel(op, DispatchKey::CPU);
  kernel(op, keys, stack);
}

struct Start {
  Start() {
    if (Runtime::get().spec().count == 0) return;
    const Kind& kind = Runtime::get().kind();
    install_host_allocator();
    c10::SetAllocator(kind.type, device_allocator());
    register_guard();
    static auto* aten =
        new torch::Library(torch::Library::IMPL, "aten", kind.dense, __FILE__, __LINE__);
    register_natives(*aten);
    register_attention(*aten);
    register_softmax(*aten);
    register_cuda_only(*aten);
    register_rnn(*aten);
    register_sync_batch_norm(*aten);
    register_profiler();
    register_pinned();
    register_aliases();
    register_distributed();
    static auto* all =
        new torch::Library(torch::Library::IMPL, "_", kind.dense, __FILE__, __LINE__);
    all->fallback(torch::CppFunction::makeFromBoxedFunction<&later>());
  }
};

const Start kStart;

}  // namespace

}  // namespace torchport::vdev
