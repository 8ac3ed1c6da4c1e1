// What an operator does beyond computing: whether the host waits for it, whether it moves, makes or
// draws, what a real device refuses of it.
//
// Reports, traces, verifications and the kernels of virtual devices all ask such questions. Each
// once had a list of its own, and the lists contradicted each other: a report counted
// x.get_device() as a read that the host waits for, and did not count x.nonzero(). Now there is one
// row an operator (semantics_table.cpp), and what follows from the schema or from the tags of
// native_functions.yaml is taken from there.
//
// Rejected: asking the tags alone. They know neither the copies that an index costs nor the
// composites (aten::linalg_inv) whose parts wait, and `dynamic_output_shape` is no promise of a
// wait (x[i] has it, and waits only where i is a mask).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include "runtime/observer/api.h"

namespace torchport::observer {

// When the host waits for values of the operator's tensors.
enum class Waits : std::uint8_t {
  kNever,
  kAlways,       // item(), nonzero()
  kByMask,       // x[mask]: where an index is a mask
  kUnlessSized,  // repeat_interleave: where the caller does not say how large the result is
  kCopy,         // copy_: where it goes from device to device and is not told to go on meanwhile
};

// When a real device has a deterministic algorithm.
enum class Deterministic : std::uint8_t {
  kAlways,
  kNever,
  kForIntegers,       // by `dtype`, or by the first argument where that is not given
  kWithoutReduction,  // `reduction` is 0
  kWithoutWeights,    // `weights` is not given, or not on the device
  kUnlessModeIsMax,   // `mode` of an embedding bag
};

enum Trait : std::uint8_t {
  kCarriesOn = 1U << 0U,      // gives values on as they are: to(), clone(), detach()
  kMakes = 1U << 1U,          // a new tensor, whatever tensors it is given: new_*, *_like
  kFills = 1U << 2U,          // with a number that it is given, which may be an infinity
  kUninitialised = 1U << 3U,  // its results hold what was in memory
  kAsksOnly = 1U << 4U,       // about a tensor, and reads no value of it: size(), is_pinned()
  kHostIndices = 1U << 5U,    // takes indices on the host, and copies them to the device
};

// What the table says of an operator.
struct SemanticsRow {
  // Without "aten::". "cumsum" stands for all overloads of aten::cumsum and aten::cumsum_;
  // "median.dim_values" for this overload alone, "where." for the one without a name. The most
  // specific row holds, whole.
  std::string_view name;
  Waits waits = Waits::kNever;
  std::uint8_t traits = 0;
  Deterministic deterministic = Deterministic::kAlways;
  std::string_view caller = {};  // how the real kernel names itself where it refuses
};

// All rows, sorted by name.
[[nodiscard]] TORCHPORT_OBSERVER_API c10::ArrayRef<SemanticsRow> semantics_rows();

// Const after it is made, so that any thread may use it.
struct TORCHPORT_OBSERVER_API OperatorSemantics {
  explicit OperatorSemantics(const c10::OperatorHandle& op);

  [[nodiscard]] bool has(Trait trait) const { return (row.traits & trait) != 0; }

  // Whether the host needs values of the operator's tensors before it goes on, wherever these are.
  // Takes the arguments in the order of the schema. Copies between devices are no reads.
  [[nodiscard]] bool reads_values(const c10::IValue* arguments_of_call) const;
  // Whether the caller did not pass non_blocking=True.
  [[nodiscard]] bool is_blocking(const c10::IValue* arguments_of_call) const;
  // Whether what it returns is new in its values: not moved, not made room for, not a view.
  [[nodiscard]] bool computes() const {
    return !own && !returns_views && !has(kCarriesOn) && !has(kUninitialised) && !has(kAsksOnly);
  }

  std::string name;  // with overload
  SemanticsRow row;
  std::vector<std::uint16_t> tensor_inputs;  // arguments that are, or may hold, tensors
  std::vector<std::uint16_t> written;        // of these, those that it writes to
  std::uint16_t arguments = 0;
  std::uint16_t results = 0;
  int non_blocking = -1;  // numbers of arguments; -1 where there is none
  int generator = -1;
  int size_of_result = -1;       // that Waits::kUnlessSized looks at
  int decides_determinism = -1;  // that `row.deterministic` looks at
  bool draws = false;            // random numbers
  bool returns_tensors = false;
  bool returns_views = false;
  bool returns_number = false;
  bool copies_into_first = false;  // copy_(self, src): what is written to comes first
  bool own = false;                // torchport's, or a profiler's: nothing that a program computes
};

// Of any operator of the dispatcher, looked up once an operator and thread. Stays valid for ever,
// also where the operator is registered anew. Thread-safe.
[[nodiscard]] TORCHPORT_OBSERVER_API const OperatorSemantics& semantics_of(
    const c10::OperatorHandle& op);

// An index that selects where it is true: its size decides that of the result.
[[nodiscard]] inline bool is_mask(const at::Tensor& index) {
  return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
}

}  // namespace torchport::observer
