// Watching a program's operators: where its tensors are made, moved and read, and what mixes
// devices.
//
// An observation sees every operator as the program wrote it (aten::linear, not aten::addmm), in
// the forward and the backward pass. What an operator raises goes on to the program unchanged.
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
  // Asked for the program's place (a number of the caller's own; 0 is "not known") where a tensor
  // is made, moved or read, and where a scope begins. Called on the observed thread with no lock
  // held; must not throw. Without it places are 0.
  std::function<std::uint32_t()> place;
  // Asks for the place of every operator, which costs microseconds for each.
  bool every_place = false;
  // Looks for the first operator that makes a NaN, and the first that makes an infinity, out of
  // finite numbers. Reads every result: slow, and a synchronisation for each operator on a device.
  bool check_finite = false;
  // Beyond so many calls only sums are kept: where a tensor came from is known as far as here.
  std::size_t max_calls = std::size_t{1} << 20U;
  // Of Observed::intermediates; those beyond are in the sums alone.
  std::size_t max_intermediates = 20'000;
};

enum class CallKind : std::uint8_t {
  kComputed,  // out of tensors on the same device
  kMade,      // a tensor out of none: torch.ones, x.new_zeros, torch.rand_like
  kMoved,     // to another device
  kRead,      // the host waits for values of a tensor: item(), nonzero(), x[mask]
};

// Which tensor, and what it was at that time. Numbers of tensors and storages are unique among
// those that live at one time, and equal torchport::tensor_number(tensor) and
// storage_number(tensor).
struct TensorFacts {
  std::uintptr_t tensor = 0;
  std::uintptr_t storage = 0;
  c10::Device device{c10::DeviceType::CPU};
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  std::uint64_t bytes = 0;  // elements times their size; 0 for sparse, nested and subclasses
  std::vector<std::int64_t> sizes;  // empty for those, too
};

// One call of an operator in the story of a tensor.
struct CallFacts {
  std::uint64_t call = 0;  // in the order of the calls, from 0
  std::string op;          // "aten::add.Tensor"
  CallKind kind = CallKind::kComputed;
  std::uint32_t scope = 0;
  std::uint32_t place = 0;
  c10::Device from{c10::DeviceType::CPU};  // of the tensor that was moved, else the result's
  c10::Device to{c10::DeviceType::CPU};
};

// A tensor that took part in a call, and its story: what made it, last call first, along the
// tensors on the same device, through moves, to what was there before: `root`, or to a factory.
struct Participant {
  std::string argument;  // the operator's name for it; "tensors[1]" within a list
  at::Tensor tensor;
  TensorFacts facts;
  std::vector<CallFacts> story;
  std::optional<TensorFacts> root;
};

// A call whose tensors were on several devices, and that raised an error for it.
struct MixedCall {
  CallFacts call;
  bool backward = false;
  // In the backward pass: the call of the forward pass that it belongs to.
  std::optional<CallFacts> forward;
  std::vector<Participant> participants;  // its tensors, in the order of its arguments
  std::string message;                    // what the operator raised
};

// A call that made a NaN or an infinity.
struct NotFiniteCall {
  CallFacts call;
  bool nan = false;
  TensorFacts result;
  std::vector<Participant> participants;
};

// Transfers and reads of one kind at one place, summed.
struct TransferSum {
  CallKind kind = CallKind::kMoved;
  std::string op;
  std::uint32_t module = 0;
  std::uint32_t place = 0;
  c10::Device from{c10::DeviceType::CPU};
  c10::Device to{c10::DeviceType::CPU};
  bool waits = false;  // the host, for the device
  bool backward = false;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Results of one module's calls with one device, type and kind of making, summed.
struct ResultSum {
  std::uint32_t module = 0;
  c10::Device device{c10::DeviceType::CPU};
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Tensors that one module made and another one used, by device.
struct FlowSum {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  c10::Device device{c10::DeviceType::CPU};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// One result, kept whole.
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

// A module that was entered: see Observation::enter.
struct Scope {
  std::uint32_t module = 0;
  std::uint32_t place = 0;  // of the call of the module
};

struct Observed {
  std::uint64_t operators = 0;
  std::uint64_t unrecorded = 0;  // of them, beyond max_calls
  std::vector<Scope> scopes;     // by number; 0 is outside of all
  std::vector<ModuleSum> modules;
  std::vector<ResultSum> results;
  std::vector<FlowSum> flows;
  std::vector<TransferSum> transfers;
  std::vector<Result> intermediates;  // the first ones
  std::optional<MixedCall> mixed;     // the first
  std::uint64_t mixed_count = 0;
  std::optional<NotFiniteCall> nan, infinity;
};

[[nodiscard]] TORCHPORT_API std::uintptr_t tensor_number(const at::Tensor& tensor);
[[nodiscard]] TORCHPORT_API std::uintptr_t storage_number(const at::Tensor& tensor);

namespace observe {
class Session;
}
namespace observer {
class Listener;
}

// Watches from its making to finish(), or to its end. Several may watch at once, one within another
// or each on threads of its own, beside the report and the trace of `torchport run`.
//
// It sees the thread that made it and those that attach themselves. Threads of autograd belong to
// the observations of the thread that ran the forward pass. Not seen are processes that it forks,
// and the operators within an operator: a model that is verified in the Python kernel of a custom
// operator shows nothing.
class TORCHPORT_API Observation {
 public:
  // Throws std::runtime_error where another library handles the dispatch key
  // TESTING_ONLY_GenericMode.
  explicit Observation(ObserveOptions options);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  // Ends it, on the thread that began it, and says what was seen. Once.
  [[nodiscard]] Observed finish();

  // The calling thread is watched too, until detach_thread() or its end.
  void attach_thread();
  void detach_thread();
  [[nodiscard]] bool watches_this_thread() const;
  // What the calling thread does until leave() is done by `module`, a number of the caller's own
  // from 1 on. Nests. Does nothing, and returns false, on a thread that is not watched.
  bool enter(std::uint32_t module);
  // Returns false where the calling thread entered nothing.
  bool leave();

 private:
  std::shared_ptr<observe::Session> session_;
  bool finished_ = false;
};

// All that watches a thread: for the threads that it starts.
class TORCHPORT_API ObservedThread {
 public:
  // Of the calling thread.
  [[nodiscard]] static ObservedThread current();
  // The calling thread is watched by the same, those that have ended left out.
  void join() const;

 private:
  std::shared_ptr<const std::vector<std::shared_ptr<observer::Listener>>> listeners_;
};

}  // namespace torchport
