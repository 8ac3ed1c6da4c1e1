// What the body of a function does, as far as its callers care.
#pragma once

#include <cstdint>

#include "source/semantics/semantic_model.h"

namespace torchport::flow {

// The bits of Function::traits.
constexpr unsigned kRefuses = 1;    // it raises unless what it got is on CUDA
constexpr unsigned kWrites = 2;     // it saves a file with torch.save
constexpr unsigned kGivesCpu = 4;   // it replaces a device that is not available by the CPU
constexpr unsigned kEvaluates = 8;  // it calls eval() on a module that it returns or got

// The traits of the function's own body, without what it calls. Linear in its size.
[[nodiscard]] std::uint8_t traits_of(const semantics::SemanticModel& model, syntax::Node function);

// Whether a value stands in for a device that is not available: it is where there is no CUDA, or
// asks for that itself, or is the CPU below a test such as `if not is_device_available(device):`.
[[nodiscard]] bool stands_in_for_device(const semantics::SemanticModel& model, syntax::Node value);

}  // namespace torchport::flow
