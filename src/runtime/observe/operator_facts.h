// What an operator's schema says that the observer needs at each call: looked up once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>

namespace torchport::observe {

struct OperatorFacts {
  explicit OperatorFacts(const c10::OperatorHandle& op);

  enum class Reads : std::uint8_t {
    kNothing,
    kAlways,       // item(), nonzero()
    kByMask,       // x[mask]: where an index is boolean
    kUnlessSized,  // repeat_interleave: where it is not told the size of its result
  };

  std::string name;                          // with overload
  std::vector<std::uint16_t> tensor_inputs;  // arguments that are, or may hold, tensors
  std::uint16_t arguments = 0;
  std::uint16_t results = 0;
  int non_blocking = -1;  // number of that argument
  bool returns_tensors = false;
  bool returns_views = false;
  bool makes = false;          // a new tensor, whatever tensors it is given: new_*, *_like
  bool fills = false;          // with a number that it is given, which may be an infinity
  bool uninitialised = false;  // its results hold what was in memory
  bool takes_host_indices = false;
  Reads reads = Reads::kNothing;
};

// Of any operator of the dispatcher; stays valid. Thread-safe.
[[nodiscard]] const OperatorFacts& facts_of(const c10::OperatorHandle& op);

}  // namespace torchport::observe
