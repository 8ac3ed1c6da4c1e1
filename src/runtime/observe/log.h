// What is kept of each call, flat: at hundreds of nanoseconds a call there is no room for a tree.
//
// Stories of tensors are not kept but found out afterwards, from the addresses that the calls took
// and gave: those who ask are few, those who call are many.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <torchport/observe.h>

#include "runtime/observer/operator_semantics.h"

namespace torchport::observe {

// A tensor as a call saw it.
struct Seen {
  const c10::TensorImpl* tensor = nullptr;
  const c10::StorageImpl* storage = nullptr;
  c10::Device device{c10::DeviceType::CPU};
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  std::uint8_t dimensions = 0;
  std::uint32_t first_size = 0;  // in the log's list of sizes
  std::uint64_t bytes = 0;
};

using SeenTensors = c10::SmallVector<Seen, 8>;

struct Call {
  const observer::OperatorSemantics* semantics = nullptr;
  CallKind kind = CallKind::kComputed;
  bool backward = false;
  bool grad = false;
  bool autocast = false;
  bool waits = false;
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::uint32_t first = 0;  // of its inputs, then its outputs, in the log's list of tensors
  std::uint32_t scope = 0;
  std::uint32_t place = 0;
  std::uint64_t sequence = 0;  // autograd's, before the call; of the node in the backward pass
  c10::Device from{c10::DeviceType::CPU};
};

struct KeptArgument {
  std::string name;
  at::Tensor tensor;
};

// A call whose story is wanted; its tensors live until then.
struct KeptCall {
  std::uint64_t call = 0;
  std::vector<KeptArgument> arguments;  // as many, and in the order of, the call's inputs
  std::string message;
};

struct Log {
  std::size_t max_calls = 0;
  std::size_t max_intermediates = 0;
  std::uint64_t operators = 0;
  std::uint64_t unrecorded = 0;
  std::vector<Call> calls;
  std::vector<Seen> tensors;
  std::vector<std::int64_t> sizes;
  std::vector<Scope> scopes{Scope{}};
  std::optional<KeptCall> mixed, nan, infinity;
  std::uint64_t mixed_count = 0;

  // Returns the number of the call, or none where there is no more room. Not thread-safe, as all.
  std::optional<std::uint64_t> add(const Call& call, c10::ArrayRef<Seen> inputs,
                                   c10::ArrayRef<Seen> outputs);
  // The same, room or not.
  std::uint64_t keep(const Call& call, c10::ArrayRef<Seen> inputs, c10::ArrayRef<Seen> outputs);
  void add_sizes(const c10::TensorImpl& tensor, Seen& seen);

  [[nodiscard]] c10::ArrayRef<Seen> inputs_of(const Call& call) const {
    return {tensors.data() + call.first, call.inputs};
  }
  [[nodiscard]] c10::ArrayRef<Seen> outputs_of(const Call& call) const {
    return {tensors.data() + call.first + call.inputs, call.outputs};
  }
};

// Everything but its sizes.
[[nodiscard]] Seen look_at(const at::Tensor& tensor);

// Sums and stories out of the log.
[[nodiscard]] Observed summarize(const Log& log);

}  // namespace torchport::observe
