// Declares NVIDIA's management library, which comes with the driver. It is loaded if the machine
// has it, and its functions are called by name. The declarations follow the NVML API Reference.
#pragma once

#include <string>

#include "host/probe/dynamic_library.h"

namespace torchport::host {

using NvmlDevice = void*;  // nvmlDevice_t

struct NvmlMemory {  // nvmlMemory_t: bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct NvmlUtilization {  // nvmlUtilization_t: percent of the last sample period
  unsigned gpu;
  unsigned memory;
};

inline constexpr int kNvmlSuccess = 0;            // NVML_SUCCESS
inline constexpr int kNvmlFunctionNotFound = 13;  // NVML_ERROR_FUNCTION_NOT_FOUND

// Several threads may call its functions. Call nvmlInit_v2 first.
class NvmlLibrary : public DynamicLibrary {
 public:
  NvmlLibrary() : DynamicLibrary({"libnvidia-ml.so.1"}) {}

  // Calls the function and returns its result, or kNvmlFunctionNotFound if the library does not
  // have it.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return call_or(kNvmlFunctionNotFound, name, arguments...);
  }

  // NVML's text for a result.
  [[nodiscard]] std::string words(int result) const {
    auto* const text_of = function<const char*(int)>("nvmlErrorString");
    return text_of == nullptr ? "error " + std::to_string(result) : text_of(result);
  }
};

}  // namespace torchport::host
