// NVIDIA's management library, which comes with the driver: loaded where there is one, its
// functions called by name. What is declared here is what the NVML API Reference says of them.
#pragma once

#include <string>

#include <dlfcn.h>

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

// Functions may be called from several threads; nvmlInit_v2 first.
class NvmlLibrary {
 public:
  NvmlLibrary() : handle_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {}
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  [[nodiscard]] bool there() const { return handle_ != nullptr; }

  // What the function returns; kNvmlFunctionNotFound where the library has it not.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, name));
    return function == nullptr ? kNvmlFunctionNotFound : function(arguments...);
  }

  // NVML's own words for a result.
  [[nodiscard]] std::string words(int result) const {
    const auto function = reinterpret_cast<const char* (*)(int)>(dlsym(handle_, "nvmlErrorString"));
    return function == nullptr ? "error " + std::to_string(result) : function(result);
  }

 private:
  void* handle_;
};

}  // namespace torchport::host
