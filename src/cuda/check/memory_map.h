// What the checker asks the runtime of the memory that a kernel uses.
#pragma once

#include <optional>
#include <string>

namespace torchport::cuda::check {

enum class Kind : unsigned char {
  kGlobal,  // memory of a device, or of the host that a device reaches
  kShared,
  kQuiet,  // constants, and variables of the toolkit: nothing is to be said of them
};

struct Known {
  const char* begin = nullptr;
  const char* end = nullptr;
  Kind kind = Kind::kQuiet;
};

// All functions are thread safe.
class MemoryMap {
 public:
  MemoryMap() = default;
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;
  virtual ~MemoryMap() = default;

  // The block of memory that contains an address; none: a device reaches nothing there.
  [[nodiscard]] virtual std::optional<Known> find(const void* address) const = 0;
  // What contains an address, or what is beside it: "tensor float32[3, 4]", "memory of 4096 bytes
  // that cudaMalloc returned at a.cu:3".
  struct Words {
    std::string name;             // empty: nothing is known
    const char* begin = nullptr;  // of what the name names
    const char* end = nullptr;
    bool freed = false;
  };
  [[nodiscard]] virtual Words describe(const void* address) const = 0;
};

}  // namespace torchport::cuda::check
