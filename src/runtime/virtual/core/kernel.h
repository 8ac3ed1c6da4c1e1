// The kernel that most operators have on virtual devices: it calls the CPU's kernel on aliases of
// the arguments. PyTorch's own CPU fallback would copy every tensor to the CPU and back.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Allocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/util/SmallVector.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/blas_workspaces.h"
#include "runtime/virtual/core/device_check.h"
#include "runtime/virtual/core/wider.h"
#include "runtime/virtual/errors/kernel_assertions.h"
#include "runtime/virtual/operators/result_rules.h"
#include "runtime/virtual/operators/tf32.h"
#include "runtime/virtual/operators/workspaces.h"
#include "runtime/virtual/watch/determinism_and_sync.h"
#include "runtime/virtual/watch/late_streams.h"

namespace torchport::vdev {

// Of the arguments of a call, of which there are as many as the operator has.
using TypeCheck = void (*)(const c10::IValue* arguments);

// How the types of a device's kernel differ from those of the CPU's.
struct TypeRules {
  TypeCheck refuses =
      nullptr;          // raises what the device raises for arguments that the CPU's kernel takes
  TypeSet widened = 0;  // what the device computes and the CPU's kernel may refuse
  TypeSet slow = 0;     // what is computed in a wider type because the CPU's kernel is slow
};

// Takes the CPU's arguments of a call from the stack and leaves its results there, as the CPU's
// kernel does. The results are tensors of the CPU; autograd is off.
using Compute = void (*)(torch::jit::Stack* stack);

// Chooses what computes a call with these arguments, which are still those of the device, instead
// of the CPU's kernel; null for the CPU's kernel. May raise what the device raises.
using Choice = Compute (*)(const c10::IValue* arguments);

using Workspaces = c10::SmallVector<std::int64_t, 2>;

// Takes these blocks of a device's memory, in bytes, until they are destroyed. If there is no room,
// raises c10::OutOfMemoryError, or takes none if they are dispensable.
[[nodiscard]] c10::SmallVector<c10::DataPtr, 2> take_workspaces(const Workspaces& blocks,
                                                                c10::DeviceIndex device,
                                                                bool dispensable = false);

// There is one per operator and dispatch key. It is constant after its construction, so that any
// thread may call it.
class AliasKernel final : public c10::OperatorKernel {
 public:
  // `cpu` is the dispatch key whose kernel does the work, unless `instead` chooses another way.
  AliasKernel(const c10::OperatorHandle& op, c10::DispatchKey cpu, TypeRules types = {},
              Choice instead = nullptr);

  // Raises what the CPU's kernel raises, what a real build raises for tensors on several devices,
  // and c10::OutOfMemoryError if the results do not fit on the device. If errors of kernels are
  // reported late (errors/device_errors.h), what a real device's kernel would assert is reported
  // there instead of raised.
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const;

  // For kernels whose arguments are not on a stack (typed_kernel.h).
  //
  // Whether there may be calls of this operator that need only the CPU's kernel on aliases.
  [[nodiscard]] bool may_be_plain() const;
  // Whether this call needs no more, after the device's checks, which raise or warn. If not,
  // operator() does all that is to do, and the checks again.
  [[nodiscard]] bool is_plain(const c10::OperatorHandle& op, const c10::IValue* arguments,
                              std::size_t count) const;
  // Raises what raise_unallocated() does if a tensor of the call lacks memory that the kernel uses.
  // The aliases are those of the call, and `stack` has them from `first` on, or is null.
  void check_memory(const c10::OperatorHandle& op, const Aliases& aliases,
                    const torch::jit::Stack* stack, std::size_t first) const;
  // Which of cuBLAS's workspaces the call takes.
  [[nodiscard]] BlasUse blas_use_of_call(const c10::IValue* arguments) const {
    return blas_ == BlasUse::kNone ? BlasUse::kNone : blas_use(blas_, arguments);
  }
  // The blocks of memory that a device's kernel takes while it computes this call, in bytes.
  [[nodiscard]] Workspaces workspaces_of_call(const c10::IValue* arguments) const {
    return workspace_ == nullptr ? Workspaces() : workspace_(arguments);
  }
  // Takes these blocks of a device's memory, in bytes, until they are destroyed. Raises
  // c10::OutOfMemoryError, unless the device has another kernel that needs none.
  [[nodiscard]] c10::SmallVector<c10::DataPtr, 2> take(const Workspaces& blocks,
                                                       c10::DeviceIndex device) const;
  // Whether the device computes without these blocks if it is short of memory, so that the results
  // are there first.
  [[nodiscard]] bool takes_dispensable_memory() const { return is_dispensable(workspace_); }
  // The keys that its calls of the CPU's kernel have.
  [[nodiscard]] c10::DispatchKeySet keys_of_cpu() const { return cpu_; }

 private:
  // An argument that can hold something of a device. Other arguments are passed on unchanged.
  struct Argument {
    std::uint32_t index;
    bool written;           // the operator writes to it
    bool unmarked = false;  // its schema does not say so, and it writes in training only
  };

  [[nodiscard]] bool is_written(const Argument& argument, const c10::IValue* arguments) const {
    return argument.written &&
           (!argument.unmarked || training_ < 0 || arguments[training_].toBool());
  }
  // Whether a kernel reads or writes elements of the arguments.
  [[nodiscard]] bool uses_memory() const { return starts_kernel_ && !reads_nothing_; }
  // Calls `chosen`, or the CPU's kernel if that is null: it takes its arguments from the stack and
  // leaves its results there.
  // Returns what a real device's kernel would assert, if that is reported late.
  std::optional<FailedAssertion> compute(const c10::OperatorHandle& op, Compute chosen,
                                         torch::jit::Stack* stack, std::size_t first) const;
  void call(const c10::OperatorHandle& op, Compute chosen, torch::jit::Stack* stack) const;
  // Raises if a device of the arguments is lost.
  void check_devices(const c10::IValue* arguments) const;
  // Raises if the call would start work on a stream whose capture has become invalid.
  void check_capture(const c10::IValue* arguments) const;
  // Notes what the call reads and writes on its streams.
  void note_accesses(const c10::IValue* arguments, late::Call& call) const;
  // Whether the device's results may differ from those of the CPU's kernel in layout or type.
  [[nodiscard]] bool has_other_results(const c10::IValue* arguments, std::size_t count) const;
  // What a real device's kernels assert; null if that is nothing or errors are not late.
  const KernelAssertion* assertion(const c10::OperatorHandle& op) const;

  c10::DispatchKeySet cpu_;
  TypeCheck refuses_;
  Choice instead_;
  WiderKernel wider_;
  DeviceCheck check_;
  DeterminismAndSync determinism_and_sync_;
  ResultRule result_rule_ = nullptr;
  Workspace workspace_ = nullptr;
  bool iterates_ = false;  // its result has the layout that TensorIterator gives it
  std::vector<Argument> arguments_;
  int generator_ = -1;         // index of the generator argument; -1 if it has none
  int training_ = -1;          // index of the flag of batch norm; -1 if it has none
  bool draws_ = false;         // it draws random numbers, but has no generator argument
  std::uint64_t numbers_ = 0;  // how many it reserves of a generator that draws as a real device
  BlasUse blas_ = BlasUse::kNone;
  Tf32 tf32_ = Tf32::kNever;
  bool starts_kernel_ = false;
  bool reads_nothing_ = false;  // makes a tensor like another one
  bool host_waits_ = false;     // it returns a number, or a result whose size depends on values
  // Looked up at the first call, when the entries of all files are there.
  mutable std::atomic<bool> looked_up_{false};
  mutable std::atomic<const KernelAssertion*> assertion_{nullptr};
  bool each_apart_ = false;  // list to list: each result stays on its element's device
};

}  // namespace torchport::vdev
