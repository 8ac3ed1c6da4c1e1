// Records what a program's operators do: where its tensors are made, moved and read, and which call
// mixes devices.
//
// An observation sees each operator as the program wrote it (aten::linear, not aten::addmm), in the
// forward and the backward pass. It changes nothing: errors of an operator reach the program as
// they are. src/runtime/observer/observer.h says how it works and which alternatives were rejected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <torchport/export.h>

namespace torchport {

struct ObserveOptions {
  // Returns the program's current place, as a number of the caller's own; 0 means unknown. It is
  // called on the observed thread, with no lock held, when a tensor is made, moved or read and when
  // a scope begins. It must not throw. Without it all places are 0.
  std::function<std::uint32_t()> place;
  // Asks for the place of every operator. This costs microseconds per operator.
  bool every_place = false;
  // Finds the first operator that makes a NaN, and the first that makes an infinity, from finite
  // numbers. It reads every result, so it is slow, and synchronises with the device at each
  // operator.
  bool check_finite = false;
  // The number of calls that are kept one by one. Later calls are only counted in
  // Observed::operators and Observed::unrecorded, and the story of a tensor does not reach them.
  std::size_t max_calls = std::size_t{1} << 20U;
  // The length of Observed::intermediates. Later results are only in the sums.
  std::size_t max_intermediates = 20'000;
};

enum class CallKind : std::uint8_t {
  kComputed,  // from tensors on the same device
  kMade,      // from no tensor: torch.ones, x.new_zeros, torch.rand_like
  kMoved,     // to another device
  kRead,      // the host waits for values of a tensor: item(), nonzero(), x[mask]
};

// Identifies a tensor, and describes it as it was at that time. The numbers are unique among
// tensors and storages that live at the same time; they equal tensor_number(tensor) and
// storage_number(tensor).
struct TensorFacts {
  std::uintptr_t tensor = 0;
  std::uintptr_t storage = 0;
  c10::Device device{c10::DeviceType::CPU};
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  // Number of elements times their size; 0 for sparse, nested and subclasses.
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> sizes;  // in elements; empty for those, too
};

// One call of an operator that a tensor went through.
struct CallFacts {
  std::uint64_t call = 0;  // its number, from 0, in the order of the calls
  std::string op;          // "aten::add.Tensor"
  CallKind kind = CallKind::kComputed;
  std::uint32_t scope = 0;
  std::uint32_t place = 0;
  c10::Device from{c10::DeviceType::CPU};  // of the moved tensor; else the result's
  c10::Device to{c10::DeviceType::CPU};
};

// A tensor that took part in a call, with its story: the calls that it came through, the last one
// first. The story follows tensors on the same device, and goes through moves, back to a factory
// call or to a tensor that existed before the observation (`root`).
struct Participant {
  std::string argument;  // the parameter's name; "tensors[1]" for an element of a list
  at::Tensor tensor;
  TensorFacts facts;
  std::vector<CallFacts> story;
  std::optional<TensorFacts> root;
};

// A call that raised an error because its tensors were on several devices.
struct MixedCall {
  CallFacts call;
  bool backward = false;
  // In the backward pass, the call of the forward pass that created this autograd node.
  std::optional<CallFacts> forward;
  std::vector<Participant> participants;  // its tensors, in the order of its arguments
  std::string message;                    // the message of the operator's error
};

// A call that made a NaN or an infinity.
struct NotFiniteCall {
  CallFacts call;
  bool nan = false;
  TensorFacts result;
  std::vector<Participant> participants;
};

// The sum of all transfers, or all reads, of one operator at one place.
struct TransferSum {
  CallKind kind = CallKind::kMoved;
  std::string op;
  std::uint32_t module = 0;
  std::uint32_t place = 0;
  c10::Device from{c10::DeviceType::CPU};
  c10::Device to{c10::DeviceType::CPU};
  bool waits = false;  // the host waits for the device
  bool backward = false;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// The sum of all results that one module made on one device with one dtype.
struct ResultSum {
  std::uint32_t module = 0;
  c10::Device device{c10::DeviceType::CPU};
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// The sum of all tensors that one module made and another one used, per device.
struct FlowSum {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  c10::Device device{c10::DeviceType::CPU};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// One result that is kept by itself.
struct Result {
  CallFacts call;
  std::uint32_t module = 0;
  TensorFacts facts;
};

struct ModuleSum {
  std::uint32_t module = 0;
  std::uint64_t operators = 0;
  std::uint64_t with_grad = 0;      // called while gradients were recorded
  std::uint64_t with_autocast = 0;  // called under autocast
};

// One entry into a module: see Observation::enter().
struct Scope {
  std::uint32_t module = 0;
  std::uint32_t place = 0;  // the place that called the module
};

struct Observed {
  std::uint64_t operators = 0;
  std::uint64_t unrecorded = 0;  // those of them beyond max_calls
  std::vector<Scope> scopes;     // by number; scope 0 is outside of all modules
  std::vector<ModuleSum> modules;
  std::vector<ResultSum> results;
  std::vector<FlowSum> flows;
  std::vector<TransferSum> transfers;
  std::vector<Result> intermediates;  // the first max_intermediates results
  std::optional<MixedCall> mixed;     // the first
  std::uint64_t mixed_count = 0;
  std::optional<NotFiniteCall> nan, infinity;
};

// Numbers of a tensor and of its storage, as in TensorFacts. They are valid while the tensor lives:
// a later tensor may get the same number. storage_number() is 0 for a tensor without a storage.
[[nodiscard]] TORCHPORT_API std::uintptr_t tensor_number(const at::Tensor& tensor);
[[nodiscard]] TORCHPORT_API std::uintptr_t storage_number(const at::Tensor& tensor);

namespace observe {
class ObservationListener;
}
namespace observer {
class Listener;
}

// Records from its construction until finish() or its destruction. Several observations may run at
// once, nested or on different threads, beside the report and the trace of `torchport run`.
//
// It sees the thread that constructed it and the threads that attach themselves. Autograd's threads
// belong to the observations of the thread that ran the forward pass. It does not see forked
// processes, nor operators within an operator: a model that is called from the Python kernel of a
// custom operator shows nothing.
//
// All member functions but finish() are thread safe.
class TORCHPORT_API Observation {
 public:
  // Throws std::runtime_error if another library handles the dispatch key TESTING_ONLY_GenericMode.
  explicit Observation(ObserveOptions options);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  // Ends the observation and returns what it saw. Call it once, on the thread that constructed the
  // observation; a second call throws c10::Error.
  [[nodiscard]] Observed finish();

  // Watches the calling thread too, until detach_thread() or the thread's end.
  void attach_thread();
  void detach_thread();
  [[nodiscard]] bool watches_this_thread() const;
  // Attributes what the calling thread does, until leave(), to `module`: a number of the caller's
  // own, from 1 on. Calls nest. Does nothing and returns false on a thread that is not watched.
  bool enter(std::uint32_t module);
  // Leaves the module that was entered last. Returns false if the calling thread has entered none.
  bool leave();

 private:
  std::shared_ptr<observe::ObservationListener> listener_;
  bool finished_ = false;
};

// The observations and other listeners that watch a thread, to be handed to a thread that it
// starts. Thread safe.
class TORCHPORT_API ObservedThread {
 public:
  // Takes those of the calling thread.
  [[nodiscard]] static ObservedThread current();
  // Makes them watch the calling thread too, except those that have ended.
  void join() const;

 private:
  std::shared_ptr<const std::vector<std::shared_ptr<observer::Listener>>> listeners_;
};

}  // namespace torchport
