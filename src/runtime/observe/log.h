// Stores what is kept of each call, in flat arrays: recording a call takes hundreds of nanoseconds,
// which leaves no room for a tree of objects.
//
// Stories of tensors are not stored. They are reconstructed afterwards from the addresses that the
// calls took and returned, because few tensors are asked about and many calls are recorded.
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
  std::uint32_t first_size = 0;  // index into Log::sizes
  std::uint64_t bytes = 0;
};

using SeenTensors = c10::SmallVector<Seen, 8>;

struct RecordedCall {
  const observer::OperatorSemantics* semantics = nullptr;
  CallKind kind = CallKind::kComputed;
  bool backward = false;
  bool grad = false;
  bool autocast = false;
  bool waits = false;
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::uint32_t first = 0;  // index into Log::tensors of its inputs, which its outputs follow
  std::uint32_t scope = 0;
  std::uint32_t place = 0;
  // Autograd's number before the call; in the backward pass, the node's.
  std::uint64_t sequence = 0;
  c10::Device from{c10::DeviceType::CPU};
};

struct KeptArgument {
  std::string name;
  at::Tensor tensor;
};

// A call whose story will be told; its tensors are kept alive until then.
struct KeptCall {
  std::uint64_t call = 0;
  std::vector<KeptArgument> arguments;  // as many as the call's inputs, in their order
  std::string message;
};

struct Log {
  std::size_t max_calls = 0;
  std::size_t max_intermediates = 0;
  std::uint64_t operators = 0;
  std::uint64_t unrecorded = 0;
  std::vector<RecordedCall> calls;
  std::vector<Seen> tensors;
  std::vector<std::int64_t> sizes;
  std::vector<Scope> scopes{Scope{}};
  std::optional<KeptCall> mixed, nan, infinity;
  std::uint64_t mixed_count = 0;

  // Adds a call. Returns its number, or none if max_calls was reached. Like all functions here it
  // is not thread safe; ObservationListener locks.
  std::optional<std::uint64_t> add(const RecordedCall& call, c10::ArrayRef<Seen> inputs,
                                   c10::ArrayRef<Seen> outputs);
  // Adds a call even beyond max_calls.
  std::uint64_t keep(const RecordedCall& call, c10::ArrayRef<Seen> inputs,
                     c10::ArrayRef<Seen> outputs);
  void add_sizes(const c10::TensorImpl& tensor, Seen& seen);

  [[nodiscard]] c10::ArrayRef<Seen> inputs_of(const RecordedCall& call) const {
    return {tensors.data() + call.first, call.inputs};
  }
  [[nodiscard]] c10::ArrayRef<Seen> outputs_of(const RecordedCall& call) const {
    return {tensors.data() + call.first + call.inputs, call.outputs};
  }
};

// Everything but the sizes.
[[nodiscard]] Seen look_at(const at::Tensor& tensor);

// Computes the sums and stories from the log.
[[nodiscard]] Observed summarize(const Log& log);

}  // namespace torchport::observe
