// Memory of devices: addresses of its own range for each device, with room between blocks that
// cannot be touched, and an account of how much is taken.
//
// Rounding as recorded of an H100 (program copies): blocks up to 1 MiB share pieces of 2 MiB, at
// multiples of 512 bytes; larger ones take multiples of 2 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driver_types.h"

namespace torchport::cuda {

inline constexpr std::size_t kPiece = std::size_t{2} << 20U;
inline constexpr std::size_t kUnit = 512;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

enum class Owner : unsigned char { kDevice, kManaged, kPinned, kRegistered, kVariable, kPool };

// What is known of an address.
struct Range {
  char* begin = nullptr;
  std::size_t bytes = 0;
  Owner owner = Owner::kDevice;
  int device = 0;
  unsigned flags = 0;            // of host memory
  cudaMemPool_t pool = nullptr;  // of kPool
  const char* name = nullptr;    // of a variable
  const void* code = nullptr;    // the call that allocated it, if kernels are checked
  bool made_up = false;          // its values stand for some that are not there (without_values.h)

  [[nodiscard]] bool is_on_device() const {
    return owner == Owner::kDevice || owner == Owner::kVariable || owner == Owner::kPool;
  }
};

// All ranges of this process. Thread safe.
void add_range(const Range& range);
// Takes a range out that begins there and has one of the owners; none if there is no such.
std::optional<Range> take_range(const void* begin, std::initializer_list<Owner> owners);
// Notes the call that allocated the range that begins there.
void note_code(const void* begin, const void* code);
// The values of the range that contains an address count as not there from now on.
void make_up_range(const void* address);
// The range that contains an address.
std::optional<Range> range_of(const void* address);
// The last range that was taken out and contained an address.
std::optional<Range> freed_range_of(const void* address);
// The one of a device whose end is nearest before the address; for messages.
std::optional<Range> range_before(const void* address);
std::vector<Range> ranges_of_device(int device);

// All functions are thread safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(int device);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() = default;

  // Null if the device is full. The caller adds the range.
  void* allocate(std::size_t bytes);
  void free(void* begin, std::size_t bytes);
  void free_all();

  // Addresses without memory, and memory for a part of them; both in multiples of kPiece.
  char* reserve(std::size_t bytes);
  void unreserve(char* begin, std::size_t bytes);
  bool map(char* begin, std::size_t bytes);
  void unmap(char* begin, std::size_t bytes);

  [[nodiscard]] std::size_t total() const;
  void info(std::size_t& left, std::size_t& total) const;
  // Whether an address is one of this device, in use or not.
  [[nodiscard]] bool has(const void* address) const {
    const auto* at = static_cast<const char*>(address);
    return at >= base_ && at < base_ + size_;
  }

 private:
  struct Piece {
    std::map<std::size_t, std::size_t> free;  // offset -> bytes
  };
  bool take(char* at, std::size_t bytes);
  void give(char* at);
  static std::size_t size_in_piece(std::size_t bytes);
  void free_in_piece(char* begin, std::size_t bytes);
  char* find_room(std::size_t bytes);
  void free_room(char* begin, std::size_t bytes);
  char* new_piece();

  const int device_;
  mutable std::mutex mutex_;
  char* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  std::map<char*, std::size_t> room_;  // addresses without memory
  char* next_ = nullptr;               // where the search for room goes on
  std::map<char*, Piece> pieces_;
  std::deque<std::pair<char*, std::size_t>> late_;  // given back, but not used again so far
  std::map<char*, std::pair<std::size_t, std::uint64_t>>
      taken_;  // bytes, and the number of the outside
};

DeviceMemory& memory_of(int device);
// Null if the device is full.
void* allocate_on_device(int device, std::size_t bytes);

bool is_device_memory(const void* address);

// The block of a kernel's malloc() that contains an address.
struct HeapBlock {
  const char* begin;
  std::size_t bytes;
};
std::optional<HeapBlock> heap_block_of(const void* address);
// The one that begins last before it, or contains it.
std::optional<HeapBlock> heap_block_before(const void* address);

// Whether this process has a checker of kernels.
bool kernels_are_checked();

}  // namespace torchport::cuda
