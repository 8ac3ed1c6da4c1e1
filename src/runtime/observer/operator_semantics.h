// Says what an operator does beyond computing: whether the host waits for it, whether it moves
// data, makes a tensor or draws random numbers, and what a real device refuses.
//
// Reports, traces, verifications and the kernels of virtual devices all ask such questions. Each
// once had a list of its own, and the lists contradicted each other: a report counted
// x.get_device() as a read that the host waits for, and did not count x.nonzero(). Now there is one
// row per operator (semantics_table.cpp), and whatever follows from the schema or from the tags of
// native_functions.yaml is taken from there.
//
// The tags alone were rejected as the source. They know neither the copies that an index costs nor
// the composites (aten::linalg_inv) whose parts wait, and `dynamic_output_shape` does not imply a
// wait (x[i] has it, and waits only if i is a mask).
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

// When the host waits until the device has computed values of the operator's tensors.
enum class Waits : std::uint8_t {
  kNever,
  kAlways,        // item(), nonzero()
  kByMask,        // x[mask]: if an index is a mask
  kUnlessSized,   // repeat_interleave: unless the caller passes the size of the result
  kCopy,          // copy_: if it copies between devices and is not non_blocking
  kUnlessEmpty,   // the first argument has elements
  kIfDense,       // to_sparse(): the first argument is a strided tensor
  kByRange,       // histc: `min` and `max` are equal, so that the values decide
  kUnlessUnsafe,  // segment_reduce: `lengths` are given, and are to be checked
};

// When a real device has a deterministic algorithm for the operator.
enum class Deterministic : std::uint8_t {
  kAlways,
  kNever,
  kForIntegers,       // integers by `dtype` or, without it, by the first argument
  kWithoutReduction,  // `reduction` is 0
  kWithoutWeights,    // `weights` is not given, or not on the device
  kUnlessModeIsMax,   // `mode` of an embedding bag
  kUnlessProduct,     // `reduce` of a scatter is "prod" or "multiply"
};

enum Trait : std::uint16_t {
  kCarriesOn = 1U << 0U,      // passes values on unchanged: to(), clone(), detach()
  kMakes = 1U << 1U,          // makes a new tensor although it takes one: new_*, *_like
  kFills = 1U << 2U,          // fills a tensor with a given number, which may be infinite
  kUninitialised = 1U << 3U,  // its results hold what was in memory
  kAsksOnly = 1U << 4U,       // asks about a tensor without reading its values: size(), is_pinned()
  kHostIndices = 1U << 5U,    // takes indices on the host, and copies them to the device
  kReadsByCopy = 1U << 6U,    // reads values by a copy to the host, others by item()
  kNotCaptured = 1U << 7U,    // its libraries wait on their own, so that no graph captures it
  kMagmaUnlessSquare = 1U << 8U,  // LU: the same, for matrices that cuSOLVER does not get
};

// One row of the table.
struct SemanticsRow {
  // The operator without "aten::". "cumsum" stands for all overloads of aten::cumsum and
  // aten::cumsum_, "median.dim_values" for this overload alone, and "where." for the overload
  // without a name. Only the most specific row applies.
  std::string_view name;
  Waits waits = Waits::kNever;
  std::uint16_t traits = 0;
  Deterministic deterministic = Deterministic::kAlways;
  std::string_view caller = {};  // the name of the real kernel in its error message
};

// All rows, sorted by name.
[[nodiscard]] TORCHPORT_OBSERVER_API c10::ArrayRef<SemanticsRow> semantics_rows();

// Constant after its construction, so that any thread may use it.
struct TORCHPORT_OBSERVER_API OperatorSemantics {
  explicit OperatorSemantics(const c10::OperatorHandle& op);

  [[nodiscard]] bool has(Trait trait) const { return (row.traits & trait) != 0; }

  // Whether the host needs values of the operator's tensors before it continues, on any device.
  // Takes the arguments in the order of the schema. Copies between devices are not reads.
  [[nodiscard]] bool reads_values(const c10::IValue* arguments_of_call) const;
  // Whether CUDA's libraries wait in a way that a graph cannot capture.
  [[nodiscard]] bool waits_in_libraries(const c10::IValue* arguments_of_call) const;
  // Whether the caller did not pass non_blocking=True.
  [[nodiscard]] bool is_blocking(const c10::IValue* arguments_of_call) const;
  // Whether it computes new values: it does not only move, allocate or return a view.
  [[nodiscard]] bool computes() const {
    return !own && !returns_views && !has(kCarriesOn) && !has(kUninitialised) && !has(kAsksOnly);
  }

  std::string name;  // with overload
  SemanticsRow row;
  // The indices of the arguments that are or may hold tensors.
  std::vector<std::uint16_t> tensor_inputs;
  std::vector<std::uint16_t> written;  // those of them that it writes to
  std::uint16_t arguments = 0;
  std::uint16_t results = 0;
  int non_blocking = -1;  // index of this argument, like the next three; -1 if it has none
  int generator = -1;
  int size_of_result = -1;       // the argument that Waits::kUnlessSized depends on
  int decides_determinism = -1;  // the argument that row.deterministic depends on
  bool draws = false;            // random numbers
  bool returns_tensors = false;
  bool returns_views = false;
  bool returns_number = false;
  bool copies_into_first = false;  // copy_(self, src): the target comes first
  bool own = false;                // torchport's or a profiler's: not a computation of the program
};

// The semantics of any operator of the dispatcher. It is looked up once per operator and thread.
// The reference stays valid forever, even if the operator is registered again. Thread safe.
[[nodiscard]] TORCHPORT_OBSERVER_API const OperatorSemantics& semantics_of(
    const c10::OperatorHandle& op);

// Whether an index is a mask, which selects elements where it is true, so that its values decide
// the size of the result.
[[nodiscard]] inline bool is_mask(const at::Tensor& index) {
  return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
}

}  // namespace torchport::observer
